"""The lake, a folder or a place in a bucket: table paths, part files that appear whole or not at
all, the format number.

What a table holds is `schemas.tables`; which rows are current is SQL (`sql/`); how bytes are stored
is `tasks.lake.storage`; which part files count at a moment is `tasks.lake.snapshot`; when replaced
ones are deleted is `tasks.lake.cleanup`.

A compaction writes its sidecar first and its new files then: until all of those are there, they are
what readers leave out. Merging files is `tasks.lake.compaction`.

The list of part files (`parts.json`) lacks those that a killed run wrote: the next run's end adds
them. Looking for damage is `tasks.warehouse.damage`.
"""

import contextlib
import hashlib
import json
import re
import secrets
import shlex
import uuid
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from judgelake.schemas.tables import TABLES, Table
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.mirror import find_mirror, keep_copy
from judgelake.tasks.lake.snapshot import FOLDER, GoneError, Snapshot, list_sidecars, list_snapshot
from judgelake.tasks.lake.storage import LakePath, open_place, read_file, write_whole

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

FILE = "parts.json"


def record_parts(root: LakePath, parts: Iterable[str]) -> None:
    """Keep the names (relative to the root) of the part files that readers read now; files
    outside of the tables' folders are left out.
    """
    names = sorted(name for name in parts if name.partition("/")[0] in TABLES)
    write_whole(root / FILE, json.dumps({"parts": names}, indent=0).encode())


def read_recorded(root: LakePath) -> frozenset[str] | None:
    """The names that `record_parts` kept last; None where there are none or they are unreadable."""
    data = read_file(root / FILE)
    try:
        return None if data is None else frozenset(map(str, json.loads(data)["parts"]))
    except (ValueError, KeyError, TypeError):
        return None


def retire(
    lake: "Lake", parts: Sequence[LakePath], replacements: Sequence[LakePath] = ()
) -> LakePath:
    """Readers leave `parts` out from the moment that all of `replacements` are there: at once,
    where there are none to wait for.

    Returns the sidecar. Replacements are written before it, and count beside the old parts for a
    moment, or, where that matters, after it. A snapshot that lacks one of them shows the old parts
    of all tables and none of the new.
    """
    content = {
        "files": sorted(name_part(lake, part) for part in parts),
        "replacements": sorted(name_part(lake, part) for part in replacements),
        "retired_at": datetime.now(UTC).isoformat(),
    }
    sidecar = lake.root / FOLDER / f"{uuid.uuid4().hex}.json"
    write_whole(sidecar, json.dumps(content).encode())
    return sidecar


def name_part(lake: "Lake", part: LakePath) -> str:
    """The path of a part file relative to the lake's root, with slashes."""
    return part.as_posix().removeprefix(f"{lake.root.as_posix()}/")


FORMAT = 1
"""Nothing was released yet, so each change of the tables starts at 1 again; from the first release
on, older formats are migrated.
"""
MARKER = "lake.json"
_PARTITIONS = frozenset(name for table in TABLES.values() for name in table.partitions)
# a part file may be replaced between the listing and the read: so many tries
_FETCHES = 3
# Names become folder names: no slash, no blank, no hidden or option-like beginning.
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Lake:
    """Parquet tables below `root`; picklable, holds no open file and no key."""

    root: LakePath

    @property
    def argument(self) -> str:
        """Its place as a word of a shell's command, quoted where it needs that."""
        return shlex.quote(str(self.root))

    @property
    def mirror(self) -> Path:
        """A local folder with the part files that were read or written here: the lake itself where
        it is local.
        """
        return find_mirror(self.root)

    def take_snapshot(self, *places: str) -> Snapshot:
        """What counts now, of all tables or only of `places` (`table`, `table/partition=value`)."""
        return list_snapshot(self.root, *places)

    def list_parts(self, *places: str) -> dict[str, dict[str, int]]:
        """`Snapshot.list_parts` of these places as they are now."""
        return self.take_snapshot(*places).list_parts(*places)

    def find_parts(self, *places: str) -> dict[str, list[Path]]:
        """`Snapshot.find_parts` of these places as they are now."""
        for _ in range(_FETCHES):
            with contextlib.suppress(GoneError):  # deleted after it was listed
                return self.take_snapshot(*places).find_parts(*places)
        raise LakeError(
            f"{self.root}: part files go away while they are read; expected no other program "
            f"at work there; run again"
        )

    def part_files(self, place: str) -> list[Path]:
        """The current part files of a table (or `table/partition=value`) as local files, sorted by
        path.
        """
        return self.find_parts(place)[place]

    def work_folder(self, run_id: str) -> LakePath:
        """Scratch folder of a run: shard inputs and its stop flag; removed when the run ends."""
        return self.root / "_work" / run_id


def open_lake(root: str | LakePath, *, create: bool = False) -> Lake:
    """Open the lake at `root`, a folder or `s3://bucket/prefix`; raises LakeError where there is
    none (unless `create`), or one of another format.
    """
    lake = Lake(open_place(root) if isinstance(root, str | Path) else root)
    for part in lake.mirror.parts:
        if part.split("=")[0] in _PARTITIONS and "=" in part:
            raise LakeError(
                f"{lake.mirror}: {part!r} reads as a partition of a table; expected another "
                f"folder name; move the lake"
            )
    marker = lake.root / MARKER
    content = read_file(marker)
    if content is None:
        if not create:
            raise LakeError(
                f"{lake.root}: no lake here; expected a folder with lake.json; name another "
                f"with --lake or run a suite first"
            )
        write_whole(marker, json.dumps({"format": FORMAT}).encode())
        return lake
    written_as = _read_format(marker, content)
    if written_as != FORMAT:
        raise LakeError(
            f"{marker}: format {written_as}; expected {FORMAT}; run the suite into a new lake, or "
            f"use the judgelake that wrote this one"
        )
    return lake


def _read_format(marker: LakePath, content: bytes) -> int:
    try:
        return int(json.loads(content)["format"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        expected = json.dumps({"format": FORMAT})
        raise LakeError(
            f"{marker}: cannot be read as a lake's marker ({error}); expected {expected}; "
            f"restore it or name another with --lake"
        ) from None


def append_rows(lake: Lake, name: str, frame: "pl.DataFrame") -> list[LakePath]:
    """Write `frame` (all columns of the contract, any order) as new part files, one a partition;
    checked against the contract first.
    """
    import pandera.errors
    import polars as pl

    table = TABLES[name]
    if frame.is_empty():
        return []
    try:
        checked = table.model.validate(
            frame.select(table.polars_schema.keys()).cast(pl.Schema(table.polars_schema)), lazy=True
        )
    except pandera.errors.SchemaErrors as error:
        raise LakeError(
            f"{name}: rows break the table's contract; nothing was "
            f"written\n{error.failure_cases.head(5)}"
        ) from None
    parts = [(_part_folder(table, values), part) for values, part in _split(table, checked)]
    retired = frozenset(
        name for retirement in list_sidecars(lake.root) for name in retirement.files
    )
    return [_write_part(lake, folder, table, part, retired) for folder, part in parts]


def append_records(
    lake: Lake, name: str, records: Iterable[Mapping[str, object]]
) -> list[LakePath]:
    """`append_rows` for a few rows given as mappings."""
    import polars as pl

    return append_rows(lake, name, pl.DataFrame(list(records), schema=TABLES[name].polars_schema))


def _split(table: Table, frame: "pl.DataFrame") -> Iterable[tuple[tuple[str, ...], "pl.DataFrame"]]:
    if not table.partitions:
        return [((), frame)]
    groups = frame.partition_by(table.partitions, as_dict=True, include_key=False)
    return [(tuple(str(value) for value in values), part) for values, part in groups.items()]


def _part_folder(table: Table, values: tuple[str, ...]) -> str:
    for value in values:
        if not _SLUG.fullmatch(value):
            raise LakeError(
                f"{table.name}: {value!r} cannot name a partition; expected letters, digits, "
                f"'_', '.', '-'; rename it"
            )
    return "/".join(
        [
            table.name,
            *(f"{key}={value}" for key, value in zip(table.partitions, values, strict=True)),
        ]
    )


def _write_part(
    lake: Lake, folder: str, table: Table, frame: "pl.DataFrame", retired: Set[str]
) -> LakePath:
    rows = frame.sort(table.sort).to_arrow().cast(table.arrow_schema)
    name, data = _make_part(folder, rows)
    while (
        name in retired
    ):  # rows that were replaced and are back: under that name nobody would read them
        name, data = _make_part(
            folder, rows.replace_schema_metadata({"again": secrets.token_hex(8)})
        )
    write_whole(lake.root / name, data)
    if not isinstance(lake.root, Path):
        keep_copy(lake.mirror, name, data)
    return lake.root / name


def _make_part(folder: str, rows: "pa.Table") -> tuple[str, bytes]:
    """The name of a part file, which is its digest, and its bytes."""
    import pyarrow as pa

    from judgelake.tasks.lake.parquet import write_parquet

    sink = pa.BufferOutputStream()
    write_parquet(rows, sink)
    data = bytes(sink.getvalue())
    return f"{folder}/{hashlib.sha256(data).hexdigest()}.parquet", data
