"""The statements that a user typed at the prompt of `judgelake sql`, kept from one prompt to the
next in a file that only the user may read.
"""

import contextlib
import json
import os
from pathlib import Path

from judgelake.tasks.lake.storage import replacement

_MOST = 1000


def history_file() -> Path:
    """Where the statements are kept: `$XDG_STATE_HOME/judgelake/sql_history`, else under
    ~/.local/state.
    """
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "judgelake" / "sql_history"


def read_history(file: Path) -> list[str]:
    """The last statements, oldest first; lines that cannot be read are left out."""
    entries: list[str] = []
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in file.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                entries.append(str(json.loads(line)))
    return entries[-_MOST:]


def append_history(file: Path, statement: str) -> None:
    """Add a statement; two prompts may do so at once. Where that cannot be, nothing is kept."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(statement) + "\n")


def shorten_history(file: Path) -> None:
    """Keep the last statements of a file that has grown to twice as many."""
    with contextlib.suppress(OSError):
        lines = file.read_bytes().splitlines(keepends=True)
        if len(lines) > 2 * _MOST:
            with replacement(file, synced=False) as beside:
                beside.touch(mode=0o600)
                beside.write_bytes(b"".join(lines[-_MOST:]))
