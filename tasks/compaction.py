"""Merging the small part files of a partition into few sorted ones, beside readers; every row stays, repeated ones too.

The new files are written aside and compared with the old ones, then `tasks.retiring` swaps both in one instant: killed at any moment
before, nothing has changed. Which rows count is SQL's matter.
"""

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import TABLES, Table
from tasks.errors import LakeError, LeaseError
from tasks.lake import Lake
from tasks.leases import Held, hold_leases
from tasks.merging import TARGET_BYTES, TARGET_ROWS, merge_files
from tasks.part_files import has_own_digest, list_schema_faults
from tasks.retiring import remove_retired, retire
from tasks.storage import has_file, remove_file, whole_file

_LEASES: Mapping[str, tuple[str, ...]] = {
    "benchmark": ("ingest-{}",),
    "judge_id": ("judge-{}",),
    "suite": ("report-{}",),
    "encoder": (),
}


class Size(NamedTuple):
    """Part files and their bytes."""

    n_files: int
    n_bytes: int


@dataclass
class Compacted:
    """What was done to one table; `left_alone` says of each partition that was not merged, though it has small files, why."""

    table: str
    before: Size
    after: Size
    left_alone: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Partition:
    """Part files of one partition, by their names relative to the lake's root; `place` is its folder there."""

    table: Table
    place: str
    names: tuple[str, ...]

    @property
    def value(self) -> str:
        """What the folder is named by; empty where the table has no partitions."""
        return self.place.partition("=")[2]


class LeftAloneError(Exception):
    """Why a partition is not merged; the others are."""


def compact_lake(
    lake: Lake, owner: str, tell: Callable[[str], None], tables: Sequence[str] = (), values: Sequence[str] = ()
) -> Iterator[Compacted]:
    """Merge the small files of each partition of `tables` (none: all) that `values` name (none: all), table by table.

    Raises LeaseError where another compaction works on this lake. A partition whose lease another holds is left alone.
    """
    with hold_leases(lake, ["compact"], owner, 0.0, tell):
        for name in tables or TABLES:
            done = Compacted(name, measure_parts(lake, name), Size(0, 0))
            for partition in find_mergeable(lake, TABLES[name]):
                if not values or partition.value in values:
                    try:
                        _merge_leased(lake, partition, owner, tell)
                    except LeftAloneError as reason:
                        done.left_alone.append(f"{partition.place}: left alone: {reason}")
            done.after = measure_parts(lake, name)
            yield done
        remove_retired(lake)


def measure_parts(lake: Lake, table: str) -> Size:
    """The part files that readers of a table read now."""
    sizes = lake.list_parts(table)[table].values()
    return Size(len(sizes), sum(sizes))


def find_mergeable(lake: Lake, table: Table) -> list[Partition]:
    """Partitions with two or more files of less than half the size that is aimed at."""
    return [partition for partition in list_partitions(lake, table, TARGET_BYTES // 2) if len(partition.names) > 1]


def list_partitions(lake: Lake, table: Table, below: float = math.inf) -> list[Partition]:
    """A table's partitions that have part files of fewer bytes than `below`, each with those."""
    found: dict[str, list[str]] = {}
    for name, size in lake.list_parts(table.name)[table.name].items():
        if size < below:
            found.setdefault(name.rpartition("/")[0], []).append(name)
    return [Partition(table, place, tuple(names)) for place, names in found.items()]


def name_leases(partition: Partition) -> list[str]:
    """What whoever replaces files of the partition holds. Other tables are only ever added to, which does not disturb a merge."""
    if partition.table.name == "matchups":
        return [f"matchups-{partition.value}"]
    return [name.format(partition.value) for key in partition.table.partitions for name in _LEASES[key]]


def _merge_leased(lake: Lake, partition: Partition, owner: str, tell: Callable[[str], None]) -> None:
    try:
        with hold_leases(lake, name_leases(partition), owner, 0.0, tell) as held:
            merge_partition(lake, partition, held)
    except LeaseError as error:
        raise LeftAloneError(str(error)) from None


def merge_partition(lake: Lake, partition: Partition, held: Held) -> None:
    """Write the rows of the partition's small files into few sorted ones, which replace them; raises LeftAloneError."""
    there = lake.part_files(partition.place)
    files = [file for name in partition.names if (file := lake.mirror / name) in there]
    for file in files:
        refuse_damaged(partition.table, file)
    files = [file for file in files if pq.read_metadata(file).num_rows < TARGET_ROWS // 2]
    if len(files) < 2:
        return
    with make_scratch(lake) as folder:
        written = merge_files(partition.table, files, folder)
        swap_files(lake, partition.place, files, written, held)


def refuse_damaged(table: Table, file: Path) -> None:
    """A merge would hide what is wrong with a file."""
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
    """A folder for what is not in the lake yet: on its disk, where it has one, so that a file need only be renamed."""
    beside = lake.root / "_work" if isinstance(lake.root, Path) else None
    if beside is not None:
        beside.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="compact-", dir=beside) as folder:
        yield Path(folder)


def swap_files(lake: Lake, place: str, files: Sequence[Path], written: Sequence[Path], held: Held) -> None:
    """Make `written` count in place of `files`, in the instant in which the last of them appears."""
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
