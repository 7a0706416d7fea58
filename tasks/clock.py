"""A clock that only goes forward, for the order of attempts and the length of runs: computers' clocks are set back now and then."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class SteadyClock:
    """Starts at the time it is made, or at `not_before` where that is later, and goes on with the monotonic clock."""

    def __init__(
        self,
        not_before: datetime | None = None,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        now = wall()
        self._start = now if not_before is None else max(now, not_before + timedelta(microseconds=1))
        self._monotonic, self._began = monotonic, monotonic()

    def now(self) -> datetime:
        """The time, UTC."""
        return self._start + timedelta(seconds=self.elapsed_s())

    def elapsed_s(self) -> float:
        """Seconds since it was made."""
        return self._monotonic() - self._began
