"""The parametrised queries, as given and expected rows; how planning and reports use them is tested
in their own tests.
"""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse.warehouse import read_sql, select_file
from tests.lakes import (
    answer,
    append_records,
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
    warehouse_for,
)

A, B, M = "a" * 16, "b" * 16, "c" * 16
CAT, DOG = item("i0", image="0.png"), item("i1", "Which animal?", ("dog", "puppy"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def run(lake: Lake, file: str, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
    connection = warehouse_for(lake, read_sql(f"queries/{file}.sql"))
    return select_file(connection, f"queries/{file}.sql", parameters).rows()


def test_every_view_and_query_has_a_test_that_names_it() -> None:
    """A file under sql/ for which no test gives and expects rows is listed here."""
    tests = "".join(
        file.read_text(encoding="utf-8") for file in Path(__file__).parents[1].rglob("test_*.py")
    )
    folders = [
        resources.files("sql").joinpath(folder)
        for folder in ("core", "reports", "queries", "adhoc", "checks", "functions")
    ]
    files = [
        file.name.removesuffix(".sql")
        for folder in folders
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    assert [name for name in files if name not in tests] == []


# ---- judge_samples, human_targets


def test_scores_meet_ratings_answer_by_answer(lake: Lake) -> None:
    items = [
        item("i0", cluster="z"),
        item("i1", cluster="y"),
        item("i2", cluster="x"),
        item("i3", cluster="w"),
    ]
    answers = [answer(f"i{number}", "x") for number in range(4)] + [answer("i0", "y", "m2")]
    ratings = [
        rating("i0", 1.0),
        rating("i0", 0.0, "p2"),
        rating("i1", 1.0),
        rating("i2", 1.0),
        rating("i0", 0.0, answer_id="m2"),
    ]
    ratings += [rating("i0", 0.0, criterion="fluency")]
    ingest(lake, items, answers, ratings)
    append_records(lake, "judges", [judge_row("lave", A), metric_row("acc", M)])
    digest, other = digest_of(items[0], "x"), digest_of(items[0], "y")
    append_records(lake, "cases", [case_row(A, f"i{number}", digest) for number in range(4)])
    append_records(lake, "cases", [case_row(A, "i0", digest, sample=1), case_row(A, "i0", other)])
    append_records(lake, "verdicts", [
        verdict_row(A, "i0", digest, 3), verdict_row(A, "i0", digest, 2, sample=1), verdict_row(A, "i0", other, 1),
        verdict_row(A, "i1", digest, None), verdict_row(A, "i2", digest, 2), verdict_row(A, "i3", digest, 3),
    ])  # fmt: skip
    append_records(lake, "metric_scores", [score_row(M, "i2", digest, 0.3)])
    about = {"benchmark": "b", "against": "human"}
    lave = ("lave", "lave", "judge", "correctness")
    # i3 was not rated; i1 was not read, and y's second sample was not wanted
    assert run(lake, "judge_samples", about)[:6] == [
        (*lave, 0, "i0", "m1", "m1", "z", 1.0),
        (*lave, 0, "i0", "m2", "m2", "z", 0.0),
        (*lave, 0, "i1", "m1", "m1", "y", None),
        (*lave, 0, "i2", "m1", "m1", "x", 0.5),
        (*lave, 1, "i0", "m1", "m1", "z", 0.5),
        (f"metric:call {M}", "acc", "metric", "overall", 0, "i0", "m1", "m1", "z", None),
    ]
    assert {row[5] for row in run(lake, "judge_samples", about)} == {"i0", "i1", "i2"}
    assert {row[5] for row in run(lake, "judge_samples", {**about, "against": "lave"})} == {
        "i0",
        "i1",
        "i2",
        "i3",
    }
    # Only i0 of m1 has more than one annotator, and so a row for each; its mean is that of 1 and 0.
    few = {"most_annotators": 20, "least_rated": 3}
    assert run(lake, "human_targets", {"benchmark": "b", **few}) == [
        ("correctness", "annotator:p1", "i0", "m1", "p1", 1.0),  # p2 rated one answer, too few
        ("correctness", "annotator:p1", "i0", "m2", "p1", 0.0),
        ("correctness", "annotator:p1", "i1", "m1", "p1", 1.0),
        ("correctness", "annotator:p1", "i2", "m1", "p1", 1.0),
        ("correctness", "each", "i0", "m1", "p1", 1.0),
        ("correctness", "each", "i0", "m1", "p2", 0.0),
        ("correctness", "mean", "i0", "m1", None, 0.5),
        ("correctness", "mean", "i0", "m2", None, 0.0),
        ("correctness", "mean", "i1", "m1", None, 1.0),
        ("correctness", "mean", "i2", "m1", None, 1.0),
        ("fluency", "mean", "i0", "m1", None, 0.0),
    ]
    assert (
        run(lake, "judge_samples", {**about, "benchmark": "c"})
        == run(lake, "human_targets", {"benchmark": "c", **few})
        == []
    )


# ---- thin_coverage


def test_judges_with_too_few_scores_are_listed(lake: Lake) -> None:
    """LAVE has 3 of 4; the metric has none of 4."""
    items = [item(f"i{number}") for number in range(4)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in range(4)])
    append_records(
        lake,
        "judges",
        [judge_row("lave", A), metric_row("acc", M), judge_row("other suite's", B, suite="t")],
    )
    digest = digest_of(items[0], "x")
    append_records(
        lake,
        "cases",
        [case_row(judge, f"i{number}", digest) for judge in (A, B) for number in range(4)],
    )
    append_records(
        lake,
        "verdicts",
        [verdict_row(A, f"i{number}", digest, 3 if number else None) for number in range(4)],
    )
    asked: dict[str, object] = {"ids": [f"{A}r1", f"{M}score"], "benchmarks": ["b"]}
    shares = {"lave": 0.75, "metric": 0.0}
    for least, thin in (
        (0.98, ["lave", "metric"]),
        (0.75, ["metric"]),
        (0.751, ["lave", "metric"]),
        (0.0, []),
    ):
        rows = run(lake, "thin_coverage", {**asked, "least": least})
        assert [(row[1].partition(":")[0], row[2]) for row in rows] == [
            (name, shares[name]) for name in thin
        ], least
        elsewhere = {**asked, "least": least, "benchmarks": ["c"]}
        assert run(lake, "thin_coverage", elsewhere) == []
    assert query(lake, "select count(*) as n from core_judges") == [{"n": 3}]


# ---- failure_reason


def test_why_most_of_a_judges_verdicts_failed(lake: Lake) -> None:
    items = [item(f"i{number}") for number in range(5)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in range(5)])
    append_records(lake, "judges", [judge_row("lave", A), judge_row("other", B)])
    digest = digest_of(items[0], "x")
    append_records(
        lake,
        "cases",
        [case_row(judge, f"i{number}", digest) for judge in (A, B) for number in range(5)],
    )
    given = enumerate(("500 boom", "500 boom", "no route", None))
    failed = [
        verdict_row(
            A, f"i{number}", digest, None, status="failed" if why else "unparsed", reason=why or "?"
        )
        for number, why in given
    ]
    append_records(lake, "verdicts", failed)
    (judge,) = [
        row["judge"] for row in query(lake, "select judge from core_judges where alias = 'lave'")
    ]
    assert run(lake, "failure_reason", {"benchmark": "b", "judge": judge}) == [(3, "500 boom")]
    assert run(lake, "failure_reason", {"benchmark": "b", "judge": "other"}) == [(0, None)]
