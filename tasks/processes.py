"""Which process this is, and whether another one still lives: the clocks and the process table that leases go by."""

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


def find_birth(pid: int) -> int | None:
    """When a process of this machine was started, in ticks since the machine was (no clock moves that); None where there is none.

    Where there is no /proc it is 0 for every process that lives.
    """
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _find_any(pid)
    return None if after_name[0] == "Z" else int(after_name[19])  # proc(5): fields 3 and 22


def _find_any(pid: int) -> int | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return 0


def name_place() -> str:
    """Names a process table: this machine since it was booted, and in it the container. Host names repeat, in containers above all."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # not Linux
        return socket.gethostname()


@dataclass(frozen=True)
class Surroundings:
    """Clocks, process table and name of this process; tests give others."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    find_birth: Callable[[int], int | None] = find_birth
    host: str = field(default_factory=socket.gethostname)
    place: str = field(default_factory=name_place)
    pid: int = field(default_factory=os.getpid)


HERE = Surroundings()
"""This process, as it was at the import: nothing here forks."""
