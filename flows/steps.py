"""Every Prefect task. The functions are plain functions of `tasks/`; wrapped here, they are sent to
workers by reference.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from judgelake.flows.run_suite import RunSuite
from judgelake.tasks.engine.collecting import collect_batches
from judgelake.tasks.engine.shard import run_judge_shard
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.metrics.shard import run_metric_shard
from judgelake.tasks.planning.cases import write_work
from judgelake.tasks.planning.scores import write_scores
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import Suite
from judgelake.tasks.training.examples import Selection
from judgelake.tasks.training.judge_training import Manifest, TrainingOrder

_UNKEPT: Mapping[str, Any] = {"cache_policy": NO_CACHE, "persist_result": False}
# No retries: a shard plans again when it starts, so running it again is how it continues. No tags:
# for each of them a task would ask the server for a slot, which a busy server refuses for seconds.
ingest_source = task(name="ingest source", **_UNKEPT)(ingest_benchmark)
plan_work = task(name="plan work", **_UNKEPT)(write_work)
plan_scores = task(name="plan scores", **_UNKEPT)(write_scores)
collect_replies = task(name="collect batches", **_UNKEPT)(collect_batches)
judge_shard = task(name="judge shard", **_UNKEPT)(run_judge_shard)
metric_shard = task(name="metric shard", **_UNKEPT)(run_metric_shard)


@task(name="report", **_UNKEPT)
def report(lake: Lake, suite: Suite) -> LakePath:
    """`tasks.reports.build.build_report`."""
    from judgelake.tasks.reports.build import (
        build_report,
    )  # scipy's statistics and matplotlib, which no worker needs

    return build_report(lake, suite)


class Examples:
    """A selection as a task's result and parameter: Prefect goes through every part of a tuple or a
    dataclass, and a selection has thousands.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection


@task(name="select examples", **_UNKEPT)
def select_examples(lake: Lake, suite: RunSuite) -> Examples:
    """`tasks.training.examples.select_examples` of a suite with a `training`."""
    from judgelake.tasks.training import examples

    settings = suite.value.training
    if settings is None:
        raise TypeError(f"{suite.value.name} has no training")  # the flow has refused it
    return Examples(examples.select_examples(lake, suite.value, settings))


@task(name="train judge", **_UNKEPT)
def train_judge(
    order: TrainingOrder,
    examples: Examples,
    report_line: Callable[[str], None],
    is_stopping: Callable[[], bool],
    environments: Sequence[Mapping[str, str]],
) -> Manifest:
    """`tasks.training.judge_training.train_judge`."""
    from judgelake.tasks.training import judge_training

    given = (order, examples.selection, report_line, is_stopping, environments)
    return judge_training.train_judge(*given)


@task(name="write judge", **_UNKEPT)
def write_judge(lake: Lake, order: TrainingOrder, manifest: Manifest, run_id: str) -> None:
    """The judge's folder, and its row in the lake."""
    from judgelake.tasks.training.judge_training import write_judge
    from judgelake.tasks.training.record import record_training

    record_training(lake, manifest, write_judge(order, manifest), run_id)
