"""`python -m tests.bench.bench_report [verdicts] [resamples] [folder]`: a whole report over a
planted lake, its steps, and the memory it took.

The limits of 60 s and 3 GiB are those of ten million verdicts and 5,000 resamples. A step is what
`build_report` calls; seconds of processors stand beside those of the clock, for on a busy machine
only they compare.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports import build
from judgelake.tasks.reports.live import make_figures
from judgelake.tasks.suite.suite import ReportSettings
from judgelake.tasks.warehouse.views import view_texts
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.bench.planted_lake import plant_lake
from tests.lakes import make_suite

STEPS = ("materialise", "compute_reports", "write_tables", "render_report")


def print_time(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
    """The step; each call prints how long it took."""

    def timed(*given: Any, **named: Any) -> Any:
        start, processor = time.perf_counter(), time.process_time()
        try:
            return step(*given, **named)
        finally:
            print(
                f"  {name:22} {time.perf_counter() - start:8.2f} s "
                f"({time.process_time() - processor:.2f} of processors)",
                flush=True,
            )

    return timed


def read_view(lake: Lake, view: str) -> float:
    """The seconds until all rows of a view are there, as `judgelake sql` reads it."""
    start = time.perf_counter()
    with open_warehouse(lake, sealed=True, lazy=True) as connection:
        make_figures(connection, view)
        connection.execute(f"select * from {view}").fetchall()
    return time.perf_counter() - start


def main() -> None:
    n_verdicts = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    resamples = int(sys.argv[2]) if len(sys.argv) > 2 else 5_000
    for name in STEPS:
        setattr(build, name, print_time(name, getattr(build, name)))
    build.FIGURES = tuple(
        figures._replace(compute=print_time(figures.tables[0], figures.compute))
        for figures in build.FIGURES
    )
    with tempfile.TemporaryDirectory() as folder:
        lake = plant_lake(Path(sys.argv[3]) if len(sys.argv) > 3 else Path(folder), n_verdicts)
        start, processor = time.perf_counter(), time.process_time()
        build.build_report(lake, make_suite(report=ReportSettings(resamples=resamples)))
        took, processors = time.perf_counter() - start, time.process_time() - processor
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{n_verdicts:,} verdicts x {resamples:,}: {took:.1f} s ({processors:.1f} of "
            f"processors), limit 60 s; {peak:.2f} GiB, limit 3 GiB"
        )
        seconds = {
            view: read_view(lake, view) for view in sorted(view_texts()) if view[:4] == "rpt_"
        }
        slowest = max(seconds, key=lambda view: seconds[view])
        print(
            f"{len(seconds)} views after it, each in a new connection: {sum(seconds.values()):.1f} s, "
            f"limit 10 s; the slowest {slowest} {seconds[slowest]:.1f} s, limit 3 s"
        )


if __name__ == "__main__":
    main()
