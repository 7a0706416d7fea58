"""Processes of this machine, and folders in the system's temporary one that belong to them: what a
killed process leaves there, a later run removes.
"""

import hashlib
import os
import re
import shutil
import socket
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path


def find_birth(pid: int) -> int | None:
    """When a process of this machine was started, in ticks since the machine booted (setting the
    clock does not change it); None where there is no such process.

    Without /proc (not Linux) it is 0 for every process that is alive.
    """
    try:
        after_name = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="ascii", errors="replace")
            .rpartition(")")[2]
            .split()
        )
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
    """Names a process table: this boot of this machine, and the container. A host name is not
    enough, since many containers have the same one.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # not Linux
        return socket.gethostname()


# kind, place, process id and birth, and tempfile's own letters
_NAME = re.compile(r"judgelake-[a-z]+-(?P<place>[0-9a-f]{8})-(?P<pid>[0-9]+)-(?P<birth>[0-9]+)-\w+")


def own_folder(kind: str) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder whose name says which process it belongs to."""
    return tempfile.TemporaryDirectory(prefix=_begin_name(kind), ignore_cleanup_errors=True)


def name_own_folder(kind: str) -> Path:
    """The path of such a folder that is not made yet; nobody can guess it."""
    return Path(tempfile.gettempdir()) / f"{_begin_name(kind)}{uuid.uuid4().hex}"


def _begin_name(kind: str) -> str:
    pid = os.getpid()
    return f"judgelake-{kind}-{_digest_place()}-{pid}-{find_birth(pid) or 0}-"


def remove_abandoned_folders() -> None:
    """Remove this user's temporary folders whose process is gone. One that another container left
    is not looked at: its processes are not seen here.
    """
    place = _digest_place()
    for folder in Path(tempfile.gettempdir()).glob("judgelake-*"):
        owner = _NAME.fullmatch(folder.name)
        if owner is None or owner["place"] != place:
            continue
        with suppress(OSError):  # another run removes it at the same time
            is_ours = folder.stat(follow_symlinks=False).st_uid == os.getuid()
            if is_ours and find_birth(int(owner["pid"])) != int(owner["birth"]):
                shutil.rmtree(folder, ignore_errors=True)


def _digest_place() -> str:
    return hashlib.sha256(name_place().encode()).hexdigest()[:8]
