"""One HTTP exchange with a chat-completions endpoint: bytes there, status and bytes back.

`SdkWire` sends through `openai.AsyncOpenAI`. `AiohttpWire` takes address and headers from the same client but
sends them with aiohttp alone, at a quarter of the CPU (0.14 against 0.58 ms a request where it was measured), which is what lets
one process keep 256 requests of 200 ms in flight. Retries, pacing and meaning live in `tasks.backends.openai_api`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
import openai

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)


class WireError(Exception):
    """No whole answer came; one line without headers. Always raised `from None`: openai's own errors carry the key."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and as whom to ask; the key shows in no repr."""

    base_url: str
    key: str = field(repr=False)

    @property
    def host(self) -> str:
        """Host and port without user name or password, for messages."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine: no key needed, no proxy asked."""
        return urlsplit(self.base_url).hostname in _LOOPBACK


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Wire(Protocol):
    """Sends one body to `/chat/completions`; how long that may take is for the caller to say."""

    async def post(self, body: bytes) -> HttpAnswer:
        """The answer, whatever its status; raises WireError where none came."""

    async def close(self) -> None:
        """Closes the connections."""


class SdkWire:
    """Through the SDK, its own retries off."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        client = openai.DefaultAioHttpClient(
            limits=limits, timeout=None, trust_env=not endpoint.is_loopback, follow_redirects=False
        )
        self._client = _make_client(endpoint, client)

    async def post(self, body: bytes) -> HttpAnswer:
        """The answer, whatever its status; raises WireError where none came."""
        headers = {"Content-Type": "application/json"}
        try:
            response = await self._client.post(
                "/chat/completions", cast_to=httpx2.Response, content=body, options={"headers": headers}
            )
        except openai.APIStatusError as error:
            response = error.response
        except (openai.OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            raise WireError(_describe(error.__cause__ or error)) from None
        return HttpAnswer(response.status_code, response.headers, response.content)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()


class AiohttpWire:
    """Through aiohttp, with the SDK's address and headers."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        self._client = _make_client(endpoint, None)
        headers = {**self._client.default_headers, **self._client.auth_headers}
        self._headers = {name: value for name, value in headers.items() if isinstance(value, str)}
        self._url = f"{endpoint.base_url}/chat/completions"
        self._proxy = None if endpoint.is_loopback else _find_proxy(endpoint)
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes) -> HttpAnswer:
        """The answer, whatever its status; raises WireError where none came."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._connections)
            self._session = aiohttp.ClientSession(
                connector=connector, headers=self._headers, timeout=_NO_TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()
            )
        try:
            async with self._session.post(self._url, data=body, allow_redirects=False, proxy=self._proxy) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                return HttpAnswer(response.status, headers, await response.read())
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise WireError(_describe(error)) from None

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()
        if self._session is not None:
            await self._session.close()


def _make_client(endpoint: Endpoint, http_client: httpx2.AsyncClient | None) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=endpoint.key, base_url=endpoint.base_url, max_retries=0, timeout=None, http_client=http_client
    )


def _find_proxy(endpoint: Endpoint) -> str | None:
    parts = urlsplit(endpoint.base_url)
    # not aiohttp's trust_env: it also reads ~/.netrc, and refuses a request whose host it finds there
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
