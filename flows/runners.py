"""Where work runs: one Prefect server for each run, and local Dask workers with their slots. They
end with this process, however it ends.

The flows decide what runs there; a cluster that somebody else started is `flows.cluster`. Servers
and workers hold a pipe to this process, so that even `kill -9` leaves nothing behind.
"""

import base64
import functools
import logging
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from judgelake.flows.prefect_database import NAME, copy_kept, drop_kept, keep_database
from judgelake.tasks.errors import ClusterError, JudgelakeError
from judgelake.tasks.lake.processes import own_folder

if TYPE_CHECKING:
    from distributed import Security

ENDPOINT_SLOT = "ENDPOINT"
"""Dask resource of a worker that may ask endpoints: each slot has its share of the suite's
limits.
"""
METRIC_SLOT = "METRIC"
GPU_SLOT = "GPU"
"""Dask resource of a worker that runs judges' models in its own process, on a GPU where it has one;
one model at a time.
"""
_START_S = 180.0
"""How long a Prefect server may take to start on a busy machine."""
_LOOPBACK = "127.0.0.1"
_PASSWORD = "PREFECT_API_AUTH_STRING"  # noqa: S105  # a variable's name
_LIVES = 20
"""Workers that a shard may lose before Dask gives it up. A killed worker loses the replies since
its last flush, not the run.
"""
_SLOW_START = "300 s"
"""How long Dask waits for a worker that starts again: on a busy machine that takes longer than
Dask's 15 s.
"""
WITHOUT_PAGES: Mapping[str, object] = {
    # Dask's status pages over HTTP know no certificate.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # A worker would look at its own stack every 10 ms, for those pages.
    "distributed.worker.profile.enabled": False,
}
_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLIENT_ENABLE_METRICS": "false",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    # A cache of the server would check the types of its own calls, each of them.
    "PY_KEY_VALUE_DISABLE_BEARTYPE": "true",
}
_ONE_RUN = {
    # Of a run's own server nobody asks for events, schedules and what else services are for.
    "PREFECT__SERVER_WEBSERVER_ONLY": "true",
    # It gives no tokens: each client would ask for one.
    "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false",
}
_DATABASE_IS_READY = {
    "PREFECT_API_DATABASE_MIGRATE_ON_START": "false",
    "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
}


def quieten_prefect(more: Mapping[str, str] = {}) -> None:  # read only
    """Set the variables that keep prefect from printing and from sending statistics; a value that
    the user has set stays. Call it before prefect is imported.
    """
    for name, value in (_QUIET | dict(more)).items():
        os.environ.setdefault(name, value)


def refuse_open_scheduler(scheduler: str | None, *, without_tls: bool) -> None:
    """Raise ClusterError where connections to a scheduler need no certificate: whoever reaches it,
    or a worker of it, runs code there and reads its keys.
    """
    if scheduler is None or scheduler.startswith("tls://") or without_tls:
        return
    raise ClusterError(
        f"scheduler {scheduler}: whoever reaches it may run code on its workers and read their "
        f"keys; expected tls://HOST:PORT; make a certificate with `judgelake certificate FOLDER` "
        f"and set DASK_CONFIG=FOLDER on each machine, or give --without-tls in a network where "
        f"everybody is trusted"
    )


class RunServer:
    """The Prefect server of one run, or of several runs if it `stays`, which ends with the block:
    the configured one (PREFECT_API_URL), else a child with a temporary home. `start` begins it and
    returns at once; what it returns waits until the server answers, and gives its address.

    `start` must be called before prefect is imported: prefect reads its settings then. Workers of a
    Dask scheduler elsewhere reach a child where the route to that scheduler leaves this machine.
    """

    def __init__(self, scheduler: str | None = None, *, stays: bool = False) -> None:
        self._scheduler, self._stays = scheduler, stays
        self._stack = ExitStack()
        self._wait: Callable[[], str] | None = None
        self._has_answered = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> Callable[[], str]:
        """Begin it, where that was not done. What it returns raises ClusterError where the server
        does not answer.
        """
        if self._wait is None:
            self._wait = self._begin()
        return self._wait

    def answers(self) -> bool:
        """Whether it answers by now."""
        url = os.environ.get("PREFECT_API_URL")
        return url is not None and _answers(url, os.environ.get(_PASSWORD, ""), 0.01)

    def close(self) -> None:
        """End it, where the run has no need of it after all, unless it `stays` for other runs."""
        if not self._stays:
            self._stack.close()

    def _begin(self) -> Callable[[], str]:
        if configured := os.environ.get("PREFECT_API_URL"):
            if "prefect" not in sys.modules:  # else it has its settings, from whoever imported it
                self._stack.callback(_restore_environment, dict(os.environ))
                quieten_prefect()
            return lambda: configured
        home = Path(self._stack.enter_context(own_folder("prefect")))
        host = _route_to(self._scheduler) if self._scheduler else _LOOPBACK
        is_kept = copy_kept(home)
        settings = _ONE_RUN | (_DATABASE_IS_READY if is_kept else {})
        answers = self._stack.enter_context(starting_server(home, host=host, settings=settings))
        return functools.partial(self._wait_for_own, answers, None if is_kept else home)

    def _wait_for_own(self, answers: Callable[[], str], new_home: Path | None) -> str:
        try:
            url = answers()
        except ClusterError:
            drop_kept()
            raise
        if not self._has_answered:
            self._has_answered = True
            if new_home:
                keep_database(new_home)
            # nobody asks a run's own server for them
            self._stack.enter_context(without_heartbeats())
        return url


@contextmanager
def starting_server(
    home: Path, *, host: str = _LOOPBACK, settings: Mapping[str, str] = _ONE_RUN
) -> Iterator[Callable[[], str]]:
    """A Prefect server that keeps its database in `home`, a child of this process, while the block
    runs; the function waits until it answers and returns its address. Inside, PREFECT_API_URL names
    it and PREFECT_API_AUTH_STRING is the password made for it, which every request needs.
    """
    with ExitStack() as stack:
        listener = socket.create_server((host, 0))
        url = f"http://{host}:{listener.getsockname()[1]}/api"
        stack.callback(_restore_environment, dict(os.environ))
        quieten_prefect(settings)
        os.environ["PREFECT_HOME"] = str(home)
        os.environ["PREFECT_API_DATABASE_CONNECTION_URL"] = f"sqlite+aiosqlite:///{home / NAME}"
        os.environ["PREFECT_API_URL"] = os.environ["PREFECT_SERVER_UI_API_URL"] = url
        password = f"judgelake:{secrets.token_hex(16)}"
        os.environ["PREFECT_SERVER_API_AUTH_STRING"] = os.environ[_PASSWORD] = password
        os.environ["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] = url.removesuffix("/api")
        with listener:  # if the server dies, requests fail at once
            server = _start_server(home, listener)
        stack.callback(_end, server)
        yield functools.partial(_wait_until_ready, server, home, url, password)


@contextmanager
def without_heartbeats() -> Iterator[None]:
    """Flow runs that begin inside send no signs of life: each would wait at its end, up to a
    second, for the thread that does.
    """
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


@contextmanager
def workers_here(slots: Collection[str] = (ENDPOINT_SLOT, METRIC_SLOT)) -> Iterator[str]:
    """The address of a Dask scheduler with a worker for each slot, all in this process: nothing is
    started and nothing listens to others, which suits a run of a few cases.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    import dask
    from distributed import Scheduler, SpecCluster, Worker

    here = {"protocol": "inproc://", "dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"}
    options = {**here, "nthreads": 1, "memory_limit": 0}
    workers = {
        slot.lower(): {"cls": Worker, "options": {**options, "resources": {slot: 1}}}
        for slot in slots
    }
    with (
        dask.config.set(WITHOUT_PAGES),
        SpecCluster(workers, {"cls": Scheduler, "options": here}, silence_logs=50) as cluster,
    ):
        yield cluster.scheduler_address


@contextmanager
def local_cluster(
    slots: Collection[str] = (ENDPOINT_SLOT, METRIC_SLOT),
    devices: Sequence[Mapping[str, str]] = (),
    clients: Sequence[str] = (),
) -> Iterator[tuple[str, "Security"]]:
    """A Dask scheduler in this process with a worker process for each slot: one asks endpoints, one
    computes metrics, and one for each of `devices`, by its environment, runs models. Yields its
    address and the certificate of this run, without which neither scheduler nor workers talk to
    anybody; they listen on loopback only. `clients`: the modules by which endpoints are asked.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    import dask
    from distributed import Scheduler, Security, SpecCluster

    from judgelake.flows.worker import IMPORTS
    from judgelake.flows.worker_watch import WatchedNanny, WorkerWatch, keep_workers

    watch, security = WorkerWatch(), Security.temporary()
    loopback = {
        "host": _LOOPBACK,
        "protocol": "tls",
        "security": security,
        "dashboard": False,
        "dashboard_address": f"{_LOOPBACK}:0",
    }
    options = {
        **loopback,
        "nthreads": 1,
        "memory_limit": 0,
        "silence_logs": 50,
        "preload": ["judgelake.flows.worker"],
        "watch": watch,
    }
    first = "prefect_dask,judgelake.flows.steps"
    imports = {ENDPOINT_SLOT: ",".join((first, *clients)), METRIC_SLOT: first}
    workers = {
        slot.lower(): {
            "cls": WatchedNanny,
            "options": {**options, "resources": {slot: 1}, "env": {IMPORTS: imports[slot]}},
        }
        for slot in slots
    } | {
        f"{GPU_SLOT.lower()}-{number}": {
            "cls": WatchedNanny,
            "options": {**options, "resources": {GPU_SLOT: 1}, "env": dict(environment)},
        }
        for number, environment in enumerate(devices)
    }
    scheduler = {
        "cls": Scheduler,
        "options": {**loopback, "port": 0, "allowed_failures": _LIVES},
    }
    settings = {"distributed.deploy.lost-worker-timeout": _SLOW_START, **WITHOUT_PAGES}
    with (
        dask.config.set(settings),
        SpecCluster(scheduler=scheduler, security=security, silence_logs=50) as cluster,
        keep_workers(cluster, workers, watch),
    ):
        yield cluster.scheduler_address, security


def _route_to(scheduler: str) -> str:
    """The address of this machine on the way to a scheduler."""
    from distributed.comm import get_address_host, resolve_address
    from distributed.utils import get_ip

    try:
        return str(get_ip(get_address_host(resolve_address(scheduler))))
    except (OSError, ValueError) as error:
        raise JudgelakeError(
            f"--scheduler {scheduler}: no address of a scheduler ({error}); expected "
            f"tls://HOST:PORT; see its first lines"
        ) from None


def _start_server(home: Path, listener: socket.socket) -> subprocess.Popen[bytes]:
    with (home / "server.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "judgelake.flows.prefect_server", str(listener.fileno())],
            pass_fds=[listener.fileno()],
            # alembic puts the working directory first on the path: there, nothing can be imported
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,  # a Ctrl-C in the terminal reaches only this process
        )


def _wait_until_ready(server: subprocess.Popen[bytes], home: Path, url: str, password: str) -> str:
    """Return `url` once the server answers; raises ClusterError with its last lines where it does
    not.
    """
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        if _answers(url, password, 2):
            return url
        time.sleep(0.02)
    what = (
        f"did not answer within {_START_S:.0f} s"
        if server.poll() is None
        else f"ended with status {server.returncode}"
    )
    words = (home / "server.log").read_text(errors="replace")[-2000:]
    last = f"; its last lines:\n{words}" if words else ""
    raise ClusterError(
        f"prefect server: {what}; expected one that answers; run again, or set PREFECT_API_URL to "
        f"one{last}"
    )


def _answers(url: str, password: str, timeout_s: float) -> bool:
    """Whether a server answers what a flow asks it first. It makes its routes when that comes,
    which takes a quarter of a second, and meanwhile the run imports.
    """
    basic = base64.b64encode(password.encode()).decode()
    try:
        first = urllib.request.Request(  # noqa: S310  # our own
            f"{url}/admin/version", headers={"Authorization": f"Basic {basic}"}
        )
        with urllib.request.urlopen(first, timeout=timeout_s):  # noqa: S310  # our own
            return True
    except (OSError, ValueError):  # of an address that is none, prefect says it
        return False


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
