"""Flow `judge-answers`: judges and scores what has no verdict or score yet, as shards on Dask."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import dask
from prefect import flow

from judgelake.flows import steps
from judgelake.flows.batch_rounds import judge_in_rounds
from judgelake.flows.progress_artifact import show_in_prefect
from judgelake.flows.run_suite import RunSuite
from judgelake.flows.runners import ENDPOINT_SLOT, GPU_SLOT, METRIC_SLOT
from judgelake.tasks.backends.endpoint import ONE_EACH, Slot
from judgelake.tasks.engine.shard import ShardOrder, ShardResult
from judgelake.tasks.engine.shares import mark_done
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.lake.leases import SteadyClock
from judgelake.tasks.lake.stop_flag import StopFlag
from judgelake.tasks.planning.cases import Work, register_judges
from judgelake.tasks.planning.trials import passes_trial
from judgelake.tasks.reports.scored_rows import check_against
from judgelake.tasks.runs.lease_names import name_judge_leases
from judgelake.tasks.runs.log import (
    DEFAULT_OPTIONS,
    RunOptions,
    hold_for_run,
    log_step,
    logged_step,
)
from judgelake.tasks.runs.record import count_shards
from judgelake.tasks.standin.process import start_standin
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.kept import record_suite
from judgelake.tasks.suite.suite import Scope, Suite, narrow, needs_scores, stages_of


class Judged(NamedTuple):
    """The results of the judges' shards, and a line for each judge or metric that could not run."""

    shards: list[ShardResult]
    failures: list[str]


class _Judging(NamedTuple):
    """The values that all stages of a run share; `slots` shards of each kind may work at a time."""

    lake: Lake
    suite: Suite
    scope: Scope
    run_id: str
    retry: tuple[str, ...]
    slots: Mapping[Slot, int]
    run_options: RunOptions


@flow(name="judge-answers", validate_parameters=False)
def judge_answers(
    suite: RunSuite,
    lake_root: str,
    run_id: str,
    scope: Scope = Scope(),
    retry: tuple[str, ...] = (),  # frozen
    slots: Mapping[Slot, int] | None = None,
    run_options: RunOptions = DEFAULT_OPTIONS,
) -> Judged:
    """Plan, then judge and score at the same time. A shard is a task on a worker that has its slot;
    `slots` of each kind work at a time.
    """
    lake, wanted = open_lake(lake_root), narrow(suite.value, scope)
    with hold_for_run(lake, name_judge_leases(wanted), wanted.name, run_id, run_options):
        record_suite(lake, suite.value)
        register_judges(lake, suite.value)
        check_against(lake, suite.value)  # before anything is paid for
        clock = SteadyClock()
        with dask.annotate(resources={METRIC_SLOT: 1}):
            scored = steps.metric_shard.map(steps.plan_scores(lake, wanted, scope, run_id))
        judging = _Judging(lake, wanted, scope, run_id, retry, slots or ONE_EACH, run_options)
        try:
            with show_in_prefect(lake, run_id, wanted.name):
                shards = _judge_stages(judging, scored.wait)
        except Exception:  # ends the run, but only after the metrics have written their scores
            scored.wait()
            raise
        results = scored.result()
        failures = list(dict.fromkeys(line for result in results for line in result.failures))
        if wanted.metrics:
            counts = {
                "scores": sum(result.n_scores for result in results),
                "metrics_failed": len(failures),
            }
            log_step(
                lake,
                run_id,
                run_options,
                "metrics",
                {**counts, "seconds": round(clock.elapsed_s(), 1)},
            )
    return Judged(
        shards, failures + list(dict.fromkeys(shard.refusal for shard in shards if shard.refusal))
    )


def _judge_stages(judging: _Judging, await_scores: Callable[[], None]) -> list[ShardResult]:
    results: list[ShardResult] = []
    with _standin_if(
        any(_asks_standin(judge) for judge in judging.suite.judges.values())
    ) as address:
        for stage in stages_of(judging.suite):
            if needs_scores(stage):
                await_scores()
            judge_once = functools.partial(_judge_once, judging, stage, address)
            results += judge_in_rounds(
                judging.lake, stage, judging.run_id, judging.run_options, judge_once
            )
    return results


def _judge_once(judging: _Judging, stage: Suite, standin: str | None) -> list[ShardResult]:
    lake, run_id, run_options = judging.lake, judging.run_id, judging.run_options
    with logged_step(lake, run_id, run_options, "plan") as facts:
        works = steps.plan_work(lake, stage, judging.scope, run_id, judging.retry, judging.slots)
        facts["judges"] = [
            f"{work.identity.alias} {work.n_pending:,} of {work.n_wanted:,} cases"
            + (" (paused)" if work.is_paused else "")
            for work in works
        ]
    with logged_step(lake, run_id, run_options, "judge") as facts:
        planned = [(work, _shard_orders(judging, work, standin)) for work in works]
        others = _submit(order for work, orders in planned if not work.n_trial for order in orders)
        tried, passed = _try_out(
            judging, [(work, orders) for work, orders in planned if work.n_trial]
        )
        rest = _submit(passed)
        results = tried + others() + rest()
        facts |= count_shards(results)
    return results


def _submit(orders: Iterable[ShardOrder]) -> Callable[[], list[ShardResult]]:
    """Have shards judged; the function that is returned waits for their results, in the order of
    `orders`.
    """
    submitted, wanted = [], list(orders)
    for slot in (ENDPOINT_SLOT, GPU_SLOT):
        with dask.annotate(resources={slot: 1}):
            places = [at for at, order in enumerate(wanted) if order.judge.slot == slot]
            shards = steps.judge_shard.map([wanted[at] for at in places])
            submitted.append((places, shards))

    def wait() -> list[ShardResult]:
        found = {
            at: result
            for places, shards in submitted
            for at, result in zip(places, shards.result(), strict=True)
        }
        return [found[at] for at in range(len(wanted))]

    return wait


def _try_out(
    judging: _Judging, tried: Sequence[tuple[Work, Sequence[ShardOrder]]]
) -> tuple[list[ShardResult], list[ShardOrder]]:
    """Try judges on the replies that each work wants, one shard after the other; the results, and
    the orders that remain of those that go on. A judge that is asked by batch is tried live.
    """
    results: list[ShardResult] = []
    passed: list[ShardOrder] = []
    left = [(work, [*orders], work.n_trial) for work, orders in tried]
    while left:
        asked = [
            replace(orders[0], judge=orders[0].judge.live, trial=n_missing)
            for _, orders, n_missing in left
        ]
        found = _submit(asked)()
        results += found
        trials, left = zip(left, found, strict=True), []
        for (work, orders, n_missing), result in trials:
            if not _passes(judging, work):
                continue
            if result.n_tried >= n_missing:
                passed += orders
            elif _asks_no_more(judging, result):
                passed += orders[1:]
            elif orders[1:]:  # too few cases of this shard brought a reply
                left.append((work, orders[1:], n_missing - result.n_tried))
    return results, passed


def _asks_no_more(judging: _Judging, result: ShardResult) -> bool:
    """Whether the run's other shards ask nothing either, so that they need no trial."""
    stopped = StopFlag(judging.lake, judging.run_id).is_set()
    return stopped or result.over_budget or bool(result.refusal)


def _passes(judging: _Judging, work: Work) -> bool:
    """Whether a judge goes on after a part of its trial; if not, its shards are marked as done."""
    passes = passes_trial(judging.lake, work.identity, judging.run_id, judging.retry)
    if not passes:
        for file in work.shards:
            mark_done(file)
    return passes


def _asks_standin(judge: JudgeSettings) -> bool:
    return any(endpoint.needs_standin for endpoint in judge.endpoints.values())


@contextmanager
def _standin_if(needed: bool) -> Iterator[str | None]:
    """The address of a stand-in endpoint that this run starts, or None where no judge needs one."""
    if not needed:
        yield None
        return
    with start_standin() as standin:
        yield standin.base_url


def _shard_orders(judging: _Judging, work: Work, standin: str | None) -> list[ShardOrder]:
    suite, lake = judging.suite, judging.lake
    judge, images = suite.judges[work.identity.alias], suite.image_root(lake.root)
    retried = tuple(
        status for status in judging.retry if status != "failed"
    )  # the replies that a failed case has already got are used again
    fixed = (lake, judging.run_id, judge, work.identity, suite.limits)
    return [
        ShardOrder(*fixed, file, images, standin, retried, slots=judging.slots["ENDPOINT"])
        for file in work.shards
    ]
