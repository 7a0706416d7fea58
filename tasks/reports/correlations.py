"""Rows of the tables `correlations`, `judge_comparisons` and `difference_tests`: every judge held
to people's ratings or to another judge's.

The statistics are `tasks.stats`'; reading the scores is `tasks.reports.scored_rows`, comparing
judges `tasks.reports.comparisons`, the tests on request `tasks.reports.difference_tests`, all
benchmarks together `tasks.reports.overall`.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.reports.comparisons import (
    COMPARED_RULES,
    LEAST_SYSTEMS,
    POOLED,
    SYSTEMS,
    Competition,
    Level,
    Row,
    drop_nan,
    list_comparisons,
    measure_levels,
    measure_parts,
    select_competitors,
)
from judgelake.tasks.reports.difference_tests import list_difference_tests
from judgelake.tasks.reports.overall import Gathered, compare_overall
from judgelake.tasks.reports.scored_rows import (
    ANNOTATOR,
    WHOLE,
    Draws,
    Floats,
    Indices,
    ScoredAnswers,
    Target,
    check_rater,
    draw_resamples,
    name_target,
    read_scored,
)
from judgelake.tasks.stats.bootstrap import Correlation
from judgelake.tasks.stats.combining import SampleRule, combine_samples, leave_one_out_ceiling
from judgelake.tasks.stats.human_rules import tabulate_scores, take_mean
from judgelake.tasks.stats.pair_accuracy import soft_pairwise_accuracy, tie_calibrated_accuracy
from judgelake.tasks.suite.suite import Suite

_OTHER_SAMPLE_RULES: tuple[SampleRule, ...] = ("correlate_then_mean", "pooled")
LevelCorrelation = tuple[str, str, str, Correlation]
"""Model, sample rule, statistic and its value."""


def measure_accuracies(
    scored: ScoredAnswers, competition: Competition, judge: int
) -> Iterator[LevelCorrelation]:
    """Tie-calibrated accuracy over pairs of answers to one item; over three models and more, soft
    pairwise accuracy of their means.
    """
    target, draws = competition.target, competition.draws
    held = np.flatnonzero(~np.isnan(competition.x[:, judge]))
    x, y, clusters = competition.x[held, judge], target.values[held], competition.clusters[held]
    items = scored.item[target.answers[held]]
    if np.unique(items).size < items.size:
        measured = tie_calibrated_accuracy(
            x, y, items, clusters, draws.clusters, np.random.default_rng(draws.seed)
        )
        yield POOLED, "mean", "tie_calibrated_accuracy", Correlation(*measured.accuracy)
    models = competition.models[held]
    named = models >= 0
    if np.unique(models[named]).size >= LEAST_SYSTEMS and target.rule == "mean":
        part_systems = _part_systems(
            x[named], y[named], models[named], clusters[named], items[named], draws
        )
        yield SYSTEMS, "mean", "soft_pairwise_accuracy", part_systems


def combine_otherwise(competition: Competition, judge: int) -> Iterator[LevelCorrelation]:
    """The coefficients of a judge or target of several samples under the rules beside `mean`."""
    target, samples = competition.target, competition.series[judge].samples
    if max(samples.shape[1], target.samples.shape[1]) == 1:
        return
    for rule in _OTHER_SAMPLE_RULES:
        sides = samples[target.answers], target.samples, competition.clusters
        for name, coefficient in combine_samples(*sides, competition.draws.clusters, rule).items():
            yield POOLED, rule, name, coefficient.summarise()


_NO_ENDS = float("nan"), float("nan")


def _part_systems(
    x: Floats, y: Floats, models: Indices, clusters: Indices, items: Indices, draws: Draws
) -> Correlation:
    """Soft pairwise accuracy, which has no interval."""
    _, first, item = np.unique(items, return_index=True, return_inverse=True)
    held, system = np.unique(models, return_inverse=True)
    rng = np.random.default_rng(draws.seed)
    x_table, y_table = (
        tabulate_scores(side, system, item, (held.size, first.size)) for side in (x, y)
    )
    soft = soft_pairwise_accuracy(x_table, y_table, clusters[first], len(draws.clusters), rng)
    return Correlation(
        soft.value, *_NO_ENDS, held.size, np.unique(clusters).size, 0, "has no interval"
    )


CEILING, OTHERS = "human ceiling", "mean_of_others"
# the compiled loops run without the interpreter's lock
_THREADS = 2


class Agreements(NamedTuple):
    """The three tables' rows."""

    correlations: pl.DataFrame
    comparisons: pl.DataFrame
    tests: pl.DataFrame


class AgreementRows(NamedTuple):
    """The three tables' rows while they are collected, benchmark by benchmark."""

    correlations: list[Row]
    comparisons: list[Row]
    tests: list[Row]


def correlate_judges(connection: duckdb.DuckDBPyConnection, suite: Suite) -> Agreements:
    """Hold every judge of a suite's benchmarks to the targets that `report.against` names."""
    report = suite.report
    check_rater(connection, report.against)
    stamp: Row = {
        "suite": suite.name,
        "against": name_target(suite),
        "resamples": report.resamples,
        "seed": report.seed,
        "reported_at": datetime.now(UTC),
    }
    collected, gathered = AgreementRows([], [], []), Gathered(len(suite.benchmarks) > 1)
    for benchmark in sorted(suite.benchmarks):
        scored = read_scored(connection, benchmark, report.against, report.against_samples)
        draws = draw_resamples(benchmark, scored.keys, len(scored.models), report)
        gathered.keys[benchmark] = scored.keys
        own = {**stamp, "benchmark": benchmark}
        for target in scored.targets:
            competition = enter_judges(scored, target, draws)
            if competition is not None:
                levels = list(measure_levels(competition))
                gathered.add(benchmark, competition, levels)
                shown = [*levels, *measure_parts(competition)]
                _add_rows(
                    collected,
                    own,
                    _list_correlations(scored, competition, shown),
                    competition,
                    levels,
                    suite,
                )
        collected.correlations.extend(
            {**own, **WHOLE, **row} for row in list_ceilings(scored, draws)
        )
    for whole in compare_overall(gathered, report):
        _add_rows(
            collected,
            {**stamp, "benchmark": POOLED},
            whole.correlations,
            whole.competition,
            [whole.level],
            suite,
        )
    names = "correlations", "judge_comparisons", "difference_tests"
    return Agreements(
        *(
            pl.DataFrame(rows, schema=TABLES[name].polars_schema)
            for name, rows in zip(names, collected, strict=True)
        )
    )


def enter_judges(scored: ScoredAnswers, target: Target, draws: Draws) -> Competition | None:
    """All that scored one of the target's rows, None where nothing did; those compete that are
    about its criterion.
    """
    means = [(entry, entry.mean[target.answers]) for entry in scored.series]
    held = [(entry, mean) for entry, mean in means if not np.isnan(mean).all()]
    if not held:
        return None
    series = [entry for entry, _ in held]
    x = np.column_stack([mean for _, mean in held])
    competing = select_competitors(series, target.criterion)
    rows = scored.cluster[target.answers], scored.model[target.answers]
    parts = {
        name: (values, codes[target.answers]) for name, (values, codes) in scored.parts.items()
    }
    return Competition(series, competing, target, x, *rows, scored.models, draws, parts)


def list_ceilings(scored: ScoredAnswers, draws: Draws) -> Iterator[Row]:
    """One annotator against the mean of the others, and every judge that competes on the very same
    targets.
    """
    for criterion, ratings in scored.ratings.items():
        held = [series for series in scored.series if not np.isnan(series.mean).all()]
        judges = [held[k] for k in select_competitors(held, criterion)]
        scores = (
            np.column_stack([series.mean for series in judges])
            if judges
            else np.empty((len(ratings), 0))
        )
        ceiling = leave_one_out_ceiling(ratings, scores, take_mean, scored.cluster, draws.clusters)
        about: Row = {
            "human_criterion": criterion,
            "human_rule": OTHERS,
            "sample_rule": "mean",
            "model": POOLED,
        }
        named = [(CEILING, criterion), *((series.judge, series.criterion) for series in judges)]
        for (judge, own), means in zip(named, (ceiling.human, *ceiling.judges), strict=True):
            row = {**about, "judge": judge, "judge_criterion": own}
            yield from (
                {**row, "coefficient": name, **drop_nan(mean.summarise()._asdict())}
                for name, mean in means.items()
            )


def _add_rows(
    collected: AgreementRows,
    own: Row,
    correlations: Iterable[Row],
    competition: Competition,
    levels: list[Level],
    suite: Suite,
) -> None:
    """Add the rows of one target."""
    collected.correlations.extend({**own, **WHOLE, **row} for row in correlations)
    if not competition.target.rule.startswith(ANNOTATOR):
        collected.comparisons.extend(
            {**own, **row} for row in list_comparisons(competition, levels)
        )
        collected.tests.extend(
            {**own, **row} for row in list_difference_tests(competition, levels, suite.report.tests)
        )


def _list_correlations(
    scored: ScoredAnswers, competition: Competition, levels: list[Level]
) -> Iterator[Row]:
    target, judges = competition.target, range(len(competition.series))
    for judge in judges:
        about = _describe(competition, judge)
        for level in levels:
            if _has_enough(level, judge):
                row = {**about, **level.part, "model": level.model, "sample_rule": "mean"}
                yield from (
                    {**row, "coefficient": name, **level.summarise(judge, name)}
                    for name in level.columns
                )
    if target.rule not in COMPARED_RULES:
        return

    def measure(judge: int) -> list[Row]:
        measured = (
            *measure_accuracies(scored, competition, judge),
            *combine_otherwise(competition, judge),
        )
        return [
            {
                "model": model,
                "sample_rule": rule,
                "coefficient": name,
                **drop_nan(correlation._asdict()),
            }
            for model, rule, name, correlation in measured
        ]

    with ThreadPoolExecutor(_THREADS) as pool:  # the loops run without the interpreter's lock
        for judge, rows in zip(judges, pool.map(measure, judges), strict=True):
            yield from ({**_describe(competition, judge), **row} for row in rows)


def _describe(competition: Competition, judge: int) -> Row:
    target, series = competition.target, competition.series[judge]
    about: Row = {"human_criterion": target.criterion, "human_rule": target.rule}
    return {**about, "judge": series.judge, "judge_criterion": series.criterion}


def _has_enough(level: Level, judge: int) -> bool:
    """Whether a judge has rows at this level, or at the system level enough models."""
    n = next(iter(level.cells.values())).find(judge)["pearson"].n if len(level.cells) == 1 else 1
    return n >= (LEAST_SYSTEMS if level.model == SYSTEMS else 1)
