"""What a Dask worker process does at its start (a Dask preload): ignore Ctrl-C, which the process
that started it handles, and end without warnings.
"""

import atexit
import os
import signal

from judgelake.tasks.digests import describe_code


def dask_setup(_worker: object) -> None:
    """Ignore SIGINT: the run's stop flag stops new requests, and replies to those in flight are
    kept. Record which code this process has loaded.
    """
    describe_code()
    atexit.register(
        os._exit, 0
    )  # threads of prefect are still alive after the last task; a normal end only prints warnings
    signal.signal(signal.SIGINT, signal.SIG_IGN)
