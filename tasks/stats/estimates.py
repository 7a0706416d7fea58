"""A statistic with its 95 % interval, and means with cluster-bootstrap intervals. Drawing lives in
`tasks.stats.resampling`.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.sparse import csr_array

from judgelake.tasks.stats.cluster_sums import (
    AnyWeights,
    Floats,
    Indices,
    check_clusters,
    sum_columns,
)
from judgelake.tasks.stats.resampling import expanded_interval


class Estimate(NamedTuple):
    """A statistic, its 95 % interval, its rows and clusters, and the resamples on which it was
    undefined.
    """

    value: float
    low: float
    high: float
    n: int
    n_clusters: int
    n_undefined: int


def summarise_draws(value: float, drawn: Floats, n: int, clusters: Indices) -> Estimate:
    """Put a value and its resamples (NaN where undefined) together; `clusters` are those of the
    rows behind it.
    """
    n_clusters = int(np.count_nonzero(np.bincount(clusters)))
    interval = expanded_interval(drawn, n_clusters)
    return Estimate(float(value), interval.low, interval.high, n, n_clusters, interval.n_undefined)


def estimate_mean(values: Floats, clusters: Indices, weights: AnyWeights) -> Estimate:
    """Mean of the values that are there (NaN is missing), a share for instance; undefined where a
    resample holds none.
    """
    check_clusters("estimate_mean", clusters, values.size, weights)
    is_there = ~np.isnan(values)
    held, cluster = values[is_there], clusters[is_there]
    shape = (1, weights.shape[1])
    at = (np.zeros(held.size, dtype=np.int64), cluster)
    sums = sum_columns(csr_array((held, at), shape=shape), weights)[0]
    counts = sum_columns(csr_array((np.ones(held.size), at), shape=shape), weights)[0]
    drawn = divide(sums, counts)
    return summarise_draws(held.mean() if held.size else np.nan, drawn, held.size, cluster)


def divide(above: Floats, below: Floats) -> Floats:
    """above / below, NaN where below is 0."""
    ratio = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    np.divide(above, below, out=ratio, where=below != 0)
    return ratio


class Proportion(NamedTuple):
    """A share and the ends of its interval."""

    share: float
    low: float
    high: float


def normal_interval(n_yes: int, n: int, level: float = 0.95) -> Proportion:
    """p +- z sqrt(p (1 - p) / n), as CHIRP reports it, cut at 0 and 1; too narrow near them. NaN
    without a sample.
    """
    z = _check_sample("normal_interval", n_yes, n, level)
    if n == 0:
        return Proportion(float("nan"), float("nan"), float("nan"))
    share = n_yes / n
    half = z * np.sqrt(share * (1 - share) / n)
    return Proportion(share, max(share - half, 0.0), min(share + half, 1.0))


def wilson_interval(n_yes: int, n: int, level: float = 0.95) -> Proportion:
    """The shares that a score test does not refute (Wilson 1927, JASA 22); right for few and for
    rare ones. NaN without a sample.
    """
    z = _check_sample("wilson_interval", n_yes, n, level)
    if n == 0:
        return Proportion(float("nan"), float("nan"), float("nan"))
    share = n_yes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # Rounding must not leave the ends of the line open.
    low = 0.0 if n_yes == 0 else float(centre - half)
    return Proportion(share, low, 1.0 if n_yes == n else float(centre + half))


def _check_sample(where: str, n_yes: int, n: int, level: float) -> float:
    """The normal quantile of the level."""
    if not 0 <= n_yes <= n or not 0 < level < 1:
        raise ValueError(
            f"{where}: {n_yes} of {n} at level {level}; expected 0 <= count <= sample and a "
            f"level between 0 and 1"
        )
    return float(stats.norm.ppf((1 + level) / 2))
