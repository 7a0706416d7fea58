"""Krippendorff's alpha of any number of raters with missing values, and its cluster-bootstrap
interval.
"""

from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, vstack

from judgelake.tasks.stats.cluster_sums import (
    AnyWeights,
    Floats,
    Indices,
    check_clusters,
    count_cells,
    draw_once,
    slice_resamples,
    sum_columns,
)
from judgelake.tasks.stats.estimates import Estimate, divide, summarise_draws
from judgelake.tasks.stats.few_clusters import add_left_out, mark_rarer

_WORTH_COUNTING = 8
"""Units that share a pattern, from which on counting patterns is faster than summing columns of
clusters.
"""
# a table of more cells would take too much memory
_MOST_CELLS = 1 << 24


class UnitPatterns(NamedTuple):
    """`tally` counts each level's labels in each pattern, (levels, patterns); `pattern` and
    `cluster` are each unit's.
    """

    levels: Floats
    tally: csr_array
    pattern: Indices
    cluster: Indices

    @property
    def sizes(self) -> Floats:
        """Labels of each pattern."""
        return np.asarray(self.tally.sum(axis=0), dtype=np.float64)

    @property
    def any_labels(self) -> Floats:
        """A label of each unit: all that there are where raters never differ."""
        of_pattern, (level, pattern) = np.zeros(self.tally.shape[1]), self.tally.nonzero()
        of_pattern[pattern] = level
        labels: Floats = of_pattern[self.pattern]
        return labels


def fold_units(units: Indices, labels: Floats, clusters: Indices) -> UnitPatterns:
    """Fold rows of unit code, label (none is missing) and the unit's cluster; units with the same
    labels, in any order, are one pattern.
    """
    n_units, first, unit = number_units(units)
    levels, level = np.unique(labels, return_inverse=True)
    pattern, kept = np.arange(n_units), np.arange(n_units)
    if levels.size * _WORTH_COUNTING <= n_units:
        pattern, kept = _find_patterns(unit, level, n_units, levels.size)
    of_kept = np.full(n_units, -1)
    of_kept[kept] = np.arange(kept.size)
    is_kept = of_kept[unit] >= 0
    at = (level[is_kept], of_kept[unit[is_kept]])
    tally: csr_array = csr_array((np.ones(at[0].size), at), shape=(levels.size, kept.size))
    tally.sum_duplicates()
    return UnitPatterns(levels, tally, pattern, clusters[first])


def number_units(units: Indices) -> tuple[int, Indices, Indices]:
    """How many units there are, the row where each first stands, and each row's number among them,
    in the order of their codes.
    """
    if (
        units.size and units.min() >= 0 and units.max() < _MOST_CELLS
    ):  # counted, which is faster than sorting
        numbers, unit = _number_codes(units)
    else:
        numbers, unit = np.unique(units, return_inverse=True)
    return numbers.size, _find_first(unit, numbers.size), unit


def _number_codes(codes: Indices) -> tuple[Indices, Indices]:
    """The codes that are there, and each one's number among them."""
    is_there = np.bincount(codes) > 0
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[codes]


def _find_first(numbers: Indices, n: int) -> Indices:
    """Where each of n numbers first stands."""
    first = np.empty(n, dtype=np.int64)
    first[numbers[::-1]] = np.arange(numbers.size)[::-1]
    return first


def _find_patterns(
    unit: Indices, level: Indices, n_units: int, n_levels: int
) -> tuple[Indices, Indices]:
    """Each unit's pattern, patterns in the order of their sorted levels, and the first unit of
    each; each its own where that is too large.
    """
    sizes = np.bincount(unit, minlength=n_units)
    most = int(sizes.max(initial=0))
    if n_units * most > _MOST_CELLS:
        return np.arange(n_units), np.arange(n_units)
    by_unit = np.argsort(unit * n_levels + level, kind="stable")
    table = np.zeros((n_units, most), dtype=np.int64)  # 0 where a unit has no more labels
    table[unit[by_unit], np.arange(unit.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = (
        level[by_unit] + 1
    )
    if (n_levels + 1) ** most > _MOST_CELLS:
        _, kept, pattern = np.unique(table, axis=0, return_index=True, return_inverse=True)
        return pattern.ravel(), kept
    held, pattern = _number_codes(table @ (n_levels + 1) ** np.arange(most)[::-1])
    return pattern, _find_first(pattern, held.size)


def sum_patterns(features: csr_array, patterns: UnitPatterns, weights: AnyWeights) -> Floats:
    """Sums over the units of each resample of what each pattern has, (quantities, patterns):
    (quantities, resamples).
    """
    n_patterns = features.shape[1]
    if n_patterns * _WORTH_COUNTING <= patterns.pattern.size:
        return np.asarray(
            features @ count_cells(patterns.pattern, n_patterns, patterns.cluster, weights)
        )
    shape = (n_patterns, weights.shape[1])
    held: csr_array = csr_array(
        (np.ones(patterns.pattern.size), (patterns.pattern, patterns.cluster)), shape=shape
    )
    return sum_columns(csr_array(features @ held), weights)


Metric = Literal["nominal", "ordinal", "interval"]


class KrippendorffAlpha(NamedTuple):
    """Alpha (its n are the values that can be paired) and the values left out because they stand
    alone in their unit.
    """

    alpha: Estimate
    n_units: int
    n_left_out: int


class _Coincidences(NamedTuple):
    """What the units add to alpha: `features`, (quantities, patterns), and what they are.

    Nominal: unlike pairs, then the values of each level. Interval: squared differences of pairs,
    values, their sum and sum of squares. Ordinal: the values of each level, then the unlike pairs
    of the levels `low` and `high`. A pair counts 2 / (values - 1).
    """

    features: csr_array
    n_levels: int
    low: Indices
    high: Indices


def krippendorff_alpha(
    units: Indices, values: Floats, metric: Metric, clusters: Indices, weights: AnyWeights
) -> KrippendorffAlpha:
    """alpha = 1 - D_o / D_e from the coincidences of values within units (Krippendorff 2011,
    "Computing alpha-reliability").

    One row a value: unit code, value (NaN is missing), the unit's cluster. Each resample recomputes
    both disagreements, the ordinal metric its ranks too. NaN where all values are equal.
    """
    check_clusters("krippendorff_alpha", clusters, values.size, weights)
    if units.shape != values.shape:
        raise ValueError(
            f"krippendorff_alpha: {units.size} unit codes for {values.size} values; expected "
            f"one a value; pair them"
        )
    is_there = ~np.isnan(values)
    n_units, _, unit = number_units(units[is_there])
    of_unit = np.bincount(unit, minlength=n_units)
    kept = of_unit[unit] >= 2
    cluster = clusters[is_there][kept]
    patterns = fold_units(unit[kept], values[is_there][kept], cluster)
    added = _find_coincidences(patterns, metric)
    numbers, more = add_left_out(patterns.cluster, weights)
    renumbered = patterns._replace(cluster=numbers)
    parts = slice_resamples(8 * (4 * added.features.shape[0] + patterns.tally.shape[1]), more)
    drawn = np.concatenate(
        [
            np.empty(0),
            *(
                _alpha(added, sum_patterns(added.features, renumbered, more[part]), metric)
                for part in parts
            ),
        ]
    )
    value = _alpha(
        added, sum_patterns(added.features, patterns, draw_once(weights.shape[1])), metric
    )[0]
    about = cluster.size, patterns.cluster, len(weights)
    mark = partial(mark_rarer, patterns.any_labels)
    alpha = summarise_draws(value, drawn, *about, mark_rarer=mark)
    return KrippendorffAlpha(alpha, int((of_unit >= 2).sum()), int((~kept).sum()))


def _find_coincidences(patterns: UnitPatterns, metric: Metric) -> _Coincidences:
    sizes, none = patterns.sizes, np.zeros(0, dtype=np.int64)
    if metric == "nominal":
        alike = np.asarray(patterns.tally.power(2).sum(axis=0))
        features = vstack([csr_array(((sizes**2 - alike) / (sizes - 1))[None]), patterns.tally])
        return _Coincidences(csr_array(features), patterns.levels.size, none, none)
    if metric == "interval":
        centred = patterns.levels - (patterns.levels.mean() if patterns.levels.size else 0)
        sums, squares = patterns.tally.T @ centred, patterns.tally.T @ centred**2
        differences = 2 * (sizes * squares - sums**2) / (sizes - 1)
        return _Coincidences(
            csr_array(np.stack([np.maximum(differences, 0), sizes, sums, squares])),
            patterns.levels.size,
            none,
            none,
        )
    low, high, pairs = _pair_levels(patterns.tally, sizes)
    return _Coincidences(
        csr_array(vstack([patterns.tally, pairs])), patterns.levels.size, low, high
    )


def _pair_levels(tally: csr_array, sizes: Floats) -> tuple[Indices, Indices, csr_array]:
    """Unlike levels that meet in a pattern, and in each pattern how many pairs of them, as 2 /
    (values - 1) each.
    """
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
    pairs: csr_array = csr_array(
        (weight, (pair, pattern[second])), shape=(names.size, tally.shape[1])
    )
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


def most_frequent_size(units: Indices) -> int:
    """How many labels most units have that have several; of equally frequent numbers the largest;
    0 where none has several.
    """
    sizes = np.bincount(np.unique(units, return_counts=True)[1], minlength=2)
    sizes[:2] = 0
    return int(sizes.size - 1 - np.argmax(sizes[::-1])) if sizes.any() else 0


class FleissKappa(NamedTuple):
    """Kappa (its n are units) and the units left out because they have another number of labels
    than `raters`.
    """

    kappa: Estimate
    raters: int
    n_left_out: int


def fleiss_kappa(
    units: Indices, labels: Floats, raters: int, clusters: Indices, weights: AnyWeights
) -> FleissKappa:
    """Agreement of `raters` labels a unit beyond chance (Fleiss 1971, Psychological Bulletin 76,
    equations 5-7).

    One row a label: unit code, label (NaN is missing), the unit's cluster. The kappa is defined for
    equally many labels a unit; others are left out and counted. NaN where all labels are one.
    """
    check_clusters("fleiss_kappa", clusters, labels.size, weights)
    if raters < 2 or units.shape != labels.shape:
        raise ValueError(
            f"fleiss_kappa: {raters} raters, {units.size} unit codes for {labels.size} labels; "
            f"expected 2 or more raters and one "
            "unit code a label; pass how many label each unit"
        )
    is_there = ~np.isnan(labels)
    _, _, unit = number_units(units[is_there])
    is_full = np.bincount(unit) == raters
    kept = is_full[unit]
    patterns = fold_units(unit[kept], labels[is_there][kept], clusters[is_there][kept])
    squares = csr_array(patterns.tally.power(2).sum(axis=0)[None])
    features = csr_array(vstack([squares, patterns.tally]))
    value = _kappa(sum_patterns(features, patterns, draw_once(weights.shape[1])), raters)[0]
    numbers, more = add_left_out(patterns.cluster, weights)
    renumbered = patterns._replace(cluster=numbers)
    parts = slice_resamples(8 * (2 * features.shape[0] + features.shape[1]), more)
    drawn = [_kappa(sum_patterns(features, renumbered, more[part]), raters) for part in parts]
    kappa = summarise_draws(
        value,
        np.concatenate([np.empty(0), *drawn]),
        patterns.cluster.size,
        patterns.cluster,
        len(weights),
        mark_rarer=partial(mark_rarer, patterns.any_labels),
    )
    return FleissKappa(kappa, raters, int(is_full.size - patterns.cluster.size))


def _kappa(sums: Floats, raters: int) -> Floats:
    squares, of_level = sums[0], sums[1:]
    total = of_level.sum(axis=0)
    observed = divide(squares - total, total * (raters - 1))
    by_chance = divide((of_level**2).sum(axis=0), total**2)
    return divide(observed - by_chance, 1 - by_chance)
