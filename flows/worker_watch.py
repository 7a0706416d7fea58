"""Keeps local workers alive. Dask's nanny restarts a worker that died, but gives up where the new
process dies while it starts.

Then no worker would do the work that is left, and the run would wait forever. Here another nanny
replaces the one that gave up, until a worker has failed to start too often: then the work that
waits for it fails, and the run ends with the worker's last error.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from distributed import Nanny, Status
from distributed.scheduler import NoValidWorkerError, NoWorkerError

from judgelake.tasks.errors import ClusterError

MOST_STARTS = 3
"""Failed starts in a row after which a worker may be lost."""
PATIENCE_S = 60.0
"""How long a worker that was up is restarted: one that is killed repeatedly may be killed while it
starts.
"""
START_S = 180.0
"""How long a worker may take to start: on a busy machine its imports alone take a minute."""
_LOOK_S, _PAUSE_S = 2.0, 1.0
"""The pause between two looks at the nannies, and before a start that follows a failed one."""
# seconds after which the scheduler fails work that waits for a worker
_SOON_S = 0.5


class WatchedNanny(Nanny):
    """A nanny that reports to its `watch` how each start of its worker ended."""

    def __init__(self, *arguments: Any, watch: "WorkerWatch", **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._watch, self._end, self._is_hung = watch, "", False

    async def instantiate(self) -> Status:
        """Start a worker process; after a start that failed, a moment later. One that hangs is
        killed.
        """
        await asyncio.sleep(_PAUSE_S if self._watch.has_failed(self.name) else 0)
        if self.status in (Status.closing, Status.closed):  # meanwhile
            return self.status
        hung = asyncio.get_running_loop().call_later(START_S, self._kill_hung)
        try:
            status: Status = await super().instantiate()
        except Exception as error:
            self._watch.note_failure(self.name, f"{type(error).__name__}: {error}")
            raise
        finally:
            hung.cancel()
        if status == Status.running:
            self._watch.note_start(self.name)
        else:
            self._watch.note_failure(self.name, self._end)
        return status

    def _kill_hung(self) -> None:
        process = self.process.process if self.process else None
        if process is not None and process.pid:
            self._is_hung = True
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    def _on_worker_exit_sync(self, exitcode: int) -> None:
        self._end = (
            f"it was killed by signal {-exitcode}"
            if exitcode < 0
            else f"it ended with status {exitcode}"
        )
        if self._is_hung:
            self._is_hung, self._end = False, f"it was not up after {START_S:g} s"
        super()._on_worker_exit_sync(exitcode)


@dataclass
class _Fate:
    """The starts of a worker: whether it was ever up, how many starts in a row have failed since
    `since_s`, and the error of the last one (`words`).
    """

    was_up: bool = False
    n_failed: int = 0
    since_s: float = 0.0
    words: str = ""


class WorkerWatch:
    """How the starts of each worker ended, by its name; nannies write it in the cluster's thread,
    other threads read it.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self.lost = ""
        self._patience_s, self._fates = patience_s, dict[object, _Fate]()

    def note_start(self, name: object) -> None:
        """The worker is up."""
        self._fates[name] = _Fate(was_up=True)

    def note_failure(self, name: object, words: str) -> None:
        """The worker did not come up; prints one line when it has failed several times."""
        fate = self._fates.setdefault(name, _Fate())
        fate.n_failed, fate.words = fate.n_failed + 1, words
        if fate.n_failed == 1:
            fate.since_s = time.monotonic()
        if fate.n_failed == MOST_STARTS and fate.was_up:
            sys.stderr.write(
                f"judgelake: {self._describe(name)}; trying again for {self._patience_s:.0f} s\n"
            )

    def has_failed(self, name: object) -> bool:
        """Whether the last start of the worker failed."""
        return self._fates.get(name, _Fate()).n_failed > 0

    def are_up(self, names: Iterable[str]) -> bool:
        """Whether each of them was up."""
        return all(self._fates.get(name, _Fate()).was_up for name in names)

    def find_lost(self) -> list[object]:
        """The workers that are not started again: too many failed starts, and for a worker that was
        up once, too long a time.
        """
        return [
            name
            for name, fate in [*self._fates.items()]
            if fate.n_failed >= MOST_STARTS and self._is_over(fate)
        ]

    def note_lost(self, name: object) -> None:
        """The worker is not started again."""
        self.lost = self._describe(name)
        del self._fates[name]

    def refuse(self) -> ClusterError:
        """The error about the worker that was lost."""
        return ClusterError(
            f"{self.lost}; expected a process that imports judgelake and its packages, and has "
            f"the memory for it; repair that, and run the "
            "same command again to go on: what was judged is kept"
        )

    def _is_over(self, fate: _Fate) -> bool:
        return not fate.was_up or time.monotonic() - fate.since_s >= self._patience_s

    def _describe(self, name: object) -> str:
        fate = self._fates[name]
        return (
            f"worker {name}: did not start {fate.n_failed} times in a row (at last: {fate.words})"
        )


@contextmanager
def keep_workers(
    cluster: Any, workers: Mapping[str, Mapping[str, Any]], watch: WorkerWatch
) -> Iterator[None]:
    """Start the `workers` of a `SpecCluster`, watched nannies, and replace each that was gone at
    two looks in a row while the block runs.

    Raises ClusterError where one cannot be started, or could not when work waited for it.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(cluster, watch, ended), daemon=True)
    cluster.worker_spec.update(workers)
    cluster.scale(len(workers))
    thread.start()
    try:
        while not watch.are_up(workers):
            if watch.lost:
                raise watch.refuse()
            time.sleep(0.05)
        yield
    except (NoValidWorkerError, NoWorkerError):
        if watch.lost:
            raise watch.refuse() from None
        raise
    finally:
        ended.set()
        thread.join()


def _watch(cluster: Any, watch: WorkerWatch, ended: threading.Event) -> None:
    before: set[object] = set()
    while not ended.wait(_LOOK_S):
        gone = {name for name, nanny in dict(cluster.workers).items() if not nanny.is_alive()}
        lost = watch.find_lost()
        for name in lost:
            watch.note_lost(name)
            cluster.worker_spec.pop(name, None)
            cluster.scheduler.no_workers_timeout = _SOON_S  # the work that waits for it fails
        for name in (gone & before).union(lost) & {*cluster.workers}:
            cluster.loop.add_callback(cluster.workers.pop(name).close)
        before = gone - before
        cluster.scale(len(cluster.worker_spec))  # starts what is missing
