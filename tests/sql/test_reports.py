"""The report views, as given and expected rows with the arithmetic beside them; with them what they
are counted in: core_mean_scores (rpt_metrics), core_label_pairs (rpt_agreement).
"""

import re
from pathlib import Path

import numpy as np
import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.metrics.registry import KINDS
from tests.conftest import CHECKOUT
from tests.intervals import Fit, fit_mean, fit_share, odds_ends, plain_ends
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
    verdict_row,
)

A, M = "a" * 16, "c" * 16


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def give(
    lake: Lake,
    rows: list[tuple[str, str, str, int | None]],
    benchmark: str = "b",
    judge_id: str = A,
) -> None:
    """One judge; rows: (cluster, item, model, rating), rating None for a reply that could not be
    read.
    """
    clusters = {item_id: cluster for cluster, item_id, _, _ in rows}
    items = {
        item_id: item(item_id, f"Q {item_id}", cluster=cluster)
        for item_id, cluster in clusters.items()
    }
    texts = {(item_id, model): f"{model} says" for _, item_id, model, _ in rows}
    ingest(
        lake,
        list(items.values()),
        [answer(*key[:1], text, key[1]) for key, text in texts.items()],
        benchmark=benchmark,
    )
    digests = [
        (item_id, digest_of(items[item_id], texts[item_id, model]), found)
        for _, item_id, model, found in rows
    ]
    own: Row = {"benchmark": benchmark}
    append_records(
        lake,
        "cases",
        [case_row(judge_id, item_id, digest, **own) for item_id, digest, _ in digests],
    )
    append_records(
        lake,
        "verdicts",
        [
            verdict_row(judge_id, item_id, digest, found, **own)
            for item_id, digest, found in digests
        ],
    )


# ---- rpt_metrics


def metrics(lake: Lake) -> dict[str, Row]:
    return {
        row["model"]: row
        for row in query(lake, "select * from rpt_metrics order by benchmark, model")
    }


def test_a_mean_has_its_cluster_robust_interval(lake: Lake) -> None:
    append_records(lake, "judges", [judge_row("lave", A)])
    give(
        lake,
        [
            ("A", "i1", "m1", 3),
            ("A", "i2", "m1", 1),
            ("B", "i3", "m1", 3),
            ("C", "i4", "m1", 2),
            ("C", "i5", "m1", None),
        ],
    )
    found = metrics(lake)["m1"]
    # Scores 1, 0 | 1 | 0.5, missing: n = 4, mean = 2.5 / 4 = 0.625.
    low, high = odds_ends(fit_share([1, 0, 1, 0.5], "AABC"))
    assert (found["n"], found["n_missing"], found["mean"]) == (4, 1, 0.625)
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=1e-7)
    assert found["reason"] is None
    # the missing one 0: 2.5 / 5; 1: 3.5 / 5
    assert (found["least"], found["most"]) == pytest.approx((0.5, 0.7), abs=1e-12)
    assert (found["benchmark"], found["metric"], found["judge"], found["signature"]) == (
        "b",
        "lave",
        "lave",
        f"call {A}",
    )


def test_the_bounds_of_a_mean_count_each_missing_part_of_a_score(lake: Lake) -> None:
    append_records(lake, "judges", [judge_row("lave", A)])
    give(lake, [("A", "i1", "m1", 3), ("B", "i2", "m1", None), ("C", "i3", "m2", 1)])
    digest = digest_of(item("i1", "Q i1", cluster="A"), "m1 says")
    append_records(lake, "cases", [case_row(A, "i1", digest, sample=1)])
    append_records(lake, "verdicts", [verdict_row(A, "i1", digest, None, sample=1)])
    found = {
        model: (row["n"], row["n_missing"], row["mean"], row["least"], row["most"])
        for model, row in metrics(lake).items()
    }
    # m1: of i1 one of two samples is 1 and the other missing, of i2 the only one is missing:
    # least (1 / 2 + 0) / 2, most (1 + 1) / 2. m2 lacks nothing.
    assert found["m1"] == (1, 1, 1.0, 0.25, 1.0)
    assert found["m2"] == (1, 0, 0.0, 0.0, 0.0)
    # all: (1 / 2 + 0 + 0) / 3 and (1 + 1 + 0) / 3
    assert found["*"][3:] == pytest.approx((1 / 6, 2 / 3), abs=1e-12)


@pytest.mark.parametrize("scores", [[-3.0, -2.5, -1.0, None], [0.5, 1.5, 3.0, None]])
def test_a_metric_beyond_0_and_1_has_the_interval_of_a_plain_mean_and_no_bounds(
    lake: Lake, scores: list[float | None]
) -> None:
    """As log-likelihoods (BARTScore) and CIDEr are."""
    names = ("A", "B", "C", "D")
    ingest(
        lake,
        [item(name, f"Q {name}", cluster=name) for name in names],
        [answer(name, "a", "m1") for name in names],
        recorded_scores=[
            {"item_id": name, "answer_id": "m1", "metric": "other_scale", "score": score}
            for name, score in zip(names, scores, strict=True)
        ],
    )
    found = metrics(lake)["m1"]
    ends = plain_ends(fit_mean([score for score in scores if score is not None], "ABC"))
    assert (found["low"], found["high"]) == pytest.approx(ends, abs=1e-6)
    assert found["low"] < found["mean"] < found["high"]
    assert (found["least"], found["most"], found["reason"]) == (None, None, None)


def test_a_metric_that_may_go_beyond_1_has_no_bounds_where_its_scores_do_not(lake: Lake) -> None:
    scores = {"i1": 0.2, "i2": 0.6, "i3": None}
    ingest(
        lake,
        [item(name) for name in scores],
        [answer(name, "a") for name in scores],
        recorded_scores=[
            {"item_id": name, "answer_id": "m1", "metric": metric, "score": score}
            for name, score in scores.items()
            for metric in ("cider", "unknown")
        ],
    )
    rows = query(lake, "select metric, least, most from rpt_metrics where model = '*'")
    found = {row["metric"]: (row["least"], row["most"]) for row in rows}
    assert found["cider"] == (None, None)
    assert found["unknown"] == pytest.approx((0.8 / 3, 1.8 / 3))


def test_the_metrics_whose_scale_is_known_are_ours() -> None:
    text = (CHECKOUT / "sql" / "core" / "core_judges.sql").read_text()
    named = re.findall(r"unnest\(\[(.*?)\]\) as metric", text)
    assert {*re.findall(r"'(\w+)'", " ".join(named))} <= {*KINDS.own}
    assert [part.count("'") // 2 for part in named] == [8, 6]  # from 0 to 1, and others


def test_scores_far_from_0_keep_the_digits_of_their_interval(lake: Lake) -> None:
    letters = "ABCDEFGH"
    ingest(
        lake,
        [item(name, f"Q {name}", cluster=name) for name in letters],
        [answer(name, "a", "m1") for name in letters],
        recorded_scores=[
            {"item_id": name, "answer_id": "m1", "metric": "far", "score": 1e9 + place % 7}
            for place, name in enumerate(letters)
        ],
    )
    found = metrics(lake)["m1"]
    ends = plain_ends(fit_mean(np.arange(8.0) % 7, letters))
    assert (found["low"] - 1e9, found["high"] - 1e9) == pytest.approx(ends, abs=1e-5)


def test_clusters_of_one_answer_give_the_textbook_interval(lake: Lake) -> None:
    append_records(lake, "judges", [judge_row("lave", A)])
    give(
        lake,
        [(f"c{number}", f"i{number}", "m1", found) for number, found in enumerate((3, 3, 1, 2))],
    )
    found = metrics(lake)["m1"]
    # 1, 1, 0, 0.5: mean 0.625, sample variance (2 * 0.140625 + 0.390625 + 0.015625) / 3 =
    # 0.22916..., that of the mean a quarter of it, 3 degrees of freedom
    variance = (2 * 0.140625 + 0.390625 + 0.015625) / 3 / 4
    ends = odds_ends(Fit(0.625, variance, 3))
    assert (found["low"], found["high"]) == pytest.approx(ends, abs=1e-7)


def test_all_models_are_pooled_under_a_star(lake: Lake) -> None:
    append_records(lake, "judges", [judge_row("lave", A)])
    give(
        lake,
        [
            ("A", "i1", "m1", 3),
            ("A", "i1", "m2", 1),
            ("B", "i2", "m1", 3),
            ("B", "i2", "m2", 3),
            ("B", "i3", "m2", None),
        ],
    )
    found = metrics(lake)
    assert {model: (row["n"], row["n_missing"], row["mean"]) for model, row in found.items()} == {
        "m1": (2, 0, 1.0),
        "m2": (2, 1, 0.5),
        "*": (4, 1, 0.75),
    }
    for row in found.values():
        assert (row["low"], row["high"]) == (None, None)
        assert row["reason"] == "fewer than 3 clusters"


def test_where_all_scores_are_1_the_interval_goes_down(lake: Lake) -> None:
    append_records(lake, "judges", [judge_row("lave", A)])
    give(lake, [(f"c{number}", f"i{number}", "m1", 3) for number in range(10)])
    found = metrics(lake)["m1"]
    # Clopper & Pearson 1934: a share of .025^(1/10) gives ten of ten in 2.5 % of samples
    assert (found["low"], found["high"]) == (pytest.approx(0.025**0.1), 1.0)


def test_one_cluster_has_no_interval_and_no_score_no_mean(lake: Lake) -> None:
    append_records(lake, "judges", [judge_row("lave", A)])
    give(
        lake,
        [
            ("A", "i1", "m1", 3),
            ("A", "i2", "m1", 1),
            ("B", "i3", "m1", None),
            ("A", "i1", "m2", None),
        ],
    )
    found = metrics(lake)
    assert (found["m1"]["mean"], found["m1"]["low"], found["m1"]["high"]) == (0.5, None, None)
    assert (
        found["m2"]["n"],
        found["m2"]["n_missing"],
        found["m2"]["mean"],
        found["m2"]["low"],
    ) == (0, 1, None, None)


def test_samples_of_one_answer_count_as_one(lake: Lake) -> None:
    append_records(lake, "judges", [judge_row("lave", A)])
    give(lake, [("A", "i1", "m1", 3), ("B", "i2", "m1", 1)])
    digest = digest_of(item("i1", "Q i1"), "m1 says")
    append_records(
        lake, "cases", [case_row(A, "i1", digest, sample=1), case_row(A, "i1", digest, sample=2)]
    )
    append_records(
        lake,
        "verdicts",
        [verdict_row(A, "i1", digest, 2, sample=1), verdict_row(A, "i1", digest, None, sample=2)],
    )
    # i1: the mean of 1 and 0.5, the unread sample left out, is 0.75; i2: 0
    for row in metrics(lake).values():
        assert (row["n"], row["n_missing"], row["n_partly_missing"], row["mean"]) == (
            2,
            0,
            1,
            0.375,
        )


def test_benchmarks_and_judges_stand_apart(lake: Lake) -> None:
    append_records(
        lake,
        "judges",
        [judge_row("lave", A, benchmarks=["b", "c"]), metric_row("acc", M, benchmarks=["c"])],
    )
    give(lake, [("A", "i1", "m1", 3)])
    give(lake, [("A", "i1", "m1", 1)], benchmark="c")
    rows = query(
        lake, "select benchmark, metric, mean, n_missing from rpt_metrics where model = '*'"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("b", "lave", 1.0, 0),
        ("c", "acc", None, 1),
        ("c", "lave", 0.0, 0),
    ]


# ---- rpt_coverage


def test_coverage_counts_every_wanted_score_once(lake: Lake) -> None:
    append_records(lake, "judges", [judge_row("lave", A), metric_row("acc", M)])
    give(
        lake,
        [("A", "i1", "m1", 3), ("A", "i2", "m1", 1), ("B", "i3", "m1", None), ("B", "i3", "m2", 3)],
    )
    digest = digest_of(item("i2", "Q i2"), "m2 says")
    items = [item(f"i{number}", f"Q i{number}") for number in (1, 2, 3)]
    answers = [answer(f"i{number}", "m1 says") for number in (1, 2, 3)] + [
        answer(f"i{n}", "m2 says", "m2") for n in (2, 3)
    ]
    ingest(lake, items, answers, minute=5)
    append_records(lake, "cases", [case_row(A, "i2", digest)])
    rows = query(lake, "select * from rpt_coverage")
    assert [tuple(row.values()) for row in rows] == [
        ("b", "lave", "not_asked", 1),
        ("b", "lave", "ok", 3),
        ("b", "lave", "unparsed", 1),
        ("b", f"metric:call {M}", "not_asked", 5),
    ]


# ---- rpt_correlation


WHOLE = dict.fromkeys(("task", "category", "style"), "*")


def correlation_row(suite: str, value: float | None, minute: float, **more: object) -> Row:
    row: Row = {
        "suite": suite,
        "benchmark": "b",
        **WHOLE,
        "model": "*",
        "judge": "lave",
        "judge_criterion": "correctness",
    }
    row |= {
        "human_criterion": "correctness",
        "human_rule": "mean",
        "sample_rule": "mean",
        "against": "human",
    }
    row |= {
        "coefficient": "spearman",
        "n": 9,
        "n_clusters": 3,
        "value": value,
        "low": 0.1,
        "high": 0.9,
        "n_undefined": 0,
    }
    row["n_cells"] = None
    return {**row, "resamples": 20, "seed": 7, "reported_at": at(minute), **more}


def test_a_correlation_is_shown_once_as_the_last_report_computed_it(lake: Lake) -> None:
    append_records(
        lake,
        "correlations",
        [correlation_row("s", 0.3, 1), correlation_row("s", 0.1, 1, model="gone")],
    )
    append_records(
        lake,
        "correlations",
        [correlation_row("s", 0.5, 2), correlation_row("s", None, 2, coefficient="pearson")],
    )
    append_records(
        lake,
        "correlations",
        [correlation_row("t", 0.4, 1), correlation_row("t", 0.6, 1, judge="other")],
    )
    rows = query(lake, "select model, judge, coefficient, value from rpt_correlation")
    assert [tuple(row.values()) for row in rows] == [
        ("*", "lave", "pearson", None),
        ("*", "lave", "spearman", 0.5),
        ("*", "other", "spearman", 0.6),
    ]


def test_rows_of_all_benchmarks_are_reported_for_every_suite(lake: Lake) -> None:
    append_records(
        lake,
        "correlations",
        [correlation_row("s", 0.5, 1, benchmark="*"), correlation_row("t", 0.7, 2, benchmark="*")],
    )
    rows = query(lake, "select suite, value from rpt_correlation where benchmark = '*'")
    assert [tuple(row.values()) for row in rows] == [("s", 0.5), ("t", 0.7)]


def test_overall_stands_pooled_and_as_the_mean_of_cells(lake: Lake) -> None:
    several = [
        ("b", "*", 0.1),
        ("c", "*", 0.2),
        ("*", "*", 0.6),
        ("*", "(mean of cells)", 0.4),
        ("b", "m1", 0.9),
    ]
    rows = [
        correlation_row("s", value, 2, benchmark=benchmark, model=model)
        for benchmark, model, value in several
    ]
    rows[3]["n_cells"] = 3
    alone = [
        correlation_row("t", 0.3, 2),
        correlation_row("t", 0.25, 2, model="(mean of models)"),
        correlation_row("u", 0.8, 2),
    ]
    alone[1]["n_cells"] = 2
    append_records(lake, "correlations", [*rows, *alone])
    append_records(
        lake,
        "judge_comparisons",
        [comparison_row("s", "lave", 0.6, 2, benchmark="*", is_best=True)],
    )
    found = query(
        lake, "select suite, benchmarks, pooled, mark, mean_of_cells, n_cells from rpt_overall"
    )
    assert [tuple(row.values()) for row in found] == [
        ("s", ["b", "c"], 0.6, "best", 0.4, 3),
        ("t", ["b"], 0.3, "", 0.25, 2),  # one benchmark: its own rows
        ("u", ["b"], 0.8, "", 0.8, 1),  # and one model
    ]


# ---- rpt_criteria


def test_a_judge_s_criterion_stands_beside_each_of_people_s(lake: Lake) -> None:
    reported = [
        ("overall", "fluency", 0.2),
        ("overall", "clarity", 0.4),
        ("overall", "length", None),
        ("fluency", "fluency", 0.5),
    ]
    append_records(lake, "correlations", [
        correlation_row("s", value, 2, judge_criterion=own, human_criterion=human) for own, human, value in reported
    ])  # fmt: skip
    rows = query(
        lake,
        "select judge_criterion, human_criterion, is_same_criterion, value, mark from rpt_criteria",
    )
    assert [tuple(row.values()) for row in rows] == [  # `fluency` was held to one criterion only
        ("overall", "clarity", False, 0.4, "most"),
        ("overall", "fluency", False, 0.2, "least"),
    ]


# ---- rpt_judge_comparison


def comparison_row(
    suite: str, judge: str, value: float | None, minute: float, **more: object
) -> Row:
    row: Row = {
        "suite": suite,
        "benchmark": "b",
        "human_criterion": "correctness",
        "human_rule": "mean",
        "against": "human",
    }
    row |= {"model": "*", "n_undefined": None}
    row |= {
        "coefficient": "spearman",
        "judge": judge,
        "judge_criterion": "correctness",
        "n": 9,
        "n_missing": 1,
        "value": value,
    }
    row |= dict.fromkeys(
        (
            "low",
            "high",
            "least",
            "most",
            "other",
            "other_criterion",
            "n_common",
            "common_value",
            "other_value",
        )
    )
    row |= {
        "difference": None,
        "difference_low": None,
        "difference_high": None,
        "difference_reason": None,
        "p_holm": None,
        "is_best": False,
    }
    return {**row, "resamples": 20, "seed": 7, "reported_at": at(minute), **more}


def test_a_column_of_judges_is_one_report_s(lake: Lake) -> None:
    append_records(lake, "judge_comparisons", [comparison_row("s", "old", 0.9, 1)])
    append_records(
        lake,
        "judge_comparisons",
        [comparison_row("s", "lave", 0.5, 2), comparison_row("s", "none", None, 2)],
    )
    append_records(lake, "judge_comparisons", [comparison_row("s", "best", 0.6, 2, is_best=True)])
    append_records(
        lake,
        "judge_comparisons",
        [comparison_row("t", "other", 0.7, 1), comparison_row("t", "x", 0.2, 1, against="y")],
    )
    rows = query(
        lake, "select suite, judge, value, mark from rpt_judge_comparison where against = 'human'"
    )
    # `t` compared other judges, and earlier: a judge is best only among those it was compared with
    assert [tuple(row.values()) for row in rows] == [
        ("s", "best", 0.6, "best"),
        ("s", "lave", 0.5, ""),
        ("s", "none", None, ""),
    ]
    assert query(lake, "select judge from rpt_judge_comparison where against = 'y'") == [
        {"judge": "x"}
    ]


# ---- rpt_difference_tests


def difference_row(suite: str, test: str, p: float | None, minute: float, **more: object) -> Row:
    row: Row = {
        "suite": suite,
        "benchmark": "b",
        "model": "*",
        "human_criterion": "correctness",
        "human_rule": "mean",
    }
    row |= {
        "against": "human",
        "coefficient": "spearman",
        "test": test,
        "judge": "best",
        "judge_criterion": "correctness",
    }
    row |= {
        "other": "lave",
        "other_criterion": "correctness",
        "n_common": 9,
        "difference": 0.1,
        "statistic": None,
        "degrees": None,
    }
    row |= {
        "p": p,
        "p_holm": p,
        "n_undefined": None,
        "resamples": 20,
        "seed": 7,
        "reported_at": at(minute),
    }
    return {**row, **more}


def test_a_difference_is_tested_as_the_last_report_asked(lake: Lake) -> None:
    append_records(
        lake,
        "difference_tests",
        [difference_row("s", "williams", 0.5, 1), difference_row("s", "perm_both", 0.4, 1)],
    )
    append_records(lake, "difference_tests", [difference_row("s", "williams", 0.3, 2)])
    append_records(
        lake,
        "difference_tests",
        [difference_row("t", "williams", 0.1, 1, benchmark=b) for b in ("b", "*")],
    )
    rows = query(lake, "select suite, benchmark, test, p from rpt_difference_tests")
    assert [tuple(row.values()) for row in rows] == [
        ("t", "*", "williams", 0.1),
        ("s", "b", "williams", 0.3),
    ]


# ---- rpt_quarantine


def test_quarantined_rows_are_counted_by_reason_with_an_example(lake: Lake) -> None:
    bad = {
        "benchmark": "b",
        "ingest_id": "b-1",
        "table_name": "answers",
        "source_file": "a.json",
        "column_name": "text",
    }
    bad |= {"reason": "empty", "remedy": "write something"}
    append_records(lake, "quarantine", [
        {**bad, "locator": "row 2", "value": ""}, {**bad, "locator": "row 1", "value": " "},
        {**bad, "locator": "row 5", "value": "x", "reason": "twice"}, {**bad, "locator": "row 9", "value": "", "ingest_id": "b-0"},
    ])  # fmt: skip
    ingest(lake, [item("i0")], minute=1)
    assert query(lake, "select * from rpt_quarantine") == [
        {
            "benchmark": "b", "source_file": "a.json", "reason": "empty", "column_name": "text", "n": 2,
            "example_locator": "row 1", "example_value": " ", "remedy": "write something",
        },
        {
            "benchmark": "b", "source_file": "a.json", "reason": "twice", "column_name": "text", "n": 1,
            "example_locator": "row 5", "example_value": "x", "remedy": "write something",
        },
    ]  # fmt: skip


@pytest.mark.parametrize(
    "view", ["rpt_metrics", "rpt_coverage", "rpt_correlation", "rpt_quarantine"]
)
def test_an_empty_lake_has_an_empty_report(lake: Lake, view: str) -> None:
    assert query(lake, f"select * from {view}") == []


# ---- rpt_judges


def test_judges_stand_with_their_signatures_beside_them(lake: Lake) -> None:
    append_records(
        lake, "judges", [judge_row("lave", A, benchmarks=["b", "c"]), metric_row("acc", M)]
    )
    columns = "benchmark, judge, alias, kind, signature, reading_signature"
    assert [tuple(row.values()) for row in query(lake, f"select {columns} from rpt_judges")] == [
        ("b", "lave", "lave", "judge", f"call {A}", "read"),
        ("b", f"metric:call {M}", "acc", "metric", f"call {M}", ""),
        ("c", "lave", "lave", "judge", f"call {A}", "read"),
    ]
