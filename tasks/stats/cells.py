"""Paired rows folded into the cells of their contingency table, so that a resample is a vector of cell counts.

What is summed over those counts lives in `tasks.stats.few_levels` and `tasks.stats.many_levels`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
AnyWeights = NDArray[np.integer[Any]]
"""(resamples, clusters): how often each resample draws each cluster."""


@dataclass(frozen=True, slots=True)
class Levels:
    """One side of the table: its distinct values in order and, for each cell, which of them it holds."""

    values: Floats
    of_cell: Indices

    @property
    def size(self) -> int:
        """The number of distinct values."""
        return self.values.size

    @property
    def cell_values(self) -> Floats:
        """Each cell's value less the mean of the cells, scaled into [-1, 1] so that squares stay in range."""
        return recentre(self.values[self.of_cell], np.ones(self.of_cell.size))


@dataclass(frozen=True, slots=True)
class Cells:
    """The occupied cells, sorted by x then y; x is the side with more levels. `rows` is (cells, clusters): rows in each."""

    x: Levels
    y: Levels
    rows: csr_array

    @property
    def size(self) -> int:
        """The number of occupied cells."""
        return self.x.of_cell.size


def fold_rows(x: Floats, y: Floats, clusters: Indices, n_clusters: int) -> Cells:
    """Fold rows into cells; the sides change places where y has more levels (all coefficients are symmetric)."""
    x_values, x_level = np.unique(x, return_inverse=True)
    y_values, y_level = np.unique(y, return_inverse=True)
    if y_values.size > x_values.size:
        x_values, x_level, y_values, y_level = y_values, y_level, x_values, x_level
    n_y = max(y_values.size, 1)
    occupied, cell = np.unique(x_level * n_y + y_level, return_inverse=True)
    rows = csr_array((np.ones(x.size), (cell, clusters)), shape=(occupied.size, n_clusters))
    return Cells(Levels(x_values, occupied // n_y), Levels(y_values, occupied % n_y), rows)


def indicator(group: Indices, n_groups: int) -> csr_array:
    """(groups, members) with a 1 where a member belongs; negative groups belong nowhere. Its product sums members by group."""
    member = np.flatnonzero(group >= 0)
    return csr_array((np.ones(member.size), (group[member], member)), shape=(n_groups, group.size))


def recentre(values: Floats, counts: Floats) -> Floats:
    """Values less their weighted mean, scaled into [-1, 1]."""
    tiny = np.finfo(np.float64).tiny
    scaled = values / max(np.abs(values).max(initial=0.0), tiny)
    centred = scaled - np.average(scaled, weights=counts)
    unit: Floats = centred / max(np.abs(centred).max(initial=0.0), tiny)
    return unit


def moment_rows(x: Floats, y: Floats) -> Floats:
    """(5, cells), whose product with counts is the sums of x, y, x^2, y^2 and x y."""
    return np.stack([x, y, x * x, y * y, x * y])


def running_sums(table: Floats) -> Floats:
    """Cumulative sums over the first axis."""
    # numpy's own accumulation over a leading axis takes 4 to 9 ns an element; so inside all blocks at once, then across them.
    size = math.isqrt(len(table)) + 1
    sums = np.zeros((size * size, *table.shape[1:]))
    sums[: len(table)] = table
    blocks = sums.reshape(size, size, *table.shape[1:])
    for i in range(1, size):
        blocks[:, i] += blocks[:, i - 1]
    for i in range(1, size):
        blocks[i] += blocks[i - 1, -1]
    return sums[: len(table)]


def count_between(table: Floats) -> Floats:
    """Pairs with a smaller x block and a larger y block: (x blocks, y blocks, resamples) -> (resamples,)."""
    before = running_sums(table[:-1])
    above = np.zeros_like(before[:, 0])
    total = np.zeros(table.shape[2])
    for y in range(table.shape[1] - 1, 0, -1):
        above += before[:, y]
        total += np.einsum("xb,xb->b", table[1:, y - 1], above)
    return total


def centred_ranks(counts: Floats) -> Floats:
    """Twice the mid-rank of each level less twice the mean rank: rows below minus rows above; (levels, resamples)."""
    through = running_sums(counts)
    ranks: Floats = 2 * through - counts - through[-1]
    return ranks


def sum_squares(counts: Floats) -> Floats:
    """(n, resamples) -> (resamples,)."""
    summed: Floats = np.einsum("ib,ib->b", counts, counts)
    return summed


def sum_cubes(counts: Floats) -> Floats:
    """(n, resamples) -> (resamples,)."""
    summed: Floats = np.einsum("ib,ib,ib->b", counts, counts, counts)
    return summed
