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
def rank_levels(drawn: Drawn, clusters: Places, times: Places, starts: Places, ranks: Counts, sums: Floats) -> Counts:
    """Write twice the mid-rank less 1 of each y level; add to `sums` the levels' squares, cubes and how many were drawn.

    `clusters[starts[level] : starts[level + 1]]` are the clusters of a level's rows, each standing there so many `times`. Returns the
    rows of each resample.
    """
    through = np.zeros(drawn.shape[1], np.int32)
    counts = np.zeros((1, drawn.shape[1]), np.int32)
    for level in range(starts.size - 1):
        counts[:] = 0
        _count_rows(drawn, clusters, times, starts[level], starts[level + 1], counts, 0)
        for b in range(drawn.shape[1]):
            ranks[level, b] = 2 * through[b] + counts[0, b]
            through[b] += counts[0, b]
        _add_powers(counts[0], sums)
    return through


@compile_loop
def add_alone(drawn: Drawn, alone: Places, sums: Floats) -> None:
    """Add to `sums` x's squares, cubes and levels, and the cells' squares, of the groups that are a single row, `alone` by cluster."""
    squares, cubes, levels, cells = sums[0], sums[1], sums[2], sums[3]
    for c in range(alone.size):
        n, row = np.float64(alone[c]), drawn[c]
        if n > 0:
            for b in range(row.size):
                count = np.float64(row[b])
                squares[b] += n * count * count
                cubes[b] += n * count * count * count
                levels[b] += n * (row[b] > 0)
    for b in range(squares.size):
        cells[b] += squares[b]


@compile_loop
def visit_two_levels(
    drawn: Drawn, clusters: Places, times: Places, cells: Places, levels: Places, groups: Places, sums: Floats
) -> None:
    """As `visit_groups` where y has two levels; adds to `sums[4]` each row's rows before it, twice, and level with it, of upper rows only."""
    lanes = drawn.shape[1]
    # Floats where products are summed: 64-bit integers become floats one by one.
    held, below, before = np.zeros((2, lanes), np.int32), np.zeros(lanes), sums[4]
    for g in range(groups.size - 1):
        first, last = cells[groups[g]], cells[groups[g + 1]]
        if last - first == 1 and times[first] == 1:
            row = drawn[clusters[first]]
            if levels[groups[g]] == 1:
                for b in range(lanes):
                    count = np.float64(row[b])
                    before[b] += count * (below[b] + below[b] + count)
                    below[b] += count
            else:
                for b in range(lanes):
                    below[b] += np.float64(row[b])
            continue
        held[:] = 0
        for cell in range(groups[g], groups[g + 1]):
            _count_rows(drawn, clusters, times, cells[cell], cells[cell + 1], held, levels[cell])
        for b in range(lanes):
            lower, upper = np.float64(held[0, b]), np.float64(held[1, b])
            sums[3, b] += lower * lower + upper * upper
            before[b] += upper * (below[b] + below[b] + lower + upper)
            below[b] += lower + upper
            held[0, b] += held[1, b]
        _add_powers(held[0], sums)


@compile_loop
def visit_groups(
    drawn: Drawn,
    clusters: Places,
    times: Places,
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
    Adds to `sums`: x's squares, cubes and levels, the cells' squares, the concordant pairs, the product of centred ranks; the first four
    not of groups that are a single row (`add_alone`).
    """
    lanes = drawn.shape[1]
    tree = np.zeros((ranks.shape[0] + 1, lanes), np.int32)
    held = np.zeros((widest, lanes), np.int32)
    group, smaller = np.zeros(lanes, np.int32), np.zeros(lanes, np.int32)
    below, ranked = -n.astype(np.float64), np.zeros(lanes)  # twice the rows before, less all rows
    concordant, product = sums[4], sums[5]
    for g in range(groups.size - 1):
        first, last = cells[groups[g]], cells[groups[g + 1]]
        if last - first == 1 and times[first] == 1:
            row, level = drawn[clusters[first]], levels[groups[g]]
            rank = ranks[level]
            _count_smaller(tree, level, smaller)
            for b in range(lanes):
                count = np.float64(row[b])
                concordant[b] += count * smaller[b]
                product[b] += count * rank[b] * (below[b] + count)
            for b in range(lanes):
                held[0, b] = row[b]
                below[b] += 2.0 * np.float64(row[b])
            _enter(tree, level, held, 0)
            continue
        for b in range(lanes):
            group[b], ranked[b] = 0, 0.0
        for cell in range(groups[g], groups[g + 1]):
            k = cell - groups[g]
            held[k] = 0
            _count_rows(drawn, clusters, times, cells[cell], cells[cell + 1], held, k)
            _count_smaller(tree, levels[cell], smaller)
            for b in range(lanes):
                count = np.float64(held[k, b])
                sums[3, b] += count * count
                sums[4, b] += count * smaller[b]
            for b in range(lanes):
                group[b] += held[k, b]
                ranked[b] += np.float64(held[k, b]) * ranks[levels[cell], b]
        for b in range(lanes):
            sums[5, b] += ranked[b] * (below[b] + group[b])
            below[b] += 2.0 * np.float64(group[b])
        _add_powers(group, sums)
        for cell in range(groups[g], groups[g + 1]):
            _enter(tree, levels[cell], held, cell - groups[g])


@compile_loop
def _count_rows(drawn: Drawn, clusters: Places, times: Places, first: int, last: int, counts: Counts, k: int) -> None:
    """Add to counts[k] the rows from first to last."""
    sums = counts[k]
    for row in range(first, last):
        one, often = drawn[clusters[row]], np.int32(times[row])
        for b in range(sums.size):
            sums[b] += often * np.int32(one[b])


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
