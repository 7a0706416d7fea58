"""How a process that runs commands is set up: variables of `./.env`, where it imports from, and how
often it searches for garbage.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_YOUNG_OBJECTS = 10_000
"""New objects between two garbage collections. With Python's 700, a run over few answers spends a
tenth of its processor time in them.
"""


def prepare_process() -> None:
    """Set up a process that runs commands: read variables from `./.env`, and import nothing from
    the working directory, in this process or in a child.
    """
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    _read_env_file()
    guard_imports()
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # the matrices of a report are small: more threads only wait for each other


def guard_imports() -> None:
    """Keep the working directory out of the import path: a user may have a `tasks.py` or a
    `prefect.py` there. Child processes inherit the setting; Dask gives them this process's path.
    """
    first = Path(sys.path[0])
    if not sys.flags.safe_path and first.is_dir() and first.samefile("."):
        del sys.path[0]  # `python -m` and `python -c` put it there
    os.environ["PYTHONSAFEPATH"] = "1"


@contextmanager
def without_collections() -> Iterator[None]:
    """Import modules inside: they stay until the process ends, so no garbage collection searches
    what they made, now or later.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _read_env_file() -> None:
    """Set the variables of `./.env` that the environment does not have."""
    if Path(".env").is_file():
        from dotenv import load_dotenv

        load_dotenv(".env")
