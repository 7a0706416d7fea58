"""Every Prefect task. The functions are plain functions of `tasks/`; wrapped here, they are sent to
workers by reference.
"""

from prefect import task
from prefect.cache_policies import NO_CACHE

from judgelake.tasks.engine.collecting import collect_batches
from judgelake.tasks.engine.shard import run_judge_shard
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.metrics.shard import run_metric_shard
from judgelake.tasks.planning.cases import write_work
from judgelake.tasks.planning.scores import write_scores
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import Suite

# No retries: a shard plans again when it starts, so running it again is how it continues.
ingest_source = task(
    name="ingest source", tags=["ingest"], cache_policy=NO_CACHE, persist_result=False
)(ingest_benchmark)
plan_work = task(name="plan work", tags=["plan"], cache_policy=NO_CACHE, persist_result=False)(
    write_work
)
plan_scores = task(name="plan scores", tags=["plan"], cache_policy=NO_CACHE, persist_result=False)(
    write_scores
)
collect_replies = task(
    name="collect batches", tags=["judge"], cache_policy=NO_CACHE, persist_result=False
)(collect_batches)
judge_shard = task(name="judge shard", tags=["judge"], cache_policy=NO_CACHE, persist_result=False)(
    run_judge_shard
)
metric_shard = task(
    name="metric shard", tags=["metric"], cache_policy=NO_CACHE, persist_result=False
)(run_metric_shard)


@task(name="report", tags=["report"], cache_policy=NO_CACHE, persist_result=False)
def report(lake: Lake, suite: Suite) -> LakePath:
    """`tasks.reports.build.build_report`."""
    from judgelake.tasks.reports.build import (
        build_report,
    )  # scipy's statistics and matplotlib, which no worker needs

    return build_report(lake, suite)
