"""One shard of a judge's cases, from the shard file to verdicts in the lake; plain asyncio, run in whatever process it lands in.

A shard plans again when it starts: cases that an earlier attempt finished are left out, stored replies are not asked for again.
"""

import asyncio
import json
from dataclasses import dataclass, fields
from pathlib import Path

import polars as pl

from tasks.backends.base import Backend
from tasks.backends.replay import ReplayBackend
from tasks.judging.engine import judge_cases
from tasks.judging.ledger import FLUSH_SECONDS, Ledger, Tally, load_replies
from tasks.judging.protocols import PROTOCOLS, Identity
from tasks.judging.types import Case
from tasks.lake import Lake, open_lake
from tasks.reports.warehouse import open_warehouse, select_frame
from tasks.suite import JudgeSettings, LimitSettings


@dataclass(frozen=True)
class ShardOrder:
    """All a worker needs: paths and settings, no frames, no keys. `base_url` overrides the judge's (the stand-in's address)."""

    lake: Lake
    run_id: str
    judge: JudgeSettings
    identity: Identity
    limits: LimitSettings
    cases_file: Path
    base_url: str | None = None

    @property
    def progress_file(self) -> Path:
        """Where the shard tells how far it is."""
        return self.cases_file.with_suffix(".progress.json")


@dataclass(frozen=True)
class ShardResult:
    """What a shard did; `statuses` are (status, count) pairs."""

    n_calls: int
    n_replies_reused: int
    prompt_tokens: int
    completion_tokens: int
    statuses: tuple[tuple[str, int], ...]


def stop_file(lake: Lake, run_id: str) -> Path:
    """The flag that ends admission in every shard of a run."""
    return lake.work_folder(run_id) / "stop"


def run_judge_shard(order: ShardOrder) -> ShardResult:
    """Judge the cases of one shard; raises BackendError where the endpoint cannot be used at all, LakeError where nothing can be kept."""
    return asyncio.run(_run(order))


async def _run(order: ShardOrder) -> ShardResult:
    backend = make_backend(order)
    ledger = Ledger(order.lake, order.run_id, order.identity.judge_id, order.identity.reading)
    protocol = PROTOCOLS[order.judge.protocol]
    model = order.judge.endpoint.model
    flag = stop_file(order.lake, order.run_id)
    judging = asyncio.create_task(
        judge_cases(
            remaining_cases(order), lambda case: protocol.judge(case, order.judge.options, model), backend, ledger, flag.exists
        )
    )
    flushing = asyncio.create_task(ledger.flush_regularly(FLUSH_SECONDS, lambda tally: _tell(order, tally)))
    try:
        await asyncio.wait({judging, flushing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (flushing, judging):
            task.cancel() if not task.done() else None
        outcomes = await asyncio.gather(judging, flushing, return_exceptions=True)
        try:
            await ledger.flush()
        finally:
            await backend.close()
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    _tell(order, ledger.tally)
    return _result(ledger.tally)


def make_backend(order: ShardOrder) -> Backend:
    """The backend that the suite names; keys come from this process's environment."""
    if order.judge.endpoint.cassette is not None:
        return ReplayBackend(load_replies(open_lake(order.judge.endpoint.cassette)))
    from tasks.backends.openai_api import OpenAIBackend  # openai takes most of a second, which planning does not need

    endpoint = order.judge.endpoint
    return OpenAIBackend(
        model=endpoint.model,
        base_url=order.base_url or endpoint.base_url,
        api_key_variable=endpoint.api_key_variable,
        concurrency=order.limits.concurrency,
        timeout_s=endpoint.timeout_s,
        requests_per_minute=order.limits.requests_per_minute,
        max_attempts=endpoint.max_attempts,
    )


def remaining_cases(order: ShardOrder) -> list[Case]:
    """The shard's cases without those that an earlier attempt of this run already judged."""
    frame = pl.read_parquet(order.cases_file)
    text = "select benchmark, item_id, content_digest, context_digest, criterion, sample from stg_verdicts "
    text += "where judge_id = $judge_id and reading = $reading and run_id = $run_id"
    key = {"judge_id": order.identity.judge_id, "reading": order.identity.reading, "run_id": order.run_id}
    done = select_frame(open_warehouse(order.lake), text, "verdicts of this run", key)
    left = frame.join(done, on=done.columns, how="anti", maintain_order="left")
    names = [field.name for field in fields(Case)]
    return [Case(**{**row, "references": tuple(row["references"])}) for row in left.select(names).iter_rows(named=True)]


def _tell(order: ShardOrder, tally: Tally) -> None:
    told = {"calls": tally.n_calls, "reused": tally.n_replies_reused, "statuses": dict(tally.statuses)}
    told["tokens"] = tally.prompt_tokens + tally.completion_tokens
    beside = order.progress_file.with_suffix(".tmp")
    beside.write_text(json.dumps(told))
    beside.replace(order.progress_file)


def _result(tally: Tally) -> ShardResult:
    return ShardResult(
        tally.n_calls,
        tally.n_replies_reused,
        tally.prompt_tokens,
        tally.completion_tokens,
        tuple(sorted(tally.statuses.items())),
    )
