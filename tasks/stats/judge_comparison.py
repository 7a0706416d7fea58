"""Which judge of a column agrees best with a target: paired cluster bootstrap on the rows both
scored, corrected for all pairs of judges.

Other tests of two judges, each with assumptions of its own, live in `tasks.stats.difference_tests`.
"""

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from judgelake.tasks.stats.bootstrap import Correlation, Resampled, resample_correlations
from judgelake.tasks.stats.cluster_sums import AnyWeights, Floats, Indices
from judgelake.tasks.stats.combining import MeanCorrelation, average_correlations
from judgelake.tasks.stats.correlation import COEFFICIENTS

Rows = NDArray[np.bool_]
Measurement = dict[str, Resampled]

# a smaller spread is rounding error
_SPREADLESS = 1e-12
# the compiled loops run without the interpreter's lock
_THREADS = 2


class PairedDifference(NamedTuple):
    """A coefficient of `judge` less that of `other`, on the rows both scored.

    `low` and `high` are simultaneous 95 % intervals: in 95 % of samples all differences of the
    column's judges lie inside theirs. `p_holm` is two-sided and corrected for all pairs of judges
    that compete, since the leader is chosen from the same data (`correct_pairs`). Ends are NaN and
    `p_holm` is 1 where either coefficient has no interval on these rows, or where the difference is
    the same in all resamples; `reason` says why.
    """

    judge: int
    other: int
    value: float
    other_value: float
    difference: float
    low: float
    high: float
    n_common: int
    n_clusters: int
    n_cells: int
    n_undefined: int
    p_holm: float
    reason: str | None


class Column(NamedTuple):
    """One coefficient of every judge on all rows that it scored, and the leader's differences from
    the other judges.

    The leader is the competing judge of the highest coefficient (None where none is defined);
    judges without one are not compared. `n_cells` counts each judge's cells in which the
    coefficient is defined.
    """

    own: list[Correlation]
    n_cells: list[int]
    leader: int | None
    differences: list[PairedDifference]


@dataclass(frozen=True)
class ComparedRows:
    """Rows on which judges are held to one target: `scored`, (rows, judges), and `measure`, a
    judge's coefficients on some of the rows.

    What was measured is kept, so that each is computed once, whatever it is compared with and
    averaged into.
    """

    scored: Rows
    measure: Callable[[int, Rows], Measurement]
    measured: dict[tuple[int, bytes], Measurement] = field(default_factory=dict)

    def find(self, judge: int, other: int | None = None) -> Measurement:
        """A judge's coefficients on its own rows, or on those that it and the other scored; to be
        measured before.
        """
        return self.measured[judge, self.choose_rows(judge, other).tobytes()]

    def choose_rows(self, judge: int, other: int | None = None) -> Rows:
        """The rows that the judge, and the other, scored."""
        rows: Rows = (
            self.scored[:, judge]
            if other is None
            else self.scored[:, judge] & self.scored[:, other]
        )
        return rows


def split_cells(
    x: Floats, y: Floats, clusters: Indices, weights: AnyWeights, cells: Indices | None = None
) -> dict[int, ComparedRows]:
    """The rows by their cell's code, all in cell 0 without codes; the arguments are those of
    `compare_correlations`.
    """
    if x.ndim != 2 or y.shape != x.shape[:1] or clusters.shape != y.shape:
        raise ValueError(
            f"compare_correlations: x has shape {x.shape}, y {y.shape}, clusters {clusters.shape}; "
            "expected (rows, judges), (rows,), (rows,); pass one row an answer"
        )
    codes = np.zeros_like(clusters) if cells is None else cells
    parts = [(int(code), np.flatnonzero(codes == code)) for code in np.unique(codes)] or [
        (0, np.arange(0))
    ]
    return {code: _make_cell(x[rows], y[rows], clusters[rows], weights) for code, rows in parts}


def compare_correlations(
    x: Floats, y: Floats, clusters: Indices, weights: AnyWeights, cells: Indices | None = None
) -> dict[str, Column]:
    """Compare the judges of a column for each coefficient: `x` is (rows, judges), NaN where a judge
    has no score.

    `y` is the target (NaN: no row), `clusters` each row's column in `weights`. All judges share the
    draws. A row is dropped only where a figure needs a score that is missing: `own` uses each
    judge's own rows, a difference the rows both scored. With `cells`, a code a row (of its model;
    of benchmark x model), the figures are means over cells of the coefficient inside each, a
    difference over the cells in which both are defined. Benchmarks with draws of their own stand
    side by side in the columns of `weights`.
    """
    return compare_cells(list(split_cells(x, y, clusters, weights, cells).values()))


def compare_cells(
    cells: Sequence[ComparedRows], competing: Sequence[int] | None = None
) -> dict[str, Column]:
    """Compare judges over cells (one or more, all of the same judges); without being in `competing`
    a judge has only its own figure.
    """
    judges = range(cells[0].scored.shape[1])
    compared = judges if competing is None else competing
    _measure_all([(cell, judge, cell.choose_rows(judge)) for cell in cells for judge in judges])
    own = [average_correlations([cell.find(judge) for cell in cells]) for judge in judges]
    leaders = {
        name: _find_leader([(judge, own[judge][name].mean.value) for judge in compared])
        for name in COEFFICIENTS
    }
    ahead = {leader for leader in leaders.values() if leader is not None}
    _measure_all(
        [
            (cell, judge, cell.choose_rows(a, b))
            for cell in cells
            for a in ahead
            for b in compared
            if a != b
            for judge in (a, b)
        ]
    )
    return {
        name: _make_column(name, leader, own, compared, cells) for name, leader in leaders.items()
    }


def mark_best(column: Column, level: float = 0.05) -> int | None:
    """The leader if it is better than every other judge on the rows that both scored, at this level
    after the correction for all pairs, else None.
    """
    ahead = [
        difference.difference > 0 and difference.p_holm <= level
        for difference in column.differences
    ]
    return column.leader if ahead and all(ahead) else None


def adjust_holm(p: Floats, family: int | None = None) -> Floats:
    """Holm's step-down correction (1979, Scandinavian Journal of Statistics 6): the family-wise
    error stays below the level.

    `family` is how many tests there are in all, where `p` are some of them, chosen from the data:
    each then has at least the place among all that it has among these.
    """
    order = np.argsort(p, kind="stable")
    count = p.size if family is None else family
    stepped = np.maximum.accumulate(p[order] * np.arange(count, count - p.size, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


class CorrectedPairs(NamedTuple):
    """Of each pair of judges: the corrected p, its simultaneous 95 % interval, and why it has
    none.
    """

    p_holm: Floats
    low: Floats
    high: Floats
    reasons: list[str | None]


def find_reason(first: Resampled, second: Resampled) -> str | None:
    """Why the difference of two coefficients has no interval: one of them has none."""
    return first.summarise().reason or second.summarise().reason


_MOST_UNDEFINED = 0.05
"""Of the resamples: undefined ones may lie anywhere, so with more of them no end is known."""
_UNDEFINED = "the difference is undefined in more than 5 % of the resamples, which its p counts"
_UNDEFINED_TOGETHER = "more than 5 % of the resamples lack one of the column's differences"
_CONSTANT = "the same in all resamples, which say nothing of its error"
_LARGEST = 2.0
"""Coefficients lie from -1 to 1."""


def correct_pairs(pairs: Sequence[Resampled], reasons: Sequence[str | None] = ()) -> CorrectedPairs:
    """Holm's step-down over differences that depend on each other: the largest of the studentised
    differences left takes the place of Bonferroni's sum (Romano & Wolf 2005, JASA 100).

    Each difference is divided by its standard deviation over resamples; the distribution of the
    largest |draw - difference| comes from the same resamples, widened as an interval from so few
    clusters is (Hesterberg 2015). p is (c + 1) / (resamples + 1), c being the resamples in which it
    is as large, and those in which the pair's own difference is undefined. An interval is as wide
    as the largest of all pairs asks, undefined differences counting as larger than any, and ends
    where differences do. Of a pair that has one of `reasons` against it, no difference, one
    cluster, or the same difference in all resamples, p is 1 and the ends are NaN.
    """
    p, half = np.ones(len(pairs)), np.full(len(pairs), np.nan)
    why = [reason or _find_obstacle(pair) for pair, reason in itertools.zip_longest(pairs, reasons)]
    held = [k for k, reason in enumerate(why) if reason is None]
    if not held:
        return CorrectedPairs(p, half, half, why)
    values = np.array([pairs[k].value for k in held])
    drawn = np.stack([pairs[k].drawn for k in held])
    spread = np.nanstd(drawn, axis=1)
    clusters = np.array([pairs[k].n_clusters for k in held])
    widening = np.sqrt(clusters / (clusters - 1)) * special.stdtrit(clusters - 1, 0.975)
    unit = spread / (widening / special.ndtri(0.975))
    is_undefined = np.isnan(drawn)
    distance = np.nan_to_num(np.abs(drawn - values[:, None]) / unit[:, None], nan=0.0)
    size = np.abs(values) / spread
    order = np.argsort(-size, kind="stable")
    largest = np.maximum.accumulate(distance[order][::-1], axis=0)[::-1]
    against = (largest >= size[order, None]).sum(axis=1) + is_undefined[order].sum(axis=1)
    stepped = np.maximum.accumulate((against + 1) / (drawn.shape[1] + 1))
    p[np.array(held)[order]] = np.minimum(stepped, 1.0)
    # the pairs with an interval, and the resamples in which all of them are defined: of these a
    # larger part lies within, since the others may lie beyond
    is_known = is_undefined.mean(axis=1) <= _MOST_UNDEFINED
    is_whole = ~is_undefined[is_known].any(axis=0)
    if is_known.any() and is_whole.mean() >= 1 - _MOST_UNDEFINED:
        reach = distance[np.ix_(is_known, is_whole)].max(axis=0)
        width = np.quantile(reach, 0.95 / is_whole.mean())
        half[np.array(held)[is_known]] = spread[is_known] * width
    for k, known in zip(held, is_known.tolist(), strict=True):
        if np.isnan(half[k]):
            why[k] = _UNDEFINED_TOGETHER if known else _UNDEFINED
    found = np.array([pair.value for pair in pairs])
    low, high = np.maximum(found - half, -_LARGEST), np.minimum(found + half, _LARGEST)
    return CorrectedPairs(p, low, high, why)


def _find_obstacle(pair: Resampled) -> str | None:
    """Why the resamples of a difference give no interval."""
    if np.isnan(pair.drawn).all():
        return "undefined on the sample"
    if pair.n_clusters < 2:
        return "fewer than 2 clusters"
    return _CONSTANT if np.nanstd(pair.drawn) <= _SPREADLESS else None


def _make_cell(x: Floats, y: Floats, clusters: Indices, weights: AnyWeights) -> ComparedRows:
    def measure(judge: int, rows: Rows) -> Measurement:
        return resample_correlations(x[rows, judge], y[rows], clusters[rows], weights)

    return ComparedRows(~np.isnan(x) & ~np.isnan(y)[:, None], measure)


def _find_leader(values: list[tuple[int, float]]) -> int | None:
    defined = [(value, -judge) for judge, value in values if not np.isnan(value)]
    return -max(defined)[1] if defined else None


def _measure_all(wanted: list[tuple[ComparedRows, int, Rows]]) -> None:
    """Measure what is wanted and not yet found: each judge of a cell on each choice of rows
    once.
    """
    jobs = {(id(cell), judge, rows.tobytes()): (cell, judge, rows) for cell, judge, rows in wanted}
    missing = {key: job for key, job in jobs.items() if key[1:] not in job[0].measured}

    def measure(job: tuple[ComparedRows, int, Rows]) -> Measurement:
        cell, judge, rows = job
        return cell.measure(judge, rows)

    with ThreadPoolExecutor(_THREADS) as pool:  # the loops run without the interpreter's lock
        for (_, judge, rows), job, coefficients in zip(
            missing, missing.values(), pool.map(measure, missing.values()), strict=True
        ):
            job[0].measured[judge, rows] = coefficients


def _make_column(
    name: str,
    leader: int | None,
    own: list[dict[str, MeanCorrelation]],
    compared: Sequence[int],
    cells: Sequence[ComparedRows],
) -> Column:
    others = [
        other for other in compared if other != leader and not np.isnan(own[other][name].mean.value)
    ]
    differences = [] if leader is None else _correct(name, leader, others, own, cells)
    # An undefined coefficient of one cell keeps the cell's counts.
    alone = (
        [cells[0].find(judge)[name].summarise() for judge in range(len(own))]
        if len(cells) == 1
        else None
    )
    return Column(
        alone or [by_coefficient[name].summarise() for by_coefficient in own],
        [by_coefficient[name].n_cells for by_coefficient in own],
        leader,
        differences,
    )


def _correct(
    name: str,
    leader: int,
    others: list[int],
    own: list[dict[str, MeanCorrelation]],
    cells: Sequence[ComparedRows],
) -> list[PairedDifference]:
    """The leader's differences, corrected for all pairs. Those of two others, which are not shown,
    are taken of the rows that each scored: on the rows that both did each would be measured anew.
    """
    sides = [_pair_sides(name, leader, other, cells) for other in others]
    shown = [_subtract(side.first, side.second) for side in sides]
    hidden = [
        _subtract(own[a][name].mean, own[b][name].mean)
        for a, b in itertools.combinations(others, 2)
    ]
    known = {other: own[other][name].summarise().reason for other in others}
    reasons = [
        *(find_reason(side.first, side.second) for side in sides),
        *(known[a] or known[b] for a, b in itertools.combinations(others, 2)),
    ]
    corrected = correct_pairs([*shown, *hidden], reasons)
    return [
        PairedDifference(
            leader,
            other,
            side.first.value,
            side.second.value,
            difference.value,
            low,
            high,
            difference.n,
            difference.n_clusters,
            side.n_cells,
            int(np.isnan(difference.drawn).sum()),
            p,
            reason,
        )
        for other, side, difference, p, low, high, reason in zip(
            others,
            sides,
            shown,
            corrected.p_holm.tolist(),
            corrected.low.tolist(),
            corrected.high.tolist(),
            corrected.reasons,
            strict=False,
        )
    ]


class _Sides(NamedTuple):
    """A coefficient of two judges over the `n_cells` cells in which both are defined."""

    first: Resampled
    second: Resampled
    n_cells: int


def _pair_sides(name: str, judge: int, other: int, cells: Sequence[ComparedRows]) -> _Sides:
    pairs = [(cell.find(judge, other), cell.find(other, judge)) for cell in cells]
    both = [(a, b) for a, b in pairs if not np.isnan(a[name].value - b[name].value)]
    if not both:
        unknown = Resampled(float("nan"), np.full_like(pairs[0][0][name].drawn, np.nan), 0, 0)
        return _Sides(unknown, unknown, 0)
    first, second = (average_correlations(side)[name].mean for side in zip(*both, strict=True))
    return _Sides(first, second, len(both))


def _subtract(first: Resampled, second: Resampled) -> Resampled:
    n_clusters = min(first.n_clusters, second.n_clusters)
    return Resampled(first.value - second.value, first.drawn - second.drawn, first.n, n_clusters)
