"""Fleiss' kappa of several raters with a cluster-bootstrap interval. Raters who missed some units: `krippendorff_alpha`."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from tasks.stats.cluster_sums import AnyWeights, Floats, Indices, check_clusters, draw_once, sum_columns
from tasks.stats.estimates import Estimate, divide, summarise_draws


class FleissKappa(NamedTuple):
    """Kappa (its n are units) and the units left out because they have another number of labels than `raters`."""

    kappa: Estimate
    raters: int
    n_left_out: int


def fleiss_kappa(units: Indices, labels: Floats, raters: int, clusters: Indices, weights: AnyWeights) -> FleissKappa:
    """Agreement of `raters` labels a unit beyond chance (Fleiss 1971, Psychological Bulletin 76, equations 5-7).

    One row a label: unit code, label (NaN is missing), the unit's cluster. The kappa is defined for equally many labels a
    unit; others are left out and counted. NaN where all labels are one.
    """
    check_clusters("fleiss_kappa", clusters, labels.size, weights)
    if raters < 2 or units.shape != labels.shape:
        raise ValueError(
            f"fleiss_kappa: {raters} raters, {units.size} unit codes for {labels.size} labels; expected 2 or more raters and one "
            "unit code a label; pass how many label each unit"
        )
    is_there = ~np.isnan(labels)
    _, unit = np.unique(units[is_there], return_inverse=True)
    is_full = np.bincount(unit) == raters
    kept = is_full[unit]
    cluster_of_unit = np.zeros(is_full.size, dtype=np.int64)
    cluster_of_unit[unit] = clusters[is_there]
    table = _tabulate(unit[kept], labels[is_there][kept], cluster_of_unit, weights.shape[1])
    value = _kappa(sum_columns(table, draw_once(weights.shape[1])), raters)[0]
    used = cluster_of_unit[is_full]
    kappa = summarise_draws(value, _kappa(sum_columns(table, weights), raters), used.size, used)
    return FleissKappa(kappa, raters, int(is_full.size - used.size))


def _tabulate(unit: Indices, labels: Floats, cluster_of_unit: Indices, n_clusters: int) -> csr_array:
    """(1 + levels, clusters): the sum of squared counts unit x level, then the labels of each level."""
    levels, level = np.unique(labels, return_inverse=True)
    of_level = csr_array((np.ones(unit.size), (level, cluster_of_unit[unit])), shape=(levels.size, n_clusters))
    cells, counts = np.unique(unit * max(levels.size, 1) + level, return_counts=True)
    of_cell = cluster_of_unit[cells // max(levels.size, 1)]
    squares = csr_array((counts.astype(np.float64) ** 2, (np.zeros_like(of_cell), of_cell)), shape=(1, n_clusters))
    return csr_array(vstack([squares, of_level]))


def _kappa(sums: Floats, raters: int) -> Floats:
    squares, of_level = sums[0], sums[1:]
    total = of_level.sum(axis=0)
    observed = divide(squares - total, total * (raters - 1))
    by_chance = divide((of_level**2).sum(axis=0), total**2)
    return divide(observed - by_chance, 1 - by_chance)
