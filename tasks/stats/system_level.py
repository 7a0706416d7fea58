"""System level: does a judge rank the models as people do? Correlations of model means, with rows and models resampled.

Soft pairwise accuracy, a statistic of the same means, lives in `tasks.stats.soft_accuracy`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tasks.stats.bootstrap import Resampled
from tasks.stats.cluster_sums import AnyWeights, Floats, Indices, check_clusters, sum_columns
from tasks.stats.correlation import COEFFICIENTS
from tasks.stats.estimates import divide

_CHUNK_BYTES = 32 << 20
_DIGITS = 12
"""Means that agree to so many digits of the largest are a tie: sums of the same scores differ by the order of their terms."""


def correlate_systems(
    x: Floats, y: Floats, systems: Indices, clusters: Indices, weights: AnyWeights, system_weights: AnyWeights
) -> dict[str, Resampled]:
    """Correlate the models' mean scores by a judge, `x`, with their mean targets, `y`, over the rows that have both.

    `weights`, (resamples, clusters), resample the rows and `system_weights`, (resamples, systems), the models: both come from
    `draw_cluster_weights` and are shared by the judges (Boot-Both of Deutsch et al. 2021, TACL 9). System weights of 1 hold the
    models fixed; the interval then speaks of these models only. A resample is undefined where a model was drawn and none of its
    rows. `n` counts models, `n_clusters` the fewer of models and clusters.
    """
    check_clusters("correlate_systems", clusters, x.size, weights)
    check_clusters("correlate_systems, systems", systems, x.size, system_weights)
    scored = ~np.isnan(x) & ~np.isnan(y)
    held, codes = np.unique(systems[scored], return_inverse=True)
    table = codes, clusters[scored], (held.size, weights.shape[1])
    x_drawn, y_drawn = (_draw_means(values[scored], *table, weights) for values in (x, y))
    found = correlate_weighted(x_drawn, y_drawn, system_weights[:, held].astype(np.float64))
    whole = [_round_means(np.bincount(codes, values[scored]) / np.bincount(codes)) for values in (x, y)]
    n_units = min(held.size, np.unique(clusters[scored]).size)
    return {name: Resampled(coefficient(*whole), found[name], held.size, n_units) for name, coefficient in COEFFICIENTS.items()}


def correlate_weighted(x: Floats, y: Floats, weights: Floats) -> dict[str, Floats]:
    """The four coefficients of each row of `x` and `y`, (resamples, systems), in which system s counts weights[:, s] times.

    Every pair is looked at: for tens of systems whose scores change with the resample. NaN where undefined.
    """
    found = {name: np.full(len(x), np.nan) for name in COEFFICIENTS}
    step = max(_CHUNK_BYTES // (32 * max(x.shape[1], 1) ** 2), 1)
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        for name, values in _correlate_part(x[part], y[part], weights[part]).items():
            found[name][part] = values
    return found


def _correlate_part(x: Floats, y: Floats, weights: Floats) -> dict[str, Floats]:
    drawn = weights > 0
    is_known = ~(drawn & (np.isnan(x) | np.isnan(y))).any(axis=1)
    x, y = (_round_means(np.where(drawn & ~np.isnan(side), side, 0.0)) for side in (x, y))
    x_sign, y_sign = (np.sign(side[:, :, None] - side[:, None, :]) for side in (x, y))
    excess, x_untied, y_untied = (
        np.einsum("bij,bij,bi,bj->b", a, b, weights, weights) for a, b in ((x_sign, y_sign), (x_sign, x_sign), (y_sign, y_sign))
    )
    x_rank, y_rank = (np.einsum("bij,bj->bi", sign, weights) for sign in (x_sign, y_sign))
    fewest = np.minimum(_count_levels(x, drawn), _count_levels(y, drawn))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "pearson": _pearson(x, y, weights),
            "spearman": _pearson(x_rank, y_rank, weights),
            "kendall_tau_b": excess / np.sqrt(x_untied) / np.sqrt(y_untied),
            "kendall_tau_c": excess / weights.sum(axis=1) ** 2 * fewest / (fewest - 1),
        }
    is_defined = is_known & (x_untied > 0) & (y_untied > 0)
    return {name: np.where(is_defined, np.clip(values, -1.0, 1.0), np.nan) for name, values in found.items()}


def _pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    x, y = (side - ((side * weights).sum(axis=1) / total)[:, None] for side in (x, y))
    xy, xx, yy = ((a * b * weights).sum(axis=1) for a, b in ((x, y), (x, x), (y, y)))
    r: Floats = xy / np.sqrt(xx) / np.sqrt(yy)
    return r


def _count_levels(values: Floats, drawn: NDArray[np.bool_]) -> Floats:
    levels = np.sort(np.where(drawn, values, np.inf), axis=1)
    is_new = (levels[:, 1:] > levels[:, :-1]) & np.isfinite(levels[:, 1:])
    return np.asarray(1.0 + is_new.sum(axis=1))


def _draw_means(values: Floats, codes: Indices, clusters: Indices, shape: tuple[int, int], weights: AnyWeights) -> Floats:
    """(resamples, systems): NaN where no row of a system was drawn."""
    sums, counts = (
        sum_columns(csr_array((terms, (codes, clusters)), shape=shape), weights) for terms in (values, np.ones(values.size))
    )
    return divide(sums, counts).T


def _round_means(means: Floats) -> Floats:
    """Means in units of the largest, to as many digits as their sums are sure of."""
    largest = np.abs(means).max(initial=0.0)
    return np.round(means / largest, _DIGITS) if largest > 0 else means
