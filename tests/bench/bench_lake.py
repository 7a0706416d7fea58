"""`python -m tests.bench.bench_lake [verdicts] [folder]`: bytes a row of verdicts, by judge and
column, and how long aggregates of them take.

Beside the bytes: the same rows as pyarrow writes them by itself, with zstd. Beside an aggregate's
time: pandas on the columns in memory. `folder` keeps the planted lake for the next time.
"""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from judgelake.schemas.tables import CASE_KEY
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.parquet import write_parquet
from judgelake.tasks.reports.exports import report_views
from judgelake.tasks.warehouse.warehouse import materialise, open_warehouse
from tests.bench.planted_lake import JUDGES, plant_lake

LIMIT_BYTES, LIMIT_S = 18, 0.5
KINDS = {
    "key": (*CASE_KEY, "reading"),
    "score": ("status", "rating", "score_0_1"),
    "probability": ("probabilities", "captured_mass"),
}
AGGREGATES = {
    "mean and n by judge": "select judge, count(*), avg(score_0_1) from core_scores group by judge",
    "mean by judge and criterion": "select judge, criterion, avg(score_0_1), stddev(score_0_1) from "
    "core_scores group by all",
    "mean by judge and model": "select judge, model, avg(score_0_1) from core_scores group by all",
    "coverage": "select * from rpt_coverage",
    "answers of one judge below 0.2": "select count(*) from core_scores where judge = 'lave' and "
    "score_0_1 < 0.2",
}


def count_bytes(data: pa.Buffer | Path) -> Counter[str]:
    """Compressed bytes of each column of one file."""
    metadata = pq.read_metadata(data if isinstance(data, Path) else pa.BufferReader(data))
    found: Counter[str] = Counter()
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            found[column.path_in_schema.split(".")[0]] += column.total_compressed_size
    return found


def weigh_verdicts(lake: Lake) -> None:
    """Bytes a row of each judge's verdicts as the lake holds them, rewritten today, and by
    pyarrow's defaults.
    """
    whole, n_rows = Counter[str](), 0
    for judge in JUDGES:
        parts = lake.part_files(f"verdicts/judge_id={judge.judge_id}")
        rows = pa.concat_tables(pq.ParquetFile(part).read() for part in parts)
        ours, plain = pa.BufferOutputStream(), pa.BufferOutputStream()
        write_parquet(rows, ours)
        pq.write_table(rows, plain, compression="zstd")
        found, peer = count_bytes(ours.getvalue()), count_bytes(plain.getvalue())
        if not pq.read_table(pa.BufferReader(ours.getvalue())).equals(rows):
            raise AssertionError(f"{judge.alias}: the rows read are not those written")
        reported = ", ".join(
            f"{kind} {sum(found[name] for name in names) / len(rows):.1f}"
            for kind, names in KINDS.items()
        )
        print(
            f"{judge.alias:15} {len(rows):10,} rows: {reported}; {_sum(found) / len(rows):.1f} "
            f"bytes a row (plain zstd {_sum(peer) / len(rows):.1f})"
        )
        whole, n_rows = whole + found, n_rows + len(rows)
    print(
        f"all judges: {_sum(whole) / n_rows:.1f} bytes a row of key, score and probability "
        f"columns; limit {LIMIT_BYTES}"
    )


def _sum(found: Counter[str]) -> int:
    return sum(found[name] for names in KINDS.values() for name in names)


def time_aggregates(connection: duckdb.DuckDBPyConnection) -> None:
    """Aggregates of an analyst, then every report view; the better of two times, with the
    processors' seconds.
    """
    texts = {
        **AGGREGATES,
        **{view: f"select count(*) from (select * from {view}) as rows" for view in report_views()},
    }
    for name, text in texts.items():
        times = []
        for _ in range(2):
            start, processor = time.perf_counter(), time.process_time()
            connection.execute(text).fetchall()
            times.append((time.perf_counter() - start, time.process_time() - processor))
        took, processors = min(times)
        print(
            f"{name:34} {took:7.2f} s ({processors:.2f} of "
            f"processors){'' if took <= LIMIT_S else ' > limit'}"
        )


def compare_with_pandas(connection: duckdb.DuckDBPyConnection) -> None:
    """One group-by of DuckDB from the files, and of pandas with the columns in memory already."""
    start = time.perf_counter()
    connection.execute(
        "select criterion, model, avg(score_0_1) from core_scores group by all"
    ).fetchall()
    ours = time.perf_counter() - start
    frame = connection.execute("select criterion, model, score_0_1 from core_scores").df()
    start = time.perf_counter()
    frame.groupby(["criterion", "model"])["score_0_1"].mean()
    theirs = time.perf_counter() - start
    print(
        f"group by criterion and model: here {ours:.2f} s from files, pandas {theirs:.2f} s in "
        f"memory: {theirs / ours:.1f}x"
    )


def main() -> None:
    n_verdicts = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        lake = plant_lake(Path(sys.argv[2]) if len(sys.argv) > 2 else Path(folder), n_verdicts)
        weigh_verdicts(lake)
        connection = open_warehouse(lake)
        connection.execute("set threads = 2")
        start, processor = time.perf_counter(), time.process_time()
        materialise(connection)
        print(
            f"core tables: {time.perf_counter() - start:.1f} s "
            f"({time.process_time() - processor:.1f} of processors)"
        )
        time_aggregates(connection)
        compare_with_pandas(connection)


if __name__ == "__main__":
    main()
