"""Krippendorff's alpha of any number of raters with missing values, and its cluster-bootstrap interval."""

from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, vstack

from tasks.stats.cluster_sums import AnyWeights, Floats, Indices, check_clusters, draw_once, slice_resamples
from tasks.stats.estimates import Estimate, divide, summarise_draws
from tasks.stats.unit_patterns import UnitPatterns, fold_units, number_units, sum_patterns

Metric = Literal["nominal", "ordinal", "interval"]


class KrippendorffAlpha(NamedTuple):
    """Alpha (its n are the values that can be paired) and the values left out because they stand alone in their unit."""

    alpha: Estimate
    n_units: int
    n_left_out: int


class _Coincidences(NamedTuple):
    """What the units add to alpha: `features`, (quantities, patterns), and what they are.

    Nominal: unlike pairs, then the values of each level. Interval: squared differences of pairs, values, their sum and sum of
    squares. Ordinal: the values of each level, then the unlike pairs of the levels `low` and `high`. A pair counts 2 / (values - 1).
    """

    features: csr_array
    n_levels: int
    low: Indices
    high: Indices


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
    n_units, _, unit = number_units(units[is_there])
    of_unit = np.bincount(unit, minlength=n_units)
    kept = of_unit[unit] >= 2
    cluster = clusters[is_there][kept]
    found = fold_units(unit[kept], values[is_there][kept], cluster)
    added = _find_coincidences(found, metric)
    parts = slice_resamples(8 * (4 * added.features.shape[0] + found.tally.shape[1]), weights)
    drawn = np.concatenate(
        [np.empty(0), *(_alpha(added, sum_patterns(added.features, found, weights[part]), metric) for part in parts)]
    )
    value = _alpha(added, sum_patterns(added.features, found, draw_once(weights.shape[1])), metric)[0]
    alpha = summarise_draws(value, drawn, cluster.size, cluster)
    return KrippendorffAlpha(alpha, int((of_unit >= 2).sum()), int((~kept).sum()))


def _find_coincidences(found: UnitPatterns, metric: Metric) -> _Coincidences:
    sizes, none = found.sizes, np.zeros(0, dtype=np.int64)
    if metric == "nominal":
        alike = np.asarray(found.tally.power(2).sum(axis=0))
        features = vstack([csr_array(((sizes**2 - alike) / (sizes - 1))[None]), found.tally])
        return _Coincidences(csr_array(features), found.levels.size, none, none)
    if metric == "interval":
        centred = found.levels - (found.levels.mean() if found.levels.size else 0)
        sums, squares = found.tally.T @ centred, found.tally.T @ centred**2
        differences = 2 * (sizes * squares - sums**2) / (sizes - 1)
        return _Coincidences(
            csr_array(np.stack([np.maximum(differences, 0), sizes, sums, squares])), found.levels.size, none, none
        )
    low, high, pairs = _pair_levels(found.tally, sizes)
    return _Coincidences(csr_array(vstack([found.tally, pairs])), found.levels.size, low, high)


def _pair_levels(tally: csr_array, sizes: Floats) -> tuple[Indices, Indices, csr_array]:
    """Unlike levels that meet in a pattern, and in each pattern how many pairs of them, as 2 / (values - 1) each."""
    cells = coo_array(tally.T)  # by pattern, levels rising within it
    pattern, level = (np.asarray(axis, dtype=np.int64) for axis in cells.coords)
    order = np.lexsort((level, pattern))
    pattern, level, counts = pattern[order], level[order], np.asarray(cells.data)[order]
    before = np.arange(pattern.size) - np.searchsorted(pattern, pattern)
    second = np.repeat(np.arange(pattern.size), before)
    first = second - 1 - (np.arange(second.size) - np.repeat(np.cumsum(before) - before, before))
    n_levels = max(tally.shape[0], 1)
    names, pair = np.unique(level[first] * n_levels + level[second], return_inverse=True)
    weight = counts[first] * counts[second] * 2 / (sizes[pattern[second]] - 1)
    pairs: csr_array = csr_array((weight, (pair, pattern[second])), shape=(names.size, tally.shape[1]))
    return names // n_levels, names % n_levels, pairs


def _alpha(added: _Coincidences, sums: Floats, metric: Metric) -> Floats:
    if metric == "interval":
        observed, n, total, squares = sums
        expected = 2 * (n * squares - total**2)
        # Rounding must not hide that all values are equal.
        expected[expected <= 1e-12 * n * squares] = 0
        return 1 - divide(observed * (n - 1), expected)
    if metric == "nominal":
        observed, counts = sums[0], sums[1:]
        n = counts.sum(axis=0)
        return 1 - divide(observed * (n - 1), n**2 - (counts**2).sum(axis=0))
    counts, unlike = sums[: added.n_levels], sums[added.n_levels :]
    n = counts.sum(axis=0)
    ranks = np.cumsum(counts, axis=0) - counts / 2
    centred = ranks - divide((ranks * counts).sum(axis=0), n)
    observed = (unlike * (centred[added.low] - centred[added.high]) ** 2).sum(axis=0)
    expected = 2 * n * (counts * centred**2).sum(axis=0)
    expected[(counts == n).any(axis=0)] = 0
    return 1 - divide(observed * (n - 1), expected)
