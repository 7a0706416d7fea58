"""Judges whose model runs in this process: requests gathered, put into batches that share what they
begin with, answered by one thread.

The model is loaded when the first request comes, so that a run that needs no reply loads none.
Which class loads it is `tasks.backends.local.loading`; how requests become batches and replies is
`tasks.backends.local.answering`.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from judgelake.tasks.backends.base import make_reason
from judgelake.tasks.backends.local.answering import Answerer, Job
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.errors import BackendError
from judgelake.tasks.types import Failure, Image, Pending, Reply, Request

WINDOW = 256
"""Requests that are open at once: enough to find prompts of like length and with a common
beginning.
"""
# a batch begins when no request came for the first time, at the latest after the second
_QUIET_S, _LONGEST_WAIT_S = 0.005, 0.1


class LocalBackend:
    """Asks a model in this process. A request that does not fit is a Failure; a model that cannot
    be loaded raises BackendError.
    """

    def __init__(self, settings: LocalModel, encode_image: Callable[[Image], str]) -> None:
        self.window = WINDOW
        self._settings, self._encode_image = settings, encode_image
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The model's reply; raises BackendError where the model cannot be loaded."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._serve, name=f"model {self._settings.model}", daemon=True
            )
            self._thread.start()
        loop = asyncio.get_running_loop()
        job = Job(request, loop, loop.create_future())
        self._queue.put(job)
        return await job.future

    async def close(self) -> None:
        """Ends the thread, at the next token of the batch that is under way; the model stays loaded
        for the next shard.
        """
        self._stopping.set()
        self._queue.put(None)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        from judgelake.tasks.backends.local.loading import give_back, take_model

        try:
            loaded = take_model(self._settings)
        except Exception as error:
            known = (
                error
                if isinstance(error, BackendError)
                else BackendError(make_reason(f"{self._settings.model}: {error}"))
            )
            self._refuse_all(known)
            return
        try:
            self._answer_all(loaded)
        except Exception as error:  # without a thread nobody would be answered any more
            self._refuse_all(
                BackendError(
                    make_reason(f"{self._settings.model}: {type(error).__name__}: {error}")
                )
            )
        finally:
            give_back(loaded)

    def _answer_all(self, loaded: Any) -> None:

        answerer = Answerer(loaded, self._encode_image, self._stopping.is_set)
        while jobs := self._gather():

            def take_more(jobs: list[Job] = jobs) -> list[Job]:
                waiting = self._take_waiting()
                jobs += waiting
                return waiting

            try:
                answerer.answer([job for job in jobs if not job.future.cancelled()], take_more)
            except Exception as error:
                for job in jobs:  # those that have their reply keep it
                    job.finish(
                        Failure(
                            make_reason(f"{self._settings.model}: {type(error).__name__}: {error}")
                        )
                    )

    def _refuse_all(self, error: BackendError) -> None:
        while jobs := self._gather():
            for job in jobs:
                job.finish(error)

    def _take_waiting(self) -> list[Job]:
        """What was asked in the meantime."""
        jobs: list[Job] = []
        while not self._stopping.is_set():
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                break
            jobs += [job] if job is not None else []
        return jobs

    def _gather(self) -> list[Job]:
        """What is asked until nothing new comes for some milliseconds; nothing once the backend is
        closed.
        """
        jobs: list[Job] = []
        deadline = float("inf")
        while not self._stopping.is_set():
            try:
                job = self._queue.get(timeout=_QUIET_S if jobs else None)
            except queue.Empty:
                return jobs
            if job is not None:
                jobs.append(job)
                deadline = min(deadline, time.monotonic() + _LONGEST_WAIT_S)
            if jobs and time.monotonic() > deadline:
                return jobs
        return []
