"""What a Dask worker process does at its start (a Dask preload): ignore Ctrl-C, which the process
that started it handles, and end without warnings.
"""

import atexit
import importlib
import os
import signal
import threading

from judgelake.tasks.digests import describe_code

IMPORTS = "JUDGELAKE_WORKER_IMPORTS"
"""The variable that names, with commas, the modules that a worker's first task needs."""


def dask_setup(_worker: object) -> None:
    """Ignore SIGINT: the run's stop flag stops new requests, and replies to those in flight are
    kept. Record which code this process has loaded, and go on loading what the first task needs.
    """
    describe_code()
    threading.Thread(target=_import_all, args=(os.environ.get(IMPORTS, ""),), daemon=True).start()
    atexit.register(
        os._exit, 0
    )  # threads of prefect are still alive after the last task; a normal end only prints warnings
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _import_all(names: str) -> None:
    """Seconds of work that a run's plan takes as well: both at the same time."""
    for name in filter(None, names.split(",")):
        importlib.import_module(name)
