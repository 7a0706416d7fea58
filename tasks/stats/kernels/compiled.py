"""How inner loops are compiled. Imports numba, so import it, and the modules of loops, inside
functions.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")


def compile_loop(function: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
    """Compile on the first call, without the interpreter's lock; kept on disk where a folder for it
    can be written.
    """
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no folder to keep it in
        return njit(nogil=True)(function)
