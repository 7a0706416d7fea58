"""Fleiss' kappa of several raters with a cluster-bootstrap interval. Raters who missed some units: `krippendorff_alpha`."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from tasks.stats.cluster_sums import AnyWeights, Floats, Indices, check_clusters, draw_once, slice_resamples
from tasks.stats.estimates import Estimate, divide, summarise_draws
from tasks.stats.unit_patterns import fold_units, number_units, sum_patterns


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
    _, _, unit = number_units(units[is_there])
    is_full = np.bincount(unit) == raters
    kept = is_full[unit]
    found = fold_units(unit[kept], labels[is_there][kept], clusters[is_there][kept])
    squares = csr_array(found.tally.power(2).sum(axis=0)[None])
    features = csr_array(vstack([squares, found.tally]))
    value = _kappa(sum_patterns(features, found, draw_once(weights.shape[1])), raters)[0]
    parts = slice_resamples(8 * (2 * features.shape[0] + features.shape[1]), weights)
    drawn = [_kappa(sum_patterns(features, found, weights[part]), raters) for part in parts]
    kappa = summarise_draws(value, np.concatenate([np.empty(0), *drawn]), found.cluster.size, found.cluster)
    return FleissKappa(kappa, raters, int(is_full.size - found.cluster.size))


def _kappa(sums: Floats, raters: int) -> Floats:
    squares, of_level = sums[0], sums[1:]
    total = of_level.sum(axis=0)
    observed = divide(squares - total, total * (raters - 1))
    by_chance = divide((of_level**2).sum(axis=0), total**2)
    return divide(observed - by_chance, 1 - by_chance)
