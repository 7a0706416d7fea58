"""A suite of answerers, run in this process without workers."""

from pathlib import Path

from judgelake.tasks.engine.shard import ShardResult
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import register_judges
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import Suite, parse_suite
from tests.engine.running import run_shards


def read_answering(folder: Path, answerers: str, extra: str = "", scenes: int = 4) -> Suite:
    """A suite over drawn scenes with these answerers (a YAML mapping) and further lines."""
    text = f"name: tried\nbenchmarks:\n  scenes: {{source: demo, scenes: {scenes}}}\n"
    return parse_suite(folder / "suite.yaml", f"{text}answerers: {answerers}\n{extra}")


def answer_all(
    lake: Lake, suite: Suite, run_id: str, address: str, retry: tuple[str, ...] = ()
) -> list[ShardResult]:
    """Run `suite_of_answerers`; the result of each shard."""
    for benchmark in suite.benchmarks.values():
        ingest_benchmark(lake, benchmark, lake.root / "images", None)
    register_judges(lake, suite)
    return run_shards(lake, suite, run_id, address, retry)
