"""Rows of the table `difference_tests`: the tests of two judges' difference that a suite asks for,
beside the paired bootstrap of `tasks.reports.comparisons`. The tests are
`tasks.stats.difference_tests`'.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from judgelake.tasks.reports.comparisons import (
    POOLED,
    SYSTEMS,
    WITHIN_MODELS,
    Competition,
    Level,
    Row,
    drop_nan,
)
from judgelake.tasks.reports.scored_rows import Floats, Indices
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.stats.difference_tests import (
    PermutationTest,
    permute_both,
    replicate_t_test,
    williams_test,
)
from judgelake.tasks.stats.judge_comparison import PairedDifference, adjust_holm
from judgelake.tasks.suite.suite import DifferenceTest

_LEAST_ROWS = 4
"""Williams' test has n - 3 degrees of freedom."""
DEPENDENT_ROWS = "rows share images or items: Williams' test needs one row of each"
FEW_ROWS = "fewer than 4 rows that both scored"


class _ScorePair(NamedTuple):
    """A leader's and another judge's scores of the rows that both scored, with the target's."""

    x: Floats
    other: Floats
    y: Floats
    models: Indices
    clusters: Indices


def list_difference_tests(
    competition: Competition, levels: Sequence[Level], tests: Sequence[DifferenceTest]
) -> Iterator[Row]:
    """Each test of each column's leader with each other judge, Holm-corrected over all pairs of
    judges, since the leader is chosen from the same data.

    Williams' test and LAVE's test are done on all rows and on each model's rows, permutations of
    clusters on all rows; Williams' test and permutations of models on the models' means.
    """
    for test in tests:
        for level in levels:
            if not _applies(test, level.model):
                continue
            permuted = _permute_pairs(competition, level) if test == "perm_both" else {}
            for name, column in level.columns.items():
                results = [
                    permuted[difference.judge, difference.other][name]
                    if permuted
                    else _test_pair(test, competition, level, name, difference)
                    for difference in column.differences
                ]
                n_pairs = math.comb(len(column.differences) + 1, 2)
                about: Row = {"model": level.model, "test": test, "coefficient": name}
                for difference, row in zip(
                    column.differences, _correct(results, n_pairs), strict=True
                ):
                    yield {**about, **_describe(competition, difference), **drop_nan(row)}


def _applies(test: DifferenceTest, model: str) -> bool:
    applies = {
        "williams": model != WITHIN_MODELS,
        "perm_both": model in (POOLED, SYSTEMS),
        "replicates": model not in (WITHIN_MODELS, SYSTEMS),
    }
    return applies[test]


def _test_pair(
    test: DifferenceTest,
    competition: Competition,
    level: Level,
    name: str,
    compared: PairedDifference,
) -> Row:
    if test == "replicates":
        (cell,) = level.cells.values()
        sides = (
            cell.find(compared.judge, compared.other)[name].drawn,
            cell.find(compared.other, compared.judge)[name].drawn,
        )
        return _write(compared, *replicate_t_test(*sides))
    pair = _pair_scores(competition, level, compared.judge, compared.other)
    x, other, y = (
        _mean_systems(side, pair.models) if level.model == SYSTEMS else side for side in pair[:3]
    )
    nothing = _write(compared, float("nan"), float("nan"), float("nan"))
    if level.model != SYSTEMS and np.unique(pair.clusters).size < pair.clusters.size:
        return {**nothing, "reason": DEPENDENT_ROWS}
    if y.size < _LEAST_ROWS:
        return {**nothing, "reason": FEW_ROWS}
    return _write(
        compared,
        *williams_test(compared.value, compared.other_value, COEFFICIENTS[name](x, other), y.size),
    )


def _permute_pairs(competition: Competition, level: Level) -> dict[tuple[int, int], dict[str, Row]]:
    """The permutation test of each pair that some coefficient compares."""
    permuted: dict[tuple[int, int], dict[str, Row]] = {}
    compared = {
        (difference.judge, difference.other): difference
        for column in level.columns.values()
        for difference in column.differences
    }
    for judge, other in compared:
        pair, draws = _pair_scores(competition, level, judge, other), competition.draws
        rng = np.random.default_rng([*draws.seed, judge, other])
        tested = permute_both(
            *pair, len(draws.clusters), rng, "system" if level.model == SYSTEMS else "global"
        )
        permuted[judge, other] = {name: _write_permuted(test) for name, test in tested.items()}
    return permuted


def _pair_scores(competition: Competition, level: Level, judge: int, other: int) -> _ScorePair:
    scores = competition.x[level.rows][:, [judge, other]]
    both = level.rows[~np.isnan(scores).any(axis=1)]
    x = competition.x[both]
    models = np.unique(competition.models[both], return_inverse=True)[1]
    return _ScorePair(
        x[:, judge],
        x[:, other],
        competition.target.values[both],
        models,
        competition.clusters[both],
    )


def _mean_systems(scores: Floats, models: Indices) -> Floats:
    return np.asarray(np.bincount(models, scores) / np.bincount(models))


def _write(compared: PairedDifference, statistic: float, degrees: float, p: float) -> Row:
    return {"difference": compared.difference, "statistic": statistic, "degrees": degrees, "p": p}


def _write_permuted(test: PermutationTest) -> Row:
    return {"difference": test.difference, "p": test.p, "n_undefined": test.n_undefined}


def _correct(rows: list[Row], n_pairs: int) -> list[Row]:
    """The rows with p corrected for all pairs of judges."""
    p = np.array([row["p"] for row in rows], dtype=np.float64)
    corrected = np.full(p.size, np.nan)
    corrected[~np.isnan(p)] = adjust_holm(p[~np.isnan(p)], n_pairs)
    return [{**row, "p_holm": value} for row, value in zip(rows, corrected.tolist(), strict=True)]


def _describe(competition: Competition, compared: PairedDifference) -> Row:
    target, judge, other = (
        competition.target,
        competition.series[compared.judge],
        competition.series[compared.other],
    )
    return {
        "human_criterion": target.criterion,
        "human_rule": target.rule,
        "judge": judge.judge,
        "judge_criterion": judge.criterion,
        "other": other.judge,
        "other_criterion": other.criterion,
        "n_common": compared.n_common,
    }
