"""Agreement with people recomputed: correlations by rule, pooled and averaged, and differences of
judges. Intervals and p-values rest on resamples and are not recomputed, but for Williams's test.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from tests.oracle.views.rows import ANSWER, Frame, Rows, Tables

COEFFICIENTS = ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c")
_LEAST_RATINGS = 30
"""Of an annotator who has rows of their own."""


class Column(NamedTuple):
    """What a judge is compared with: rows of `target` and `row`, a number for each answer."""

    benchmark: str
    human_criterion: str
    human_rule: str


def correlate(x: Any, y: Any, name: str) -> float | None:
    x, y = ([float(f"{value:.12g}") for value in side] for side in (x, y))
    if len({*x}) < 2 or len({*y}) < 2:
        return None
    return float(_SCIPY[name](x, y)[0])


_SCIPY: Mapping[str, Callable[..., Any]] = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall_tau_b": stats.kendalltau,
    "kendall_tau_c": partial(stats.kendalltau, variant="c"),
}


def targets(tables: Tables) -> dict[Column, Frame]:
    """Column -> answers with their `target`, more than one row of an answer under `each`."""
    found = {}
    for (benchmark, criterion), rows in tables.ratings.groupby(["benchmark", "criterion"]):
        groups = rows.groupby([*ANSWER, "model"]).score_0_1
        rules: dict[str, Any] = {
            "mean": groups.agg(mean_of),
            "each": rows.set_index([*ANSWER, "model"]).score_0_1,
        }
        counts = groups.size()
        if counts.max() >= 3:
            rules["median"] = groups.median()
            rules["majority"] = groups.agg(_take_majority).dropna()
        five = rows[rows.groupby(ANSWER).score_0_1.transform("size") == 5]
        if len(five) and five.score_0_1.isin([0, 1]).all():
            held = five.groupby([*ANSWER, "model"]).score_0_1.sum()
            rules["lave"] = held.map(lambda n: 1.0 if n >= 4 else 0.5 if n >= 2 else 0.0)
        for annotator, own in rows.groupby("annotator"):
            if len(own) >= _LEAST_RATINGS and rows.annotator.nunique() > 1:
                rules[f"annotator:{annotator}"] = own.set_index([*ANSWER, "model"]).score_0_1
        for rule, values in rules.items():
            found[Column(benchmark, criterion, rule)] = values.rename("target").reset_index()
    return found


def _take_majority(scores: Any) -> float:
    counts = scores.value_counts()
    return float(counts.index[0]) if 2 * counts.iloc[0] > len(scores) else math.nan


def judged(tables: Tables) -> dict[tuple[str, str, str, str], Frame]:
    """(benchmark, judge, its criterion, people's) -> answers with the mean of the samples."""
    people = tables.people.groupby("benchmark").human_criterion.unique()
    found = {}
    for (benchmark, judge, own), rows in tables.scores.groupby(["benchmark", "judge", "criterion"]):
        means = rows.groupby(ANSWER).score_0_1.agg(mean_of).rename("judge_score").reset_index()
        for criterion in people.get(benchmark, ()):
            rated = tables.people[
                (tables.people.benchmark == benchmark)
                & (tables.people.human_criterion == criterion)
            ]
            both = means.merge(rated[ANSWER], on=ANSWER)
            if len(both):
                found[benchmark, judge, own, criterion] = both
    return found


def mean_of(scores: Any) -> float:
    """Equal means of several are equal numbers; one score is as it is."""
    return float(scores.iloc[0]) if len(scores) == 1 else round(float(scores.mean()), 12)


@cache
def cells_of(tables: Tables) -> dict[tuple[str, str, str, str, str], Frame]:
    """(benchmark, judge, its criterion, people's, rule) -> rows of model, judge_score, target."""
    of_columns = targets(tables)
    return {
        (*key, column.human_rule): rows.merge(target, on=ANSWER)
        for key, rows in judged(tables).items()
        for column, target in of_columns.items()
        if (column.benchmark, column.human_criterion) == (key[0], key[3])
    }


@cache
def correlation(tables: Tables) -> Rows:
    found: Rows = []
    cells = cells_of(tables)
    for (benchmark, judge, own, criterion, rule), rows in cells.items():
        names = {"benchmark": benchmark, "judge": judge, "judge_criterion": own, "human_criterion": criterion,
                 "human_rule": rule, "sample_rule": "mean", "against": "human", "suite": None}  # fmt: skip
        names.pop("suite")
        for coefficient in COEFFICIENTS:
            row = {**names, "coefficient": coefficient}
            found.append(
                {
                    **row,
                    "model": "*",
                    "n": len(rows),
                    "value": correlate(rows.judge_score, rows.target, coefficient),
                }
            )
            if rule.startswith("annotator:"):
                continue
            by_model = dict(iter(rows.groupby("model")))
            values = {
                model: correlate(part.judge_score, part.target, coefficient)
                for model, part in by_model.items()
            }
            found += [
                {**row, "model": model, "n": len(by_model[model]), "value": value}
                for model, value in values.items()
            ]
            if len(values) > 1:
                defined = [value for value in values.values() if value is not None]
                found.append(
                    {
                        **row,
                        "model": "(mean of models)",
                        "n": len(rows),
                        "n_cells": len(defined),
                        "value": np.mean(defined) if defined else None,
                    }
                )
        if rule in ("mean", "lave"):
            value = calibrate_ties(rows)
            found.append(
                {**names, "coefficient": "tie_calibrated_accuracy", "model": "*", "value": value}
            )
    return [*found, *_ceilings(tables), *_over_benchmarks(cells)]


def _over_benchmarks(cells: Mapping[tuple[str, str, str, str, str], Frame]) -> Rows:
    """All benchmarks of the suite pooled, and the mean over benchmark x model."""
    found = []
    for key in {key[1:] for key in cells if key[4] in ("mean", "lave")}:
        parts = [rows for of, rows in cells.items() if of[1:] == key]
        if len(parts) < 2:
            continue
        rows = pd.concat(parts)
        names = dict(
            zip(("judge", "judge_criterion", "human_criterion", "human_rule"), key, strict=True)
        )
        names |= {"benchmark": "*", "sample_rule": "mean", "against": "human"}
        for coefficient in COEFFICIENTS:
            row = {**names, "coefficient": coefficient, "n": len(rows)}
            found.append(
                {
                    **row,
                    "model": "*",
                    "value": correlate(rows.judge_score, rows.target, coefficient),
                }
            )
            values = [
                correlate(own.judge_score, own.target, coefficient)
                for _, own in rows.groupby(["benchmark", "model"])
            ]  # fmt: skip
            defined = [value for value in values if value is not None]
            found.append(
                {
                    **row,
                    "model": "(mean of cells)",
                    "n_cells": len(defined),
                    "value": np.mean(defined) if defined else None,
                }
            )
    return found


def _ceilings(tables: Tables) -> Rows:
    """One annotator, or a judge, against the mean of the other annotators; mean over annotators."""
    found = []
    scores = judged(tables)
    for (benchmark, criterion), rows in tables.ratings.groupby(["benchmark", "criterion"]):
        wide = rows.pivot_table(
            index=["item_id", "answer_id"], columns="annotator", values="score_0_1"
        )
        others = {
            name: wide.drop(columns=name).mean(axis=1).round(12).where(wide[name].notna()).dropna()
            for name in wide
        }
        others = {
            name: target
            for name, target in others.items()
            if wide[name].notna().sum() >= _LEAST_RATINGS
        }
        if wide.shape[1] < 2 or not others:
            continue
        raters: dict[tuple[str, str], Mapping[str, Any]] = {
            ("human ceiling", criterion): {name: wide[name] for name in others}
        }
        for (own, judge, judge_criterion, target), answers in scores.items():
            if (own, target) == (benchmark, criterion):
                series = answers.set_index(["item_id", "answer_id"]).judge_score
                raters[judge, judge_criterion] = dict.fromkeys(others, series)
        for (judge, judge_criterion), given in raters.items():
            for coefficient in COEFFICIENTS:
                values = []
                for name, target in others.items():
                    both = pd.concat([given[name].rename("x"), target.rename("y")], axis=1).dropna()
                    values.append(correlate(both.x, both.y, coefficient) if len(both) else None)
                defined = [value for value in values if value is not None]
                found.append({"benchmark": benchmark, "model": "*", "judge": judge, "judge_criterion": judge_criterion,
                              "human_criterion": criterion, "human_rule": "mean_of_others", "sample_rule": "mean", "against": "human",
                              "coefficient": coefficient, "value": np.mean(defined) if defined else None})  # fmt: skip
    return found


def calibrate_ties(rows: Frame) -> float | None:
    """Deutsch et al. 2023: the largest mean over items of the share of pairs of answers that the judge
    puts as people do, over all distances up to which its scores may count as tied.
    """
    items = []
    for _, own in rows.groupby("item_id"):
        x, y = own.judge_score.to_numpy(), own.target.to_numpy()
        i, j = np.triu_indices(len(own), 1)
        if len(i):
            items.append((x[i] - x[j], np.round(y[i] - y[j], 12)))
    if not items:
        return None
    distances = {0.0, *np.concatenate([np.abs(x) for x, _ in items])}
    right = [
        np.mean([np.where(np.abs(x) <= within, y == 0, np.sign(x) == np.sign(y)).mean() for x, y in items])
        for within in distances
    ]  # fmt: skip
    return float(max(right))


def criteria(tables: Tables) -> Rows:
    """All of a judge's correlations with the means of several criteria of people."""
    rows = [
        row for row in correlation(tables)
        if row["benchmark"] != "*" and row["model"] == "*" and row["human_rule"] == "mean" and row["judge"] != "human ceiling" and row["value"] is not None
    ]  # fmt: skip
    found = []
    names = ("benchmark", "judge", "judge_criterion", "coefficient")
    for key, group in itertools.groupby(
        sorted(rows, key=lambda row: [row[name] for name in names]),
        lambda row: [row[name] for name in names],
    ):
        own = [*group]
        values = [row["value"] for row in own]
        for row in own if len(own) > 1 else ():
            mark = (
                "most"
                if row["value"] == max(values)
                else "least"
                if row["value"] == min(values)
                else ""
            )
            found.append({**dict(zip(names, key, strict=True)), "human_criterion": row["human_criterion"], "value": row["value"],
                          "mark": mark, "is_same_criterion": row["judge_criterion"] == row["human_criterion"]})  # fmt: skip
    return found


def overall(tables: Tables) -> Rows:
    """Of all benchmarks of the suite where several have the target, else of the one."""
    rows = [
        row
        for row in correlation(tables)
        if row["human_rule"] in ("mean", "lave") and row["coefficient"] in COEFFICIENTS
    ]
    several = len({row["benchmark"] for row in rows} - {"*"}) > 1
    mean = "(mean of cells)" if several else "(mean of models)"
    names = ("judge", "judge_criterion", "human_criterion", "human_rule", "coefficient")
    chosen = [row for row in rows if (row["benchmark"] == "*") == several]
    means = {tuple(row[name] for name in names): row for row in chosen if row["model"] == mean}
    found = []
    for row in chosen:
        if row["model"] == "*":
            key = tuple(row[name] for name in names)
            of_cells = means.get(
                key, {"value": row["value"], "n_cells": int(row["value"] is not None)}
            )
            found.append({**dict(zip(names, key, strict=True)), "n": row["n"], "pooled": row["value"],
                          "mean_of_cells": of_cells["value"], "n_cells": of_cells["n_cells"]})  # fmt: skip
    return found


_COMPARED = ["benchmark", "model", "human_criterion", "human_rule", "coefficient"]


def _values(tables: Tables) -> dict[tuple[str, ...], tuple[float | None, int | None]]:
    """(*_COMPARED, judge, its criterion) -> value and n of its own rows."""
    return {
        (*(row[name] for name in _COMPARED), row["judge"], row["judge_criterion"]): (row["value"], row.get("n"))
        for row in correlation(tables)
    }  # fmt: skip


def _common(tables: Tables) -> Any:
    """What two judges have on the rows that both scored, in one column and model."""
    cells = cells_of(tables)

    @cache
    def pair(
        benchmark: str, criterion: str, rule: str, one: tuple[str, str], other: tuple[str, str]
    ) -> dict[str, list[Frame]]:
        """Model -> the rows that both scored, those of each model apart for the mean of models."""
        sides = [cells[benchmark, *judge, criterion, rule] for judge in (one, other)]
        both = sides[0].merge(sides[1][[*ANSWER, "judge_score"]], on=ANSWER, suffixes=("", "_b"))
        apart = {model: [own] for model, own in both.groupby("model")}
        return {**apart, "*": [both], "(mean of models)": [own for (own,) in apart.values()]}

    @cache
    def measure(
        column: tuple[str, ...], one: tuple[str, str], other: tuple[str, str]
    ) -> tuple[int, Any, Any]:
        benchmark, model, criterion, rule, coefficient = column
        parts = pair(benchmark, criterion, rule, one, other)[model]
        pairs = [
            [correlate(own[side], own.target, coefficient) for side in ("judge_score", "judge_score_b")]
            for own in parts
        ]  # fmt: skip
        defined = [values for values in pairs if None not in values]
        means: Any = np.array(defined, dtype=float).mean(axis=0) if defined else (None, None)
        return sum(map(len, parts)), means[0], means[1]

    return measure


def judge_comparison(tables: Tables) -> Rows:
    """Each judge beside the best of the others, on the rows that both scored. The pairs' common
    values are checked under the mean of the annotators and LAVE's rule.
    """
    values, common = _values(tables), _common(tables)
    shown = tables.read("rpt_judge_comparison")
    found = []
    for column, rows in shown[shown.benchmark != "*"].groupby(_COMPARED):
        best = sorted(
            (
                (row.value, row.judge, row.judge_criterion)
                for row in rows.itertuples()
                if not math.isnan(row.value)
            ),
            reverse=True,
        )
        for row in rows.itertuples():
            judge = (row.judge, row.judge_criterion)
            value, n = values[(*column, *judge)]
            names = {
                **dict(zip(_COMPARED, column, strict=True)),
                "judge": judge[0],
                "judge_criterion": judge[1],
                "value": value,
            }
            if n is not None:
                names["n"] = n
            if isinstance(row.other, str):
                others = [value for value, *other in best if tuple(other) != judge]
                (shown_value,) = rows[
                    (rows.judge == row.other) & (rows.judge_criterion == row.other_criterion)
                ].value
                assert math.isclose(shown_value, others[0], rel_tol=1e-12), (column, judge)
            if isinstance(row.other, str) and column[3] in ("mean", "lave"):
                n_common, own, theirs = common(column, judge, (row.other, row.other_criterion))
                names |= {"n_common": n_common, "common_value": own, "other_value": theirs}
                names["difference"] = None if own is None else own - theirs
            found.append(names)
    return found


def difference_tests(tables: Tables) -> Rows:
    """Differences of the leader and the others; Williams's statistic too, where it has one."""
    common, cells = _common(tables), cells_of(tables)
    shown = tables.read("rpt_difference_tests")
    found = []
    for row in shown[shown.benchmark != "*"].itertuples():
        column = tuple(getattr(row, name) for name in _COMPARED)
        one, other = (row.judge, row.judge_criterion), (row.other, row.other_criterion)
        names = {**dict(zip(_COMPARED, column, strict=True)), "test": row.test, "judge": one[0], "judge_criterion": one[1],
                 "other": other[0], "other_criterion": other[1]}  # fmt: skip
        if row.human_rule in ("mean", "lave"):
            n, mine, theirs = common(column, one, other)
            names |= {"n_common": n, "difference": None if mine is None else mine - theirs}
            if row.test == "williams" and not isinstance(row.reason, str):
                sides = [
                    cells[(row.benchmark, *judge, row.human_criterion, row.human_rule)]
                    for judge in (one, other)
                ]
                both = sides[0].merge(
                    sides[1][[*ANSWER, "judge_score"]], on=ANSWER, suffixes=("", "_b")
                )
                both = both if row.model == "*" else both[both.model == row.model]
                between = correlate(both.judge_score, both.judge_score_b, row.coefficient)
                names |= {"statistic": williams(mine, theirs, between, n), "degrees": n - 3}
        found.append(names)
    return found


def williams(one: Any, other: Any, between: Any, n: int) -> float | None:
    """Steiger 1980, equation 7, with the determinant of the three correlations."""
    matrix = np.array([[1, one, other], [one, 1, between], [other, between, 1]], dtype=float)
    below = (
        2 * (n - 1) / (n - 3) * np.linalg.det(matrix)
        + ((one + other) / 2) ** 2 * (1 - between) ** 3
    )
    return float((one - other) * math.sqrt((n - 1) * (1 + between) / below)) if below > 0 else None
