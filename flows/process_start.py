"""How a process that runs commands is set up: variables of `./.env`, and where it imports from."""

import os
import sys
from pathlib import Path


def prepare_process() -> None:
    """Set up a process that runs commands: read variables from `./.env`, and import nothing from
    the working directory, in this process or in a child.
    """
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


def _read_env_file() -> None:
    """Set the variables of `./.env` that the environment does not have."""
    if Path(".env").is_file():
        from dotenv import load_dotenv

        load_dotenv(".env")
