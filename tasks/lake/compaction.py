"""Merging the small part files of a partition into few sorted ones, beside readers; every row
stays, repeated ones too.

The new files are written aside and compared with the old ones, then `tasks.lake.lake` swaps both in
one instant: killed at any moment before, nothing has changed. Which rows count is SQL's matter.

The rows go through DuckDB, which sorts on disk what does not fit into its memory.
"""

import math
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from judgelake.schemas.tables import TABLES, Table
from judgelake.tasks.digests import file_digest
from judgelake.tasks.errors import LakeError, LeaseError
from judgelake.tasks.lake.cleanup import remove_retired
from judgelake.tasks.lake.lake import Lake, retire
from judgelake.tasks.lake.leases import Held, hold_leases
from judgelake.tasks.lake.parquet import choose_encoding, has_own_digest, list_schema_faults
from judgelake.tasks.lake.storage import has_file, remove_file, whole_file

# a merged part file is closed at so many bytes or rows
TARGET_BYTES, TARGET_ROWS = 128 * 1024**2, 5_000_000
_SMALL_ROWS = TARGET_ROWS // 2
"""A file of fewer rows (and of less than half the bytes) is merged with others."""
# a row group is held in memory as a whole: so many bytes or rows at most
_GROUP_BYTES, _GROUP_ROWS = 256 * 1024**2, 1_000_000
# rows read at a time
_BATCH_ROWS = 50_000
_MEMORY = "1GB"


def merge_files(table: Table, files: Sequence[Path], folder: Path) -> list[Path]:
    """Write the rows of `files` into new part files in `folder`, each named by its content; raises
    LakeError where any row differs.
    """
    columns = _list_present(table, files)
    with _open_bounded(folder) as connection:
        rows = _select(connection, columns, files)
        order = ", ".join(f"{_quote(name)} nulls first" for name in table.sort if name in columns)
        written = _write_files(table, rows.order(order) if order else rows, folder)
        if _sum_up(_select(connection, columns, files), columns) != _sum_up(
            _select(connection, columns, written), columns
        ):
            raise LakeError(
                f"{table.name}: merged part files do not hold the rows of the old ones; "
                f"expected the same; nothing was changed; "
                "report this with the versions of duckdb and pyarrow"
            )
    return written


def _list_present(table: Table, files: Sequence[Path]) -> list[str]:
    """The contract's columns that some file has."""
    there = {name for file in files for name in pq.read_schema(file).names}
    return [name for name in table.arrow_schema.names if name in there]


@contextmanager
def _open_bounded(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    spilled = str(folder / "spilled")
    with duckdb.connect(
        config={
            "memory_limit": _MEMORY,
            "temp_directory": spilled,
            "preserve_insertion_order": False,
        }
    ) as connection:
        connection.execute("set time zone 'UTC'")
        yield connection


def _select(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[str], files: Sequence[Path]
) -> duckdb.DuckDBPyRelation:
    names = ", ".join(map(_quote, columns))
    text = (
        f"select {names} from read_parquet($files, hive_partitioning = false, union_by_name = true)"
    )
    return connection.sql(text, params={"files": [str(file) for file in files]})


def _quote(name: str) -> str:
    return f'"{name}"'


def _sum_up(rows: duckdb.DuckDBPyRelation, columns: Sequence[str]) -> tuple[object, ...]:
    """The number of rows and the sum of their hashes: equal for equal rows in any order."""
    names = ", ".join(map(_quote, columns))
    return rows.aggregate(f"count(*), sum(hash({names})::hugeint)").fetchall()[0]


def _write_files(table: Table, rows: duckdb.DuckDBPyRelation, folder: Path) -> list[Path]:
    groups = _gather_groups(table, rows.to_arrow_reader(_BATCH_ROWS))
    written: list[Path] = []
    group = next(groups, None)
    while group is not None:
        file, n_rows = folder / f"{len(written)}.tmp", 0
        with pq.ParquetWriter(file, _stamp(table), **choose_encoding(group)) as writer:
            while group is not None and n_rows < TARGET_ROWS and file.stat().st_size < TARGET_BYTES:
                writer.write_table(group, row_group_size=group.num_rows)
                n_rows += group.num_rows
                group = next(groups, None)
        written.append(_name_by_content(file))
    return written


def _stamp(table: Table) -> pa.Schema:
    """A mark that no other file has, so that a merged file never has the name of one that holds the
    same rows once more.
    """
    return table.arrow_schema.with_metadata({"judgelake.merge": uuid.uuid4().hex})


def _gather_groups(table: Table, batches: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Rows as the table's contract has them, as many at a time as one row group shall have."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if (
            sum(held.num_rows for held in waiting) >= _GROUP_ROWS
            or sum(held.nbytes for held in waiting) >= _GROUP_BYTES
        ):
            yield _complete(table, waiting)
            waiting = []
    if waiting:
        yield _complete(table, waiting)


def _complete(table: Table, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    rows = pa.Table.from_batches(batches)
    there = set(rows.column_names)
    schema = table.arrow_schema
    columns = [
        rows[part.name].cast(part.type) if part.name in there else pa.nulls(len(rows), part.type)
        for part in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _name_by_content(file: Path) -> Path:
    return file.rename(file.with_name(f"{file_digest(file)}.parquet"))


_LEASES: Mapping[str, tuple[str, ...]] = {
    "benchmark": ("ingest-{}",),
    "judge_id": ("judge-{}",),
    "suite": ("report-{}",),
    "encoder": (),
}


class PartsSize(NamedTuple):
    """Part files and their bytes."""

    n_files: int
    n_bytes: int


@dataclass
class Compacted:
    """What was done to one table; `left_alone` says of each partition that was not merged, though
    it has small files, why.
    """

    table: str
    before: PartsSize
    after: PartsSize
    left_alone: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Partition:
    """Part files of one partition, by their names relative to the lake's root; `place` is its
    folder there.
    """

    table: Table
    place: str
    names: tuple[str, ...]

    @property
    def value(self) -> str:
        """What the folder is named by; empty where the table has no partitions."""
        return self.place.partition("=")[2]


class LeftAloneError(Exception):
    """A partition is left as it is, for the reason given; the other partitions are merged."""


def compact_lake(
    lake: Lake,
    owner: str,
    report_line: Callable[[str], None],
    tables: Sequence[str] = (),
    values: Sequence[str] = (),
) -> Iterator[Compacted]:
    """Merge the small files of each partition of `tables` (none: all) that `values` name (none:
    all), table by table.

    Raises LeaseError where another compaction works on this lake. A partition whose lease another
    holds is left alone.
    """
    with hold_leases(lake, ["compact"], owner, 0.0, report_line):
        for name in tables or TABLES:
            done = Compacted(name, measure_parts(lake, name), PartsSize(0, 0))
            for partition in find_mergeable(lake, TABLES[name]):
                if not values or partition.value in values:
                    try:
                        _merge_leased(lake, partition, owner, report_line)
                    except LeftAloneError as reason:
                        done.left_alone.append(f"{partition.place}: left alone: {reason}")
            done.after = measure_parts(lake, name)
            yield done
        remove_retired(lake)


def measure_parts(lake: Lake, table: str) -> PartsSize:
    """The part files that readers of a table read now."""
    sizes = lake.list_parts(table)[table].values()
    return PartsSize(len(sizes), sum(sizes))


def find_mergeable(lake: Lake, table: Table) -> list[Partition]:
    """Partitions with two or more files of less than half the size that is aimed at."""
    return [
        partition
        for partition in list_partitions(lake, table, TARGET_BYTES // 2)
        if len(partition.names) > 1
    ]


def list_partitions(lake: Lake, table: Table, below: float = math.inf) -> list[Partition]:
    """A table's partitions that have part files of fewer bytes than `below`, each with those."""
    partitions: dict[str, list[str]] = {}
    for name, size in lake.list_parts(table.name)[table.name].items():
        if size < below:
            partitions.setdefault(name.rpartition("/")[0], []).append(name)
    return [Partition(table, place, tuple(names)) for place, names in partitions.items()]


def name_leases(partition: Partition) -> list[str]:
    """The leases that replacing files of the partition needs. Other tables are only ever added to,
    which does not disturb a merge.
    """
    if partition.table.name == "matchups":
        return [f"matchups-{partition.value}"]
    return [
        name.format(partition.value) for key in partition.table.partitions for name in _LEASES[key]
    ]


def _merge_leased(
    lake: Lake, partition: Partition, owner: str, report_line: Callable[[str], None]
) -> None:
    try:
        with hold_leases(lake, name_leases(partition), owner, 0.0, report_line) as held:
            merge_partition(lake, partition, held)
    except LeaseError as error:
        raise LeftAloneError(str(error)) from None


def merge_partition(lake: Lake, partition: Partition, held: Held) -> None:
    """Write the rows of the partition's small files into few sorted ones, which replace them;
    raises LeftAloneError.
    """
    there = lake.part_files(partition.place)
    files = [file for name in partition.names if (file := lake.mirror / name) in there]
    for file in files:
        refuse_damaged(partition.table, file)
    files = [file for file in files if pq.read_metadata(file).num_rows < _SMALL_ROWS]
    if len(files) < 2:
        return
    with make_scratch(lake) as folder:
        written = merge_files(partition.table, files, folder)
        swap_files(lake, partition.place, files, written, held)


def refuse_damaged(table: Table, file: Path) -> None:
    """Raises LeftAloneError for a damaged file, since a merge would hide the damage."""
    try:
        with file.open("rb") as opened:
            faults = [] if has_own_digest(opened, file.stem) else ["it is damaged"]
        faults += list_schema_faults(table, pq.read_schema(file))
    except pa.ArrowException as error:
        faults = [str(error)]
    if faults:
        raise LeftAloneError(f"{file.name}: {faults[0]}; see judgelake check")


@contextmanager
def make_scratch(lake: Lake) -> Iterator[Path]:
    """A folder for what is not in the lake yet: on its disk, where it has one, so that a file need
    only be renamed.
    """
    beside = lake.root / "_work" if isinstance(lake.root, Path) else None
    if beside is not None:
        beside.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="compact-", dir=beside) as folder:
        yield Path(folder)


def swap_files(
    lake: Lake, place: str, files: Sequence[Path], written: Sequence[Path], held: Held
) -> None:
    """Make `written` count in place of `files`, in the instant in which the last of them
    appears.
    """
    if held.lost or not set(files) <= set(lake.part_files(place)):
        raise LeftAloneError("another run took it over meanwhile")
    old = [lake.root / place / file.name for file in files]
    new = [lake.root / place / file.name for file in written]
    sidecar = retire(lake, old, new)
    try:
        for source, target in zip(written, new, strict=True):
            if not has_file(sidecar):
                raise LeftAloneError("it took more than a day, and was taken for a killed one")
            with whole_file(target) as beside:
                shutil.move(source, beside)
    except LakeError:
        for path in (*new, sidecar):  # in this order: what is not complete does not count
            remove_file(path)
        raise
