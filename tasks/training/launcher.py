"""Starts the processes of a training on several devices, one a device, and watches over them: when
one is gone, the others are ended.

They speak to this process alone, in lines of JSON: the first one's reports and manifest, anyone's
errors. This process holds no model.
"""

import contextlib
import json
import os
import pickle
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from judgelake.tasks import errors
from judgelake.tasks.errors import BackendError, JudgelakeError, redact
from judgelake.tasks.lake.processes import own_folder

LOST_PEERS = 75
"""The exit status of a process that lost another one: the fault is that one's."""
_MODULE = "judgelake.tasks.training.device_process"
_LOOK_S = 0.2
_CAUSE_S = 10.0
"""How long the process that was lost may take to be seen after those that lost it."""
_Said = tuple[int, Mapping[str, Any]]


def run_processes(
    job: object,
    environments: Sequence[Mapping[str, str]],
    report_line: Callable[[str], None],
    is_stopping: Callable[[], bool],
) -> dict[str, Any]:
    """Train in as many processes as there are `environments`; returns the first one's manifest.
    Raises KeyboardInterrupt where they stopped with a checkpoint, a process's own JudgelakeError,
    and BackendError where one ended without a word. No process is left behind.
    """
    with own_folder("train") as name, ExitStack() as stack:
        folder = Path(name)  # no other user can read or write in it
        (folder / "job").write_bytes(pickle.dumps(job))
        running = [
            stack.enter_context(_run(folder, rank, len(environments), environment))
            for rank, environment in enumerate(environments)
        ]
        return _Watch(folder, running, report_line, is_stopping).until_end()


@contextmanager
def _run(
    folder: Path, rank: int, count: int, environment: Mapping[str, str]
) -> "Iterator[subprocess.Popen[bytes]]":
    """A process of the training; only the first one's warnings are shown, the others' are kept in
    a file. At the end it is killed, if it still runs.
    """
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    heard_at = {"GLOO_SOCKET_IFNAME": loopback, "NCCL_SOCKET_IFNAME": loopback}
    with contextlib.ExitStack() as stack:
        words = stack.enter_context(_name_words(folder, rank).open("wb")) if rank else None
        process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE, str(folder), str(rank), str(count)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                env={**os.environ, "PYTHONSAFEPATH": "1", **heard_at, **environment},
                start_new_session=True,  # a Ctrl-C in the terminal is passed on as a word
            )
        )
        try:
            yield process
        finally:
            process.kill()


def _name_words(folder: Path, rank: int) -> Path:
    return folder / f"stderr-{rank}"


class _Watch:
    """The running processes, and what they have said so far."""

    def __init__(
        self,
        folder: Path,
        running: "Sequence[subprocess.Popen[bytes]]",
        report_line: Callable[[str], None],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._folder, self._running = folder, running
        self._report_line, self._is_stopping = report_line, is_stopping
        self._said: queue.SimpleQueue[_Said] = queue.SimpleQueue()
        self._told_to_stop = False
        self._ends: dict[int, int] = {}
        self._lost_at: float | None = None
        self._manifest: dict[str, Any] | None = None
        for rank, process in enumerate(running):
            threading.Thread(target=_listen, args=(rank, process, self._said), daemon=True).start()

    def until_end(self) -> dict[str, Any]:
        """Pass on what the processes say, until all have ended well or one has not."""
        while len(self._ends) < len(self._running):
            with contextlib.suppress(queue.Empty):
                self._hear(*self._said.get(timeout=_LOOK_S))
            if self._lost_at is not None and time.monotonic() - self._lost_at > _CAUSE_S:
                raise self._describe_death(min(self._ends))
            self._pass_on_stop()
        if self._lost_at is not None:
            raise self._describe_death(min(self._ends))
        if self._manifest is None:
            raise KeyboardInterrupt
        return self._manifest

    def _hear(self, rank: int, message: Mapping[str, Any]) -> None:
        """Take in a message of a process; raises the error that it is about."""
        if "says" in message:
            self._report_line(message["says"])
        elif "error" in message:
            raise getattr(errors, message["error"], JudgelakeError)(message["message"])
        elif "manifest" in message:
            self._manifest = message["manifest"]
        elif "status" in message:
            self._ends[rank] = message["status"]
            if message["status"] == LOST_PEERS:
                self._lost_at = self._lost_at or time.monotonic()
            elif message["status"]:
                raise self._describe_death(rank)

    def _pass_on_stop(self) -> None:
        if not self._told_to_stop and self._is_stopping():
            self._told_to_stop = True
            pipe = self._running[0].stdin
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # it has ended; the watch sees it
                    pipe.write(b"stop\n")
                    pipe.flush()

    def _describe_death(self, rank: int) -> BackendError:
        status = self._ends[rank]
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        how = "lost the others" if status == LOST_PEERS else how
        file = _name_words(self._folder, rank)
        words = file.read_text("utf-8", "replace").split("\n") if file.exists() else []
        last = next((f" ({redact(line.strip())})" for line in reversed(words) if line.strip()), "")
        return BackendError(
            f"training: process {rank + 1} of {len(self._running)} {how}{last}, and the others "
            f"were ended; expected all to train to the end; run the same command to go on from "
            f"the last checkpoint"
        )


def _listen(
    rank: int, process: "subprocess.Popen[bytes]", said: "queue.SimpleQueue[_Said]"
) -> None:
    """Put what a process says, and then how it ended, into the queue."""
    for line in process.stdout or ():
        with contextlib.suppress(ValueError):  # cut off by its end
            said.put((rank, json.loads(line)))
    said.put((rank, {"status": process.wait()}))
