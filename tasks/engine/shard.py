"""Judges one shard of a judge's cases, from the shard file to verdicts in the lake. It is plain
asyncio and runs in any process.

A shard plans again when it starts: cases that an earlier attempt finished are left out, and stored
replies are not asked for again.
"""

import asyncio
import contextlib
import functools
import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from judgelake.tasks.backends.base import Backend, RoutingBackend
from judgelake.tasks.backends.endpoint import BackendOrder, EndpointSettings
from judgelake.tasks.backends.image_encoding import ImageEncoder
from judgelake.tasks.backends.registry import BACKENDS
from judgelake.tasks.backends.replay import SilentBackend
from judgelake.tasks.collection.collectors import find_protocol
from judgelake.tasks.engine.budget import Budget, BudgetedBackend
from judgelake.tasks.engine.engine import collect_less, judge_cases
from judgelake.tasks.engine.ledger import FLUSH_SECONDS, PATIENCE_S, Ledger, Tally, load_replies
from judgelake.tasks.engine.shares import find_share, follow_share, mark_done
from judgelake.tasks.engine.spill import take_in_spilled
from judgelake.tasks.engine.trial import CappedBackend, TrialKeeper, try_judge
from judgelake.tasks.errors import BackendError, LakeError
from judgelake.tasks.judging.answer_form import ask_in_form
from judgelake.tasks.judging.cases import find_missing_image, read_cases
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.lake.parquet import read_frame
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.stop_flag import StopFlag
from judgelake.tasks.lake.storage import LakePath, write_whole
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import LimitSettings
from judgelake.tasks.types import AnswerForm, Case, Identity, Judge, Verdict
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file

_BUCKET_S = 5.0
"""The pause between two writes of the progress into a bucket."""


class ProgressWriter:
    """Writes a shard's progress to `file`: on a disk at every tick, in a bucket every 5 s in a
    thread, so that judging never waits.
    """

    def __init__(self, file: LakePath, budget: Budget | None) -> None:
        self._file, self._budget = file, budget
        self._thread: threading.Thread | None = None
        self._next = time.monotonic()

    def tick(self, tally: Tally) -> None:
        """Write the progress where it is time to."""
        if isinstance(self._file, Path):
            self._write(_encode(tally))
        elif time.monotonic() >= self._next and not (self._thread and self._thread.is_alive()):
            self._next = time.monotonic() + _BUCKET_S
            self._thread = threading.Thread(target=self._write, args=(_encode(tally),), daemon=True)
            self._thread.start()

    def finish(self, tally: Tally) -> None:
        """Write the final progress."""
        if self._thread:
            self._thread.join()
        self._write(_encode(tally))

    def _write(self, content: bytes) -> None:
        with contextlib.suppress(LakeError):  # a full disk, a silent bucket: the ledger reports it
            if self._budget is not None:
                self._budget.save()
            write_whole(self._file, content)


def _encode(tally: Tally) -> bytes:
    numbers = {
        "calls": tally.n_calls,
        "reused": tally.n_replies_reused,
        "cases": tally.n_cases,
        "statuses": dict(tally.statuses),
    }
    numbers |= {
        "tokens": tally.prompt_tokens + tally.completion_tokens,
        "cost_usd": tally.cost_usd,
        "unpriced": tally.n_unpriced,
    }
    return json.dumps(numbers).encode()


_PART_CASES = 100
"""Cases between two looks whether the budget is reached or an endpoint refuses."""
TRIAL_PROGRESS = ".trial.progress.json"
_HURRIED_S = 3.0
"""How long writing to a failing lake is tried again once the run was asked to stop."""


@dataclass(frozen=True)
class ShardOrder:
    """All a worker needs: paths and settings, no frames, no keys. `standin` is the address that
    endpoints of that backend have.

    `retry`: statuses of verdicts whose requests are sent again although the lake has their replies.
    `slots`: how many shards may ask at a time, over which the limits (see `tasks.engine.shares`)
    and what is left of the budget are divided. Unless it `asks`, a case whose replies are not in
    the lake is left as it is. `trial`: after so many replies that count the rest of the cases is
    left to another order; 0 where it is no trial.
    """

    lake: Lake
    run_id: str
    judge: JudgeSettings
    identity: Identity
    limits: LimitSettings
    cases_file: LakePath
    image_root: LakePath
    standin: str | None = None
    retry: tuple[str, ...] = ()
    slots: int = 1
    asks: bool = True
    trial: int = 0

    @property
    def progress_file(self) -> LakePath:
        """The file that shows how many cases the order has judged."""
        return self.cases_file.with_suffix(TRIAL_PROGRESS if self.trial else ".progress.json")


@dataclass(frozen=True)
class ShardResult:
    """What a shard did; `statuses` are (status, count) pairs. `cost_usd` is without the
    `n_unpriced` calls whose price is not known.

    `refusal`: why an endpoint took none of its requests. `n_tried`: the replies of a trial that
    count.
    """

    n_calls: int
    n_replies_reused: int
    prompt_tokens: int
    completion_tokens: int
    statuses: tuple[tuple[str, int], ...]
    cost_usd: float = 0.0
    n_unpriced: int = 0
    over_budget: bool = False
    n_open: int = 0
    refusal: str = ""
    n_tried: int = 0


def run_judge_shard(order: ShardOrder) -> ShardResult:
    """Judge the cases of one shard; raises LakeError where replies cannot be written. A
    backend that cannot be used becomes the `refusal` of the result.
    """
    try:
        return asyncio.run(_run(order))
    except BackendError as error:  # no key, no memory: the suite's other judges go on
        return replace(sum_up(Tally()), refusal=f"judge {order.identity.alias}: {error}")


async def _run(order: ShardOrder) -> ShardResult:
    take_in_spilled(order.lake)
    budget, flag = make_budget(order), StopFlag(order.lake, order.run_id)
    snapshot = order.lake.take_snapshot()
    routing, ledger = make_backend(order), _make_ledger(order, flag, snapshot)
    backend = _limit_backend(routing, order, budget)
    progress = ProgressWriter(order.progress_file, budget)
    parts = itertools.takewhile(
        lambda _: not ((budget and budget.reached) or routing.refusal),
        remaining_cases(order, snapshot).iter_slices(_PART_CASES),
    )
    cases = itertools.chain.from_iterable(map(read_cases, parts))
    start, stops = make_starter(order.judge, order.identity), (flag.is_set, flag.is_halting)
    tried = TrialKeeper(ledger)
    judging = asyncio.create_task(
        try_judge(cases, start, CappedBackend(backend), tried, order.trial, *stops)
        if order.trial
        else judge_cases(cases, start, backend, ledger, *stops)
    )
    flushing = asyncio.create_task(ledger.flush_regularly(FLUSH_SECONDS, progress.tick))
    following = asyncio.create_task(
        follow_share(order.limits, order.slots, order.cases_file, routing.set_limits)
    )
    try:
        with collect_less():
            await asyncio.wait({judging, flushing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (flushing, judging, following):
            task.cancel() if not task.done() else None
        outcomes = await asyncio.gather(judging, flushing, following, return_exceptions=True)
        try:
            await ledger.flush_patiently()
            if not judging.cancelled() and judging.exception() is None and not flag.is_set():
                await routing.submit()
        finally:
            await backend.close()
    if not 0 < order.trial <= tried.n_replies:
        mark_done(order.cases_file)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    progress.finish(ledger.tally)
    refusal = (
        f"judge {order.identity.alias}: {routing.refusal}; nothing further was asked of it"
        if routing.refusal
        else ""
    )
    result = sum_up(ledger.tally, over_budget=budget is not None and budget.reached)
    return replace(result, refusal=refusal, n_tried=tried.n_replies)


def _make_ledger(order: ShardOrder, flag: StopFlag, snapshot: Snapshot) -> Ledger:
    judge = order.identity
    return Ledger(
        order.lake,
        order.run_id,
        judge.judge_id,
        judge.reading,
        judge.wants.unit,
        retry=order.retry,
        prices=order.judge.prices,
        patience=lambda: _HURRIED_S if flag.is_set() else PATIENCE_S,
        snapshot=snapshot,
    )


def make_budget(order: ShardOrder) -> Budget | None:
    """The shard's part of the run's budget; None where the suite sets none, or nobody is asked."""
    budget_usd = order.limits.budget_usd if order.asks else None
    return None if budget_usd is None else Budget(budget_usd, order.cases_file, 1 / order.slots)


def _limit_backend(backend: Backend, order: ShardOrder, budget: Budget | None) -> Backend:
    if budget is None:
        return backend
    return BudgetedBackend(backend, budget, order.judge.prices, order.judge.endpoint.image_max_side)


def make_starter(judge: JudgeSettings, identity: Identity) -> Callable[[Case], Judge]:
    """From a case to the protocol's generator, or to one that ends at once where an image that the
    protocol needs is missing.
    """
    protocol = find_protocol(judge.protocol)
    start: Callable[[Case], Judge] = functools.partial(
        protocol.judge, options=judge.options, models=judge.models
    )
    if set(judge.forms.values()) != {"free"}:
        start = functools.partial(_start_in_form, start, judge.forms)
    looks = identity.wants.image != "absent" and not protocol.handles_missing_images
    return functools.partial(_start_with_images, start) if looks else start


def _start_in_form(
    start: Callable[[Case], Judge], forms: Mapping[str, AnswerForm], case: Case
) -> Judge:
    return ask_in_form(start(case), forms)


def _start_with_images(start: Callable[[Case], Judge], case: Case) -> Judge:
    missing = find_missing_image(case, sees_images=True)
    return start(case) if missing is None else _refuse(missing)


def _refuse(reason: str) -> Judge:
    yield from ()  # asks nothing
    return [Verdict("missing_image", reason=reason)]


def make_backend(order: ShardOrder) -> RoutingBackend:
    """The backends that the suite names, one for each different endpoint; keys come from this
    process's environment.
    """
    endpoints = order.judge.endpoints
    if not (order.asks and order.judge.asks):
        return RoutingBackend(dict.fromkeys(endpoints, SilentBackend()))
    first = {settings: name for name, settings in reversed(endpoints.items())}
    made = {settings: _make_for(name, settings, order) for settings, name in first.items()}
    return RoutingBackend(
        {name: made[settings] for name, settings in endpoints.items()},
        keeps_all=order.judge.endpoint.keep_logprobs == "all",
    )


def _make_for(name: str, endpoint: EndpointSettings, order: ShardOrder) -> Backend:
    return BACKENDS[endpoint.backend].make(
        endpoint,
        BackendOrder(
            name=name,
            lake=order.lake,
            judge_id=order.identity.judge_id,
            run_id=order.run_id,
            encoder=ImageEncoder(order.image_root, endpoint.image_max_side),
            concurrency=order.limits.concurrency,
            requests_per_minute=order.limits.requests_per_minute,
            share=find_share(order.limits, order.slots, order.cases_file),
            contact_file=order.cases_file.with_name(f"{order.identity.alias}.{name}.contact"),
            standin=order.standin,
            read_replies=lambda root: load_replies(open_lake(root)),
        ),
    )


def remaining_cases(order: ShardOrder, snapshot: Snapshot) -> pl.DataFrame:
    """The shard's cases without those that the snapshot has a verdict of this run for."""
    connection = open_warehouse(snapshot, lazy=True)
    connection.register("planned_cases", read_frame(order.cases_file).to_arrow())
    connection.execute("create temp table wanted_cases as select * from planned_cases")
    connection.unregister("planned_cases")
    key = {
        "judge_id": order.identity.judge_id,
        "reading": order.identity.reading,
        "run_id": order.run_id,
    }
    return select_file(
        connection, "queries/pending_cases.sql", key | {"retry": [], "insist": False}
    )


def sum_up(tally: Tally, over_budget: bool = False) -> ShardResult:
    """The result of a shard from its tally."""
    return ShardResult(
        tally.n_calls,
        tally.n_replies_reused,
        tally.prompt_tokens,
        tally.completion_tokens,
        tuple(sorted(tally.statuses.items())),
        tally.cost_usd,
        tally.n_unpriced,
        over_budget,
        tally.n_open,
    )
