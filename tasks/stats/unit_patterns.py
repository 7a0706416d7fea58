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
    codes, first, unit = np.unique(units, return_index=True, return_inverse=True)
    levels, level = np.unique(labels, return_inverse=True)
    order = np.lexsort((level, unit))
    sizes = np.bincount(unit, minlength=codes.size)
    most = int(sizes.max(initial=0))
    pattern, kept = np.arange(codes.size), np.arange(codes.size)
    if codes.size * most <= _MOST_CELLS and levels.size * _WORTH_COUNTING <= codes.size:
        table = np.full((codes.size, most), -1, dtype=np.int32)
        place = np.arange(unit.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        table[unit[order], place] = level[order]
        _, kept, pattern = np.unique(table, axis=0, return_index=True, return_inverse=True)
    of_kept = np.full(codes.size, -1)
    of_kept[kept] = np.arange(kept.size)
    is_kept = of_kept[unit] >= 0
    at = (level[is_kept], of_kept[unit[is_kept]])
    tally: csr_array = csr_array((np.ones(at[0].size), at), shape=(levels.size, kept.size))
    tally.sum_duplicates()
    return UnitPatterns(levels, tally, pattern.ravel(), clusters[first])


def sum_patterns(features: csr_array, found: UnitPatterns, weights: AnyWeights) -> Floats:
    """Sums over the units of each resample of what each pattern has, (quantities, patterns): (quantities, resamples)."""
    n_patterns = features.shape[1]
    if n_patterns * _WORTH_COUNTING <= found.pattern.size:
        return np.asarray(features @ count_cells(found.pattern, n_patterns, found.cluster, weights))
    shape = (n_patterns, weights.shape[1])
    held: csr_array = csr_array((np.ones(found.pattern.size), (found.pattern, found.cluster)), shape=shape)
    return sum_columns(csr_array(features @ held), weights)
