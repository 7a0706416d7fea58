"""Where work runs: one Prefect server a run, local Dask workers with their slots; all of it ends with this process, however it ends.

What runs there is the flows' matter. Servers and workers hold a pipe to this process, so that even `kill -9` leaves nothing behind.
"""

import logging
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tasks.errors import JudgelakeError

ENDPOINT_SLOT = "ENDPOINT"
"""Dask resource of a worker that may ask endpoints: one process holds the suite's limits."""
METRIC_SLOT = "METRIC"
_START_S = 60.0
_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLIENT_ENABLE_METRICS": "false",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
}


@contextmanager
def prefect_server() -> Iterator[str]:
    """The address of a Prefect server: the configured one (PREFECT_API_URL), else one of our own with a temporary home.

    Must be entered before prefect is imported: prefect reads its settings then.
    """
    configured = os.environ.get("PREFECT_API_URL")
    if configured:
        yield configured
        return
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="judgelake-prefect-", ignore_cleanup_errors=True)))
        before = dict(os.environ)
        stack.callback(_restore_environment, before)
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        os.environ["PREFECT_HOME"] = str(home)
        os.environ["PREFECT_API_DATABASE_CONNECTION_URL"] = f"sqlite+aiosqlite:///{home}/prefect.db"
        server = _start_server(home)
        stack.callback(_end, server)
        os.environ["PREFECT_API_URL"] = _wait_until_ready(server, home)
        yield os.environ["PREFECT_API_URL"]


@contextmanager
def local_cluster() -> Iterator[str]:
    """The address of a Dask scheduler in this process with two worker processes: one asks endpoints, one computes metrics."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    from distributed import Nanny, Scheduler, SpecCluster

    options = {"nthreads": 1, "memory_limit": 0, "dashboard": False, "silence_logs": 50, "preload": ["flows.worker"]}
    workers = {
        slot.lower(): {"cls": Nanny, "options": {**options, "resources": {slot: 1}}} for slot in (ENDPOINT_SLOT, METRIC_SLOT)
    }
    scheduler = {
        "cls": Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": "127.0.0.1:0"},
    }
    with SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster:
        yield cluster.scheduler_address


def _start_server(home: Path) -> subprocess.Popen[bytes]:
    with (home / "server.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "flows.prefect_server", str(home / "port")],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,  # a Ctrl-C in the terminal is this process's matter
        )


def _wait_until_ready(server: subprocess.Popen[bytes], home: Path) -> str:
    """The API address once the server answers; raises JudgelakeError with its last words where it does not."""
    port_file = home / "port"
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        if port_file.exists():
            url = f"http://127.0.0.1:{port_file.read_text()}/api"
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=5):  # noqa: S310  # our own loopback address
                    return url
            except OSError:
                pass
        time.sleep(0.05)
    words = (home / "server.log").read_text(errors="replace")[-2000:]
    raise JudgelakeError(
        f"prefect server: did not answer within {_START_S:.0f} s; run again, or set PREFECT_API_URL to one\n{words}"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin:
        process.stdin.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _restore_environment(before: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(before)
