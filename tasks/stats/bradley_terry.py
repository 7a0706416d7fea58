"""Bradley-Terry ratings from the table of pair counts, with cluster-robust intervals.

P(i beats j) = 1 / (1 + 10^((r_j - r_i) / scale)); a tie is half a win to each.

The likelihood has a finite maximum where each model has a path of wins (or ties) to each other one
(Ford 1957, "Solution of a ranking problem from binary comparisons"). Where it has none, ratings are
those of Firth's penalised likelihood (1993, Biometrika 80), which is finite for all models that
comparisons link; models that none links are not rated against each other.
"""

import math
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit, stdtrit

from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.comparisons import (
    Comparisons,
    count_clusters,
    count_meetings,
    count_wins,
    find_groups,
    keep_models,
)

Flags = NDArray[np.bool_]


class RatingReason(StrEnum):
    """What a rating is where it is not the maximum of the likelihood, and why it or its interval is
    missing.
    """

    PENALISED = "some models win or lose all against the others: penalised likelihood (Firth)"
    FEW_CLUSTERS = "compared in fewer than 5 clusters: no interval"
    DISCONNECTED = "linked to the others by no comparison: no rating"
    NO_COMPARISONS = "no comparisons: no rating"
    ANCHOR_SPLIT = "no comparison links the models of the anchor: no rating"


class Anchor(NamedTuple):
    """The mean rating of `models` (codes; None: all of the largest linked group) is `rating`;
    `scale` more are odds of ten to one.
    """

    models: tuple[int, ...] | None
    rating: float
    scale: float = 400.0


class BradleyTerry(NamedTuple):
    """Ratings with 95 % intervals, (models,), NaN where there is none; `reasons` says why.

    `is_above[i, j]`: the 95 % interval of rating i less rating j lies above 0; pairs are judged one
    at a time. `anchor` names its models, `n_clusters` counts the clusters behind the intervals.
    """

    ratings: Floats
    low: Floats
    high: Floats
    is_above: Flags
    reasons: tuple[tuple[RatingReason, ...], ...]
    anchor: Indices
    n: int
    n_clusters: int


# with fewer clusters intervals are so wide that they cover 98 % and more
_LEAST_CLUSTERS = 5
# the fit ends at a step so small; after so many steps it has failed
_STEP_SIZE, _MOST_STEPS = 1e-10, 500
# memory for clusters whose scores are summed together
_CHUNK_BYTES = 32 << 20
_LEVERAGE = 0.05
"""From this leverage on a cluster is left out exactly: what a smaller one shifts is known within 5
%, and of m models at most 20 (m - 1) clusters have more.
"""


def fit_bradley_terry(comparisons: Comparisons, anchor: Anchor) -> BradleyTerry:
    """Fit the models that comparisons link to the anchor.

    Ratings maximise the likelihood (Bradley & Terry 1952) where it has a finite maximum, else
    Firth's penalised likelihood. Intervals are those of the penalised fit: the variance of a
    difference is the jackknife's over clusters with Student's quantile, and at least that of
    independent rows (`_find_variances`). Measured coverage: `tests.bench.bench_rankings`.
    """
    wins, meetings = count_wins(comparisons), count_meetings(comparisons)
    groups = find_groups(meetings)
    held = _find_anchor(anchor.models, groups, meetings)
    rated = np.flatnonzero(groups == groups[held[0]]) if _is_linked(held, groups) else held[:0]
    n_models = comparisons.n_models
    ratings, low, high = np.full((3, n_models), np.nan)
    is_above = np.zeros((n_models, n_models), dtype=np.bool_)
    about: list[tuple[RatingReason, ...]] = [
        (_explain_absence(model, rated, meetings),) for model in range(n_models)
    ]
    if rated.size < 2:
        return BradleyTerry(ratings, low, high, is_above, tuple(about), held, 0, 0)
    own = keep_models(comparisons, rated)
    table, among = wins[np.ix_(rated, rated)], np.flatnonzero(np.isin(rated, held))
    unit = anchor.scale / math.log(10)
    is_finite = connected_components(table, directed=True, connection="strong")[0] == 1
    penalised = maximise_likelihood(table, penalised=True)
    logits = maximise_likelihood(table, penalised=False) if is_finite else penalised
    half, gap, met = _find_half_widths(own, table, penalised, among)
    centre = anchor.rating + unit * (penalised - penalised[among].mean())
    ratings[rated] = anchor.rating + unit * (logits - logits[among].mean())
    low[rated], high[rated] = centre - unit * half, centre + unit * half
    is_above[np.ix_(rated, rated)] = penalised[:, None] - penalised > gap
    for place, model in enumerate(rated):
        about[model] = ((RatingReason.PENALISED,) if not is_finite else ()) + (
            (RatingReason.FEW_CLUSTERS,) if met[place] < _LEAST_CLUSTERS else ()
        )
    n_clusters = int(np.count_nonzero(np.bincount(own.clusters)))
    n = own.preference_b.size
    return BradleyTerry(ratings, low, high, is_above, tuple(about), held, n, n_clusters)


def maximise_likelihood(wins: Floats, *, penalised: bool) -> Floats:
    """Logits that sum to 0 of one table of wins, (models, models), in which comparisons link all
    models.

    Newton with halved steps from equal ratings. Without the penalty a path of wins must lead from
    each model to each.
    """
    logits = np.zeros(len(wins))
    point = _measure(wins, logits, penalised)
    for _ in range(_MOST_STEPS):
        step = point.variance @ point.gradient
        least = point.value - 1e-12 * abs(point.value)
        following = _measure(wins, logits + step, penalised)
        while following.value < least:
            step /= 2
            following = _measure(wins, logits + step, penalised)
        logits, point = logits + step, following
        if np.abs(step).max() <= _STEP_SIZE:
            return np.asarray(logits - logits.mean())
    raise FloatingPointError(
        f"maximise_likelihood: no maximum after {_MOST_STEPS} steps; expected convergence; "
        "check for counts of very different size"
    )


class _Point(NamedTuple):
    """The logarithm of a likelihood, its gradient, and the inverse of what a step of Newton's
    divides by.
    """

    value: float
    gradient: Floats
    variance: Floats


def _measure(wins: Floats, logits: Floats, penalised: bool) -> _Point:
    """Firth's penalty is half the logarithm of the determinant of the information; its gradient is
    that of h / 2 further wins to either side, h being the leverage of a pair (Heinze & Schemper
    2002).
    """
    gaps = logits[:, None] - logits
    chance, meetings = expit(gaps), wins + wins.T
    links = meetings * chance * (1 - chance)
    value, gradient = float((wins * log_expit(gaps)).sum()), wins - meetings * chance
    information, size = _fill(links)
    if not penalised:
        return _Point(value, gradient.sum(axis=1), _invert(information))
    leverage = links * _spread(_invert(information))
    value += float(np.linalg.slogdet(information)[1] - math.log(size)) / 2
    gradient += leverage * (0.5 - chance)
    added = _fill(links + leverage * chance * (1 - chance))[0]
    return _Point(value, gradient.sum(axis=1), _invert(added))


def _fill(links: Floats) -> tuple[Floats, float]:
    """The information of links between models, made invertible: ratings sum to 0.

    What is added is of the size of the information itself, so that the matrix stays well
    conditioned, and returned.
    """
    size = max(float(links.sum()) / len(links) ** 2, 1e-300)
    return np.diag(links.sum(axis=1)) - links + size, size


def _invert(information: Floats) -> Floats:
    return np.asarray(np.linalg.inv(information), dtype=np.float64)


def _spread(variance: Floats) -> Floats:
    """The variance of each difference."""
    own = np.diag(variance)
    return np.asarray(own[:, None] + own - 2 * variance)


def _find_half_widths(
    comparisons: Comparisons, wins: Floats, logits: Floats, anchor: Indices
) -> tuple[Floats, Floats, Indices]:
    """Half widths of the 95 % intervals of each logit less the anchor's mean, (models,), and of
    each difference, (models, models), and in how many clusters each model was compared.

    Jackknife variances have Student's quantile of one less than the clusters in which a model (the
    rarer of two) was compared; variances of independent rows that of the rows less the ratings.
    """
    between, within = _find_variances(comparisons, wins, logits)
    met = count_clusters(comparisons)
    contrast = np.eye(logits.size)
    contrast[:, anchor] -= 1 / anchor.size
    degrees = max(comparisons.preference_b.size - logits.size + 1, 1)
    halves = []
    for fewest, pick in (
        (met, lambda variance: np.einsum("ij,jk,ik->i", contrast, variance, contrast)),
        (np.minimum(met[:, None], met), _spread),
    ):
        t = stdtrit(np.maximum(fewest - 1, 1), 0.975)
        squares = np.maximum(t**2 * pick(between), stdtrit(degrees, 0.975) ** 2 * pick(within))
        halves.append(np.where(fewest < _LEAST_CLUSTERS, np.nan, np.sqrt(np.maximum(squares, 0.0))))
    return halves[0], halves[1], met


def _find_variances(
    comparisons: Comparisons, wins: Floats, logits: Floats
) -> tuple[Floats, Floats]:
    """Covariances of the logits up to a constant: the jackknife's over clusters, and that of
    independent rows.

    The jackknife takes one step of Newton's for each cluster left out, (I - I_c)^-1 s_c with the
    cluster's score s_c and information I_c, where I holds the penalty's information too, so that
    it is invertible whatever is left out. A model that wins nearly all has residuals of next to
    nothing in every cluster; the variance of independent rows, less what ties take from it (a
    quarter each; one more row without a tie is counted), is the least that it can have.
    """
    chance, meetings = expit(logits[:, None] - logits), wins + wins.T
    weight = chance * (1 - chance)
    links = meetings * weight
    simple = _invert(_fill(links)[0])
    total, share = float(links.sum()) / 2, comparisons.preference_b
    dispersion = max(total - float((share * (1 - share)).sum()), 0.0) + 0.25
    each = weight * _spread(simple)
    between = _sum_products(comparisons, chance, each, _fill(links + meetings * each * weight)[0])
    return between, simple * (dispersion / (total + 0.25))


def _sum_products(
    comparisons: Comparisons, chance: Floats, leverage: Floats, information: Floats
) -> Floats:
    """(C - 1) / C times the sum over the C clusters of the outer product of what leaving one out
    shifts, (models, models); `leverage` is that of one row of each pair.
    """
    m, inverse = comparisons.n_models, _invert(information)
    n_codes = int(comparisons.clusters.max()) + 1
    at_once = min(max(_CHUNK_BYTES // (8 * m), 1), n_codes)
    most = int(np.bincount(comparisons.clusters).max()) * float(leverage.max())
    total, exact = np.zeros((m, m)), np.zeros((m, m))
    for number in range(-(-n_codes // at_once)):
        rows = _take_part(comparisons.clusters, number, at_once, n_codes)
        place = comparisons.clusters[rows] - number * at_once
        a, b = comparisons.model_a[rows], comparisons.model_b[rows]
        pair = a * m + b
        residual = 1 - comparisons.preference_b[rows] - chance.ravel()[pair]
        scores = np.zeros(at_once * m)
        scores += np.bincount(place * m + a, residual, minlength=at_once * m)
        scores -= np.bincount(place * m + b, residual, minlength=at_once * m)
        by_cluster = scores.reshape(-1, m)
        if most > _LEVERAGE:
            held = np.bincount(place, leverage.ravel()[pair], minlength=at_once)
            large = np.flatnonzero(held > _LEVERAGE)
            own = _find_information(large, place, pair, chance * (1 - chance))
            shifts = np.linalg.solve(information - own, by_cluster[large, :, None])
            exact += _multiply(np.asarray(shifts[..., 0], dtype=np.float64))
            by_cluster[large] = 0
        total += _multiply(by_cluster)
    n_clusters = np.count_nonzero(np.bincount(comparisons.clusters))
    return np.asarray((inverse @ total @ inverse + exact) * (n_clusters - 1) / n_clusters)


def _take_part(clusters: Indices, number: int, at_once: int, n_codes: int) -> Indices | slice:
    """The rows of part `number` of the clusters."""
    return np.flatnonzero(clusters // at_once == number) if at_once < n_codes else slice(None)


def _multiply(scores: Floats) -> Floats:
    """The sum of each row's outer product with itself."""
    # Not `@`: a threaded product this thin waits longer for its threads than it computes.
    return np.asarray(np.einsum("ci,cj->ij", scores, scores))


def _find_information(clusters: Indices, place: Indices, pair: Indices, weights: Floats) -> Floats:
    """The information of these clusters' rows alone, (clusters, models, models)."""
    m = len(weights)
    number = np.full(int(place.max()) + 1, -1)
    number[clusters] = np.arange(clusters.size)
    rows = np.flatnonzero(number[place] >= 0)
    cell, each = number[place[rows]] * (m * m) + pair[rows], weights.ravel()[pair[rows]]
    links = np.zeros(clusters.size * m * m)
    links += np.bincount(cell, each, minlength=links.size)
    by_cluster = links.reshape(-1, m, m)
    by_cluster = by_cluster + by_cluster.transpose(0, 2, 1)
    every = np.arange(m)
    information = -by_cluster
    information[:, every, every] += by_cluster.sum(axis=2)
    return information


def _find_anchor(models: tuple[int, ...] | None, groups: Indices, meetings: Indices) -> Indices:
    if models is None:
        return np.flatnonzero(groups == 0) if meetings.any() else np.zeros(0, dtype=np.int64)
    if not models or not all(0 <= model < groups.size for model in models):
        raise ValueError(
            f"fit_bradley_terry: anchor {models}; expected model codes from 0 to "
            f"{groups.size - 1}; name one or more"
        )
    return np.array(models)


def _is_linked(anchor: Indices, groups: Indices) -> bool:
    return np.unique(groups[anchor]).size == 1


def _explain_absence(model: int, rated: Indices, meetings: Indices) -> RatingReason:
    if not meetings[model].any():
        return RatingReason.NO_COMPARISONS
    return RatingReason.DISCONNECTED if rated.size else RatingReason.ANCHOR_SPLIT
