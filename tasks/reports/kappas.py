"""How far two raters, or all of them, agree on what they labelled, with intervals: of each
benchmark and of all together. The statistics are `tasks.stats`, the labels' tables `rater_labels`.
"""

import itertools
from collections.abc import Iterator

import duckdb
import numpy as np
import polars as pl

from judgelake.tasks.reports.rater_labels import (
    HUMAN,
    MEAN_OF_PEOPLE,
    NAMES,
    RaterLabels,
    explain_spans,
    list_parts,
    number_units,
    spread_raters,
)
from judgelake.tasks.reports.scored_rows import (
    ALL,
    PARTS,
    Resamples,
    Row,
    build_tables,
    group_rows,
    write_ends,
)
from judgelake.tasks.stats.agreement import (
    Weighting,
    agree_on_matchups,
    agree_raters,
    landis_koch,
)
from judgelake.tasks.stats.bootstrap import resample_correlations
from judgelake.tasks.stats.cluster_sums import Floats
from judgelake.tasks.stats.comparisons import Preference, orient_matchups
from judgelake.tasks.stats.estimates import Estimate
from judgelake.tasks.stats.reliability import (
    Metric,
    fleiss_kappa,
    krippendorff_alpha,
    most_frequent_size,
)
from judgelake.tasks.suite.suite import Suite

MOST_PAIRS, MOST_PAIRS_OF_CUT = 300, 100
"""Pairs of raters of a criterion, and of a task, category or style, those with most in common: a
crowd's many pairs are in `rpt_agreement`, without intervals.
"""


def measure_kappas(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    """Rows of the table `kappas` of one benchmark's rows of `queries/rater_labels.sql`, or of
    several benchmarks' together.
    """
    for kind, rows in group_rows(frame, ("kind",)):
        is_choice = kind["kind"] == "choice"
        whole = spread_raters(rows, is_choice=is_choice)
        for names, places in list_parts(whole.units):
            is_cut = any(names[part] != ALL for part in PARTS)
            most = MOST_PAIRS_OF_CUT if is_cut else MOST_PAIRS
            part = whole.select(places)
            for row in _compare_raters(part, resamples, most, is_choice=is_choice):
                yield {**kind, **names, **row}


def _compare_raters(
    labelled: RaterLabels, resamples: Resamples, most_pairs: int, *, is_choice: bool
) -> Iterator[Row]:
    raters, labels = labelled.raters, labelled.labels
    pairs = [
        (str(raters[a]), str(raters[b]), labels[a], labels[b])
        for a, b in _pair_raters(labels, most_pairs)
    ]
    measure = _compare_choices if is_choice else _compare_scores
    for rater, other, a, b in (*pairs, *_pair_with_people(labelled)):
        names = {"rater_a": min(rater, other), "rater_b": max(rater, other)}
        if reason := labelled.explain_unlike(rater, other):
            yield {**names, **_correlate(a, b, labelled.units, resamples, reason)}
            continue
        for row in measure(a, b, labelled.units, resamples):
            # A mean is hardly ever equal to a label: only what weighs distances applies.
            if other != MEAN_OF_PEOPLE or row["chance"] != "nominal":
                yield {**names, **row}


def _correlate(
    a: Floats, b: Floats, of_units: pl.DataFrame, resamples: Resamples, unlike: str
) -> Row:
    """Correlations of two raters' scores in place of agreement and kappa; `reason` says why, and
    why a coefficient has no interval.
    """
    both = ~np.isnan(a) & ~np.isnan(b)
    clusters = of_units["cluster_code"].to_numpy()[both]
    drawn = resample_correlations(a[both], b[both], clusters, resamples.weights)
    row: Row = {}
    reasons = [unlike]
    for name in ("spearman", "kendall_tau_b"):
        correlation = drawn[name].summarise()
        if correlation.reason is not None:
            reasons.append(f"{name} has no interval: {correlation.reason}")
        row |= {
            name: correlation.value,
            f"{name}_low": correlation.low,
            f"{name}_high": correlation.high,
        }
    return {
        **row,
        "chance": "none",
        "n": correlation.n,
        "n_clusters": correlation.n_clusters,
        "n_inconsistent": 0,
        "strength": landis_koch(float("nan")),
        "n_undefined": correlation.n_undefined,
        "reason": "; ".join(reasons),
    }


def _pair_with_people(labelled: RaterLabels) -> Iterator[tuple[str, str, Floats, Floats]]:
    """Each judge with all people as one rater."""
    judges = [
        (str(rater), labels)
        for rater, labels in zip(labelled.raters, labelled.labels, strict=True)
        if not rater.startswith(HUMAN)
    ]
    for (name, people), (judge, labels) in itertools.product(labelled.people.items(), judges):
        if (~np.isnan(people) & ~np.isnan(labels)).any():
            yield judge, name, labels, people


def _pair_raters(labels: Floats, most: int) -> list[tuple[int, int]]:
    """Pairs of raters who labelled anything in common, most first, up to `most`."""
    has_label = (~np.isnan(labels)).astype(np.float32)
    common = has_label @ has_label.T
    pairs = [(a, b) for a, b in itertools.combinations(range(len(labels)), 2) if common[a, b]]
    return sorted(pairs, key=lambda pair: -common[pair])[:most]


def _compare_scores(
    a: Floats, b: Floats, of_units: pl.DataFrame, resamples: Resamples
) -> Iterator[Row]:
    both = ~np.isnan(a) & ~np.isnan(b)
    n_levels = np.unique(np.concatenate([a[both], b[both]])).size
    chosen: tuple[Weighting, ...] = (
        ("nominal", "linear", "quadratic") if n_levels > 2 else ("nominal",)
    )
    agreements = agree_raters(a, b, of_units["cluster_code"].to_numpy(), resamples.weights, chosen)
    for chance in chosen:
        yield _describe(chance, agreements["agreement"], agreements[f"kappa_{chance}"], 0)


def _compare_choices(
    a: Floats, b: Floats, of_units: pl.DataFrame, resamples: Resamples
) -> Iterator[Row]:
    """Choices that are not inconsistent; by matchup those between two known models."""
    unclear = (a == Preference.INCONSISTENT) | (b == Preference.INCONSISTENT)
    n_inconsistent = int((unclear & ~np.isnan(a) & ~np.isnan(b)).sum())
    a, b = (np.where(unclear, np.nan, side) for side in (a, b))
    clusters = of_units["cluster_code"].to_numpy()
    plain = agree_raters(a, b, clusters, resamples.weights)
    yield _describe("nominal", plain["agreement"], plain["kappa_nominal"], n_inconsistent)
    between = (of_units["model_a"] != of_units["model_b"]).fill_null(False).to_numpy()
    if between.any():
        names = np.concatenate(
            [of_units["model_a"].to_numpy()[between], of_units["model_b"].to_numpy()[between]]
        ).astype(str)
        first, second = np.unique(names, return_inverse=True)[1].reshape(2, -1)
        (matchups, side_a), (_, side_b) = (
            orient_matchups(first, second, side[between]) for side in (a, b)
        )
        by_matchup = agree_on_matchups(
            side_a, side_b, matchups, clusters[between], resamples.weights
        )
        yield _describe(
            "matchups", by_matchup["agreement"], by_matchup["kappa_matchups"], n_inconsistent
        )


def _describe(chance: str, agreement: Estimate, kappa: Estimate, n_inconsistent: int) -> Row:
    return {
        "chance": chance,
        "n": kappa.n,
        "n_clusters": kappa.n_clusters,
        "n_inconsistent": n_inconsistent,
        **write_ends(agreement, "agreement", "agreement_"),
        **write_ends(kappa, "kappa", "kappa_"),
        "strength": landis_koch(kappa.value),
        "n_undefined": kappa.n_undefined,
    }


PEOPLE, JUDGES = "people", "judges"
MOST_LEVELS = 25
"""Labels of more levels together are a measure, no classes: only alpha for intervals is
computed of them.
"""


def measure_reliabilities(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    """Rows of the table `reliabilities` of one benchmark's rows of `queries/rater_labels.sql`, or
    of several benchmarks' together.
    """
    is_choice = pl.col("kind") == "choice"
    clear = frame.filter(~is_choice | (pl.col("label") != Preference.INCONSISTENT.value))
    for kind, of_kind in group_rows(clear, ("kind",)):
        rows = of_kind.with_columns(unit=number_units(of_kind))
        for names, places in list_parts(rows):
            for group, labels in _group_raters(rows[places]):
                if labels.select(pl.len().over("unit").max()).item() > 1:
                    about = {"raters": group, "n_raters": labels["rater"].n_unique()}
                    yield from (
                        {**kind, **names, **about, **row}
                        for row in _measure_group(labels, kind["kind"] == "choice", resamples)
                    )


def _group_raters(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """People alone, each judge with people (on what people labelled), the judges that see what they
    should alone; two raters at least.
    """
    is_human = pl.col("rater").cat.starts_with(HUMAN)
    people, judges = rows.filter(is_human), rows.filter(~is_human)
    if people["rater"].n_unique() > 1:
        yield PEOPLE, people
    if people.height:
        of_people = judges.join(
            people.select("unit").unique(), on="unit", how="semi", maintain_order="left"
        )
        for key, own in group_rows(of_people, ("rater",)):
            yield f"{PEOPLE} and {key['rater']}", pl.concat([people, own])
    seeing = judges.filter(~pl.col("is_control"))
    if seeing["rater"].n_unique() > 1:
        yield JUDGES, seeing


def _measure_group(labels: pl.DataFrame, is_choice: bool, resamples: Resamples) -> Iterator[Row]:
    units, clusters, values = (
        labels[name].to_numpy() for name in ("unit", "cluster_code", "label")
    )
    n_levels = np.unique(values).size
    unlike = _find_unlike(labels)
    if n_levels <= MOST_LEVELS and not unlike:
        per_unit = most_frequent_size(units)
        kappa, _, left_out = fleiss_kappa(units, values, per_unit, clusters, resamples.weights)
        yield {
            "statistic": "fleiss_kappa",
            "per_unit": per_unit,
            "n": kappa.n,
            "n_left_out": left_out,
            "n_clusters": kappa.n_clusters,
            **write_ends(kappa, "value"),
            "strength": landis_koch(kappa.value),
            "n_undefined": kappa.n_undefined,
        }
    for metric in ("interval",) if unlike else _choose_metrics(n_levels, is_choice):
        alpha, n_units, left_out = krippendorff_alpha(
            units, values, metric, clusters, resamples.weights
        )
        yield {
            "statistic": f"alpha_{metric}",
            "per_unit": None,
            "n": n_units,
            "n_left_out": left_out,
            "n_clusters": alpha.n_clusters,
            **write_ends(alpha, "value"),
            "strength": None,
            "note": unlike and f"{unlike}; their positions between the ends are compared",
            "n_undefined": alpha.n_undefined,
        }


def _find_unlike(labels: pl.DataFrame) -> str | None:
    """Why raters have no label in common under some criterion, None where they do."""
    spans = labels.group_by("benchmark_code", "criterion", maintain_order=True).agg(
        pl.col("span").unique()
    )
    return next(filter(None, map(explain_spans, spans["span"])), None)


def _choose_metrics(n_levels: int, is_choice: bool) -> tuple[Metric, ...]:
    """With two levels all three metrics are equal; choices have no order."""
    if n_levels > MOST_LEVELS:
        return ("interval",)
    return ("nominal",) if is_choice or n_levels < 3 else ("nominal", "ordinal", "interval")


def measure_agreement(
    connection: duckdb.DuckDBPyConnection, suite: Suite
) -> dict[str, pl.DataFrame]:
    """Rows of the tables `kappas` and `reliabilities`."""
    describe = {"kappas": measure_kappas, "reliabilities": measure_reliabilities}
    return build_tables(
        connection,
        suite,
        ("queries/rater_labels.sql", {}),
        describe,
        pools_benchmarks=True,
        categories=NAMES,
    )
