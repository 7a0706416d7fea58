"""`judgelake plan` over many pending cases, beside the counting of them that every run does:
`python -m tests.bench.bench_plan [CASES]`.

Prints seconds, their ratio, and the peak memory of the process.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from judgelake.tasks.lake.lake import Lake, append_records, append_rows, open_lake
from judgelake.tasks.planning.cases import find_work
from judgelake.tasks.planning.estimate import estimate_suite
from judgelake.tasks.suite.suite import Scope
from tests.lakes import lave_judge, make_suite

ANSWERS_AN_ITEM = 10


def plant(lake: Lake, n: int) -> None:
    """`n` different answers, ten to each question."""
    own = {"benchmark": "b", "ingest_id": "one", "source_file": "given", "locator": "row"}
    now = datetime.now(UTC)
    count = n // ANSWERS_AN_ITEM
    ids = pl.DataFrame({"k": pl.int_range(count, eager=True)}).select(
        item_id=pl.format("i{}", pl.col("k"))
    )
    items = ids.with_columns(
        prompt=pl.format("What is in the photo that is called {}?", "item_id"), task=pl.lit("vqa"), cluster="item_id",
        references=pl.lit([["red bus"] * 7 + ["bus"] * 3]).list.first(), images=pl.lit([[]]).list.first(),
        regions=pl.lit([[]]).list.first(), category=pl.lit(None), split=pl.lit(None), **{k: pl.lit(v) for k, v in own.items()},
    )  # fmt: skip
    append_rows(lake, "items", items)
    for k in range(ANSWERS_AN_ITEM):
        answers = ids.with_columns(
            answer_id=pl.lit(f"m{k}"), model=pl.lit(f"m{k}"), style=pl.lit("short"), sample=pl.lit(0), n_repeats=pl.lit(1),
            text=pl.format(f"a red bus number {k} of {{}}", "item_id"), content_digest=pl.format(f"{k:x}{{}}", "item_id").str.pad_end(16, "0"),
            **{key: pl.lit(value) for key, value in own.items()},
        )  # fmt: skip
        append_rows(lake, "answers", answers)
    reported = {
        "ingest_id": "one",
        "benchmark": "b",
        "source": "given",
        "source_digest": "0",
        "n_items": count,
        "n_answers": n,
    }
    append_records(
        lake, "ingests", [{**reported, "n_quarantined": 0, "item_limit": None, "ingested_at": now}]
    )


def measure(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock and of the processor."""
    began, worked = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - began, time.process_time() - worked


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    suite = make_suite(lave_judge())
    with tempfile.TemporaryDirectory(prefix="bench-plan-") as folder:
        lake = open_lake(Path(folder) / "lake", create=True)
        plant(lake, n)
        counting = measure(lambda: find_work(lake, suite, Scope()))
        (one,) = estimate_suite(lake, suite, Scope()).judges
        planning = measure(lambda: estimate_suite(lake, suite, Scope()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{one.n_pending:,} pending cases, {one.n_calls:,} calls estimated from {one.n_sampled}")
    reported = [
        f"{name} {clock:.1f} s ({cpu:.1f} s of processor)"
        for name, (clock, cpu) in (("counting", counting), ("plan", planning))
    ]
    print(
        f"{', '.join(reported)}: x {planning[1] / counting[1]:.2f} of processor; peak {peak:,.0f} MiB"
    )


if __name__ == "__main__":
    main()
