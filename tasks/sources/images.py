"""Source `images`: images alone, without a question or an answer, of a folder or of a data set in
the hub's form; for collections of feedback and for captions.

An item is an image. Images that do not lie in the suite's image folder are copied there, each under
a name of its content or its path.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from judgelake.tasks.errors import SourceError
from judgelake.tasks.lake.storage import LakePath, has_file, write_whole
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.lines import Rejects, find_files

VERSION = 1
TASK = "instruction"
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
# the first bytes of a file -> its suffix
_KINDS = ((b"\x89PNG", ".png"), (b"\xff\xd8", ".jpg"), (b"GIF8", ".gif"), (b"RIFF", ".webp"))
_BATCH_ROWS = 256
_Row = tuple[object, ...]


@frozen_settings
class ImagesSettings:
    """`folder`: all images in it and in folders below. `dataset`: Parquet or Arrow files (globs
    too) of a data set whose `column` holds images, as the hub and `datasets` store them.
    """

    folder: SuitePath | None = None
    dataset: tuple[SuitePath, ...] = ()
    column: str = "image"

    def __post_init__(self) -> None:
        if (self.folder is None) == (not self.dataset):
            raise ValueError("folder: expected either `folder:` or `dataset:`; name one of them")
        if self.folder is not None and self.column != "image":
            raise ValueError("column: says nothing about files of a `folder:`; remove it")


def source_files(settings: ImagesSettings) -> list[Path]:
    """All files this source reads; raises SourceError where there are none."""
    if settings.folder is None:
        return find_files(settings.dataset, "a data set's Parquet or Arrow files")
    files = (
        sorted(file for file in settings.folder.rglob("*") if file.suffix.lower() in SUFFIXES)
        if settings.folder.is_dir()
        else []
    )
    if not files:
        raise SourceError(
            f"{settings.folder}: holds no image; expected a folder with files such as "
            f"{', '.join(SUFFIXES[:3])}; correct `folder`"
        )
    return files


def read_images(settings: ImagesSettings, image_root: LakePath) -> SourceFrames:
    """An item an image; equal images of a data set are one."""
    rejects = Rejects()
    if settings.folder is not None:
        rows = {row[0]: row for row in _read_folder(settings, settings.folder, image_root)}
    else:
        rows = {row[0]: row for row in _read_dataset(settings, image_root, rejects)}
    return SourceFrames(
        items=pl.DataFrame([*rows.values()], schema=frame_schema("items"), orient="row"),
        rejected=tuple(rejects),
    )


def _read_folder(settings: ImagesSettings, folder: Path, root: LakePath) -> Iterator[_Row]:
    inside = isinstance(root, Path) and folder.absolute().is_relative_to(root.absolute())
    for file in source_files(settings):
        name = file.relative_to(folder).as_posix()
        if inside:
            uri = file.absolute().relative_to(Path(str(root)).absolute()).as_posix()
        else:
            uri = f"{folder.absolute().name}/{name}"
            _write_once(root / uri, file.read_bytes())
        yield _make_item(name, uri, (file.name, "whole file"))


def _read_dataset(settings: ImagesSettings, root: LakePath, rejects: Rejects) -> Iterator[_Row]:
    for file in source_files(settings):
        number = 0
        for cells in _read_column(file, settings.column):
            for cell in cells:
                place = (file.name, f"row {number}")
                number += 1
                content = cell.get("bytes") if isinstance(cell, dict) else cell
                if not isinstance(content, bytes) or not content:
                    reason = "the row holds no image of its own"
                    rejects.add("items", place, settings.column, None, reason)
                    continue
                name = hashlib.sha256(content).hexdigest()[:16]
                uri = f"{file.absolute().parent.name}/{name}{_find_suffix(content)}"
                _write_once(root / uri, content)
                yield _make_item(name, uri, place)


def _read_column(file: Path, column: str) -> Iterator[list[Any]]:
    """The cells of a column, some rows at a time; raises SourceError where there is none."""
    try:
        if file.suffix == ".parquet":
            opened = pq.ParquetFile(file)
            _expect_column(file, opened.schema_arrow, column)
            batches: Any = opened.iter_batches(_BATCH_ROWS, columns=[column])
        else:
            # what `datasets` writes is a stream; what other programs write may be a file
            with pa.memory_map(str(file)) as source:
                try:
                    reader: Any = pa.ipc.open_stream(source)
                    batches = [*reader]
                except pa.ArrowInvalid:
                    reader = pa.ipc.open_file(source)
                    batches = [reader.get_batch(n) for n in range(reader.num_record_batches)]
            _expect_column(file, reader.schema, column)
        for batch in batches:
            yield batch.column(column).to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise SourceError(
            f"{file}: cannot be read ({error}); expected Parquet or Arrow; fetch it again"
        ) from None


def _expect_column(file: Path, schema: pa.Schema, column: str) -> None:
    if column not in schema.names:
        raise SourceError(
            f"{file}: has no column {column!r}; expected one of {', '.join(schema.names)}; "
            f"set `column`"
        )


def _find_suffix(content: bytes) -> str:
    return next((suffix for start, suffix in _KINDS if content.startswith(start)), ".img")


def _make_item(name: str, uri: str, place: tuple[str, str]) -> _Row:
    return (name, TASK, "", [], [{"uri": uri, "sha256": None}], [], None, None, uri, *place)


def _write_once(place: LakePath, content: bytes) -> None:
    if not has_file(place):
        if isinstance(place, Path):
            place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, content)


SOURCE = Source("images", ImagesSettings, VERSION, source_files, read_images)
