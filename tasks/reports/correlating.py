"""Rows of the tables `correlations` and `judge_comparisons`: every judge held to people's ratings or to another judge's scores.

The statistics are `tasks.stats`'; reading the scores is `tasks.reports.scored_rows`, the comparison `tasks.reports.comparing`.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl

from schemas.tables import TABLES
from tasks.digests import digest_json
from tasks.errors import SuiteError
from tasks.reports.comparing import Competition, compare_judges
from tasks.reports.scored_rows import HUMAN, Floats, Indices, Scored, Series, Target, read_scored
from tasks.reports.warehouse import select_frame
from tasks.settings import nearest
from tasks.stats.bootstrap import Correlation, Resampled, resample_correlations
from tasks.stats.ceiling import leave_one_out_ceiling
from tasks.stats.cluster_sums import AnyWeights
from tasks.stats.combining import MeanCorrelation, SampleRule, average_correlations, combine_samples, correlate_cells
from tasks.stats.human_rules import take_mean
from tasks.stats.pair_accuracy import tie_calibrated_accuracy
from tasks.stats.resampling import draw_cluster_weights
from tasks.stats.soft_accuracy import soft_pairwise_accuracy
from tasks.stats.system_level import correlate_systems
from tasks.stats.tabulating import tabulate_scores
from tasks.suite import Suite

POOLED, WITHIN_MODELS, SYSTEMS = "*", "(mean of models)", "(systems)"
CEILING, OTHERS = "human ceiling", "mean_of_others"
LEAST_SYSTEMS = 3
"""Models from which the system level is told: with two every coefficient is 1 or -1."""

_TOLD_WHOLE = ("mean", "lave")
"""Rules with accuracies and sample rules, `mean` with the system level too; the others have the four coefficients of rows."""
_OTHER_SAMPLE_RULES: tuple[SampleRule, ...] = ("correlate_then_mean", "pooled")
_THREADS = 2
Row = dict[str, object]
Found = Mapping[str, Correlation]


class Agreements(NamedTuple):
    """The two tables' rows."""

    correlations: pl.DataFrame
    comparisons: pl.DataFrame


class Draws(NamedTuple):
    """A benchmark's resamples, shared by all its judges; `seed` is for what draws by itself, the same for each judge."""

    clusters: AnyWeights
    models: AnyWeights
    seed: list[int]


def correlate_judges(connection: duckdb.DuckDBPyConnection, suite: Suite) -> Agreements:
    """Hold every judge of a suite's benchmarks to the targets that `report.against` names."""
    against = suite.report.against
    _check_rater(connection, against)
    stamp: Row = {
        "suite": suite.name, "against": against, "resamples": suite.report.resamples, "seed": suite.report.seed,
        "reported_at": datetime.now(UTC),
    }  # fmt: skip
    correlations: list[Row] = []
    comparisons: list[Row] = []
    for benchmark in sorted(suite.benchmarks):
        scored = read_scored(connection, benchmark, against)
        draws = draw_resamples(scored, suite.report.resamples, [suite.report.seed, int(digest_json(benchmark)[:8], 16)])
        own = {**stamp, "benchmark": benchmark}
        for target in scored.targets:
            held, compared = hold_judges(scored, target, draws)
            correlations += [{**own, **row} for row in held]
            comparisons += [{**own, **row} for row in compared]
        correlations += [{**own, **row} for row in tell_ceilings(scored, draws)]
    frames = (("correlations", correlations), ("judge_comparisons", comparisons))
    return Agreements(*(pl.DataFrame(rows, schema=TABLES[name].polars_schema) for name, rows in frames))


def draw_resamples(scored: Scored, resamples: int, seed: list[int]) -> Draws:
    """Draw the clusters, and apart from them the models, of a benchmark."""
    rng = np.random.default_rng(seed)  # a benchmark's draws are its own
    clusters = draw_cluster_weights(scored.n_clusters, resamples, rng)
    return Draws(clusters, draw_cluster_weights(len(scored.models), resamples, rng), seed)


def hold_judges(scored: Scored, target: Target, draws: Draws) -> tuple[list[Row], list[Row]]:
    """Rows of both tables of all judges on one target; a judge that scored none of its rows has none."""
    series = [one for one in scored.series if not np.isnan(one.mean[target.answers]).all()]
    if not series:
        return [], []
    competing = select_competitors(series, target.criterion)
    competition = Competition(competing, target, scored.cluster[target.answers], draws.clusters)
    columns, compared = compare_judges(competition)
    pooled = {
        id(one): {name: column.own[k] for name, column in columns.items()}
        for k, one in enumerate(competing)
        if not any(np.isnan(column.own[k].value) for column in columns.values())  # those tell no rows
    }

    def describe(one: Series) -> list[Row]:
        return list(_describe_judge(scored, one, target, draws, pooled.get(id(one))))

    with ThreadPoolExecutor(_THREADS) as pool:  # the loops run without the interpreter's lock
        return [row for rows in pool.map(describe, series) for row in rows], compared


def select_competitors(series: list[Series], criterion: str) -> list[Series]:
    """The judges' scores on the target's criterion; of a judge without one all its criteria."""
    matched = {one.judge for one in series if one.criterion == criterion}
    return [one for one in series if one.criterion == criterion or one.judge not in matched]


def tell_ceilings(scored: Scored, draws: Draws) -> Iterator[Row]:
    """One annotator against the mean of the others, and every judge that competes on the very same targets."""
    for criterion, ratings in scored.ratings.items():
        judges = select_competitors([one for one in scored.series if not np.isnan(one.mean).all()], criterion)
        scores = np.column_stack([one.mean for one in judges]) if judges else np.empty((len(ratings), 0))
        found = leave_one_out_ceiling(ratings, scores, take_mean, scored.cluster, draws.clusters)
        about: Row = {"human_criterion": criterion, "human_rule": OTHERS, "sample_rule": "mean", "model": POOLED}
        named = [(CEILING, criterion), *((one.judge, one.criterion) for one in judges)]
        for (judge, own), means in zip(named, (found.human, *found.judges), strict=True):
            yield from _list_rows({**about, "judge": judge, "judge_criterion": own}, _summarise(means))


def _describe_judge(scored: Scored, series: Series, target: Target, draws: Draws, pooled: Found | None) -> Iterator[Row]:
    scores = series.mean[target.answers]
    held = ~np.isnan(scores)
    x, y, answers = scores[held], target.values[held], target.answers[held]
    clusters = scored.cluster[answers]
    about: Row = {
        "judge": series.judge, "judge_criterion": series.criterion, "human_criterion": target.criterion,
        "human_rule": target.rule, "sample_rule": "mean",
    }  # fmt: skip
    whole = pooled or _summarise(resample_correlations(x, y, clusters, draws.clusters))
    yield from _list_rows({**about, "model": POOLED}, whole)
    named = scored.model[answers] >= 0
    rows = x[named], y[named], scored.model[answers][named], clusters[named]
    cells = correlate_cells(*rows, draws.clusters) if named.any() else {}
    for code, cell in cells.items():
        yield from _list_rows({**about, "model": scored.models[code]}, _summarise(cell))
    if len(cells) > 1:
        means = average_correlations(list(cells.values()))
        yield from _list_rows({**about, "model": WITHIN_MODELS}, _summarise(means))
    if target.rule not in _TOLD_WHOLE:
        return
    yield from _list_rows({**about, "model": POOLED}, _calibrate_ties(x, y, scored.item[answers], clusters, draws))
    if len(cells) >= LEAST_SYSTEMS and target.rule == "mean":
        yield from _list_rows({**about, "model": SYSTEMS}, _rank_systems(*rows, scored.item[answers][named], draws))
    if max(series.samples.shape[1], target.samples.shape[1]) > 1:
        for rule in _OTHER_SAMPLE_RULES:
            sides = series.samples[target.answers], target.samples, scored.cluster[target.answers]
            found = combine_samples(*sides, draws.clusters, rule)
            yield from _list_rows({**about, "sample_rule": rule, "model": POOLED}, _summarise(found))


def _calibrate_ties(x: Floats, y: Floats, items: Indices, clusters: Indices, draws: Draws) -> dict[str, Correlation]:
    """Tie-calibrated accuracy over pairs of answers to one item, where any item has two."""
    if np.unique(items).size == items.size:
        return {}
    found = tie_calibrated_accuracy(x, y, items, clusters, draws.clusters, np.random.default_rng(draws.seed))
    return {"tie_calibrated_accuracy": Correlation(*found.accuracy)}


def _rank_systems(
    x: Floats, y: Floats, models: Indices, clusters: Indices, items: Indices, draws: Draws
) -> dict[str, Correlation]:
    """The models' means correlated, models resampled too; soft pairwise accuracy of the same, which has no interval."""
    found = _summarise(correlate_systems(x, y, models, clusters, draws.clusters, draws.models))
    _, first, item = np.unique(items, return_index=True, return_inverse=True)
    held, system = np.unique(models, return_inverse=True)
    rng = np.random.default_rng(draws.seed)
    x_table, y_table = (tabulate_scores(side, system, item, (held.size, first.size)) for side in (x, y))
    soft = soft_pairwise_accuracy(x_table, y_table, clusters[first], len(draws.clusters), rng)
    accuracy = Correlation(soft.value, float("nan"), float("nan"), held.size, np.unique(clusters).size, 0)
    return {**found, "soft_pairwise_accuracy": accuracy}


def _summarise(found: Mapping[str, Resampled] | Mapping[str, MeanCorrelation]) -> dict[str, Correlation]:
    return {name: one.summarise() for name, one in found.items()}


def _list_rows(about: Row, found: Found) -> Iterable[Row]:
    for coefficient, one in found.items():
        yield {**about, "coefficient": coefficient, **drop_nan(one._asdict())}


def drop_nan(values: Mapping[str, object]) -> Row:
    """NaN as null."""
    return {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in values.items()}


def _check_rater(connection: duckdb.DuckDBPyConnection, against: str) -> None:
    known = {HUMAN, *select_frame(connection, "select unnest([alias, judge]) as name from core_judges", "raters")["name"]}
    if against not in known:
        raise SuiteError(
            f"report: against: {against!r} is no rater of this lake; {nearest(against, known)}; name `human` or a judge's alias"
        )
