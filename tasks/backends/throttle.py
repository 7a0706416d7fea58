"""How many requests an endpoint gets at once: more while that brings more replies, fewer at once where it says so.

When one request is sent again is `tasks.backends.retrying`; what an answer means is `tasks.backends.openai_api`.
"""

import asyncio
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

_FIRST = 32
_FALL = 0.7
_FULL = 0.8
_WORTH = 1.05
"""A step that brings less than 5 % more replies a second only makes each wait longer."""
_STEP = 1.25
_HOLD_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Slot:
    """A request under way: when it was sent, how many were under way then, whether that was about the limit, and its number."""

    sent_s: float
    n_under_way: int
    is_full: bool
    number: int


class Throttle:
    """At most `most` requests under way, and as many as the endpoint takes well.

    Starts at a quarter (at least 32), doubles a round trip until the endpoint pushes back or more at once bring no more replies a second
    (requests under way ÷ median latency, Little's law), then adds one a round trip. A push-back cuts the limit by 0.7, once for all that
    were under way; `pause` holds everything back.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self.limit = float(min(most, max(_FIRST, most // 4)))
        self._under_way = self._sent = self._hold = self._round_ends = 0
        self._doubling = True
        self._resume_s = self._fell_s = -1.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._round: list[tuple[int, float]] = []
        self._best = (0.0, 0.0)  # requests under way, replies a second
        self._wake_up: asyncio.TimerHandle | None = None

    async def take(self, *, first: bool = False) -> Slot:
        """A slot, as soon as there is one; `first`: before all that wait (a request that is sent again)."""
        if self._waiting or not self._is_free():
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
        else:
            self._under_way += 1
        self._sent += 1
        return Slot(self._clock(), self._under_way, self._under_way >= _FULL * int(self.limit), self._sent)

    def give_back(self, slot: Slot, *, served: bool, pushed_back: bool = False) -> None:
        """End of an exchange: `served` with a reply, `pushed_back` by the endpoint (429, 503), else neither."""
        self._under_way -= 1
        if pushed_back:
            self._fall(slot)
        elif served:
            self._grow(slot)
        self._wake()

    def set_most(self, most: int) -> None:
        """Allow another number from now on; more are tried by doubling again, and of too many those under way end first."""
        if most > self._most:
            self._doubling, self._hold = True, 0
        self._most, self.limit = most, min(self.limit, float(most))

    def pause(self, seconds: float) -> None:
        """Send nothing for so long."""
        self._resume_s = max(self._resume_s, self._clock() + seconds)

    @property
    def n_sent(self) -> int:
        """How many slots were taken so far."""
        return self._sent

    def _is_free(self) -> bool:
        return self._under_way < int(self.limit) and self._clock() >= self._resume_s

    def _wake(self) -> None:
        while self._waiting and self._is_free():
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
        left = self._resume_s - self._clock()
        if self._waiting and left > 0 and self._wake_up is None:
            self._wake_up = asyncio.get_running_loop().call_later(left, self._end_pause)

    def _end_pause(self) -> None:
        self._wake_up = None
        self._wake()

    def _fall(self, slot: Slot) -> None:
        under_way = max(slot.n_under_way, self._under_way + 1)  # the first of a burst was sent alone, and met all of it
        self._doubling = under_way == 1  # refused alone, it says nothing of how many are too many
        if slot.sent_s > self._fell_s:  # those sent before the last fall tell of the limit that it ended
            self._fell_s = self._clock()
            self.limit = max(1.0, min(self.limit, under_way) * _FALL)
            self._round.clear()

    def _grow(self, slot: Slot) -> None:
        if not slot.is_full:
            return  # fewer were wanted than allowed: that says nothing about the limit
        if not self._round:
            self._round_ends = int(self.limit)
        self._round.append((slot.n_under_way, self._clock() - slot.sent_s))
        if not self._hold:
            self.limit = min(float(self._most), self.limit + (1.0 if self._doubling else 1.0 / self.limit))
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
