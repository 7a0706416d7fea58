"""Files on a local disk or in an S3 bucket, by one set of functions: whole writes, exclusive
creation, listings, removal.

A path is a `pathlib.Path` here or a `upath.UPath` in a bucket. Which files a lake has is
`tasks.lake.lake`, what is special about buckets `tasks.lake.buckets`.
"""

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.buckets import (
    SCHEME,
    create_key,
    download,
    explain_bucket,
    get_key,
    head_key,
    list_keys,
    open_bucket,
    remove_keys,
    replace_keys,
)
from judgelake.tasks.lake.processes import own_folder

if TYPE_CHECKING:
    from upath import UPath

    LakePath = Path | UPath
else:
    LakePath = Path  # upath and fsspec take a tenth of a second, which a local lake does not need


def open_place(text: str | Path) -> LakePath:
    """The path that a user's text names: `s3://bucket/prefix` in a bucket, anything else on this
    machine (made absolute).
    """
    path_text = str(text)
    return open_bucket(path_text) if path_text.startswith(SCHEME) else Path(path_text).absolute()


def read_file(path: LakePath, most_bytes: int | None = None) -> bytes | None:
    """The content of a file, of a key in a bucket not more than `most_bytes` of it; None where
    there is none.
    """
    try:
        with explain_bucket(path):
            return path.read_bytes() if isinstance(path, Path) else get_key(path, most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LakeError(
            f"{path}: cannot be read ({error.strerror}); expected a file; check it "
            f"and who may read it"
        ) from None


@contextlib.contextmanager
def local_copy(path: LakePath) -> Iterator[Path]:
    """The file on this machine, for readers that take nothing else; that of a bucket is copied for
    the while.
    """
    if isinstance(path, Path):
        yield path
        return
    with own_folder("copy") as folder:
        file = Path(folder) / path.name
        try:
            with explain_bucket(path):
                download(path, file)
        except FileNotFoundError:
            raise LakeError(
                f"{path}: is gone; expected a file that was written before; run again"
            ) from None
        yield file


def has_file(path: LakePath) -> bool:
    """Whether there is a file (in a bucket: one request)."""
    if isinstance(path, Path):
        return path.exists()
    return head_key(path) is not None


def write_whole(path: LakePath, data: bytes) -> None:
    """Make `path` appear with all of `data` or not at all."""
    if isinstance(path, Path):
        with whole_file(path) as beside, beside.open("wb") as file:
            file.write(data)
        return
    with explain_bucket(path):
        path.fs.pipe_file(path.path, data)


@contextlib.contextmanager
def whole_file(path: LakePath) -> Iterator[Path]:
    """A local file to be written; it becomes `path` whole or not at all: synced, renamed, the
    folder synced, or one upload.
    """
    if isinstance(path, Path):
        with _whole_local(path) as beside:
            yield beside
        return
    try:
        with own_folder("copy") as folder:
            beside = Path(folder) / path.name
            yield beside
            with explain_bucket(path):
                path.fs.put_file(str(beside), path.path)
    except OSError as error:
        raise LakeError(
            f"{path}: cannot be prepared here ({error.strerror}); expected room in "
            f"{tempfile.gettempdir()}; free it and run again"
        ) from None


@contextlib.contextmanager
def _whole_local(path: Path) -> Iterator[Path]:
    try:
        with replacement(path) as beside:
            yield beside
    except OSError as error:
        raise LakeError(
            f"{path}: cannot be written ({error.strerror}); expected a writable place with "
            f"room; free it and run again"
        ) from None


@contextlib.contextmanager
def replacement(path: Path, ending: str = ".tmp", *, synced: bool = True) -> Iterator[Path]:
    """A file beside a local `path` to be written, under a hidden name that ends so; it becomes
    `path` when the block ends, and goes when the block fails. Raises OSError.

    Not `synced`: for what can be made again and is checked when it is read.
    """
    beside = path.parent / f".{uuid.uuid4().hex}{ending}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        if synced:
            sync_path(beside)
        beside.replace(path)
        if synced:
            sync_path(path.parent)
    finally:
        # It was renamed or never made, or the folder itself is what is wrong.
        with contextlib.suppress(OSError):
            beside.unlink()


def move_folder(beside: Path, whole: Path) -> None:
    """Rename a local folder of files, all of them synced before: after a crash there are whole
    files under the new name or none. Raises FileExistsError where a folder with files is there.
    """
    for path in (*beside.iterdir(), beside):
        sync_path(path)
    try:
        beside.rename(whole)
    except OSError as error:
        if whole.is_dir():
            raise FileExistsError(str(whole)) from error
        raise
    sync_path(whole.parent)


def sync_path(path: Path) -> None:
    """Have a local file, or a folder's list of names, on the disk before going on."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def create_exclusively(path: LakePath, data: bytes) -> bool:
    """Make `path` with `data` if nothing is there yet: True for exactly one of many that try at
    once, False for the others.
    """
    return _create_local(path, data) if isinstance(path, Path) else create_key(path, data)


def _create_local(path: Path, data: bytes) -> bool:
    """Write a hidden file and link it, so that no reader sees half of it."""
    beside = path.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        sync_path(beside)
        os.link(beside, path)
        sync_path(path.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise LakeError(
            f"{path}: cannot be made ({error.strerror}); expected a writable place with room; "
            f"free it and run again"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
    return True


def list_files(folder: LakePath, ending: str = "") -> list[LakePath]:
    """The files below a folder whose names end so, sorted by path; [] where there is none. In a
    bucket: one listing.
    """
    if isinstance(folder, Path):
        walk = os.walk(
            folder
        )  # unlike rglob, no error where another process takes a folder away meanwhile
        return sorted(
            Path(parent, name)
            for parent, _, names in walk
            for name in names
            if name.endswith(ending)
        )
    return [folder / key for key in list_keys(folder, ending)]


def list_folders(folder: LakePath) -> list[str]:
    """The names of the folders in a folder, sorted; [] where there is none. In a bucket: one
    listing.
    """
    if isinstance(folder, Path):
        try:
            return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
        except FileNotFoundError:
            return []
    return sorted({key.split("/", 1)[0] for key in list_keys(folder) if "/" in key})


@contextlib.contextmanager
def filled_folder(folder: LakePath, spared: str | None = None) -> Iterator[Path]:
    """A local folder to write files into: `folder` itself, or for a bucket one whose files are put
    there when the block ends.

    What lay below a bucket's folder before, and is not among them, goes; not so what lies in its
    folder `spared`.
    """
    if isinstance(folder, Path):
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with own_folder("copy") as name:
        yield Path(name)
        replace_keys(folder, Path(name), spared)


def remove_file(path: LakePath) -> None:
    """Delete a file; one that is not there is fine. Raises LakeError where it stays."""
    if isinstance(path, Path):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise LakeError(
                f"{path}: cannot be removed ({error.strerror}); expected a place to write in; "
                f"see whose it is, and run again"
            ) from None
        return
    with explain_bucket(path):
        path.fs.rm_file(path.path)


def remove_folder(folder: LakePath) -> None:
    """Delete a folder and all below it; one that is not there is fine."""
    if isinstance(folder, Path):
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
        return
    remove_keys(folder)
