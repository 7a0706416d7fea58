"""Rows of the table `difference_tests`: the tests on request, of each column's leader with every other judge. The tests are `tasks.stats`'."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.reports.comparing import POOLED, SYSTEMS, WITHIN_MODELS, Competition, Level, Row, drop_nan
from tasks.reports.scored_rows import Floats, Indices
from tasks.stats.correlation import COEFFICIENTS
from tasks.stats.difference_tests import PermutationTest, permute_both, replicate_t_test, williams_test
from tasks.stats.judge_comparison import PairedDifference, adjust_holm
from tasks.suite import DifferenceTest

_LEAST_ROWS = 4
"""Williams' test has n - 3 degrees of freedom."""


class _Pair(NamedTuple):
    """A leader's and another judge's scores of the rows that both scored, with the target's."""

    x: Floats
    other: Floats
    y: Floats
    models: Indices
    clusters: Indices


def list_difference_tests(competition: Competition, levels: Sequence[Level], tests: Sequence[DifferenceTest]) -> Iterator[Row]:
    """Each test of each column's leader with each other judge, Holm-corrected over those others.

    Williams' test and LAVE's are told of all rows and of each model's, PERM-BOTH of all rows; Williams' and PERM-BOTH of the models' means.
    """
    for test in tests:
        for level in levels:
            if not _is_told(test, level.model):
                continue
            permuted = _permute_pairs(competition, level) if test == "perm_both" else {}
            for name, column in level.columns.items():
                found = [
                    permuted[one.judge, one.other][name] if permuted else _test_pair(test, competition, level, name, one)
                    for one in column.differences
                ]
                about: Row = {"model": level.model, "test": test, "coefficient": name}
                for one, row in zip(column.differences, _correct(found), strict=True):
                    yield {**about, **_describe(competition, one), **drop_nan(row)}


def _is_told(test: DifferenceTest, model: str) -> bool:
    told = {
        "williams": model != WITHIN_MODELS,
        "perm_both": model in (POOLED, SYSTEMS),
        "replicates": model not in (WITHIN_MODELS, SYSTEMS),
    }
    return told[test]


def _test_pair(test: DifferenceTest, competition: Competition, level: Level, name: str, compared: PairedDifference) -> Row:
    if test == "replicates":
        (cell,) = level.cells.values()
        sides = cell.find(compared.judge, compared.other)[name].drawn, cell.find(compared.other, compared.judge)[name].drawn
        return _write(compared, *replicate_t_test(*sides))
    pair = _pair_scores(competition, level, compared.judge, compared.other)
    x, other, y = (_mean_systems(side, pair.models) if level.model == SYSTEMS else side for side in pair[:3])
    if y.size < _LEAST_ROWS:
        return _write(compared, float("nan"), float("nan"), float("nan"))
    return _write(compared, *williams_test(compared.value, compared.other_value, COEFFICIENTS[name](x, other), y.size))


def _permute_pairs(competition: Competition, level: Level) -> dict[tuple[int, int], dict[str, Row]]:
    """PERM-BOTH of each pair that some coefficient compares."""
    found: dict[tuple[int, int], dict[str, Row]] = {}
    compared = {(one.judge, one.other): one for column in level.columns.values() for one in column.differences}
    for judge, other in compared:
        pair, draws = _pair_scores(competition, level, judge, other), competition.draws
        rng = np.random.default_rng([*draws.seed, judge, other])
        tested = permute_both(*pair, len(draws.clusters), rng, "system" if level.model == SYSTEMS else "global")
        found[judge, other] = {name: _write_permuted(one) for name, one in tested.items()}
    return found


def _pair_scores(competition: Competition, level: Level, judge: int, other: int) -> _Pair:
    scores = competition.x[level.rows][:, [judge, other]]
    both = level.rows[~np.isnan(scores).any(axis=1)]
    x = competition.x[both]
    models = np.unique(competition.models[both], return_inverse=True)[1]
    return _Pair(x[:, judge], x[:, other], competition.target.values[both], models, competition.clusters[both])


def _mean_systems(scores: Floats, models: Indices) -> Floats:
    return np.asarray(np.bincount(models, scores) / np.bincount(models))


def _write(compared: PairedDifference, statistic: float, degrees: float, p: float) -> Row:
    return {"difference": compared.difference, "statistic": statistic, "degrees": degrees, "p": p}


def _write_permuted(found: PermutationTest) -> Row:
    return {"difference": found.difference, "p": found.p, "n_undefined": found.n_undefined}


def _correct(found: list[Row]) -> list[Row]:
    """The rows with p corrected over those that have one."""
    p = np.array([row["p"] for row in found], dtype=np.float64)
    corrected = np.full(p.size, np.nan)
    corrected[~np.isnan(p)] = adjust_holm(p[~np.isnan(p)])
    return [{**row, "p_holm": value} for row, value in zip(found, corrected.tolist(), strict=True)]


def _describe(competition: Competition, compared: PairedDifference) -> Row:
    target, judge, other = competition.target, competition.series[compared.judge], competition.series[compared.other]
    return {
        "human_criterion": target.criterion, "human_rule": target.rule, "judge": judge.judge, "judge_criterion": judge.criterion,
        "other": other.judge, "other_criterion": other.criterion, "n_common": compared.n_common,
    }  # fmt: skip
