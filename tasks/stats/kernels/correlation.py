"""The compiled inner loops of the correlation bootstrap. Imports numba, so import it inside
functions.

Many resamples go in lockstep: the last axis of every array is the resample, and `drawn[cluster,
resample]` says how often a cluster was drawn. Rows come sorted (`tasks.stats.bootstrap`), so a
resample is never sorted again. What the sums mean and which coefficients follow is the matter of
`tasks.stats.bootstrap`.

Rows that were visited lately are `near`: their counts have 32 bits, of which a vector holds twice
as many as of floats, and are folded into the sums before they could overflow.
"""

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.kernels.compiled import compile_loop
from judgelake.tasks.stats.kernels.merging import Merges, count_concordant, sum_ranks
from judgelake.tasks.stats.kernels.row_counts import (
    Counts,
    Drawn,
    Floats,
    GroupedRows,
    Places,
    add_group,
    add_powers,
    count_rows,
    find_room,
)

Near = NDArray[np.uint32]


@compile_loop
def visit_groups(
    drawn: Drawn,
    by_x: GroupedRows,
    widest: int,
    ranks: Counts,
    n: Counts,
    sums: Floats,
) -> None:
    """Visit the groups of equal x by rising x, counting for each row the rows before it with
    smaller y (Knight 1966, JASA 61).

    Adds to `sums`: x's squares, cubes and levels, the cells' squares, the concordant pairs, the
    product of centred ranks; the first four not of groups that are a single row (`add_alone`).
    """
    clusters, times, cells, levels, groups = by_x
    lanes = drawn.shape[1]
    tree, places = (
        np.zeros((ranks.shape[0] + 1, lanes), np.uint32),
        np.zeros((ranks.shape[0], lanes), np.uint32),
    )
    held, entered = (
        np.zeros((widest + 1, lanes), np.int32),
        np.zeros((ranks.shape[0], lanes), np.int32),
    )
    near = np.zeros(
        (3, lanes), np.uint32
    )  # rows; concordant pairs; the rows of a smaller level, for the row that is visited
    below = -n.astype(np.float64)  # twice the rows before that are not near, less all rows
    room = find_room(drawn)
    left = room
    for g in range(groups.size - 1):
        first, last = cells[groups[g]], cells[groups[g + 1]]
        rows = times[first] if last - first == 1 else times[first:last].sum()
        if rows > left:
            _fold_near(tree, places, near, entered, ranks, below, sums)
            left = room
        if rows == 1:
            row, level = drawn[clusters[first]], levels[groups[g]]
            _pair_near(tree, level, row, near)
            _place_near(row, row, near[0], places[level])
            for b in range(lanes):
                near[0, b] += np.uint32(row[b])
            _enter(tree, level, row)
            left -= 1
            continue
        held[:] = 0
        for cell in range(groups[g], groups[g + 1]):
            count_rows(drawn, clusters, times, cells[cell], cells[cell + 1], held, cell - groups[g])
        add_group(held, groups[g + 1] - groups[g], sums)
        if rows > left:  # more than could ever be near
            _visit_far(held, levels[groups[g] : groups[g + 1]], entered, ranks, below, sums)
        else:
            _visit_near(held, levels[groups[g] : groups[g + 1]], tree, places, near)
            left -= rows
    _fold_near(tree, places, near, entered, ranks, below, sums)


@compile_loop
def _pair_near(tree: Near, level: int, counts: Drawn, near: Near) -> None:
    """Add the pairs of rows of one level with near rows of smaller ones: a binary indexed tree
    (Fenwick 1994) of row counts.
    """
    concordant, smaller = near[1], near[2]
    smaller[:] = 0
    node = level
    while node > 0:
        counted = tree[node]
        for b in range(counted.size):
            smaller[b] = np.uint32(smaller[b] + counted[b])
        node &= node - 1
    for b in range(smaller.size):
        concordant[b] = np.uint32(concordant[b] + np.uint32(counts[b]) * smaller[b])


@compile_loop
def _place_near(counts: Drawn, group: Drawn, rows: Near, places: Near) -> None:
    """Add to a level's `places` those of its rows among near rows: twice the rows before them, and
    those level with them in x.
    """
    for b in range(rows.size):
        place = np.uint32(np.uint32(rows[b] + rows[b]) + np.uint32(group[b]))
        places[b] = np.uint32(places[b] + np.uint32(counts[b]) * place)


@compile_loop
def _visit_near(held: Counts, levels: Places, tree: Near, places: Near, near: Near) -> None:
    """Visit a group, `held` by cell and in the last row whole, among near rows."""
    group = held[held.shape[0] - 1]
    for k in range(levels.size):
        _pair_near(tree, levels[k], held[k], near)
        _place_near(held[k], group, near[0], places[levels[k]])
    for b in range(group.size):
        near[0, b] += np.uint32(group[b])
    for k in range(levels.size):
        _enter(tree, levels[k], held[k])


@compile_loop
def _visit_far(
    held: Counts, levels: Places, entered: Counts, ranks: Counts, below: Floats, sums: Floats
) -> None:
    """Visit a group, `held` by cell and in the last row whole, where no row is near; `entered` are
    the rows before by level.
    """
    group, smaller = held[held.shape[0] - 1], np.zeros(below.size)
    level = 0
    for k in range(levels.size):
        while level < levels[k]:
            for b in range(smaller.size):
                smaller[b] += entered[level, b]
            level += 1
        for b in range(smaller.size):
            sums[4, b] += np.float64(held[k, b]) * smaller[b]
        for b in range(smaller.size):
            sums[5, b] += np.float64(held[k, b]) * ranks[level, b] * (below[b] + group[b])
    for b in range(below.size):
        below[b] += 2.0 * group[b]
    for k in range(levels.size):
        for b in range(below.size):
            entered[levels[k], b] += held[k, b]


@compile_loop
def _fold_near(
    tree: Near,
    places: Near,
    near: Near,
    entered: Counts,
    ranks: Counts,
    below: Floats,
    sums: Floats,
) -> None:
    """Add what is near to the sums and to `entered`, the rows by level; nothing is near then."""
    smaller = np.zeros(below.size)
    _part_levels(tree)
    for level in range(ranks.shape[0]):
        counts, own = tree[level + 1], entered[level]
        for b in range(below.size):
            sums[4, b] += np.float64(counts[b]) * smaller[b]
        for b in range(below.size):
            sums[5, b] += ranks[level, b] * (
                np.float64(places[level, b]) + np.float64(counts[b]) * below[b]
            )
        for b in range(below.size):
            smaller[b] += own[b]
        for b in range(below.size):
            own[b] += np.int32(counts[b])
    for b in range(below.size):
        sums[4, b] += np.float64(near[1, b])
    for b in range(below.size):
        below[b] += 2.0 * np.float64(near[0, b])
    tree[:] = 0
    places[:] = 0
    near[:] = 0


@compile_loop
def _part_levels(tree: Near) -> None:
    """Turn the tree's sums into each level's own count."""
    for node in range(tree.shape[0] - 1, 0, -1):
        above = node + (node & -node)
        if above < tree.shape[0]:
            for b in range(tree.shape[1]):
                tree[above, b] -= tree[node, b]


@compile_loop
def _enter(tree: Near, level: int, counts: Drawn) -> None:
    node = level + 1
    while node < tree.shape[0]:
        counted = tree[node]
        for b in range(counted.size):
            counted[b] = np.uint32(counted[b] + np.uint32(counts[b]))
        node += node & -node


@compile_loop
def sum_all(
    weights: Drawn,
    present: Places,
    step: int,
    by_y: tuple[Places, Places, Places],
    by_x: GroupedRows,
    widest: int,
    alone: tuple[Places, Places],
    merged: tuple[Counts, Counts, Merges],
    moments: Floats,
    sums: Floats,
) -> None:
    """Write the fifteen sums of each resample to `sums`, (15, resamples), `step` resamples at a
    time, from (clusters, resamples).

    They are: the rows; y's squares, cubes and levels; x's; the cells' squares, the concordant
    pairs, the product of centred ranks; five moments. `by_y` and `by_x` are the rows' clusters,
    times and starts (cells, their levels, groups) in either order. `merged` are the clusters
    and the levels of the rows by x and their `order_merges`, none where y has few levels.
    """
    alike = True
    for c in range(present.size):
        alike = alike and alone[0][c] == alone[1][c]
    for start in range(0, weights.shape[1], step):
        lanes = min(step, weights.shape[1] - start)
        drawn = np.empty((present.size, lanes), np.uint16)
        for c in range(present.size):
            row, cluster = drawn[c], weights[present[c], start : start + lanes]
            for b in range(lanes):
                row[b] = cluster[b]
        y_sums, x_sums, moment_sums = (
            np.zeros((3, lanes)),
            np.zeros((6, lanes)),
            np.zeros((5, lanes)),
        )
        ranks = np.empty((by_y[2].size - 1, lanes), np.int32)
        add_alone(drawn, alone[0], x_sums)
        _copy_sums(x_sums[:3], y_sums, 0, 0)
        if not alike:
            x_sums[:] = 0
            add_alone(drawn, alone[1], x_sums)
        for b in range(lanes):  # such a row is a cell
            x_sums[3, b] += x_sums[0, b]
        n = rank_levels(drawn, by_y[0], by_y[1], by_y[2], ranks, y_sums)
        if merged[2].size:
            sum_ranks(drawn, by_x, widest, ranks, n, x_sums)
            count_concordant(drawn, merged[0], by_x[1], merged[1], merged[2], x_sums[4])
        elif ranks.shape[0] == 2:
            visit_two_levels(drawn, by_x, x_sums)
            finish_two_levels(n, ranks[0], x_sums)
        else:
            visit_groups(drawn, by_x, widest, ranks, n, x_sums)
        sum_moments(drawn, moments, moment_sums)
        for b in range(lanes):
            sums[0, start + b] = n[b]
        _copy_sums(y_sums, sums, 1, start)
        _copy_sums(x_sums, sums, 4, start)
        _copy_sums(moment_sums, sums, 10, start)


@compile_loop
def _copy_sums(given: Floats, sums: Floats, first: int, start: int) -> None:
    """Write `given` to `sums` from row `first` and resample `start` on."""
    # not `sums[...] = given`: compiling the error that its shapes might raise takes seconds
    for k in range(given.shape[0]):
        for b in range(given.shape[1]):
            sums[first + k, start + b] = given[k, b]


@compile_loop
def sum_moments(drawn: Drawn, moments: Floats, sums: Floats) -> None:
    """Add each cluster's five moments, (clusters, 5), as often as it was drawn to (5,
    resamples).
    """
    # Four clusters at a time, added one after the other: a sum is written once for them.
    whole = moments.shape[0] // 4 * 4
    counts = np.empty((4, drawn.shape[1]))
    for c in range(0, whole, 4):
        for k in range(4):
            for b in range(drawn.shape[1]):
                counts[k, b] = drawn[c + k, b]
        for k in range(5):
            first, second, third, fourth = (
                moments[c, k],
                moments[c + 1, k],
                moments[c + 2, k],
                moments[c + 3, k],
            )
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
def rank_levels(
    drawn: Drawn, clusters: Places, times: Places, starts: Places, ranks: Counts, sums: Floats
) -> Counts:
    """Write twice the mid-rank less 1 of each y level; add to `sums` the levels' squares, cubes and
    how many were drawn, not of levels that are a single row (`add_alone`).

    `clusters[starts[level] : starts[level + 1]]` are the clusters of a level's rows, each standing
    there so many `times`. Returns the rows of each resample.
    """
    through = np.zeros(drawn.shape[1], np.int32)
    counts = np.zeros((1, drawn.shape[1]), np.int32)
    for level in range(starts.size - 1):
        first = starts[level]
        if starts[level + 1] - first == 1 and times[first] == 1:
            row = drawn[clusters[first]]
            for b in range(through.size):
                ranks[level, b] = 2 * through[b] + np.int32(row[b])
                through[b] += np.int32(row[b])
            continue
        counts[:] = 0
        count_rows(drawn, clusters, times, starts[level], starts[level + 1], counts, 0)
        for b in range(drawn.shape[1]):
            ranks[level, b] = 2 * through[b] + counts[0, b]
            through[b] += counts[0, b]
        add_powers(counts[0], sums)
    return through


@compile_loop
def add_alone(drawn: Drawn, alone: Places, sums: Floats) -> None:
    """Add to `sums` the squares, cubes and levels of the groups that are a single row, `alone` by
    cluster.
    """
    squares, cubes, levels = sums[0], sums[1], sums[2]
    for c in range(alone.size):
        n, row = np.float64(alone[c]), drawn[c]
        if n > 0:
            for b in range(row.size):
                count = np.float64(row[b])
                squares[b] += n * count * count
                cubes[b] += n * count * count * count
                levels[b] += n * (row[b] > 0)


@compile_loop
def visit_two_levels(
    drawn: Drawn,
    by_x: GroupedRows,
    sums: Floats,
) -> None:
    """As `visit_groups` where y has two levels; adds to `sums[4]` each row's rows before it, twice,
    and level with it, of upper rows only.
    """
    clusters, times, cells, levels, groups = by_x
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
def finish_two_levels(n: Counts, n_lower: Counts, sums: Floats) -> None:
    """Write concordant pairs and the product of centred ranks, which follow from the upper rows'
    places in x, `sums[4]`.
    """
    for b in range(n.size):
        rows, before = np.float64(n[b]), sums[4, b]
        n_upper = rows - np.float64(n_lower[b])
        # Of the upper rows' places n_upper^2 are among themselves; half the pairs level in x and
        # unlike in y stand in them once.
        sums[4, b] = (before - n_upper * n_upper - (sums[0, b] - sums[3, b]) / 2.0) / 2.0
        sums[5, b] = rows * (before - rows * n_upper)


@compile_loop
def _add_near(row: Drawn, level: int, near: Near) -> None:
    rows, upper, before = near[0], near[1], near[2]
    if level == 1:
        for b in range(row.size):
            before[b] = np.uint32(
                before[b] + np.uint32(row[b]) * np.uint32(rows[b] + np.uint32(rows[b] + row[b]))
            )
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
