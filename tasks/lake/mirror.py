"""The local mirror of a lake in a bucket: copies of its part files, which never change and are
named by their content.

Which part files a lake has is `tasks.lake.lake`. A mirror can be deleted at any time; it is filled
again.
"""

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from judgelake.tasks.digests import file_digest
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.buckets import download, explain_bucket, get_keys
from judgelake.tasks.lake.storage import LakePath, replacement

if TYPE_CHECKING:
    from upath import UPath


# files copied at a time; a copy mostly waits for the network
_AT_ONCE = 32
_SMALL_BYTES = 1 << 20
"""For a part up to this size a request costs more time than its bytes; 32 may be in memory."""
_KEPT_S = 3600.0
"""How long a copy stays after the bucket no longer lists it: another process here may have listed
it before, or may be writing it.
"""
# The name of a part file is the sha256 of its content, in hexadecimal digits.
_BY_CONTENT = re.compile(r"[0-9a-f]{64}")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "FSSPEC_S3_ENDPOINT_URL", "AWS_PROFILE")


def cache_folder() -> Path:
    """The folder for what this machine can make again: JUDGELAKE_CACHE, else ~/.cache/judgelake."""
    return Path(os.environ.get("JUDGELAKE_CACHE") or Path.home() / ".cache" / "judgelake")


def find_mirror(root: LakePath) -> Path:
    """Where the local copies of a lake lie: the lake itself where it is local, else a folder of
    JUDGELAKE_CACHE (~/.cache/judgelake).
    """
    if isinstance(root, Path):
        return root
    cache = cache_folder()
    names = [
        str(root),
        *(os.environ.get(name, "") for name in _ENDPOINTS),
    ]  # buckets of two servers may have one name
    # A folder name that a person recognises; the digest beside it makes it unique.
    slug = re.sub(r"[^A-Za-z0-9.-]+", "-", str(root).removeprefix("s3://"))[:80]
    return cache.absolute() / f"{slug}-{hashlib.sha256(repr(names).encode()).hexdigest()[:16]}"


def list_local(folder: Path, table: str) -> dict[str, int]:
    """Part files of a table in a local folder: path relative to it, with slashes -> size in
    bytes.
    """
    sizes: dict[str, int] = {}
    left = [(str(folder / table), table)]
    while left:
        path, name = left.pop()
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            os.scandir(path) as entries,
        ):
            for entry in entries:
                if entry.name.endswith(".parquet"):
                    with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                        sizes[f"{name}/{entry.name}"] = entry.stat().st_size
                elif entry.is_dir():
                    left.append((entry.path, f"{name}/{entry.name}"))
    return sizes


def fetch_parts(
    root: "UPath",
    mirror: Path,
    table: str,
    listed: Mapping[str, int],
    wanted: Collection[str],
    listed_at: datetime,
) -> None:
    """Copy the `wanted` ones of a table's `listed` part files (name -> size) that the mirror lacks,
    and delete copies of parts that had been gone for long when they were listed.

    Raises FileNotFoundError where one went away since the listing, LakeError for what cannot be
    read or kept.
    """
    there = list_local(mirror, table)
    missing = [name for name in wanted if there.get(name) != listed[name]]
    if missing:
        for folder in {(mirror / name).parent for name in missing}:
            _make_folder(folder)
        kept = _fetch_small(
            root, mirror, [name for name in missing if listed[name] <= _SMALL_BYTES]
        )
        missing = [name for name in missing if name not in kept]
    if missing:
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fetch") as threads:
            list(threads.map(lambda name: _fetch(root, mirror, name), missing))
    _drop(mirror, there.keys() - listed.keys(), listed_at.timestamp() - _KEPT_S)


def _fetch_small(root: "UPath", mirror: Path, names: Collection[str]) -> set[str]:
    """Copy the parts that arrive at the first try with the digest of their name; returns them."""
    kept: set[str] = set()

    def keep(name: str, data: bytes) -> None:
        if hashlib.sha256(data).hexdigest() == name.rpartition("/")[2].removesuffix(
            ".parquet"
        ) and _keep(mirror, name, data):
            kept.add(name)

    get_keys(root, names, keep)
    return kept


def _fetch(root: "UPath", mirror: Path, name: str) -> None:
    """Written beside, its content checked against its name, renamed."""
    place = root / name
    with _copying(mirror / name) as beside:
        with explain_bucket(place):
            try:
                download(place, beside)
                digest = file_digest(beside)
            except OSError as error:
                if error.errno == errno.ENOSPC or error.filename is not None:
                    raise _explain_local(mirror, error) from None
                raise
        stem = (mirror / name).stem
        if _BY_CONTENT.fullmatch(stem) and digest != stem:
            raise LakeError(
                f"{place}: its content is not what its name says (sha256 {digest}); expected "
                f"the file that was written; "
                "restore it from a copy or an earlier version of the object, or delete it and "
                "run again"
            )


def keep_copy(mirror: Path, name: str, data: bytes) -> None:
    """Put a part file that was just written into the mirror; where that fails, it is fetched when
    it is read.
    """
    _keep(mirror, name, data)


def _keep(mirror: Path, name: str, data: bytes) -> bool:
    """Whether the disk had room for it."""
    try:
        with _copying(mirror / name) as beside:
            beside.write_bytes(data)
    except OSError:
        return False
    return True


def _copying(path: Path) -> contextlib.AbstractContextManager[Path]:
    """The suffix lets `list_local` find what a killed process left, so that it is deleted later."""
    return replacement(path, ".tmp.parquet", synced=False)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _explain_local(folder, error) from None


def _explain_local(folder: Path, error: OSError) -> LakeError:
    return LakeError(
        f"{folder}: the local copy of the bucket cannot be written ({error.strerror}); "
        f"expected room for the part files; "
        "free some, or name a folder with room in JUDGELAKE_CACHE, and run again"
    )


def _drop(mirror: Path, gone: Collection[str], before: float) -> None:
    for name in gone:
        with contextlib.suppress(OSError):
            if (mirror / name).stat().st_mtime < before:
                (mirror / name).unlink()
