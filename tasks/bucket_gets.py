"""Many small keys of a bucket at once, each one signed GET: half of the CPU and less that s3fs and botocore's client take for one.

The first key goes through that client, and the rest are asked for as it asked: the same address, region and credentials. What does not
come at once is the business of `tasks.buckets`, which tries again, follows redirects and says what is wrong. Used by `tasks.mirror`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from upath import UPath

Keep = Callable[[str, bytes], object]
_AT_ONCE = 32
_CONNECT_S, _READ_S = 10.0, 30.0
_EVENT = "before-send.s3.GetObject"
_SCOPE = re.compile(r"AWS4-HMAC-SHA256 Credential=[^,]+/\d{8}/(?P<region>[^/]+)/s3/aws4_request")


class _Way(NamedTuple):
    """How the client asked for a key: what stands before its name in the URL, and the region it signed for."""

    before: str
    region: str


def get_keys(root: "UPath", names: Iterable[str], keep: Keep) -> None:
    """Hand `keep` the name (relative to `root`) and the bytes of those that come at the first try; the others are left out unsaid."""
    from fsspec.asyn import sync

    sync(root.fs.loop, _get_all, root, iter(names), keep)


async def _get_all(root: "UPath", names: Iterator[str], keep: Keep) -> None:
    import asyncio

    import aiohttp
    from botocore.utils import get_environ_proxies

    way = await _watch_client(root, next(names, None), keep)
    if way is None:
        return
    sign = await _make_signer(root, way)
    wait = aiohttp.ClientTimeout(None, sock_connect=_CONNECT_S, sock_read=_READ_S)
    proxy = get_environ_proxies(way.before).get(way.before.partition(":")[0])
    async with aiohttp.ClientSession(timeout=wait, proxy=proxy, auto_decompress=False) as session:
        await asyncio.gather(*(_get_some(session, way, sign, names, keep) for _ in range(_AT_ONCE)))


async def _watch_client(root: "UPath", name: str | None, keep: Keep) -> _Way | None:
    """Get one key through the client and tell how it did; None where that failed, or was not signed as SigV4 for S3 is."""
    import aiohttp
    from botocore.exceptions import BotoCoreError, ClientError

    if name is None:
        return None
    sent: list[Any] = []

    def note(request: Any, **_: object) -> None:
        sent.append(request)

    await root.fs.set_session()
    bucket, _, key = str((root / name).path).partition("/")
    client = await root.fs.get_s3(bucket)
    client.meta.events.register_last(_EVENT, note)
    try:
        answer = await client.get_object(Bucket=bucket, Key=key)
        async with answer["Body"] as body:
            keep(name, await body.read())
    except (OSError, aiohttp.ClientError, BotoCoreError, ClientError):
        return None
    finally:
        client.meta.events.unregister(_EVENT, note)
    ours = [request for request in sent if request.url.endswith(_encode(name))]
    scope = _SCOPE.match(_text(ours[-1].headers.get("Authorization"))) if ours else None
    return _Way(ours[-1].url.removesuffix(_encode(name)), scope["region"]) if scope else None


def _encode(name: str) -> str:
    return quote(name, safe="/~")  # as SigV4 has it


def _text(header: object) -> str:
    return header.decode() if isinstance(header, bytes) else str(header)


async def _make_signer(root: "UPath", way: _Way) -> Callable[[str], dict[str, str]]:
    """Gives the headers that a GET of a URL needs."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest

    credentials = await root.fs.session.get_credentials()
    auth = S3SigV4Auth(await credentials.get_frozen_credentials(), "s3", way.region)

    def sign(url: str) -> dict[str, str]:
        request = AWSRequest("GET", url)
        auth.add_auth(request)
        return dict(request.headers.items())

    return sign


async def _get_some(session: Any, way: _Way, sign: Callable[[str], dict[str, str]], names: Iterator[str], keep: Keep) -> None:
    """Get one after the other, up to the first that does not come: where many fail, the slower and more patient way is the better one."""
    import aiohttp
    from yarl import URL

    for name in names:
        url = way.before + _encode(name)
        try:
            async with session.get(URL(url, encoded=True), headers=sign(url), allow_redirects=False) as answer:
                if answer.status != 200:  # anything else is for the client
                    return
                keep(name, await answer.read())
        except (OSError, TimeoutError, aiohttp.ClientError):
            return
