"""The seam between judges and models: what a backend is, and the words all of them share.

Each kind of backend has a file of its own here; how judges are driven lives in `tasks.judging.engine`. A backend raises
`BackendError` only where it cannot be used at all (no key, no model); what goes wrong with one request is a `Failure`.
"""

import re
from typing import Protocol, runtime_checkable

from tasks.judging.types import Failure, Pending, Reply, Request

_REASON_CHARS = 300
_BEARER = re.compile(r"(?i)\bbearer\s+\S+")
_SECRET_CHARS = 6


class Backend(Protocol):
    """Answers one request at a time to each caller; batching, limits and retries are its private matter."""

    @property
    def window(self) -> int:
        """How many requests it wants in flight."""

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """What became of a request; never raises for what is wrong with one request."""

    async def close(self) -> None:
        """Gives connections and memory back; no request may follow."""


@runtime_checkable
class Batching(Protocol):
    """A backend whose requests wait until all of a shard have come."""

    async def submit(self) -> None:
        """Sends them; raises BackendError."""


@runtime_checkable
class Limited(Protocol):
    """A backend that asks an endpoint live, and whose share of the run's limits changes while it does."""

    def set_limits(self, concurrency: int, requests_per_minute: float | None) -> None:
        """From now on so many requests under way and so many a minute, None for any."""


def make_reason(text: str, secret: str = "") -> str:
    """One short line fit for a `Failure`: white space collapsed, the key and any bearer token masked."""
    line = " ".join(text.split())
    if len(secret) >= _SECRET_CHARS:
        line = line.replace(secret, "***")
    line = _BEARER.sub("Bearer ***", line)
    return line if len(line) <= _REASON_CHARS else line[: _REASON_CHARS - 1] + "…"
