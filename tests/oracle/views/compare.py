"""Each report view with its second implementation, and how the two are compared, row by row."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from tests.oracle.views import correlation_views as correlations
from tests.oracle.views import count_views as counts
from tests.oracle.views import duel_views as duels
from tests.oracle.views import failure_views as failures
from tests.oracle.views import rater_views as raters
from tests.oracle.views import score_views as scores
from tests.oracle.views.rows import Rows, Tables

_TOLERANCE = 1e-9
_ADDED = ("task", "category", "style")
"""Columns that a view may have where '*' is all."""


class Check(NamedTuple):
    """A view, the columns that name a row, and the rows that must be there."""

    keys: str
    rows: Callable[[Tables], Rows]
    is_pooled: bool = False
    """Whether rows of benchmark '*' are recomputed too."""


CHECKS: Mapping[str, Check] = {
    "rpt_metrics": Check("benchmark model judge", scores.metrics),
    "rpt_leniency": Check("benchmark model judge judge_criterion human_criterion", scores.leniency),
    "rpt_calibration": Check(
        "benchmark judge judge_criterion human_criterion score_from", scores.calibration
    ),
    "rpt_bias_length": Check("benchmark judge judge_criterion human_criterion", scores.bias_length),
    "rpt_bias_family_scores": Check(
        "benchmark judge judge_criterion human_criterion relation", scores.bias_family_scores
    ),
    "rpt_agreement": Check("benchmark judge_a judge_b criterion", scores.agreement),
    "rpt_confusion": Check("benchmark judge_a judge_b criterion label_a label_b", scores.confusion),
    "rpt_grader_accuracy": Check(
        "benchmark judge judge_criterion human_criterion model style", scores.grader_accuracy
    ),
    "rpt_superscore": Check("benchmark judge criterion model", scores.superscore),
    "rpt_scale_use": Check("benchmark judge criterion model level", scores.scale_use),
    "rpt_win_rate": Check("benchmark judge criterion model_a model_b", duels.win_rate),
    "rpt_category_win_rate": Check(
        "benchmark judge criterion category model_a model_b", duels.category_win_rate
    ),
    "rpt_bias_position": Check("benchmark judge criterion", duels.bias_position),
    "rpt_bias_longer": Check("benchmark judge criterion", duels.bias_longer),
    "rpt_bias_family": Check("benchmark judge criterion relation", duels.bias_family),
    "rpt_circular_triads": Check("benchmark rater criterion", duels.circular_triads),
    "rpt_contradictions": Check("benchmark rater criterion", duels.contradictions),
    "rpt_image_dependence": Check("benchmark judge_a judge_b criterion", duels.image_dependence),
    "rpt_feedback_preference": Check(
        "benchmark judge author_a author_b criterion", duels.feedback_preference
    ),
    "rpt_coverage": Check("benchmark judge status", counts.coverage),
    "rpt_costs": Check("judge_id", counts.costs),
    "rpt_judges": Check("benchmark kind judge", counts.judges),
    "rpt_refusals": Check("benchmark judge model", counts.refusals),
    "rpt_quarantine": Check("benchmark source_file column_name reason", counts.quarantine),
    "rpt_item_labels": Check("benchmark label labeller", counts.item_labels),
    "rpt_scaled_average": Check("benchmark model", counts.scaled_average),
    "rpt_choice_accuracy": Check(
        "benchmark judge judge_criterion human_criterion", counts.choice_accuracy
    ),
    "rpt_failure_cases": Check("benchmark model case_kind", failures.failure_cases),
    "rpt_failure_modes": Check(
        "benchmark model case_kind labelled_by labeller category", failures.failure_modes, True
    ),
    "rpt_failure_scores": Check(
        "benchmark case_kind labelled_by labeller category judge criterion", failures.failure_scores
    ),
    "rpt_failure_examples": Check(
        "benchmark item_id answer_id labelled_by labeller", failures.failure_examples
    ),
    "rpt_correlation": Check(
        "benchmark model judge judge_criterion human_criterion human_rule sample_rule against coefficient",
        correlations.correlation,
        True,
    ),
    "rpt_criteria": Check(
        "benchmark judge judge_criterion human_criterion coefficient", correlations.criteria
    ),
    "rpt_overall": Check(
        "judge judge_criterion human_criterion human_rule coefficient", correlations.overall, True
    ),
    "rpt_kappas": Check("benchmark rater_a rater_b criterion chance", raters.kappas),
    "rpt_reliability": Check("benchmark raters criterion statistic", raters.reliability),
    "rpt_rankings": Check("benchmark rater criterion category method model", raters.rankings),
    "rpt_ranking_overlap": Check(
        "benchmark criterion category method rater_a rater_b", raters.ranking_overlap
    ),
    "rpt_attribute_agreement": Check(
        "benchmark rater criterion attribute", raters.attribute_agreement
    ),
    "rpt_corpus_scores": Check("benchmark model judge", raters.corpus_scores),
    "rpt_judge_comparison": Check(
        "benchmark model human_criterion human_rule coefficient judge judge_criterion",
        correlations.judge_comparison,
    ),
    "rpt_difference_tests": Check(
        "benchmark model human_criterion human_rule coefficient test other other_criterion",
        correlations.difference_tests,
    ),
    "rpt_self_consistency": Check(
        "benchmark judge criterion sample_a sample_b", scores.self_consistency
    ),
}


def differences(tables: Tables, view: str) -> tuple[int, list[str]]:
    """How many rows of a view were compared, and what differs."""
    check = CHECKS[view]
    keys = check.keys.split()
    shown = _plain(tables.read(view), check)
    found = {_key(row, keys): row for row in shown}
    expected = {_key(row, keys): row for row in check.rows(tables)}
    missing = [f"{view}: {key} is not there" for key in expected if key not in found]
    more = [f"{view}: {key} is there" for key in found if key not in expected]
    if len(found) < len(shown):
        more.append(f"{view}: rows are there twice")
    return len(found), [
        *missing,
        *more,
        *(
            f"{view}: {key}: {name} is {found[key][name]!r}, expected {value!r}"
            for key, row in expected.items()
            if key in found
            for name, value in row.items()
            if not _is_same(found[key][name], value)
        ),
    ]


def _plain(rows: Any, check: Check) -> Rows:
    """The rows over all tasks, categories and styles, where a view has others too."""
    for name in _ADDED:
        if name in rows and name not in check.keys.split():
            rows = rows[rows[name] == "*"]
    for name in ("benchmark", "criterion"):
        if name in rows and not check.is_pooled:
            rows = rows[rows[name] != "*"]
    return [dict(row) for row in rows.to_dict("records")]


def _key(row: Mapping[str, Any], keys: list[str]) -> tuple[Any, ...]:
    return tuple(round(row[key], 9) if isinstance(row[key], float) else row[key] for key in keys)


def _is_same(found: Any, expected: Any) -> bool:
    if _is_nothing(expected) or _is_nothing(found):
        return _is_nothing(expected) and _is_nothing(found)
    if isinstance(expected, list) and not isinstance(found, list):
        found = [*found]
    if isinstance(expected, str | list | tuple | bool):
        return bool(found == expected)
    return math.isclose(found, expected, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def _is_nothing(value: Any) -> bool:
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, float) and math.isnan(value))
    )
