"""The compiled loops of the correlation bootstrap where y has many levels: concordant pairs are
counted while levels are merged pair by pair, as a merge sort counts inversions (Knight 1966, JASA
61), and not in a tree of all levels, which is larger than a processor's cache. Imports numba, so
import it inside functions.

Arrays are those of `tasks.stats.kernels.correlation`.
"""

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.kernels.compiled import compile_loop
from judgelake.tasks.stats.kernels.row_counts import (
    Counts,
    Drawn,
    Floats,
    GroupedRows,
    Places,
    add_group,
    count_rows,
    find_most,
)

Sums = NDArray[np.uint32]
Merges = NDArray[np.int32]

_LARGEST = np.int64(2**32 - 1)


@compile_loop
def order_merges(levels: Counts, order: Places, n_merges: int) -> Merges:
    """(merges, rows): the rows as each merge visits them. Merge p joins the levels that differ in
    bit p alone or in lower ones, with its rows in the given order: by x, and by falling y where x
    is the same.
    """
    merges = np.empty((n_merges, order.size), np.int32)
    now, after = order.copy(), np.empty_like(order)
    for merge in range(n_merges - 1, -1, -1):
        first = 0
        while first < now.size:
            block, last, n_lower = levels[now[first]] >> (merge + 1), first, 0
            while last < now.size and levels[now[last]] >> (merge + 1) == block:
                n_lower += 1 - ((levels[now[last]] >> merge) & 1)
                last += 1
            lower, upper = first, first + n_lower
            for at in range(first, last):
                row = now[at]
                merges[merge, at] = row
                if (levels[row] >> merge) & 1:
                    after[upper] = row
                    upper += 1
                else:
                    after[lower] = row
                    lower += 1
            first = last
        now, after = after, now
    return merges


@compile_loop
def count_concordant(
    drawn: Drawn, clusters: Counts, times: Places, levels: Counts, merges: Merges, sums: Floats
) -> None:
    """Add to `sums`, (resamples,), the pairs of rows of which one has the larger x and y; `levels`
    are those of the rows.
    """
    most = find_most(drawn)
    below, pairs = np.zeros(drawn.shape[1], np.uint32), np.zeros(drawn.shape[1], np.uint32)
    for merge in range(merges.shape[0]):
        block, n_below, held = np.int64(-1), np.int64(0), np.int64(0)
        for at in range(merges.shape[1]):
            row = merges[merge, at]
            level, often, counts = levels[row], np.uint32(times[row]), drawn[clusters[row]]
            if level >> (merge + 1) != block:
                block, n_below = level >> (merge + 1), np.int64(0)
            if (level >> merge) & 1 == 0:
                if n_below == 0:
                    for b in range(below.size):
                        below[b] = np.uint32(counts[b]) * often
                elif often == 1:
                    for b in range(below.size):
                        below[b] = np.uint32(below[b] + np.uint32(counts[b]))
                else:
                    for b in range(below.size):
                        below[b] = np.uint32(below[b] + np.uint32(counts[b]) * often)
                n_below += times[row]
            elif n_below > 0:
                added = most * times[row] * most * n_below
                if held + added > _LARGEST:
                    _fold_pairs(pairs, sums)
                    held = np.int64(0)
                if added > _LARGEST:  # even alone
                    for b in range(below.size):
                        sums[b] += np.float64(counts[b]) * np.float64(often) * np.float64(below[b])
                    continue
                held += added
                if often == 1:
                    for b in range(below.size):
                        pairs[b] = np.uint32(pairs[b] + np.uint32(counts[b]) * below[b])
                else:
                    for b in range(below.size):
                        own = np.uint32(np.uint32(counts[b]) * often)
                        pairs[b] = np.uint32(pairs[b] + own * below[b])
        _fold_pairs(pairs, sums)


@compile_loop
def _fold_pairs(pairs: Sums, sums: Floats) -> None:
    for b in range(pairs.size):
        sums[b] += np.float64(pairs[b])
        pairs[b] = np.uint32(0)


@compile_loop
def sum_ranks(
    drawn: Drawn,
    by_x: GroupedRows,
    widest: int,
    ranks: Counts,
    n: Counts,
    sums: Floats,
) -> None:
    """Visit the groups of equal x by rising x. Adds to `sums` the product of centred ranks and,
    but for groups that are a single row, x's squares, cubes and levels and the cells' squares.
    """
    clusters, times, cells, levels, groups = by_x
    held = np.zeros((widest + 1, drawn.shape[1]), np.int32)
    group = held[widest]
    below = -n.astype(np.float64)  # twice the rows of smaller x, less all rows
    for g in range(groups.size - 1):
        first, last = cells[groups[g]], cells[groups[g + 1]]
        if last - first == 1 and times[first] == 1:
            row, own = drawn[clusters[first]], ranks[levels[groups[g]]]
            for b in range(below.size):
                count = np.float64(row[b])
                sums[5, b] += count * np.float64(own[b]) * (below[b] + count)
                below[b] += 2.0 * count
            continue
        held[:] = 0
        for cell in range(groups[g], groups[g + 1]):
            count_rows(drawn, clusters, times, cells[cell], cells[cell + 1], held, cell - groups[g])
        add_group(held, groups[g + 1] - groups[g], sums)
        for cell in range(groups[g], groups[g + 1]):
            counts, own = held[cell - groups[g]], ranks[levels[cell]]
            for b in range(below.size):
                place = below[b] + np.float64(group[b])
                sums[5, b] += np.float64(counts[b]) * np.float64(own[b]) * place
        for b in range(below.size):
            below[b] += 2.0 * np.float64(group[b])
