"""Sums over resamples where one side has few levels (people's ratings, say) and the other has any number.

The cells, sorted by x, are cut into small blocks that never part cells of one x. Pairs of different blocks come from the table
block x level of y by running sums, pairs inside a block from one small product. A few hundred cells are worked on at a time, so
that what is read and written stays in the processor's cache. Knight (1966, JASA 61) gave the count for one sample.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
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

MOST_LEVELS = 32
"""Blocks are twice as long as y has levels; beyond this the general way (`tasks.stats.many_levels`) takes no longer."""

# Measured on 22,000 rows: shorter blocks make the table of blocks larger, longer ones the products inside them.
_SHORTEST_BLOCK = 16
_SLOTS_AT_ONCE = 1024
_ENTRIES_AT_ONCE = 2048


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some clusters and how often each slot holds their rows: (slots, clusters of this piece)."""

    clusters: Indices
    rows: csr_array

    def count(self, drawn: AnyWeights) -> Floats:
        counted: Floats = self.rows @ drawn[self.clusters].astype(np.float64)
        return counted


@dataclass(frozen=True, slots=True)
class _Tile:
    """A run of whole blocks. Slots are cells in order with empty ones where a block is not full."""

    pieces: tuple[_Piece, ...]
    by_x: csr_array | None
    by_y: csr_array
    by_block: csr_array
    inverted: NDArray[np.int8]
    below_minus_above: NDArray[np.int8]
    moments: Floats


@dataclass(frozen=True, slots=True)
class FewLevels:
    """The plan shared by all resamples."""

    tiles: tuple[_Tile, ...]
    n_blocks: int
    n_y: int

    @property
    def column_bytes(self) -> int:
        """Memory that one resample takes: the block table thrice over and one tile's arrays."""
        return 8 * (4 * self.n_blocks * self.n_y + 8 * _SLOTS_AT_ONCE + 2 * _ENTRIES_AT_ONCE)

    def sum_resamples(self, drawn: AnyWeights) -> Sums:
        """Sums for each column of `drawn`, (clusters, resamples)."""
        local = np.zeros((self.n_y, drawn.shape[1]))
        additive, tables = np.zeros((10, drawn.shape[1])), []
        for tile in self.tiles:
            counts = _count_slots(tile, drawn)
            additive += _sum_tile(tile, counts)
            local += _rank_within(tile, counts)
            tables.append(tile.by_block @ counts)
        return _finish(np.concatenate(tables).reshape(self.n_blocks, self.n_y, -1), local, additive)


def plan_few_levels(cells: Cells) -> FewLevels:
    """Cut the cells into blocks and the blocks into tiles."""
    size = max(_SHORTEST_BLOCK, 2 * cells.y.size)
    block, position = _pack_blocks(np.bincount(cells.x.of_cell), size)
    n_blocks = int(block[-1]) + 1
    cell_of_slot = np.full(n_blocks * size, -1)
    cell_of_slot[block * size + position] = np.arange(cells.size)
    at_once = max(_SLOTS_AT_ONCE // size, 1) * size
    values = (cells.x.cell_values, cells.y.cell_values)
    tiles = (_plan_tile(cells, cell_of_slot[i : i + at_once], size, values) for i in range(0, cell_of_slot.size, at_once))
    return FewLevels(tuple(tiles), n_blocks, cells.y.size)


def _pack_blocks(run_lengths: Indices, size: int) -> tuple[Indices, Indices]:
    """Block and place of each cell, whole runs of one x at a time."""
    block, used = 0, 0
    starts = []
    for length in run_lengths.tolist():
        if used + length > size:
            block, used = block + 1, 0
        starts.append(block * size + used)
        used += length
    first_cell = np.cumsum(run_lengths) - run_lengths
    slot = np.repeat(np.array(starts) - first_cell, run_lengths) + np.arange(run_lengths.sum())
    return slot // size, slot % size


def _plan_tile(cells: Cells, cell: Indices, size: int, values: tuple[Floats, Floats]) -> _Tile:
    is_full = cell >= 0
    x_level, y_level = (np.where(is_full, side.of_cell[cell], -1) for side in (cells.x, cells.y))
    x_group = np.where(is_full, x_level - x_level[0], -1)
    n_groups = int(x_group.max()) + 1
    block = np.arange(cell.size) // size
    in_block = np.where(is_full, block * cells.y.size + y_level, -1)
    x, y = x_level.reshape(-1, size), y_level.reshape(-1, size)
    below_minus_above = np.sign(x[:, :, None] - x[:, None, :]).astype(np.int8)
    return _Tile(
        pieces=_cut_pieces(cells.rows, cell),
        # One cell to an x: the counts of cells are those of levels.
        by_x=None if n_groups == is_full.sum() else indicator(x_group, n_groups),
        by_y=indicator(y_level, cells.y.size),
        by_block=indicator(in_block, (int(block[-1]) + 1) * cells.y.size),
        inverted=((below_minus_above > 0) & (y[:, None, :] > y[:, :, None])).astype(np.int8),
        below_minus_above=below_minus_above,
        moments=moment_rows(*(np.where(is_full, side[cell], 0.0) for side in values)),
    )


def _cut_pieces(rows: csr_array, cell: Indices) -> tuple[_Piece, ...]:
    entries = rows[cell[cell >= 0]].tocoo()
    slot = np.flatnonzero(cell >= 0)[entries.row]
    pieces = []
    for start in range(0, entries.nnz, _ENTRIES_AT_ONCE):
        part = slice(start, start + _ENTRIES_AT_ONCE)
        clusters, column = np.unique(entries.col[part], return_inverse=True)
        held = csr_array((entries.data[part], (slot[part], column)), shape=(cell.size, clusters.size))
        pieces.append(_Piece(clusters.astype(np.int64), held))
    return tuple(pieces)


def _count_slots(tile: _Tile, drawn: AnyWeights) -> Floats:
    counts = tile.pieces[0].count(drawn)
    for piece in tile.pieces[1:]:
        counts += piece.count(drawn)
    return counts


def _sum_tile(tile: _Tile, counts: Floats) -> Floats:
    """Ten sums a resample, in the order that `_finish` reads."""
    cell_squares = sum_squares(counts)
    x_counts, x_squares = counts, cell_squares
    if tile.by_x is not None:
        x_counts = tile.by_x @ counts
        x_squares = sum_squares(x_counts)
    blocks = counts.reshape(*tile.inverted.shape[:2], -1)
    discordant = np.einsum("pib,pib->b", blocks, tile.inverted.astype(np.float64) @ blocks)
    x_levels = np.minimum(x_counts, 1.0).sum(axis=0)
    singles = [cell_squares, x_squares, sum_cubes(x_counts), x_levels, discordant]
    return np.concatenate([tile.moments @ counts, singles])


def _rank_within(tile: _Tile, counts: Floats) -> Floats:
    """Sums by y of each row's rows below minus rows above in x, inside its block: (y levels, resamples)."""
    blocks = counts.reshape(*tile.inverted.shape[:2], -1)
    ranks = (tile.below_minus_above.astype(np.float64) @ blocks).reshape(counts.shape)
    ranks *= counts
    summed: Floats = tile.by_y @ ranks
    return summed


def _finish(table: Floats, local: Floats, additive: Floats) -> Sums:
    """`table` is (blocks, y levels, resamples): what lies between blocks is added to what was found inside them."""
    cell_squares, x_squares, x_cubes, x_levels, within = additive[5:]
    y_counts = table.sum(axis=0)
    by_y = local + np.einsum("pyb,pb->yb", table, centred_ranks(table.sum(axis=1)))
    return Sums(
        n=y_counts.sum(axis=0),
        x_squares=x_squares,
        y_squares=sum_squares(y_counts),
        cell_squares=cell_squares,
        x_cubes=x_cubes,
        y_cubes=sum_cubes(y_counts),
        fewest_levels=np.minimum(x_levels, np.count_nonzero(y_counts, axis=0)),
        discordant=within + count_between(table),
        rank_product=np.einsum("yb,yb->b", by_y, centred_ranks(y_counts)),
        moments=Moments(*additive[:5]),
    )
