"""The core views, as given and expected rows."""

from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import Lake
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    metric_row,
    query,
    rating,
    score_row,
    verdict_row,
)
from tests.sql.test_recorded import recorded

A, B, M = "a" * 16, "b" * 16, "c" * 16
CAT, DOG = item("i0", image="0.png"), item("i1", "Which animal?", ("dog", "puppy"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


# ---- core_answers


def test_answers_stand_beside_their_items(lake: Lake) -> None:
    ingest(
        lake,
        [CAT, DOG],
        [answer("i0", "a cat"), answer("i1", "a dog", None, answer_id="row-7", n_repeats=2)],
    )
    rows = query(lake, "select * from core_answers order by item_id")
    assert [(row["item_id"], row["answer_id"], row["model"], row["text"]) for row in rows] == [
        ("i0", "m1", "m1", "a cat"),
        ("i1", "row-7", "(unnamed)", "a dog"),
    ]
    assert [
        (row["prompt"], row["references"], row["cluster"], row["n_repeats"]) for row in rows
    ] == [
        ("What is it?", ["cat"], "0.png", 1),
        ("Which animal?", ["dog", "puppy"], "i1", 2),
    ]
    assert rows[0]["content_digest"] == digest_of(CAT, "a cat")


def test_only_the_current_ingest_of_a_benchmark_counts(lake: Lake) -> None:
    ingest(lake, [CAT], [answer("i0", "new")], minute=5)
    ingest(lake, [CAT, DOG], [answer("i0", "old"), answer("i1", "old")], minute=1)
    ingest(lake, [CAT], [answer("i0", "another")], benchmark="c")
    rows = query(lake, "select benchmark, text from core_answers order by benchmark")
    assert [tuple(row.values()) for row in rows] == [("b", "new"), ("c", "another")]


# ---- core_human


def test_the_mean_is_taken_on_the_annotators_scale(lake: Lake) -> None:
    scale: Row = {"scale_low": 1.0, "scale_high": 5.0}
    ingest(
        lake,
        [CAT],
        [answer("i0", "a cat")],
        [rating("i0", 2, "p1", **scale), rating("i0", 5, "p2", **scale)],
    )
    # (2 - 1) / 4 = 0.25 and (5 - 1) / 4 = 1; their mean is 0.625
    assert query(lake, "select human_rule, score_0_1, n_annotators from core_human") == [
        {"human_rule": "mean", "score_0_1": 0.625, "n_annotators": 2}
    ]


# Mañas et al. 2024, Collecting Human Judgments: 1.0 from 4 of 5, 0.5 where only 2 or 3 say correct,
# else 0.
@pytest.mark.parametrize(
    ("n_correct", "score"), [(0, 0.0), (1, 0.0), (2, 0.5), (3, 0.5), (4, 1.0), (5, 1.0)]
)
def test_lave_s_rule_for_five_annotators(lake: Lake, n_correct: int, score: float) -> None:
    ratings = [rating("i0", float(number < n_correct), f"p{number}") for number in range(5)]
    ingest(lake, [CAT], [answer("i0", "a cat")], ratings)
    rows = query(
        lake, "select human_rule, score_0_1, n_annotators from core_human order by human_rule"
    )
    more_than_half = float(n_correct >= 3)
    assert [tuple(row.values()) for row in rows] == [
        ("lave", score, 5),
        ("majority", more_than_half, 5),
        ("mean", n_correct / 5, 5),
        ("median", more_than_half, 5),
    ]


def test_median_and_majority_are_reported_where_a_criterion_has_three_annotators(
    lake: Lake,
) -> None:
    values: dict[str, list[float]] = {"m1": [0, 0.5, 0.5, 1], "m2": [0, 0.25, 0.25], "m3": [0, 1]}
    ratings = [
        rating("i0", value, f"p{k}", answer_id=model)
        for model, some in values.items()
        for k, value in enumerate(some)
    ]
    ratings += [rating("i0", value, f"p{k}", criterion="fluency") for k, value in enumerate([0, 1])]
    ingest(lake, [CAT], [answer("i0", model, model) for model in values], ratings)
    rows = query(
        lake,
        "select answer_id, human_rule, score_0_1, criterion from core_human where human_rule "
        "<> 'mean' order by all",
    )
    # 0.5 is half of m1's four ratings, not more; 0.25 two of m2's three; m3's two annotators
    # differ; fluency has two at most
    assert [tuple(row.values()) for row in rows] == [
        ("m1", "median", 0.5, "correctness"),
        ("m2", "majority", 0.25, "correctness"),
        ("m2", "median", 0.25, "correctness"),
        ("m3", "median", 0.5, "correctness"),
    ]


@pytest.mark.parametrize("values", [[1, 1, 1, 1], [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0.5]])
def test_lave_s_rule_is_undefined_for_other_counts_and_scales(
    lake: Lake, values: list[float]
) -> None:
    ingest(
        lake,
        [CAT],
        [answer("i0", "a cat")],
        [rating("i0", value, f"p{number}") for number, value in enumerate(values)],
    )
    assert query(
        lake, "select human_rule from core_human where human_rule not in ('median', 'majority')"
    ) == [{"human_rule": "mean"}]


def test_answers_and_criteria_are_counted_apart(lake: Lake) -> None:
    ratings = [
        rating("i0", 1),
        rating("i0", 0, criterion="fluency"),
        rating("i0", 0, answer_id="m2"),
    ]
    ingest(lake, [CAT], [answer("i0", "a cat"), answer("i0", "cat", "m2")], ratings)
    rows = query(
        lake, "select answer_id, criterion, score_0_1 from core_human order by answer_id, criterion"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("m1", "correctness", 1),
        ("m1", "fluency", 0),
        ("m2", "correctness", 0),
    ]


# ---- core_judges


def judges(lake: Lake) -> list[tuple[str, str, str]]:
    rows = query(
        lake, "select judge, judge_id, reading from core_judges order by judge, judge_id, reading"
    )
    return [(row["judge"], row["judge_id"], row["reading"]) for row in rows]


def test_judges_are_named_by_alias_and_metrics_by_signature(lake: Lake) -> None:
    append_records(
        lake, "judges", [judge_row("lave", A), metric_row("acc", M, call_signature="acc|version:1")]
    )
    assert judges(lake) == [("lave", A, "r1"), ("metric:acc|version:1", M, "score")]


def test_one_alias_for_two_judges_names_both_in_full(lake: Lake) -> None:
    append_records(
        lake,
        "judges",
        [judge_row("lave", A, suite="s"), judge_row("lave", B, suite="t"), judge_row("x", M)],
    )
    assert judges(lake) == [(f"lave@{A}/r1", A, "r1"), (f"lave@{B}/r1", B, "r1"), ("x", M, "r1")]


def test_one_alias_for_two_readings_names_both_in_full(lake: Lake) -> None:
    append_records(
        lake, "judges", [judge_row("lave", A), judge_row("lave", A, suite="t", reading="r2")]
    )
    assert judges(lake) == [(f"lave@{A}/r1", A, "r1"), (f"lave@{A}/r2", A, "r2")]


def test_a_judge_of_two_suites_is_one_under_its_newest_alias_and_all_its_benchmarks(
    lake: Lake,
) -> None:
    append_records(
        lake, "judges", [judge_row("new", A, suite="t", benchmarks=["b", "c"], registered_at=at(5))]
    )
    append_records(lake, "judges", [judge_row("old", A, suite="s", registered_at=at(1))])
    (row,) = query(lake, "select judge, list_sort(benchmarks) as benchmarks from core_judges")
    assert row == {"judge": "new", "benchmarks": ["b", "c"]}


def test_only_a_suite_s_last_registration_is_current(lake: Lake) -> None:
    append_records(
        lake,
        "judges",
        [judge_row("lave", A), judge_row("second", B), judge_row("other", M, suite="t")],
    )
    append_records(lake, "judges", [judge_row("lave", B, registered_at=at(2))])
    assert judges(lake) == [("lave", B, "r1"), ("other", M, "r1")]


# ---- core_judge_names


def test_a_name_in_reports_has_one_alias(lake: Lake) -> None:
    """Two judges of one alias, a metric under two ids, and a judge that others recorded."""
    rows = [
        judge_row("lave", A, suite="s"),
        judge_row("lave", B, suite="t"),
        metric_row("first", M, suite="s", call_signature="acc|version:1"),
        metric_row("again", "d" * 16, suite="t", call_signature="acc|version:1"),
    ]
    append_records(lake, "judges", rows)
    ingest(lake, [CAT], [answer("i0", "a cat")], recorded_verdicts=[recorded("i0", 1, "gpt-4")])
    names = query(lake, "select judge, alias from core_judge_names order by judge")
    assert [(row["judge"], row["alias"]) for row in names] == [
        ("gpt-4", "gpt-4"),
        (f"lave@{A}/r1", "lave"),
        (f"lave@{B}/r1", "lave"),
        ("metric:acc|version:1", "again"),
    ]


# ---- core_runs


def test_runs_stand_newest_first(lake: Lake) -> None:
    run = {
        "suite": "s",
        "suite_digest": "d",
        "stage": "judge",
        "outcome": "done",
        "n_calls": 1,
        "n_replies_reused": 2,
    }
    run |= {
        "n_verdicts": 3,
        "n_failed": 0,
        "prompt_tokens": 4,
        "completion_tokens": 5,
        "seed": 7,
        "versions": "{}",
    }
    for minute in (1, 3, 2):
        append_records(
            lake,
            "runs",
            [
                {
                    **run,
                    "run_id": f"run-{minute}",
                    "started_at": at(minute),
                    "ended_at": at(minute + 1),
                }
            ],
        )
    rows = query(lake, "select run_id, n_calls, n_replies_reused, n_verdicts, seed from core_runs")
    assert [tuple(row.values()) for row in rows] == [
        (f"run-{minute}", 1, 2, 3, 7) for minute in (3, 2, 1)
    ]


# ---- core_scores


def scores(
    lake: Lake, columns: str = "item_id, answer_id, status, rating, score_0_1"
) -> list[tuple[object, ...]]:
    rows = query(
        lake, f"select {columns} from core_scores order by judge, item_id, answer_id, sample"
    )
    return [tuple(row.values()) for row in rows]


def judged(lake: Lake, *attempts: tuple[str, int | None, float, str]) -> None:
    """One judge, one answer to i0, wanted; attempts: (status, rating, minute, reading)."""
    ingest(lake, [CAT], [answer("i0", "a cat")])
    digest = digest_of(CAT, "a cat")
    append_records(lake, "judges", [judge_row("lave", A)])
    append_records(lake, "cases", [case_row(A, "i0", digest)])
    for status, found, minute, reading in attempts:
        append_records(
            lake,
            "verdicts",
            [verdict_row(A, "i0", digest, found, minute, status=status, reading=reading)],
        )


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([], ("not_asked", None, None)),
        ([("unparsed", None, 1, "r1")], ("unparsed", None, None)),
        ([("failed", None, 1, "r1"), ("refused", None, 2, "r1")], ("refused", None, None)),
        ([("refused", None, 2, "r1"), ("failed", None, 1, "r1")], ("refused", None, None)),
        ([("ok", 3, 1, "r1"), ("failed", None, 2, "r1")], ("ok", 3.0, 1.0)),
        ([("failed", None, 1, "r1"), ("ok", 2, 2, "r1")], ("ok", 2.0, 0.5)),
        ([("ok", 3, 1, "r1"), ("ok", 1, 2, "r1")], ("ok", 1.0, 0.0)),
        ([("ok", 3, 1, "another")], ("not_asked", None, None)),
    ],
)
def test_of_several_attempts_ok_stands_else_the_latest(
    lake: Lake, attempts: list[tuple[str, int | None, float, str]], expected: tuple[object, ...]
) -> None:
    judged(lake, *attempts)
    assert scores(lake, "status, rating, score_0_1") == [expected]


def test_an_edited_answer_is_not_asked_until_it_is_wanted_and_its_old_verdict_is_history(
    lake: Lake,
) -> None:
    judged(lake, ("ok", 3, 1, "r1"))
    ingest(lake, [CAT], [answer("i0", "a dog")], minute=9)
    assert scores(lake) == []
    append_records(lake, "cases", [case_row(A, "i0", digest_of(CAT, "a dog"))])
    assert scores(lake) == [("i0", "m1", "not_asked", None, None)]
    assert query(lake, "select count(*) as n from stg_verdicts") == [{"n": 1}]


def test_equal_answers_share_a_verdict(lake: Lake) -> None:
    judged(lake, ("ok", 2, 1, "r1"))
    ingest(
        lake,
        [CAT],
        [answer("i0", "a cat"), answer("i0", "a cat", "m2"), answer("i0", "cat", "m3")],
        minute=9,
    )
    assert scores(lake) == [("i0", "m1", "ok", 2.0, 0.5), ("i0", "m2", "ok", 2.0, 0.5)]


def test_a_judge_shown_a_new_caption_has_not_been_asked(lake: Lake) -> None:
    judged(lake, ("ok", 3, 1, "r1"))
    append_records(
        lake,
        "cases",
        [case_row(A, "i0", digest_of(CAT, "a cat"), context_digest="new", planned_at=at(8))],
    )
    assert scores(lake) == [("i0", "m1", "not_asked", None, None)]
    append_records(lake, "cases", [case_row(A, "i0", digest_of(CAT, "a cat"), planned_at=at(9))])
    assert scores(lake) == [("i0", "m1", "ok", 3.0, 1.0)]


def test_judges_that_are_not_current_have_no_scores(lake: Lake) -> None:
    judged(lake, ("ok", 3, 1, "r1"))
    append_records(lake, "judges", [judge_row("lave", B, registered_at=at(5))])
    assert scores(lake) == []


def test_a_benchmark_that_a_judge_is_no_longer_for_has_none_of_its_scores(lake: Lake) -> None:
    judged(lake, ("ok", 3, 1, "r1"))
    append_records(
        lake, "judges", [judge_row("lave", A, benchmarks=["another"], registered_at=at(5))]
    )
    assert scores(lake) == []


def test_samples_stand_apart(lake: Lake) -> None:
    judged(lake, ("ok", 3, 1, "r1"))
    digest = digest_of(CAT, "a cat")
    append_records(lake, "cases", [case_row(A, "i0", digest, sample=1)])
    append_records(lake, "verdicts", [verdict_row(A, "i0", digest, 1, sample=1)])
    assert scores(lake, "sample, score_0_1") == [(0, 1.0), (1, 0.0)]


def test_metrics_are_wanted_for_every_answer_of_their_benchmarks_and_tasks(lake: Lake) -> None:
    items = [CAT, DOG, {**item("i2"), "task": "caption"}]
    ingest(lake, items, [answer(f"i{number}", "a cat") for number in range(3)])
    ingest(lake, items, [answer("i0", "a cat")], benchmark="c")
    append_records(lake, "judges", [metric_row("acc", M)])
    append_records(lake, "metric_scores", [
        score_row(M, "i0", digest_of(CAT, "a cat"), 0.2, minute=1), score_row(M, "i0", digest_of(CAT, "a cat"), 0.3, minute=2),
        score_row(M, "i2", digest_of(items[2], "a cat"), 0.9),
    ])  # fmt: skip
    columns = "benchmark, item_id, criterion, sample, status, rating, score_0_1"
    assert scores(lake, columns) == [
        ("b", "i0", "overall", 0, "ok", 0.3, 0.3),
        ("b", "i1", "overall", 0, "not_asked", None, None),
    ]


def test_a_metric_that_is_undefined_says_why(lake: Lake) -> None:
    ingest(lake, [CAT], [answer("i0", "a cat")])
    append_records(lake, "judges", [metric_row("acc", M)])
    append_records(
        lake,
        "metric_scores",
        [score_row(M, "i0", digest_of(CAT, "a cat"), None, reason="no references")],
    )
    assert scores(lake, "status, score_0_1, reason") == [("undefined", None, "no references")]


def test_an_empty_lake_has_every_view_and_no_row(lake: Lake) -> None:
    for view in ("core_answers", "core_human", "core_judges", "core_runs", "core_scores"):
        assert query(lake, f"select * from {view}") == []
