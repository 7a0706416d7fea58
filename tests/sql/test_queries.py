"""The parametrised queries, as given and expected rows; how planning and reports use them is told in their own tests."""

import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tasks.lake import Lake, append_records
from tasks.reports.warehouse import keep_result, select_file, select_frame
from tests.lakes import (
    answer,
    at,
    caption,
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
    warehouse,
)

A, B, M = "a" * 16, "b" * 16, "c" * 16
CAT, DOG = item("i0", image="0.png"), item("i1", "Which animal?", ("dog", "puppy"))
WANTED: dict[str, object] = {
    "benchmarks": ["b"],
    "tasks": ["vqa"],
    "item_limit": None,
    "captioner": "",
    "criterion": "correctness",
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def run(
    lake: Lake, file: str, parameters: Mapping[str, object], wanted: Mapping[str, object] | None = None
) -> list[tuple[Any, ...]]:
    """The rows of one query; `wanted` fills the table of wanted cases first."""
    connection = warehouse(lake)
    if wanted is not None:
        keep_result(connection, "queries/wanted_cases.sql", "wanted_cases", wanted)
    return select_file(connection, f"queries/{file}.sql", parameters).rows()


def run_wanted(lake: Lake, columns: str = "benchmark, item_id, answer", **more: object) -> list[tuple[Any, ...]]:
    connection = warehouse(lake)
    keep_result(connection, "queries/wanted_cases.sql", "wanted_cases", {**WANTED, **more})
    return sorted(select_frame(connection, f"select {columns} from wanted_cases", "test").rows())


def test_every_view_and_query_has_a_test_that_names_it() -> None:
    """A file under sql/ for which no test gives and expects rows is listed here."""
    tests = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parents[1].rglob("test_*.py"))
    folders = [resources.files("sql").joinpath(folder) for folder in ("core", "reports", "queries")]
    files = [file.name.removesuffix(".sql") for folder in folders for file in folder.iterdir() if file.name.endswith(".sql")]
    assert [name for name in files if name not in tests] == []


# ---- wanted_cases


def test_wanted_are_the_contents_of_the_benchmarks_and_tasks(lake: Lake) -> None:
    items = [CAT, DOG, {**item("i2"), "task": "caption"}]
    answers = [
        answer("i0", "a cat"),
        answer("i0", "a cat", "m2"),
        answer("i0", "cat", "m3"),
        answer("i1", "dog"),
        answer("i2", "x"),
    ]
    ingest(lake, items, answers)
    ingest(lake, [CAT], [answer("i0", "a cat")], benchmark="c")
    assert run_wanted(lake) == [("b", "i0", "a cat"), ("b", "i0", "cat"), ("b", "i1", "dog")]
    assert run_wanted(lake, tasks=["caption"]) == [("b", "i2", "x")]
    assert run_wanted(lake, benchmarks=["c", "d"]) == [("c", "i0", "a cat")]
    assert run_wanted(lake, 'prompt, "references", content_digest, criterion, sample', benchmarks=["c"], criterion="fluency") == [
        ("What is it?", ["cat"], digest_of(CAT, "a cat"), "fluency", 0)
    ]


def test_a_limit_counts_items_by_key_within_each_benchmark(lake: Lake) -> None:
    for benchmark in ("b", "c"):
        ingest(lake, [DOG, CAT], [answer("i1", "y"), answer("i0", "x"), answer("i0", "z", "m2")], benchmark=benchmark)
    assert run_wanted(lake, benchmarks=["b", "c"], item_limit=1) == [
        ("b", "i0", "x"),
        ("b", "i0", "z"),
        ("c", "i0", "x"),
        ("c", "i0", "z"),
    ]


def test_a_caption_and_its_digest_come_from_the_captioner_asked_for(lake: Lake) -> None:
    captions = [caption("0.png", "b caption"), caption("0.png", "a caption"), caption("0.png", "0 robot", "robot")]
    ingest(lake, [CAT, DOG], [answer("i0", "x"), answer("i1", "y")], captions=captions)
    columns = "item_id, caption, context_digest"
    digest = hashlib.sha256(b"a caption").hexdigest()  # the first in alphabetical order of the captioner's two
    assert run_wanted(lake, columns, captioner="people") == [("i0", "a caption", digest), ("i1", None, "")]
    assert run_wanted(lake, columns) == [("i0", None, ""), ("i1", None, "")]


# ---- new_cases


def test_new_are_the_wanted_cases_that_the_lake_does_not_hold_as_current(lake: Lake) -> None:
    ingest(lake, [CAT, DOG], [answer("i0", "x"), answer("i1", "y")])
    wanted = {**WANTED, "captioner": ""}

    def find_new(judge_id: str = A) -> list[str]:
        return sorted(row[1] for row in run(lake, "new_cases", {"judge_id": judge_id}, wanted))

    assert find_new() == ["i0", "i1"]
    append_records(lake, "cases", [case_row(A, "i0", digest_of(CAT, "x")), case_row(A, "i1", digest_of(DOG, "an old answer"))])
    assert find_new() == ["i1"]
    assert find_new(B) == ["i0", "i1"]
    append_records(lake, "cases", [case_row(A, "i0", digest_of(CAT, "x"), context_digest="of a caption", planned_at=at(5))])
    assert find_new() == ["i0", "i1"]  # the context it had in between is current no more


# ---- pending_cases


def test_pending_are_the_wanted_cases_without_a_verdict_that_stands(lake: Lake) -> None:
    items = [item(f"i{number}", f"Q{9 - number}") for number in range(5)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in range(5)])
    digests = [digest_of(one, "x") for one in items]
    append_records(lake, "verdicts", [
        verdict_row(A, "i0", digests[0], 3), verdict_row(A, "i1", digests[1], None, status="failed"),
        verdict_row(A, "i2", digests[2], None, status="unparsed"), verdict_row(A, "i3", digests[3], 3, reading="r2"),
        verdict_row(B, "i4", digests[4], 3),
    ])  # fmt: skip

    def find_pending(*retry: str, reading: str = "r1") -> list[str]:
        parameters = {"judge_id": A, "reading": reading, "retry": list(retry)}
        return [row[1] for row in run(lake, "pending_cases", parameters, WANTED)]

    assert find_pending("failed") == ["i4", "i3", "i1"]  # by prompt: Q5, Q6, Q8
    assert find_pending("none") == ["i4", "i3"]
    assert find_pending("failed", "unparsed") == ["i4", "i3", "i2", "i1"]
    assert find_pending("none", reading="r2") == ["i4", "i2", "i1", "i0"]


def test_equal_requests_lie_side_by_side(lake: Lake) -> None:
    references = (("x", "y"), ("z",), ("y", "x"))
    items = [item(f"i{number}", references=references[number % 3]) for number in range(6)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in range(6)])
    ingest(lake, items, [answer("i0", "x"), answer("i1", "a")], benchmark="c")
    both = {**WANTED, "benchmarks": ["b", "c"]}
    rows = run(lake, "pending_cases", {"judge_id": A, "reading": "r1", "retry": []}, both)
    # the answer `a` first; then references {x, y} of both benchmarks, then {z}
    assert [f"{row[0]}{row[1]}" for row in rows] == ["ci1", "bi0", "bi2", "bi3", "bi5", "ci0", "bi1", "bi4"]


# ---- pending_scores


def test_a_score_is_pending_where_the_metric_has_none_for_the_content(lake: Lake) -> None:
    items = [item(f"i{number}") for number in range(4)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in reversed(range(4))])
    digest = digest_of(items[0], "x")  # the four items are alike but for their ids
    append_records(lake, "metric_scores", [
        score_row(M, "i0", digest, 1.0), score_row(M, "i1", digest, None), score_row(B, "i2", digest, 1.0),
        score_row(M, "i3", digest_of(items[3], "an old answer"), 1.0),
    ])  # fmt: skip
    assert [row[1] for row in run(lake, "pending_scores", {"judge_id": M}, WANTED)] == ["i2", "i3"]


# ---- scored_and_rated


def test_scores_meet_ratings_answer_by_answer(lake: Lake) -> None:
    items = [item("i0", cluster="z"), item("i1", cluster="y"), item("i2", cluster="x"), item("i3", cluster="w")]
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
    correctness = ("correctness", "correctness")
    # i1 was not read, i3 not rated; i0 has the samples 1 and 0.5, mean 0.75, and the ratings 1 and 0, mean 0.5.
    # Only i0 of m1 has more than one annotator, and so a row for each. The clusters that are left, x of i2 and z of i0, are 0 and 1.
    assert run(lake, "scored_and_rated", {"benchmark": "b"}) == [
        ("lave", *correctness, "each", "m1", 0.75, 1.0, 1),
        ("lave", *correctness, "each", "m1", 0.75, 0.0, 1),
        ("lave", *correctness, "mean", "m1", 0.75, 0.5, 1),
        ("lave", *correctness, "mean", "m1", 0.5, 1.0, 0),
        ("lave", *correctness, "mean", "m2", 0.0, 0.0, 1),
        ("lave", "correctness", "fluency", "mean", "m1", 0.75, 0.0, 1),
        (f"metric:call {M}", "overall", "correctness", "mean", "m1", 0.3, 1.0, 0),
    ]
    assert run(lake, "scored_and_rated", {"benchmark": "c"}) == []


# ---- thin_coverage


@pytest.mark.parametrize(
    ("least", "thin"), [(0.98, ["lave", "metric"]), (0.75, ["metric"]), (0.751, ["lave", "metric"]), (0.0, [])]
)
def test_judges_with_too_few_scores_are_told(lake: Lake, least: float, thin: list[str]) -> None:
    items = [item(f"i{number}") for number in range(4)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in range(4)])
    append_records(lake, "judges", [judge_row("lave", A), metric_row("acc", M), judge_row("other suite's", B, suite="t")])
    digest = digest_of(items[0], "x")
    append_records(lake, "cases", [case_row(judge, f"i{number}", digest) for judge in (A, B) for number in range(4)])
    append_records(lake, "verdicts", [verdict_row(A, f"i{number}", digest, 3 if number else None) for number in range(4)])
    parameters: dict[str, object] = {"ids": [f"{A}r1", f"{M}score"], "benchmarks": ["b"], "least": least}
    rows = run(lake, "thin_coverage", parameters)
    # LAVE has 3 of 4; the metric has none of 4
    assert [(row[1].partition(":")[0], row[2]) for row in rows] == [(name, 0.75 if name == "lave" else 0.0) for name in thin]
    assert run(lake, "thin_coverage", {**parameters, "benchmarks": ["c"]}) == []
    assert query(lake, "select count(*) as n from core_judges") == [{"n": 3}]
