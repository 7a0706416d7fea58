"""What is read from draws of ratings, (draws, models): bands, ranks with intervals, and which neighbours can be told apart."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.stats.cluster_sums import Floats, Indices
from tasks.stats.resampling import expanded_interval, percentile_interval


class RatingBand(NamedTuple):
    """For each model: mean, median and 95 % ends of the draws, and how many of them gave it no rating."""

    mean: Floats
    median: Floats
    low: Floats
    high: Floats
    n_undefined: Indices


class Ranking(NamedTuple):
    """Models from best to worst and what the draws say of their order.

    `rank` is a model's place by its rating (1 is best; equal ratings share the better place; 0 without a rating). `low` and
    `high` are its best and worst place: one more than the models surely above it, and the rated models less those surely below.
    `is_above[i, j]` says that model i is surely above j: the 95 % interval of their difference, draw by draw, is above 0.
    `neighbour_is_separable[p]` is that of places p and p + 1 of `order`. Pairs are judged one at a time, without correction for
    how many there are.
    """

    order: Indices
    rank: Indices
    low: Indices
    high: Indices
    is_above: NDArray[np.bool_]
    neighbour_is_separable: NDArray[np.bool_]


def summarise_ratings(drawn: Floats, n_clusters: int | None) -> RatingBand:
    """Bands of draws, (draws, models). Infinite ratings count as the ends of the line; NaN is counted as undefined.

    The ends are those of a confidence interval from so many clusters (`expanded_interval`), or, with None, of the middle 95 % of
    draws that are no sample of anything (Elo's orders).
    """
    columns = [np.sort(column[~np.isnan(column)]) for column in drawn.T]
    mean = [column.mean() if column.size and np.isfinite(column).all() else np.nan for column in columns]
    median = [_interpolate(column, (column.size - 1) / 2, math.floor) for column in columns]
    ends = np.array([_find_ends(column, n_clusters) for column in columns], dtype=np.float64).reshape(-1, 2)
    return RatingBand(np.array(mean), np.array(median), ends[:, 0], ends[:, 1], np.isnan(drawn).sum(axis=0))


def rank_models(ratings: Floats, drawn: Floats, n_clusters: int | None) -> Ranking:
    """Rank models by `ratings`, (models,), and read from draws, (draws, models), how sure their order is."""
    if drawn.ndim != 2 or drawn.shape[1] != ratings.size:
        raise ValueError(f"rank_models: draws of shape {drawn.shape} for {ratings.size} models; expected (draws, models)")
    is_rated = ~np.isnan(ratings)
    order = np.argsort(-ratings, kind="stable")[: int(is_rated.sum())]
    is_above = np.zeros((ratings.size, ratings.size), dtype=bool)
    for i in order:
        with np.errstate(invalid="ignore"):  # two infinite ratings have no difference
            gaps = drawn[:, [i]] - drawn
        is_above[i] = [_find_ends(np.sort(gap[~np.isnan(gap)]), n_clusters)[0] > 0 for gap in gaps.T]
    is_above &= is_rated & is_rated[:, None]
    rank = np.where(is_rated, 1 + (ratings > ratings[:, None]).sum(axis=1), 0)
    low = np.where(is_rated, 1 + is_above.sum(axis=0), 0)
    high = np.where(is_rated, order.size - is_above.sum(axis=1), 0)
    return Ranking(order, rank, low, high, is_above, is_above[order[:-1], order[1:]])


def _find_ends(ordered: Floats, n_clusters: int | None) -> tuple[float, float]:
    """The 95 % ends of ordered draws."""
    places = np.arange(ordered.size, dtype=np.float64)
    found = percentile_interval(places) if n_clusters is None else expanded_interval(places, n_clusters)
    return _interpolate(ordered, found.low, math.floor), _interpolate(ordered, found.high, math.ceil)


def _interpolate(ordered: Floats, place: float, outwards: Callable[[float], int]) -> float:
    if ordered.size == 0 or math.isnan(place):
        return float("nan")
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    # Between a finite and an infinite value nothing can be interpolated; the outer one is on the safe side.
    if not (math.isfinite(below) and math.isfinite(above)):
        return float(ordered[outwards(place)])
    return float(below + (above - below) * (place - math.floor(place)))
