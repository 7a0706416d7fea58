"""Starting the stand-in endpoint as a process of its own that ends with the one that started it.

What it serves lives in `tasks.standin.server`; nothing of aiohttp or openai is imported here.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from judgelake.tasks.errors import BackendError
from judgelake.tasks.lake.processes import own_folder

_START_S = 120.0
"""A busy machine imports for a minute; one that has ended is met at once."""


class StandinProcess:
    """A running stand-in: talk to `base_url`, then `close()`. It also ends when this process does,
    even by kill -9.
    """

    def __init__(self, process: subprocess.Popen[bytes], base_url: str) -> None:
        self._process = process
        self.base_url = base_url

    @property
    def pid(self) -> int:
        """The process id, so that another process can watch it."""
        return self._process.pid

    def close(self) -> None:
        """Ends the process and waits for its end; closing twice does nothing."""
        _end(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def start_standin(
    *,
    latency_ms: float = 0.0,
    faults: Mapping[str, float] | None = None,
    retry_after_s: float | None = None,
    seed: int = 0,
    log: Path | None = None,
    port: int = 0,
) -> StandinProcess:
    """Starts a stand-in and returns once it answers; `faults` maps a status or a kind to its
    probability.
    """
    options = [
        "--port",
        str(port),
        "--latency-ms",
        str(latency_ms),
        "--seed",
        str(seed),
        "--parent-pipe",
    ]
    options += [
        part
        for kind, chance in (faults or {}).items()
        for part in ("--fault", f"{kind}:{chance:f}")
    ]
    options += ["--retry-after", str(retry_after_s)] if retry_after_s is not None else []
    options += ["--log", str(log)] if log is not None else []
    with (
        own_folder("standin") as folder,
        tempfile.TemporaryFile() as errors,
    ):
        port_file = Path(folder) / "port"
        process = _spawn([*options, "--port-file", str(port_file)], errors)
        try:
            return StandinProcess(process, _wait_until_it_answers(process, port_file, errors))
        except BaseException:
            _end(process)
            raise


def _spawn(options: list[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    # Ctrl-C in the terminal is the run's matter; the pipe ends this process
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "judgelake.tasks.standin.server", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,
    )


def _wait_until_it_answers(
    process: subprocess.Popen[bytes], port_file: Path, errors: IO[bytes]
) -> str:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        if port_file.exists() and _answers(port := int(port_file.read_text())):
            return f"http://127.0.0.1:{port}/v1"
        time.sleep(0.02)
    what = (
        f"did not answer within {_START_S:g} s"
        if process.poll() is None
        else f"ended with status {process.returncode} while it started"
    )
    errors.seek(0)
    message = errors.read().decode(errors="replace").strip()[-2000:] or "nothing on standard error"
    raise BackendError(
        f"stand-in: it {what} and said: {message}; expected a server on loopback; see its words"
    )


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
