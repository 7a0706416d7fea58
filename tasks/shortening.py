"""From format 2 to 3: part files whose digests have 64 digits are rewritten with 16, a partition at a time, beside readers and writers.

Until the marker says 3, everyone who opens the lake reads either form as the short one (`tasks.short_digests`), so that at any moment of it,
and after a kill, no case is another than before. Two writers that open the lake at once are kept apart by the lease of compaction, and the
second finds nothing left to rewrite.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import TABLES, Table
from tasks.compaction import LeftAloneError, Partition, list_partitions, make_scratch, name_leases, refuse_damaged, swap_files
from tasks.digests import file_digest
from tasks.errors import LakeError
from tasks.lake import Lake
from tasks.lease_names import COMPACTION
from tasks.leases import Held, hold_leases
from tasks.manifest import record_parts
from tasks.parquet_format import choose_encoding
from tasks.short_digests import find_long, list_digests, shorten_values


def shorten_digests(lake: Lake) -> None:
    """Rewrite all part files that have long digests; where a run is at work on a partition, after it has ended."""
    owner = f"migration-{uuid4().hex[:8]}"
    with hold_leases(lake, [COMPACTION], owner, None, _tell):
        for table in TABLES.values():
            for partition in list_partitions(lake, table) if list_digests(table) else ():
                with hold_leases(lake, name_leases(partition), owner, None, _tell) as held:
                    _shorten_partition(lake, partition, held)
        record_parts(lake.root, [name for names in lake.list_parts(*TABLES).values() for name in names])


def _tell(line: str) -> None:
    sys.stderr.write(f"judgelake: bringing the lake to format 3: {line}\n")


def _shorten_partition(lake: Lake, partition: Partition, held: Held) -> None:
    """Write what has long digests anew beside it, and let that count in its place; raises LakeError where a file is damaged."""
    there = lake.part_files(partition.place)
    try:
        for file in there:
            refuse_damaged(partition.table, file)
        files = [file for file in there if _has_long(partition.table, file)]
        if not files:
            return
        with make_scratch(lake) as folder:
            written = [_rewrite(partition.table, file, folder) for file in files]
            swap_files(lake, partition.place, files, written, held)
    except LeftAloneError as reason:
        raise LakeError(
            f"{lake.root}: {partition.place} cannot be brought to format 3: {reason}; expected whole part files that no other "
            "program replaces meanwhile; mend the lake and run again, which goes on from there"
        ) from None


def _has_long(table: Table, file: Path) -> bool:
    with pq.ParquetFile(file) as opened:
        there = [name for name in list_digests(table) if name in opened.schema_arrow.names]
        batches = opened.iter_batches(columns=there)
        return any(pa.compute.any(find_long(batch[name])).as_py() for batch in batches for name in there)


def _rewrite(table: Table, file: Path, folder: Path) -> Path:
    """The same rows in the same order with short digests, in a file named by its content."""
    new = folder / f"{file.name}.tmp"
    with ExitStack() as stack:
        opened = stack.enter_context(pq.ParquetFile(file))
        writer: pq.ParquetWriter | None = None
        for rows in _read_groups(table, opened):
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(new, rows.schema, **choose_encoding(rows)))
            writer.write_table(rows, row_group_size=max(len(rows), 1))
    return new.rename(folder / f"{file_digest(new)}.parquet")


def _read_groups(table: Table, opened: pq.ParquetFile) -> Iterator[pa.Table]:
    for number in range(opened.num_row_groups):
        rows = opened.read_row_group(number)
        for name in list_digests(table):
            if name in rows.column_names:
                place = rows.column_names.index(name)
                rows = rows.set_column(place, rows.schema.field(place), shorten_values(rows[name]))
        yield rows
