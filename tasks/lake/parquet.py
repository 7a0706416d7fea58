"""How part files are encoded: each column as it compresses best, nothing lost. Where files lie is
`tasks.lake.lake`.

Rows come sorted by the table's keys, so most columns are runs of few values, for which a dictionary
costs next to nothing. Floats of which hardly one comes twice, as probabilities and weighted scores
are, are split by byte instead (Parquet's BYTE_STREAM_SPLIT): signs and exponents then stand
together and compress, and where numbers of single precision are kept as double ones, so do their
zeros. Texts of which hardly one comes twice, as digests are, stand end to end with their lengths
apart (DELTA_LENGTH_BYTE_ARRAY): a digest's hexadecimal digits then take half a byte each.
"""

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from judgelake.schemas.tables import Table
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.storage import LakePath, read_file, write_whole

_SPLIT = "BYTE_STREAM_SPLIT"
# values at the start of a column by which its encoding is chosen
_SAMPLE = 20_000
_MOST_DISTINCT = 0.1
"""Share of distinct values among a column's first ones up to which it has a dictionary."""
_LEVEL, _LEVEL_SPLIT = 1, 3
"""Of zstd, and that for numbers split by byte: 1 leaves those a tenth larger, 9 no smaller; 3
leaves digests a twelfth larger than 1.
"""


def write_parquet(rows: pa.Table, sink: pa.NativeFile) -> None:
    """Write sorted rows as one Parquet file."""
    pq.write_table(rows, sink, **choose_encoding(rows))


def choose_encoding(rows: pa.Table) -> dict[str, Any]:
    """The options by which pyarrow writes these rows, or ones like them."""
    leaves = {
        path: values
        for name in rows.column_names
        for path, values in _list_leaves(name, rows[name])
    }
    own = {
        path: encoding
        for path, values in leaves.items()
        if (encoding := _choose_own(values)) is not None
    }
    coded = [path for path in leaves if path not in own]
    levels = {path: _LEVEL_SPLIT if own.get(path) == _SPLIT else _LEVEL for path in leaves}
    return {
        "compression": "zstd",
        "compression_level": levels,
        "use_dictionary": coded,
        "column_encoding": own,
    }


def _choose_own(values: pa.ChunkedArray) -> str | None:
    """The encoding of a column that gets no dictionary; None where it gets one."""
    is_float, is_text = pa.types.is_floating(values.type), pa.types.is_string(values.type)
    if not (is_float or is_text) or _recurs(values):
        return None
    return _SPLIT if is_float else "DELTA_LENGTH_BYTE_ARRAY"


def _recurs(values: pa.ChunkedArray) -> bool:
    first = values.drop_null().slice(0, _SAMPLE)
    return int(pc.count_distinct(first).as_py()) <= max(_MOST_DISTINCT * len(first), 1)


def _list_leaves(path: str, values: pa.ChunkedArray) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """The columns that Parquet makes of one, by its names for them."""
    if pa.types.is_list(values.type):
        yield from _list_leaves(f"{path}.list.element", pc.list_flatten(values))
    elif pa.types.is_struct(values.type):
        for place, field in enumerate(values.type):
            yield from _list_leaves(f"{path}.{field.name}", pc.struct_field(values, place))
    else:
        yield path, values


def write_frame(path: LakePath, frame: pl.DataFrame) -> None:
    """Write a frame as Parquet, whole or not at all."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    write_whole(path, buffer.getvalue())


def read_frame(path: LakePath) -> pl.DataFrame:
    """A frame that `write_frame` wrote; raises LakeError where it is gone."""
    if isinstance(path, Path):
        return pl.read_parquet(path)
    content = read_file(path)
    if content is None:
        raise LakeError(f"{path}: is gone; expected what the run has planned; run again")
    return pl.read_parquet(io.BytesIO(content))


# bytes read at a time while a file's digest is computed
_BLOCK = 1024**2


def has_own_digest(opened: BinaryIO, digest: str) -> bool:
    """Whether a file's content has the sha256 that the file is named by."""
    opened.seek(0)
    sha256 = hashlib.sha256()
    while block := opened.read(_BLOCK):
        sha256.update(block)
    return sha256.hexdigest() == digest


def list_schema_faults(table: Table, schema: pa.Schema) -> Iterator[str]:
    """What is wrong with a file's columns; one that the contract lets be null may lack, since
    columns are added over time.
    """
    columns, expected = table.model.to_schema().columns, table.arrow_schema
    for part in expected:
        if part.name not in schema.names:
            if not columns[part.name].nullable:
                yield f"the column {part.name} is missing"
        elif not schema.field(part.name).type.equals(part.type):
            yield (
                f"the column {part.name} is of type {schema.field(part.name).type}, not {part.type}"
            )
    for name in schema.names:
        if name not in expected.names:
            yield f"the column {name} is unknown"
