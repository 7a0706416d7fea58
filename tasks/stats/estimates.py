"""A statistic with its 95 % interval, and means with cluster-bootstrap intervals. Drawing lives in `tasks.stats.resampling`."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tasks.stats.cluster_sums import AnyWeights, Floats, Indices, check_clusters, sum_columns
from tasks.stats.resampling import expanded_interval


class Estimate(NamedTuple):
    """A statistic, its 95 % interval, its rows and clusters, and the resamples on which it was undefined."""

    value: float
    low: float
    high: float
    n: int
    n_clusters: int
    n_undefined: int


def summarise_draws(value: float, drawn: Floats, n: int, clusters: Indices) -> Estimate:
    """Put a value and its resamples (NaN where undefined) together; `clusters` are those of the rows behind it."""
    n_clusters = int(np.count_nonzero(np.bincount(clusters)))
    interval = expanded_interval(drawn, n_clusters)
    return Estimate(float(value), interval.low, interval.high, n, n_clusters, interval.n_undefined)


def estimate_mean(values: Floats, clusters: Indices, weights: AnyWeights) -> Estimate:
    """Mean of the values that are there (NaN is missing), a share for instance; undefined where a resample holds none."""
    check_clusters("estimate_mean", clusters, values.size, weights)
    is_there = ~np.isnan(values)
    found, cluster = values[is_there], clusters[is_there]
    shape = (1, weights.shape[1])
    at = (np.zeros(found.size, dtype=np.int64), cluster)
    sums = sum_columns(csr_array((found, at), shape=shape), weights)[0]
    counts = sum_columns(csr_array((np.ones(found.size), at), shape=shape), weights)[0]
    drawn = divide(sums, counts)
    return summarise_draws(found.mean() if found.size else np.nan, drawn, found.size, cluster)


def divide(above: Floats, below: Floats) -> Floats:
    """above / below, NaN where below is 0."""
    ratio = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    np.divide(above, below, out=ratio, where=below != 0)
    return ratio
