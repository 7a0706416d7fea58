"""The lake, a folder or a place in a bucket: table paths, part files that appear whole or not at
all, the format number.

What a table holds is `schemas.tables`; which rows are current is SQL (`sql/`); how bytes are stored
is `tasks.lake.storage`.

A compaction writes its sidecar first and its new files then: until all of those are there, they are
what readers leave out. Merging files is `tasks.lake.compaction`.

A part that was written since, by a run that was killed, is not in it: the next run's end adds it.
Looking for damage is `tasks.warehouse.damage`.
"""

import contextlib
import hashlib
import json
import re
import secrets
import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandera.errors
import polars as pl
import pyarrow as pa

from judgelake.schemas.tables import TABLES, Table
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.buckets import list_keys
from judgelake.tasks.lake.mirror import fetch_parts, find_mirror, keep_copy, list_local
from judgelake.tasks.lake.parquet import write_parquet
from judgelake.tasks.lake.storage import (
    LakePath,
    list_files,
    open_place,
    read_file,
    remove_file,
    write_whole,
)

FILE = "parts.json"


def record_parts(root: LakePath, parts: Iterable[str]) -> None:
    """Keep the names (relative to the root) of the part files that readers read now; what lies in
    no table's folder is left out.
    """
    names = sorted(name for name in parts if name.partition("/")[0] in TABLES)
    write_whole(root / FILE, json.dumps({"parts": names}, indent=0).encode())


def read_recorded(root: LakePath) -> frozenset[str] | None:
    """The names that were kept last; None where none were, or they cannot be read."""
    data = read_file(root / FILE)
    try:
        return None if data is None else frozenset(map(str, json.loads(data)["parts"]))
    except (ValueError, KeyError, TypeError):
        return None


FOLDER = "_retired"
_AT_ONCE = 16
GRACE_S = 3600.0
KILLED_AFTER_S = 86_400.0
"""A compaction whose new files are not all there after a day is taken for a killed one, a temporary
file for a dead writer's.
"""

_read: dict[str, "Retired"] = {}  # a sidecar is never changed, and its name is used once


@dataclass(frozen=True)
class Retired:
    """One sidecar: part files, relative to the lake's root, that count no more once all of
    `replacements` are there.
    """

    sidecar: LakePath
    files: frozenset[str]
    replacements: frozenset[str]
    retired_at: datetime

    def hides(self, listed: Collection[str]) -> frozenset[str]:
        """What readers leave out where the files `listed` are there: the old ones, or those new
        ones that are not complete yet.
        """
        return self.files if self.replacements.issubset(listed) else self.replacements


def retire(
    lake: "Lake", parts: Sequence[LakePath], replacements: Sequence[LakePath] = ()
) -> LakePath:
    """Readers leave `parts` out from the moment that all of `replacements` are there: at once,
    where there are none to wait for.

    Returns the sidecar. Rows that replace others are written before (they count beside the old ones
    for a moment) or, where that matters, after it, under the names given here.
    """
    told = {
        "files": sorted(name_part(lake, part) for part in parts),
        "replacements": sorted(name_part(lake, part) for part in replacements),
        "retired_at": datetime.now(UTC).isoformat(),
    }
    sidecar = lake.root / FOLDER / f"{uuid.uuid4().hex}.json"
    write_whole(sidecar, json.dumps(told).encode())
    return sidecar


def name_part(lake: "Lake", part: LakePath) -> str:
    """The path of a part file relative to the lake's root, with slashes."""
    return part.as_posix().removeprefix(f"{lake.root.as_posix()}/")


def list_retired(lake: "Lake", listed: Collection[str]) -> frozenset[str]:
    """Which part files readers leave out, given those that they have `listed` (relative to the
    root; of one table or of all).

    Ask after listing, never before: a sidecar is older than the new files that it names, so who has
    seen those finds it here, and who has not seen all of them reads the old ones.
    """
    names = listed if isinstance(listed, (set, frozenset)) else set(listed)
    return frozenset(hidden for one in list_sidecars(lake) for hidden in one.hides(names))


def remove_retired(
    lake: "Lake", older_than_s: float = GRACE_S, killed_after_s: float = KILLED_AFTER_S
) -> int:
    """Delete what was retired longer ago than `older_than_s`, and what killed compactions and
    writers left; returns how many part files.

    Before that the names of the parts that stay are kept, so that none of them can go missing
    unseen (`tasks.lake.lake`); those that are missing already stay among them. A sidecar goes only
    when its files have been gone for as long again, for a reader may have listed them before.
    """
    there = {name_part(lake, path) for path in list_files(lake.root, ".parquet")}
    sidecars = sorted(list_sidecars(lake), key=lambda one: one.retired_at)
    lost = (
        (read_recorded(lake.root) or frozenset())
        - there
        - {name for one in sidecars for name in one.files}
    )
    record_parts(
        lake.root, lost | there - {hidden for one in sidecars for hidden in one.hides(there)}
    )
    n_removed = 0
    for one in sidecars:
        done = one.replacements <= there
        least_s, age_s = (
            (older_than_s if done else killed_after_s),
            (datetime.now(UTC) - one.retired_at).total_seconds(),
        )
        left = one.hides(there) & there
        if left and age_s >= least_s and not _is_awaited(one, sidecars, there):
            for name in left:
                remove_file(lake.root / name)
            n_removed += len(left)
            there -= left
        if not one.hides(there) & there and age_s >= 2 * least_s:
            remove_file(one.sidecar)
    _remove_temporary(lake, killed_after_s)
    return n_removed


def _is_awaited(one: Retired, sidecars: Collection[Retired], there: Collection[str]) -> bool:
    """Whether a file that `one` retires is what keeps older files out that are still there: without
    it they would count again.
    """
    return any(
        other is not one and other.replacements & one.files and other.files.intersection(there)
        for other in sidecars
    )


def _remove_temporary(lake: "Lake", older_than_s: float) -> None:
    """Delete what writers on this machine left half written; a bucket has no such files."""
    if not isinstance(lake.root, Path):
        return
    for file in list_files(lake.root, ".tmp"):
        with contextlib.suppress(OSError):  # renamed meanwhile: its writer lives; or another user's
            if file.name.startswith(".") and time.time() - file.stat().st_mtime >= older_than_s:
                file.unlink()


def list_sidecars(lake: "Lake") -> list[Retired]:
    """All sidecars of the lake: one listing, and one read of each that this process has not read
    yet.
    """
    paths = list_files(lake.root / FOLDER, ".json")
    if isinstance(lake.root, Path):
        found = [_read_sidecar(path) for path in paths]
    else:  # each is a request
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="retired") as threads:
            found = list(threads.map(_read_sidecar, paths))
    return [one for one in found if one is not None]


def _read_sidecar(path: LakePath) -> Retired | None:
    """None where it was removed between the listing and the reading, which is done only when its
    files are gone.
    """
    known = _read.get(str(path))
    if known is not None:
        return known
    data = read_file(path)
    if data is None:
        return None
    try:
        told = json.loads(data)
        files, replacements = (
            frozenset(map(str, told["files"])),
            frozenset(map(str, told["replacements"])),
        )
        read = Retired(path, files, replacements, datetime.fromisoformat(told["retired_at"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"{path}: cannot be read as the note of replaced part files ({error}); expected "
            f"JSON with files, replacements and "
            "retired_at; restore it from a copy of the lake, for the rows that it hides would "
            "count again without it"
        ) from None
    _read[str(path)] = read
    return read


FORMAT = 1
"""Nothing was released yet, so each change of the tables starts at 1 again; from the first release
on, older formats are migrated.
"""
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
        """A local folder with the part files that were read or written here: the lake itself where
        it is local.
        """
        return find_mirror(self.root)

    def list_parts(self, *places: str) -> dict[str, dict[str, int]]:
        """Table (or `table/partition=value`) -> its current part files, relative to the root and in
        order, with their bytes.

        In a bucket: one listing a place, all at once.
        """
        listed, hidden = self._list(places)
        return {
            place: {name: size for name, size in found.items() if name not in hidden}
            for place, found in listed.items()
        }

    def _list(self, places: tuple[str, ...]) -> tuple[dict[str, dict[str, int]], frozenset[str]]:
        """All part files of each place, and those that do not count (any more)."""
        root = self.root
        if isinstance(root, Path):
            found = [dict(sorted(list_local(root, place).items())) for place in places]
        else:
            with ThreadPoolExecutor(_LISTINGS_AT_ONCE, thread_name_prefix="list") as threads:
                keys = threads.map(lambda place: list_keys(root / place, ".parquet"), places)
                found = [
                    {f"{place}/{key}": size for key, size in of_one.items()}
                    for place, of_one in zip(places, keys, strict=True)
                ]
        listed = dict(zip(places, found, strict=True))
        return listed, list_retired(self, {name for of_one in found for name in of_one})

    def find_parts(self, *places: str) -> dict[str, list[Path]]:
        """As `list_parts`, but as local files that can be read now: of a bucket, what the mirror
        lacks is fetched.
        """
        for _ in range(_FETCHES):
            listed, hidden = self._list(places)
            current = {
                place: [name for name in found if name not in hidden]
                for place, found in listed.items()
            }
            mirror = self.mirror
            try:
                if not isinstance(self.root, Path):
                    for place, names in current.items():
                        fetch_parts(self.root, mirror, place, listed[place], names)
            except FileNotFoundError:  # deleted after it was listed
                continue
            return {place: [mirror / name for name in names] for place, names in current.items()}
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
        """Scratch of one run: shard inputs and its stop flag; removed when the run ends."""
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
    found = _read_format(marker, content)
    if found != FORMAT:
        raise LakeError(
            f"{marker}: format {found}; expected {FORMAT}; run the suite into a new lake, or "
            f"use the judgelake that wrote this one"
        )
    return lake


def _read_format(marker: LakePath, content: bytes) -> int:
    try:
        return int(json.loads(content)["format"])
    except (ValueError, KeyError, TypeError) as error:
        expected = json.dumps({"format": FORMAT})
        raise LakeError(
            f"{marker}: cannot be read as a lake's marker ({error}); expected {expected}; "
            f"restore it or name another with --lake"
        ) from None


def append_rows(lake: Lake, name: str, frame: pl.DataFrame) -> list[LakePath]:
    """Write `frame` (all columns of the contract, any order) as new part files, one a partition;
    checked against the contract first.
    """
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
    retired = frozenset(name for one in list_sidecars(lake) for name in one.files)
    return [_write_part(lake, folder, table, part, retired) for folder, part in parts]


def append_records(
    lake: Lake, name: str, records: Iterable[Mapping[str, object]]
) -> list[LakePath]:
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
    lake: Lake, folder: str, table: Table, frame: pl.DataFrame, retired: Set[str]
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


def _make_part(folder: str, rows: pa.Table) -> tuple[str, bytes]:
    """The name of a part file, which is its digest, and its bytes."""
    sink = pa.BufferOutputStream()
    write_parquet(rows, sink)
    data = bytes(sink.getvalue())
    return f"{folder}/{hashlib.sha256(data).hexdigest()}.parquet", data
