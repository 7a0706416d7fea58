"""Krippendorff's alpha of any number of raters with missing values, and its cluster-bootstrap interval."""

from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tasks.stats.cluster_sums import AnyWeights, Floats, Indices, check_clusters, draw_once, slice_resamples, sum_columns
from tasks.stats.estimates import Estimate, divide, summarise_draws

Metric = Literal["nominal", "ordinal", "interval"]


class KrippendorffAlpha(NamedTuple):
    """Alpha (its n are the values that can be paired) and the values left out because they stand alone in their unit."""

    alpha: Estimate
    n_units: int
    n_left_out: int


class _Coincidences(NamedTuple):
    """Levels, how many values of each a cluster holds, and pairs of unlike levels in one unit, each as 2 / (values - 1)."""

    levels: Floats
    values: csr_array
    low: Indices
    high: Indices
    unlike: csr_array


def krippendorff_alpha(
    units: Indices, values: Floats, metric: Metric, clusters: Indices, weights: AnyWeights
) -> KrippendorffAlpha:
    """alpha = 1 - D_o / D_e from the coincidences of values within units (Krippendorff 2011, "Computing alpha-reliability").

    One row a value: unit code, value (NaN is missing), the unit's cluster. Each resample recomputes both disagreements, the
    ordinal metric its ranks too. NaN where all values are equal.
    """
    check_clusters("krippendorff_alpha", clusters, values.size, weights)
    if units.shape != values.shape:
        raise ValueError(f"krippendorff_alpha: {units.size} unit codes for {values.size} values; expected one a value; pair them")
    is_there = ~np.isnan(values)
    _, unit, of_unit = np.unique(units[is_there], return_inverse=True, return_counts=True)
    kept = of_unit[unit] >= 2
    cluster = clusters[is_there][kept]
    found = _find_coincidences(unit[kept], values[is_there][kept], of_unit[unit[kept]], cluster, weights.shape[1])
    drawn = np.concatenate([np.empty(0), *(_alpha(found, weights[part], metric) for part in _parts(found, weights))])
    value = _alpha(found, draw_once(weights.shape[1]), metric)[0]
    alpha = summarise_draws(value, drawn, cluster.size, cluster)
    return KrippendorffAlpha(alpha, int((of_unit >= 2).sum()), int((~kept).sum()))


def _find_coincidences(unit: Indices, values: Floats, of_unit: Indices, cluster: Indices, n_clusters: int) -> _Coincidences:
    levels, level = np.unique(values, return_inverse=True)
    by_level = csr_array((np.ones(level.size), (level, cluster)), shape=(levels.size, n_clusters))
    first, second = _pair_within(unit)
    low, high = np.minimum(level[first], level[second]), np.maximum(level[first], level[second])
    is_unlike = low < high
    names, pair = np.unique(low[is_unlike] * max(levels.size, 1) + high[is_unlike], return_inverse=True)
    at = first[is_unlike]
    unlike = csr_array((2 / (of_unit[at] - 1), (pair, cluster[at])), shape=(names.size, n_clusters))
    return _Coincidences(levels, by_level, names // max(levels.size, 1), names % max(levels.size, 1), unlike)


def _pair_within(unit: Indices) -> tuple[Indices, Indices]:
    """All pairs of rows of one unit, as the places of their first and second row."""
    order = np.argsort(unit, kind="stable")
    starts = np.searchsorted(unit[order], unit[order])
    place = np.arange(unit.size) - starts
    second = np.repeat(np.arange(unit.size), place)
    first = np.repeat(starts, place) + np.arange(second.size) - np.repeat(np.cumsum(place) - place, place)
    return order[first], order[second]


def _parts(found: _Coincidences, weights: AnyWeights) -> list[slice]:
    return slice_resamples(8 * (4 * found.levels.size + 3 * found.low.size + 1), weights)


def _alpha(found: _Coincidences, weights: AnyWeights, metric: Metric) -> Floats:
    counts = sum_columns(found.values, weights)
    unlike = sum_columns(found.unlike, weights)
    n = counts.sum(axis=0)
    if metric == "nominal":
        observed, expected = unlike.sum(axis=0), n**2 - (counts**2).sum(axis=0)
    else:
        scores = _mid_ranks(counts) if metric == "ordinal" else np.broadcast_to(found.levels[:, None], counts.shape)
        centred = scores - divide((scores * counts).sum(axis=0), n)
        observed = (unlike * (centred[found.low] - centred[found.high]) ** 2).sum(axis=0)
        expected = 2 * n * (counts * centred**2).sum(axis=0)
    # Rounding must not hide that all values are equal.
    expected[(counts == n).any(axis=0)] = 0
    return 1 - divide(observed * (n - 1), expected)


def _mid_ranks(counts: Floats) -> Floats:
    ranks: Floats = np.cumsum(counts, axis=0) - counts / 2
    return ranks
