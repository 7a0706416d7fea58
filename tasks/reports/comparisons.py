"""Judges held to one target side by side: pooled, inside each model, in the mean over models, and
as rankings of the models.

The tests of differences are `tasks.stats.judge_comparison`'s, the bounds
`tasks.stats.missing_bounds`'s.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from judgelake.tasks.reports.scored_rows import (
    ANNOTATOR,
    WHOLE,
    Draws,
    Floats,
    Indices,
    Parts,
    Series,
    Target,
)
from judgelake.tasks.stats.bootstrap import Resampled
from judgelake.tasks.stats.combining import correlate_systems
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.stats.judge_comparison import (
    Column,
    ComparedRows,
    Measurement,
    PairedDifference,
    Rows,
    compare_cells,
    mark_best,
    split_cells,
)
from judgelake.tasks.stats.missing_bounds import MissingBounds, bound_missing, bound_systems

POOLED, WITHIN_MODELS, SYSTEMS = "*", "(mean of models)", "(systems)"
LEAST_SYSTEMS = 3
"""The system level needs this many models: with two every coefficient is 1 or -1."""
COMPARED_RULES = ("mean", "lave")
"""Rules under which judges are compared inside models too, and over benchmarks; under the others
pooled only.
"""

_RATED_ON_A_SCALE = ("judge", "recorded")
_UNKNOWN = MissingBounds(float("nan"), float("nan"), 0, False)
Row = dict[str, object]
Bounds = dict[str, MissingBounds]


class Competition(NamedTuple):
    """Judges held to one target: `x`, (rows, series), on the target's rows, with each row's cluster
    and model (-1: not named), and the `parts` it is in.

    Only the `competing` series are compared with each other; `names` are the models'.
    """

    series: list[Series]
    competing: list[int]
    target: Target
    x: Floats
    clusters: Indices
    models: Indices
    names: list[str]
    draws: Draws
    parts: Parts


class Level(NamedTuple):
    """A place of comparison: rows (their numbers in the competition), their cells by model, and the
    columns, one a coefficient; `part` is the task, category or style whose rows they are.
    """

    model: str
    rows: Indices
    cells: dict[int, ComparedRows]
    columns: dict[str, Column]
    part: Mapping[str, str] = WHOLE

    def summarise(self, judge: int, name: str) -> Row:
        """A judge's own coefficient as columns, `n_cells` where it is a mean."""
        column = self.columns[name]
        n_cells = column.n_cells[judge] if self.model == WITHIN_MODELS else None
        return {**drop_nan(column.own[judge]._asdict()), "n_cells": n_cells}


def measure_levels(competition: Competition) -> Iterator[Level]:
    """Pooled, then, where people are more than one annotator's word, each model, their mean and the
    system level.
    """
    pooled = measure_pooled(competition)
    yield pooled
    rule, models = competition.target.rule, competition.models
    if rule.startswith(ANNOTATOR):
        return
    named = np.flatnonzero(models >= 0)
    cells = _split_models(competition, pooled, named)
    compared = competition.competing if rule in COMPARED_RULES and len(cells) > 1 else []
    for code, cell in cells.items():
        rows = named[models[named] == code]
        yield Level(competition.names[code], rows, {code: cell}, compare_cells([cell], compared))
    if len(cells) > 1:
        yield Level(WITHIN_MODELS, named, cells, compare_cells(list(cells.values()), compared))
    if len(cells) >= LEAST_SYSTEMS and rule == "mean":
        whole = _make_systems(competition, named)
        yield Level(SYSTEMS, named, {0: whole}, compare_cells([whole], compared))


def measure_parts(competition: Competition) -> Iterator[Level]:
    """Each task, each category and each style, models pooled, of a target that is more than one
    annotator's word; judges are not compared there.
    """
    if competition.target.rule not in COMPARED_RULES:
        return
    whole = competition.x, competition.target.values, competition.clusters
    for attribute, (names, codes) in competition.parts.items():
        cells = split_cells(*whole, competition.draws.clusters, codes)
        for code, cell in cells.items():
            part = {**WHOLE, attribute: names[code]}
            rows = np.flatnonzero(codes == code)
            yield Level(POOLED, rows, {code: cell}, compare_cells([cell], []), part)


def measure_pooled(competition: Competition) -> Level:
    """All rows in one cell; judges are compared unless the target is one annotator."""
    target, weights = competition.target, competition.draws.clusters
    cells = split_cells(competition.x, target.values, competition.clusters, weights)
    compared = [] if target.rule.startswith(ANNOTATOR) else competition.competing
    return Level(
        POOLED, np.arange(target.values.size), cells, compare_cells(list(cells.values()), compared)
    )


def list_comparisons(competition: Competition, levels: Sequence[Level]) -> Iterator[Row]:
    """Each competing judge beside the best of the others, the leader beside the runner-up, at every
    level where they were compared.
    """
    target = competition.target
    shown_levels = [
        level
        for level in levels
        if level.model == POOLED
        or any(column.leader is not None for column in level.columns.values())
    ]
    for judge in competition.competing:
        entry, missing, bounds = (
            competition.series[judge],
            _find_missing(competition, judge),
            _bound_levels(competition, shown_levels, judge),
        )
        for level in shown_levels:
            n_missing = int(missing[level.rows].sum())
            for name, column in level.columns.items():
                own, bound = (
                    column.own[judge],
                    bounds[level.model][name] if bounds and n_missing else _UNKNOWN,
                )
                yield {
                    "model": level.model,
                    "human_criterion": target.criterion,
                    "human_rule": target.rule,
                    "coefficient": name,
                    "judge": entry.judge,
                    "judge_criterion": entry.criterion,
                    "n": own.n,
                    "n_missing": n_missing,
                    **drop_nan(
                        {
                            "value": own.value,
                            "low": own.low,
                            "high": own.high,
                            "least": bound.low,
                            "most": bound.high,
                        }
                    ),
                    "reason": own.reason,
                    **_describe_difference(column, judge, competition.series),
                    "is_best": judge == mark_best(column),
                }


def select_competitors(series: list[Series], criterion: str) -> list[int]:
    """The judges' scores on the target's criterion; of a judge without one all its criteria. The
    reference judge's own do not compete.
    """
    matched = {entry.judge for entry in series if entry.criterion == criterion}
    return [
        k
        for k, entry in enumerate(series)
        if entry.competes and (entry.criterion == criterion or entry.judge not in matched)
    ]


def drop_nan(values: Row) -> Row:
    """NaN as null."""
    return {
        name: None if isinstance(value, float) and np.isnan(value) else value
        for name, value in values.items()
    }


def _split_models(
    competition: Competition, pooled: Level, named: Indices
) -> dict[int, ComparedRows]:
    models = competition.models[named]
    if named.size and named.size == competition.models.size and (models == models[0]).all():
        return {int(models[0]): pooled.cells[0]}  # the same rows: nothing to measure again
    parts = competition.x[named], competition.target.values[named], competition.clusters[named]
    return split_cells(*parts, competition.draws.clusters, models) if named.size else {}


def _make_systems(competition: Competition, named: Indices) -> ComparedRows:
    draws, target = competition.draws, competition.target

    def measure(judge: int, rows: Rows) -> Measurement:
        picked = named[rows]
        models, clusters = competition.models[picked], competition.clusters[picked]
        n_models = np.unique(models).size
        if n_models < LEAST_SYSTEMS:
            return dict.fromkeys(
                COEFFICIENTS,
                Resampled(float("nan"), np.full(len(draws.clusters), np.nan), n_models, 0),
            )
        sides = competition.x[picked, judge], target.values[picked]
        return correlate_systems(*sides, models, clusters, draws.clusters, draws.models)

    return ComparedRows(~np.isnan(competition.x[named]), measure)


def _describe_difference(column: Column, judge: int, series: list[Series]) -> Row:
    names = (
        "common_value",
        "other_value",
        "difference",
        "difference_low",
        "difference_high",
        "p_holm",
    )
    difference = _find_difference(column, judge)
    if difference is None:
        return {
            "other": None,
            "other_criterion": None,
            "n_common": None,
            "n_undefined": None,
            "difference_reason": None,
            **dict.fromkeys(names),
        }
    other = series[difference.other]
    numbers = (
        difference.value,
        difference.other_value,
        difference.difference,
        difference.low,
        difference.high,
        difference.p_holm,
    )
    about: Row = {
        "other": other.judge,
        "other_criterion": other.criterion,
        "n_common": difference.n_common,
    }
    return {
        **about,
        "n_undefined": difference.n_undefined,
        "difference_reason": difference.reason,
        **drop_nan(dict(zip(names, numbers, strict=True))),
    }


def _find_difference(column: Column, judge: int) -> PairedDifference | None:
    """The difference of a judge from the leader; of the leader from the runner-up."""
    if judge == column.leader:
        return max(
            column.differences, key=lambda paired: column.own[paired.other].value, default=None
        )
    for paired in column.differences:
        if paired.other == judge:
            turned = paired._replace(
                judge=judge, other=paired.judge, value=paired.other_value, other_value=paired.value
            )
            return turned._replace(
                difference=-paired.difference, low=-paired.high, high=-paired.low
            )
    return None


def _find_missing(competition: Competition, judge: int) -> Rows:
    missing: Rows = (
        np.isnan(competition.x[:, judge])
        & competition.series[judge].wanted[competition.target.answers]
    )
    return missing


def _bound_levels(
    competition: Competition, levels: Sequence[Level], judge: int
) -> dict[str, Bounds]:
    """Worst-case bounds over a judge's missing scores, by level; those of the mean over models are
    the means of the models'.
    """
    if not _has_bounds(competition, judge):
        return {}
    bounds = {
        level.model: _bound_rows(competition, level.model, level.rows, judge)
        for level in levels
        if level.model != WITHIN_MODELS
    }
    for level in levels:
        if level.model == WITHIN_MODELS:
            models = competition.models[
                level.rows
            ]  # some of them may be no level of their own: too few rows to compare judges on
            parts = {competition.names[code]: level.rows[models == code] for code in level.cells}
            cells = [
                bounds.get(name) or _bound_rows(competition, name, rows, judge)
                for name, rows in parts.items()
            ]
            found = [level.cells[code].find(judge) for code in level.cells]
            bounds[WITHIN_MODELS] = {
                name: average_bounds(
                    [cell[name] for cell in cells],
                    [not np.isnan(one[name].value) for one in found],
                )
                for name in COEFFICIENTS
            }
    return bounds


def _has_bounds(competition: Competition, judge: int) -> bool:
    x = competition.x[:, judge]
    scored = x[~np.isnan(x)]
    on_scale = competition.series[judge].kind in _RATED_ON_A_SCALE and bool(
        ((scored >= 0) & (scored <= 1)).all()
    )
    return on_scale and bool(_find_missing(competition, judge).any())


def _bound_rows(competition: Competition, model: str, rows: Indices, judge: int) -> Bounds:
    wanted = rows[competition.series[judge].wanted[competition.target.answers[rows]]]
    x, y = competition.x[wanted, judge], competition.target.values[wanted]
    if not wanted.size:
        return dict.fromkeys(COEFFICIENTS, _UNKNOWN)
    if model == SYSTEMS:
        return bound_systems(x, y, competition.models[wanted], (0.0, 1.0))
    return bound_missing(x, y, (0.0, 1.0))


def average_bounds(cells: list[MissingBounds], are_defined: list[bool]) -> MissingBounds:
    """The bounds of the mean of models' coefficients. A model without one today counts only where a
    missing score would give it one, so the mean may be with it or without.
    """
    known = [
        (cell, one) for cell, one in zip(cells, are_defined, strict=True) if not np.isnan(cell.low)
    ]
    if not known:
        return _UNKNOWN
    low, minus_high = (
        _find_least_mean([(sign * cell[k], one) for cell, one in known])
        for k, sign in ((0, 1), (1, -1))
    )
    return MissingBounds(low, -minus_high, sum(cell.n_missing for cell, _ in known), False)


def _find_least_mean(values: list[tuple[float, bool]]) -> float:
    """The least mean of those that count for certain and of any of the others."""
    mean = [value for value, counts in values if counts]
    for value in sorted(value for value, counts in values if not counts):
        if not mean or value < np.mean(mean):
            mean.append(value)
    return float(np.mean(mean))
