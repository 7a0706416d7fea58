"""Correlations with cluster-bootstrap intervals, many resamples in lockstep.

A resample is a column of cell counts (`tasks.stats.cells`), never a list of rows. The coefficients of such columns live in
`tasks.stats.weighted_correlation`, drawing and intervals in `tasks.stats.resampling`, one sample in `tasks.stats.correlation`.
"""

from typing import NamedTuple

import numpy as np

from tasks.stats.cells import AnyWeights, Cells, Floats, Indices, fold_rows
from tasks.stats.correlation import COEFFICIENTS, check_pair
from tasks.stats.few_levels import MOST_LEVELS, plan_few_levels
from tasks.stats.many_levels import plan_many_levels
from tasks.stats.resampling import draw_cluster_weights, percentile_interval
from tasks.stats.weighted_correlation import Sums, correlate_sums, pearson_of_counts

_CHUNK_BYTES = 150 << 20
_LARGEST_CHUNK = 128
"""Resamples at a time: enough to keep the processor's vectors busy, few enough for its cache."""


class Correlation(NamedTuple):
    """A coefficient, its 95 % percentile interval, its rows and clusters, and the resamples on which it was undefined."""

    value: float
    low: float
    high: float
    n: int
    n_clusters: int
    n_undefined: int


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
    drawn = bootstrap_correlations(x, y, clusters, weights)
    n_clusters = int(np.unique(clusters).size)
    found = {}
    for name, coefficient in COEFFICIENTS.items():
        interval = percentile_interval(drawn[name])
        found[name] = Correlation(coefficient(x, y), interval.low, interval.high, x.size, n_clusters, interval.n_undefined)
    return found


def bootstrap_correlations(x: Floats, y: Floats, clusters: Indices, weights: AnyWeights) -> dict[str, Floats]:
    """Each coefficient on each resample, which repeats a row as often as its cluster was drawn; NaN where undefined.

    `clusters` holds each row's column in `weights`, (resamples, clusters). Clusters without a row here contribute nothing, so
    judges that scored different rows share the draws.
    """
    check_pair("bootstrap_correlations", x, y)
    _check_clusters(x, clusters, weights)
    found = {name: np.full(len(weights), np.nan) for name in COEFFICIENTS}
    if x.size == 0:
        return found
    cells = fold_rows(x, y, clusters, weights.shape[1])
    plan = plan_few_levels(cells) if cells.y.size <= MOST_LEVELS else plan_many_levels(cells)
    step = int(np.clip(_CHUNK_BYTES // plan.column_bytes, 1, _LARGEST_CHUNK))
    for start in range(0, len(weights), step):
        drawn = weights[start : start + step].T
        for name, values in _correlate_chunk(cells, drawn, plan.sum_resamples(drawn)).items():
            found[name][start : start + step] = values
    return found


def _correlate_chunk(cells: Cells, drawn: AnyWeights, sums: Sums) -> dict[str, Floats]:
    found = correlate_sums(sums)
    for column in np.flatnonzero(sums.is_defined & ~sums.has_digits):
        found["pearson"][column] = pearson_of_counts(cells, cells.rows @ drawn[:, column].astype(np.float64))
    return found


def _check_clusters(x: Floats, clusters: Indices, weights: AnyWeights) -> None:
    where = "bootstrap_correlations"
    if clusters.shape != x.shape:
        raise ValueError(f"{where}: {clusters.size} cluster codes for {x.size} rows; expected one a row; pass them together")
    if weights.ndim != 2:
        raise ValueError(f"{where}: weights have shape {weights.shape}; expected (resamples, clusters); use draw_cluster_weights")
    if clusters.size and not 0 <= clusters.min() <= clusters.max() < weights.shape[1]:
        raise ValueError(
            f"{where}: cluster codes {clusters.min()} to {clusters.max()}; expected 0 to {weights.shape[1] - 1}, "
            "the columns of the weights; number the clusters as they were drawn"
        )
