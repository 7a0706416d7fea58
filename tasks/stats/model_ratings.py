"""Elo and Bradley-Terry ratings of models, of columns of one table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from judgelake.tasks.stats.bradley_terry import Anchor, fit_bradley_terry
from judgelake.tasks.stats.cluster_sums import AnyWeights, Floats, Indices
from judgelake.tasks.stats.comparisons import Comparisons, count_meetings, select_comparisons
from judgelake.tasks.stats.elo import ORDERS, EloScale, bootstrap_elo, find_unsettled, permute_elo
from judgelake.tasks.stats.texts import Columns, Options, place_texts

Ratings = dict[str, float]


class Rated(NamedTuple):
    """A model's rating with what `Measured` has beside a value; `n` and `n_clusters` are of its
    comparisons, `n_missing` rows were left out over all models.
    """

    model: str
    value: float
    low: float
    high: float
    n: int
    n_clusters: int
    n_undefined: int
    n_missing: int
    method: str | None
    reason: str | None


def _compare(columns: Columns, clusters: Indices) -> tuple[list[str], Comparisons]:
    """The models, rising, and the comparisons between two of them."""
    a, b = columns["model_a"], columns["model_b"]
    models = sorted({*a.names, *b.names})
    first, second = place_texts(a, models), place_texts(b, models)
    differ = first != second
    given = first[differ], second[differ], columns["preference_b"][differ], clusters[differ]
    return models, select_comparisons(*given, len(models))


def _scale(options: Options) -> EloScale:
    return EloScale(*(float(options[name]) for name in ("start", "k", "scale")))


def rate_elo(columns: Columns, options: Options) -> Ratings:
    """Elo ratings, the mean over random orders of the comparisons (`tasks.stats.elo`)."""
    models, comparisons = _compare(columns, np.zeros(columns["preference_b"].size, dtype=np.int64))
    rng = np.random.default_rng(options.get("seed", 0))
    ratings = permute_elo(comparisons, _scale(options), ORDERS, rng).band.mean
    return dict(zip(models, ratings.tolist(), strict=True))


def estimate_elo(
    columns: Columns, clusters: Indices, weights: AnyWeights, options: Options
) -> list[Rated]:
    """The same with the band of resamples of clusters, each in a random order; `reason` says where
    the order depends on how often a model was compared.
    """
    ratings = rate_elo(columns, options)
    models, comparisons = _compare(columns, clusters)
    rng = np.random.default_rng(options["seed"])
    band = bootstrap_elo(comparisons, _scale(options), weights, rng).band
    values = np.array([ratings[model] for model in models])
    reasons = [find_unsettled(comparisons, _scale(options))] * len(models)
    return _list_rated(models, comparisons, values, band.low, band.high, _OF_ELO, reasons)


def estimate_bradley_terry(
    columns: Columns, clusters: Indices, _: AnyWeights | None, options: Options
) -> list[Rated]:
    """Bradley-Terry ratings with intervals of the jackknife over clusters."""
    models, comparisons = _compare(columns, clusters)
    scale = EloScale(float(options["start"]), 1.0, float(options["scale"]))
    fitted = fit_bradley_terry(comparisons, Anchor(None, scale.initial, scale.scale))
    reasons = ["; ".join(given) or None for given in fitted.reasons]
    ends = fitted.low, fitted.high
    return _list_rated(models, comparisons, fitted.ratings, *ends, _OF_BRADLEY_TERRY, reasons)


_OF_ELO = "resamples of clusters in random orders; a spread, no confidence interval"
_OF_BRADLEY_TERRY = "jackknife of clusters, Student's t"


def _list_rated(
    models: Sequence[str],
    comparisons: Comparisons,
    values: Floats,
    low: Floats,
    high: Floats,
    method: str,
    reasons: Sequence[str | None] = (),
) -> list[Rated]:
    met = count_meetings(comparisons).sum(axis=1)
    rated = []
    for code, model in enumerate(models):
        is_in = (comparisons.model_a == code) | (comparisons.model_b == code)
        n_clusters = int(np.unique(comparisons.clusters[is_in]).size)
        figures = float(values[code]), float(low[code]), float(high[code]), int(met[code])
        how = method if np.isfinite(low[code]) else None
        reason = reasons[code] if reasons else None
        rated.append(Rated(model, *figures, n_clusters, 0, 0, how, reason))
    return rated


def rate_bradley_terry(columns: Columns, options: Options) -> Ratings:
    """The ratings alone."""
    clusters = np.arange(columns["preference_b"].size)
    return {
        rated.model: rated.value
        for rated in estimate_bradley_terry(columns, clusters, None, options)
    }
