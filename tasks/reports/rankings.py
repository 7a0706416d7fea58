"""Models in order by what each rater preferred: Elo and Bradley-Terry ratings with bands and
places. The statistics are `tasks.stats`.
"""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.reports.scored_rows import Resamples, Row, build_rows, group_rows, write_ends
from judgelake.tasks.stats.bradley_terry import (
    Anchor,
    RatingReason,
    bootstrap_bradley_terry,
    fit_bradley_terry,
)
from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.comparisons import (
    Comparisons,
    Ranking,
    RatingBand,
    count_meetings,
    rank_models,
    select_comparisons,
    summarise_ratings,
)
from judgelake.tasks.stats.contradictions import build_graphs, find_contradictions, flip_coins
from judgelake.tasks.stats.elo import EloScale, bootstrap_elo, permute_elo
from judgelake.tasks.stats.estimates import estimate_mean, normal_interval, wilson_interval
from judgelake.tasks.stats.pair_accuracy import choice_accuracy
from judgelake.tasks.stats.scaling import (
    agree_with_attribute,
    correlate_distances,
    overlap_rankings,
    superscore,
)
from judgelake.tasks.suite.suite import Suite
from judgelake.tasks.warehouse.warehouse import select_file

ELO = EloScale(1000, 4, 400)
"""FastChat's, which CHIRP uses (section 3.4); Bradley-Terry ratings average the same and mean the
same by a gap.
"""
PERMUTATIONS = 200
"""Orders over which a rating is averaged: what is left of their spread is a fourteenth, far inside
the band.
"""
MOST_ANNOTATORS = 20
"""Annotators who are rated one by one, those with most rows: crowds are read together, as
`human`.
"""


class _Rated(NamedTuple):
    """One method's ratings of one rater's comparisons; `reasons` are empty where a rating is
    finite.
    """

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
        categories = [
            ("*", rows),
            *((key["category"], part) for key, part in group_rows(rows, ("category",))),
        ]
        for category, part in categories if len(categories) > 2 else categories[:1]:
            key = {**rater, "category": category}
            yield from (
                {**key, **row}
                for row in _rank_models(part, resamples, resamples.seed_rng(*key.values()))
            )


def _rank_models(
    frame: pl.DataFrame, resamples: Resamples, rng: np.random.Generator
) -> Iterator[Row]:
    models, codes = np.unique(
        np.concatenate([frame["model_a"], frame["model_b"]]).astype(str), return_inverse=True
    )
    preference = frame["preference_b"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    clusters = frame["cluster_code"].to_numpy()
    comparisons = select_comparisons(
        codes[: frame.height], codes[frame.height :], preference, clusters, models.size
    )
    if not comparisons.preference_b.size:
        return
    met = np.bincount(codes, minlength=models.size)
    for rated in (
        _rate_elo(comparisons, resamples, rng),
        _rate_bradley_terry(comparisons, resamples),
    ):
        yield from _describe(rated, comparisons, models.tolist(), met)


def _rate_elo(comparisons: Comparisons, resamples: Resamples, rng: np.random.Generator) -> _Rated:
    """The mean over random orders, and the band of resamples each in an order of its own."""
    ratings = permute_elo(comparisons, ELO, PERMUTATIONS, rng).band.mean
    drawn = bootstrap_elo(comparisons, ELO, resamples.weights, rng)
    reasons = [str(RatingReason.NO_COMPARISONS) if np.isnan(rating) else None for rating in ratings]
    return _Rated(
        "elo", ELO.k, ratings, drawn.band, rank_models(ratings, drawn.ratings, None), reasons
    )


def _rate_bradley_terry(comparisons: Comparisons, resamples: Resamples) -> _Rated:
    fitted = fit_bradley_terry(comparisons, Anchor(None, ELO.initial))
    drawn = bootstrap_bradley_terry(comparisons, fitted, resamples.weights)
    n_clusters = np.unique(comparisons.clusters).size
    band = summarise_ratings(drawn, n_clusters)
    reasons = [None if reason is RatingReason.FINITE else str(reason) for reason in fitted.reasons]
    return _Rated(
        "bradley_terry",
        None,
        fitted.ratings,
        band,
        rank_models(fitted.ratings, drawn, n_clusters),
        reasons,
    )


def _describe(
    rated: _Rated, comparisons: Comparisons, models: list[str], met: Indices
) -> Iterator[Row]:
    n = count_meetings(comparisons).sum(axis=1)
    above_next = dict(
        zip(
            rated.ranking.order.tolist(),
            rated.ranking.neighbour_is_separable.tolist(),
            strict=False,
        )
    )
    for code, model in enumerate(models):
        is_met = (comparisons.model_a == code) | (comparisons.model_b == code)
        places = [
            int(place[code]) or None
            for place in (rated.ranking.rank, rated.ranking.low, rated.ranking.high)
        ]
        yield {
            "method": rated.method,
            "model": model,
            "n": int(n[code]),
            "n_missing": int(met[code] - n[code]),
            "n_clusters": np.unique(comparisons.clusters[is_met]).size,
            "rating": float(rated.ratings[code]),
            "low": float(rated.band.low[code]),
            "high": float(rated.band.high[code]),
            **dict(zip(("rank", "rank_low", "rank_high"), places, strict=True)),
            "above_next": above_next.get(code),
            "reason": rated.reasons[code],
            "initial": ELO.initial,
            "k": rated.k,
            "scale": ELO.scale,
            "n_undefined": int(rated.band.n_undefined[code]),
        }


_LESS_IS_BETTER = "training_loss"


def compare_with_attributes(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `attribute_agreement`."""
    return build_rows(
        connection,
        suite,
        "attribute_agreement",
        ("queries/attribute_comparisons.sql", {}),
        _compare_benchmark,
    )


def _compare_benchmark(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    for key, rows in group_rows(frame, ("rater", "criterion", "attribute")):
        names, codes = np.unique(
            np.concatenate([rows["model_a"], rows["model_b"]]).astype(str), return_inverse=True
        )
        attribute = np.empty(names.size)
        attribute[codes] = np.concatenate([rows["a"], rows["b"]])
        preference = rows["preference_b"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        a, b = codes[: rows.height], codes[rows.height :]
        comparisons = select_comparisons(
            a, b, preference, rows["cluster_code"].to_numpy(), names.size
        )
        if not comparisons.preference_b.size:
            continue
        prefers_more = key["attribute"] != _LESS_IS_BETTER
        agreed = agree_with_attribute(comparisons, attribute, prefers_more, resamples.weights)
        rng = resamples.seed_rng(*key.values())
        ratings = permute_elo(comparisons, ELO, PERMUTATIONS, rng).band.mean
        distance = correlate_distances(ratings, attribute, len(resamples.weights), rng)
        yield {
            **key,
            "prefers": "more" if prefers_more else "less",
            "n": agreed.agreement.n,
            "n_left_out": agreed.n_left_out,
            "n_ties": agreed.n_ties,
            "n_clusters": agreed.agreement.n_clusters,
            **write_ends(agreed.agreement, "agreement"),
            "n_undefined": agreed.agreement.n_undefined,
            "n_models": distance.n,
            "distance_correlation": distance.plain,
            "bias_corrected": distance.bias_corrected,
            "p_value": distance.p_value,
        }


def score_choices(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `choice_accuracies`."""
    return build_rows(
        connection, suite, "choice_accuracies", ("queries/choice_pairs.sql", {}), _score_choices
    )


def _score_choices(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    for key, rows in group_rows(frame, ("judge", "judge_criterion", "human_criterion")):
        winners, losers = (
            rows[name].fill_null(np.nan).to_numpy() for name in ("winner_score", "loser_score")
        )
        chosen = choice_accuracy(
            winners, losers, rows["cluster_code"].to_numpy(), resamples.weights
        )
        yield {
            **key,
            "n_choices": rows["choice_code"].n_unique(),
            "n": chosen.accuracy.n,
            "n_ties": chosen.n_ties,
            "n_missing": chosen.n_missing,
            "n_clusters": chosen.accuracy.n_clusters,
            **write_ends(chosen.accuracy, "accuracy"),
            "n_undefined": chosen.accuracy.n_undefined,
        }


FLIPS = 200
"""Simulated coin-flips of one question, where its models are too many to count: their share is a
mean over all questions.
"""


def count_contradictions(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `contradictions`."""
    query = ("queries/comparisons.sql", {"most_annotators": MOST_ANNOTATORS})
    return build_rows(connection, suite, "contradictions", query, _describe_benchmark)


def _describe_benchmark(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    names, codes = np.unique(
        np.concatenate([frame["model_a"], frame["model_b"]]).astype(str), return_inverse=True
    )
    if names.size < 3:
        return
    coded = frame.with_columns(a=codes[: frame.height], b=codes[frame.height :])
    cluster_of = np.zeros(int(frame["question_code"].to_numpy().max()) + 1, dtype=np.int64)
    cluster_of[frame["question_code"].to_numpy()] = frame["cluster_code"].to_numpy()
    for key, rows in group_rows(coded, ("rater", "criterion")):
        side = rows["side"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        graphs = build_graphs(
            rows["question_code"].to_numpy(), rows["a"].to_numpy(), rows["b"].to_numpy(), side
        )
        if graphs.n_models.max(initial=0) < 3:
            continue
        contradictions = find_contradictions(graphs)
        share = estimate_mean(
            contradictions.has_cycle.astype(np.float64),
            cluster_of[contradictions.questions],
            resamples.weights,
        )
        flips = flip_coins(graphs, FLIPS, resamples.seed_rng(*key.values()))
        yield {
            **key,
            "n_questions": share.n,
            "n_clusters": share.n_clusters,
            "n_contradictory": int(contradictions.has_cycle.sum()),
            **write_ends(share, "share"),
            "coin_flip_share": flips.rate,
            "n_simulated": flips.n_simulated,
            "n_undefined": share.n_undefined,
        }


PERSISTENCE = 0.9
"""Webber, Moffat & Zobel 2010 take it for their examples: the first ten places hold 86 % of the
weight.
"""
_KEY = ("suite", "benchmark", "criterion", "category", "method")


def overlap_raters(rankings: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table `ranking_overlaps`, from those of `rankings`."""
    stamp: Row = {"persistence": PERSISTENCE, "reported_at": datetime.now(UTC)}
    placed = rankings.filter(pl.col("rank").is_not_null()).sort("rank", "model")
    rows = [
        {**dict(zip(_KEY, key, strict=True)), **stamp, **row}
        for key, group in placed.group_by(_KEY, maintain_order=True)
        for row in _compare_orders(group)
    ]
    return pl.DataFrame(rows, schema=TABLES["ranking_overlaps"].polars_schema)


def _compare_orders(group: pl.DataFrame) -> Iterator[Row]:
    codes = np.unique(group["model"].to_numpy().astype(str), return_inverse=True)[1]
    raters = group["rater"].to_numpy().astype(str)
    orders = {str(rater): codes[raters == rater] for rater in np.unique(raters)}
    for a, b in itertools.combinations(orders, 2):
        yield {
            "rater_a": a,
            "rater_b": b,
            "n_models_a": orders[a].size,
            "n_models_b": orders[b].size,
            "n_common": np.intersect1d(orders[a], orders[b]).size,
            "overlap": overlap_rankings(orders[a], orders[b], PERSISTENCE),
        }


def score_forms(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `superscores`."""
    return build_rows(
        connection, suite, "superscores", ("queries/answer_forms.sql", {}), _score_forms
    )


def _score_forms(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    for key, rows in group_rows(frame, ("judge", "criterion")):
        for model, own in (
            ("*", rows),
            *((name["model"], part) for name, part in group_rows(rows, ("model",))),
        ):
            long, short, clusters = (
                own[name].to_numpy() for name in ("long_form", "short_form", "cluster_code")
            )
            scores = superscore(long, short, clusters, resamples.weights)
            yield {
                **key,
                "model": model,
                "n": scores.either.n,
                "n_clusters": scores.either.n_clusters,
                **write_ends(scores.long, "long", "long_"),
                **write_ends(scores.short, "short", "short_"),
                **write_ends(scores.either, "either", "either_"),
                "n_undefined": scores.either.n_undefined,
            }


def share_labels(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `item_label_shares`."""
    now = datetime.now(UTC)
    rows = [
        {
            "suite": suite.name,
            "benchmark": benchmark,
            **row,
            **_find_ends(row["n_holds"], row["n"]),
            "reported_at": now,
        }
        for benchmark in sorted(suite.benchmarks)
        for row in select_file(
            connection, "queries/item_labels.sql", {"benchmark": benchmark}
        ).iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=TABLES["item_label_shares"].polars_schema)


def _find_ends(n_holds: int, n: int) -> Row:
    normal, wilson = normal_interval(n_holds, n), wilson_interval(n_holds, n)
    return {
        "share": normal.share, "normal_low": normal.low, "normal_high": normal.high,
        "wilson_low": wilson.low, "wilson_high": wilson.high,
    }  # fmt: skip
