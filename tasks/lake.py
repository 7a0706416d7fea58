"""The lake on disk: table paths, part files that appear whole or not at all, the format number.

What a table holds is `schemas.tables`; which rows are current is SQL (`sql/`).
"""

import contextlib
import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandera.errors
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import TABLES, Table
from tasks.errors import LakeError

FORMAT = 1
_PARTITIONS = frozenset(name for table in TABLES.values() for name in table.partitions)
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Lake:
    """A folder of Parquet tables; picklable, holds no open file."""

    root: Path

    def table_folder(self, table: str) -> Path:
        """Where the part files of `table` lie."""
        return self.root / table

    def part_files(self, table: str) -> list[Path]:
        """All whole part files of a table, sorted by path."""
        return sorted(self.table_folder(table).glob("**/*.parquet"))

    def work_folder(self, run_id: str) -> Path:
        """Scratch of one run: shard inputs and its stop flag; removed when the run ends."""
        return self.root / "_work" / run_id


def open_lake(root: Path, *, create: bool = False) -> Lake:
    """Open the lake at `root`; raises LakeError where there is none (unless `create`) or its format is newer than this program's."""
    for part in root.absolute().parts:
        if part.split("=")[0] in _PARTITIONS and "=" in part:
            raise LakeError(f"{root}: {part!r} reads as a partition of a table; expected another folder name; move the lake")
    marker = root / "lake.json"
    if not marker.exists():
        if not create:
            raise LakeError(
                f"{root}: no lake here; expected a folder with lake.json; name another with --lake or run a suite first"
            )
        write_whole(marker, json.dumps({"format": FORMAT}).encode())
    found = _read_format(marker)
    if found > FORMAT:
        raise LakeError(f"{marker}: format {found}; expected at most {FORMAT}; install a newer judgelake to read this lake")
    return Lake(root.absolute())


def _read_format(marker: Path) -> int:
    try:
        return int(json.loads(marker.read_text(encoding="utf-8"))["format"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        expected = json.dumps({"format": FORMAT})
        raise LakeError(
            f"{marker}: cannot be read as a lake's marker ({error}); expected {expected}; restore it or name another with --lake"
        ) from None


def write_whole(path: Path, data: bytes) -> None:
    """Make `path` appear with all of `data` or not at all."""
    with whole_file(path) as beside, beside.open("wb") as file:
        file.write(data)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file beside `path` to be written; it becomes `path` whole or not at all: synced, renamed, the folder synced."""
    beside = path.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        _sync(beside)
        beside.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise LakeError(
            f"{path}: cannot be written ({error.strerror}); expected a writable place with room; free it and run again"
        ) from None
    finally:
        with contextlib.suppress(OSError):  # renamed, never made, or the folder itself is what is wrong
            beside.unlink()


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def append_rows(lake: Lake, name: str, frame: pl.DataFrame) -> list[Path]:
    """Write `frame` (all columns of the contract, any order) as new part files, one a partition; checked against the contract first."""
    table = TABLES[name]
    if frame.is_empty():
        return []
    try:
        checked = table.model.validate(frame.select(table.polars_schema.keys()).cast(pl.Schema(table.polars_schema)), lazy=True)
    except pandera.errors.SchemaErrors as error:
        raise LakeError(f"{name}: rows break the table's contract; nothing was written\n{error.failure_cases.head(5)}") from None
    parts = [(_part_folder(lake, table, values), part) for values, part in _split(table, checked)]
    return [_write_part(folder, table, part) for folder, part in parts]


def append_records(lake: Lake, name: str, records: Iterable[Mapping[str, object]]) -> list[Path]:
    """`append_rows` for a few rows given as mappings."""
    return append_rows(lake, name, pl.DataFrame(list(records), schema=TABLES[name].polars_schema))


def remove_parts(paths: Iterable[Path]) -> None:
    """Delete part files that newer ones have replaced."""
    for path in paths:
        path.unlink(missing_ok=True)


def _split(table: Table, frame: pl.DataFrame) -> Iterable[tuple[tuple[str, ...], pl.DataFrame]]:
    if not table.partitions:
        return [((), frame)]
    groups = frame.partition_by(table.partitions, as_dict=True, include_key=False)
    return [(tuple(str(value) for value in values), part) for values, part in groups.items()]


def _part_folder(lake: Lake, table: Table, values: tuple[str, ...]) -> Path:
    for value in values:
        if not _SLUG.fullmatch(value):
            raise LakeError(
                f"{table.name}: {value!r} cannot name a partition; expected letters, digits, '_', '.', '-'; rename it"
            )
    names = (f"{key}={value}" for key, value in zip(table.partitions, values, strict=True))
    return lake.table_folder(table.name).joinpath(*names)


def _write_part(folder: Path, table: Table, frame: pl.DataFrame) -> Path:
    data = _parquet_bytes(frame.sort(table.sort).to_arrow().cast(table.arrow_schema))
    path = folder / f"{hashlib.sha256(data).hexdigest()}.parquet"
    write_whole(path, data)
    return path


def _parquet_bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    return bytes(sink.getvalue())
