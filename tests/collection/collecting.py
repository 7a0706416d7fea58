"""Collectors driven by hand, and a whole collection in this process, stage by stage, without
workers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.engine.shard import ShardResult
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import register_judges
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import Suite, parse_suite, stages_of, suite_of_collection
from judgelake.tasks.types import Case, Failure, Image, Judge, Reply, Request, Rubric, Verdict
from tests.engine.running import run_shards

RUBRIC = Rubric("Does it see the cat?", ("never", "hardly", "half", "nearly", "wholly"))


def make_case(*criteria: str, **more: Any) -> Case:
    """A case about one image."""
    return Case(
        "b",
        "i1",
        "instruction",
        more.pop("prompt", ""),
        more.pop("references", ()),
        "",
        more.pop("content_digest", ""),
        context_digest="a" * 16,
        criterion=criteria[0],
        criteria=criteria,
        images=(Image("a.png", "a" * 64),),
        **more,
    )


def answer(judge: Judge, *turns: Sequence[str | Reply | Failure]) -> list[Verdict]:
    """The verdicts of a collector that is given these replies, turn by turn."""
    next(judge)
    for turn in turns[:-1]:
        judge.send([_reply(one) for one in turn])
    with pytest.raises(StopIteration) as end:
        judge.send([_reply(one) for one in turns[-1]])
    verdicts: list[Verdict] = end.value.value
    return verdicts


def ask(judge: Judge, *turns: Sequence[str | Reply | Failure]) -> list[Request]:
    """What a collector asks after these replies."""
    asked = next(judge)
    for turn in turns:
        asked = judge.send([_reply(one) for one in turn])
    return asked


def _reply(one: str | Reply | Failure) -> Reply | Failure:
    return Reply(one) if isinstance(one, str) else one


def read_collection(folder: Path, extra: str = "", scenes: int = 6) -> Suite:
    """The collection of a suite over drawn scenes."""
    text = f"""
name: tried
benchmarks:
  scenes: {{source: demo, scenes: {scenes}}}
collection: {{benchmarks: [scenes], backend: standin, on_unreadable: go on{extra}}}
"""
    return suite_of_collection(parse_suite(folder / "suite.yaml", text))


def collect(
    lake: Lake, suite: Suite, run_id: str, address: str, retry: tuple[str, ...] = ()
) -> list[ShardResult]:
    """Run a whole collection; the result of each shard."""
    for benchmark in suite.benchmarks.values():
        ingest_benchmark(lake, benchmark, lake.root / "images", None)
    register_judges(lake, suite)
    return [
        result
        for number, stage in enumerate(stages_of(suite))
        for result in run_shards(lake, stage, f"{run_id}-{number}", address, retry)
    ]
