"""Requests to an S3 bucket: the settings of the connection, errors in plain words, listings,
exclusive creation (through s3fs), and many small reads at once (through obstore).

What works on a disk as in a bucket is `tasks.lake.storage`, which the rest uses. Nothing here is
imported by a run on a local lake.

obstore reads 5,000 keys of 4 kB from SeaweedFS in 4.4 to 5.9 s where requests signed here with
botocore took 15 to 21 s; keys of 20 MB come equally fast through both libraries. What it does not
get at once is asked for again through s3fs, which has the retries and the explained errors.
"""

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelake.tasks.errors import LakeError

if TYPE_CHECKING:
    from obstore.store import S3Store
    from upath import UPath


SCHEME = "s3://"
_HINTS = {
    "NoCredentialsError": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or "
    "run where a role is given",
    "PartialCredentialsError": "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "ProfileNotFound": "correct AWS_PROFILE or ~/.aws/config",
    "EndpointConnectionError": "check AWS_ENDPOINT_URL_S3 and the network",
    "PermissionError": "allow its s3:ListBucket, s3:GetObject, s3:PutObject and "
    "s3:DeleteObject to these credentials, or use others",
    "FileNotFoundError": "create the bucket, or name another",
}
_AGAIN = "check the bucket and the network, and run again: what was written is kept"
_NONCE = "judgelake-nonce"
# tries after a conflict with another write of the key, and seconds between them
_CONFLICT_TRIES, _CONFLICT_S = 8, 0.2
# requests at a time; a request mostly waits for the network
_AT_ONCE = 32
_LEAST_PAGES, _WANTED_A_PAGE = 2, 64
"""A page of a listing (1,000 keys) takes as long as about 64 single requests at 32 at once."""


def open_bucket(url: str) -> "UPath":
    """The path `s3://bucket/prefix`; raises LakeError for a URL that is none."""
    bucket, _, prefix = url.removeprefix(SCHEME).partition("/")
    parts = [part for part in prefix.split("/") if part]
    if not bucket or {".", ".."} & set(parts):
        raise LakeError(
            f"{url}: names no place in a bucket; expected s3://bucket/prefix; correct it"
        )
    from upath import UPath

    place: UPath = UPath(SCHEME + "/".join([bucket, *parts]), **_storage_options())
    return place


def _storage_options() -> dict[str, Any]:
    """What every path into a bucket carries: no key, no endpoint; both come from the environment of
    the process that uses it.

    With a custom endpoint boto addresses path-style unless AWS's config says otherwise. Checksums
    beyond the signature are left out unless asked for, since several other servers than AWS's
    refuse them; part files are checked by their own digest.
    """
    config = {
        "retries": {"mode": "standard", "total_max_attempts": 6},
        "connect_timeout": 10,
        "read_timeout": 30,
        "max_pool_connections": 64,
        "request_checksum_calculation": os.environ.get(
            "AWS_REQUEST_CHECKSUM_CALCULATION", "when_required"
        ),
        "response_checksum_validation": os.environ.get(
            "AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required"
        ),
    }
    return {"use_listings_cache": False, "config_kwargs": config}


@contextlib.contextmanager
def explain_bucket(path: "Path | UPath") -> Iterator[None]:
    """Around requests to a bucket: a failure becomes a LakeError that names the place and the
    remedy; FileNotFoundError of a key passes.
    """
    if isinstance(path, Path):
        yield
        return
    import aiohttp
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except FileNotFoundError as error:
        if (
            not isinstance(error.__cause__, ClientError)
            or error.__cause__.response["Error"].get("Code") != "NoSuchBucket"
        ):
            raise
        raise _explain(path, error) from None
    except (OSError, BotoCoreError, aiohttp.ClientError) as error:
        raise _explain(path, error) from None


def _explain(path: "UPath", error: Exception) -> LakeError:
    kind = type(error).__name__
    reason = getattr(error, "strerror", None) or str(error) or kind
    remedy = next(
        (_HINTS[base.__name__] for base in type(error).__mro__ if base.__name__ in _HINTS), _AGAIN
    )
    return LakeError(
        f"{path}: the bucket refuses ({kind}: {reason}); expected one that can be "
        f"read and written; {remedy}"
    )


def get_key(path: "UPath", most_bytes: int | None) -> bytes:
    """The bytes of a key, not more than `most_bytes` of it; raises FileNotFoundError."""
    try:
        start = None if most_bytes is None else 0
        content: bytes = path.fs.cat_file(
            path.path, start=start, end=most_bytes, max_concurrency=1
        )  # one request
    except OSError as error:
        if most_bytes is None or error.errno != errno.EINVAL or path.fs.info(path.path)["size"]:
            raise
        return b""  # nothing has no range
    return content


def download(path: "UPath", file: Path) -> None:
    """Copy a key into a local file; raises FileNotFoundError, and OSError with a file name or
    ENOSPC for what is wrong here.
    """
    path.fs.get_file(
        path.path, str(file), max_concurrency=1
    )  # several at once per file are not tried again where one is cut off


def create_key(path: "UPath", data: bytes) -> bool:
    """A put with `If-None-Match: *`. A put that is sent again after its answer was lost finds its
    own key, so a nonce shows that it is its own.
    """
    nonce = secrets.token_hex(16)
    for _ in range(_CONFLICT_TRIES):
        with explain_bucket(path):
            try:
                path.fs.pipe_file(path.path, data, mode="create", Metadata={_NONCE: nonce})
            except FileExistsError:
                return _read_nonce(path) == nonce
            except OSError as error:
                if "ConditionalRequestConflict" not in str(error.__cause__):
                    raise
                time.sleep(_CONFLICT_S)  # somebody writes or deletes this very key now
                continue
            return True
    return False


def _read_nonce(path: "UPath") -> str | None:
    head = head_key(path)  # none: removed meanwhile
    return None if head is None else head["Metadata"].get(_NONCE)


def list_keys(folder: "UPath", ending: str = "") -> dict[str, int]:
    """Keys below a folder of a bucket, relative to it and sorted, with their bytes: one listing of
    what is there now.
    """
    before = f"{folder.path.rstrip('/')}/"
    with explain_bucket(folder):
        # as a prefix: s3fs looks again, twice, for an empty folder that it was asked for by path
        if folder.name:
            listing = folder.fs.find(
                folder.parent.path.rstrip("/"), prefix=f"{folder.name}/", detail=True
            )
        else:
            listing = folder.fs.find(before.rstrip("/"), detail=True)
    keys = sorted(key for key in listing if key.endswith(ending) and not key.endswith("/"))
    return {key.removeprefix(before): int(listing[key]["size"]) for key in keys}


def list_page(folder: "UPath") -> dict[str, int] | None:
    """As `list_keys` in one request; None where a page does not hold all keys (1,000 are its
    most).
    """
    before = f"{_name(folder)['Key']}/".lstrip("/")
    with explain_bucket(folder):
        page = folder.fs.call_s3("list_objects_v2", Bucket=_name(folder)["Bucket"], Prefix=before)
    if page.get("IsTruncated"):
        return None
    return {
        item["Key"].removeprefix(before): int(item["Size"]) for item in page.get("Contents", ())
    }


def stamp_keys(root: "UPath", names: Collection[str]) -> dict[str, tuple[int, str]]:
    """Bytes and ETag of those keys below `root` that are there; by pages of a listing, or one
    request each where few of many are asked.
    """
    wanted, stamps = set(names), {}
    place = {"Bucket": _name(root)["Bucket"], "Prefix": f"{_name(root)['Key']}/".lstrip("/")}
    start, last = len(place["Prefix"]), place["Prefix"] + max(wanted, default="")
    with explain_bucket(root):
        for _ in range(_LEAST_PAGES + len(wanted) // _WANTED_A_PAGE):
            page = root.fs.call_s3("list_objects_v2", **place)
            for item in page.get("Contents", ()):
                if item["Key"][start:] in wanted:
                    stamps[item["Key"][start:]] = (int(item["Size"]), str(item["ETag"]))
            if not page.get("IsTruncated") or item["Key"] >= last:
                return stamps
            place["ContinuationToken"] = page["NextContinuationToken"]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="stamp") as threads:
        heads = threads.map(lambda name: head_key(root / name), sorted(wanted - stamps.keys()))
        sizes = zip(sorted(wanted - stamps.keys()), heads, strict=True)
        return stamps | {
            name: (int(head["ContentLength"]), str(head["ETag"])) for name, head in sizes if head
        }


def head_key(path: "UPath") -> dict[str, Any] | None:
    """The head of a key (size, ETag, times); None where there is no such key."""
    with explain_bucket(path):
        try:
            head: dict[str, Any] = path.fs.call_s3("head_object", **_name(path))
        except FileNotFoundError:
            return None
        return head


def remove_keys(folder: "UPath") -> None:
    """Delete all keys below a folder."""
    _delete(folder, [_name(folder / key)["Key"] for key in list_keys(folder)])


def _delete(folder: "UPath", keys: Sequence[str]) -> None:
    with explain_bucket(folder):
        for start in range(0, len(keys), 1000):  # S3's most in one request
            named = [{"Key": key} for key in keys[start : start + 1000]]
            folder.fs.call_s3(
                "delete_objects",
                Bucket=_name(folder)["Bucket"],
                Delete={"Objects": named, "Quiet": True},
            )


def replace_keys(folder: "UPath", files: Path, spared: str | None = None) -> None:
    """Put the files below a local folder under `folder`, many at once, and delete the keys there
    that are none of them, apart from those in its folder `spared`.
    """
    names = [
        file.relative_to(files).as_posix() for file in sorted(files.rglob("*")) if file.is_file()
    ]
    gone = list_keys(folder).keys() - set(names)
    if spared:
        gone = {name for name in gone if not name.startswith(f"{spared}/")}
    with explain_bucket(folder), ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="put") as threads:
        list(
            threads.map(
                lambda name: folder.fs.put_file(str(files / name), (folder / name).path), names
            )
        )
    _delete(folder, [_name(folder / name)["Key"] for name in sorted(gone)])


def _name(path: "UPath") -> dict[str, str]:
    bucket, _, key = str(path.path).partition("/")
    return {"Bucket": bucket, "Key": key}


Keep = Callable[[str, bytes], object]
# reads at a time; a read mostly waits for the network
_GETS_AT_ONCE = 32


def get_keys(root: "UPath", names: Collection[str], keep: Keep) -> None:
    """Hand `keep` the name (relative to `root`) and the bytes of those that come at the first try;
    the others are left out.
    """
    from fsspec.asyn import sync

    if names:
        sync(root.fs.loop, _get_all, root, iter(names), keep)


async def _get_all(root: "UPath", names: Iterator[str], keep: Keep) -> None:
    import asyncio

    from botocore.exceptions import BotoCoreError, ClientError

    try:
        store = await _open_store(root)
    except (OSError, BotoCoreError, ClientError):  # the more patient way says what is wrong
        return
    await asyncio.gather(*(_get_some(store, root, names, keep) for _ in range(_GETS_AT_ONCE)))


async def _open_store(root: "UPath") -> "S3Store":
    """The bucket with the credentials and at the address that the client uses, in its own region,
    addressed by path; a request is not tried again.
    """
    from obstore.store import S3Store

    bucket = _name(root)["Bucket"]
    await root.fs.set_session()
    client = await root.fs.get_s3(bucket)
    session_credentials = await root.fs.session.get_credentials()
    if session_credentials is None:
        raise PermissionError("no credentials")
    credentials = await session_credentials.get_frozen_credentials()
    head = await client.head_bucket(Bucket=bucket)
    token = {"session_token": credentials.token} if credentials.token else {}
    return S3Store(
        bucket,
        access_key_id=credentials.access_key,
        secret_access_key=credentials.secret_key,
        endpoint=client.meta.endpoint_url,
        region=head.get("BucketRegion") or client.meta.region_name,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True, "connect_timeout": "10s", "timeout": "30s"},
        retry_config={"max_retries": 0},
        **token,
    )


async def _get_some(store: "S3Store", root: "UPath", names: Iterator[str], keep: Keep) -> None:
    """Get one after the other, up to the first that does not come: where many fail, the slower and
    more patient way is the better one.
    """
    from obstore import get_async
    from obstore.exceptions import BaseError

    for name in names:
        try:
            answer = await get_async(store, _name(root / name)["Key"])
            content = (await answer.bytes_async()).to_bytes()
        except (OSError, BaseError):
            return
        keep(name, content)
