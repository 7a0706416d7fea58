"""Paired rows in the orders that `tasks.stats.correlation_kernel` visits: sorted once, for all resamples. No coefficients."""

from dataclasses import dataclass

import numpy as np

from tasks.stats.cluster_sums import Floats, Indices


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """Rows sorted by x then y (`x` is the side with more levels) and by y. Clusters are numbered anew, without gaps.

    Rows that are equal, cluster and all, are one row counted so many `times`. A cell is one x with one y, a group all cells of one x.
    `cell_starts` point into `clusters_by_x`, `group_starts` into the cells, `level_starts` into `clusters_by_y`; each ends with the
    total. `alone` counts each cluster's groups that are a single row.
    """

    x: Floats
    y: Floats
    clusters: Indices
    present: Indices
    clusters_by_x: Indices
    times_by_x: Indices
    cell_starts: Indices
    cell_levels: Indices
    group_starts: Indices
    alone: Indices
    clusters_by_y: Indices
    times_by_y: Indices
    level_starts: Indices

    @property
    def n_levels(self) -> int:
        """The number of distinct y."""
        return self.level_starts.size - 1

    @property
    def widest_group(self) -> int:
        """The most cells of one x."""
        return int(np.diff(self.group_starts).max())

    def sum_moments(self) -> Floats:
        """(clusters, 5): each cluster's sums of x, y, x^2, y^2 and x y, the values centred and scaled into [-1, 1]."""
        ones = np.ones(self.x.size)
        x, y = recentre(self.x, ones), recentre(self.y, ones)
        sums = [np.bincount(self.clusters, values, self.present.size) for values in (x, y, x * x, y * y, x * y)]
        return np.ascontiguousarray(np.stack(sums, axis=1))


def order_rows(x: Floats, y: Floats, clusters: Indices) -> OrderedRows:
    """Sort at least one row; the sides change places where y has more levels (all coefficients are symmetric)."""
    x_values, x_level = np.unique(x, return_inverse=True)
    y_values, y_level = np.unique(y, return_inverse=True)
    if y_values.size > x_values.size:
        x, y, x_level, y_level = y, x, y_level, x_level
    present, cluster = _number_clusters(clusters)
    by_x, by_y = _sort_rows(x_level, y_level, cluster), _sort_rows(y_level, cluster)
    x_rows, y_rows = _find_starts(x_level[by_x], y_level[by_x], cluster[by_x]), _find_starts(y_level[by_y], cluster[by_y])
    times = np.diff(x_rows)
    by_x, by_y = by_x[x_rows[:-1]], by_y[y_rows[:-1]]
    cell_starts = _find_starts(x_level[by_x], y_level[by_x])
    first_rows = by_x[cell_starts[:-1]]
    group_starts = _find_starts(x_level[first_rows])
    begins = cell_starts[group_starts]
    alone = begins[:-1][(np.diff(begins) == 1) & (times[begins[:-1]] == 1)]
    return OrderedRows(
        x=x,
        y=y,
        clusters=cluster,
        present=present,
        clusters_by_x=cluster[by_x],
        times_by_x=times,
        cell_starts=cell_starts,
        cell_levels=y_level[first_rows],
        group_starts=group_starts,
        alone=np.bincount(cluster[by_x[alone]], minlength=present.size),
        clusters_by_y=cluster[by_y],
        times_by_y=np.diff(y_rows),
        level_starts=_find_starts(y_level[by_y]),
    )


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
