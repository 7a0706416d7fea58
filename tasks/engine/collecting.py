"""Collecting batches: writes the replies of a judge's ended batches into the lake, and finds the
batches again that a crash left behind.

A reply is in the lake before its batch is noted as collected, so a crash in between costs a second
download and no call. Requests that a batch did not answer are free; the judge's shards queue them
again.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from judgelake.tasks.backends.openai.batch_book import Batch, BatchBook, Refusals
from judgelake.tasks.backends.openai.settings import OpenAISettings
from judgelake.tasks.engine.ledger import Ledger
from judgelake.tasks.engine.shard import ShardResult, sum_up
from judgelake.tasks.errors import redact
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.processes import own_folder
from judgelake.tasks.lake.stop_flag import StopFlag
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.types import Identity, Reply, Request

if TYPE_CHECKING:
    from judgelake.tasks.backends.openai.batch import BatchApi
    from judgelake.tasks.backends.openai.batch_news import BatchNews


_FIRST_POLL_S, _LONGEST_POLL_S = 2.0, 60.0
"""The pause between two questions to the provider doubles from the first to the longest."""
_LOOK_S = 0.5
"""The pause between two looks at the stop flag."""
_GONE_AFTER = timedelta(hours=48)
"""A batch that the provider does not know this long after it was planned is given up: its window is
24 hours.
"""
_PASSING_CODES = ("token_limit_exceeded", "rate_limit_exceeded")
"""Why a batch as a whole may fail although the next one like it need not."""


@dataclass(frozen=True)
class CollectOrder:
    """What a worker needs to collect a judge's batches; it waits for open ones until the time
    `until` (seconds of the epoch).
    """

    lake: Lake
    run_id: str
    judge: JudgeSettings
    identity: Identity
    until: float = 0.0


def collect_batches(order: CollectOrder) -> ShardResult:
    """Take in the batches that have ended; raises BackendError where the provider refuses to
    answer, LakeError where the replies cannot be written.
    """
    return asyncio.run(_Collector(order).run())


class _Collector:
    """One judge's open batches and the accounts that they are at."""

    def __init__(self, order: CollectOrder) -> None:
        self._order, self._flag = order, StopFlag(order.lake, order.run_id)
        self._book = BatchBook(order.lake, order.identity.judge_id, order.run_id)
        self._endpoints = {
            name: replace(endpoint, mode="batch")
            for name, endpoint in order.judge.endpoints.items()
            if isinstance(endpoint, OpenAISettings)
        }
        prices = {name: endpoint.known_price for name, endpoint in self._endpoints.items()}
        judge = order.identity
        self._ledger = Ledger(
            order.lake, order.run_id, judge.judge_id, judge.reading, judge.wants.unit, prices=prices
        )
        self._apis: dict[OpenAISettings, tuple[BatchApi, str]] = {}
        self._reported: set[str] = set()

    async def run(self) -> ShardResult:
        pause_s = _FIRST_POLL_S
        try:
            while True:
                here = [
                    batch for batch in self._book.list_open() if batch.endpoint in self._endpoints
                ]
                still = [batch for batch in here if not await self._settle(batch)]
                left_s = self._order.until - time.time()
                if not still or left_s <= 0 or self._flag.is_set():
                    return sum_up(self._ledger.tally)
                await self._pause(min(pause_s, left_s))
                pause_s = min(2 * pause_s, _LONGEST_POLL_S)
        finally:
            for api, _ in self._apis.values():
                api.close()

    async def _pause(self, seconds: float) -> None:
        """Sleep, but return once the run was asked to stop."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._flag.is_set():
            await asyncio.sleep(min(_LOOK_S, max(0.0, deadline - time.monotonic())))

    async def _settle(self, batch: Batch) -> bool:
        """Whether nothing is left to do for a batch; replies that came are then in the lake."""
        from judgelake.tasks.backends.openai.batch import ENDED, BatchError

        api, base_url = self._find_api(batch)
        if base_url != batch.base_url:
            self._print_once(
                f"{batch.name} is at {batch.base_url}, and this suite asks {base_url}: its "
                f"replies stay there until a suite asks there"
            )
            return True
        try:
            known = self._recover(api, batch)
            if known is None:
                return True
            news = api.ask(known.batch_id or "")
            if news.status not in ENDED:
                return False
            await self._take_in(api, known, news)
        except BatchError as error:
            if error.status == 404 and datetime.now(UTC) - batch.planned_at > _GONE_AFTER:
                self._book.end(batch, "failed", error.words)
                return True
            if error.sure:
                raise
            self._print_once(f"{error.words}; {batch.name} stays open, and the next run asks again")
            return False
        return True

    def _find_api(self, batch: Batch) -> "tuple[BatchApi, str]":
        from judgelake.tasks.backends.openai.batch import BatchApi
        from judgelake.tasks.backends.openai.endpoints import find_endpoint

        settings = self._endpoints[batch.endpoint]
        if settings not in self._apis:
            endpoint = find_endpoint(settings.model, settings.base_url, settings.api_key_variable)
            self._apis[settings] = (
                BatchApi(
                    endpoint,
                    settings.timeout_s,
                    settings.max_attempts,
                    should_stop=self._flag.is_set,
                ),
                endpoint.base_url,
            )
        return self._apis[settings]

    def _recover(self, api: "BatchApi", batch: Batch) -> Batch | None:
        """The batch with its id. Where a crash left it without one, it is looked up at the
        provider, or started from its uploaded file; None where the provider has neither.
        """
        if batch.batch_id is not None:
            return batch
        from judgelake.tasks.backends.openai.batch import start_batch

        batch_id = api.find_batch(batch.key, batch.planned_at)
        if batch_id is not None:
            return self._book.submit(batch, None, batch_id)
        file_id = api.find_file(batch.file_name, batch.n_bytes, batch.planned_at)
        if file_id is not None:
            return start_batch(api, self._book, batch, file_id)
        self._book.end(
            batch, "abandoned", "the provider has neither a batch nor a whole file of it"
        )
        return None

    async def _take_in(self, api: "BatchApi", batch: Batch, news: "BatchNews") -> None:
        """Keep the replies, then record the end of the batch with the refused requests."""
        if news.status == "failed":
            passing = news.code in _PASSING_CODES
            reason = news.reason or "the provider gave no reason"
            refusals = (
                {} if passing else dict.fromkeys(batch.requests, f"the batch was refused: {reason}")
            )
            self._book.end(batch, "failed", reason, refusals)
            self._print_once(f"{batch.name} failed: {reason}")
            return
        with own_folder("batch") as folder:
            refusals, n_free = await self._keep(batch, _fetch(api, batch, news, Path(folder)))
        short = (
            f"{news.status}: {n_free:,} of {len(batch.requests):,} requests were not answered"
            if n_free
            else None
        )
        self._book.end(batch, "collected", short, refusals)
        if short:
            self._print_once(f"{batch.name} {short}; they are asked again")

    async def _keep(self, batch: Batch, lines: Iterator[bytes]) -> tuple[Refusals, int]:
        """Put the replies among the lines into the lake; returns what was refused, and how many
        requests got neither.
        """
        from judgelake.tasks.backends.openai.batch_lines import read_line

        answered, refusals = self._book.list_answered(batch), Refusals()
        for line in lines:
            try:
                place, answer = read_line(line)
                digest, draw = key = batch.requests[place]
            except (
                ValueError,
                IndexError,
            ):  # cut off, or about no request of the batch: its request is asked again
                continue
            if isinstance(answer, str):
                refusals[key] = answer
            elif answer is not None and key not in answered:
                answered.add(key)
                request = Request(batch.model, (), draw=draw, endpoint=batch.endpoint)
                self._ledger.keep_reply(digest, request, _mark(answer, batch))
                if self._ledger.is_full:
                    await self._ledger.flush_patiently()
        await self._ledger.flush_patiently()
        return refusals, len(set(batch.requests) - answered - refusals.keys())

    def _print_once(self, words: str) -> None:
        """Print a line on standard error, but only once for the same words."""
        if words not in self._reported:
            self._reported.add(words)
            sys.stderr.write(redact(f"judgelake: batches: {words}\n"))


def _fetch(api: "BatchApi", batch: Batch, news: "BatchNews", folder: Path) -> Iterator[bytes]:
    """The lines of a batch's answers, then those of its errors."""
    for file_id in (news.output_file, news.error_file):
        if file_id is not None:
            yield from api.read_lines(file_id, len(batch.requests), folder)


def _mark(reply: Reply, batch: Batch) -> Reply:
    return replace(reply, adapted=batch.adaptation.words or None)
