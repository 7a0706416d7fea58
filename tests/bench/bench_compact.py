"""`python -m tests.bench.bench_compact [files]`: 2,000 small files of verdicts before and after
`judgelake compact`, in the same run.

Printed are bytes, a filter on one item and an average over all rows, each the best of several, and
what the compaction itself took.
"""

import hashlib
import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.lake.compaction import compact_lake, measure_parts
from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.lakes import make_lake, verdict_row

JUDGE, ROWS, REPEATS = "a" * 16, 250, 5
FILTER = "select count(*), avg(score_0_1) from raw_verdicts where item_id = 'i0000700'"
MEAN = "select criterion, avg(score_0_1) from raw_verdicts group by criterion"


def plant(lake: Lake, n_files: int) -> None:
    """Every file holds the verdicts that came in 10 s: answers of all kinds of items."""
    for number in range(n_files):
        rows = []
        for place in range(ROWS):
            digest = hashlib.sha256(f"{number} {place}".encode()).hexdigest()
            item_id = f"i{(place * n_files + number * 7919) % (n_files * ROWS // 20):07}"
            rows.append(
                verdict_row(
                    JUDGE, item_id, digest, 1 + place % 3, number / 6, reply_digests=[digest[::-1]]
                )
            )
        append_rows(lake, "verdicts", pl.DataFrame(rows, schema=TABLES["verdicts"].polars_schema))


def clock(connection: duckdb.DuckDBPyConnection, query: str) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        connection.execute(query).fetchall()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(lake: Lake) -> tuple[int, int, float, float]:
    with open_warehouse(lake) as connection:
        return (
            *measure_parts(lake, "verdicts"),
            clock(connection, FILTER),
            clock(connection, MEAN),
        )


def main() -> None:
    n_files = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with tempfile.TemporaryDirectory() as folder:
        lake = make_lake(Path(folder))
        plant(lake, n_files)
        before = measure(lake)
        start = time.perf_counter()
        for _ in compact_lake(lake, "bench", print, ["verdicts"]):
            pass
        took, peak = (
            time.perf_counter() - start,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        )
        after = measure(lake)
    for name, of_small, of_merged in zip(
        ("files", "bytes", "filter, s", "average, s"), before, after, strict=True
    ):
        print(
            f"{name:12} {of_small:14,.4g} before  {of_merged:14,.4g} after  "
            f"{of_small / of_merged:8.1f} x"
        )
    print(f"compaction of {n_files * ROWS:,} rows: {took:.1f} s, peak memory {peak:,.0f} MB")


if __name__ == "__main__":
    main()
