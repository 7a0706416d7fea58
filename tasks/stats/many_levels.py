"""Sums over resamples where both sides have many levels; where one has few, `tasks.stats.few_levels` is faster.

Knight (1966, JASA 61) counts discordant pairs as inversions of one order against the other. Here that order is the same for
all resamples and only the counts change, so the pairs are split once: pairs in different blocks of both orders come from a
coarse table by running sums, the others from small 0/1 matrices inside the blocks.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tasks.stats.cells import (
    AnyWeights,
    Cells,
    Floats,
    Indices,
    centred_ranks,
    count_between,
    indicator,
    moment_rows,
    sum_cubes,
    sum_squares,
)
from tasks.stats.weighted_correlation import Moments, Sums

_MATRIX_ENTRIES = 1 << 19


@dataclass(frozen=True, slots=True)
class _Sequence:
    """Cells in a fixed order, cut into blocks; an earlier cell with a larger key inside the same block is an inversion."""

    order: Indices
    key: Indices
    block_size: int

    def count(self, counts: Floats) -> Floats:
        ordered, total = counts[self.order], np.zeros(counts.shape[1])
        for start, stop, size in self._batches():
            weight = ordered[start:stop].reshape(-1, size, counts.shape[1])
            key = self.key[start:stop].reshape(-1, size)
            inverted = np.tril(key[:, None, :] > key[:, :, None]).astype(np.float64)
            total += np.einsum("pib,pib->b", weight, inverted @ weight)
        return total

    def _batches(self) -> Iterator[tuple[int, int, int]]:
        """(start, stop, block size): many whole blocks at a time, then what is left as a shorter block."""
        whole = self.order.size // self.block_size * self.block_size
        step = max(_MATRIX_ENTRIES // self.block_size**2, 1) * self.block_size
        for start in range(0, whole, step):
            yield start, min(start + step, whole), self.block_size
        if whole < self.order.size:
            yield whole, self.order.size, self.order.size - whole


@dataclass(frozen=True, slots=True)
class ManyLevels:
    """The plan shared by all resamples."""

    cells: Cells
    by_x: csr_array
    by_y: csr_array
    by_block: csr_array
    n_blocks: int
    moments: Floats
    sequences: tuple[_Sequence, _Sequence]

    @property
    def column_bytes(self) -> int:
        """Memory that one resample takes: its weights, eight arrays of cells, four tables, the matrices."""
        fixed = 2 * max(_MATRIX_ENTRIES, self.sequences[0].block_size ** 2) // 8
        return 8 * (self.cells.rows.shape[1] + 8 * self.cells.size + 4 * self.n_blocks**2 + fixed)

    def sum_resamples(self, drawn: AnyWeights) -> Sums:
        """Sums for each column of `drawn`, (clusters, resamples)."""
        counts = self.cells.rows @ drawn.astype(np.float64)
        x_counts, y_counts = self.by_x @ counts, self.by_y @ counts
        return Sums(
            n=counts.sum(axis=0),
            x_squares=sum_squares(x_counts),
            y_squares=sum_squares(y_counts),
            cell_squares=sum_squares(counts),
            x_cubes=sum_cubes(x_counts),
            y_cubes=sum_cubes(y_counts),
            fewest_levels=np.minimum(np.count_nonzero(x_counts, axis=0), np.count_nonzero(y_counts, axis=0)).astype(np.float64),
            discordant=self._count_discordant(counts),
            rank_product=self._multiply_ranks(counts, x_counts, y_counts),
            moments=Moments(*(self.moments @ counts)),
        )

    def _count_discordant(self, counts: Floats) -> Floats:
        table = (self.by_block @ counts).reshape(self.n_blocks, self.n_blocks, -1)
        in_x, in_y = self.sequences
        return count_between(table) + in_x.count(counts) + in_y.count(counts)

    def _multiply_ranks(self, counts: Floats, x_counts: Floats, y_counts: Floats) -> Floats:
        x_ranks = centred_ranks(x_counts)[self.cells.x.of_cell]
        x_ranks *= counts
        product: Floats = np.einsum("yb,yb->b", self.by_y @ x_ranks, centred_ranks(y_counts))
        return product


def plan_many_levels(cells: Cells) -> ManyLevels:
    """Choose blocks of about the square root of the cells: then the coarse table is about as long as the list of cells."""
    x, y, n = cells.x, cells.y, cells.size
    # Ties never count: cells of one x lie by rising y in the first order, cells of one y by rising x in the second.
    by_y = np.lexsort((x.of_cell, y.of_cell))
    y_rank = np.empty(n, dtype=np.int64)
    y_rank[by_y] = np.arange(n)
    size = math.isqrt(n - 1) + 1
    x_block, y_block = np.arange(n) // size, y_rank // size
    n_blocks = int(x_block[-1]) + 1
    return ManyLevels(
        cells=cells,
        by_x=indicator(x.of_cell, x.size),
        by_y=indicator(y.of_cell, y.size),
        by_block=indicator(x_block * n_blocks + y_block, n_blocks**2),
        n_blocks=n_blocks,
        moments=moment_rows(x.cell_values, y.cell_values),
        sequences=(_Sequence(np.arange(n), y_rank, size), _Sequence(by_y, x_block[by_y], size)),
    )
