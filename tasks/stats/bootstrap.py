"""Correlations on cluster-bootstrap resamples, many resamples in lockstep.

A resample is a count for each cluster, never a list of rows. The loops live in `tasks.stats.correlation_kernel`, the coefficients of their
sums in `tasks.stats.weighted_correlation`, drawing and intervals in `tasks.stats.resampling`, one sample in
`tasks.stats.correlation`; what is made of several such results in `tasks.stats.combining` and `tasks.stats.judge_comparison`.
"""

from typing import NamedTuple

import numpy as np

from tasks.stats.cluster_sums import AnyWeights, Floats, Indices, check_clusters, draw_once
from tasks.stats.correlation import COEFFICIENTS, check_pair, pearson
from tasks.stats.ordered_rows import OrderedRows, order_rows
from tasks.stats.resampling import draw_cluster_weights, expanded_interval
from tasks.stats.weighted_correlation import Moments, Sums, correlate_sums, pearson_of_counts

_CHUNK_BYTES = 150 << 20
_LARGEST_CHUNK = 128
"""Resamples at a time: enough to keep the processor's vectors busy, few enough for its cache."""


class Correlation(NamedTuple):
    """A coefficient, its 95 % interval, its rows and clusters, and the resamples on which it was undefined."""

    value: float
    low: float
    high: float
    n: int
    n_clusters: int
    n_undefined: int


class Resampled(NamedTuple):
    """A coefficient of a sample and, (resamples,), of each resample (NaN where undefined), with its rows and clusters."""

    value: float
    drawn: Floats
    n: int
    n_clusters: int

    def summarise(self) -> Correlation:
        """The coefficient with its interval."""
        interval = expanded_interval(self.drawn, self.n_clusters)
        return Correlation(self.value, interval.low, interval.high, self.n, self.n_clusters, interval.n_undefined)


def correlate(
    x: Floats, y: Floats, clusters: Indices, resamples: int, rng_or_weights: np.random.Generator | AnyWeights
) -> dict[str, Correlation]:
    """All four coefficients with intervals; weights drawn once per benchmark make judges comparable resample by resample."""
    if isinstance(rng_or_weights, np.random.Generator):
        weights: AnyWeights = draw_cluster_weights(int(clusters.max(initial=-1)) + 1, resamples, rng_or_weights)
    else:
        weights = rng_or_weights
    if len(weights) != resamples:
        raise ValueError(
            f"correlate: the weights hold {len(weights)} resamples; expected {resamples}; pass as many as are asked for"
        )
    return {name: found.summarise() for name, found in resample_correlations(x, y, clusters, weights).items()}


def resample_correlations(x: Floats, y: Floats, clusters: Indices, weights: AnyWeights) -> dict[str, Resampled]:
    """All four coefficients of the sample and of its resamples, for what is made of several of them."""
    _check_rows("resample_correlations", x, y, clusters, weights)
    n_clusters = int(np.count_nonzero(np.bincount(clusters)))
    if x.size == 0:
        return {name: Resampled(float("nan"), np.full(len(weights), np.nan), 0, n_clusters) for name in COEFFICIENTS}
    rows = order_rows(x, y, clusters)
    whole, drawn = _correlate_whole(rows), _correlate_resamples(rows, weights)
    return {name: Resampled(whole[name], drawn[name], x.size, n_clusters) for name in COEFFICIENTS}


def bootstrap_correlations(x: Floats, y: Floats, clusters: Indices, weights: AnyWeights) -> dict[str, Floats]:
    """Each coefficient on each resample, which repeats a row as often as its cluster was drawn; NaN where undefined.

    `clusters` holds each row's column in `weights`, (resamples, clusters). Clusters without a row here contribute nothing, so
    judges that scored different rows share the draws.
    """
    _check_rows("bootstrap_correlations", x, y, clusters, weights)
    if x.size == 0:
        return {name: np.full(len(weights), np.nan) for name in COEFFICIENTS}
    return _correlate_resamples(order_rows(x, y, clusters), weights)


def correlate_rows(x: Floats, y: Floats) -> dict[str, float]:
    """All four coefficients of one sample, equal to those of `tasks.stats.correlation` and sorted once for all of them."""
    check_pair("correlate_rows", x, y)
    if x.size == 0:
        return dict.fromkeys(COEFFICIENTS, float("nan"))
    return _correlate_whole(order_rows(x, y, np.zeros(x.size, dtype=np.int64)))


def sum_resamples(rows: OrderedRows, weights: AnyWeights) -> Sums:
    """Sums for each resample of the weights, (resamples, clusters)."""
    from tasks.stats.correlation_kernel import sum_all

    by_cluster = weights.T
    if by_cluster.dtype != np.uint16 or not by_cluster.flags.c_contiguous:  # one layout, so that the loops are compiled once
        by_cluster = by_cluster.astype(np.uint16, order="C")
    bytes_each = 16 * rows.n_levels + 4 * rows.widest_group + 2 * rows.present.size
    step = int(np.clip(_CHUNK_BYTES // bytes_each, 1, _LARGEST_CHUNK))
    by_y = rows.clusters_by_y, rows.times_by_y, rows.level_starts
    by_x = rows.clusters_by_x, rows.times_by_x, rows.cell_starts, rows.cell_levels, rows.group_starts
    found = np.empty((15, len(weights)))
    sum_all(by_cluster, rows.present, step, by_y, by_x, rows.widest_group, rows.alone, rows.sum_moments(), found)
    n, y_squares, y_cubes, y_levels, x_squares, x_cubes, x_levels, cell_squares, concordant, rank_product = found[:10]
    return Sums(
        n=n,
        x_squares=x_squares,
        y_squares=y_squares,
        cell_squares=cell_squares,
        x_cubes=x_cubes,
        y_cubes=y_cubes,
        fewest_levels=np.minimum(x_levels, y_levels),
        concordant=concordant,
        rank_product=rank_product,
        moments=Moments(*found[10:]),
    )


def _check_rows(where: str, x: Floats, y: Floats, clusters: Indices, weights: AnyWeights) -> None:
    check_pair(where, x, y)
    check_clusters(where, clusters, x.size, weights)
    if weights.dtype != np.uint16 and weights.size and not 0 <= weights.min() <= weights.max() < 1 << 16:
        raise ValueError(f"{where}: weights {weights.min()} to {weights.max()}; expected 0 to 65535; use draw_cluster_weights")


def _correlate_whole(rows: OrderedRows) -> dict[str, float]:
    """The sample as a resample that draws each cluster once."""
    found = correlate_sums(sum_resamples(rows, draw_once(int(rows.present[-1]) + 1)))
    return {name: float(values[0]) for name, values in found.items()} | {"pearson": pearson(rows.x, rows.y)}


def _correlate_resamples(rows: OrderedRows, weights: AnyWeights) -> dict[str, Floats]:
    sums = sum_resamples(rows, weights)
    found = correlate_sums(sums)
    for column in np.flatnonzero(sums.is_defined & ~sums.has_digits):
        counts = weights[column, rows.present][rows.clusters].astype(np.float64)
        found["pearson"][column] = pearson_of_counts(rows.x, rows.y, counts)
    return found
