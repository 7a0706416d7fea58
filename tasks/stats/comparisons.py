"""Comparisons of models as arrays, checked once for all rating methods, and their counts. Win rates
are SQL.
"""

import functools
import math
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.resampling import percentile_interval


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


def count_clusters(comparisons: Comparisons) -> Indices:
    """In how many clusters each model was compared."""
    n_codes = int(comparisons.clusters.max(initial=-1)) + 1
    is_met = np.zeros(comparisons.n_models * n_codes, dtype=np.bool_)
    for models in (comparisons.model_a, comparisons.model_b):
        is_met[models * n_codes + comparisons.clusters] = True
    return np.asarray(is_met.reshape(comparisons.n_models, n_codes).sum(axis=1))


def find_groups(meetings: Indices) -> Indices:
    """Number the groups of models that comparisons link, (models,): 0 has most models, of equal
    ones most comparisons.
    """
    n_groups, codes = connected_components(meetings, directed=False)
    sizes = np.bincount(codes, minlength=n_groups)
    met = np.bincount(codes, meetings.sum(axis=1), minlength=n_groups)
    numbers = np.empty(n_groups, dtype=np.int64)
    numbers[np.lexsort((-met, -sizes))] = np.arange(n_groups)
    return np.asarray(numbers[codes])


def keep_models(comparisons: Comparisons, models: Indices) -> Comparisons:
    """The comparisons among these models, their codes numbered anew."""
    if models.size == comparisons.n_models:
        return comparisons
    numbers = np.full(comparisons.n_models, -1)
    numbers[models] = np.arange(models.size)
    a, b = numbers[comparisons.model_a], numbers[comparisons.model_b]
    kept = np.flatnonzero((a >= 0) & (b >= 0))
    return comparisons._replace(
        model_a=a[kept],
        model_b=b[kept],
        preference_b=comparisons.preference_b[kept],
        clusters=comparisons.clusters[kept],
        n_models=models.size,
    )


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
    """For each model: mean, median and 95 % ends of the draws, how many of them gave it no rating,
    and their percentiles 0 to 100, (101, models), NaN where there are no draws.
    """

    mean: Floats
    median: Floats
    low: Floats
    high: Floats
    n_undefined: Indices
    percentiles: Floats


_N_PERCENTILES = 101
_DIGITS = 6
"""Ratings that agree to so many digits are equal: a fit ends where a step is that small."""


class Ranking(NamedTuple):
    """Models from best to worst and how sure their order is.

    `rank` is a model's place by its rating (1 is best; equal ratings share the better place; 0
    without a rating). `low` and `high` are its best and worst place: one more than the models
    surely above it, and the rated models less those surely below. `neighbour_is_separable[p]` says
    that the model at place p of `order` is surely above that at p + 1.
    """

    order: Indices
    rank: Indices
    low: Indices
    high: Indices
    neighbour_is_separable: NDArray[np.bool_]


def summarise_ratings(drawn: Floats) -> RatingBand:
    """The mean, the median and the middle 95 % of draws, (draws, models), that are no sample of
    anything (Elo's orders). Infinite ratings count as the ends of the line; NaN is counted as
    undefined.
    """
    columns = [np.sort(column[~np.isnan(column)]) for column in drawn.T]
    mean = [
        column.mean() if column.size and np.isfinite(column).all() else np.nan for column in columns
    ]
    median = [_interpolate(column, (column.size - 1) / 2, math.floor) for column in columns]
    ends = np.array([_find_ends(column) for column in columns], dtype=np.float64).reshape(-1, 2)
    return RatingBand(
        np.array(mean),
        np.array(median),
        ends[:, 0],
        ends[:, 1],
        np.isnan(drawn).sum(axis=0),
        np.array([_read_percentiles(column) for column in columns]).reshape(-1, _N_PERCENTILES).T,
    )


def _read_percentiles(column: Floats) -> Floats:
    """Of sorted draws; NaN where there are none or one of them is infinite."""
    if not column.size or not np.isfinite(column).all():
        return np.full(_N_PERCENTILES, np.nan)
    places = np.linspace(0, column.size - 1, _N_PERCENTILES)
    # a tenth of the time of np.percentile, which sorts again
    return np.asarray(np.interp(places, np.arange(column.size), column), dtype=np.float64)


def compare_draws(drawn: Floats) -> NDArray[np.bool_]:
    """Whether the row's model is surely above the column's, (models, models): the middle 95 % of
    their difference, draw by draw, are above 0. Pairs are judged one at a time.
    """
    is_above = np.zeros((drawn.shape[1], drawn.shape[1]), dtype=np.bool_)
    for i in range(len(is_above)):
        with np.errstate(invalid="ignore"):  # two infinite ratings have no difference
            gaps = drawn[:, [i]] - drawn
        is_above[i] = [_find_ends(np.sort(gap[~np.isnan(gap)]))[0] > 0 for gap in gaps.T]
    return is_above


def rank_models(ratings: Floats, is_above: NDArray[np.bool_]) -> Ranking:
    """Rank models by `ratings`, (models,), with what is known of who is surely above whom, (models,
    models).
    """
    if is_above.shape != (ratings.size, ratings.size):
        raise ValueError(
            f"rank_models: is_above has shape {is_above.shape} for {ratings.size} models; expected "
            f"(models, models); pass a row and a column a model"
        )
    is_rated = ~np.isnan(ratings)
    order = np.argsort(-ratings, kind="stable")[: int(is_rated.sum())]
    surely = is_above & is_rated & is_rated[:, None]
    with np.errstate(invalid="ignore"):  # two infinite ratings have no difference
        gaps = np.round(ratings - ratings[:, None], _DIGITS)
    rank = np.where(is_rated, 1 + (gaps > 0).sum(axis=1), 0)
    low = np.where(is_rated, 1 + surely.sum(axis=0), 0)
    high = np.where(is_rated, order.size - surely.sum(axis=1), 0)
    return Ranking(order, rank, low, high, surely[order[:-1], order[1:]])


def _find_ends(ordered: Floats) -> tuple[float, float]:
    """The ends of the middle 95 % of ordered draws."""
    low, high = _find_places(ordered.size)
    return _interpolate(ordered, low, math.floor), _interpolate(ordered, high, math.ceil)


@functools.lru_cache(maxsize=1024)
def _find_places(n: int) -> tuple[float, float]:
    """Where, among `n` ordered draws counted from 0, the middle 95 % end; NaN of none. The same for
    every pair of models.
    """
    interval = percentile_interval(np.arange(n, dtype=np.float64))
    return interval.low, interval.high


def _interpolate(ordered: Floats, place: float, outwards: Callable[[float], int]) -> float:
    if ordered.size == 0 or math.isnan(place):
        return float("nan")
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    # Between a finite and an infinite value nothing can be interpolated; the outer one is on the
    # safe side.
    if not (math.isfinite(below) and math.isfinite(above)):
        return float(ordered[outwards(place)])
    return float(below + (above - below) * (place - math.floor(place)))
