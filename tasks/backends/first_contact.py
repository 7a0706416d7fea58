"""The first request to an endpoint goes alone, so that a wrong key or model is known from one request: a probe that wastes nothing.

What a refusal for good is, `tasks.backends.openai_api` says; what follows from it, `tasks.judging.shard`.
"""

import asyncio
from contextlib import suppress

from tasks.backends.base import Backend, Limited
from tasks.errors import LakeError
from tasks.judging.types import UNASKED, Failure, Pending, Reply, Request
from tasks.lake import write_whole
from tasks.storage import LakePath, read_file

_PATIENCE_S = 10.0
"""A refusal comes at once; an answer that takes longer holds the rest up no more."""


class FirstContact:
    """A backend whose first request is answered before the second is sent. Where it is refused for good, nothing further is sent.

    How it went stands in `file` for the run's other shards. `refusal` has the endpoint's own words, '' for none.
    """

    def __init__(self, backend: Backend, file: LakePath) -> None:
        self.window = backend.window
        self._backend, self._file = backend, file
        told = read_file(file)
        self.refusal = (told or b"").decode()
        self._answered = asyncio.Event() if told is None else None
        self._is_first = told is None

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The backend's reply, or that it was not asked."""
        if self._is_first and self._answered is not None:
            self._is_first = False
            try:
                return self._note(await self._backend.reply(request))
            finally:
                self._answered.set()
        if self._answered is not None and not self._answered.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._answered.wait(), _PATIENCE_S)
        return UNASKED if self.refusal else await self._backend.reply(request)

    def set_limits(self, concurrency: int, requests_per_minute: float | None) -> None:
        """Hands them on."""
        if isinstance(self._backend, Limited):
            self._backend.set_limits(concurrency, requests_per_minute)

    async def close(self) -> None:
        """Closes the backend."""
        await self._backend.close()

    def _note(self, reply: Reply | Failure | Pending) -> Reply | Failure | Pending:
        self.refusal = reply.reason if isinstance(reply, Failure) and reply.is_final else ""
        if self.refusal or isinstance(reply, Reply):
            with suppress(LakeError):  # a full disk: whoever keeps the replies tells of it
                write_whole(self._file, self.refusal.encode())
        return reply
