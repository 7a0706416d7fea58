"""One HTTP exchange with an OpenAI-compatible endpoint: bytes there, status and bytes back.

The openai package says which headers go with a request; aiohttp alone sends it, at a quarter of the
CPU that `AsyncOpenAI.post` takes (0.14 against 0.58 ms a request where it was measured), which is
what lets one process keep 256 requests of 200 ms in flight. Retries, pacing and meaning live in
`tasks.backends.openai.client`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import openai

from judgelake.tasks.backends.openai.endpoints import Endpoint

_LEAST_KEY_CHARS = 12
"""A shorter key may be a word of an answer."""
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)


class WireError(Exception):
    """No whole answer came; one line without headers. Always raised `from None`: aiohttp's own
    errors may carry the key.
    """


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Wire:
    """Sends bodies over kept connections; how long an answer may take is for the caller to say."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        self._base_url, self._query = (
            endpoint.base_url,
            f"?{endpoint.query}" if endpoint.query else "",
        )
        self._headers = _make_headers(endpoint)
        self._key = endpoint.key.encode()
        self._proxy = None if endpoint.is_loopback else _find_proxy(endpoint)
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes, route: str = "/chat/completions") -> HttpAnswer:
        """The answer, whatever its status; raises WireError where none came."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._connections)
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=self._headers,
                timeout=_NO_TIMEOUT,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        try:
            url = f"{self._base_url}{route}{self._query}"
            async with self._session.post(
                url, data=body, allow_redirects=False, proxy=self._proxy
            ) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                content = await response.read()
                # an answer may repeat the request's headers, in an error or in a reply; from here
                # on nothing knows the key
                if len(self._key) >= _LEAST_KEY_CHARS:
                    content = content.replace(self._key, b"***")
                return HttpAnswer(response.status, headers, content)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise WireError(_describe(error)) from None

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()


def _make_headers(endpoint: Endpoint) -> dict[str, str]:
    # nothing is sent through this client; left to itself it reads proxies, and fails over a SOCKS
    # one
    unused = openai.DefaultAsyncHttpxClient(trust_env=False)
    client = openai.AsyncOpenAI(
        api_key=endpoint.key, base_url=endpoint.base_url, http_client=unused
    )
    headers = [*client.default_headers.items(), *client.auth_headers.items()]
    said = {name.lower(): value for name, value in headers if isinstance(value, str)}
    if endpoint.key_header:
        del said["authorization"]
        said[endpoint.key_header] = endpoint.key
    return said


def _find_proxy(endpoint: Endpoint) -> str | None:
    parts = urlsplit(endpoint.base_url)
    # not aiohttp's trust_env: it also reads ~/.netrc, and refuses a request whose host it finds
    # there
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
