"""What the compiled loops over rows share: their arrays, and counting rows. Imports numba, so import it inside functions.

Rows that were visited lately are `near`: their counts have 32 bits, of which a vector holds twice as many as of floats, and are folded
into the sums before they could overflow.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.stats.compiled import compile_loop

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]
Near = NDArray[np.uint32]
Places = NDArray[np.int64]
Drawn = NDArray[np.integer[Any]]

_MOST_NEAR = 65535
"""Rows of a resample that can be near: products of two counts of them, and the sum of such products over rows, fit 32 bits."""


@compile_loop
def find_room(drawn: Drawn) -> int:
    """How many rows can be near."""
    most = np.uint16(1)
    for c in range(drawn.shape[0]):
        for b in range(drawn.shape[1]):
            most = max(most, drawn[c, b])
    return int(_MOST_NEAR // np.int64(most))


@compile_loop
def count_rows(drawn: Drawn, clusters: Places, times: Places, first: int, last: int, counts: Counts, k: int) -> None:
    """Add to counts[k] the rows from first to last."""
    sums = counts[k]
    for row in range(first, last):
        one, often = drawn[clusters[row]], np.int32(times[row])
        for b in range(sums.size):
            sums[b] += often * np.int32(one[b])


@compile_loop
def add_powers(counts: Counts, sums: Floats) -> None:
    """Add to `sums` the squares and cubes of counts, and which are above 0."""
    for b in range(counts.size):
        count = np.float64(counts[b])
        sums[0, b] += count * count
        sums[1, b] += count * count * count
        sums[2, b] += count > 0
