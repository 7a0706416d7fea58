"""Backends that ask nobody: one answers from stored replies, one leaves requests open that the lake
has no reply to.

Reading the `replies` table into the mapping is the caller's matter.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.backends.endpoint import BackendKind, EndpointSettings
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import Failure, Pending, Reply, Request


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
            f"replay: draw {request.draw} of request {digest[:16]} to {request.model} is not "
            f"recorded; ask a model"
        )

    async def close(self) -> None:
        """Nothing is held."""


class SilentBackend:
    """Answers nothing: requests that the lake has replies to never come here, all others are left
    for a run that asks."""

    window = 4096

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """`UNASKED`."""
        return Pending(f"not asked: {request.model}")

    async def close(self) -> None:
        """Nothing is held."""


@frozen_settings
class ReplaySettings(EndpointSettings):
    """Answers from the replies in the lake `cassette` and asks nobody."""

    backend: ClassVar[str] = "replay"

    cassette: SuitePath | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cassette is None:
            raise ValueError("cassette: missing; expected the lake to replay; add it")

    @property
    def paths(self) -> tuple[Path, ...]:
        """The lake that is replayed."""
        return () if self.cassette is None else (self.cassette,)


BACKEND = BackendKind(
    "replay",
    ReplaySettings,
    lambda settings, order: ReplayBackend(order.read_replies(settings.cassette)),
)
