"""All benchmarks of a suite together: rows pooled, LAVE's "Overall", and the mean of benchmark x
model cells.

Clusters are resampled by the draws that the benchmarks' own figures rest on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from judgelake.tasks.reports.comparisons import (
    COMPARED_RULES,
    POOLED,
    SYSTEMS,
    WITHIN_MODELS,
    Competition,
    Level,
    Row,
    drop_nan,
    measure_pooled,
    select_competitors,
)
from judgelake.tasks.reports.scored_rows import (
    Draws,
    Flags,
    Floats,
    Indices,
    Series,
    Target,
)
from judgelake.tasks.stats.bootstrap import Resampled
from judgelake.tasks.stats.combining import ClusterTotal
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.stats.resampling import Keys, draw_keyed_weights
from judgelake.tasks.suite.suite import ReportSettings

MEAN_OF_CELLS = "(mean of cells)"
_JUDGED = tuple[str, str]
"""A judge's name across benchmarks, and its criterion."""
_TARGET = tuple[str, str]
"""Human criterion and rule."""


class Whole(NamedTuple):
    """One target of several benchmarks: its judges pooled and compared, and the rows of
    `correlations`.
    """

    competition: Competition
    level: Level
    correlations: list[Row]


class _TargetRows(NamedTuple):
    """A benchmark's rows of a target: `x`, (rows, judged), `wanted` likewise as 0 and 1, and the
    judges' own entries.
    """

    benchmark: str
    judged: list[_JUDGED]
    series: list[Series]
    x: Floats
    wanted: Floats
    y: Floats
    clusters: Indices
    models: Indices


@dataclass
class _Mean:
    """A mean over cells, summed cell by cell: sums of the coefficient and of its resamples, rows,
    clusters, cells.
    """

    value: float = 0.0
    drawn: Floats = field(default_factory=lambda: np.zeros(0))
    n: int = 0
    n_clusters: int = 0
    n_cells: int = 0
    clusters: ClusterTotal = field(default_factory=ClusterTotal)

    def add(self, cell: Resampled, benchmark: str) -> None:
        """Count a cell in which the coefficient is defined."""
        self.clusters.add(cell, benchmark)
        self.value += cell.value
        self.drawn = self.drawn + cell.drawn if self.drawn.size else cell.drawn.copy()
        self.n, self.n_cells, self.n_clusters = (
            self.n + cell.n,
            self.n_cells + 1,
            max(self.n_clusters, cell.n_clusters),
        )

    def summarise(self) -> Row:
        """The mean with its interval; a resample is undefined where that of any cell is."""
        value = self.value / self.n_cells
        about = self.n, self.n_clusters, *self.clusters.average(value, self.n_cells)
        reach = self.clusters.reach / self.n_cells
        mean = Resampled(value, self.drawn / self.n_cells, *about, reach=reach).summarise()
        return {**drop_nan(mean._asdict()), "n_cells": self.n_cells}


@dataclass
class Gathered:
    """The rows and means of each benchmark, collected for the whole; nothing is kept where a suite
    has one benchmark only (`keeps` is false).
    """

    keeps: bool
    keys: dict[str, Keys] = field(default_factory=dict)
    parts: dict[_TARGET, list[_TargetRows]] = field(default_factory=dict)
    means: dict[tuple[_TARGET, _JUDGED], dict[str, _Mean]] = field(default_factory=dict)

    def add(self, benchmark: str, competition: Competition, levels: Sequence[Level]) -> None:
        """Keep the rows of one benchmark's target, and count its models' cells."""
        target = competition.target
        key = target.criterion, target.rule
        if not self.keeps or target.rule not in COMPARED_RULES:
            return
        judged = [
            (name, series.criterion)
            for name, series in zip(
                _name_across(competition.series), competition.series, strict=True
            )
        ]
        wanted = np.column_stack(
            [series.wanted[target.answers] for series in competition.series]
        ).astype(np.float64)
        rows = competition.x, wanted, target.values, competition.clusters, competition.models
        self.parts.setdefault(key, []).append(
            _TargetRows(benchmark, judged, competition.series, *rows)
        )
        for level in levels:
            if level.model not in (POOLED, WITHIN_MODELS, SYSTEMS):
                (cell,) = level.cells.values()
                for judge, judge_key in enumerate(judged):
                    means = self.means.setdefault(
                        (key, judge_key), {name: _Mean() for name in COEFFICIENTS}
                    )
                    for name, correlation in cell.find(judge).items():
                        if not np.isnan(correlation.value):
                            means[name].add(correlation, benchmark)


def compare_overall(gathered: Gathered, report: ReportSettings) -> Iterator[Whole]:
    """Each target that several benchmarks have."""
    shared = {key: parts for key, parts in gathered.parts.items() if len(parts) > 1}
    if not shared:
        return
    keys = list(gathered.keys.values())
    weights = draw_keyed_weights(np.concatenate(keys), report.resamples, report.seed)
    starts = dict(zip(gathered.keys, np.cumsum([0, *map(len, keys)]).tolist(), strict=False))
    draws = Draws(weights, weights[:, :0], [report.seed])
    for key, parts in shared.items():
        judged = list(dict.fromkeys(judge_key for part in parts for judge_key in part.judged))
        competition = _pool(key, parts, judged, starts, draws)
        level = measure_pooled(competition)
        yield Whole(competition, level, list(_list_rows(key, gathered, competition, level, judged)))


def _pool(
    key: _TARGET,
    parts: list[_TargetRows],
    judged: list[_JUDGED],
    starts: dict[str, int],
    draws: Draws,
) -> Competition:
    x = np.concatenate([_spread(part.x, part.judged, judged, np.nan) for part in parts])
    wanted = np.concatenate([_spread(part.wanted, part.judged, judged, 0.0) for part in parts]) > 0
    y = np.concatenate([part.y for part in parts])
    clusters = np.concatenate([part.clusters + starts[part.benchmark] for part in parts])
    widest = max(int(part.models.max(initial=-1)) for part in parts) + 1
    models = np.concatenate(
        [np.where(part.models < 0, -1, part.models + k * widest) for k, part in enumerate(parts)]
    )
    target = Target(*key, np.arange(y.size), y, y[:, None])
    series = [_merge(parts, judge_key, x[:, k], wanted[:, k]) for k, judge_key in enumerate(judged)]
    return Competition(
        series, select_competitors(series, key[0]), target, x, clusters, models, [], draws, {}
    )


def _spread(values: Floats, judged: list[_JUDGED], wanted: list[_JUDGED], absent: float) -> Floats:
    """A benchmark's columns in the order of all judges; `absent` where a judge has none there."""
    spread = np.full((len(values), len(wanted)), absent, dtype=values.dtype)
    spread[:, [wanted.index(judge_key) for judge_key in judged]] = values
    return spread


def _merge(parts: list[_TargetRows], judged: _JUDGED, scores: Floats, wanted: Flags) -> Series:
    """A judge across benchmarks; it keeps the name that it has in all of them."""
    kept = [
        series
        for part in parts
        for name, series in zip(part.judged, part.series, strict=True)
        if name == judged
    ]
    names = {series.judge for series in kept}
    judge = names.pop() if len(names) == 1 else judged[0]
    return kept[0]._replace(judge=judge, samples=scores[:, None], wanted=wanted)


def _name_across(series: list[Series]) -> list[str]:
    """A metric whose signature names the benchmark's documents goes by its alias, unless two
    metrics of the benchmark have it.
    """
    alone = {
        entry.alias
        for entry in series
        if len({two.judge for two in series if two.alias == entry.alias}) == 1
    }
    return [
        f"metric:{entry.alias}" if entry.kind == "metric" and entry.alias in alone else entry.judge
        for entry in series
    ]


def _list_rows(
    key: _TARGET, gathered: Gathered, competition: Competition, level: Level, judged: list[_JUDGED]
) -> Iterator[Row]:
    for judge, judge_key in enumerate(judged):
        series, means = competition.series[judge], gathered.means.get((key, judge_key), {})
        about: Row = {"human_criterion": key[0], "human_rule": key[1], "sample_rule": "mean"}
        about |= {"judge": series.judge, "judge_criterion": series.criterion}
        yield from (
            {**about, "model": POOLED, "coefficient": name, **level.summarise(judge, name)}
            for name in COEFFICIENTS
        )
        for name, mean in means.items():
            if mean.n_cells:
                yield {**about, "model": MEAN_OF_CELLS, "coefficient": name, **mean.summarise()}
