"""The compiled inner loops of the correlation bootstrap. Imports numba, so import it inside functions.

Many resamples go in lockstep: the last axis of every array is the resample, and `drawn[cluster, resample]` says how often a
cluster was drawn. Rows come sorted (`tasks.stats.ordered_rows`), so a resample is never sorted again. What the sums mean and
which coefficients follow is the matter of `tasks.stats.weighted_correlation`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.stats.compiled import compile_loop

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]
Places = NDArray[np.int64]
Drawn = NDArray[np.integer[Any]]


@compile_loop
def sum_moments(drawn: Drawn, moments: Floats, sums: Floats) -> None:
    """Add each cluster's five moments, (clusters, 5), as often as it was drawn to (5, resamples)."""
    for c in range(moments.shape[0]):
        for k in range(5):
            moment = moments[c, k]
            for b in range(drawn.shape[1]):
                sums[k, b] += drawn[c, b] * moment


@compile_loop
def rank_levels(drawn: Drawn, clusters: Places, starts: Places, ranks: Counts, sums: Floats) -> Counts:
    """Write twice the mid-rank less 1 of each y level; add to `sums` the levels' squares, cubes and how many were drawn.

    `clusters[starts[level] : starts[level + 1]]` are the clusters of a level's rows. Returns the rows of each resample.
    """
    through = np.zeros(drawn.shape[1], np.int32)
    counts = np.zeros((1, drawn.shape[1]), np.int32)
    for level in range(starts.size - 1):
        _count_rows(drawn, clusters, starts[level], starts[level + 1], counts, 0)
        for b in range(drawn.shape[1]):
            ranks[level, b] = 2 * through[b] + counts[0, b]
            through[b] += counts[0, b]
        _add_powers(counts[0], sums)
    return through


@compile_loop
def visit_groups(
    drawn: Drawn,
    clusters: Places,
    cells: Places,
    levels: Places,
    groups: Places,
    widest: int,
    ranks: Counts,
    n: Counts,
    sums: Floats,
) -> None:
    """Visit the groups of equal x by rising x, counting for each row the rows before it with smaller y (Knight 1966, JASA 61).

    `cells` are where each cell (one x, one y) begins in `clusters`, `levels` its y level, `groups` where each x begins in `cells`.
    Adds to `sums`: x's squares, cubes and levels, the cells' squares, the concordant pairs, the product of centred ranks.
    """
    lanes = drawn.shape[1]
    tree = np.zeros((ranks.shape[0] + 1, lanes), np.int32)
    held = np.zeros((widest, lanes), np.int32)
    below, group, smaller = np.zeros(lanes, np.int32), np.zeros(lanes, np.int32), np.zeros(lanes, np.int32)
    ranked = np.zeros(lanes)
    for g in range(groups.size - 1):
        for b in range(lanes):
            group[b], ranked[b] = 0, 0.0
        for cell in range(groups[g], groups[g + 1]):
            k = cell - groups[g]
            _count_rows(drawn, clusters, cells[cell], cells[cell + 1], held, k)
            _count_smaller(tree, levels[cell], smaller)
            for b in range(lanes):
                count = np.float64(held[k, b])
                sums[3, b] += count * count
                sums[4, b] += count * smaller[b]
            for b in range(lanes):
                group[b] += held[k, b]
                ranked[b] += np.float64(held[k, b]) * ranks[levels[cell], b]
        for b in range(lanes):
            sums[5, b] += ranked[b] * (2 * below[b] + group[b] - n[b])
            below[b] += group[b]
        _add_powers(group, sums)
        for cell in range(groups[g], groups[g + 1]):
            _enter(tree, levels[cell], held, cell - groups[g])


@compile_loop
def _count_rows(drawn: Drawn, clusters: Places, first: int, last: int, counts: Counts, k: int) -> None:
    for b in range(drawn.shape[1]):
        counts[k, b] = 0
    for row in range(first, last):
        cluster = clusters[row]
        for b in range(drawn.shape[1]):
            counts[k, b] += drawn[cluster, b]


@compile_loop
def _add_powers(counts: Counts, sums: Floats) -> None:
    for b in range(counts.size):
        count = np.float64(counts[b])
        sums[0, b] += count * count
        sums[1, b] += count * count * count
        sums[2, b] += count > 0


@compile_loop
def _count_smaller(tree: Counts, level: int, smaller: Counts) -> None:
    """Rows entered so far whose level is smaller: a binary indexed tree (Fenwick 1994) of row counts."""
    for b in range(smaller.size):
        smaller[b] = 0
    node = level
    while node > 0:
        for b in range(smaller.size):
            smaller[b] += tree[node, b]
        node &= node - 1


@compile_loop
def _enter(tree: Counts, level: int, held: Counts, k: int) -> None:
    node = level + 1
    while node < tree.shape[0]:
        for b in range(tree.shape[1]):
            tree[node, b] += held[k, b]
        node += node & -node
