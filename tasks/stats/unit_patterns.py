"""Labels of several raters folded into the patterns that units show, so that resamples count patterns. Statistics of them live elsewhere."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tasks.stats.cluster_sums import AnyWeights, Floats, Indices, count_cells, sum_columns

_WORTH_COUNTING = 8
"""Units that share a pattern, from which on counting patterns is faster than summing columns of clusters."""
_MOST_CELLS = 1 << 24


class UnitPatterns(NamedTuple):
    """`tally` counts each level's labels in each pattern, (levels, patterns); `pattern` and `cluster` are each unit's."""

    levels: Floats
    tally: csr_array
    pattern: Indices
    cluster: Indices

    @property
    def sizes(self) -> Floats:
        """Labels of each pattern."""
        return np.asarray(self.tally.sum(axis=0), dtype=np.float64)


def fold_units(units: Indices, labels: Floats, clusters: Indices) -> UnitPatterns:
    """Fold rows of unit code, label (none is missing) and the unit's cluster; units with the same labels, in any order, are one pattern."""
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
    """How many units there are, the row where each first stands, and each row's number among them, in the order of their codes."""
    if units.size and units.min() >= 0 and units.max() < _MOST_CELLS:  # counted, which is faster than sorting
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


def _find_patterns(unit: Indices, level: Indices, n_units: int, n_levels: int) -> tuple[Indices, Indices]:
    """Each unit's pattern, patterns in the order of their sorted levels, and the first unit of each; each its own where that is too large."""
    sizes = np.bincount(unit, minlength=n_units)
    most = int(sizes.max(initial=0))
    if n_units * most > _MOST_CELLS:
        return np.arange(n_units), np.arange(n_units)
    by_unit = np.argsort(unit * n_levels + level, kind="stable")
    table = np.zeros((n_units, most), dtype=np.int64)  # 0 where a unit has no more labels
    table[unit[by_unit], np.arange(unit.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = level[by_unit] + 1
    if (n_levels + 1) ** most > _MOST_CELLS:
        _, kept, pattern = np.unique(table, axis=0, return_index=True, return_inverse=True)
        return pattern.ravel(), kept
    held, pattern = _number_codes(table @ (n_levels + 1) ** np.arange(most)[::-1])
    return pattern, _find_first(pattern, held.size)


def sum_patterns(features: csr_array, found: UnitPatterns, weights: AnyWeights) -> Floats:
    """Sums over the units of each resample of what each pattern has, (quantities, patterns): (quantities, resamples)."""
    n_patterns = features.shape[1]
    if n_patterns * _WORTH_COUNTING <= found.pattern.size:
        return np.asarray(features @ count_cells(found.pattern, n_patterns, found.cluster, weights))
    shape = (n_patterns, weights.shape[1])
    held: csr_array = csr_array((np.ones(found.pattern.size), (found.pattern, found.cluster)), shape=shape)
    return sum_columns(csr_array(features @ held), weights)
