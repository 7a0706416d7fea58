"""When to send and when to send again: back-off, `Retry-After`, and an even pace.

Which endpoint is asked, and what its answers mean, lives in `tasks.backends.openai_api`.
"""

import asyncio
import math
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

LONGEST_WAIT_S = 300.0
"""A `Retry-After` beyond this ends the request: a run should say so rather than sleep."""

_CATCH_UP_S = 0.25
"""As long as other processes, or a write, keep an event loop from its turn on a busy machine."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """Waits that double from `first_s` up to `longest_s`, each shortened at random by up to half; `first_s` 0 does not wait."""

    first_s: float = 0.5
    longest_s: float = 30.0
    jitter: random.Random = field(default_factory=random.Random, compare=False)

    def wait_s(self, attempt: int, retry_after_s: float | None = None) -> float:
        """How long to wait after the given failed attempt (from 1); never less than what the endpoint asked for."""
        wait = min(self.longest_s, self.first_s * 2.0 ** (attempt - 1)) * self.jitter.uniform(0.5, 1.0)
        return wait if retry_after_s is None else retry_after_s + 0.1 * wait


def read_retry_after(headers: Mapping[str, str], now_s: float | None = None) -> float | None:
    """Seconds that the endpoint asks to wait: `retry-after-ms`, else `retry-after` in seconds or as an HTTP date."""
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


class Pacer:
    """Admits requests evenly, at most `per_minute` in any minute; None admits all at once.

    One that the event loop wakes late is caught up with by at most 250 ms; the interval is that much (of 60 s) longer in return.
    """

    def __init__(self, per_minute: float | None) -> None:
        self.set_pace(per_minute)
        self._next_s: float | None = None
        self._turn = asyncio.Lock()

    def set_pace(self, per_minute: float | None) -> None:
        """Another pace from the next but one on."""
        self._interval_s = (60 + _CATCH_UP_S) / per_minute if per_minute else 0.0

    async def admit(self) -> None:
        """Returns when the caller may send."""
        if not self._interval_s:
            return
        async with self._turn:
            due_s = time.monotonic() if self._next_s is None else self._next_s
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            self._next_s = max(due_s, time.monotonic() - _CATCH_UP_S) + self._interval_s
