"""How far two raters agree on what both labelled, with intervals: every pair of raters of a benchmark. The statistics are `tasks.stats`."""

import itertools
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.reports.resampled import Resamples, Row, group_rows, write_ends
from tasks.stats.agreement import Weighting, landis_koch
from tasks.stats.cluster_sums import Floats
from tasks.stats.estimates import Estimate
from tasks.stats.human_rules import take_majority, take_mean
from tasks.stats.kappa_bootstrap import agree_on_matchups, agree_raters
from tasks.stats.preferences import Preference, orient_matchups
from tasks.stats.rater_labels import spread_labels

MAJORITY_OF_PEOPLE, MEAN_OF_PEOPLE = "human:* (majority)", "human:* (mean)"
Names = NDArray[np.str_]
MOST_PAIRS = 300
"""Pairs of raters a criterion, those with most in common: a crowd's many pairs are in `rpt_agreement`, without intervals."""


def measure_kappas(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    """Rows of the table `kappas` of one benchmark's rows of `queries/rater_labels.sql`."""
    for key, rows in group_rows(frame, ("kind", "criterion")):
        raters = np.array(sorted(rows["rater"].unique()), dtype=np.str_)
        codes = rows["rater"].rank("dense").to_numpy().astype(np.int64) - 1
        found = spread_labels(codes, rows["unit_code"].to_numpy(), rows["label"].to_numpy(), raters.size)
        of_units = rows[found.first_row]
        measure = _compare_choices if key["kind"] == "choice" else _compare_scores
        pairs = [(str(raters[a]), str(raters[b]), found.labels[a], found.labels[b]) for a, b in _pair_raters(found.labels)]
        for one, other, a, b in (*pairs, *_pair_with_people(raters, found.labels, key["kind"] == "choice")):
            names = {"rater_a": min(one, other), "rater_b": max(one, other), "criterion": key["criterion"]}
            for row in measure(a, b, of_units, resamples):
                # A mean is hardly ever equal to a label: only how far they are apart tells.
                if other != MEAN_OF_PEOPLE or row["chance"] != "nominal":
                    yield {**names, **row}


def _pair_with_people(raters: Names, labels: Floats, is_choice: bool) -> Iterator[tuple[str, str, Floats, Floats]]:
    """Each judge with all people as one rater, where there are several: by majority, and graded scores by their mean too."""
    is_human = np.array([rater.startswith("human:") for rater in raters])
    if np.count_nonzero(is_human) < 2:
        return
    of_people = labels[is_human].T
    if is_choice:
        of_people = np.where(of_people == Preference.INCONSISTENT, np.nan, of_people)
    pooled = {MAJORITY_OF_PEOPLE: take_majority(of_people)}
    if not is_choice and np.unique(of_people[~np.isnan(of_people)]).size > 2:
        pooled[MEAN_OF_PEOPLE] = take_mean(of_people)
    for (name, people), judge in itertools.product(pooled.items(), np.flatnonzero(~is_human)):
        if (~np.isnan(people) & ~np.isnan(labels[judge])).any():
            yield str(raters[judge]), name, labels[judge], people


def _pair_raters(labels: Floats) -> list[tuple[int, int]]:
    """Pairs of raters who labelled anything in common, most first, up to `MOST_PAIRS`."""
    has_label = (~np.isnan(labels)).astype(np.float32)
    common = has_label @ has_label.T
    pairs = [(a, b) for a, b in itertools.combinations(range(len(labels)), 2) if common[a, b]]
    return sorted(pairs, key=lambda pair: -common[pair])[:MOST_PAIRS]


def _compare_scores(a: Floats, b: Floats, of_units: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    both = ~np.isnan(a) & ~np.isnan(b)
    n_levels = np.unique(np.concatenate([a[both], b[both]])).size
    chosen: tuple[Weighting, ...] = ("nominal", "linear", "quadratic") if n_levels > 2 else ("nominal",)
    found = agree_raters(a, b, of_units["cluster_code"].to_numpy(), resamples.weights, chosen)
    for chance in chosen:
        yield _describe(chance, found["agreement"], found[f"kappa_{chance}"], 0)


def _compare_choices(a: Floats, b: Floats, of_units: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    """Choices that are not inconsistent; by matchup those between two known models."""
    unclear = (a == Preference.INCONSISTENT) | (b == Preference.INCONSISTENT)
    n_inconsistent = int((unclear & ~np.isnan(a) & ~np.isnan(b)).sum())
    a, b = (np.where(unclear, np.nan, side) for side in (a, b))
    clusters = of_units["cluster_code"].to_numpy()
    plain = agree_raters(a, b, clusters, resamples.weights)
    yield _describe("nominal", plain["agreement"], plain["kappa_nominal"], n_inconsistent)
    between = (of_units["model_a"] != of_units["model_b"]).fill_null(False).to_numpy()
    if between.any():
        names = np.concatenate([of_units["model_a"].to_numpy()[between], of_units["model_b"].to_numpy()[between]]).astype(str)
        first, second = np.unique(names, return_inverse=True)[1].reshape(2, -1)
        (matchups, side_a), (_, side_b) = (orient_matchups(first, second, side[between]) for side in (a, b))
        by_matchup = agree_on_matchups(side_a, side_b, matchups, clusters[between], resamples.weights)
        yield _describe("matchups", by_matchup["agreement"], by_matchup["kappa_matchups"], n_inconsistent)


def _describe(chance: str, agreement: Estimate, kappa: Estimate, n_inconsistent: int) -> Row:
    return {
        "chance": chance, "n": kappa.n, "n_clusters": kappa.n_clusters, "n_inconsistent": n_inconsistent,
        **write_ends(agreement, "agreement", "agreement_"), **write_ends(kappa, "kappa", "kappa_"),
        "strength": landis_koch(kappa.value), "n_undefined": kappa.n_undefined,
    }  # fmt: skip
