"""How part files are encoded: nothing is lost, and what recurs and what does not is distinguished."""

import io
import math
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.schemas.tables import TABLES
from judgelake.tasks.lake.parquet import write_parquet
from tests.rows import GOOD, make_frame


def write(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    write_parquet(rows, sink)
    return bytes(sink.getvalue())


def encodings(data: bytes) -> dict[str, tuple[str, ...]]:
    group = pq.read_metadata(io.BytesIO(data)).row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    return {column.path_in_schema: tuple(column.encodings) for column in columns}


@pytest.mark.parametrize("name", sorted(GOOD))
def test_rows_of_every_table_come_back(name: str) -> None:
    frame = make_frame(name, {})
    rows = frame.to_arrow().select(TABLES[name].arrow_schema.names).cast(TABLES[name].arrow_schema)
    assert pq.read_table(io.BytesIO(write(rows))).equals(rows)
    assert pq.read_table(io.BytesIO(write(rows.slice(0, 0)))).num_rows == 0


@given(st.lists(st.lists(st.floats(allow_nan=True), max_size=3) | st.none(), max_size=60))
def test_numbers_come_back_bit_by_bit(numbers: list[list[float] | None]) -> None:
    rows = pa.table({"numbers": pa.array(numbers, pa.list_(pa.float64()))})
    read = pq.read_table(io.BytesIO(write(rows)))["numbers"].to_pylist()
    assert [math.copysign(1, x) for one in numbers for x in one or []] == [
        math.copysign(1, x) for one in read for x in one or []
    ]
    np.testing.assert_array_equal(
        [x for one in numbers for x in one or []], [x for one in read for x in one or []]
    )
    assert [one is None for one in numbers] == [one is None for one in read]


def test_digests_take_half_a_byte_a_digit_and_labels_a_dictionary(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    digests = [rng.bytes(8).hex() for _ in range(20_000)]
    nested = pa.array([[text] for text in digests[:-1]] + [[]], pa.list_(pa.string()))
    rows = pa.table(
        {"digest": [*digests[:-1], None], "label": ["ok", "unparsed"] * 10_000, "nested": nested}
    )
    data = write(rows)
    assert pq.read_table(io.BytesIO(data)).equals(rows)
    found = encodings(data)
    assert "RLE_DICTIONARY" in found["label"]
    for column in ("digest", "nested.list.element"):
        assert "DELTA_LENGTH_BYTE_ARRAY" in found[column]
    assert len(data) < 2 * 20_000 * 8.3
    (tmp_path / "rows.parquet").write_bytes(data)
    text = "select count(*), count(distinct digest), sum(len(nested)) from read_parquet($file)"
    with duckdb.connect() as connection:
        read = connection.execute(text, {"file": str(tmp_path / "rows.parquet")}).fetchall()
    assert read == [(20_000, 19_999, 19_999)]


def test_probabilities_are_split_by_byte_and_ratings_coded_and_that_is_smaller() -> None:
    rng = np.random.default_rng(0)
    shares = rng.random((20_000, 2))
    rows = pl.DataFrame({
        "rating": rng.integers(1, 4, 20_000).astype(float),
        "score": shares[:, 0],
        "probabilities": [[{"level": "1", "probability": a}, {"level": "2", "probability": b}] for a, b in shares],
    }).to_arrow()  # fmt: skip
    level = pa.list_(pa.struct({"level": pa.string(), "probability": pa.float64()}))
    rows = rows.cast(
        pa.schema({"rating": pa.float64(), "score": pa.float64(), "probabilities": level})
    )
    data = write(rows)
    found = encodings(data)
    for column in ("score", "probabilities.list.element.probability"):
        assert "BYTE_STREAM_SPLIT" in found[column]
    for column in ("rating", "probabilities.list.element.level"):
        assert "RLE_DICTIONARY" in found[column]
    plain = io.BytesIO()
    pq.write_table(rows, plain, compression="zstd")
    assert len(data) < 0.95 * len(plain.getvalue())
