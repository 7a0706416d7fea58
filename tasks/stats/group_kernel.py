"""The compiled loop that counts concordant pairs and ranks over groups of equal x. Imports numba, so import it inside functions.

The arrays are those of `tasks.stats.correlation_kernel`, which has the case of two levels and all else that the coefficients need.
"""

import numpy as np

from tasks.stats.compiled import compile_loop
from tasks.stats.row_kernel import Counts, Drawn, Floats, Near, Places, add_powers, count_rows, find_room


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
    tree, places = np.zeros((ranks.shape[0] + 1, lanes), np.uint32), np.zeros((ranks.shape[0], lanes), np.uint32)
    held, entered = np.zeros((widest + 1, lanes), np.int32), np.zeros((ranks.shape[0], lanes), np.int32)
    near = np.zeros((3, lanes), np.uint32)  # rows; concordant pairs; the rows of a smaller level, for the row that is visited
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
        _add_group(held, groups[g + 1] - groups[g], sums)
        if rows > left:  # more than could ever be near
            _visit_far(held, levels[groups[g] : groups[g + 1]], entered, ranks, below, sums)
        else:
            _visit_near(held, levels[groups[g] : groups[g + 1]], tree, places, near)
            left -= rows
    _fold_near(tree, places, near, entered, ranks, below, sums)


@compile_loop
def _pair_near(tree: Near, level: int, counts: Drawn, near: Near) -> None:
    """Add the pairs of rows of one level with near rows of smaller ones: a binary indexed tree (Fenwick 1994) of row counts."""
    concordant, smaller = near[1], near[2]
    smaller[:] = 0
    node = level
    while node > 0:
        one = tree[node]
        for b in range(one.size):
            smaller[b] = np.uint32(smaller[b] + one[b])
        node &= node - 1
    for b in range(smaller.size):
        concordant[b] = np.uint32(concordant[b] + np.uint32(counts[b]) * smaller[b])


@compile_loop
def _place_near(counts: Drawn, group: Drawn, rows: Near, places: Near) -> None:
    """Add to a level's `places` those of its rows among near rows: twice the rows before them, and those level with them in x."""
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
def _visit_far(held: Counts, levels: Places, entered: Counts, ranks: Counts, below: Floats, sums: Floats) -> None:
    """Visit a group, `held` by cell and in the last row whole, where no row is near; `entered` are the rows before by level."""
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
def _fold_near(tree: Near, places: Near, near: Near, entered: Counts, ranks: Counts, below: Floats, sums: Floats) -> None:
    """Add what is near to the sums and to `entered`, the rows by level; nothing is near then."""
    smaller = np.zeros(below.size)
    _part_levels(tree)
    for level in range(ranks.shape[0]):
        counts, own = tree[level + 1], entered[level]
        for b in range(below.size):
            sums[4, b] += np.float64(counts[b]) * smaller[b]
        for b in range(below.size):
            sums[5, b] += ranks[level, b] * (np.float64(places[level, b]) + np.float64(counts[b]) * below[b])
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
def _add_group(held: Counts, n_cells: int, sums: Floats) -> None:
    """Add the cells up into the last row of `held`; add to `sums` the cells' squares and the group's powers."""
    group = held[held.shape[0] - 1]
    for k in range(n_cells):
        for b in range(group.size):
            count = np.float64(held[k, b])
            sums[3, b] += count * count
        for b in range(group.size):
            group[b] += held[k, b]
    add_powers(group, sums)


@compile_loop
def _enter(tree: Near, level: int, counts: Drawn) -> None:
    node = level + 1
    while node < tree.shape[0]:
        one = tree[node]
        for b in range(one.size):
            one[b] = np.uint32(one[b] + np.uint32(counts[b]))
        node += node & -node
