"""Failure cases and modes (LAVE, Table 1 and Figure 4), as given and expected rows with the
arithmetic beside them.

What `core_failure_labels` joins is seen in the reports that count it; `failure_answers` is what the
rules are given (tests/reports).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judgelake.schemas.values import FAILURE_CATEGORIES
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import keep_wanted
from judgelake.tasks.types import Identity, Wants
from judgelake.tasks.warehouse.warehouse import select_frame
from tests.intervals import fit_share, odds_ends
from tests.lakes import (
    Row,
    at,
    case_row,
    judge_row,
    make_lake,
    metric_row,
    query,
    rating,
    score_row,
    verdict_row,
    warehouse,
)
from tests.sql.benches import Bench, rate

J, L, M, N = "a" * 16, "b" * 16, "c" * 16, "d" * 16
VQA = metric_row("acc", M, call_signature="vqa_accuracy|normalizer:official")
MISSED = (0.3, (1, 1, 1, 1, 0))
REVERSE = (1.0, (1, 0, 0, 0, 0))
OTHER = (1.0, (1, 1, 1, 1, 1))


def label(item_id: str, category: str, labeller: str = "ann", holds: bool = True) -> Row:
    return {
        "item_id": item_id,
        "answer_id": "m1",
        "category": category,
        "labeller": labeller,
        "holds": holds,
    }


def rule_row(
    item_id: str, digest: str, category: str, holds: bool, suite: str, minute: float = 5
) -> Row:
    row: Row = {
        "suite": suite,
        "item_id": item_id,
        "content_digest": digest,
        "labeller": "rules|version:1",
    }
    return {**row, "category": category, "holds": holds, "reported_at": at(minute)}


def give(
    bench: Bench,
    cases: Mapping[str, tuple[float, Sequence[float]]],
    metric: Row = VQA,
    **others: Any,
) -> dict[str, str]:
    """Answers of m1; cases: item -> (metric score, ratings). Returns their digests."""
    ratings = [row for name, (_, given) in cases.items() for row in rate(name, *given)]
    digests = {
        name: digest
        for (name, _), digest in bench.answer_items([*cases], ratings=ratings, **others).items()
    }
    bench.register(metric)
    bench.put(
        "metric_scores",
        *(score_row(metric["judge_id"], name, digests[name], cases[name][0]) for name in cases),
    )
    return digests


def modes(bench: Bench) -> list[tuple[Any, ...]]:
    return bench.rows(
        "case_kind, labelled_by, labeller, category, n_holds, n, share, low, high",
        "rpt_failure_modes",
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One row in every table that is read, so that one warehouse serves all tests."""
    first = Bench(make_lake(tmp_path_factory.mktemp("failures")), "first")
    about: Row = {"item_id": "A.1", "label": "odd", "labeller": "ann", "holds": True}
    digest = give(
        first, {"A.1": MISSED}, failure_labels=[label("A.1", "unknown")], item_labels=[about]
    )["A.1"]
    first.put("cases", case_row(J, "A.1", digest))
    first.put("verdicts", verdict_row(J, "A.1", digest, 3))
    first.put("rule_labels", rule_row("A.1", digest, "unknown", True, "first"))
    return first.lake


@pytest.fixture
def bench(lake: Lake, tmp_path: Path) -> Bench:
    return Bench.beside(lake, tmp_path)


# ---- core_failure_cases, rpt_failure_cases


def test_cases_are_where_people_and_the_metric_differ_by_lave_s_thresholds(bench: Bench) -> None:
    given = {
        "missed": (0.3, (1, 1, 1, 1, 0)),
        "missed zero": (0.0, (1, 1, 1, 1, 1)),
        "three of five": (0.3, (1, 1, 1, 0, 0)),
        "half": (0.5, (1, 1, 1, 1, 1)),
        "reverse": (0.6, (1, 0, 0, 0, 0)),
        "reverse none": (1.0, (0, 0, 0, 0, 0)),
        "two of five": (1.0, (1, 1, 0, 0, 0)),
        "half wrong": (0.5, (0, 0, 0, 0, 0)),
        "nobody": (0.0, ()),
    }
    give(bench, given)
    found = dict(bench.rows("item_id, case_kind", "core_failure_cases"))
    assert {name for name, kind in found.items() if kind == "missed"} == {"missed", "missed zero"}
    assert {name for name, kind in found.items() if kind == "reverse"} == {
        "reverse",
        "reverse none",
    }
    assert set(found) == set(given) - {"nobody"}


def test_only_ratings_of_correctness_and_scores_that_are_there_count(bench: Bench) -> None:
    ratings = [rating("a.1", 1.0, criterion="fluency"), rating("b.1", 1.0)]
    digests = bench.answer_items(["a.1", "b.1"], ratings=ratings)
    bench.register(VQA)
    bench.put(
        "metric_scores",
        *(
            score_row(M, name, digests[name, "m1"], score)
            for name, score in (("a.1", 0.0), ("b.1", None))
        ),
    )
    assert bench.rows("*", "core_failure_cases") == []


def test_vqa_accuracy_comes_before_exact_match_and_nothing_else_counts(bench: Bench) -> None:
    exact = metric_row("exact", N, call_signature="exact_match|x")
    raw = metric_row("raw", L, call_signature="vqa_accuracy_raw|x")
    digest = give(bench, {"a.1": MISSED}, metric=raw)["a.1"]
    assert bench.rows("*", "core_failure_cases") == []
    bench.register(raw, exact, minute=2)
    bench.put("metric_scores", score_row(N, "a.1", digest, 0.0))
    assert bench.rows("metric, metric_score", "core_failure_cases") == [("exact", 0.0)]
    bench.register(raw, exact, VQA, minute=3)
    bench.put("metric_scores", score_row(M, "a.1", digest, 0.3))
    assert bench.rows("metric, metric_score", "core_failure_cases") == [("acc", 0.3)]


def test_a_recorded_vqa_accuracy_comes_before_exact_match(bench: Bench) -> None:
    recorded: Row = {"item_id": "a.1", "answer_id": "m1", "metric": "vqa_accuracy", "score": 0.3}
    give(
        bench,
        {"a.1": MISSED},
        metric=metric_row("exact", N, call_signature="exact_match|x"),
        recorded_scores=[recorded],
    )
    assert bench.rows("metric, metric_score", "core_failure_cases") == [("vqa_accuracy", 0.3)]


def test_shares_of_cases_by_model(bench: Bench) -> None:
    kinds = {
        ("a.1", "m1"): MISSED,
        ("a.1", "m2"): OTHER,
        ("b.1", "m1"): REVERSE,
        ("c.1", "m1"): MISSED,
        ("c.1", "m2"): MISSED,
    }
    ratings = [
        row
        for (name, model), (_, given) in kinds.items()
        for row in rate(name, *given, model=model)
    ]
    digests = bench.answer_items(["a.1", "b.1", "c.1"], ["x", "y"], ratings=ratings)
    bench.register(VQA)
    bench.put(
        "metric_scores",
        *(score_row(M, key[0], digests[key], score) for key, (score, _) in kinds.items()),
    )
    assert bench.rows("model, case_kind, n_cases, n, share", "rpt_failure_cases") == [
        ("*", "missed", 3, 5, 0.6), ("m1", "missed", 2, 3, pytest.approx(2 / 3)), ("m2", "missed", 1, 2, 0.5),
        ("*", "reverse", 1, 5, 0.2), ("m1", "reverse", 1, 3, pytest.approx(1 / 3)), ("m2", "reverse", 0, 2, 0.0),
    ]  # fmt: skip


def test_a_labelling_judge_is_wanted_for_failures_alone(bench: Bench) -> None:
    """wanted_failures."""
    give(bench, {"a.1": MISSED, "b.1": REVERSE, "c.1": OTHER})
    assert wanted(bench, Wants(("vqa",), failures=True)) == ["a.1", "b.1"]
    assert wanted(bench, Wants(("vqa",))) == ["a.1", "b.1", "c.1"]


def wanted(bench: Bench, wants: Wants) -> list[str]:
    connection = warehouse(bench.lake)
    keep_wanted(
        connection,
        Identity("labeller", "j", J, "r1", "call", "read", (bench.name,), wants),
        "s",
        [bench.name],
        None,
    )
    return sorted(select_frame(connection, "select item_id from wanted_cases", "test")["item_id"])


# ---- rpt_failure_modes


def test_shares_are_of_the_examples_that_a_labeller_labelled_and_several_may_hold(
    bench: Bench,
) -> None:
    labels = [
        label("A.1", "synonym"), label("A.1", "same_stem"), label("A.2", "synonym"), label("B.1", "unknown", holds=False),
        label("C.1", "multiple_answers"), label("R.1", "incorrect"), label("O.1", "synonym"), label("A.1", "unknown", "bob"),
    ]  # fmt: skip
    missed = dict.fromkeys(("A.1", "A.2", "B.1", "C.1", "D.1"), MISSED)
    give(bench, missed | {"R.1": REVERSE, "O.1": OTHER}, failure_labels=labels)
    # ann labelled the missed examples A.1, A.2, B.1, C.1: n = 4, in the clusters A (2), B and C (1
    # each).
    synonym, several, stem = (
        [*map(pytest.approx, odds_ends(fit_share(holds, "AABC")))]
        for holds in ([1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0])
    )
    # unknown of none: with 16 / 6 effective clusters of 2, 1 and 1 rows a share of 1 - .025^(6/16)
    # could have been missed
    none_of_four = pytest.approx(1 - 0.025 ** (6 / 16))
    found = modes(bench)
    assert [row for row in found if row[4]] == [
        ("missed", "imported", "ann", "synonym", 2, 4, 0.5, *synonym),
        ("missed", "imported", "ann", "multiple_answers", 1, 4, 0.25, *several),
        ("missed", "imported", "ann", "same_stem", 1, 4, 0.25, *stem),
        ("missed", "imported", "bob", "unknown", 1, 1, 1.0, None, None),
        ("reverse", "imported", "ann", "incorrect", 1, 1, 1.0, None, None),
    ]
    # ann says yes or no, so what ann never labels was not asked; bob names what holds, of all nine
    never = [row[:1] + row[2:] for row in found if not row[4]]
    assert never == [
        ("missed", "ann", "incorrect", 0, 4, 0.0, 0.0, none_of_four),
        ("missed", "ann", "unknown", 0, 4, 0.0, 0.0, none_of_four),
        *(
            ("missed", "bob", name, 0, 1, 0.0, None, None)
            for name in sorted({*FAILURE_CATEGORIES} - {"unknown"})
        ),
        *(
            ("reverse", "ann", name, 0, 1, 0.0, None, None)
            for name in ("multiple_answers", "same_stem", "synonym", "unknown")
        ),
    ]


def test_shares_are_pooled_over_models_and_benchmarks(bench: Bench) -> None:
    """LAVE's Table 1 is of four pairs of a model and a data set, all pooled."""
    held: dict[tuple[str, str, str], list[str]] = {
        ("own", "A.1", "m1"): ["synonym"],
        ("own", "A.2", "m2"): ["synonym", "hypernym"],
        ("own", "B.1", "m1"): ["same_stem"],
        ("own", "C.1", "m2"): ["synonym"],
        ("other", "A.1", "m1"): ["hypernym"],
        ("other", "D.1", "m1"): ["synonym"],
    }
    for one in (bench, Bench(bench.lake, "other")):
        cases = {key[1:]: given for key, given in held.items() if key[0] == one.name}
        names = {name for name, _ in cases}
        digests = answer_and_label(one, names, cases)
        one.register(VQA)
        one.put("metric_scores", *(score_row(M, key[0], digests[key], 0.0) for key in cases))
    expected = pool_modes(held)
    found = query(
        bench.lake,
        "select benchmark, model, category, n_holds, n, share, low, high from rpt_failure_modes "
        "where labeller = 'eve'",
    )
    assert {tuple(row.values())[:3]: tuple(row.values())[3:] for row in found} == expected
    assert len(found) == len(expected) == 7 * len(FAILURE_CATEGORIES)
    table = query(
        bench.lake,
        """
        pivot (
            select category, model, share from rpt_failure_modes
            where labeller = 'eve' and benchmark = '*'
        )
        on model using first(share) group by category
        """,
    )
    assert {row["category"] for row in table} == {*FAILURE_CATEGORIES}
    for row in table:
        for model in ("m1", "m2", "*"):
            assert row[model] == pytest.approx(expected["*", model, row["category"]][2])
    assert 0.0 in [row["*"] for row in table]  # a category that never held keeps its row


def answer_and_label(
    bench: Bench, names: Iterable[str], cases: Mapping[tuple[str, str], Sequence[str]]
) -> dict[tuple[str, str], str]:
    """Answers of m1 and m2 to all items; those of `cases` are rated right and labelled by eve."""
    return bench.answer_items(
        sorted(names),
        ("m1 says", "m2 says"),
        ratings=[rating(name, 1.0, answer_id=model) for name, model in cases],
        failure_labels=[
            label(name, category, "eve") | {"answer_id": model}
            for (name, model), held in cases.items()
            for category in held
        ],
    )


def pool_modes(
    held: Mapping[tuple[str, str, str], Sequence[str]],
) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    """(benchmark, model, category) -> n_holds, n, share and interval, over (benchmark, item,
    model) -> what holds; `other` has one model, so no row of a model.
    """
    scopes = [(b, m) for b in ("own", "*") for m in ("m1", "m2", "*")] + [("other", "*")]
    expected = {}
    for of_benchmark, of_model in scopes:
        rows = [
            (f"{benchmark} {name[0]}", given)
            for (benchmark, name, model), given in held.items()
            if of_benchmark in ("*", benchmark) and of_model in ("*", model)
        ]
        clusters = [cluster for cluster, _ in rows]
        sizes = np.unique(clusters, return_counts=True)[1]
        effective = sizes.sum() ** 2 / (sizes**2).sum()
        for category in FAILURE_CATEGORIES:
            holds = [float(category in given) for _, given in rows]
            share = sum(holds) / len(holds)
            ends: tuple[Any, Any] = (None, None)
            if len(sizes) >= 3:
                ends = (
                    odds_ends(fit_share(holds, clusters))
                    if share
                    else (0.0, 1 - 0.025 ** (1 / effective))
                )
            approximate = [end if end is None else pytest.approx(end, rel=1e-6) for end in ends]
            expected[of_benchmark, of_model, category] = (
                int(sum(holds)),
                len(holds),
                pytest.approx(share),
                *approximate,
            )
    return expected


def judge_labels(bench: Bench, item_id: str, digest: str, holding: Sequence[str] | None) -> None:
    """A labelling judge's verdicts on all nine categories; None is a reply that could not be
    read.
    """
    bench.put(
        "cases", *(case_row(L, item_id, digest, criterion=name) for name in FAILURE_CATEGORIES)
    )
    given = {
        name: None if holding is None else 2 * (name in holding) + 1 for name in FAILURE_CATEGORIES
    }
    bench.put(
        "verdicts",
        *(verdict_row(L, item_id, digest, found, criterion=name) for name, found in given.items()),
    )


def test_a_labelling_judge_labels_examples_and_scores_nothing(bench: Bench) -> None:
    digests = give(bench, {f"{letter}.1": MISSED for letter in "ABCD"})
    bench.register(VQA, judge_row("why", L, kind="labeller"), minute=5)
    judge_labels(bench, "A.1", digests["A.1"], ("synonym", "hypernym"))
    judge_labels(bench, "B.1", digests["B.1"], ())
    judge_labels(bench, "C.1", digests["C.1"], None)
    bench.put(
        "cases",
        *(case_row(L, "D.1", digests["D.1"], criterion=name) for name in FAILURE_CATEGORIES),
    )
    found = modes(bench)
    assert {row[3]: row[4:7] for row in found} == {
        name: (1, 2, 0.5) if name in ("synonym", "hypernym") else (0, 2, 0.0)
        for name in FAILURE_CATEGORIES
    }
    assert {row[:3] for row in found} == {("missed", "judge", "why")}
    assert {name for (name,) in bench.rows("alias", "core_scores")} == {"acc"}
    coverage = {
        row[1:] for row in bench.rows("judge, status, n", "rpt_coverage") if row[0] == "why"
    }
    assert coverage == {("not_asked", 9), ("ok", 18), ("unparsed", 9)}


def test_labels_by_rule_belong_to_contents_that_are_current_and_count_once_for_several_suites(
    bench: Bench,
) -> None:
    digests = give(bench, {"A.1": MISSED, "B.1": MISSED})
    one, other = f"{bench.name}-1", f"{bench.name}-2"
    labels = [
        rule_row("A.1", digests["A.1"], "unknown", True, one),
        rule_row("B.1", digests["B.1"], "unknown", False, one),
    ]
    labels += [
        rule_row("A.1", digests["A.1"], "unknown", True, other),
        rule_row("A.1", "0" * 16, "synonym", True, other),
    ]
    bench.put(
        "rule_labels", *labels, rule_row("A.1", digests["A.1"], "same_stem", True, one, minute=4)
    )  # of an earlier report
    assert [row[1:7] for row in modes(bench)] == [
        ("rules", "rules|version:1", "unknown", 1, 2, 0.5)
    ]


# ---- rpt_failure_scores


def test_mean_scores_by_category_of_every_judge_and_metric(bench: Bench) -> None:
    cases = {"A.1": MISSED, "A.2": (0.0, (1,)), "B.1": MISSED, "C.1": OTHER}
    labels = [label("A.1", "synonym"), label("A.2", "synonym"), label("B.1", "synonym"), label("B.1", "hypernym"),
              label("A.1", "hypernym", holds=False), label("C.1", "synonym")]  # fmt: skip
    digests = give(bench, cases, failure_labels=labels)
    bench.register(VQA, judge_row("lave", J), minute=5)
    for name, found in (("A.1", 3), ("A.2", 2), ("B.1", None), ("C.1", 1)):
        bench.put("cases", *(case_row(J, name, digests[name], sample=sample) for sample in (0, 1)))
        bench.put(
            "verdicts",
            *(verdict_row(J, name, digests[name], found, sample=sample) for sample in (0, 1)),
        )
    columns = "category, metric, criterion, n, n_missing, mean, low, high"
    scores = {row[:2]: row[2:] for row in bench.rows(columns, "rpt_failure_scores")}
    assert set(scores) == {
        (category, metric)
        for category in ("*", "synonym", "hypernym")
        for metric in ("acc", "lave")
    }
    # lave on synonyms: A.1 1, A.2 0.5, B.1 missing; one cluster: no interval
    assert scores["synonym", "lave"] == ("correctness", 2, 1, 0.75, None, None)
    assert scores["hypernym", "lave"] == ("correctness", 0, 1, None, None, None)
    # acc: 0.3 and 0.0 in A, 0.3 in B
    expected = ("overall", 3, 0, pytest.approx(0.2), None, None)
    reasons = bench.rows("distinct reason", "rpt_failure_scores")
    assert reasons == [("fewer than 3 clusters",)]
    assert scores["synonym", "acc"] == scores["*", "acc"] == expected


# ---- rpt_failure_examples


def test_the_rows_behind_the_numbers(bench: Bench) -> None:
    about: list[Row] = [
        {"item_id": "A.1", "label": "ground truth is wrong", "labeller": who, "holds": holds}
        for who, holds in (("p", True), ("q", True), ("r", False))
    ]
    labels = [
        label("A.1", "synonym"),
        label("A.1", "same_stem"),
        label("A.1", "unknown", "bob", holds=False),
    ]
    give(
        bench,
        {"A.1": MISSED, "B.1": REVERSE, "C.1": OTHER},
        failure_labels=labels,
        item_labels=about,
    )
    assert bench.rows(
        "item_id, case_kind, labeller, categories, item_labels", "rpt_failure_examples"
    ) == [
        ("A.1", "missed", "ann", ["same_stem", "synonym"], ["ground truth is wrong"]),
        ("A.1", "missed", "bob", [], ["ground truth is wrong"]),
        ("B.1", "reverse", None, None, None),
    ]
    columns = """prompt, "references", answer, metric, metric_score, human_score, scores"""
    scores = [{"metric": "acc", "criterion": "overall", "score": 0.3}]
    assert bench.rows(columns, "rpt_failure_examples")[0] == (
        "Q A.1",
        ["cat"],
        "m1 says",
        "acc",
        0.3,
        0.8,
        scores,
    )


def test_an_empty_lake_has_no_failures(tmp_path: Path) -> None:
    empty = make_lake(tmp_path)
    assert [
        query(empty, f"select * from rpt_failure_{view}")
        for view in ("cases", "modes", "scores", "examples")
    ] == [[]] * 4
