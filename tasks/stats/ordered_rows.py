"""Paired rows in the orders that `tasks.stats.correlation_kernel` visits: sorted once, for all resamples. No coefficients."""

from dataclasses import dataclass

import numpy as np

from tasks.stats.cluster_sums import Floats, Indices


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """Rows sorted by x then y (`x` is the side with more levels) and by y. Clusters are numbered anew, without gaps.

    A cell is one x with one y, a group all cells of one x. `cell_starts` point into `clusters_by_x`, `group_starts` into the
    cells, `level_starts` into `clusters_by_y`; each ends with the total.
    """

    x: Floats
    y: Floats
    clusters: Indices
    present: Indices
    clusters_by_x: Indices
    cell_starts: Indices
    cell_levels: Indices
    group_starts: Indices
    clusters_by_y: Indices
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
    present, cluster = np.unique(clusters, return_inverse=True)
    by_x, by_y = np.lexsort((y_level, x_level)), np.argsort(y_level, kind="stable")
    cell_starts = _find_starts(x_level[by_x], y_level[by_x])
    first_rows = by_x[cell_starts[:-1]]
    return OrderedRows(
        x=x,
        y=y,
        clusters=cluster,
        present=present,
        clusters_by_x=cluster[by_x],
        cell_starts=cell_starts,
        cell_levels=y_level[first_rows],
        group_starts=_find_starts(x_level[first_rows]),
        clusters_by_y=cluster[by_y],
        level_starts=_find_starts(y_level[by_y]),
    )


def recentre(values: Floats, counts: Floats) -> Floats:
    """Values less their weighted mean, scaled into [-1, 1] so that squares stay in range."""
    tiny = np.finfo(np.float64).tiny
    scaled = values / max(np.abs(values).max(initial=0.0), tiny)
    centred = scaled - np.average(scaled, weights=counts)
    unit: Floats = centred / max(np.abs(centred).max(initial=0.0), tiny)
    return unit


def _find_starts(*keys: Indices) -> Indices:
    """Where runs of equal keys begin, and the total."""
    changes = np.zeros(keys[0].size, dtype=np.bool_)
    changes[0] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.append(np.flatnonzero(changes), changes.size)
