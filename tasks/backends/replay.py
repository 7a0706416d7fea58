"""Backends that ask nobody: one answers from stored replies, one leaves open what the lake does not hold.

Reading the `replies` table into the mapping is the caller's matter.
"""

from collections.abc import Mapping

from tasks.backends.digest import request_digest
from tasks.judging.types import Failure, Pending, Reply, Request


class ReplayBackend:
    """Replies by (request digest, draw); what is not among them is a `Failure`."""

    window = 4096  # nothing is waited for, so the engine may open as many judges as it likes

    def __init__(self, stored: Mapping[tuple[str, int], Reply]) -> None:
        self._stored = stored

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The stored reply."""
        digest = request_digest(request)
        stored = self._stored.get((digest, request.draw))
        return stored or Failure(
            f"replay: draw {request.draw} of request {digest[:16]} to {request.model} is not recorded; ask a model"
        )

    async def close(self) -> None:
        """Nothing is held."""


class SilentBackend:
    """Answers nothing: what the lake has never comes here, the rest is left for a run that asks."""

    window = 4096

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """That it was not asked."""
        return Pending(f"not asked: {request.model}")

    async def close(self) -> None:
        """Nothing is held."""
