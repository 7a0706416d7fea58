"""Rows of the table `judge_comparisons`: the judges of a column side by side. The tests are `tasks.stats.judge_comparison`'s."""

from typing import NamedTuple

import numpy as np

from tasks.reports.scored_rows import Floats, Indices, Series, Target
from tasks.stats.cluster_sums import AnyWeights
from tasks.stats.correlation import COEFFICIENTS
from tasks.stats.judge_comparison import Column, PairedDifference, compare_correlations, mark_best
from tasks.stats.missing_bounds import MissingBounds, bound_missing

_RATED_ON_A_SCALE = ("judge", "recorded")
Row = dict[str, object]


class Competition(NamedTuple):
    """Judges held to one target, with each row's cluster and the resamples that they share."""

    series: list[Series]
    target: Target
    clusters: Indices
    weights: AnyWeights


def compare_judges(competition: Competition) -> tuple[dict[str, Column], list[Row]]:
    """The columns, one a coefficient, and their rows: each judge beside the best of the others, the leader beside the runner-up."""
    series, target, clusters, weights = competition
    scores = [one.mean[target.answers] for one in series]
    columns = compare_correlations(np.column_stack(scores), target.values, clusters, weights)
    missing = [np.isnan(x) & one.wanted[target.answers] for one, x in zip(series, scores, strict=True)]
    bounds = [_bound(one, x, target) for one, x in zip(series, scores, strict=True)]
    rows: list[Row] = []
    for name in COEFFICIENTS:
        column = columns[name]
        best = mark_best(column)
        for k, one in enumerate(series):
            rows.append({
                "human_criterion": target.criterion, "human_rule": target.rule, "coefficient": name, "judge": one.judge,
                "judge_criterion": one.criterion, "n": int((~np.isnan(scores[k])).sum()), "n_missing": int(missing[k].sum()),
                **_keep_numbers(value=column.own[k].value, low=column.own[k].low, high=column.own[k].high),
                **_keep_numbers(least=bounds[k][name].low, most=bounds[k][name].high),
                **_tell_difference(column, k, series), "is_best": k == best,
            })  # fmt: skip
    return columns, rows


def _tell_difference(column: Column, judge: int, series: list[Series]) -> Row:
    names = "common_value", "other_value", "difference", "difference_low", "difference_high", "p_holm"
    found = _find_difference(column, judge)
    if found is None:
        return {"other": None, "other_criterion": None, "n_common": None, **dict.fromkeys(names)}
    other = series[found.other]
    numbers = found.value, found.other_value, found.difference, found.low, found.high, found.p_holm
    about: Row = {"other": other.judge, "other_criterion": other.criterion, "n_common": found.n_common}
    return {**about, **_keep_numbers(**dict(zip(names, numbers, strict=True)))}


def _find_difference(column: Column, judge: int) -> PairedDifference | None:
    """The difference of a judge from the leader; of the leader from the runner-up."""
    if judge == column.leader:
        return max(column.differences, key=lambda found: column.own[found.other].value, default=None)
    for found in column.differences:
        if found.other == judge:
            turned = found._replace(judge=judge, other=found.judge, value=found.other_value, other_value=found.value)
            return turned._replace(difference=-found.difference, low=-found.high, high=-found.low)
    return None


def _bound(series: Series, x: Floats, target: Target) -> dict[str, MissingBounds]:
    """Worst-case bounds over the missing scores of a judge that rates on a scale, 0 to 1; NaN for one that does not."""
    wanted = series.wanted[target.answers]
    if series.kind not in _RATED_ON_A_SCALE or not _on_scale(x) or not np.isnan(x[wanted]).any():
        return dict.fromkeys(COEFFICIENTS, MissingBounds(float("nan"), float("nan"), 0, False))
    return bound_missing(x[wanted], target.values[wanted], (0.0, 1.0))


def _on_scale(x: Floats) -> bool:
    scored = x[~np.isnan(x)]
    return bool(((scored >= 0) & (scored <= 1)).all())


def _keep_numbers(**values: float) -> Row:
    return {name: None if np.isnan(value) else value for name, value in values.items()}
