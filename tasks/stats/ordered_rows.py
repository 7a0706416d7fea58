"""Rows in the order in which correlations on resamples are summed, equal rows folded into one. The
sums are `tasks.stats.bootstrap`'s.
"""

import math
from dataclasses import dataclass

import numpy as np

from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.correlation import find_levels


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """Rows sorted by x then y (`x` is the side with more levels), then cluster, and by y. Clusters
    are numbered anew, without gaps. Equal rows in another order give the same.

    Rows that are equal, cluster and all, are one row counted so many `times`; x, y and
    `clusters_by_x` have one value each of these. A cell is one x with
    one y, a group all cells of one x. `cell_starts` point into `clusters_by_x`, `group_starts` into
    the cells, `level_starts` into `clusters_by_y`; each ends with the total. `alone_by_x` counts
    each cluster's groups that are a single row, `alone_by_y` its levels that are.
    """

    x: Floats
    y: Floats
    present: Indices
    clusters_by_x: Indices
    times_by_x: Indices
    cell_starts: Indices
    cell_levels: Indices
    group_starts: Indices
    alone_by_x: Indices
    clusters_by_y: Indices
    times_by_y: Indices
    level_starts: Indices
    alone_by_y: Indices

    @property
    def n_levels(self) -> int:
        """The number of distinct y."""
        return self.level_starts.size - 1

    @property
    def row_levels(self) -> Indices:
        """The y level of each row by x."""
        return np.repeat(self.cell_levels, np.diff(self.cell_starts))

    @property
    def order_by_x(self) -> Indices:
        """The rows by rising x, and by falling y where x is the same."""
        begins = self.cell_starts[self.group_starts]
        ends = np.repeat(begins[:-1] + begins[1:] - 1, np.diff(begins))
        return ends - np.arange(self.clusters_by_x.size)

    @property
    def widest_group(self) -> int:
        """The most cells of one x."""
        return int(np.diff(self.group_starts).max())

    def sum_moments(self) -> Floats:
        """(clusters, 5): each cluster's sums of x, y, x^2, y^2 and x y, the values centred and
        scaled into [-1, 1].
        """
        times = self.times_by_x.astype(np.float64)
        x, y = recentre(self.x, times), recentre(self.y, times)
        sums = [
            np.bincount(self.clusters_by_x, times * values, self.present.size)
            for values in (x, y, x * x, y * y, x * y)
        ]
        return np.ascontiguousarray(np.stack(sums, axis=1))


def order_rows(x: Floats, y: Floats, clusters: Indices) -> OrderedRows:
    """Sort at least one row; the sides change places where y has more levels (all coefficients are
    symmetric).
    """
    (x_values, x_level), (y_values, y_level) = find_levels(x), find_levels(y)
    if y_values.size > x_values.size:
        x_values, y_values, x_level, y_level = y_values, x_values, y_level, x_level
    present, cluster = _number_clusters(clusters)
    x_level, y_level, cluster, times = _fold_rows(
        (x_level, y_level, cluster), (x_values.size, y_values.size, present.size)
    )
    by_y = _sort_rows(y_level, cluster)
    y_rows = _find_starts(y_level[by_y], cluster[by_y])
    cell_starts = _find_starts(x_level, y_level)
    first_rows = cell_starts[:-1]
    group_starts = _find_starts(x_level[first_rows])
    clusters_by_y, times_by_y = (
        cluster[by_y[y_rows[:-1]]],
        np.add.reduceat(times[by_y], y_rows[:-1]),
    )
    level_starts = _find_starts(y_level[by_y[y_rows[:-1]]])
    n_clusters = present.size
    return OrderedRows(
        x=x_values[x_level],
        y=y_values[y_level],
        present=present,
        clusters_by_x=cluster,
        times_by_x=times,
        cell_starts=cell_starts,
        cell_levels=y_level[first_rows],
        group_starts=group_starts,
        alone_by_x=_count_alone(cell_starts[group_starts], cluster, times, n_clusters),
        clusters_by_y=clusters_by_y,
        times_by_y=times_by_y,
        level_starts=level_starts,
        alone_by_y=_count_alone(level_starts, clusters_by_y, times_by_y, n_clusters),
    )


def _count_alone(starts: Indices, clusters: Indices, times: Indices, n_clusters: int) -> Indices:
    first = starts[:-1]
    alone = first[(np.diff(starts) == 1) & (times[first] == 1)]
    return np.bincount(clusters[alone], minlength=n_clusters)


# codes of x, y and cluster together that are counted in a table, per row
_COUNTED = 8


def _fold_rows(
    codes: tuple[Indices, Indices, Indices], sizes: tuple[int, int, int]
) -> tuple[Indices, Indices, Indices, Indices]:
    """The distinct rows of some codes, sorted, and how often each is there."""
    n_rows = codes[0].size
    if math.prod(sizes) <= _COUNTED * n_rows:
        code = (codes[0] * sizes[1] + codes[1]) * sizes[2] + codes[2]
        counts = np.bincount(code)
        held = np.flatnonzero(counts)
        rest, last = np.divmod(held, sizes[2])
        first, second = np.divmod(rest, sizes[1])
        return first, second, last, counts[held]
    order = _sort_rows(*codes)
    starts = _find_starts(*(code[order] for code in codes))
    first, second, last = (code[order[starts[:-1]]] for code in codes)
    return first, second, last, np.diff(starts)


def recentre(values: Floats, counts: Floats) -> Floats:
    """Values less their weighted mean, scaled into [-1, 1] so that squares stay in range."""
    tiny = np.finfo(np.float64).tiny
    scaled = values / max(np.abs(values).max(initial=0.0), tiny)
    centred = scaled - np.average(scaled, weights=counts)
    unit: Floats = centred / max(np.abs(centred).max(initial=0.0), tiny)
    return unit


def _number_clusters(clusters: Indices) -> tuple[Indices, Indices]:
    """The clusters that are there, and each row's number among them."""
    is_there = np.bincount(clusters) > 0
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[clusters]


def _sort_rows(*codes: Indices) -> Indices:
    """The order of rows by the first code, then by the second."""
    order = np.arange(codes[0].size)
    for code in reversed(codes):
        # Codes of 16 bits are sorted by counting.
        keys = code.astype(np.uint16) if code.max(initial=0) < 1 << 16 else code
        order = order[np.argsort(keys[order], kind="stable")]
    return order


def _find_starts(*keys: Indices) -> Indices:
    """Where runs of equal keys begin, and the total."""
    changes = np.zeros(keys[0].size, dtype=np.bool_)
    changes[0] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.append(np.flatnonzero(changes), changes.size)
