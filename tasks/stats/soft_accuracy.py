"""Soft pairwise accuracy: does a judge part two models as surely as people do? Of (systems, items) matrices of scores."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tasks.stats.cluster_sums import Floats, Indices

_PERMUTATIONS_AT_ONCE = 256
_TOLERANCE = 1e-9
"""Of the sum of absolute differences: a permutation that gives back the sample's difference does so up to rounding."""


class SoftAccuracy(NamedTuple):
    """Soft pairwise accuracy over the pairs of systems for which both sides have a common item."""

    value: float
    n_pairs: int
    n_left_out: int


def soft_pairwise_accuracy(x: Floats, y: Floats, clusters: Indices, permutations: int, rng: np.random.Generator) -> SoftAccuracy:
    """1 less the mean over pairs of systems of |p_x - p_y|, the judge's and people's p-values (Thompson et al. 2024, WMT).

    `x` and `y` are (systems, items), NaN where there is no score (`tasks.stats.tabulating`). p is one-sided, that the first system of a
    pair scores higher than the second: the share of `permutations` of a paired permutation test whose difference exceeds the
    sample's. Both sides are permuted alike, whole clusters of items, (items,), at a time. A permutation of exactly the sample's
    difference counts half; so a pair that a judge ties has p = 1/2 and the order of systems does not matter. (The authors' code
    counts it whole: a tie is then p = 1, whichever system comes first.)
    """
    if permutations < 1:
        raise ValueError(f"soft_pairwise_accuracy: {permutations} permutations; expected 1 or more; ask for 1,000")
    if x.shape != y.shape or x.ndim != 2 or clusters.shape != x.shape[1:]:
        raise ValueError(
            f"soft_pairwise_accuracy: x has shape {x.shape}, y {y.shape}, clusters {clusters.shape}; "
            "expected (systems, items) twice and (items,); tabulate the scores first"
        )
    pairs = np.array(list(combinations(range(len(x)), 2)), dtype=np.int64).reshape(-1, 2)
    differences = [_sum_differences(side, pairs, clusters) for side in (x, y)]
    exceeding = [np.zeros(len(pairs)) for _ in differences]
    for start in range(0, permutations, _PERMUTATIONS_AT_ONCE):
        size = min(_PERMUTATIONS_AT_ONCE, permutations - start), differences[0].shape[1]
        signs = 1 - 2 * rng.integers(2, size=size).astype(np.float64)
        for counts, side in zip(exceeding, differences, strict=True):
            counts += _count_exceeding(signs, side)
    is_known = _have_common_items(x, pairs) & _have_common_items(y, pairs)
    p_x, p_y = (counts[is_known] / permutations for counts in exceeding)
    value = 1 - float(np.abs(p_x - p_y).mean()) if is_known.any() else float("nan")
    return SoftAccuracy(value, int(is_known.sum()), int((~is_known).sum()))


def _sum_differences(side: Floats, pairs: NDArray[np.int64], clusters: Indices) -> Floats:
    """(pairs, clusters): the first system's scores less the second's on common items, summed by cluster."""
    n_clusters = int(clusters.max(initial=-1)) + 1
    membership = csr_array((np.ones(clusters.size), (np.arange(clusters.size), clusters)), shape=(clusters.size, n_clusters))
    return np.asarray(np.nan_to_num(side[pairs[:, 0]] - side[pairs[:, 1]]) @ membership)


def _count_exceeding(signs: Floats, differences: Floats) -> Floats:
    beyond = signs @ differences.T - differences.sum(axis=1)
    slack = _TOLERANCE * np.abs(differences).sum(axis=1)
    counts: Floats = (beyond > slack).sum(axis=0) + (np.abs(beyond) <= slack).sum(axis=0) / 2
    return counts


def _have_common_items(side: Floats, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    scored = ~np.isnan(side)
    return np.asarray((scored[pairs[:, 0]] & scored[pairs[:, 1]]).any(axis=1))
