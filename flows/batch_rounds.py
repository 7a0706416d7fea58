"""Judging a stage in rounds where judges ask by batch: collect the batches that have ended, judge,
wait, and begin again. Collecting itself is `tasks.engine.collecting`.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import dask

from judgelake.flows import steps
from judgelake.flows.runners import ENDPOINT_SLOT
from judgelake.tasks.backends.openai.batch_book import count_open
from judgelake.tasks.engine.collecting import CollectOrder
from judgelake.tasks.engine.shard import ShardResult
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.stop_flag import StopFlag
from judgelake.tasks.runs.log import RunOptions, logged_step
from judgelake.tasks.suite.suite import Suite, identify_all
from judgelake.tasks.warehouse.warehouse import open_warehouse


def judge_in_rounds(
    lake: Lake,
    stage: Suite,
    run_id: str,
    run_options: RunOptions,
    judge_once: Callable[[], list[ShardResult]],
) -> list[ShardResult]:
    """The results of `judge_once` and of the collecting around it. Rounds repeat for at most the
    longest `batch_wait_s` of the stage's judges.
    """
    waits = [
        endpoint.longest_wait_s
        for judge in stage.judges.values()
        for endpoint in judge.endpoints.values()
    ]
    until = time.time() + max(waits, default=0.0)
    results = _collect(lake, stage, run_id, run_options, 0.0) + judge_once()
    while time.time() < until and not StopFlag(lake, run_id).is_set():
        before = _list_open(lake, stage)
        collected = _collect(lake, stage, run_id, run_options, until)
        if not before or _list_open(lake, stage) == before:
            break
        results = [replace(result, n_open=0) for result in results] + collected + judge_once()
    return results


def _collect(
    lake: Lake, stage: Suite, run_id: str, run_options: RunOptions, until: float
) -> list[ShardResult]:
    """Collect the open batches of each judge once, even where it has several aliases. Without an
    open batch no task is started.
    """
    waiting = {judge_id for judge_id, _ in _list_open(lake, stage)}
    if not waiting:
        return []
    judges = {
        identity.judge_id: identity
        for identity in identify_all(stage)
        if identity.judge_id in waiting
    }
    orders = [
        CollectOrder(lake, run_id, stage.judges[identity.alias], identity, until)
        for identity in judges.values()
    ]
    with logged_step(lake, run_id, run_options, "collect") as facts:
        with dask.annotate(resources={ENDPOINT_SLOT: 1}):
            collected: list[ShardResult] = steps.collect_replies.map(orders).result()
        facts["replies"] = sum(result.n_calls for result in collected)
        facts["batches_open"] = len(_list_open(lake, stage))
    return collected


def _list_open(lake: Lake, stage: Suite) -> set[tuple[str, str]]:
    """Judge and name of the open batches. A lake that never had a batch is not queried."""
    snapshot = lake.take_snapshot("batches")
    if not snapshot.list_parts("batches")["batches"]:
        return set()
    ids = [identity.judge_id for identity in identify_all(stage) if identity.kind != "metric"]
    rows = count_open(open_warehouse(snapshot, lazy=True), ids)
    return set(rows.select("judge_id", "name").iter_rows())
