"""What the tests of schedules and clusters need beside the command: PostgreSQL, a Prefect server,
Dask schedulers and workers as processes.

Each is a context manager that ends what it started, also when the test fails.
"""

import argparse
import base64
import io
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from judgelake.flows.certificate_command import make_certificate
from tests.flows.harness import HANG_S, Shell, wait_until

_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLIENT_ENABLE_METRICS": "false",
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def started(
    words: Sequence[str], log: Path, environment: Mapping[str, str], **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is asked to end, and killed where it does not."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            words, stdout=file, stderr=file, env=environment, start_new_session=True, **options
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def postgres(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """PostgreSQL of Debian's packages on a loopback port, as SQLAlchemy addresses it with asyncpg;
    skips where it is not installed.
    """
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    if programs is None:
        pytest.skip("PostgreSQL is not installed; apt-get install postgresql")
    data, port = folder / "postgres", free_port()
    data.mkdir()
    owner: dict[str, Any] = {}
    if os.geteuid() == 0:  # it refuses to run as root
        account = pwd.getpwnam("postgres")
        shutil.chown(data, account.pw_uid, account.pw_gid)
        for parent in data.parents[:4]:  # one more where the tests run in several processes
            parent.chmod(parent.stat().st_mode | 0o111)
        owner = {"user": "postgres", "group": account.pw_gid, "extra_groups": [], "cwd": data}
    setup = [
        str(programs / "initdb"),
        "-D",
        str(data),
        "-U",
        "postgres",
        "-A",
        "trust",
        "--no-sync",
        "--locale=C.UTF-8",
    ]
    subprocess.run(setup, check=True, capture_output=True, env=environment, timeout=HANG_S, **owner)
    words = [
        str(programs / "postgres"),
        "-D",
        str(data),
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-k",
        "",  # no socket in the file system, where the path of a deep folder is too long
        "-c",
        "fsync=off",
    ]
    with started(words, folder / "postgres.log", environment, **owner) as server:
        assert wait_until(lambda: _listens(port), server), (folder / "postgres.log").read_text()
        yield f"postgresql+asyncpg://postgres@127.0.0.1:{port}/postgres"


@contextmanager
def prefect(shell: Shell, database: str) -> Iterator[str]:
    """The API address of a Prefect server over a database, as infra/compose.yaml starts one."""
    port = free_port()
    environment = shell.environment() | _QUIET | {
        "PREFECT_API_DATABASE_CONNECTION_URL": database,
        "PREFECT_HOME": str(shell.folder / "prefect"),
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
        "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
    }  # fmt: skip
    words = [sys.executable, "-m", "judgelake.flows.prefect_server", f"127.0.0.1:{port}"]
    with started(words, shell.folder / "prefect.log", environment):
        url = f"http://127.0.0.1:{port}/api"
        assert wait_until(lambda: answers(f"{url}/health")), (
            shell.folder / "prefect.log"
        ).read_text()
        yield url


def ask(url: str, path: str, body: object = None, password: str | None = None) -> Any:
    """What Prefect's API answers to a POST; one that a busy machine let run into a timeout is sent
    again.
    """
    headers = {"content-type": "application/json"}
    if password is not None:
        headers["authorization"] = f"Basic {base64.b64encode(password.encode()).decode()}"
    request = urllib.request.Request(f"{url}{path}", json.dumps(body or {}).encode(), headers)
    for tries_left in reversed(range(5)):
        try:
            with urllib.request.urlopen(request, timeout=HANG_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code < 500 or not tries_left:
                raise
    return None


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except OSError:
        return False
    return True


def certificate(shell: Shell) -> Path:
    """The folder with the certificate of a shell's cluster; its commands use it from now on."""
    folder = shell.folder / "certificate"
    if not folder.exists():
        with redirect_stdout(io.StringIO()):
            make_certificate(argparse.Namespace(folder=folder))
    shell.variables["DASK_CONFIG"] = str(folder)
    return folder


@contextmanager
def dask_scheduler(
    shell: Shell,
    port: int,
    *,
    before: Sequence[str] = (),
    host: str = "127.0.0.1",
    path: str = "",
    tls: bool = True,
) -> Iterator[str]:
    """The address of a Dask scheduler in a process of its own; `path` has other packages, `before`
    stands before its command. `tls`: it and the shell's commands have a certificate.
    """
    if tls:
        certificate(shell)
    words = [
        *before,
        sys.executable,
        "-m",
        "dask",
        "scheduler",
        "--host",
        host,
        "--port",
        str(port),
        "--no-dashboard",
    ]
    log, environment = (
        shell.folder / f"scheduler-{port}.log",
        shell.environment() | ({"PYTHONPATH": path} if path else {}),
    )
    with started(
        words, log, environment, cwd=shell.folder
    ):  # the current folder's packages would come first
        assert wait_until(lambda: "Scheduler at" in log.read_text()), log.read_text()
        yield f"{'tls' if tls else 'tcp'}://{host}:{port}"


@contextmanager
def worker(
    shell: Shell, address: str, name: str, *words: str, before: Sequence[str] = (), **more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """`judgelake worker` once it works; its log is `worker-NAME.log`, `more` its environment."""
    log = shell.folder / f"worker-{name}.log"
    command = [
        *before,
        sys.executable,
        "-m",
        "judgelake.flows.cli",
        "worker",
        "--scheduler",
        address,
        "--name",
        name,
        *words,
    ]
    with started(command, log, shell.environment() | more, cwd=shell.folder) as process:
        assert wait_until(lambda: "works for" in log.read_text() or process.poll() is not None), (
            log.read_text()
        )
        yield process


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 a command and all that it started, as a machine that goes away does."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def network_pair(name: str) -> Iterator[tuple[list[str], list[str], str, str]]:
    """Two network namespaces joined by a cable: words that run a command in each, and their
    addresses; skips where none can be made.
    """
    first, second = f"{name}a", f"{name}b"
    steps = [
        f"netns add {first}", f"netns add {second}",
        f"link add {first} netns {first} type veth peer name {second} netns {second}",
        f"-n {first} addr add 10.87.3.1/24 dev {first}", f"-n {second} addr add 10.87.3.2/24 dev {second}",
        *(f"-n {one} link set {device} up" for one in (first, second) for device in ("lo", one)),
    ]  # fmt: skip
    try:
        for step in steps:
            done = subprocess.run(
                ["ip", *step.split()], capture_output=True, text=True, check=False
            )
            if done.returncode:
                pytest.skip(f"no network namespaces here: ip {step}: {done.stderr.strip()}")
        inside = [["ip", "netns", "exec", one] for one in (first, second)]
        yield inside[0], inside[1], "10.87.3.1", "10.87.3.2"
    finally:
        for one in (first, second):
            subprocess.run(["ip", "netns", "del", one], capture_output=True, check=False)
