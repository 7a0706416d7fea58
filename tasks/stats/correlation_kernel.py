"""The compiled inner loops of the correlation bootstrap. Imports numba, so import it inside functions.

Many resamples go in lockstep: the last axis of every array is the resample, and `drawn[cluster, resample]` says how often a
cluster was drawn. Rows come sorted (`tasks.stats.ordered_rows`), so a resample is never sorted again. What the sums mean and
which coefficients follow is the matter of `tasks.stats.weighted_correlation`.
"""

import numpy as np

from tasks.stats.compiled import compile_loop
from tasks.stats.group_kernel import visit_groups
from tasks.stats.row_kernel import Counts, Drawn, Floats, Near, Places, add_powers, count_rows, find_room


@compile_loop
def sum_all(
    weights: Drawn,
    present: Places,
    step: int,
    by_y: tuple[Places, Places, Places],
    by_x: tuple[Places, Places, Places, Places, Places],
    widest: int,
    alone: Places,
    moments: Floats,
    sums: Floats,
) -> None:
    """Write the fifteen sums of each resample to `sums`, (15, resamples), `step` resamples at a time, from (clusters, resamples).

    They are: the rows; y's squares, cubes and levels; x's; the cells' squares, the concordant pairs, the product of centred ranks; five
    moments. `by_y` and `by_x` are the rows' clusters, times and starts (cells, their levels, groups) in either order.
    """
    for start in range(0, weights.shape[1], step):
        lanes = min(step, weights.shape[1] - start)
        drawn = np.empty((present.size, lanes), np.uint16)
        for c in range(present.size):
            row, one = drawn[c], weights[present[c], start : start + lanes]
            for b in range(lanes):
                row[b] = one[b]
        y_sums, x_sums, moment_sums = np.zeros((3, lanes)), np.zeros((6, lanes)), np.zeros((5, lanes))
        ranks = np.empty((by_y[2].size - 1, lanes), np.int32)
        n = rank_levels(drawn, by_y[0], by_y[1], by_y[2], ranks, y_sums)
        add_alone(drawn, alone, x_sums)
        if ranks.shape[0] == 2:
            visit_two_levels(drawn, by_x[0], by_x[1], by_x[2], by_x[3], by_x[4], x_sums)
            tell_two_levels(n, ranks[0], x_sums)
        else:
            visit_groups(drawn, by_x[0], by_x[1], by_x[2], by_x[3], by_x[4], widest, ranks, n, x_sums)
        sum_moments(drawn, moments, moment_sums)
        sums[0, start : start + lanes] = n
        sums[1:4, start : start + lanes] = y_sums
        sums[4:10, start : start + lanes] = x_sums
        sums[10:15, start : start + lanes] = moment_sums


@compile_loop
def sum_moments(drawn: Drawn, moments: Floats, sums: Floats) -> None:
    """Add each cluster's five moments, (clusters, 5), as often as it was drawn to (5, resamples)."""
    # Four clusters at a time, added one after the other: a sum is written once for them.
    whole = moments.shape[0] // 4 * 4
    counts = np.empty((4, drawn.shape[1]))
    for c in range(0, whole, 4):
        for k in range(4):
            for b in range(drawn.shape[1]):
                counts[k, b] = drawn[c + k, b]
        for k in range(5):
            first, second, third, fourth = moments[c, k], moments[c + 1, k], moments[c + 2, k], moments[c + 3, k]
            for b in range(drawn.shape[1]):
                added = sums[k, b] + counts[0, b] * first
                added = added + counts[1, b] * second
                added = added + counts[2, b] * third
                sums[k, b] = added + counts[3, b] * fourth
    for c in range(whole, moments.shape[0]):
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
        count_rows(drawn, clusters, times, starts[level], starts[level + 1], counts, 0)
        for b in range(drawn.shape[1]):
            ranks[level, b] = 2 * through[b] + counts[0, b]
            through[b] += counts[0, b]
        add_powers(counts[0], sums)
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
    held, below, before = np.zeros((2, lanes), np.int32), np.zeros(lanes), sums[4]
    near = np.zeros(
        (3, lanes), np.uint32
    )  # rows; upper rows; what upper rows add to `before`, but for the rows that are not near
    room = find_room(drawn)
    left = room
    for g in range(groups.size - 1):
        first, last = cells[groups[g]], cells[groups[g + 1]]
        rows = times[first] if last - first == 1 else times[first:last].sum()
        if rows > left:
            _fold_two_levels(near, below, before)
            left = room
        if rows == 1:
            _add_near(drawn[clusters[first]], levels[groups[g]], near)
            left -= 1
            continue
        held[:] = 0
        for cell in range(groups[g], groups[g + 1]):
            count_rows(drawn, clusters, times, cells[cell], cells[cell + 1], held, levels[cell])
        for b in range(lanes):
            lower, upper = np.float64(held[0, b]), np.float64(held[1, b])
            under = below[b] + np.float64(near[0, b])
            sums[3, b] += lower * lower + upper * upper
            before[b] += upper * (under + under + lower + upper)
            held[0, b] += held[1, b]
        add_powers(held[0], sums)
        if rows > left:  # more than could ever be near
            for b in range(lanes):
                below[b] += np.float64(held[0, b])
        else:
            for b in range(lanes):
                near[0, b] += np.uint32(held[0, b])
            left -= rows
    _fold_two_levels(near, below, before)


@compile_loop
def tell_two_levels(n: Counts, n_lower: Counts, sums: Floats) -> None:
    """Write concordant pairs and the product of centred ranks, which follow from the upper rows' places in x, `sums[4]`."""
    for b in range(n.size):
        rows, before = np.float64(n[b]), sums[4, b]
        n_upper = rows - np.float64(n_lower[b])
        # Of the upper rows' places n_upper^2 are among themselves; half the pairs level in x and unlike in y stand in them once.
        sums[4, b] = (before - n_upper * n_upper - (sums[0, b] - sums[3, b]) / 2.0) / 2.0
        sums[5, b] = rows * (before - rows * n_upper)


@compile_loop
def _add_near(row: Drawn, level: int, near: Near) -> None:
    rows, upper, before = near[0], near[1], near[2]
    if level == 1:
        for b in range(row.size):
            before[b] = np.uint32(before[b] + np.uint32(row[b]) * np.uint32(rows[b] + np.uint32(rows[b] + row[b])))
        for b in range(row.size):
            upper[b] = np.uint32(upper[b] + row[b])
    for b in range(row.size):
        rows[b] = np.uint32(rows[b] + row[b])


@compile_loop
def _fold_two_levels(near: Near, below: Floats, before: Floats) -> None:
    for b in range(below.size):
        before[b] += 2.0 * below[b] * np.float64(near[1, b]) + np.float64(near[2, b])
        below[b] += np.float64(near[0, b])
    near[:] = 0
