"""The lake of a dry run: where benchmarks are not ingested yet, a temporary lake that links to the
real lake's part files and holds new ingests of those benchmarks.

What is estimated from it is in `tasks.planning.estimate`. The real lake is only read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from judgelake.schemas.tables import TABLES
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.lake.processes import own_folder
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.storage import LakePath, has_file
from judgelake.tasks.sources.ingestion import find_current, ingest_benchmark
from judgelake.tasks.sources.registry import BenchmarkSettings
from judgelake.tasks.suite.suite import Suite


@contextmanager
def lake_to_plan(root: LakePath, suite: Suite, limit: int | None) -> Iterator[Lake]:
    """The lake at `root` if it holds the suite's benchmarks as they are now, else a temporary lake,
    which is removed after the block.
    """
    real = open_lake(root) if has_file(root / "lake.json") else None
    snapshot = real.take_snapshot() if real is not None else None
    stale = [
        benchmark
        for benchmark in suite.benchmarks.values()
        if snapshot is None or not _is_current(snapshot, benchmark, suite, limit)
    ]
    if real is not None and not stale:
        yield real
        return
    with own_folder("plan") as folder:
        lake = open_lake(Path(folder) / "lake", create=True)
        if snapshot is not None:
            _link_parts(snapshot, lake, {benchmark.name for benchmark in stale})
        for benchmark in stale:
            drawn = (
                lake.root / "images" if benchmark.source == "demo" else suite.image_root(root)
            )  # the demo draws its pictures there
            ingest_benchmark(lake, benchmark, drawn, limit, suite.limits.images)
        yield lake


def _is_current(
    snapshot: Snapshot, benchmark: BenchmarkSettings, suite: Suite, limit: int | None
) -> bool:
    images = suite.image_root(snapshot.root)
    return find_current(snapshot, benchmark, limit, images, suite.limits.images) is not None


def _link_parts(real: Snapshot, lake: Lake, but: set[str]) -> None:
    """Link to the part files of `real`, except those of the inputs of the benchmarks `but`."""
    for name, files in real.find_parts(*TABLES).items():
        for file in files:
            if (
                "benchmark" in TABLES[name].partitions
                and file.parent.name.removeprefix("benchmark=") in but
            ):
                continue
            link = lake.root / Path(file).relative_to(real.mirror)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
