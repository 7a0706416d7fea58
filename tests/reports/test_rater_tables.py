"""Contradictions and grader accuracy in a report, by hand; and that building a report writes and
shows every table about raters.
"""

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.reports.rankings import compare_with_attributes, count_contradictions
from judgelake.tasks.stats.contradictions import build_graphs, find_contradictions
from judgelake.tasks.stats.resampling import key_clusters
from judgelake.tasks.suite.suite import ReportSettings
from judgelake.tasks.warehouse.warehouse import select_file
from tests.intervals import fit_share, odds_ends
from tests.lakes import (
    Row,
    answer,
    append_records,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    make_suite,
    query,
    rating,
    verdict_row,
    warehouse,
)
from tests.reports.rater_rows import JUDGE, give_preferences
from tests.reports.test_correlating import recorded

SUITE = make_suite(report=ReportSettings(resamples=100, seed=0))
CIRCLE = {("m1", "m2"): "a", ("m2", "m3"): "a", ("m1", "m3"): "b"}
ORDER = {("m1", "m2"): "a", ("m2", "m3"): "a", ("m1", "m3"): "a"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def give_circles(lake: Lake, circles: int, questions: int) -> None:
    give_preferences(lake, {
        (n, a, b, "p1"): choice for n in range(questions) for (a, b), choice in (CIRCLE if n < circles else ORDER).items()
    })  # fmt: skip


def test_circles_are_counted_beside_coin_flips(lake: Lake) -> None:
    give_circles(lake, 3, 12)
    (row,) = count_contradictions(warehouse(lake), SUITE).to_dicts()
    names = (
        "rater",
        "criterion",
        "n_questions",
        "n_clusters",
        "n_contradictory",
        "share",
        "n_simulated",
        "n_undefined",
    )
    assert [row[name] for name in names] == ["human", "overall", 12, 12, 3, 0.25, 0, 0]
    # Of the 2^3 ways to decide three pairs two are circles.
    assert row["coin_flip_share"] == pytest.approx(0.25)
    assert 0 <= row["low"] < 0.25 < row["high"] < 1


def test_a_tie_breaks_the_circle(lake: Lake) -> None:
    give_preferences(
        lake, {(0, a, b, "p1"): "tie" if a == "m2" else choice for (a, b), choice in CIRCLE.items()}
    )
    (row,) = count_contradictions(warehouse(lake), SUITE).to_dicts()
    assert (row["n_questions"], row["n_contradictory"], row["share"], row["low"]) == (1, 0, 0, None)


def test_two_models_cannot_contradict_themselves(lake: Lake) -> None:
    give_preferences(lake, {(n, "m1", "m2", "p1"): "a" for n in range(3)})
    assert count_contradictions(warehouse(lake), SUITE).is_empty()


def test_models_compared_with_one_reference_cannot_contradict_themselves(lake: Lake) -> None:
    give_preferences(
        lake, {(n, "m1", other, "p1"): "a" for n in range(3) for other in ("m2", "m3", "m4")}
    )
    assert count_contradictions(warehouse(lake), SUITE).is_empty()


def test_comparisons_name_their_question_and_side(lake: Lake) -> None:
    """The query comparisons: two annotators have rows of their own and together; of more than are
    asked for, those with most rows.
    """
    chosen = {(0, "m1", "m2", "p1"): "a", (0, "m1", "m2", "p2"): "tie", (1, "m1", "m2", "p1"): None}
    give_preferences(lake, chosen, {0: "dog"})
    rows = select_file(
        warehouse(lake), "queries/comparisons.sql", {"benchmark": "b", "most_annotators": 1}
    ).rows()
    first, second = key_clusters(["b/i000", "b/i001"]).tolist()
    assert rows == [
        ("human", "overall", "i000", "dog", "m1", "m2", 0.0, 0.0, True, 0, first),
        ("human", "overall", "i000", "dog", "m1", "m2", 0.5, 0.5, True, 0, first),
        ("human", "overall", "i001", "", "m1", "m2", None, None, True, 1, second),
        ("human:p1", "overall", "i000", "dog", "m1", "m2", 0.0, 0.0, True, 0, first),
        ("human:p1", "overall", "i001", "", "m1", "m2", None, None, True, 1, second),
    ]


def give_grades(lake: Lake, graded: list[int], human: list[list[float]]) -> None:
    """A grader's 1 or 0 and the annotators' of each answer; every answer is its own cluster."""
    items = [item(f"i{n}", f"Q{n}") for n in range(len(graded))]
    ratings = [
        rating(f"i{n}", value, f"p{p}")
        for n, values in enumerate(human)
        for p, value in enumerate(values)
    ]
    ingest(lake, items, [answer(row["item_id"], "x") for row in items], ratings)
    append_records(lake, "judges", [judge_row("grader", JUDGE)])
    digests = [digest_of(row, "x") for row in items]
    append_records(
        lake, "cases", [case_row(JUDGE, f"i{n}", digest) for n, digest in enumerate(digests)]
    )
    rows = [
        {**verdict_row(JUDGE, f"i{n}", digest, 1 + 2 * graded[n]), "rating": graded[n]}
        for n, digest in enumerate(digests)
    ]
    append_records(lake, "verdicts", rows)


def test_a_grader_is_held_to_people_s_marks(lake: Lake) -> None:
    # True and false positives and negatives: 3, 1, 2, 2 of eight; the ninth is in dispute.
    graded = [1, 1, 1, 1, 0, 0, 0, 0, 1]
    give_grades(lake, graded, [[1, 1], [1], [1], [0], [0, 0], [0], [1], [1], [1, 0]])
    (row,) = query(lake, "select * from rpt_grader_accuracy")
    names = (
        "judge",
        "n",
        "n_left_out",
        "n_clusters",
        "true_positives",
        "false_positives",
        "true_negatives",
        "false_negatives",
    )
    assert [row[name] for name in names] == ["grader", 8, 1, 8, 3, 1, 2, 2]
    shares: Row = {"accuracy": 5 / 8, "false_positive_rate": 1 / 3, "false_negative_rate": 2 / 5}
    assert {name: row[name] for name in shares} == pytest.approx(shares)
    assert row["accuracy_low"] < 5 / 8 < row["accuracy_high"]


def test_a_judge_of_half_marks_is_no_grader(lake: Lake) -> None:
    give_grades(lake, [1, 0], [[1], [0]])
    append_records(
        lake, "verdicts", [verdict_row(JUDGE, "i0", digest_of(item("i0", "Q0"), "x"), 2, minute=9)]
    )
    assert query(lake, "select * from rpt_grader_accuracy") == []


def test_a_report_writes_every_table_about_raters_and_shows_it(lake: Lake) -> None:
    give_circles(lake, 3, 12)
    page = build_report(lake, SUITE).read_text(encoding="utf-8")
    assert query(lake, "select rater, n_questions, n_contradictory from rpt_contradictions") == [
        {"rater": "human", "n_questions": 12, "n_contradictory": 3}
    ]
    assert query(
        lake, "select method, count(*) as n from rpt_rankings group by method order by method"
    ) == [
        {"method": "bradley_terry", "n": 3},
        {"method": "elo", "n": 3},
    ]
    for title in ("Ratings of models", "Contradictions"):
        assert title in page
    assert "Graders of right and wrong" not in page  # nobody graded


@pytest.mark.usefixtures("bare_reports")
def test_grades_are_shown(lake: Lake) -> None:
    give_grades(lake, [1, 1, 0, 0], [[1, 1], [0, 0], [0, 0], [1, 1]])
    page = build_report(lake, SUITE).read_text(encoding="utf-8")
    assert query(lake, "select judge, n, accuracy from rpt_grader_accuracy") == [
        {"judge": "grader", "n": 4, "accuracy": 0.5}
    ]
    for title in ("Graders of right and wrong", "Agreement beyond chance"):
        assert title in page
    found = query(
        lake,
        "select rater_a, rater_b, kappa from rpt_kappas where rater_b = 'human:p0' order by all",
    )
    assert found == [{"rater_a": "grader", "rater_b": "human:p0", "kappa": 0.0}]


def model_row(model: str, size: float, loss: float | None) -> Row:
    row: Row = {
        "model": model,
        "family": None,
        "llm_parameters_b": size,
        "vision_encoder_parameters_b": None,
    }
    return {**row, "training_loss": loss}


def test_agreement_with_size_and_loss_by_hand(lake: Lake) -> None:
    # m3 is the largest, then m2: m3 wins three of four from m1, m2 wins one from m1 and ties one.
    chosen = {(n, "m1", "m3", "p1"): "b" if n else "a" for n in range(4)}
    chosen |= {(0, "m1", "m2", "p1"): "b", (1, "m2", "m1", "p1"): "tie"}
    models = [model_row("m1", 1.0, 2.0), model_row("m2", 3.0, None), model_row("m3", 7.0, 1.5)]
    give_preferences(lake, chosen, models=models)
    found = {
        row["attribute"]: row for row in compare_with_attributes(warehouse(lake), SUITE).to_dicts()
    }
    assert set(found) == {"llm_parameters_b", "training_loss"}
    # By size 3 of 4, 1 and a half: 4.5 of 6. The loss of m2 is unknown, and m3's the lower: 3 of 4.
    size, loss = found["llm_parameters_b"], found["training_loss"]
    assert (size["rater"], size["prefers"], size["n"], size["n_ties"], size["agreement"]) == (
        "human",
        "more",
        6,
        1,
        0.75,
    )
    assert (loss["prefers"], loss["n"], loss["n_ties"], loss["agreement"], loss["n_models"]) == (
        "less",
        4,
        0,
        0.75,
        2,
    )
    assert (size["n_models"], size["n_clusters"], size["n_undefined"]) == (3, 4, 0)
    # Two models' ratings and losses lie on one line; three have no bias-corrected coefficient.
    assert loss["distance_correlation"] == pytest.approx(1)
    assert (size["bias_corrected"], size["p_value"]) == (None, None)
    frame = select_file(warehouse(lake), "queries/attribute_comparisons.sql", {"benchmark": "b"})
    assert frame.filter(pl.col("attribute") == "training_loss").rows() == [
        ("human", "overall", "training_loss", "", "m1", "m3", 2.0, 1.5, float(n > 0), key)
        for n, key in enumerate(key_clusters(f"b/i{n:03}" for n in range(4)).tolist())
    ]
    append_rows(lake, "attribute_agreement", compare_with_attributes(warehouse(lake), SUITE))
    rows = query(lake, "select attribute, agreement from rpt_attribute_agreement")
    assert [tuple(row.values()) for row in rows] == [
        ("llm_parameters_b", 0.75),
        ("training_loss", 0.75),
    ]


def test_scaled_average_of_published_scores(lake: Lake) -> None:
    """rpt_scaled_average: scores between the least and the most of each benchmark; one that
    separates nobody is left out.
    """
    given = {"vqa": (40, 60, 80), "gqa": (5, 10, 9), "flat": (1, 1, 1), "rare": (0, 4, None)}
    scores: list[Row] = [
        {"model": f"m{n}", "published_benchmark": name, "score": float(score)}
        for name, found in given.items() for n, score in enumerate(found) if score is not None
    ]  # fmt: skip
    ingest(lake, [item("i0")], benchmark_scores=scores)
    rows = query(
        lake, "select model, n_benchmarks, n_scores, scaled_average from rpt_scaled_average"
    )
    # m0 is the least of all three; m1 has 0.5, 1 and 1; m2 lacks one.
    assert [tuple(row.values()) for row in rows] == [
        ("m0", 3, 3, 0.0),
        ("m1", 3, 3, pytest.approx(2.5 / 3)),
        ("m2", 3, 2, None),
    ]


def test_the_closed_form_of_complete_tournaments_equals_the_graphs(lake: Lake) -> None:
    """rpt_circular_triads: drawn tournaments of four models, some with a tie or without a pair,
    which it leaves out.
    """
    rng = np.random.default_rng(3)
    pairs = list(itertools.combinations(["m1", "m2", "m3", "m4"], 2))
    chosen: dict[tuple[int, str, str, str], str | None] = {
        (n, *(pair if rng.random() < 0.5 else pair[::-1]), "p1"): str(rng.choice(["a", "b"]))
        for n in range(20)
        for pair in pairs
    }
    left_out = [key for key in chosen if key[0] < 2 and {"m1", "m2"} == set(key[1:3])]
    chosen |= {left_out[0]: "tie", left_out[1]: None}
    give_preferences(lake, chosen)
    (row,) = query(lake, "select * from rpt_circular_triads")
    complete = [key for key in chosen if key[0] >= 2]
    number = {f"m{k}": k for k in range(1, 5)}
    graphs = build_graphs(
        np.array([key[0] for key in complete]), np.array([number[key[1]] for key in complete]),
        np.array([number[key[2]] for key in complete]), np.array([float(chosen[key] == "b") for key in complete]),
    )  # fmt: skip
    found = find_contradictions(graphs)
    assert (row["n_questions"], row["n_contradictory"], row["n_circles"]) == (
        18,
        found.has_cycle.sum(),
        found.cyclic_triples.sum(),
    )
    # Four models hold two circles of three at most.
    assert row["consistence"] == pytest.approx(1 - found.cyclic_triples.mean() / 2)
    assert 0 < found.has_cycle.sum() < 18


def test_win_rates_by_category(lake: Lake) -> None:
    """rpt_category_win_rate: m1 wins both of the dogs and ties the cat."""
    chosen = {(0, "m1", "m2", "p1"): "a", (1, "m2", "m1", "p1"): "b", (2, "m1", "m2", "p1"): "tie"}
    give_preferences(lake, chosen, {0: "dog", 1: "dog", 2: "cat"})
    rows = query(
        lake,
        "select category, n, wins, ties, win_rate from rpt_category_win_rate where model_a = 'm1'",
    )
    assert [tuple(row.values()) for row in rows] == [("cat", 1, 0, 1, 0.5), ("dog", 2, 2, 0, 1.0)]


def test_the_interval_of_a_category_is_of_its_own_items(lake: Lake) -> None:
    """Dogs: 1, 0 and 0.5 of three items; one cat."""
    chosen = {
        (0, "m1", "m2", "p1"): "a",
        (1, "m2", "m1", "p1"): "a",
        (2, "m1", "m2", "p1"): "tie",
        (3, "m1", "m2", "p1"): "tie",
    }
    give_preferences(lake, chosen, {0: "dog", 1: "dog", 2: "dog", 3: "cat"})
    rows = query(
        lake, "select category, win_rate, low, high from rpt_category_win_rate where model_a = 'm1'"
    )
    cat, dog = (tuple(row.values()) for row in rows)
    assert cat == ("cat", 0.5, None, None)
    assert dog == ("dog", 0.5, *map(pytest.approx, odds_ends(fit_share([1, 0, 0.5], "abc"))))


def test_graders_by_model_and_style(lake: Lake) -> None:
    """CHIRP, Table 7: accuracy of each method on each model's short and long answers."""
    items = [item(f"i{n}", f"Q{n}") for n in range(6)]
    answers = [
        answer(row["item_id"], f"{model} {style}", model, answer_id=f"{model} {style}", style=style)
        for row in items
        for model in ("m1", "m2")
        for style in ("long", "short")
    ]
    ratings = [rating(row["item_id"], 1.0, "p1", row["answer_id"]) for row in answers]
    # right for m1's long answers, and for all answers to the first three items
    graded = [
        recorded(
            "vlm",
            row["item_id"],
            row["answer_id"],
            0,
            float(row["answer_id"] == "m1 long" or int(row["item_id"][1:]) < 3),
        )
        for row in answers
    ]
    ingest(lake, items, answers, ratings, recorded_verdicts=graded)
    rows = query(lake, "select model, style, n, accuracy from rpt_grader_accuracy")
    found = {(row["model"], row["style"]): (row["n"], row["accuracy"]) for row in rows}
    assert found == {
        ("*", "*"): (24, 0.625),
        ("*", "long"): (12, 0.75),
        ("*", "short"): (12, 0.5),
        ("m1", "*"): (12, 0.75),
        ("m1", "long"): (6, 1.0),
        ("m1", "short"): (6, 0.5),
        ("m2", "*"): (12, 0.5),
        ("m2", "long"): (6, 0.5),
        ("m2", "short"): (6, 0.5),
    }
