"""Flow `judge-answers`: what is left to judge and to score, as shards on Dask."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from prefect import flow

from flows import steps
from flows.runners import ENDPOINT_SLOT, METRIC_SLOT
from tasks.backends.standin_process import start_standin
from tasks.judging.shard import ShardOrder, ShardResult
from tasks.lake import Lake, open_lake
from tasks.metrics.shard import ScoreOrder
from tasks.planning import Work, register_judges
from tasks.suite import Scope, Suite, narrow, read_suite


@flow(name="judge-answers", validate_parameters=False)
def judge_answers(
    suite_file: str,
    lake_root: str,
    run_id: str,
    scope: Scope = Scope(),
    retry: tuple[str, ...] = (),  # frozen
) -> list[ShardResult]:
    """Plan, then judge and score side by side: a shard is a task, on a worker that has its slot."""
    full = read_suite(Path(suite_file))
    lake = open_lake(Path(lake_root))
    register_judges(lake, full)
    suite = narrow(full, scope)
    works = steps.plan_work(lake, suite, scope, run_id, retry)
    judging = [work for work in works if work.identity.kind == "judge" and work.shards]
    with _standin_if(_needs_standin(suite, judging)) as address:
        with dask.annotate(resources={METRIC_SLOT: 1}):
            scored = steps.metric_shard.map([order for work in works for order in _score_orders(lake, run_id, work)])
        with dask.annotate(resources={ENDPOINT_SLOT: 1}):
            orders = [order for work in judging for order in _shard_orders(lake, suite, run_id, work, address)]
            judged = steps.judge_shard.map(orders)
        scored.result()
        results: list[ShardResult] = judged.result()
    return results


def _needs_standin(suite: Suite, judging: list[Work]) -> bool:
    return any(suite.judges[work.identity.alias].endpoint.backend == "standin" for work in judging)


@contextmanager
def _standin_if(needed: bool) -> Iterator[str | None]:
    """The address of a stand-in endpoint of this run's own, where a judge needs one."""
    if not needed:
        yield None
        return
    with start_standin() as standin:
        yield standin.base_url


def _shard_orders(lake: Lake, suite: Suite, run_id: str, work: Work, standin: str | None) -> list[ShardOrder]:
    judge = suite.judges[work.identity.alias]
    address = standin if judge.endpoint.backend == "standin" else None
    return [ShardOrder(lake, run_id, judge, work.identity, suite.limits, file, address) for file in work.shards]


def _score_orders(lake: Lake, run_id: str, work: Work) -> list[ScoreOrder]:
    return [ScoreOrder(lake, run_id, work.identity, file) for file in work.shards if work.identity.kind == "metric"]
