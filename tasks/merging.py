"""Part files of one table into few larger ones: the same rows, in the table's order, with every column of today's contract.

The rows go through DuckDB, which sorts on disk what does not fit into its memory. Which files are merged, and when the new ones count,
is `tasks.compaction`.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import Table
from tasks.digests import file_digest
from tasks.errors import LakeError
from tasks.parquet_format import choose_encoding

TARGET_BYTES, TARGET_ROWS = 128 * 1024**2, 5_000_000
_GROUP_BYTES, _GROUP_ROWS = 256 * 1024**2, 1_000_000
_BATCH_ROWS = 50_000
_MEMORY = "1GB"


def merge_files(table: Table, files: Sequence[Path], folder: Path) -> list[Path]:
    """Write the rows of `files` into new part files in `folder`, each named by its content; raises LakeError where any row differs."""
    columns = _list_present(table, files)
    with _open_bounded(folder) as connection:
        rows = _select(connection, columns, files)
        order = ", ".join(f"{_quote(name)} nulls first" for name in table.sort if name in columns)
        written = _write_files(table, rows.order(order) if order else rows, folder)
        if _sum_up(_select(connection, columns, files), columns) != _sum_up(_select(connection, columns, written), columns):
            raise LakeError(
                f"{table.name}: merged part files do not hold the rows of the old ones; expected the same; nothing was changed; "
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
        config={"memory_limit": _MEMORY, "temp_directory": spilled, "preserve_insertion_order": False}
    ) as connection:
        connection.execute("set time zone 'UTC'")
        yield connection


def _select(connection: duckdb.DuckDBPyConnection, columns: Sequence[str], files: Sequence[Path]) -> duckdb.DuckDBPyRelation:
    names = ", ".join(map(_quote, columns))
    text = f"select {names} from read_parquet($files, hive_partitioning = false, union_by_name = true)"
    return connection.sql(text, params={"files": [str(file) for file in files]})


def _quote(name: str) -> str:
    return f'"{name}"'


def _sum_up(rows: duckdb.DuckDBPyRelation, columns: Sequence[str]) -> tuple[object, ...]:
    """How many rows, and the sum of their hashes: equal where the rows are, in whatever order."""
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
    """A mark that no other file has, so that a merged file never has the name of one that holds the same rows once more."""
    return table.arrow_schema.with_metadata({"judgelake.merge": uuid.uuid4().hex})


def _gather_groups(table: Table, batches: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Rows as the table's contract has them, as many at a time as one row group shall have."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= _GROUP_ROWS or sum(one.nbytes for one in waiting) >= _GROUP_BYTES:
            yield _complete(table, waiting)
            waiting = []
    if waiting:
        yield _complete(table, waiting)


def _complete(table: Table, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    rows = pa.Table.from_batches(batches)
    there = set(rows.column_names)
    schema = table.arrow_schema
    columns = [rows[part.name].cast(part.type) if part.name in there else pa.nulls(len(rows), part.type) for part in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _name_by_content(file: Path) -> Path:
    return file.rename(file.with_name(f"{file_digest(file)}.parquet"))
