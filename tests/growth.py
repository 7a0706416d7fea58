"""How the work of a function grows with what it is given, for tests of functions that must stay
linear on long texts. A machine's speed plays no part.
"""

import math
import time
from collections.abc import Callable

TIMES = 32
_SMALL = 250


def is_linear(work: Callable[[int], object]) -> bool:
    """Whether `work` of 32 times the size takes about 32 times the CPU time of this thread, and not
    32² times: the border between the two is their geometric mean.
    """
    small, large = (
        min(_cpu_s(work, size) for _ in range(repeats))
        for size, repeats in ((_SMALL, 5), (_SMALL * TIMES, 2))
    )
    return large < TIMES * math.sqrt(TIMES) * small


def _cpu_s(work: Callable[[int], object], size: int) -> float:
    began = time.thread_time()
    work(size)
    return time.thread_time() - began
