"""What a Dask worker process does at its start (a Dask preload): leave Ctrl-C to the process that
started it, end without noise.
"""

import atexit
import os
import signal

from judgelake.tasks.digests import describe_code


def dask_setup(_worker: object) -> None:
    """Ignore SIGINT: the run's stop flag ends admission, and what is in flight is kept. Note which
    code this process has loaded.
    """
    describe_code()
    atexit.register(
        os._exit, 0
    )  # threads of prefect outlive the last task; tearing down around them only prints noise
    signal.signal(signal.SIGINT, signal.SIG_IGN)
