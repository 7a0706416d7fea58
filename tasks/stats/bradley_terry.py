"""Bradley-Terry ratings: maximum likelihood on the table of pair counts, with cluster-robust
(sandwich) intervals.

P(i beats j) = 1 / (1 + 10^((r_j - r_i) / 400)); a tie is half a win to each. Nothing is
regularised: what has no finite maximum is infinite or NaN with a reason.

Ratings have a finite maximum of their likelihood where each model has a path of wins (or ties) to
each other one (Ford 1957, "Solution of a ranking problem from binary comparisons"); else some are
infinitely far apart, or cannot be compared.
"""

import math
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import expit, log_expit

from judgelake.tasks.stats.cluster_sums import (
    AnyWeights,
    Floats,
    Indices,
    check_clusters,
    slice_resamples,
    sum_columns,
)
from judgelake.tasks.stats.comparisons import Comparisons, count_meetings, count_wins

Flags = NDArray[np.bool_]


class RatingReason(StrEnum):
    """What a model's rating is, and why where it is no finite number."""

    FINITE = "finite"
    ALWAYS_WINS = "never beaten by those that the rating is measured against: infinitely above"
    ALWAYS_LOSES = "never beat those that the rating is measured against: infinitely below"
    NOT_COMPARABLE = "linked to the others by no path of wins either way: no rating"
    DISCONNECTED = "not linked to the others by any comparison: no rating"
    NO_COMPARISONS = "no comparisons: no rating"
    ANCHOR_SPLIT = "the models of the anchor cannot be rated against each other: no rating"


def find_paths(edges: Flags) -> Flags:
    """Whether a path leads from the row's model to the column's, itself included: (..., models,
    models).
    """
    paths = edges | np.eye(edges.shape[-1], dtype=bool)
    for _ in range(max(edges.shape[-1] - 1, 1).bit_length()):
        steps = paths.astype(np.float32)
        paths = steps @ steps > 0
    return paths


def choose_anchor(paths: Flags, meetings: Floats) -> Indices:
    """The largest set of models that can all be rated against each other; of equal ones that with
    most comparisons.
    """
    mutual = paths & paths.T
    sizes, met = mutual.sum(axis=1), (meetings * mutual).sum(axis=1)
    first = np.lexsort((-met, -sizes))[0]
    return np.flatnonzero(mutual[first])


def place_models(paths: Flags, anchor: Indices) -> Floats:
    """0 for models rated against the anchor, inf or -inf beyond it, NaN without a path: (...,
    models); NaN if the anchor is split.
    """
    upwards, downwards = paths[..., :, anchor].all(axis=-1), paths[..., anchor, :].all(axis=-2)
    placed = np.where(
        upwards & downwards, 0.0, np.where(upwards, np.inf, np.where(downwards, -np.inf, np.nan))
    )
    is_whole = (placed[..., anchor] == 0).all(axis=-1, keepdims=True)
    return np.where(is_whole, placed, np.nan)


def explain_places(placed: Floats, meetings: Floats, anchor: Indices) -> tuple[RatingReason, ...]:
    """The reason of each model of one sample, from `place_models` and the (models, models)
    comparisons.
    """
    linked = find_paths(meetings > 0)[anchor[0]]
    cases = (
        (meetings.sum(axis=1) == 0, RatingReason.NO_COMPARISONS),
        (np.full(placed.shape, np.isnan(placed[anchor]).any()), RatingReason.ANCHOR_SPLIT),
        (placed == 0, RatingReason.FINITE),
        (placed == np.inf, RatingReason.ALWAYS_WINS),
        (placed == -np.inf, RatingReason.ALWAYS_LOSES),
        (linked, RatingReason.NOT_COMPARABLE),
        (~linked, RatingReason.DISCONNECTED),
    )
    return tuple(
        next(reason for flags, reason in cases if flags[model]) for model in range(placed.size)
    )


# Elo's scale: 400 points are odds of 10 to 1
ELO_PER_LOGIT = 400 / math.log(10)
# the fit ends at a step so small; after so many steps it has failed
_STEP_SIZE, _MOST_STEPS = 1e-10, 200
# memory for resamples that are fitted together
_CHUNK_BYTES = 32 << 20


class Anchor(NamedTuple):
    """The mean rating of `models` (codes; None: all that can be rated against each other) is
    `rating`.
    """

    models: tuple[int, ...] | None
    rating: float


class BradleyTerry(NamedTuple):
    """Ratings with 95 % intervals, all (models,).

    `ratings` are inf, -inf or NaN where `reasons` says why, and then the interval is NaN.
    `covariance` is that of the ratings, those of the anchor have none on average. `anchor` names
    its models. `n_clusters` are the clusters behind the intervals.
    """

    ratings: Floats
    low: Floats
    high: Floats
    covariance: Floats
    reasons: tuple[RatingReason, ...]
    anchor: Indices
    anchor_rating: float
    n: int
    n_clusters: int


def fit_bradley_terry(comparisons: Comparisons, anchor: Anchor) -> BradleyTerry:
    """Fit the ratings; the variance sums scores by cluster, with C / (C - 1) and a t quantile of C
    - 1 degrees of freedom.

    Bradley & Terry 1952; ties as half wins, a quasi-likelihood whose sandwich stays valid (White
    1982; Liang & Zeger 1986).
    """
    wins, meetings = count_wins(comparisons), count_meetings(comparisons).astype(np.float64)
    paths = find_paths(wins > 0)
    held = (
        choose_anchor(paths, meetings)
        if anchor.models is None
        else np.array(_check_anchor(anchor.models, len(wins)))
    )
    placed = np.where(meetings.sum(axis=1) > 0, place_models(paths, held), np.nan)
    logits = maximise_likelihood(wins[None], (placed == 0)[None])[0]
    covariance, n_clusters = _estimate_covariance(comparisons, meetings, logits, placed == 0, held)
    covariance *= ELO_PER_LOGIT**2
    ratings = rate_logits(logits, placed, held, anchor.rating)
    reasons = explain_places(placed, meetings, held)
    half = stats.t.ppf(0.975, max(n_clusters - 1, 1)) * np.sqrt(np.diag(covariance))
    n = comparisons.preference_b.size
    return BradleyTerry(
        ratings,
        ratings - half,
        ratings + half,
        covariance,
        reasons,
        held,
        anchor.rating,
        n,
        n_clusters,
    )


def rate_logits(logits: Floats, placed: Floats, anchor: Indices, rating: float) -> Floats:
    """Elo-like ratings whose mean over the anchor is `rating`; what lies beyond is inf, -inf or
    NaN: (..., models).
    """
    level = logits[..., anchor].mean(axis=-1, keepdims=True)
    ratings: Floats = rating + ELO_PER_LOGIT * (logits - level) + placed
    return ratings


def maximise_likelihood(wins: Floats, is_rated: Flags) -> Floats:
    """Logits of many tables at once: (tables, models, models) wins, (tables, models) flags ->
    (tables, models).

    Newton with halved steps from equal ratings; only comparisons between rated models count, among
    whom a path of wins must lead from each to each. Logits of the others are 0; each table's sum to
    0.
    """
    counted = np.where(is_rated[:, :, None] & is_rated[:, None, :], wins, 0.0)
    logits = np.zeros(is_rated.shape)
    active = np.arange(len(logits))
    for _ in range(_MOST_STEPS):
        step = _step(counted[active], logits[active], is_rated[active])
        logits[active] = _climb(counted[active], logits[active], step)
        active = active[np.abs(step).max(axis=1, initial=0) > _STEP_SIZE]
        if active.size == 0:
            return logits
    raise FloatingPointError(
        f"maximise_likelihood: no maximum after {_MOST_STEPS} steps for table {active[0]}; "
        f"expected convergence; "
        "check for counts of very different size"
    )


def _step(wins: Floats, logits: Floats, is_rated: Flags) -> Floats:
    chance = expit(logits[:, :, None] - logits[:, None, :])
    meetings = wins + wins.transpose(0, 2, 1)
    gradient = (wins - meetings * chance).sum(axis=2)
    information = _information(meetings, chance, is_rated)
    step: Floats = np.linalg.solve(information, gradient[..., None])[..., 0]
    return step


def _information(meetings: Floats, chance: Floats, is_rated: Flags) -> Floats:
    """Fisher information, made invertible: ratings sum to 0, and unrated models stay where they
    are.
    """
    links = meetings * chance * (1 - chance)
    every = np.arange(links.shape[-1])
    information = -links
    information[:, every, every] += links.sum(axis=2) + ~is_rated
    # Of the size of the information itself, so that the matrix stays well conditioned.
    size = np.maximum(links.sum(axis=(1, 2)) / np.maximum(is_rated.sum(axis=1), 1) ** 2, 1e-300)
    information += size[:, None, None] * (is_rated[:, :, None] & is_rated[:, None, :])
    return information


def _climb(wins: Floats, logits: Floats, step: Floats) -> Floats:
    """Take the step, halved until the likelihood does not fall."""
    before = _log_likelihood(wins, logits)
    least = before - 1e-12 * np.abs(before)
    length = np.ones((len(logits), 1))
    while (is_worse := _log_likelihood(wins, logits + length * step) < least).any():
        length[is_worse] /= 2
    return logits + length * step


def _log_likelihood(wins: Floats, logits: Floats) -> Floats:
    total: Floats = (wins * log_expit(logits[:, :, None] - logits[:, None, :])).sum(axis=(1, 2))
    return total


def _estimate_covariance(
    comparisons: Comparisons, meetings: Floats, logits: Floats, is_rated: Flags, anchor: Indices
) -> tuple[Floats, int]:
    """Sandwich covariance of the logits against the anchor's mean (NaN where not rated) and its
    number of clusters.
    """
    among = is_rated[comparisons.model_a] & is_rated[comparisons.model_b]
    a, b, cluster = (
        column[among] for column in (comparisons.model_a, comparisons.model_b, comparisons.clusters)
    )
    n_clusters = int(np.count_nonzero(np.bincount(cluster)))
    if n_clusters < 2:
        return np.full(meetings.shape, np.nan), n_clusters
    residual = 1 - comparisons.preference_b[among] - expit(logits[a] - logits[b])
    chance = expit(logits[:, None] - logits)
    information = _information(
        (meetings * (is_rated[:, None] & is_rated))[None], chance[None], is_rated[None]
    )[0]
    contrast = np.eye(logits.size)
    contrast[:, anchor] -= 1 / anchor.size
    bread = contrast @ np.linalg.inv(information)
    meat = n_clusters / (n_clusters - 1) * _sum_products(cluster, a, b, residual, logits.size)
    covariance: Floats = bread @ meat @ bread.T
    covariance[~is_rated] = covariance[:, ~is_rated] = np.nan
    return covariance, n_clusters


def _sum_products(
    cluster: Indices, a: Indices, b: Indices, residual: Floats, n_models: int
) -> Floats:
    """Sum over clusters of their score vector's outer product with itself: (models, models)."""
    at_once = min(max(_CHUNK_BYTES // (8 * n_models), 1), int(cluster.max()) + 1)
    order = np.argsort(cluster, kind="stable")
    firsts = np.arange(0, int(cluster.max()) + 1, at_once)
    total = np.zeros((n_models, n_models))
    for first, rows in zip(
        firsts, np.split(order, np.searchsorted(cluster[order], firsts[1:])), strict=True
    ):
        place = (cluster[rows] - first) * n_models
        scores = np.zeros(at_once * n_models)
        scores += np.bincount(place + a[rows], residual[rows], minlength=scores.size)
        scores -= np.bincount(place + b[rows], residual[rows], minlength=scores.size)
        by_cluster = scores.reshape(-1, n_models)
        # Not `@`: a threaded product this thin waits longer for its threads than it computes.
        total += np.einsum("ci,cj->ij", by_cluster, by_cluster)
    return total


def _check_anchor(models: tuple[int, ...], n_models: int) -> tuple[int, ...]:
    if not models or not all(0 <= model < n_models for model in models):
        raise ValueError(
            f"fit_bradley_terry: anchor {models}; expected model codes from 0 to "
            f"{n_models - 1}; name one or more"
        )
    return models


# arrays of a table's size that a fit holds at once
_ARRAYS_A_TABLE = 12


def bootstrap_bradley_terry(
    comparisons: Comparisons, fitted: BradleyTerry, weights: AnyWeights
) -> Floats:
    """Ratings on each resample, (resamples, models), held by the anchor of the fit.

    NaN where a model has no rating, or the anchor's models cannot all be rated against each other;
    inf and -inf where a model happens to win or lose all, which are ends of the line for
    `tasks.stats.comparisons`. A model that is not finite in the fit is NaN throughout: who won
    every comparison wins every resample, and that says nothing of how sure it is.
    """
    check_clusters(
        "bootstrap_bradley_terry", comparisons.clusters, comparisons.preference_b.size, weights
    )
    m = comparisons.n_models
    names, table = _tabulate(comparisons, weights.shape[1])
    is_finite = np.array([reason is RatingReason.FINITE for reason in fitted.reasons])
    drawn = np.full((len(weights), m), np.nan)
    for part in slice_resamples(8 * (_ARRAYS_A_TABLE * m * m + 1), weights):
        flat = np.zeros((len(weights[part]), m * m))
        flat[:, names] = sum_columns(table, weights[part]).T
        wins = flat.reshape(-1, m, m)
        placed = place_models(find_paths(wins > 0), fitted.anchor)
        drawn[part] = rate_logits(
            maximise_likelihood(wins, placed == 0), placed, fitted.anchor, fitted.anchor_rating
        )
    drawn[:, ~is_finite] = np.nan
    return drawn


def _tabulate(comparisons: Comparisons, n_clusters: int) -> tuple[np.ndarray, csr_array]:
    """Ordered pairs of models that have wins, and their wins in each cluster: (pairs, clusters)."""
    a, b, share = comparisons.model_a, comparisons.model_b, comparisons.preference_b
    names, pair = np.unique(
        np.concatenate([a, b]) * comparisons.n_models + np.concatenate([b, a]), return_inverse=True
    )
    at = (pair, np.concatenate([comparisons.clusters, comparisons.clusters]))
    return names, csr_array(
        (np.concatenate([1 - share, share]), at), shape=(names.size, n_clusters)
    )
