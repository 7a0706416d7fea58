"""The ledger of a shard: it collects replies and verdicts and writes them to the lake every 10 s,
2,000 replies or 64 MiB, replies always before the verdicts on them.

Which requests are sent is decided in `tasks.engine.engine`, which verdict of a case counts in SQL.

Where a protocol returns an impossible verdict, the case gets the status `failed` with a reason, and
the shard goes on. Probabilities are stored in single precision, after the protocol has computed its
scores from them.
"""

import asyncio
import dataclasses
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from judgelake.schemas.tables import TABLES
from judgelake.tasks.backends.prices import Price
from judgelake.tasks.engine.budget import OVER_BUDGET
from judgelake.tasks.engine.spill import spill_folder, spill_replies
from judgelake.tasks.errors import LakeError
from judgelake.tasks.judging.token_reading import round_single
from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.types import (
    COLLECTED,
    TABLE_OF,
    UNASKED,
    Case,
    Pending,
    Reply,
    Request,
    TokenLogprobs,
    Unit,
    Verdict,
)
from judgelake.tasks.warehouse.warehouse import (
    open_warehouse,
    select_file,
    select_frame,
    snapshot_of,
)

_LOGPROBS = "top_logprobs"


def frame_replies(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A frame of the table `replies` from rows whose `top_logprobs` are as in a `Reply`."""
    schema = TABLES["replies"].polars_schema
    frame = pl.DataFrame(
        rows, schema={name: kind for name, kind in schema.items() if name != _LOGPROBS}
    )
    column = _frame_logprobs([row[_LOGPROBS] for row in rows]).cast(schema[_LOGPROBS])
    return frame.with_columns(column.alias(_LOGPROBS)).select(schema.keys())


def _frame_logprobs(replies: Sequence[tuple[TokenLogprobs, ...]]) -> pl.Series:
    positions = [position for reply in replies for position in reply]
    tokens = pa.array([token for position in positions for token, _ in position], pa.large_string())
    values = pa.array([value for position in positions for _, value in position], pa.float64())
    entries = pa.StructArray.from_arrays([tokens, values], ["token", "logprob"])
    tops = pa.LargeListArray.from_arrays(_count_up(positions), entries)
    return pl.Series(pl.from_arrow(pa.LargeListArray.from_arrays(_count_up(replies), tops)))


def _count_up(lists: Sequence[Sequence[object]]) -> pa.Array:
    """Offsets of lists within their joined entries: each list's start, and the last one's end."""
    return pa.array(np.cumsum([0, *map(len, lists)], dtype=np.int64))


def read_reply(row: Mapping[str, Any]) -> Reply:
    """A `Reply` from a row that has exactly its fields."""
    positions = row[_LOGPROBS] or ()
    logprobs = tuple(
        tuple((top["token"], top["logprob"]) for top in position) for position in positions
    )
    return Reply(**{**row, _LOGPROBS: logprobs})


PREFERENCES: Mapping[str, float] = {"a": 0.0, "b": 1.0, "tie": 0.5}


_NOTHING: Mapping[str, Any] = dict.fromkeys(
    ("rating", "score_0_1", "choice", "preference_b", "score_a", "score_b", "text")
)
"""What a verdict that is not `ok` leaves empty."""


def settle_verdicts(case: Case, verdicts: list[Verdict], unit: Unit) -> list[Verdict]:
    """One verdict for each criterion of the case. A verdict that names no criterion applies to all
    criteria without a verdict of their own.
    """
    criteria = case.criteria or (case.criterion,)
    named = {verdict.criterion: verdict for verdict in verdicts if verdict.criterion is not None}
    about_all = next((verdict for verdict in verdicts if verdict.criterion is None), None)
    silent = about_all or Verdict(
        "failed", reason="the protocol gave no verdict about this criterion"
    )
    settled = []
    for criterion in criteria:
        verdict = replace(named.get(criterion, silent), criterion=criterion)
        if verdict.status != "ok":
            verdict = replace(verdict, **_NOTHING)
        elif wrong := _find_wrong(verdict, unit):
            reason = f"the protocol gave {wrong}"
            verdict = Verdict(
                "failed", criterion=criterion, rationale=verdict.rationale, reason=reason
            )
        elif verdict.choice is not None and verdict.preference_b is None:
            verdict = replace(verdict, preference_b=PREFERENCES[verdict.choice])
        settled.append(verdict)
    return settled


def _find_wrong(verdict: Verdict, unit: Unit) -> str | None:
    if unit == "image":
        return None if verdict.text else "no caption"
    if unit == "item":
        return None if verdict.text else "no answer"
    if unit in COLLECTED:
        return None if verdict.made else "nothing"
    if unit in ("pair", "feedback"):
        share = 0.5 if verdict.preference_b is None else verdict.preference_b
        return (
            None
            if verdict.choice in PREFERENCES and 0 <= share <= 1
            else f"the choice {verdict.choice!r} ({share})"
        )
    score, rating = verdict.score_0_1, verdict.rating
    if score is None or rating is None or not (0 <= score <= 1 and math.isfinite(rating)):
        return f"the rating {rating} and the score {score}, which is not in [0, 1]"
    return None


FLUSH_SECONDS = 10.0
FLUSH_REPLIES = 2000
"""A killed run loses at most the replies of so many seconds, or so many of them."""
FLUSH_BYTES = 64 * 2**20
"""So much may wait in memory; one reply may have half of it."""
_LOGPROB_BYTES = 100
"""What a token with its log-probability takes in memory, about."""
PATIENCE_S = 180.0
"""How long writing to the lake is retried before the replies are spilled to a local folder."""
_LONGEST_PAUSE_S = 30.0
"""Between two tries; the pauses double from 1 s."""
_BATCH_ROWS, _BATCHES_HELD = 5000, 3
"""Stored replies are read so many rows at a time, and so many of these batches stay in memory."""
Key = tuple[str, int]
"""Request digest and draw."""
NO_PRICES: Mapping[str, Price | None] = {}
_CASE_FIELDS = (
    "benchmark",
    "item_id",
    "content_digest",
    "other_digest",
    "shown_first",
    "context_digest",
    "sample",
)
_REPLY_FIELDS = tuple(part.name for part in dataclasses.fields(Reply))
_VERDICT_FIELDS = (
    "criterion",
    "status",
    "rating",
    "score_0_1",
    "choice",
    "preference_b",
    "score_a",
    "score_b",
    "rationale",
    "reason",
    "text",
)


@dataclass
class Tally:
    """Counts of what a shard has done so far. `cost_usd` leaves out the `n_unpriced` calls without
    a known price.
    """

    n_calls: int = 0
    n_replies_reused: int = 0
    n_cases: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    n_unpriced: int = 0
    n_open: int = 0
    statuses: Counter[str] = field(default_factory=Counter)


class StoredReplies(Mapping[Key, Reply]):
    """Replies of a lake by request digest and draw. All keys are in memory (in `places`, with their
    numbers), of the rows only the last few batches that were read.
    """

    def __init__(self, snapshot: Snapshot, judge_id: str | None, keys: Iterable[Key]) -> None:
        self._snapshot, self._judge_id = snapshot, judge_id
        self._keys = [*keys]
        self.places = {key: place for place, key in enumerate(self._keys)}
        self._fetch = lru_cache(_BATCHES_HELD)(self._read_batch)
        self._is_behind = False

    def add(self, keys: Sequence[Key]) -> None:
        """Add the keys of replies that were written to the lake since this was made."""
        self.places |= {key: place for place, key in enumerate(keys, len(self._keys))}
        self._keys += keys
        self._fetch.cache_clear()  # the last batch has grown
        self._is_behind = True

    def _read_batch(self, number: int) -> tuple[pl.DataFrame, dict[Key, int]]:
        keys = self._keys[number * _BATCH_ROWS : (number + 1) * _BATCH_ROWS]
        given = {
            "judge_id": self._judge_id,
            "digests": list(dict.fromkeys(digest for digest, _ in keys)),
        }
        if self._is_behind:
            self._snapshot, self._is_behind = self._snapshot.with_newer("replies"), False
        rows = select_file(
            open_warehouse(self._snapshot, lazy=True), "queries/stored_replies.sql", given
        )
        return rows, {
            key: place
            for place, key in enumerate(zip(rows["request_digest"], rows["draw"], strict=True))
        }

    def __getitem__(self, key: Key) -> Reply:
        rows, places = self._fetch(self.places[key] // _BATCH_ROWS)
        row: dict[str, Any] = rows.row(places[key], named=True)
        del row["request_digest"], row["draw"]
        return read_reply(row)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def load_replies(
    lake: Lake | duckdb.DuckDBPyConnection,
    judge_id: str | None = None,
    reading: str = "",
    retry: tuple[str, ...] = (),
    run_id: str = "",
) -> StoredReplies:
    """The replies in a lake (or its warehouse) of one judge, or of all judges (None). Replies whose
    verdict has a status in `retry` are left out, unless the run `run_id` made them itself.
    """
    connection = open_warehouse(lake, lazy=True) if isinstance(lake, Lake) else lake
    given = {"judge_id": judge_id, "reading": reading, "retry": [*retry], "run_id": run_id}
    rows = select_file(connection, "queries/stored_reply_keys.sql", given)
    keys = zip(rows["request_digest"], rows["draw"], strict=True)
    return StoredReplies(snapshot_of(connection), judge_id, keys)


class Ledger:
    """Keeps one shard's replies and verdicts (see `tasks.engine.engine.Keeper`); `flush` writes
    those that came since the last flush.
    """

    def __init__(
        self,
        lake: Lake,
        run_id: str,
        judge_id: str,
        reading: str,
        unit: Unit = "answer",
        *,
        retry: tuple[str, ...] = (),
        prices: Mapping[str, Price | None] = NO_PRICES,
        flush_replies: int = FLUSH_REPLIES,
        flush_bytes: int = FLUSH_BYTES,
        patience: Callable[[], float] = lambda: PATIENCE_S,
        snapshot: Snapshot | None = None,
    ) -> None:
        connection = open_warehouse(snapshot or lake, lazy=True)
        self.tally = Tally()
        self._prices = prices
        self._lake, self._run_id, self._judge_id, self._reading = lake, run_id, judge_id, reading
        self._unit = unit
        self._stored = load_replies(connection, judge_id, reading, retry, run_id)
        self._recent: dict[Key, Reply] = {}
        self._replies: list[dict[str, object]] = []
        self._verdicts: list[dict[str, object]] = []
        self._flush_replies, self._flush_bytes, self._n_bytes = flush_replies, flush_bytes, 0
        self._patience, self._n_spilled = patience, 0
        self._earliest = _find_latest(connection, judge_id, unit) + timedelta(microseconds=1)
        self._full = asyncio.Event()
        self.kept = asyncio.Event()
        self.kept.set()
        self._writing = asyncio.Lock()

    def find_reply(self, digest: str, draw: int) -> Reply | None:
        """The reply to a request that this shard or an earlier run received; None where there is
        none.
        """
        key = (digest, draw)
        reply = self._recent.get(key)
        if reply is None and key in self._stored.places:
            reply = self._stored[key]
        self.tally.n_replies_reused += reply is not None
        return reply

    def keep_reply(self, digest: str, request: Request, reply: Reply) -> None:
        """Add a new reply; the next flush writes it."""
        self._recent[digest, request.draw] = reply
        price = self._prices.get(request.endpoint)
        cost = None if price is None else price.of(reply)
        self._replies.append(
            {
                **{name: getattr(reply, name) for name in _REPLY_FIELDS},
                "judge_id": self._judge_id,
                "request_digest": digest,
                "draw": request.draw,
                "requested_model": request.model,
                "cost_usd": cost,
                "run_id": self._run_id,
                "replied_at": max(self._earliest, datetime.now(UTC)),
            }
        )
        self.tally.n_calls += 1
        self.tally.prompt_tokens += reply.prompt_tokens or 0
        self.tally.completion_tokens += reply.completion_tokens or 0
        self.tally.cost_usd += cost or 0.0
        self.tally.n_unpriced += cost is None
        self._n_bytes += len(reply.text) + _LOGPROB_BYTES * sum(map(len, reply.top_logprobs))
        if len(self._replies) >= self._flush_replies or self._n_bytes >= self._flush_bytes:
            self._full.set()

    def keep_verdicts(self, case: Case, verdicts: list[Verdict], digests: list[str]) -> None:
        """Add a judge's verdicts on a case: one row for each of its criteria."""
        self.tally.n_cases += 1
        about: dict[str, object] = {name: getattr(case, name) for name in _CASE_FIELDS}
        about |= {
            "image_uri": case.images[0].uri if case.images else "",
            "judge_id": self._judge_id,
            "reading": self._reading,
            "reply_digests": digests,
            "run_id": self._run_id,
            "judged_at": max(self._earliest, datetime.now(UTC)),
        }
        for verdict in settle_verdicts(case, verdicts, self._unit):
            self.tally.statuses[verdict.status] += 1
            levels, mass = verdict.probabilities or {}, verdict.captured_mass
            concluded: dict[str, object] = {
                name: getattr(verdict, name) for name in _VERDICT_FIELDS
            }
            concluded["captured_mass"] = None if mass is None else round_single(mass)
            concluded["probabilities"] = [
                {"level": level, "probability": round_single(share)}
                for level, share in levels.items()
            ]
            concluded |= verdict.made or {}
            self._verdicts.append(about | concluded)
            self._n_bytes += sum(len(part) for part in concluded.values() if isinstance(part, str))
            if self._n_bytes >= self._flush_bytes:
                self._full.set()

    @property
    def is_full(self) -> bool:
        """Whether so much waits that it is to be written now."""
        return self._full.is_set()

    def leave_open(self, pending: Sequence[Pending]) -> None:
        """Count a case that waits for a batch at the provider. Cases left over because the budget
        is spent, or because no requests are sent, are not counted: they were never sent.
        """
        self.tally.n_open += OVER_BUDGET not in pending and UNASKED not in pending

    async def flush(self) -> None:
        """Write the replies, then the verdicts on them, as new part files. If it fails or is
        cancelled, what was not written stays for the next flush.
        """
        # shielded: a write that has begun ends before the next one begins
        await asyncio.shield(self._flush())

    async def _flush(self) -> None:
        async with self._writing:
            # verdicts that come during the write may be on replies that it does not include
            n_verdicts, n_bytes = len(self._verdicts), self._n_bytes
            keys = [(str(row["request_digest"]), int(str(row["draw"]))) for row in self._replies]
            await self._write("replies", self._replies, len(keys), frame_replies)
            self._stored.add(keys)
            for key in keys:
                self._recent.pop(key, None)
            self._n_bytes -= n_bytes
            self._full.clear()
            table = TABLE_OF[self._unit]
            await self._write(
                table,
                self._verdicts,
                n_verdicts,
                partial(pl.DataFrame, schema=TABLES[table].polars_schema),
            )

    async def _write(
        self,
        name: str,
        rows: list[dict[str, object]],
        count: int,
        frame: Callable[[list[dict[str, object]]], pl.DataFrame],
    ) -> None:
        await asyncio.to_thread(lambda: append_rows(self._lake, name, frame(rows[:count])))
        del rows[:count]

    async def flush_patiently(self) -> None:
        """`flush`, retried while the lake cannot be written. When `patience` is over, the replies
        are spilled to a local folder, and the LakeError names it.
        """
        began, pause_s = time.monotonic(), 1.0
        while True:
            try:
                await self.flush()
            except LakeError as error:
                left_s = self._patience() - (time.monotonic() - began)
                if left_s <= 0 or self._n_spilled:
                    raise self._spill(error) from None
                if self.kept.is_set():
                    sys.stderr.write(
                        f"judgelake: {error}\njudgelake: trying again for {left_s:.0f} s; what "
                        f"was paid for is kept\n"
                    )
                self.kept.clear()
            else:
                self.kept.set()
                return
            await asyncio.sleep(min(pause_s, max(left_s, 0.0)))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _spill(self, refused: LakeError) -> LakeError:
        """Write the replies to the spill folder. The verdicts are dropped: they follow from the
        replies and must not be in the lake without them.
        """
        self._verdicts.clear()
        rows = frame_replies(self._replies)
        try:
            if rows.height:
                spill_replies(self._lake, rows)
        except LakeError as error:
            return LakeError(
                f"{refused}\n{rows.height:,} replies that were paid for are lost: {error}"
            )
        self._replies.clear()
        self._n_spilled += rows.height
        if not self._n_spilled:
            return LakeError(
                f"{refused}\nall replies that were paid for are in the lake; run again to go on"
            )
        return LakeError(
            f"{refused}\n{self._n_spilled:,} replies that were paid for lie in "
            f"{spill_folder(self._lake)}; the next run on this machine takes "
            "them in"
        )

    async def flush_regularly(self, seconds: float, on_tick: Callable[[Tally], None]) -> None:
        """Flush every `seconds` or when the ledger is full, until cancelled; `on_tick` is called
        about every second.
        """
        waited = 0.0
        while True:
            try:
                await asyncio.wait_for(self._full.wait(), timeout=1.0)
            except TimeoutError:
                waited += 1.0
            on_tick(self.tally)
            if self._full.is_set() or waited >= seconds:
                waited = 0.0
                await self.flush_patiently()


def _find_latest(connection: duckdb.DuckDBPyConnection, judge_id: str, unit: Unit) -> datetime:
    """The time of a judge's latest row, 1970 where it has none. New rows get later times, even if
    this machine's clock is behind, so that the latest attempt counts.
    """
    text = f"""
        select greatest(
            (select max(replied_at) from raw_replies where judge_id = $judge_id),
            (select max(judged_at) from raw_{TABLE_OF[unit]} where judge_id = $judge_id)
        ) as latest
    """
    latest_row = select_frame(connection, text, "latest row of a judge", {"judge_id": judge_id})
    latest: datetime | None = latest_row.item()
    return latest or datetime.fromtimestamp(0, UTC)
