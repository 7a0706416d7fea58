"""Loops are compiled where there is no folder to keep them in, too."""

from collections.abc import Callable

from judgelake.tasks.stats.kernels.compiled import compile_loop


def test_a_loop_without_a_file_is_compiled_and_not_kept() -> None:
    namespace: dict[str, Callable[[int, int], int]] = {}
    exec(
        "def add(a, b):\n    return a + b", namespace
    )  # numba keeps loops beside their file, and this has none
    assert compile_loop(namespace["add"])(1, 2) == 3
