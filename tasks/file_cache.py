"""What functions have read from files that a user may edit: kept within a run, forgotten between
the runs of one process (`flows.run_watch`).
"""

import functools
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")
_KEPT: list["functools._lru_cache_wrapper[object]"] = []


def cache_files(function: Callable[..., _Result]) -> "functools._lru_cache_wrapper[_Result]":
    """A decorator: `functools.cache`, for a function whose result follows from its arguments and
    from files that they name.
    """
    cached = functools.cache(function)
    _KEPT.append(cached)
    return cached


def forget_files() -> None:
    """Have them read their files again."""
    for cached in _KEPT:
        cached.cache_clear()
