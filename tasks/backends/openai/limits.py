"""When a request is sent: how many are under way at once (more while that brings more replies,
fewer as soon as the endpoint asks for fewer), how many go out a minute, after what wait a failed
one is tried again, and when an endpoint gets nothing more.

Which endpoint is asked, and what its answers mean, lives in `tasks.backends.openai.client`.
"""

import asyncio
import json
import math
import random
import re
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import NamedTuple

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.storage import LakePath, read_file, write_whole

# requests in flight at the start, before the endpoint has shown what it bears
_FIRST = 32
# a refusal lowers the limit to this share of it
_FALL = 0.7
# with fewer requests under way than this share of the limit, latency says nothing about it
_FULL = 0.8
_WORTH = 1.05
"""A step that brings less than 5 % more replies a second only makes each wait longer."""
# a quarter more requests under way without more replies a second is beyond noise
_STEP = 1.25
# rounds until more requests at once are tried again
_HOLD_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Slot:
    """A request under way: when it was sent, how many were under way then, whether that was about
    the limit, and its number.
    """

    sent_s: float
    n_under_way: int
    is_full: bool
    number: int


class Throttle:
    """At most `most` requests under way, and as many as the endpoint takes well.

    Starts at `first`, else at a quarter (at least 32), doubles a round trip until the endpoint
    pushes back or more at once bring no more replies a second (requests under way ÷ median latency,
    Little's law), then adds one a round trip. A push-back cuts the limit by 0.7, once for all that
    were under way; `pause` holds everything back.
    """

    def __init__(
        self, most: int, clock: Callable[[], float] = time.monotonic, first: float | None = None
    ) -> None:
        self._most, self._clock = most, clock
        self.limit = float(min(most, first or max(_FIRST, most // 4)))
        self.n_sent = 0  # slots that were taken so far
        self._under_way = self._hold = self._round_ends = 0
        self._doubling = True
        self._resume_s = self._fell_s = -1.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._round: list[tuple[int, float]] = []
        self._best = (0.0, 0.0)  # requests under way, replies a second
        self._wake_up: asyncio.TimerHandle | None = None

    async def take(self, *, first: bool = False) -> Slot:
        """A slot, as soon as there is one; `first`: before all that wait (a request that is sent
        again).
        """
        full = self._under_way >= int(self.limit) or self._clock() < self._resume_s
        if full or self._waiting:
            await self._wait(first)
        else:
            self._under_way += 1
        self.n_sent += 1
        return Slot(
            self._clock(), self._under_way, self._under_way >= _FULL * int(self.limit), self.n_sent
        )

    def give_back(self, slot: Slot, *, served: bool, pushed_back: bool = False) -> None:
        """End of an exchange: `served` with a reply, `pushed_back` by the endpoint (429, 503), else
        neither.
        """
        self._under_way -= 1
        if pushed_back:
            self._fall(slot)
        elif served and slot.is_full:  # else fewer were wanted than allowed
            self._grow(slot)
        if self._waiting:
            self._wake()

    def set_most(self, most: int) -> None:
        """Allow another number from now on; more are tried by doubling again, and of too many those
        under way end first.
        """
        if most > self._most:
            self._doubling, self._hold = True, 0
        self._most, self.limit = most, min(self.limit, float(most))

    def pause(self, seconds: float) -> None:
        """Send nothing for so long."""
        self._resume_s = max(self._resume_s, self._clock() + seconds)

    async def _wait(self, first: bool) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.appendleft(turn) if first else self._waiting.append(turn)
        self._wake()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it had got the slot just then
                self._under_way -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        left = self._resume_s - self._clock()
        while self._waiting and self._under_way < int(self.limit) and left <= 0:
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
        if self._waiting and left > 0 and self._wake_up is None:
            self._wake_up = asyncio.get_running_loop().call_later(left, self._end_pause)

    def _end_pause(self) -> None:
        self._wake_up = None
        self._wake()

    def _fall(self, slot: Slot) -> None:
        under_way = max(
            slot.n_under_way, self._under_way + 1
        )  # the first of a burst was sent alone, and met all of it
        self._doubling = under_way == 1  # refused alone, it says nothing of how many are too many
        if slot.sent_s > self._fell_s:  # requests sent before the last fall met the old limit
            self._fell_s = self._clock()
            self.limit = max(1.0, min(self.limit, under_way) * _FALL)
            self._round.clear()

    def _grow(self, slot: Slot) -> None:
        if not self._round:
            self._round_ends = int(self.limit)
        self._round.append((slot.n_under_way, self._clock() - slot.sent_s))
        if not self._hold:
            self.limit = min(
                float(self._most), self.limit + (1.0 if self._doubling else 1.0 / self.limit)
            )
        if len(self._round) >= self._round_ends:
            self._end_round()

    def _end_round(self) -> None:
        """Go back to where a larger limit stopped paying, and try again some rounds later."""
        under_way = statistics.fmean(n for n, _ in self._round)
        rate = under_way / max(1e-6, statistics.median(latency for _, latency in self._round))
        self._round.clear()
        self._hold = max(0, self._hold - 1)
        before, best = self._best
        if rate >= best * _WORTH or not before:
            self._best = (under_way, rate)
        elif under_way >= before * _STEP:
            self._doubling, self._hold = False, _HOLD_ROUNDS
            self.limit, self._best = max(1.0, before), (before, 0.95 * best)


# OpenAI's headers give durations as `1m30.5s` or `20ms`, others as plain seconds
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|$)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}


class Allowance:
    """What is left of one limit (`requests` or `tokens`), refilled since at the rate that the
    endpoint's words imply.

    The `rate` is (limit - remaining) ÷ reset, 0 where nothing is known: the headers name the time
    until the bucket is full again, a minute's or a day's alike. `header` names the limit itself.
    """

    def __init__(self, kind: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._kind, self._clock = kind, clock
        self.header = f"x-ratelimit-limit-{kind}"
        self._number, self._left, self.rate, self._at_s = 0, 0.0, 0.0, 0.0

    def note(self, headers: Mapping[str, str], number: int, n_sent: int, cost: float) -> None:
        """Take the headers of the answer to request `number`; since then `n_sent - number` more
        went out, each at about `cost`.
        """
        names = ("limit", "remaining", "reset")
        limit, remaining, reset_s = (
            read_duration(headers.get(f"x-ratelimit-{name}-{self._kind}")) for name in names
        )
        if (
            number < self._number
            or limit is None
            or remaining is None
            or not reset_s
            or limit <= remaining
        ):
            return
        self._number, self._at_s, self.rate = number, self._clock(), (limit - remaining) / reset_s
        self._left = remaining - (n_sent - number) * cost

    def wait_s(self, cost: float) -> float:
        """Seconds until a request at `cost` fits; 0 where nothing is known."""
        if not self.rate:
            return 0.0
        left = self._left + (self._clock() - self._at_s) * self.rate
        return max(0.0, (cost - left) / self.rate)

    def spend(self, cost: float) -> None:
        """A request at `cost` goes out."""
        self._left -= cost


def read_duration(text: str | None) -> float | None:
    """Seconds of `6m0s`, `20ms`, `1.5s`, or a plain number as it is; None for anything else."""
    parts = _PART.findall(text or "")
    if not text or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


LONGEST_WAIT_S = 300.0
"""A `Retry-After` beyond this ends the request: a run should say so rather than sleep."""

_CATCH_UP_S = 0.25
"""As long as other processes, or a write, keep an event loop from its turn on a busy machine."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """Waits that double from `first_s` up to `longest_s`, each shortened at random by up to half;
    `first_s` 0 does not wait.
    """

    first_s: float = 0.5
    longest_s: float = 30.0
    jitter: random.Random = field(default_factory=random.Random, compare=False)

    def wait_s(self, attempt: int, retry_after_s: float | None = None) -> float:
        """How long to wait after the given failed attempt (from 1); never less than what the
        endpoint asked for.
        """
        wait = min(self.longest_s, self.first_s * 2.0 ** (attempt - 1)) * self.jitter.uniform(
            0.5, 1.0
        )
        return wait if retry_after_s is None else retry_after_s + 0.1 * wait


def read_retry_after(headers: Mapping[str, str], now_s: float | None = None) -> float | None:
    """Seconds that the endpoint asks to wait: `retry-after-ms`, else `retry-after` in seconds or as
    an HTTP date.
    """
    milliseconds = _read_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _read_number(asked)
    if seconds is not None or asked is None:
        return seconds
    try:
        until = parsedate_to_datetime(asked).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, until - (time.time() if now_s is None else now_s))


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text) if text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


_LONGEST_ALLOWANCE_WAIT_S = 120.0
"""Beyond this the endpoint may say so itself."""


class Pacer:
    """Admits requests evenly, at most `per_minute` in any minute (None: any number), and only as
    many requests and tokens as the endpoint's headers last allowed.

    One that the event loop wakes late is caught up with by at most 250 ms; the interval is that
    much (of 60 s) longer in return.
    """

    def __init__(
        self, per_minute: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._next_s: float | None = None
        self._turn = asyncio.Lock()
        self._requests, self._tokens = Allowance("requests", clock), Allowance("tokens", clock)
        self._mean_tokens = 0.0
        self.holds_back = False  # whether a request waits for its turn at all
        self.set_pace(per_minute)

    def set_pace(self, per_minute: float | None) -> None:
        """Another pace from the next but one on."""
        self._interval_s = (60 + _CATCH_UP_S) / per_minute if per_minute else 0.0
        self.holds_back = bool(self._interval_s or self._requests.rate or self._tokens.rate)

    def note(
        self, headers: Mapping[str, str], number: int, n_sent: int, tokens: int | None = None
    ) -> None:
        """Take the headers of the answer to request `number`, when `n_sent` had gone out, and the
        tokens of its reply, its prompt's among them; None where there was no reply.
        """
        for allowance, cost in ((self._requests, 1.0), (self._tokens, self._mean_tokens)):
            if allowance.header in headers:
                allowance.note(headers, number, n_sent, cost)
                self.holds_back = self.holds_back or allowance.rate > 0
        if tokens is not None:
            self._mean_tokens += (tokens - self._mean_tokens) * (0.05 if self._mean_tokens else 1.0)

    async def admit(self) -> None:
        """Returns when the caller may send."""
        if self._interval_s:
            async with self._turn:
                due_s = time.monotonic() if self._next_s is None else self._next_s
                await asyncio.sleep(max(0.0, due_s - time.monotonic()))
                self._next_s = max(due_s, time.monotonic() - _CATCH_UP_S) + self._interval_s
        if self._requests.rate or self._tokens.rate:
            wait = max(self._requests.wait_s(1.0), self._tokens.wait_s(self._mean_tokens))
            self._requests.spend(1.0)
            self._tokens.spend(self._mean_tokens)
            if 0 < wait <= _LONGEST_ALLOWANCE_WAIT_S:
                await asyncio.sleep(wait)


# in a row and in the same words: by then the cause is not the single request
EQUAL_REFUSALS = 20
OUTAGE_S = 60.0
"""Seconds: an endpoint that restarts answers again by then. After a longer time without a reply the
requests that are left fail unsent.
"""
SILENCE_S = 180.0
"""Seconds without any answer, be it an error, after which an endpoint hangs; at least as long as
one request may take.
"""
DROUGHT_S = 2 * LONGEST_WAIT_S
"""Seconds without any reply after which an endpoint is given up; beyond what one request may take.
"""
_UNANSWERED = 3
"""So many attempts must have ended without an answer, or a reply, meanwhile."""
_SAVE_S = 5.0
"""The pause between two writes of the file."""


class _Streak(NamedTuple):
    """Failures in a row in the same words, and when the first of them was."""

    words: str
    n: int
    since_s: float


class Health:
    """Whether an endpoint still answers, judged by what all requests of a run have met there;
    `faults` maps a model to the reason why nothing more is sent to it, `streaks` to its latest
    failures; `limit` is that of the throttle where the run's last shard ended. Times are those of
    the wall clock, which a run's processes share.

    The shards of a run hand it on in `file`, so that none begins to wait anew for an endpoint that
    hangs or fails everything. The next run starts with a clean sheet.
    """

    def __init__(self, file: LakePath | None, timeout_s: float, outage_s: float = OUTAGE_S) -> None:
        self._file, self._outage_s = file, outage_s
        self._silence_s = max(SILENCE_S, timeout_s)
        self._n_unanswered = 0
        self._drought_s = DROUGHT_S + timeout_s
        self._n_unreplied = 0
        self._sign_s = self._reply_s = time.time()
        self._saved_s = 0.0
        self._trouble = ""
        self.faults: dict[str, str] = {}
        self.limit: float | None = None
        self.streaks: dict[str, _Streak] = {}
        self._go_on()

    def note_end(self, took_s: float, answered: bool, replied: bool = False) -> None:
        """A request is over after so many seconds; `answered`: with an answer, whatever its status;
        `replied`: with a reply. Silence begins with the last answer, or with the sending of the
        first request after it; a drought with the last reply.
        """
        now_s = time.time()
        if answered:
            self._n_unanswered, self._sign_s = 0, now_s
        else:
            if self._n_unanswered == 0:
                self._sign_s = max(self._sign_s, now_s - took_s)
            self._n_unanswered += 1
        if replied:
            self._n_unreplied, self._reply_s, self._trouble = 0, now_s, ""
        else:
            if self._n_unreplied == 0:
                self._reply_s = max(self._reply_s, now_s - took_s)
            self._n_unreplied += 1
        # a bucket is too slow to be written to in between
        if now_s >= self._saved_s + _SAVE_S and isinstance(self._file, Path):
            self.save()

    def note_trouble(self, reason: str) -> None:
        """What kept the latest attempt from a reply; the progress line shows it."""
        is_new, self._trouble = not self._trouble, reason
        if is_new and isinstance(self._file, Path):
            self.save()

    def find_silence(self) -> str | None:
        """Why the endpoint is given up, where it answers nobody in this run, or gives no reply."""
        if self._is_silent() or self._is_dry():
            self._take_in()  # another shard may have heard of it
        now_s = time.time()
        if self._is_silent():
            return f"not asked, as it has answered nothing for {now_s - self._sign_s:.0f} s"
        if self._is_dry():
            return f"not asked, as it has given no reply for {now_s - self._reply_s:.0f} s"
        return None

    def _is_silent(self) -> bool:
        silent_s = time.time() - self._sign_s
        return self._n_unanswered >= _UNANSWERED and silent_s >= self._silence_s

    def _is_dry(self) -> bool:
        dry_s = time.time() - self._reply_s
        return self._n_unreplied >= _UNANSWERED and dry_s >= self._drought_s

    def fails_all(self, model: str, reason: str, passes: bool) -> bool:
        """Count a request that used all its attempts; whether it is the twentieth in a row in the
        same words, numbers and ids apart; of what `passes` with time, for long enough.
        """
        words, now_s = re.sub(r"\w*[0-9]\w*", "", reason), time.time()
        streak = self.streaks.get(model)
        streak = (
            streak._replace(n=streak.n + 1)
            if streak and streak.words == words
            else _Streak(words, 1, now_s)
        )
        self.streaks[model] = streak
        return streak.n >= EQUAL_REFUSALS and now_s - streak.since_s >= (
            self._outage_s if passes else 0
        )

    def give_up(self, model: str, reason: str) -> None:
        """Send nothing more to the model, here and in the run's later shards."""
        self.faults.setdefault(model, reason)
        self.save()

    def save(self) -> None:
        """Write what the run's other shards read."""
        if self._file is None:
            return
        self._saved_s = time.time()
        self._take_in()
        state = {
            "sign_s": self._sign_s,
            "n_unanswered": self._n_unanswered,
            "reply_s": self._reply_s,
            "n_unreplied": self._n_unreplied,
            "trouble": self._trouble,
            "saved_s": self._saved_s,
            "faults": self.faults,
            "limit": self.limit,
            "streaks": self.streaks,
        }
        with suppress(LakeError):  # a full disk: storing the replies reports it
            write_whole(self._file, json.dumps(state).encode())

    def _take_in(self) -> None:
        """Add what the run's other shards have written."""
        content = None if self._file is None else read_file(self._file)
        if content is None:
            return
        state = json.loads(content)
        self._sign_s = max(self._sign_s, state["sign_s"])
        self._reply_s = max(self._reply_s, state["reply_s"])
        self.faults = state["faults"] | self.faults

    def _go_on(self) -> None:
        """Begin where the run's earlier shards ended: their silence and failures count."""
        content = None if self._file is None else read_file(self._file)
        if content is None:
            return
        state = json.loads(content)
        self.faults, self.limit = state["faults"], state["limit"]
        self.streaks = {model: _Streak(*streak) for model, streak in state["streaks"].items()}
        if state["n_unanswered"]:
            self._sign_s, self._n_unanswered = state["sign_s"], state["n_unanswered"]
        if state["n_unreplied"] and time.time() - state["saved_s"] <= LONGEST_WAIT_S:
            self._reply_s, self._n_unreplied = state["reply_s"], state["n_unreplied"]
            self._trouble = state["trouble"]
