"""Flow `judge-answers`: what is left to judge and to score, as shards on Dask."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import dask
from prefect import flow

from flows import steps
from flows.runners import ENDPOINT_SLOT, METRIC_SLOT
from tasks.backends.standin_process import start_standin
from tasks.judge_settings import JudgeSettings
from tasks.judging.shard import ShardOrder, ShardResult
from tasks.lake import Lake, open_lake
from tasks.planning import Work, register_judges
from tasks.suite import Scope, Suite, narrow, needs_scores, read_suite, stages_of


class Judged(NamedTuple):
    """What the judges' shards did, and why some metric could not run (a line each)."""

    shards: list[ShardResult]
    failures: list[str]


@flow(name="judge-answers", validate_parameters=False)
def judge_answers(
    suite_file: str,
    lake_root: str,
    run_id: str,
    scope: Scope = Scope(),
    retry: tuple[str, ...] = (),  # frozen
) -> Judged:
    """Plan, then judge and score side by side: a shard is a task, on a worker that has its slot."""
    full = read_suite(Path(suite_file))
    lake = open_lake(Path(lake_root))
    register_judges(lake, full)
    suite = narrow(full, scope)
    with dask.annotate(resources={METRIC_SLOT: 1}):
        scored = steps.metric_shard.map(steps.plan_scores(lake, suite, scope, run_id))
    try:
        shards = _judge_stages(lake, suite, scope, run_id, retry, scored.wait)
    except Exception:  # ends the run; what the metrics are about to compute is kept
        scored.wait()
        raise
    failures = [line for result in scored.result() for line in result.failures]
    return Judged(shards, list(dict.fromkeys(failures)))


def _judge_stages(
    lake: Lake, suite: Suite, scope: Scope, run_id: str, retry: tuple[str, ...], await_scores: Callable[[], None]
) -> list[ShardResult]:
    results: list[ShardResult] = []
    with _standin_if(any(_asks_standin(judge) for judge in suite.judges.values())) as address:
        for stage in stages_of(suite):
            if needs_scores(stage):
                await_scores()
            works = steps.plan_work(lake, stage, scope, run_id, retry)
            with dask.annotate(resources={ENDPOINT_SLOT: 1}):
                orders = [order for work in works for order in _shard_orders(lake, suite, run_id, work, address)]
                judged = steps.judge_shard.map(orders)
            results += judged.result()
    return results


def _asks_standin(judge: JudgeSettings) -> bool:
    return any(endpoint.backend == "standin" for endpoint in judge.endpoints.values())


@contextmanager
def _standin_if(needed: bool) -> Iterator[str | None]:
    """The address of a stand-in endpoint of this run's own, where a judge needs one."""
    if not needed:
        yield None
        return
    with start_standin() as standin:
        yield standin.base_url


def _shard_orders(lake: Lake, suite: Suite, run_id: str, work: Work, standin: str | None) -> list[ShardOrder]:
    judge, images = suite.judges[work.identity.alias], suite.image_root(lake.root)
    return [ShardOrder(lake, run_id, judge, work.identity, suite.limits, file, images, standin) for file in work.shards]
