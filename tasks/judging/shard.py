"""One shard of a judge's cases, from the shard file to verdicts in the lake; plain asyncio, run in whatever process it lands in.

A shard plans again when it starts: cases that an earlier attempt finished are left out, stored replies are not asked for again.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tasks.backends.base import Backend
from tasks.backends.image_encoding import ImageEncoder
from tasks.backends.replay import ReplayBackend
from tasks.backends.routing import RoutingBackend
from tasks.judge_settings import EndpointSettings, JudgeSettings
from tasks.judging.cases import find_missing_image, read_cases
from tasks.judging.engine import judge_cases
from tasks.judging.ledger import FLUSH_SECONDS, Ledger, Tally, load_replies
from tasks.judging.protocols import PROTOCOLS, Identity
from tasks.judging.types import Case, Judge, Verdict
from tasks.lake import Lake, open_lake
from tasks.reports.warehouse import open_warehouse, select_file
from tasks.suite import LimitSettings


@dataclass(frozen=True)
class ShardOrder:
    """All a worker needs: paths and settings, no frames, no keys. `standin` is the address that endpoints of that backend have."""

    lake: Lake
    run_id: str
    judge: JudgeSettings
    identity: Identity
    limits: LimitSettings
    cases_file: Path
    image_root: Path
    standin: str | None = None

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
    wants = order.identity.wants
    ledger = Ledger(order.lake, order.run_id, order.identity.judge_id, order.identity.reading, wants.unit)
    flag = stop_file(order.lake, order.run_id)
    cases = read_cases(remaining_cases(order))
    judging = asyncio.create_task(judge_cases(cases, lambda case: start_judge(case, order), backend, ledger, flag.exists))
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


def start_judge(case: Case, order: ShardOrder) -> Judge:
    """The protocol's generator, or one that ends at once where an image that it must see is not there."""
    protocol = PROTOCOLS[order.judge.protocol]
    looks = order.identity.wants.image != "absent" and not protocol.tells_missing_images
    missing = find_missing_image(case, looks)
    return protocol.judge(case, order.judge.options, order.judge.models) if missing is None else _refuse(missing)


def _refuse(reason: str) -> Judge:
    yield from ()  # asks nothing
    return [Verdict("missing_image", reason=reason)]


def make_backend(order: ShardOrder) -> Backend:
    """The backends that the suite names, one for each different endpoint; keys come from this process's environment."""
    endpoints = order.judge.endpoints
    made = {settings: _make_one(settings, order) for settings in dict.fromkeys(endpoints.values())}
    return RoutingBackend({name: made[settings] for name, settings in endpoints.items()})


def _make_one(endpoint: EndpointSettings, order: ShardOrder) -> Backend:
    if endpoint.cassette is not None:
        return ReplayBackend(load_replies(open_lake(endpoint.cassette)))
    from tasks.backends.openai_api import OpenAIBackend  # openai takes most of a second, which planning does not need

    return OpenAIBackend(
        model=endpoint.model,
        base_url=order.standin if endpoint.backend == "standin" else endpoint.base_url,
        api_key_variable=endpoint.api_key_variable,
        concurrency=order.limits.concurrency,
        timeout_s=endpoint.timeout_s,
        requests_per_minute=order.limits.requests_per_minute,
        max_attempts=endpoint.max_attempts,
        encode_image=ImageEncoder(order.image_root, endpoint.image_max_side).encode,
    )


def remaining_cases(order: ShardOrder) -> pl.DataFrame:
    """The shard's cases without those that an earlier attempt of this run already judged."""
    connection = open_warehouse(order.lake, lazy=True)
    connection.execute("create temp table wanted_cases as select * from read_parquet($file)", {"file": str(order.cases_file)})
    key = {"judge_id": order.identity.judge_id, "reading": order.identity.reading, "run_id": order.run_id}
    return select_file(connection, "queries/pending_cases.sql", key | {"retry": [], "insist": False})


def _tell(order: ShardOrder, tally: Tally) -> None:
    told = {"calls": tally.n_calls, "reused": tally.n_replies_reused, "cases": tally.n_cases, "statuses": dict(tally.statuses)}
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
