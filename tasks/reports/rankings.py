"""Models in order by what each rater preferred: Elo and Bradley-Terry ratings with bands and places. The statistics are `tasks.stats`."""

from collections.abc import Iterator
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl

from tasks.reports.resampled import Resamples, Row, build_rows, group_rows
from tasks.stats.bradley_terry import Anchor, fit_bradley_terry
from tasks.stats.bradley_terry_bootstrap import bootstrap_bradley_terry
from tasks.stats.cluster_sums import Floats, Indices
from tasks.stats.comparison_graph import RatingReason
from tasks.stats.comparisons import Comparisons, count_meetings, select_comparisons
from tasks.stats.elo import EloScale, bootstrap_elo, permute_elo
from tasks.stats.rating_draws import Ranking, RatingBand, rank_models, summarise_ratings
from tasks.suite import Suite

ELO = EloScale(1000, 4, 400)
"""FastChat's, which CHIRP uses (section 3.4); Bradley-Terry ratings average the same and mean the same by a gap."""
PERMUTATIONS = 200
"""Orders over which a rating is averaged: what is left of their spread is a fourteenth, far inside the band."""
MOST_ANNOTATORS = 20
"""Annotators who are rated one by one, those with most rows: crowds are read together, as `human`."""


class _Rated(NamedTuple):
    """One method's ratings of one rater's comparisons; `reasons` are empty where a rating is finite."""

    method: str
    k: float | None
    ratings: Floats
    band: RatingBand
    ranking: Ranking
    reasons: list[str | None]


def rank_by_raters(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `rankings`."""
    query = ("queries/comparisons.sql", {"most_annotators": MOST_ANNOTATORS})
    return build_rows(connection, suite, "rankings", query, _rank_benchmark)


def _rank_benchmark(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    for rater, rows in group_rows(frame, ("rater", "criterion")):
        categories = [("*", rows), *((key["category"], part) for key, part in group_rows(rows, ("category",)))]
        for category, part in categories if len(categories) > 2 else categories[:1]:
            key = {**rater, "category": category}
            yield from ({**key, **row} for row in _rank_models(part, resamples, resamples.seed_rng(*key.values())))


def _rank_models(frame: pl.DataFrame, resamples: Resamples, rng: np.random.Generator) -> Iterator[Row]:
    models, codes = np.unique(np.concatenate([frame["model_a"], frame["model_b"]]).astype(str), return_inverse=True)
    preference = frame["preference_b"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    clusters = frame["cluster_code"].to_numpy()
    found = select_comparisons(codes[: frame.height], codes[frame.height :], preference, clusters, models.size)
    if not found.preference_b.size:
        return
    met = np.bincount(codes, minlength=models.size)
    for rated in (_rate_elo(found, resamples, rng), _rate_bradley_terry(found, resamples)):
        yield from _describe(rated, found, models.tolist(), met)


def _rate_elo(found: Comparisons, resamples: Resamples, rng: np.random.Generator) -> _Rated:
    """The mean over random orders, and the band of resamples each in an order of its own."""
    ratings = permute_elo(found, ELO, PERMUTATIONS, rng).band.mean
    drawn = bootstrap_elo(found, ELO, resamples.weights, rng)
    reasons = [str(RatingReason.NO_COMPARISONS) if np.isnan(rating) else None for rating in ratings]
    return _Rated("elo", ELO.k, ratings, drawn.band, rank_models(ratings, drawn.ratings, None), reasons)


def _rate_bradley_terry(found: Comparisons, resamples: Resamples) -> _Rated:
    fitted = fit_bradley_terry(found, Anchor(None, ELO.initial))
    drawn = bootstrap_bradley_terry(found, fitted, resamples.weights)
    n_clusters = np.unique(found.clusters).size
    band = summarise_ratings(drawn, n_clusters)
    reasons = [None if reason is RatingReason.FINITE else str(reason) for reason in fitted.reasons]
    return _Rated("bradley_terry", None, fitted.ratings, band, rank_models(fitted.ratings, drawn, n_clusters), reasons)


def _describe(rated: _Rated, found: Comparisons, models: list[str], met: Indices) -> Iterator[Row]:
    n = count_meetings(found).sum(axis=1)
    above_next = dict(zip(rated.ranking.order.tolist(), rated.ranking.neighbour_is_separable.tolist(), strict=False))
    for code, model in enumerate(models):
        is_met = (found.model_a == code) | (found.model_b == code)
        places = [int(place[code]) or None for place in (rated.ranking.rank, rated.ranking.low, rated.ranking.high)]
        yield {
            "method": rated.method, "model": model, "n": int(n[code]), "n_missing": int(met[code] - n[code]),
            "n_clusters": np.unique(found.clusters[is_met]).size, "rating": float(rated.ratings[code]),
            "low": float(rated.band.low[code]), "high": float(rated.band.high[code]),
            **dict(zip(("rank", "rank_low", "rank_high"), places, strict=True)), "above_next": above_next.get(code),
            "reason": rated.reasons[code], "initial": ELO.initial, "k": rated.k, "scale": ELO.scale,
            "n_undefined": int(rated.band.n_undefined[code]),
        }  # fmt: skip
