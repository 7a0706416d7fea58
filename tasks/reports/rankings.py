"""Models in order by what each rater preferred: Bradley-Terry ratings with intervals and places,
and Elo as CHIRP reports it. The statistics are `tasks.stats`.
"""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.reports.scored_rows import Resamples, Row, build_rows, group_rows, write_ends
from judgelake.tasks.stats.bradley_terry import Anchor, RatingReason, fit_bradley_terry
from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.comparisons import (
    Comparisons,
    Ranking,
    RatingBand,
    compare_draws,
    count_clusters,
    count_meetings,
    find_groups,
    keep_models,
    rank_models,
    select_comparisons,
)
from judgelake.tasks.stats.contradictions import (
    build_graphs,
    can_contradict,
    find_contradictions,
    flip_coins,
)
from judgelake.tasks.stats.elo import (
    ORDERS,
    EloScale,
    bootstrap_elo,
    find_unsettled,
    permute_elo,
)
from judgelake.tasks.stats.estimates import estimate_mean
from judgelake.tasks.stats.scaling import (
    agree_with_attribute,
    correlate_distances,
    overlap_rankings,
)
from judgelake.tasks.suite.suite import Suite

_DIGITS = 6
"""Ratings that agree to so many digits are equal: a fit ends where a step is that small."""
MOST_ANNOTATORS = 20
"""Annotators who are rated one by one, those with most rows: crowds are read together, as
`human`.
"""


class _Rated(NamedTuple):
    """One method's ratings of one group's comparisons; `reasons` are empty where there is nothing
    to say of a rating.
    """

    method: str
    k: float | None
    ratings: Floats
    band: RatingBand
    ranking: Ranking
    reasons: list[tuple[str, ...]]


class _Group(NamedTuple):
    """Models that comparisons link, by name and code: number `number` of `n_groups`; None is a
    model without a comparison.
    """

    number: int | None
    n_groups: int
    models: list[str]
    codes: Indices
    comparisons: Comparisons


def elo_scale(suite: Suite) -> EloScale:
    """The suite's scale of Elo ratings, which Bradley-Terry ratings share."""
    return EloScale(suite.report.elo_start, suite.report.elo_k, suite.report.elo_scale)


def rank_by_raters(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `rankings`."""
    query = ("queries/comparisons.sql", {"most_annotators": MOST_ANNOTATORS})
    describe = partial(_rank_benchmark, scale=elo_scale(suite))
    return build_rows(connection, suite, "rankings", query, describe)


def _rank_benchmark(frame: pl.DataFrame, resamples: Resamples, scale: EloScale) -> Iterator[Row]:
    for rater, rows in group_rows(frame, ("rater", "criterion")):
        for category, part in _list_categories(rows):
            key = {**rater, "category": category}
            rng = resamples.seed_rng(*key.values())
            yield from ({**key, **row} for row in _rank_models(part, resamples, scale, rng))


def _list_categories(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """All rows, as category `*`, and those of each category where there are several."""
    parts = [(key["category"], part) for key, part in group_rows(rows, ("category",))]
    return [("*", rows), *(parts if len(parts) > 1 else ())]


def _list_criteria(
    frame: pl.DataFrame, names: tuple[str, ...]
) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
    """Groups of these columns by criterion, and as criterion `*` all of several together."""
    for key, rows in group_rows(frame, names):
        parts = [*group_rows(rows, ("criterion",))]
        if len(parts) > 1:
            yield {**key, "criterion": "*"}, rows
        yield from (({**key, **criterion}, part) for criterion, part in parts)


def _rank_models(
    frame: pl.DataFrame, resamples: Resamples, scale: EloScale, rng: np.random.Generator
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
    for group in _split_groups(comparisons, models.tolist()):
        rated = (
            _rate_bradley_terry(group.comparisons, scale),
            _rate_elo(group.comparisons, scale, resamples, rng),
        )
        differ = _differ(rated[0].ratings, rated[1].ratings)
        for ratings in rated:
            warning = _warn(ratings, group.comparisons, scale, differ)
            yield from (
                {**row, "orders_differ": differ, "warning": warning}
                for row in _describe(ratings, group, met, scale)
            )


def _differ(ratings: Floats, others: Floats) -> bool:
    """Whether two models stand in one order by one method and in the opposite one by the other."""
    order, other = (np.sign(np.round(side[:, None] - side, _DIGITS)) for side in (ratings, others))
    return bool((order * other < 0).any())


def _split_groups(comparisons: Comparisons, models: list[str]) -> Iterator[_Group]:
    """The groups, the largest first; each model without a comparison is one without a number."""
    numbers = find_groups(count_meetings(comparisons))
    n_groups = int(np.count_nonzero(np.bincount(numbers) > 1))
    for number in range(int(numbers.max()) + 1):
        codes = np.flatnonzero(numbers == number)
        yield _Group(
            number + 1 if codes.size > 1 else None,
            n_groups,
            [models[code] for code in codes],
            codes,
            keep_models(comparisons, codes),
        )


def _rate_elo(
    comparisons: Comparisons, scale: EloScale, resamples: Resamples, rng: np.random.Generator
) -> _Rated:
    """The mean over random orders, and the band of resamples each in an order of its own."""
    ratings = permute_elo(comparisons, scale, ORDERS, rng).band.mean
    drawn = bootstrap_elo(comparisons, scale, resamples.weights, rng)
    ranking = rank_models(ratings, compare_draws(drawn.ratings))
    reasons: list[tuple[str, ...]] = [
        (RatingReason.NO_COMPARISONS,) if np.isnan(rating) else () for rating in ratings
    ]
    return _Rated("elo", scale.k, ratings, drawn.band, ranking, reasons)


def _rate_bradley_terry(comparisons: Comparisons, scale: EloScale) -> _Rated:
    fitted = fit_bradley_terry(comparisons, Anchor(None, scale.initial, scale.scale))
    none = np.full_like(fitted.ratings, np.nan)
    undefined = np.zeros(fitted.ratings.size, dtype=np.int64)
    no_draws = np.full((101, fitted.ratings.size), np.nan)
    band = RatingBand(none, none, fitted.low, fitted.high, undefined, no_draws)
    ranking = rank_models(fitted.ratings, fitted.is_above)
    return _Rated("bradley_terry", None, fitted.ratings, band, ranking, list(fitted.reasons))


def _warn(rated: _Rated, comparisons: Comparisons, scale: EloScale, differ: bool) -> str | None:
    warnings = ["Bradley-Terry and Elo order these models differently"] if differ else []
    if rated.method == "elo" and (unsettled := find_unsettled(comparisons, scale)):
        warnings.append(unsettled)
    return "; ".join(warnings) or None


def _describe(rated: _Rated, group: _Group, met: Indices, scale: EloScale) -> Iterator[Row]:
    n, n_clusters = count_meetings(group.comparisons).sum(axis=1), count_clusters(group.comparisons)
    above_next = dict(
        zip(
            rated.ranking.order.tolist(),
            rated.ranking.neighbour_is_separable.tolist(),
            strict=False,
        )
    )
    apart = (
        (f"group {group.number} of {group.n_groups}: no comparison links them, places hold within",)
        if group.n_groups > 1 and group.number
        else ()
    )
    for code, model in enumerate(group.models):
        places = [
            int(place[code]) or None
            for place in (rated.ranking.rank, rated.ranking.low, rated.ranking.high)
        ]
        yield {
            "method": rated.method,
            "model": model,
            "n": int(n[code]),
            "n_missing": int(met[group.codes[code]] - n[code]),
            "n_clusters": int(n_clusters[code]),
            "group_number": group.number,
            "rating": float(rated.ratings[code]),
            "low": float(rated.band.low[code]),
            "high": float(rated.band.high[code]),
            "mean": float(rated.band.mean[code]),
            "median": float(rated.band.median[code]),
            "percentiles": _list_percentiles(rated.band, code),
            **dict(zip(("rank", "rank_low", "rank_high"), places, strict=True)),
            "above_next": above_next.get(code),
            "reason": "; ".join((*apart, *rated.reasons[code])) or None,
            "initial": scale.initial,
            "k": rated.k,
            "scale": scale.scale,
            "n_undefined": int(rated.band.n_undefined[code]),
        }


def _list_percentiles(band: RatingBand, code: int) -> list[float] | None:
    """Those of a model; None where nothing was drawn."""
    drawn = band.percentiles[:, code]
    return None if np.isnan(drawn).any() else drawn.tolist()


_LESS_IS_BETTER = "training_loss"


def compare_with_attributes(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `attribute_agreement`."""
    describe = partial(_compare_benchmark, scale=elo_scale(suite))
    return build_rows(
        connection,
        suite,
        "attribute_agreement",
        ("queries/attribute_comparisons.sql", {}),
        describe,
    )


def _compare_benchmark(frame: pl.DataFrame, resamples: Resamples, scale: EloScale) -> Iterator[Row]:
    for key, rows in _list_criteria(frame, ("rater", "attribute")):
        for category, part in _list_categories(rows):
            # names of the row alone, as in rankings, so that a row's draws follow from no other
            named = (key["rater"], key["criterion"], key["attribute"])
            rng = resamples.seed_rng(*named, *(() if category == "*" else (category,)))
            yield from (
                {**key, "category": category, **row}
                for row in _compare_attribute(part, key["attribute"], resamples, scale, rng)
            )


def _compare_attribute(
    rows: pl.DataFrame,
    attribute: str,
    resamples: Resamples,
    scale: EloScale,
    rng: np.random.Generator,
) -> Iterator[Row]:
    """The row of one attribute, none where nobody preferred anything."""
    names, codes = np.unique(
        np.concatenate([rows["model_a"], rows["model_b"]]).astype(str), return_inverse=True
    )
    amount = np.empty(names.size)
    amount[codes] = np.concatenate([rows["a"], rows["b"]])
    preference = rows["preference_b"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    a, b = codes[: rows.height], codes[rows.height :]
    clusters = rows["cluster_code"].to_numpy()
    comparisons = select_comparisons(a, b, preference, clusters, names.size)
    if not comparisons.preference_b.size:
        return
    prefers_more = attribute != _LESS_IS_BETTER
    agreed = agree_with_attribute(comparisons, amount, prefers_more)
    ratings = permute_elo(comparisons, scale, ORDERS, rng).band.mean
    distance = correlate_distances(ratings, amount, len(resamples.weights), rng)
    yield {
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
    coded = frame.with_columns(
        a=codes[: frame.height],
        b=codes[frame.height :],
        criterion_code=pl.col("criterion").rank("dense").cast(pl.Int64) - 1,
    )
    for key, rows in _list_criteria(coded, ("rater",)):
        for pairs, part in _list_pairs(rows, key["rater"]):
            rng = resamples.seed_rng(*key.values(), *(() if pairs == "all" else (pairs,)))
            yield from ({**key, "pairs": pairs, **row} for row in _count_circles(part, rng))


def _list_pairs(rows: pl.DataFrame, rater: str) -> Iterator[tuple[str, pl.DataFrame]]:
    """All comparisons, and a judge's of pairs that people compared too, where it saw others."""
    yield "all", rows
    surveyed = rows.filter("is_surveyed")
    is_judge = rater != "human" and not rater.startswith("human:")
    if is_judge and 0 < surveyed.height < rows.height:
        yield "surveyed", surveyed


def _count_circles(rows: pl.DataFrame, rng: np.random.Generator) -> Iterator[Row]:
    """The row of one rater's comparisons, none where no question's pairs could close a circle."""
    criterion = rows["criterion_code"].to_numpy()
    # a question under each criterion is one by itself
    questions = rows["question_code"].to_numpy() * (int(criterion.max(initial=0)) + 1) + criterion
    side = rows["side"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    columns = (questions, rows["a"].to_numpy(), rows["b"].to_numpy(), side)
    graphs = build_graphs(*columns)
    if graphs.n_models.max(initial=0) < 3:
        return
    contradictions = find_contradictions(graphs)
    if not contradictions.has_cycle.any() and not can_contradict(*columns):
        return
    asked, first_row = np.unique(questions, return_index=True)
    clusters = rows["cluster_code"].to_numpy()[
        first_row[np.searchsorted(asked, contradictions.questions)]
    ]
    share = estimate_mean(contradictions.has_cycle.astype(np.float64), clusters)
    flips = flip_coins(graphs, FLIPS, rng)
    yield {
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
    """Rows of the table `ranking_overlaps`, from those of the largest groups in `rankings`."""
    stamp: Row = {"persistence": PERSISTENCE, "reported_at": datetime.now(UTC)}
    placed = rankings.filter(pl.col("group_number") == 1).sort("rank", "model")
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
