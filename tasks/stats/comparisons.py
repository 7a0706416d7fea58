"""Comparisons of models as arrays, checked once for all rating methods, and their counts. Win rates
are SQL.
"""

import math
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.resampling import expanded_interval, percentile_interval


class Comparisons(NamedTuple):
    """Rows that have a preference: codes of two models, the share of the win that b got, the
    question's cluster.

    `n_missing` rows without a preference were left out.
    """

    model_a: Indices
    model_b: Indices
    preference_b: Floats
    clusters: Indices
    n_models: int
    n_missing: int


def select_comparisons(
    model_a: Indices, model_b: Indices, preference_b: Floats, clusters: Indices, n_models: int
) -> Comparisons:
    """Check codes and preferences and leave out the rows without a preference (NaN): never a
    loss.
    """
    _check_rows(model_a, model_b, preference_b, clusters, n_models)
    is_there = ~np.isnan(preference_b)
    codes = (model_a[is_there], model_b[is_there])
    n_missing = int(preference_b.size - is_there.sum())
    return Comparisons(
        *codes, preference_b[is_there].astype(np.float64), clusters[is_there], n_models, n_missing
    )


def count_wins(comparisons: Comparisons) -> Floats:
    """(models, models): wins of the row over the column, a tie half a win to each."""
    m = comparisons.n_models
    wins = np.zeros(m * m)
    wins += np.bincount(
        comparisons.model_a * m + comparisons.model_b, 1 - comparisons.preference_b, minlength=m * m
    )
    wins += np.bincount(
        comparisons.model_b * m + comparisons.model_a, comparisons.preference_b, minlength=m * m
    )
    return wins.reshape(m, m)


def count_meetings(comparisons: Comparisons) -> Indices:
    """(models, models): how often two models were compared."""
    m = comparisons.n_models
    n = np.bincount(comparisons.model_a * m + comparisons.model_b, minlength=m * m).reshape(m, m)
    return n + n.T


def _check_rows(
    model_a: Indices, model_b: Indices, preference_b: Floats, clusters: Indices, n_models: int
) -> None:
    where = "select_comparisons"
    sizes = {column.shape for column in (model_a, model_b, preference_b, clusters)}
    if len(sizes) > 1 or preference_b.ndim != 1:
        raise ValueError(
            f"{where}: columns have shapes {sorted(sizes)}; expected vectors of one length; "
            f"pass one query's columns"
        )
    codes = np.concatenate([model_a, model_b])
    if codes.size and not 0 <= codes.min() <= codes.max() < n_models:
        raise ValueError(
            f"{where}: model codes {codes.min()} to {codes.max()}; expected 0 to "
            f"{n_models - 1}; number the models"
        )
    same = np.flatnonzero(model_a == model_b)
    if same.size:
        raise ValueError(
            f"{where}: row {same[0]} compares model {model_a[same[0]]} with itself; expected "
            f"two models; leave out pairs within a model"
        )
    wrong = np.flatnonzero((preference_b < 0) | (preference_b > 1))
    if wrong.size:
        raise ValueError(
            f"{where}: preference_b[{wrong[0]}] is {preference_b[wrong[0]]}; expected 0 to 1, "
            f"or NaN for a missing one; "
            "give the share of the win that b got"
        )


class Preference(IntEnum):
    """What both orders of a pair say together; they differ where it is inconsistent. Missing is no
    label but NaN.
    """

    A = 0
    B = 1
    TIE = 2
    INCONSISTENT = 3


class CodedMatchups(NamedTuple):
    """The matchup of each row, one code for both orders of two models, and its preferences turned
    to the lower model code.
    """

    matchup: Indices
    preference: Floats


def orient_matchups(model_a: Indices, model_b: Indices, labels: Floats) -> CodedMatchups:
    """Turn rows so that a is the model with the lower code: a label from 0 to 1 becomes 1 - label,
    others (2, 3, NaN) stay.

    For kappa by matchup (CHIRP, appendix C.2.5); the matchup is lower code x number of codes +
    higher code.
    """
    if not model_a.shape == model_b.shape == labels.shape or (model_a == model_b).any():
        raise ValueError(
            f"orient_matchups: {model_a.size}, {model_b.size} models and {labels.size} labels, "
            f"{(model_a == model_b).sum()} pairs of "
            "one model with itself; expected two different models a row; leave out pairs "
            "within a model"
        )
    is_turned = (model_a > model_b) & (labels <= Preference.B)
    n_codes = 1 + max(int(model_a.max(initial=0)), int(model_b.max(initial=0)))
    matchup = np.minimum(model_a, model_b) * n_codes + np.maximum(model_a, model_b)
    return CodedMatchups(matchup, np.where(is_turned, 1 - labels, labels))


class RatingBand(NamedTuple):
    """For each model: mean, median and 95 % ends of the draws, and how many of them gave it no
    rating.
    """

    mean: Floats
    median: Floats
    low: Floats
    high: Floats
    n_undefined: Indices


class Ranking(NamedTuple):
    """Models from best to worst and what the draws say of their order.

    `rank` is a model's place by its rating (1 is best; equal ratings share the better place; 0
    without a rating). `low` and `high` are its best and worst place: one more than the models
    surely above it, and the rated models less those surely below. `is_above[i, j]` says that model
    i is surely above j: the 95 % interval of their difference, draw by draw, is above 0.
    `neighbour_is_separable[p]` is that of places p and p + 1 of `order`. Pairs are judged one at a
    time, without correction for how many there are.
    """

    order: Indices
    rank: Indices
    low: Indices
    high: Indices
    is_above: NDArray[np.bool_]
    neighbour_is_separable: NDArray[np.bool_]


def summarise_ratings(drawn: Floats, n_clusters: int | None) -> RatingBand:
    """Bands of draws, (draws, models). Infinite ratings count as the ends of the line; NaN is
    counted as undefined.

    The ends are those of a confidence interval from so many clusters (`expanded_interval`), or,
    with None, of the middle 95 % of draws that are no sample of anything (Elo's orders).
    """
    columns = [np.sort(column[~np.isnan(column)]) for column in drawn.T]
    mean = [
        column.mean() if column.size and np.isfinite(column).all() else np.nan for column in columns
    ]
    median = [_interpolate(column, (column.size - 1) / 2, math.floor) for column in columns]
    ends = np.array(
        [_find_ends(column, n_clusters) for column in columns], dtype=np.float64
    ).reshape(-1, 2)
    return RatingBand(
        np.array(mean), np.array(median), ends[:, 0], ends[:, 1], np.isnan(drawn).sum(axis=0)
    )


def rank_models(ratings: Floats, drawn: Floats, n_clusters: int | None) -> Ranking:
    """Rank models by `ratings`, (models,), and read from draws, (draws, models), how sure their
    order is.
    """
    if drawn.ndim != 2 or drawn.shape[1] != ratings.size:
        raise ValueError(
            f"rank_models: draws of shape {drawn.shape} for {ratings.size} models; expected "
            f"(draws, models)"
        )
    is_rated = ~np.isnan(ratings)
    order = np.argsort(-ratings, kind="stable")[: int(is_rated.sum())]
    is_above = np.zeros((ratings.size, ratings.size), dtype=bool)
    for i in order:
        with np.errstate(invalid="ignore"):  # two infinite ratings have no difference
            gaps = drawn[:, [i]] - drawn
        is_above[i] = [
            _find_ends(np.sort(gap[~np.isnan(gap)]), n_clusters)[0] > 0 for gap in gaps.T
        ]
    is_above &= is_rated & is_rated[:, None]
    rank = np.where(is_rated, 1 + (ratings > ratings[:, None]).sum(axis=1), 0)
    low = np.where(is_rated, 1 + is_above.sum(axis=0), 0)
    high = np.where(is_rated, order.size - is_above.sum(axis=1), 0)
    return Ranking(order, rank, low, high, is_above, is_above[order[:-1], order[1:]])


def _find_ends(ordered: Floats, n_clusters: int | None) -> tuple[float, float]:
    """The 95 % ends of ordered draws."""
    places = np.arange(ordered.size, dtype=np.float64)
    interval = (
        percentile_interval(places) if n_clusters is None else expanded_interval(places, n_clusters)
    )
    return _interpolate(ordered, interval.low, math.floor), _interpolate(
        ordered, interval.high, math.ceil
    )


def _interpolate(ordered: Floats, place: float, outwards: Callable[[float], int]) -> float:
    if ordered.size == 0 or math.isnan(place):
        return float("nan")
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    # Between a finite and an infinite value nothing can be interpolated; the outer one is on the
    # safe side.
    if not (math.isfinite(below) and math.isfinite(above)):
        return float(ordered[outwards(place)])
    return float(below + (above - below) * (place - math.floor(place)))
