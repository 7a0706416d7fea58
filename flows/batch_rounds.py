"""Judging a stage in rounds where judges ask by batch: collect what has ended, judge, wait, and
once more. How is `tasks.engine.collecting`.
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
from judgelake.tasks.runs.log import Conduct, logged_step
from judgelake.tasks.suite.suite import Suite, identify_all
from judgelake.tasks.warehouse.warehouse import open_warehouse


def judge_in_rounds(
    lake: Lake,
    stage: Suite,
    run_id: str,
    conduct: Conduct,
    judge_once: Callable[[], list[ShardResult]],
) -> list[ShardResult]:
    """What `judge_once` and the collecting around it did; rounds go on for the longest
    `batch_wait_s` of the stage's judges.
    """
    waits = [
        one.longest_wait_s for judge in stage.judges.values() for one in judge.endpoints.values()
    ]
    until = time.time() + max(waits, default=0.0)
    results = _collect(lake, stage, run_id, conduct, 0.0) + judge_once()
    while time.time() < until and not StopFlag(lake, run_id).is_set():
        before = _list_open(lake, stage)
        collected = _collect(lake, stage, run_id, conduct, until)
        if not before or _list_open(lake, stage) == before:
            break
        results = [replace(one, n_open=0) for one in results] + collected + judge_once()
    return results


def _collect(
    lake: Lake, stage: Suite, run_id: str, conduct: Conduct, until: float
) -> list[ShardResult]:
    """Collect the open batches of each judge once, whatever its aliases; nothing is started where
    none is open.
    """
    waiting = {judge_id for judge_id, _ in _list_open(lake, stage)}
    if not waiting:
        return []
    judges = {one.judge_id: one for one in identify_all(stage) if one.judge_id in waiting}
    orders = [
        CollectOrder(lake, run_id, stage.judges[one.alias], one, until) for one in judges.values()
    ]
    with logged_step(lake, run_id, conduct, "collect") as facts:
        with dask.annotate(resources={ENDPOINT_SLOT: 1}):
            collected: list[ShardResult] = steps.collect_replies.map(orders).result()
        facts["replies"] = sum(one.n_calls for one in collected)
        facts["batches_open"] = len(_list_open(lake, stage))
    return collected


def _list_open(lake: Lake, stage: Suite) -> set[tuple[str, str]]:
    """Judge and name of the batches that are open; where a lake never had one, nothing is asked of
    it.
    """
    snapshot = lake.take_snapshot("batches")
    if not snapshot.list_parts("batches")["batches"]:
        return set()
    ids = [one.judge_id for one in identify_all(stage) if one.kind != "metric"]
    rows = count_open(open_warehouse(snapshot, lazy=True), ids)
    return set(rows.select("judge_id", "name").iter_rows())
