"""An empty database of a Prefect server, kept after the first start: creating the tables of a new
one takes half of the time of a server's start.

It holds what a server writes before its first request. A run copies it into its temporary home;
`serve` keeps a database of its own.
"""

import contextlib
import shutil
import sqlite3
from importlib.metadata import version
from pathlib import Path

from judgelake.tasks.lake.mirror import cache_folder
from judgelake.tasks.lake.storage import replacement

NAME = "prefect.db"


def copy_kept(home: Path) -> bool:
    """Copy the kept database into an empty `home`; False where there is none of this version of
    Prefect.
    """
    try:
        shutil.copyfile(_kept(), home / NAME)
    except OSError:
        (home / NAME).unlink(missing_ok=True)
        return False
    return True


def keep_database(home: Path) -> None:
    """Keep the database of a server that has just started, completely or not at all. A full or
    read-only disk does not end the run.
    """
    kept = _kept()
    with (
        contextlib.suppress(OSError, sqlite3.Error),
        replacement(kept) as beside,
        contextlib.closing(sqlite3.connect(home / NAME)) as source,
        contextlib.closing(sqlite3.connect(beside)) as copy,
    ):
        source.backup(copy)


def drop_kept() -> None:
    """Remove the kept database after a server failed to start with it."""
    with contextlib.suppress(OSError):
        _kept().unlink(missing_ok=True)


def _kept() -> Path:
    return cache_folder() / f"prefect-{version('prefect')}.db"
