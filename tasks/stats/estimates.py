"""A statistic with its 95 % interval, and means, whose intervals need no resamples. Drawing lives
in `tasks.stats.resampling`.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from judgelake.tasks.stats.cluster_sums import (
    Floats,
    Indices,
)
from judgelake.tasks.stats.few_clusters import (
    Scale,
    find_interval,
    find_reach,
    is_at_end,
    split_left_out,
)

# Satterthwaite's: with fewer nearly all rows lie in one cluster
_LEAST_DEGREES = 1.4
# a share that differs from 0 or 1 by rounding alone
_NOTHING = 1e-12
# of a mean of any numbers: so many clusters must differ from 0 where some are 0
_LEAST_DIFFERING = 5
# of the squared mean: a variance that is rounding alone
_NO_SPREAD = 1e-28
_OF_MEAN = "variance of clusters (CR2), Satterthwaite's t"


MeanScale = Literal["share", "number"]
"""Of scores from 0 to 1; of any numbers."""


class Estimate(NamedTuple):
    """A statistic, its 95 % interval, its rows and clusters, the resamples on which it was
    undefined, why it has no interval (NaN ends), and how that was found.
    """

    value: float
    low: float
    high: float
    n: int
    n_clusters: int
    n_undefined: int
    reason: str | None = None
    method: str | None = None

    def without_interval(self, reason: str) -> "Estimate":
        """The same value, which has no interval for this reason."""
        return self._replace(low=float("nan"), high=float("nan"), reason=reason, method=None)


def summarise_draws(
    value: float,
    drawn: Floats,
    n: int,
    clusters: Indices,
    resamples: int,
    scale: Scale = "coefficient",
    mark_rarer: Callable[[], NDArray[np.bool_]] | None = None,
) -> Estimate:
    """Put a value and its resamples (NaN where undefined) together; `clusters` are those of the
    rows behind it. Of few clusters, `drawn` goes on after the `resamples` as `add_left_out` says.
    `mark_rarer` finds which rows have a rarer label, for a coefficient that is 1 (`find_reach`).
    """
    sizes = np.bincount(clusters)
    own, left_out = split_left_out(drawn, clusters, resamples)
    reach = find_reach(mark_rarer(), clusters) if mark_rarer and is_at_end(value) else None
    interval = find_interval(float(value), own, left_out, sizes, scale, reach=reach)
    ends = interval.low, interval.high
    n_clusters = int(np.count_nonzero(sizes))
    about = interval.reason, interval.method
    return Estimate(float(value), *ends, n, n_clusters, interval.n_undefined, *about)


def estimate_mean(values: Floats, clusters: Indices, scale: MeanScale = "share") -> Estimate:
    """Mean of the values that are there (NaN is missing), with the interval of the views: of a
    share, or of scores from 0 to 1, that of `sql/functions/share_ends.sql`; of any number that of
    `mean_ends.sql`. No resample is drawn.
    """
    if clusters.shape != values.shape:
        raise ValueError(
            f"estimate_mean: {clusters.size} cluster codes for {values.size} rows; expected one a "
            f"row; pass them together"
        )
    is_there = ~np.isnan(values)
    held, cluster = values[is_there], clusters[is_there]
    n_clusters = int(np.unique(cluster).size)
    value = float(held.mean()) if held.size else float("nan")
    low, high, reason = _BOUNDS[scale](held, cluster)
    method = None if reason else _OF_MEAN
    return Estimate(value, low, high, held.size, n_clusters, 0, reason, method)


class _Spread(NamedTuple):
    """What `sql/functions/cluster_spread.sql` finds, where the sources are named; `part` and
    `share` are each cluster's of all rows and of the mean.
    """

    part: Floats
    share: Floats
    mean: float
    variance: float
    degrees: float

    @property
    def effective(self) -> float:
        """Kish's number of clusters."""
        return float(1 / (self.part**2).sum())

    @property
    def reason(self) -> str | None:
        """Why there is no interval (`interval_reason`)."""
        if self.part.size < 3:
            return "fewer than 3 clusters"
        return None if self.degrees >= _LEAST_DEGREES else "almost all rows are in one cluster"


_Ends = tuple[float, float, str | None]


def _spread_clusters(values: Floats, clusters: Indices) -> _Spread:
    sizes = np.bincount(clusters)
    totals = np.bincount(clusters, values).astype(np.float64)[sizes > 0]
    part, share = sizes[sizes > 0] / sizes.sum(), totals / sizes.sum()
    if part.size < 2:
        return _Spread(part, share, float(share.sum()), np.nan, np.nan)
    rest, mean = 1 - part, float(share.sum())
    degrees = 1 / ((part**2).sum() + (part**2 / rest).sum() ** 2 - (part**4 / rest**2).sum())
    variance = ((share - mean * part) ** 2 / rest).sum()
    return _Spread(part, share, mean, float(variance), float(degrees))


def _bound_number(values: Floats, clusters: Indices) -> _Ends:
    spread = _spread_clusters(values, clusters)
    differing = np.count_nonzero(np.abs(spread.share) * values.size > _NOTHING)
    reason = spread.reason
    if reason is None and differing < min(_LEAST_DIFFERING, spread.part.size):
        reason = f"fewer than {_LEAST_DIFFERING} clusters differ from 0"
    if reason is None and spread.variance <= _NO_SPREAD * spread.mean**2:
        reason = "all clusters have the same mean"
    if reason is not None:
        return float("nan"), float("nan"), reason
    reach = _find_t(spread.degrees) * float(np.sqrt(spread.variance))
    return spread.mean - reach, spread.mean + reach, None


def _bound_share(values: Floats, clusters: Indices) -> _Ends:
    spread = _spread_clusters(values, clusters)
    if spread.reason is not None:
        return float("nan"), float("nan"), spread.reason
    mean, missed = spread.mean, 0.025 ** (1 / spread.effective)
    if mean < _NOTHING:
        return 0.0, float(1 - missed), None
    if mean > 1 - _NOTHING:
        return float(missed), 1.0, None
    rarer = spread.share if mean <= 0.5 else spread.part - spread.share
    t = _find_t(min(spread.degrees, 3 * (rarer**2).sum() ** 2 / (rarer**4).sum()))
    if spread.variance < 1e-13 * mean * (1 - mean):
        low, high = (_find_wilson_end(mean, spread.effective, z) for z in (-t, t))
        return low, high, None
    reach = t * np.sqrt(spread.variance) / (mean * (1 - mean))
    low, high = special.expit(special.logit(mean) + np.array([-reach, reach]))
    return float(low), float(high), None


_BOUNDS = {"share": _bound_share, "number": _bound_number}


def _find_t(degrees: float) -> float:
    return float(special.stdtrit(degrees, 0.975))


def _find_wilson_end(share: float, n: float, z: float) -> float:
    inside = share * (1 - share) / n + z**2 / (4 * n**2)
    return float((share + z**2 / (2 * n) + z * np.sqrt(inside)) / (1 + z**2 / n))


def divide(above: Floats, below: Floats) -> Floats:
    """above / below, NaN where below is 0."""
    ratio = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    np.divide(above, below, out=ratio, where=below != 0)
    return ratio
