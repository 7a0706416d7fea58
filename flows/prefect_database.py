"""An empty database of a Prefect server, kept from the first start on: to migrate a new one is half
of a server's start.

It holds what a server writes before it is asked anything. A run copies it into its temporary home;
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
    """Put the kept database into an empty `home`, where there is one of this version of Prefect;
    whether there was.
    """
    try:
        shutil.copyfile(_kept(), home / NAME)
    except OSError:
        (home / NAME).unlink(missing_ok=True)
        return False
    return True


def keep_database(home: Path) -> None:
    """Keep the database of a server that has just started, whole or not at all; a full or read-only
    disk is no reason to end a run.
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
    """Forget the kept database, with which a server did not start."""
    with contextlib.suppress(OSError):
        _kept().unlink(missing_ok=True)


def _kept() -> Path:
    return cache_folder() / f"prefect-{version('prefect')}.db"
