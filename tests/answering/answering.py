"""A suite of answerers, run in this process without workers."""

from pathlib import Path

from judgelake.tasks.engine.shard import ShardOrder, ShardResult, run_judge_shard
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import Scope, Suite, parse_suite


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
    return [
        run_judge_shard(
            ShardOrder(
                lake,
                run_id,
                suite.judges[work.identity.alias],
                work.identity,
                suite.limits,
                file,
                lake.root / "images",
                address,
                retry,
            )
        )
        for work in write_work(lake, suite, Scope(), run_id, retry)
        for file in work.shards
    ]
