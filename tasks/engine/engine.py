"""Drives many judges together: keeps enough cases open to fill the backend's window, and gives
every reply to the ledger.

The requests are the protocol's, sending them is the backend's, storing them is
`tasks.engine.ledger`.
"""

import asyncio
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from judgelake.tasks.backends.base import Backend, make_reason, request_digest
from judgelake.tasks.errors import JudgelakeError, redact
from judgelake.tasks.types import Case, Failure, Judge, Pending, Reply, Request, Verdict

DRAIN_S = 30.0
"""How long requests in flight may finish after a stop was asked for."""
_LOOK_S = 0.1
"""The pause between two looks whether the run should stop."""
_MOST_ERRORS = 20
"""So many errors of a backend without a reply between them end the run: it may pay for each."""
_YOUNG_OBJECTS, _USUAL = 20_000, gc.get_threshold()
"""New objects between two garbage collections while cases are judged, and at other times."""


class Keeper(Protocol):
    """What the engine needs of a ledger."""

    def find_reply(self, digest: str, draw: int) -> Reply | None:
        """A reply that the lake (or this shard) already has."""

    def keep_reply(self, digest: str, request: Request, reply: Reply) -> None:
        """Keep a reply that has just come."""

    def keep_verdicts(self, case: Case, verdicts: list[Verdict], digests: list[str]) -> None:
        """Keep a judge's verdicts, with the digests of the requests that they rest on."""

    def leave_open(self, pending: Sequence[Pending]) -> None:
        """Note a case whose replies will come in a later run."""

    @property
    def kept(self) -> asyncio.Event:
        """Clear while replies cannot be written."""


async def judge_cases(
    cases: Iterable[Case],
    start: Callable[[Case], Judge],
    backend: Backend,
    keeper: Keeper,
    should_stop: Callable[[], bool],
    should_halt: Callable[[], bool] = lambda: False,
) -> None:
    """Judge all `cases`, at most twice the backend's window at a time; after a stop nothing new
    begins and the rest has 30 s.

    While the keeper cannot keep what came, nothing new begins either; where `should_halt`, what is
    in flight is dropped at once.
    """
    if should_stop():
        return
    queue, stopped = iter(cases), asyncio.Event()
    asker = _Asker(backend, keeper)

    async def work() -> None:
        for case in queue:
            await keeper.kept.wait()
            # a case whose replies are all stored waits for nothing; flushes need their turn, too
            await asyncio.sleep(0)
            if stopped.is_set():
                return
            await _judge_case(case, start(case), asker, keeper)

    workers = [asyncio.create_task(work()) for _ in range(2 * backend.window)]
    watch = asyncio.create_task(_watch_stop(workers, stopped, should_stop, should_halt))
    try:
        await _gather_all(workers)
    finally:  # however it ends, no request is sent after it
        await _end([watch, *workers])
        await _end(asker.in_flight)


async def _gather_all(workers: list[asyncio.Task[None]]) -> None:
    """Wait for all, or raise the first error; a cancelled worker (drain over) is not an error."""
    done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
    errors = [worker.exception() for worker in done if not worker.cancelled()]
    for error in errors:
        if error is not None:
            raise error


async def _end(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _watch_stop(
    workers: list[asyncio.Task[None]],
    stopped: asyncio.Event,
    should_stop: Callable[[], bool],
    should_halt: Callable[[], bool],
) -> None:
    """Set `stopped` once the run should stop, and cancel what is left after the drain."""
    while not should_stop():
        await asyncio.sleep(_LOOK_S)
    stopped.set()
    deadline = time.monotonic() + DRAIN_S
    while time.monotonic() < deadline and not should_halt():
        await asyncio.sleep(_LOOK_S)
    for worker in workers:
        worker.cancel()


@contextmanager
def collect_less() -> Iterator[None]:
    """Let the garbage collector run rarely while the block runs, and skip objects made before it.

    A collection over all modules delays hundreds of requests, and the objects of a reply are freed
    without it. Older garbage waits for the end of the block, or of the process where that skips
    objects of its own.
    """
    skips_already = gc.get_freeze_count() > 0
    gc.collect(1)
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *_USUAL[1:])
    try:
        yield
    finally:
        gc.set_threshold(*_USUAL)
        if not skips_already:
            gc.unfreeze()


async def _judge_case(case: Case, judge: Judge, asker: "_Asker", keeper: Keeper) -> None:
    """Ask what the protocol asks until it concludes; its bug costs the case a verdict, not the
    run.
    """
    digests: list[str] = []
    answers: list[Reply | Failure] | None = None
    while True:
        try:
            requests = next(judge) if answers is None else judge.send(answers)
        except StopIteration as end:
            verdicts = end.value
            break
        except Exception as error:
            reason = f"the protocol raised {type(error).__name__}: {error}"
            verdicts = [Verdict("failed", reason=reason)]
            break
        asked = [(request_digest(request), request) for request in requests]
        digests += [digest for digest, _ in asked]
        replies = (
            [await asker.ask(*asked[0])]
            if len(asked) == 1
            else await asyncio.gather(*(asker.ask(*pair) for pair in asked))
        )
        pending = [reply for reply in replies if isinstance(reply, Pending)]
        if pending:
            keeper.leave_open(pending)
            return
        answers = [reply for reply in replies if not isinstance(reply, Pending)]
    keeper.keep_verdicts(case, verdicts, digests)


class _Asker:
    """Asks each distinct request once: from the lake, from a request already in flight, else from
    the backend.
    """

    def __init__(self, backend: Backend, keeper: Keeper) -> None:
        self._backend = backend
        self._keeper = keeper
        self._in_flight: dict[tuple[str, int], asyncio.Task[Reply | Failure | Pending]] = {}
        self._n_errors = 0  # of the backend, since its last reply

    @property
    def in_flight(self) -> list[asyncio.Task[Reply | Failure | Pending]]:
        """The requests that are with the backend now."""
        return list(self._in_flight.values())

    async def ask(self, digest: str, request: Request) -> Reply | Failure | Pending:
        stored = self._keeper.find_reply(digest, request.draw)
        if stored is not None:
            return stored
        key = (digest, request.draw)
        task = self._in_flight.get(key)
        if task is None:
            task = self._in_flight[key] = asyncio.create_task(self._send(digest, request))
        return await asyncio.shield(task)

    async def _send(self, digest: str, request: Request) -> Reply | Failure | Pending:
        """What the backend answers; a bug of it costs its request a reply, not the run."""
        try:
            reply = await self._backend.reply(request)
        except JudgelakeError:
            raise
        except Exception as error:
            self._n_errors += 1
            if self._n_errors >= _MOST_ERRORS:
                raise
            words = f"the backend raised {type(error).__name__}: {error}"
            return Failure(make_reason(redact(words)))
        finally:
            del self._in_flight[digest, request.draw]
        if isinstance(reply, Reply):
            self._n_errors = 0
            self._keeper.keep_reply(digest, request, reply)
        return reply
