"""When compiled loops (`tasks.stats.kernels`) are used, and when numpy makes the very same numbers.

Importing numba and loading the loops that it keeps on disk takes 0.4 s, and compiling them, where
none are kept yet, 15 s. A report of a few rows needs neither.
"""

MOST_NS = 200_000_000
"""Nanoseconds for which a process computes without compiled loops. Reports of 20 answers of one
model, or of 6 of each of three with duels, take less; one that takes more is up to 0.2 s later than
with compiled loops from the start.
"""

_needed_ns = [0]


def use_kernels(plain_ns: int) -> bool:
    """Whether compiled loops compute what numpy would take `plain_ns` for, an estimate; once they
    do, they do so until the process ends.
    """
    _needed_ns[0] += plain_ns
    return _needed_ns[0] > MOST_NS
