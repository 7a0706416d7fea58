"""Accuracy over pairs of answers, fair to ties: tie-calibrated and soft pairwise accuracy."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from judgelake.tasks.stats.cluster_sums import (
    AnyWeights,
    Floats,
    Indices,
    check_clusters,
    draw_once,
)
from judgelake.tasks.stats.correlation import check_pair, find_levels
from judgelake.tasks.stats.estimates import Estimate, divide, estimate_mean, summarise_draws
from judgelake.tasks.stats.few_clusters import add_left_out

MOST_PAIRS = 1 << 22
"""Pairs that are looked at for epsilon; where there are more, so many are drawn."""
_LARGEST_CHUNK = 128
# differences are rounded, so that equal ones are ties
_DIGITS = 12
# of epsilon: a pair at the very distance of another's is tied with it
_SLACK = 1 + 1e-9


class TieCalibration(NamedTuple):
    """Tie-calibrated accuracy, its epsilon, the accuracy at epsilon 0, and the pairs that chose
    epsilon.
    """

    accuracy: Estimate
    epsilon: float
    uncalibrated: float
    n_pairs: int


class _Pairs(NamedTuple):
    """Pairs of rows: how far apart the judge's scores are, whether people tie, whether both rank
    alike, each pair's group.
    """

    distance: Floats
    is_tie: NDArray[np.bool_]
    is_concordant: NDArray[np.bool_]
    group: Indices


def tie_calibrated_accuracy(
    x: Floats,
    y: Floats,
    groups: Indices | None,
    clusters: Indices,
    weights: AnyWeights,
    rng: np.random.Generator,
    *,
    calibrates: bool = True,
) -> TieCalibration:
    """acc_eq of a judge's scores `x` for people's `y` after tie calibration (Deutsch et al. 2023,
    EMNLP, "Ties Matter").

    acc_eq is the share of pairs that both rank alike or both tie; a judge ties a pair when its
    scores are at most epsilon apart, and epsilon (0, or the distance of a pair) is the one of
    highest accuracy; it is 0 where `calibrates` is False. Pairs are of rows of one group (an item,
    say), and the mean over groups counts; groups None pairs all rows. Epsilon is chosen on the
    sample and kept on the resamples, so the interval does not hold what choosing adds. More than
    `MOST_PAIRS` pairs are drawn by `rng`.
    """
    check_pair("tie_calibrated_accuracy", x, y)
    check_clusters("tie_calibrated_accuracy", clusters, x.size, weights)
    x, y = (levels[level] for levels, level in map(find_levels, (x, y)))
    if groups is None:
        pairs = _list_pairs(x, y, np.zeros(x.size, dtype=np.int64), rng)
        epsilon = _choose_epsilon(pairs) if calibrates else 0.0
        whole, without = (
            float(_accuracy_of_all(x, y, clusters, draw_once(weights.shape[1]), e)[0])
            for e in (epsilon, 0.0)
        )
        numbers, more = add_left_out(clusters, weights)
        drawn = _accuracy_of_all(x, y, numbers, more, epsilon)
        accuracy = summarise_draws(whole, drawn, x.size, clusters, len(weights), "share")
        return TieCalibration(accuracy, epsilon, without, pairs.group.size)
    pairs = _list_pairs(x, y, groups, rng)
    epsilon = _choose_epsilon(pairs) if calibrates else 0.0
    held, by_group = _accuracy_of_groups(pairs, epsilon)
    without = float(_accuracy_of_groups(pairs, 0.0)[1].mean()) if held.size else float("nan")
    accuracy = estimate_mean(by_group, _find_clusters(groups, clusters)[held])
    return TieCalibration(accuracy, epsilon, without, pairs.group.size)


def _list_pairs(x: Floats, y: Floats, groups: Indices, rng: np.random.Generator) -> _Pairs:
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    n_pairs = sizes * (sizes - 1) // 2
    if n_pairs.sum() > MOST_PAIRS:
        group = rng.choice(sizes.size, MOST_PAIRS, p=n_pairs / n_pairs.sum())
        a = rng.integers(sizes[group])
        b = (a + rng.integers(1, sizes[group])) % sizes[group]
        first, second = order[starts[group] + a], order[starts[group] + b]
    else:
        group = np.repeat(np.arange(sizes.size), n_pairs)
        to_come = np.repeat(starts + sizes, sizes) - np.arange(order.size) - 1
        a = np.repeat(np.arange(order.size), to_come)
        b = a + 1 + np.arange(a.size) - np.repeat(np.cumsum(to_come) - to_come, to_come)
        first, second = order[a], order[b]
    x_step, y_step = x[first] - x[second], y[first] - y[second]
    unit = max(float(np.abs(x).max(initial=0.0)), np.finfo(np.float64).tiny)
    distance = np.round(np.abs(x_step) / unit, _DIGITS) * unit
    return _Pairs(distance, y_step == 0, x_step * y_step > 0, group)


def _choose_epsilon(pairs: _Pairs) -> float:
    """The smallest epsilon of the highest mean accuracy over groups."""
    if not pairs.group.size:
        return 0.0
    share = 1 / np.bincount(pairs.group)[pairs.group]
    order = np.argsort(pairs.distance, kind="stable")
    distance = pairs.distance[order]
    # Made ties one after the other: a pair tied by people becomes right, one ranked alike wrong.
    change = np.cumsum(((pairs.is_tie * 1.0 - pairs.is_concordant) * share)[order])
    last = np.flatnonzero(np.append(distance[1:] > distance[:-1], True))
    candidates, gain = distance[last], np.round(change[last], _DIGITS)
    if candidates[0] > 0:  # no tie of the judge's own: epsilon 0 changes nothing
        candidates, gain = np.append(0.0, candidates), np.append(0.0, gain)
    return float(candidates[np.argmax(gain)])


def _accuracy_of_groups(pairs: _Pairs, epsilon: float) -> tuple[Indices, Floats]:
    """Groups that have a pair, and their accuracies."""
    right = np.where(pairs.distance <= epsilon, pairs.is_tie, pairs.is_concordant)
    counts = np.bincount(pairs.group)
    held = np.flatnonzero(counts)
    return held, np.bincount(pairs.group, right)[held] / counts[held]


def _accuracy_of_all(
    x: Floats, y: Floats, clusters: Indices, weights: AnyWeights, epsilon: float
) -> Floats:
    """Accuracy over all pairs of different rows on each resample."""
    from judgelake.tasks.stats.kernels.pairs import count_right_pairs

    order = np.argsort(x, kind="stable")
    values, levels = np.unique(y, return_inverse=True)
    sums = np.zeros((2, len(weights)))
    for start in range(0, len(weights), _LARGEST_CHUNK):
        drawn = weights.T[:, start : start + _LARGEST_CHUNK].astype(np.uint16, order="C")
        pair_sums = np.zeros((2, drawn.shape[1]))
        counts = np.zeros((2, values.size + 1, drawn.shape[1]), np.int32)
        count_right_pairs(
            drawn, x[order], epsilon * _SLACK, levels[order], clusters[order], counts, pair_sums
        )
        sums[:, start : start + _LARGEST_CHUNK] = pair_sums
    return divide(*sums)


def _find_clusters(groups: Indices, clusters: Indices) -> Indices:
    """Each group's cluster, groups in rising order."""
    codes, first, group = np.unique(groups, return_index=True, return_inverse=True)
    astray = np.flatnonzero(clusters != clusters[first][group])
    if astray.size:
        raise ValueError(
            f"tie_calibrated_accuracy: group {codes[group[astray[0]]]} has rows of several "
            f"clusters; expected one; "
            "group by item, or pass None to pair all rows"
        )
    return clusters[first]


# permutations computed at a time, which bounds memory
_PERMUTATIONS_AT_ONCE = 256
_TOLERANCE = 1e-9
"""Of the sum of absolute differences: a permutation that gives back the sample's difference does so
up to rounding.
"""


class SoftAccuracy(NamedTuple):
    """Soft pairwise accuracy over the pairs of systems for which both sides have a common item."""

    value: float
    n_pairs: int
    n_left_out: int


def soft_pairwise_accuracy(
    x: Floats, y: Floats, clusters: Indices, permutations: int, rng: np.random.Generator
) -> SoftAccuracy:
    """1 less the mean over pairs of systems of |p_x - p_y|, the judge's and people's p-values
    (Thompson et al. 2024, WMT).

    `x` and `y` are (systems, items), NaN where there is no score (`tasks.stats.human_rules`). p is
    one-sided, that the first system of a pair scores higher than the second: the share of
    `permutations` of a paired permutation test whose difference exceeds the sample's. Both sides
    are permuted alike, whole clusters of items, (items,), at a time. A permutation of exactly the
    sample's difference counts half; so a pair that a judge ties has p = 1/2 and the order of
    systems does not matter. (The authors' code counts it whole: a tie is then p = 1, whichever
    system comes first.)
    """
    if permutations < 1:
        raise ValueError(
            f"soft_pairwise_accuracy: {permutations} permutations; expected 1 or more; ask for "
            f"1,000"
        )
    if x.shape != y.shape or x.ndim != 2 or clusters.shape != x.shape[1:]:
        raise ValueError(
            f"soft_pairwise_accuracy: x has shape {x.shape}, y {y.shape}, clusters "
            f"{clusters.shape}; "
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
    """(pairs, clusters): the first system's scores less the second's on common items, summed by
    cluster.
    """
    n_clusters = int(clusters.max(initial=-1)) + 1
    membership = csr_array(
        (np.ones(clusters.size), (np.arange(clusters.size), clusters)),
        shape=(clusters.size, n_clusters),
    )
    return np.asarray(np.nan_to_num(side[pairs[:, 0]] - side[pairs[:, 1]]) @ membership)


def _count_exceeding(signs: Floats, differences: Floats) -> Floats:
    beyond = signs @ differences.T - differences.sum(axis=1)
    slack = _TOLERANCE * np.abs(differences).sum(axis=1)
    counts: Floats = (beyond > slack).sum(axis=0) + (np.abs(beyond) <= slack).sum(axis=0) / 2
    return counts


def _have_common_items(side: Floats, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    scored = ~np.isnan(side)
    return np.asarray((scored[pairs[:, 0]] & scored[pairs[:, 1]]).any(axis=1))
