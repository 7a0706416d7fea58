"""A chat-completions endpoint that meters what it is asked and refuses what is above its limits, as
a provider does.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.backends.asking import completion


@dataclass
class Meter:
    """At most `concurrency` requests under way and `per_minute` of them, by a bucket that holds
    those of `burst_s`; else 429.

    `arrivals`: when each came (seconds, monotonic); `changes`: when the number under way changed,
    and to what; `refused`: why, for each
    429.
    """

    latency_s: float
    concurrency: int
    per_minute: float | None = None
    burst_s: float = 3.0
    base_url: str = ""
    arrivals: list[float] = field(default_factory=list)
    changes: list[tuple[float, int]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    _under_way: int = 0
    _drained_s: float = 0.0
    """When the bucket, as full as it is, has run out."""

    async def complete(self, request: web.Request) -> web.Response:
        now = self._count(1)
        self.arrivals.append(now)
        try:
            await request.read()
            reason = self._refuse(now)
            if reason:
                self.refused.append(reason)
                return web.json_response(
                    {"error": {"message": reason, "type": "rate_limit"}}, status=429
                )
            await asyncio.sleep(self.latency_s)
            return web.json_response({**completion(), "model": "standin/rules"})
        finally:
            self._count(-1)

    def _count(self, more: int) -> float:
        now = time.monotonic()
        self._under_way += more
        self.changes.append((now, self._under_way))
        return now

    def _refuse(self, now: float) -> str:
        if self._under_way > self.concurrency:
            return f"{self._under_way} requests at once of {self.concurrency}"
        if self.per_minute is None:
            return ""
        self._drained_s = max(self._drained_s, now) + 60 / self.per_minute
        return (
            f"more than {self.per_minute:g} requests a minute"
            if self._drained_s - now > self.burst_s
            else ""
        )

    def between(self, start: float, end: float) -> tuple[float, float]:
        """Requests a second, and how many were under way (the mean over time), between two shares
        of the run's time, as 0.3 and 0.8.
        """
        first, last = self.arrivals[0], self.arrivals[-1]
        begin, until = first + start * (last - first), first + end * (last - first)
        area, at_s, under_way = 0.0, begin, 0
        for time_s, now_under_way in self.changes:
            if begin < time_s <= until:
                area, at_s = area + under_way * (time_s - at_s), time_s
            under_way = now_under_way if time_s <= until else under_way
        n_arrived = sum(begin < time_s <= until for time_s in self.arrivals)
        return n_arrived / (until - begin), (area + under_way * (until - at_s)) / (until - begin)


@contextmanager
def metered_endpoint(meter: Meter) -> Iterator[Meter]:
    """The meter behind an address, in a thread of its own."""
    loop = asyncio.new_event_loop()

    async def serve() -> web.AppRunner:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", meter.complete)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=512).start()
        return runner

    runner = loop.run_until_complete(serve())
    meter.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield meter
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(runner.cleanup())
        loop.close()
