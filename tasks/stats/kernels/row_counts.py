"""What the loops of the correlation bootstrap share: their arrays, counting rows, and sums of
powers of counts. Imports numba, so import it inside functions.

Arrays are those of `tasks.stats.kernels.correlation`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.kernels.compiled import compile_loop

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]
Places = NDArray[np.int64]
Drawn = NDArray[np.integer[Any]]
GroupedRows = tuple[Places, Places, Places, Places, Places]
"""The rows by x: their clusters and times, where each cell (one x, one y) begins in these, the
cells' y levels, and where each x begins in the cells.
"""

_MOST_NEAR = 65535
"""Rows of a resample that can be near: products of two counts of them, and the sum of such products
over rows, fit 32 bits.
"""


@compile_loop
def find_most(drawn: Drawn) -> int:
    """How often a cluster was drawn at most, 1 or more."""
    most = np.uint16(1)
    for c in range(drawn.shape[0]):
        for b in range(drawn.shape[1]):
            most = max(most, drawn[c, b])
    return int(most)


@compile_loop
def find_room(drawn: Drawn) -> int:
    """How many rows can be near."""
    return int(_MOST_NEAR // find_most(drawn))


@compile_loop
def count_rows(
    drawn: Drawn, clusters: Places, times: Places, first: int, last: int, counts: Counts, k: int
) -> None:
    """Add to counts[k] the rows from first to last."""
    sums = counts[k]
    for row in range(first, last):
        cluster, often = drawn[clusters[row]], np.int32(times[row])
        for b in range(sums.size):
            sums[b] += often * np.int32(cluster[b])


@compile_loop
def add_powers(counts: Counts, sums: Floats) -> None:
    """Add to `sums` the squares and cubes of counts, and which are above 0."""
    for b in range(counts.size):
        count = np.float64(counts[b])
        sums[0, b] += count * count
        sums[1, b] += count * count * count
        sums[2, b] += count > 0


@compile_loop
def add_group(held: Counts, n_cells: int, sums: Floats) -> None:
    """Add the cells up into the last row of `held`; add to `sums` the cells' squares and the
    group's powers.
    """
    group = held[held.shape[0] - 1]
    for k in range(n_cells):
        for b in range(group.size):
            count = np.float64(held[k, b])
            sums[3, b] += count * count
        for b in range(group.size):
            group[b] += held[k, b]
    add_powers(group, sums)
