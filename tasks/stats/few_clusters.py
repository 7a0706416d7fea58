"""Intervals that also hold with few clusters: from the values that a statistic has without each of
its clusters in turn, with Student's quantile for as many clusters as there are in effect.

With many clusters the bootstrap covers as well and its resamples are there already
(`tasks.stats.resampling`). Means and shares need no such values: `tasks.stats.estimates`.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from judgelake.tasks.stats.cluster_sums import AnyWeights, Floats, Indices
from judgelake.tasks.stats.resampling import Interval, expanded_interval

Scale = Literal["coefficient", "carried", "share", "number"]
"""From -1 to 1, with intervals symmetric in Fisher's z; the same of a coefficient that few clusters
may carry (tau-c, Pearson's); from 0 to 1, in log odds; any.
"""

Unit = Literal["clusters", "models"]

LEAST_CLUSTERS, LEAST_MODELS = 5, 6
"""With fewer clusters no method tried held a correlation in 93 of 100 samples
(`tests.bench.bench_coverage`); with fewer models the interval is nearly all of [-1, 1].
"""
# in effect: with fewer, nearly all rows lie in one or two clusters
_LEAST_EFFECTIVE = 3.0
# from so many effective clusters on, the bootstrap covers
_MANY = 40.0
# more clusters than these are not left out one by one
_MOST_LEFT_OUT = 400
# Fisher's z of it is 7.3; that of 1 has no end
_NEAR_ONE = 1 - 1e-6
# a coefficient that differs from 1 by less is 1
_ROUNDING = 1e-9
_LEVEL = 0.95
# of clusters that say as much each: half of them count where a few may carry the coefficient
_OF_CARRIERS = 1.5


class LeftOut(NamedTuple):
    """A statistic without each of its clusters in turn: the clusters' codes, how many rows each
    has, and the values.
    """

    clusters: Indices
    sizes: Indices
    values: Floats


def count_effective(sizes: Indices) -> float:
    """How many clusters of one size would say as much: (sum n)^2 / sum n^2 (Kish 1965); 0 without
    rows.
    """
    squares = float((sizes.astype(np.float64) ** 2).sum())
    return float(sizes.sum()) ** 2 / squares if squares else 0.0


def mark_rarer(labels: Floats) -> NDArray[np.bool_]:
    """Which rows have another label than the most frequent one."""
    _, codes = np.unique(labels, return_inverse=True)
    is_rarer: NDArray[np.bool_] = codes != np.bincount(codes, minlength=1).argmax()
    return is_rarer


def find_reach(is_rarer: NDArray[np.bool_], clusters: Indices) -> float:
    """How far from 1 (or -1) the interval reaches of a coefficient that is 1 on the sample, from
    which rows have another label than the most frequent one, and the rows' clusters.

    The larger of two: what a share 1 - .025^(1/G) of rows that say the opposite makes of it
    (`find_interval`); and what kappa, or phi, loses if a share m = 1 - .025^(1/H) of the rarer rows
    were given the frequent label by one side, H being the effective clusters of the rarer rows and
    q their share of all, at most a half: m / (1 + (1 - m) (1 - 2 q)). Two rows of 40 have .73.
    """
    of_all, of_rarer = (
        _find_missed(count_effective(np.bincount(held))) for held in (clusters, clusters[is_rarer])
    )
    surplus = 1 - 2 * min(float(is_rarer.mean()), 0.5)
    return max(2 * of_all, of_rarer / (1 + (1 - of_rarer) * surplus))


def _find_missed(effective: float) -> float:
    """The largest share of which so many clusters may hold nothing in 2.5 of 100 samples; without
    clusters, any.
    """
    return float(1 - 0.025 ** (1 / effective)) if effective else 1.0


def is_at_end(value: float) -> bool:
    """Whether a coefficient is 1 or -1, but for rounding."""
    return bool(abs(value) > 1 - _ROUNDING)


def is_few(sizes: Indices) -> bool:
    """Whether clusters of these sizes are so few that each is left out in turn."""
    n_clusters = np.count_nonzero(sizes)
    is_countable = LEAST_CLUSTERS <= n_clusters <= _MOST_LEFT_OUT
    return bool(is_countable and count_effective(sizes) < _MANY)


def add_left_out(clusters: Indices, weights: AnyWeights) -> tuple[Indices, AnyWeights]:
    """Where the rows' clusters are few, their codes numbered anew, and the resamples with one more
    for each cluster that is there, without it; else both as they are.
    """
    sizes = np.bincount(clusters)
    present = np.flatnonzero(sizes)
    if not is_few(sizes):
        return clusters, weights
    by_cluster = np.empty((present.size, len(weights) + present.size), dtype=weights.dtype)
    by_cluster[:, : len(weights)] = weights.T[present]
    by_cluster[:, len(weights) :] = 1 - np.eye(present.size, dtype=weights.dtype)
    return (np.cumsum(sizes > 0) - 1)[clusters], by_cluster.T


def split_left_out(
    drawn: Floats, clusters: Indices, resamples: int
) -> tuple[Floats, LeftOut | None]:
    """The values on the resamples, and those without each cluster, of a statistic on what
    `add_left_out` gave for these clusters.
    """
    if drawn.size == resamples:
        return drawn, None
    sizes = np.bincount(clusters)
    present = np.flatnonzero(sizes)
    return drawn[:resamples], LeftOut(present, sizes[present], drawn[resamples:])


def find_interval(
    value: float,
    drawn: Floats,
    left_out: LeftOut | None,
    sizes: Indices,
    scale: Scale,
    unit: Unit = "clusters",
    reach: float | None = None,
) -> Interval:
    """The 95 % interval of a statistic of rows in clusters of these sizes, or why there is none.

    Few clusters: v -+ t sqrt(sum (1 - p_g) (v_g - v)^2) on the scale, v_g being the values without
    cluster g and p_g its part of the rows (the jackknife of Efron & Stein 1981, Annals of
    Statistics 9, where parts are equal; of a mean it is CR2), and t Student's quantile with one
    degree of freedom less than effective clusters. Many: the expanded percentile interval. At the
    end of the scale, where resamples say nothing, the other end is what a share 1 - .025^(1/G) of
    rows that say the opposite would make of it, the largest share that G effective clusters can
    miss (Clopper & Pearson 1934), or as far away as `reach` says (`find_reach`).
    """
    least = LEAST_CLUSTERS if unit == "clusters" else LEAST_MODELS
    n_clusters, effective = int(np.count_nonzero(sizes)), count_effective(sizes)
    n_undefined = int(np.isnan(drawn).sum())
    reason = None
    if np.isnan(value):
        reason = "undefined on the sample"
    elif n_clusters < least:
        reason = f"fewer than {least} {unit}"
    elif effective < _LEAST_EFFECTIVE:
        reason = f"almost all rows are in one or two {unit}"
    elif left_out is not None and np.isnan(left_out.values).any():
        reason = f"undefined without one of the {unit}"
    if reason is not None:
        return Interval(float("nan"), float("nan"), n_undefined, reason)
    least_value, largest_value = _RANGES[scale]
    if value < least_value + _ROUNDING or value > largest_value - _ROUNDING:
        missed = reach or (largest_value - least_value) * _find_missed(effective)
        if value > largest_value - _ROUNDING:
            return Interval(largest_value - missed, largest_value, n_undefined, None, _AT_THE_END)
        return Interval(least_value, least_value + missed, n_undefined, None, _AT_THE_END)
    if left_out is None:
        interval = expanded_interval(drawn, effective)
        low, high = max(interval.low, least_value), min(interval.high, largest_value)
        if scale == "carried":  # tau-c of resamples that lose a level is larger
            low, high = min(low, value), max(high, value)
        return interval if interval.reason else Interval(low, high, n_undefined, None, _BOOTSTRAP)
    rest = 1 - left_out.sizes / left_out.sizes.sum()
    degrees = effective - 1
    if scale == "carried":
        degrees = min(degrees, _count_carriers(value, left_out.values, rest))
    t = float(special.stdtrit(degrees, (1 + _LEVEL) / 2))
    low, high = _SPREAD[scale](value, left_out.values, t * np.sqrt(rest))
    return Interval(float(low), float(high), n_undefined, None, _JACKKNIFE)


def _count_carriers(value: float, others: Floats, rest: Floats) -> float:
    """Degrees of freedom from how evenly clusters move a coefficient: 1.5 (sum d_g^2)^2 / sum d_g^4
    of the jackknife's steps d_g, which is half of the clusters where steps are normal.

    Kendall's tau-c depends on how many rows each level has, so with a rare level a few clusters
    carry it and Student's quantile for all of them is too short: with .1 of rows in one of two
    levels it held 87 to 95 % of samples of 5 to 30 clusters, and with this 91 to 97 %
    (tests/bench/README.md). Pearson's rests on rows far from the mean: of skewed scores
    it held 87 to 95 % of samples of 20 to 38 clusters, and with this 90 to 97 %.
    Satterthwaite's formula for equal expected squares (Biometrics 2, 1946), with the observed ones.
    """
    middle, *without = np.arctanh(np.clip([value, *others], -_NEAR_ONE, _NEAR_ONE))
    squares = rest * (np.asarray(without) - middle) ** 2
    fourth = float((squares**2).sum())
    return max(1.0, _OF_CARRIERS * float(squares.sum()) ** 2 / fourth) if fourth else np.inf


_BOOTSTRAP = "bootstrap of clusters, expanded percentiles"
_JACKKNIFE = "jackknife of clusters, Student's t"
_AT_THE_END = "Clopper-Pearson of effective clusters"
_RANGES = {
    "coefficient": (-1.0, 1.0),
    "carried": (-1.0, 1.0),
    "share": (0.0, 1.0),
    "number": (-np.inf, np.inf),
}


def _spread_coefficient(value: float, others: Floats, t: Floats) -> tuple[float, float]:
    middle, *rest = np.arctanh(np.clip([value, *others], -_NEAR_ONE, _NEAR_ONE))
    steps = np.asarray(rest) - middle
    reach = np.sqrt(((t * steps) ** 2).sum())
    return np.tanh(middle - reach), np.tanh(middle + reach)


def _spread_share(value: float, others: Floats, t: Floats) -> tuple[float, float]:
    reach = np.sqrt(((t * (others - value)) ** 2).sum()) / (value * (1 - value))
    middle = special.logit(value)
    return special.expit(middle - reach), special.expit(middle + reach)


def _spread_number(value: float, others: Floats, t: Floats) -> tuple[float, float]:
    reach = np.sqrt(((t * (others - value)) ** 2).sum())
    return value - reach, value + reach


_SPREAD = {
    "coefficient": _spread_coefficient,
    "carried": _spread_coefficient,
    "share": _spread_share,
    "number": _spread_number,
}
