"""The lake, a folder or a place in a bucket: table paths, part files that appear whole or not at all, the format number.

What a table holds is `schemas.tables`; which rows are current is SQL (`sql/`); how bytes are stored is `tasks.storage`.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pandera.errors
import polars as pl
import pyarrow as pa

from schemas.tables import TABLES, Table
from tasks.buckets import list_keys
from tasks.errors import LakeError
from tasks.mirror import fetch_parts, find_mirror, keep_copy, list_local
from tasks.parquet_format import write_parquet
from tasks.retiring import list_retired, list_sidecars
from tasks.storage import LakePath, open_place, read_file, whole_file, write_whole

__all__ = [
    "FORMAT", "Lake", "LakePath", "append_records", "append_rows", "open_lake", "open_place", "whole_file", "write_whole",
]  # fmt: skip

FORMAT = 1
"""Nothing was released yet, so each change of the tables starts at 1 again; from the first release on, older formats are migrated."""
MARKER = "lake.json"
_PARTITIONS = frozenset(name for table in TABLES.values() for name in table.partitions)
_LISTINGS_AT_ONCE = 16
_FETCHES = 3
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Lake:
    """Parquet tables below `root`; picklable, holds no open file and no key."""

    root: LakePath

    @property
    def mirror(self) -> Path:
        """A local folder with the part files that were read or written here: the lake itself where it is local."""
        return find_mirror(self.root)

    def list_parts(self, *places: str) -> dict[str, dict[str, int]]:
        """Table (or `table/partition=value`) -> its current part files, relative to the root and in order, with their bytes.

        In a bucket: one listing a place, all at once.
        """
        listed, hidden = self._list(places)
        return {place: {name: size for name, size in found.items() if name not in hidden} for place, found in listed.items()}

    def _list(self, places: tuple[str, ...]) -> tuple[dict[str, dict[str, int]], frozenset[str]]:
        """All part files of each place, and those that do not count (any more)."""
        root = self.root
        if isinstance(root, Path):
            found = [dict(sorted(list_local(root, place).items())) for place in places]
        else:
            with ThreadPoolExecutor(_LISTINGS_AT_ONCE, thread_name_prefix="list") as threads:
                keys = threads.map(lambda place: list_keys(root / place, ".parquet"), places)
                found = [
                    {f"{place}/{key}": size for key, size in of_one.items()} for place, of_one in zip(places, keys, strict=True)
                ]
        listed = dict(zip(places, found, strict=True))
        return listed, list_retired(self, {name for of_one in found for name in of_one})

    def find_parts(self, *places: str) -> dict[str, list[Path]]:
        """As `list_parts`, but as local files that can be read now: of a bucket, what the mirror lacks is fetched."""
        for _ in range(_FETCHES):
            listed, hidden = self._list(places)
            current = {place: [name for name in found if name not in hidden] for place, found in listed.items()}
            mirror = self.mirror
            try:
                if not isinstance(self.root, Path):
                    for place, names in current.items():
                        fetch_parts(self.root, mirror, place, listed[place], names)
            except FileNotFoundError:  # deleted after it was listed
                continue
            return {place: [mirror / name for name in names] for place, names in current.items()}
        raise LakeError(
            f"{self.root}: part files go away while they are read; expected no other program at work there; run again"
        )

    def part_files(self, place: str) -> list[Path]:
        """The current part files of a table (or `table/partition=value`) as local files, sorted by path."""
        return self.find_parts(place)[place]

    def work_folder(self, run_id: str) -> LakePath:
        """Scratch of one run: shard inputs and its stop flag; removed when the run ends."""
        return self.root / "_work" / run_id


def open_lake(root: str | LakePath, *, create: bool = False) -> Lake:
    """Open the lake at `root`, a folder or `s3://bucket/prefix`; raises LakeError where there is none (unless `create`), or one of another format."""
    lake = Lake(open_place(root) if isinstance(root, str | Path) else root)
    for part in lake.mirror.parts:
        if part.split("=")[0] in _PARTITIONS and "=" in part:
            raise LakeError(
                f"{lake.mirror}: {part!r} reads as a partition of a table; expected another folder name; move the lake"
            )
    marker = lake.root / MARKER
    content = read_file(marker)
    if content is None:
        if not create:
            raise LakeError(
                f"{lake.root}: no lake here; expected a folder with lake.json; name another with --lake or run a suite first"
            )
        write_whole(marker, json.dumps({"format": FORMAT}).encode())
        return lake
    found = _read_format(marker, content)
    if found != FORMAT:
        raise LakeError(
            f"{marker}: format {found}; expected {FORMAT}; run the suite into a new lake, or use the judgelake that wrote this one"
        )
    return lake


def _read_format(marker: LakePath, content: bytes) -> int:
    try:
        return int(json.loads(content)["format"])
    except (ValueError, KeyError, TypeError) as error:
        expected = json.dumps({"format": FORMAT})
        raise LakeError(
            f"{marker}: cannot be read as a lake's marker ({error}); expected {expected}; restore it or name another with --lake"
        ) from None


def append_rows(lake: Lake, name: str, frame: pl.DataFrame) -> list[LakePath]:
    """Write `frame` (all columns of the contract, any order) as new part files, one a partition; checked against the contract first."""
    table = TABLES[name]
    if frame.is_empty():
        return []
    try:
        checked = table.model.validate(frame.select(table.polars_schema.keys()).cast(pl.Schema(table.polars_schema)), lazy=True)
    except pandera.errors.SchemaErrors as error:
        raise LakeError(f"{name}: rows break the table's contract; nothing was written\n{error.failure_cases.head(5)}") from None
    parts = [(_part_folder(table, values), part) for values, part in _split(table, checked)]
    retired = frozenset(name for one in list_sidecars(lake) for name in one.files)
    return [_write_part(lake, folder, table, part, retired) for folder, part in parts]


def append_records(lake: Lake, name: str, records: Iterable[Mapping[str, object]]) -> list[LakePath]:
    """`append_rows` for a few rows given as mappings."""
    return append_rows(lake, name, pl.DataFrame(list(records), schema=TABLES[name].polars_schema))


def _split(table: Table, frame: pl.DataFrame) -> Iterable[tuple[tuple[str, ...], pl.DataFrame]]:
    if not table.partitions:
        return [((), frame)]
    groups = frame.partition_by(table.partitions, as_dict=True, include_key=False)
    return [(tuple(str(value) for value in values), part) for values, part in groups.items()]


def _part_folder(table: Table, values: tuple[str, ...]) -> str:
    for value in values:
        if not _SLUG.fullmatch(value):
            raise LakeError(
                f"{table.name}: {value!r} cannot name a partition; expected letters, digits, '_', '.', '-'; rename it"
            )
    return "/".join([table.name, *(f"{key}={value}" for key, value in zip(table.partitions, values, strict=True))])


def _write_part(lake: Lake, folder: str, table: Table, frame: pl.DataFrame, retired: Set[str]) -> LakePath:
    rows = frame.sort(table.sort).to_arrow().cast(table.arrow_schema)
    name, data = _make_part(folder, rows)
    while name in retired:  # rows that were replaced and are back: under that name nobody would read them
        name, data = _make_part(folder, rows.replace_schema_metadata({"again": secrets.token_hex(8)}))
    write_whole(lake.root / name, data)
    if not isinstance(lake.root, Path):
        keep_copy(lake.mirror, name, data)
    return lake.root / name


def _make_part(folder: str, rows: pa.Table) -> tuple[str, bytes]:
    """The name of a part file, which is its digest, and its bytes."""
    sink = pa.BufferOutputStream()
    write_parquet(rows, sink)
    data = bytes(sink.getvalue())
    return f"{folder}/{hashlib.sha256(data).hexdigest()}.parquet", data
