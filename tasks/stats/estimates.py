"""A statistic with its 95 % interval, and means with cluster-bootstrap intervals. Drawing lives in
`tasks.stats.resampling`.
"""

from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.sparse import csr_array

from judgelake.tasks.stats.cluster_sums import (
    AnyWeights,
    Floats,
    Indices,
    check_clusters,
    sum_columns,
)
from judgelake.tasks.stats.few_clusters import Scale, find_interval, split_left_out

# Satterthwaite's: with fewer nearly all rows lie in one cluster
_LEAST_DEGREES = 1.4
# a share that differs from 0 or 1 by rounding alone
_NOTHING = 1e-12


class Estimate(NamedTuple):
    """A statistic, its 95 % interval, its rows and clusters, the resamples on which it was
    undefined, and why it has no interval (NaN ends).
    """

    value: float
    low: float
    high: float
    n: int
    n_clusters: int
    n_undefined: int
    reason: str | None = None


def summarise_draws(
    value: float,
    drawn: Floats,
    n: int,
    clusters: Indices,
    resamples: int,
    scale: Scale = "coefficient",
) -> Estimate:
    """Put a value and its resamples (NaN where undefined) together; `clusters` are those of the
    rows behind it. Of few clusters, `drawn` goes on after the `resamples` as `add_left_out` says.
    """
    sizes = np.bincount(clusters)
    own, left_out = split_left_out(drawn, clusters, resamples)
    interval = find_interval(float(value), own, left_out, sizes, scale)
    ends = interval.low, interval.high
    n_clusters = int(np.count_nonzero(sizes))
    return Estimate(float(value), *ends, n, n_clusters, interval.n_undefined, interval.reason)


def estimate_mean(values: Floats, clusters: Indices, weights: AnyWeights) -> Estimate:
    """Mean of values from 0 to 1 that are there (NaN is missing), a share for instance; undefined
    where a resample holds none. Its interval is that of the views (`sql/functions/share_ends.sql`).
    """
    check_clusters("estimate_mean", clusters, values.size, weights)
    is_there = ~np.isnan(values)
    held, cluster = values[is_there], clusters[is_there]
    at = (np.zeros(held.size, dtype=np.int64), cluster)
    table = csr_array((np.ones(held.size), at), shape=(1, weights.shape[1]))
    n_undefined = int(np.count_nonzero(sum_columns(table, weights)[0] == 0))
    sizes = np.bincount(cluster)
    n_clusters = int(np.count_nonzero(sizes))
    value = float(held.mean()) if held.size else float("nan")
    low, high, reason = _bound_share(sizes, np.bincount(cluster, held).astype(np.float64))
    return Estimate(value, low, high, held.size, n_clusters, n_undefined, reason)


def _bound_share(sizes: Indices, totals: Floats) -> tuple[float, float, str | None]:
    """The ends of a share from each cluster's rows and sum, and why there are none: what
    `cluster_spread` and `share_ends` of `sql/functions` do, where the sources are named.
    """
    nowhere = float("nan"), float("nan")
    if np.count_nonzero(sizes) < 3:
        return *nowhere, "fewer than 3 clusters"
    part = sizes[sizes > 0] / sizes.sum()
    share = totals[sizes > 0] / sizes.sum()
    rest, mean = 1 - part, float(share.sum())
    degrees = 1 / ((part**2).sum() + (part**2 / rest).sum() ** 2 - (part**4 / rest**2).sum())
    if degrees < _LEAST_DEGREES:
        return *nowhere, "almost all rows are in one cluster"
    effective, t = 1 / (part**2).sum(), float(special.stdtrit(degrees, 0.975))
    variance = ((share - mean * part) ** 2 / rest).sum()
    missed = 0.025 ** (1 / effective)
    if mean < _NOTHING:
        return 0.0, float(1 - missed), None
    if mean > 1 - _NOTHING:
        return float(missed), 1.0, None
    if variance < 1e-13 * mean * (1 - mean):
        low, high = (_find_wilson_end(mean, float(effective), z) for z in (-t, t))
        return low, high, None
    reach = t * np.sqrt(variance) / (mean * (1 - mean))
    low, high = special.expit(special.logit(mean) + np.array([-reach, reach]))
    return float(low), float(high), None


def _find_wilson_end(share: float, n: float, z: float) -> float:
    inside = share * (1 - share) / n + z**2 / (4 * n**2)
    return float((share + z**2 / (2 * n) + z * np.sqrt(inside)) / (1 + z**2 / n))


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
    return float(special.ndtri((1 + level) / 2))
