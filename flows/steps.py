"""Every Prefect task, on one page. The functions are plain ones of `tasks/`: wrapped here, they go to workers by reference."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.ingestion import ingest_benchmark
from tasks.judging.collecting import collect_batches
from tasks.judging.shard import run_judge_shard
from tasks.lake import Lake, LakePath
from tasks.metrics.planning import write_scores
from tasks.metrics.shard import run_metric_shard
from tasks.planning import write_work
from tasks.suite import Suite

# No retries: a shard plans again when it starts, so running it again is how it continues.
ingest_source = task(name="ingest source", tags=["ingest"], cache_policy=NO_CACHE, persist_result=False)(ingest_benchmark)
plan_work = task(name="plan work", tags=["plan"], cache_policy=NO_CACHE, persist_result=False)(write_work)
plan_scores = task(name="plan scores", tags=["plan"], cache_policy=NO_CACHE, persist_result=False)(write_scores)
collect_replies = task(name="collect batches", tags=["judge"], cache_policy=NO_CACHE, persist_result=False)(collect_batches)
judge_shard = task(name="judge shard", tags=["judge"], cache_policy=NO_CACHE, persist_result=False)(run_judge_shard)
metric_shard = task(name="metric shard", tags=["metric"], cache_policy=NO_CACHE, persist_result=False)(run_metric_shard)


@task(name="report", tags=["report"], cache_policy=NO_CACHE, persist_result=False)
def report(lake: Lake, suite: Suite) -> LakePath:
    """`tasks.reports.build.build_report`."""
    from tasks.reports.build import build_report  # scipy's statistics and matplotlib, which no worker needs

    return build_report(lake, suite)
