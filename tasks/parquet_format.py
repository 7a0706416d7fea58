"""How part files are encoded: each column as it compresses best, nothing lost. Where files lie is `tasks.lake`.

Rows come sorted by the table's keys, so most columns are runs of few values, for which a dictionary costs next to nothing. Floats of which
hardly one comes twice, as probabilities and weighted scores are, are split by byte instead (Parquet's BYTE_STREAM_SPLIT): signs and exponents
then stand together and compress.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_SAMPLE = 20_000
_MOST_DISTINCT = 0.1
"""Share of distinct numbers among a column's first ones up to which it has a dictionary."""


def write_parquet(rows: pa.Table, sink: pa.NativeFile) -> None:
    """Write sorted rows as one Parquet file."""
    pq.write_table(rows, sink, **choose_encoding(rows))


def choose_encoding(rows: pa.Table) -> dict[str, Any]:
    """The options by which pyarrow writes these rows, or ones like them."""
    leaves = {path: values for name in rows.column_names for path, values in _list_leaves(name, rows[name])}
    split = [path for path, values in leaves.items() if pa.types.is_floating(values.type) and not _recurs(values)]
    coded = [path for path in leaves if path not in split]
    return {"compression": "zstd", "use_dictionary": coded, "use_byte_stream_split": split}


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
