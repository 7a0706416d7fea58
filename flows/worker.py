"""What a Dask worker process does at its start (a Dask preload): ignore Ctrl-C, which the process
that started it handles, end without warnings, and load what its first task needs.
"""

import asyncio
import atexit
import importlib
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from judgelake.tasks.digests import describe_code

if TYPE_CHECKING:
    from distributed import Worker

IMPORTS = "JUDGELAKE_WORKER_IMPORTS"
"""The variable that names, with commas, the modules that a worker's first task needs."""
_LOOK_S = 0.2
"""The pause between two looks whether the worker is up."""
_loading: set[asyncio.Task[None]] = set()


def dask_setup(worker: "Worker") -> None:
    """Ignore SIGINT: the run's stop flag stops new requests, and replies to those in flight are
    kept. Record which code this process has loaded.
    """
    describe_code()
    atexit.register(
        os._exit, 0
    )  # threads of prefect are still alive after the last task; a normal end only prints warnings
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _loading.add(asyncio.get_running_loop().create_task(_load(worker)))


async def _load(worker: "Worker") -> None:
    """Import what the first task needs, once the run knows that the worker is up: meanwhile the run
    plans. In the thread of the event loop, where tasks come in: two threads that import modules
    which import each other may see one that is not ready.
    """
    while worker.status.name != "running":
        await asyncio.sleep(_LOOK_S)
    await asyncio.sleep(_LOOK_S)  # the process's first message is on its way
    for name in filter(None, os.environ.get(IMPORTS, "").split(",")):
        with suppress(ImportError):  # the task that needs it says so
            importlib.import_module(name)
