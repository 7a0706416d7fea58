"""The recipes of `sql/adhoc`, each on given rows with the rows that it must find; how they are
asked for is tested in test_sql_command.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from scipy import stats

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse.catalog import find_recipe, list_recipes
from judgelake.tasks.warehouse.warehouse import materialise, open_warehouse, run_sql
from tests.conftest import CHECKOUT
from tests.flows.test_sql_table import heads
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    judge_row,
    make_lake,
    metric_row,
    preference,
    rating,
    reply_row,
    score_row,
    verdict_row,
    warehouse,
)
from tests.sql.test_bias import duel

SAMPLES = CHECKOUT / "sql" / "samples.md"
A, B, C, M = "a" * 16, "b" * 16, "c" * 16, "d" * 16
CAT, DOG, SKY = (
    item("i0"),
    item("i1", "Which animal?", ("dog", "puppy", "Dog ")),
    item("i2", "What colour?", ("blue", "grey"), image="sky.jpg"),
)
TEXTS = {
    ("i0", "m1"): "cat",
    ("i0", "m2"): "a house",
    ("i1", "m1"): "cow",
    ("i1", "m2"): "horse",
    ("i2", "m1"): "blue",
}
TEXTS |= {("i2", "m2"): "it is the blue of the sky"}
ITEMS = {row["item_id"]: row for row in (CAT, DOG, SKY)}
DIGEST = {key: digest_of(ITEMS[key[0]], text) for key, text in TEXTS.items()}
# LAVE's ratings by item and model; prompt's judge (two readings) and the metric beside it.
LAVE = {
    ("i0", "m1"): 3,
    ("i0", "m2"): 2,
    ("i1", "m1"): 1,
    ("i1", "m2"): 1,
    ("i2", "m1"): 1,
    ("i2", "m2"): 3,
}
OTHER = {
    ("i0", "m1"): 3,
    ("i0", "m2"): 1,
    ("i1", "m1"): 1,
    ("i1", "m2"): None,
    ("i2", "m1"): 3,
    ("i2", "m2"): 3,
}
EXACT = {
    ("i0", "m1"): 1.0,
    ("i0", "m2"): 0.0,
    ("i1", "m1"): 0.0,
    ("i1", "m2"): 0.0,
    ("i2", "m1"): 1.0,
    ("i2", "m2"): 0.0,
}
# People: p1 and p2 rate all, p3 contradicts them.
P1 = {
    ("i0", "m1"): 1.0,
    ("i0", "m2"): 0.0,
    ("i1", "m1"): 0.0,
    ("i1", "m2"): 0.0,
    ("i2", "m1"): 1.0,
    ("i2", "m2"): 1.0,
}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Three items, two models, two LAVE judges (`other` at two readings), exact match, three
    annotators, duels in both orders.
    """
    lake = make_lake(tmp_path_factory.mktemp("given"))
    ratings = [
        rating(i, value, person, m) for (i, m), value in P1.items() for person in ("p1", "p2")
    ]
    ratings += [rating(i, 1 - value, "p3", m) for (i, m), value in P1.items()]
    answers = [answer(i, text, m) for (i, m), text in TEXTS.items()]
    ingest(
        lake,
        list(ITEMS.values()),
        answers,
        ratings,
        human_preferences=PREFERENCES,
        choice_sets=CHOICES,
    )
    append_records(lake, "judges", [
        judge_row("lave", A), judge_row("other", B), judge_row("other-weighted", B, reading="r2"), judge_row("chirp", C),
        metric_row("exact_match", M),
    ])  # fmt: skip
    append_records(
        lake,
        "cases",
        [case_row(judge, i, digest) for judge in (A, B) for (i, _), digest in DIGEST.items()],
    )
    append_records(lake, "verdicts", list(make_verdicts()))
    append_records(
        lake,
        "metric_scores",
        [score_row(M, i, DIGEST[i, m], score) for (i, m), score in EXACT.items()],
    )
    put_duels(lake)
    put_replies(lake)
    put_correlations(lake)
    with open_warehouse(lake, lazy=True) as connection:
        materialise(connection)  # as a report does; a recipe is asked several times here
        yield connection


def make_verdicts() -> Iterator[Row]:
    """`other` refuses the horse; its second reading, which reads probabilities, has little mass at
    the house.
    """
    for key, value in LAVE.items():
        yield verdict_row(A, key[0], DIGEST[key], value, reply_digests=[name_request(key)])
    for key, rating_or_none in OTHER.items():
        reported: Row = (
            {}
            if rating_or_none
            else {"status": "refused", "reason": "I cannot judge horse 17 of 20.5"}
        )
        yield verdict_row(
            B, key[0], DIGEST[key], rating_or_none, reply_digests=[name_request(key)], **reported
        )
        is_house = key == ("i0", "m2")
        reported |= {"captured_mass": 0.6 if is_house else 0.99} if rating_or_none else {}
        reported |= {"score_0_1": 0.25} if is_house else {}
        yield verdict_row(B, key[0], DIGEST[key], rating_or_none, reading="r2", **reported)


def name_request(key: tuple[str, str]) -> str:
    return f"{list(TEXTS).index(key)}".ljust(64, "0")


# i0: m1 wins in both orders; i1: whoever is shown first wins; i2: a tie, and then m1
WINNERS = {
    ("i0", "m1"): "m1",
    ("i0", "m2"): "m1",
    ("i1", "m1"): "m1",
    ("i1", "m2"): "m2",
    ("i2", "m1"): "tie",
    ("i2", "m2"): "m1",
}
PREFERENCES = [
    preference("i0", "m1", "m2", "a", shown_first="a"),
    preference("i1", "m1", "m2", "a", shown_first="b"),
]
PREFERENCES += [preference("i2", "m1", "m2", "b")]  # nobody wrote down what was shown first


CHOICES: list[Row] = [
    {
        "item_id": i,
        "choice_set": "1",
        "criterion": "overall",
        "annotator": who,
        "answers": ["m1", "m2"],
        "chosen": chosen,
    }
    for i, who, chosen in (("i0", "p1", "m1"), ("i2", "p1", "m1"), ("i2", "p2", None))
]


def put_duels(lake: Lake) -> None:
    for (i, first), winner in WINNERS.items():
        a, b = sorted((DIGEST[i, "m1"], DIGEST[i, "m2"]))
        side = {DIGEST[i, "m1"]: "m1", DIGEST[i, "m2"]: "m2"}
        shown = "a" if side[a] == first else "b"
        choice = "tie" if winner == "tie" else "a" if side[a] == winner else "b"
        key: Row = {"other_digest": b, "shown_first": shown, "criterion": "overall"}
        append_records(lake, "cases", [case_row(C, i, a, **key)])
        append_records(lake, "duels", [duel_row(C, i, a, b, shown, choice, criterion="overall")])


def put_replies(lake: Lake) -> None:
    """LAVE's six replies in two runs, of two snapshots; the first request drawn three times, once
    more by a second run.
    """
    latencies = (100.0, 200.0, 300.0, 400.0, None, 600.0)
    rows = [
        reply_row(A, f"{k}", latency_ms=latency, run_id=f"run-{k // 3}")
        for k, latency in enumerate(latencies)
    ]
    rows[4] |= {"prompt_tokens": None, "resolved_model": "gpt-2"}
    rows[0] |= {"cost_usd": 0.03}
    again = [
        reply_row(A, "0", draw=draw, text=f"So rating={draw}", run_id="run-1", latency_ms=None)
        for draw in (1, 2)
    ]
    again.append(reply_row(A, "0", run_id="run-1", latency_ms=None, replied_at=at(9)))
    append_records(lake, "replies", [*rows, *again])
    run = {
        "suite": "s",
        "suite_digest": "d",
        "stage": "judge",
        "outcome": "done",
        "n_calls": 0,
        "n_replies_reused": 0,
        "seed": 0,
    }
    run |= {
        "n_verdicts": 0,
        "n_failed": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "versions": "{}",
    }
    append_records(
        lake,
        "runs",
        [{**run, "run_id": f"run-{k}", "started_at": at(k), "ended_at": at(9)} for k in range(2)],
    )


CORRELATION: Row = {
    "judge_criterion": "correctness",
    "human_criterion": "correctness",
    "suite": "s",
    "benchmark": "b",
    "task": "*",
    "category": "*",
    "style": "*",
    "model": "*",
    "human_rule": "mean",
    "sample_rule": "mean",
    "against": "human",
    "coefficient": "spearman",
    "n": 6,
    "n_clusters": 3,
    "n_undefined": 0,
    "n_cells": None,
    "resamples": 20,
    "seed": 0,
    "reported_at": at(9),
    "low": None,
    "high": None,
    "reason": "fewer than 5 clusters",
}


def put_correlations(lake: Lake) -> None:
    values = [
        ("lave", 0.5, {}),
        ("other", 0.75, {}),
        ("lave", 0.9, {"coefficient": "pearson"}),
        ("lave", 0.3, {"model": "m1"}),
    ]
    rows = [
        {**CORRELATION, "judge": judge, "value": value, **more}
        for judge, value, more in [*values, ("broken", None, {})]
    ]
    append_records(lake, "correlations", rows)


def ask(
    connection: duckdb.DuckDBPyConnection, name: str, columns: str = "*", **options: object
) -> list[tuple[Any, ...]]:
    """Some columns of what a recipe finds, in its order."""
    recipe = find_recipe(name)
    given = recipe.fill_options(f"{key}={value}" for key, value in options.items())
    cursor = run_sql(connection, recipe.text, name, given)
    names = [column for column, *_ in cursor.description or ()]
    chosen = names if columns == "*" else columns.split(", ")
    return [tuple(row[names.index(column)] for column in chosen) for row in cursor.fetchall()]


@pytest.mark.parametrize("name", list_recipes())
def test_a_recipe_s_options_are_those_that_its_sql_names(name: str) -> None:
    recipe = find_recipe(name)
    code = re.sub(r"--[^\n]*", "", recipe.text)
    assert set(re.findall(r"\$(\w+)", code)) == set(recipe.options)
    assert recipe.question.endswith("?")
    assert recipe.grain.startswith("one row per ")
    assert all(option.says for option in recipe.options.values())


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_warehouse(make_lake(tmp_path_factory.mktemp("empty")), sealed=True) as connection:
        yield connection


@pytest.mark.parametrize("name", list_recipes())
def test_a_recipe_s_sample_shows_its_question_options_and_columns(
    empty: duckdb.DuckDBPyConnection, name: str
) -> None:
    recipe = find_recipe(name)
    _, _, section = SAMPLES.read_text().partition(f"## `{name}`\n")
    text, _, sample = section.partition("\n## ")[0].partition("```\n")
    assert recipe.question in text
    assert re.findall(r"^- `(\w+)`", text, re.MULTILINE) == list(recipe.options)
    columns = empty.sql(recipe.text, params=recipe.fill_options([])).columns
    names = [*(heads(sample) if sample.startswith("┌") else []), *re.findall(r"\w+", sample)]
    assert [column for column in columns if column not in names] == []


def test_the_samples_are_in_the_order_of_the_list() -> None:
    assert re.findall(r"^## `(\w+)`$", SAMPLES.read_text(), re.MULTILINE) == [*list_recipes()]


@pytest.mark.parametrize("name", list_recipes())
def test_a_recipe_finds_nothing_in_an_empty_lake(
    empty: duckdb.DuckDBPyConnection, name: str
) -> None:
    assert ask(empty, name) == []


@pytest.mark.parametrize(
    "name", [name for name, recipe in list_recipes().items() if "benchmark" in recipe.options]
)
def test_a_recipe_can_be_asked_of_one_benchmark(
    given: duckdb.DuckDBPyConnection, name: str
) -> None:
    if name not in (
        "changed_verdicts",
        "stale_verdicts",
        "circles",
        "failure_modes",
        "larger_models",
        "best_encoder_ratio",
    ):  # of which this lake has none
        assert ask(given, name) != []
    assert [row[:4] for row in ask(given, name, benchmark="b")] == [
        row[:4] for row in ask(given, name)
    ]
    assert ask(given, name, benchmark="none") == []


NO_INTERVAL = [
    ("closest_to_people", {}),
    ("closest_by_group", {}),
    ("criteria_matrix", {"judge": "lave"}),
]


@pytest.mark.parametrize(("name", "options"), NO_INTERVAL)
def test_a_recipe_says_why_there_is_no_interval(
    given: duckdb.DuckDBPyConnection, name: str, options: dict[str, str]
) -> None:
    found = ask(given, name, "low, high, reason", **options)
    assert found
    assert {(low, high) for low, high, _ in found} == {(None, None)}
    assert {reason for *_, reason in found} <= {"fewer than 5 clusters", "undefined on the sample"}


def test_closest_by_group(given: duckdb.DuckDBPyConnection) -> None:
    """LAVE's scores and people's means, in the order of TEXTS; all answers are short."""
    scores, people = (1.0, 0.5, 0.0, 0.0, 0.0, 1.0), [(1 + P1[key]) / 3 for key in TEXTS]
    found = {row[1]: row for row in ask(given, "closest_by_group", "group_name, judge, value, n")}
    assert found["lave"] == (
        "short",
        "lave",
        pytest.approx(stats.spearmanr(scores, people).statistic, abs=1e-12),
        6,
    )
    columns = "group_name, value, mean_of_judge, mean_of_people, n, n_clusters"
    (first,) = [
        row[1:]
        for row in ask(given, "closest_by_group", f"judge, {columns}", by="model", chosen="m1")
        if row[0] == "lave"
    ]
    expected = stats.spearmanr(scores[::2], people[::2]).statistic
    assert first == (
        "m1",
        pytest.approx(expected),
        pytest.approx(1 / 3),
        pytest.approx(5 / 9),
        3,
        3,
    )


def test_larger_models(tmp_path: Path) -> None:
    """Two of three duels go to the larger model by the judge, and one and a half by people."""
    lake, items = make_lake(tmp_path), [item(f"i{n}") for n in range(3)]
    answers = [answer(row["item_id"], model, model) for row in items for model in ("m1", "m2")]
    sizes: Row = {"family": None, "vision_encoder_parameters_b": 1.0, "training_loss": None}
    ingest(
        lake,
        items,
        answers,
        models=[{"model": f"m{n}", "llm_parameters_b": float(n), **sizes} for n in (1, 2)],
        recorded_duels=[duel(f"i{n}", "m1", "m2", "m2" if n else "m1") for n in range(3)],
        human_preferences=[
            preference(f"i{n}", "m1", "m2", choice) for n, choice in enumerate(("a", "b", "tie"))
        ],
    )
    found = ask(warehouse(lake), "larger_models", "rater, share, n")
    assert found == [("gpt-4", pytest.approx(2 / 3), 3), ("human", 0.5, 3)]
    other = "vision_encoder_parameters_b"
    assert ask(warehouse(lake), "larger_models", "rater", size=other) == []


def test_largest_differences(given: duckdb.DuckDBPyConnection) -> None:
    columns = "item_id, model, judge, judge_score, human_score, images, text"
    # LAVE gives blue 0, of which two of three people say correct; all others differ by 1/3 at most
    found = ask(given, "largest_differences", columns, judge="lave", n=2)
    assert found[0] == ("i2", "m1", "lave", 0.0, pytest.approx(2 / 3), ["sky.jpg"], "blue")
    assert len(found) == 2
    judges = {row[2] for row in ask(given, "largest_differences", columns, n=99)}
    assert judges == {"lave", "other", "other-weighted"}
    every = {row[2] for row in ask(given, "largest_differences", columns, n=99, metrics="yes")}
    assert every == {*judges, "exact_match"}


def test_agreement_with_people(given: duckdb.DuckDBPyConnection) -> None:
    columns = "rater_a, rater_b, n, agreement, kappa"
    people = {"pairs": "people", "criterion": "correctness"}
    # p3 says of three correct and three wrong answers the opposite: by chance half would agree
    assert ask(given, "agreement_with_people", columns, **people) == [
        ("human:p1", "human:p2", 6, 1.0, 1.0),
        ("human:p1", "human:p3", 6, 0.0, -1.0),
        ("human:p2", "human:p3", 6, 0.0, -1.0),
    ]
    mixed = ask(given, "agreement_with_people", "rater_a, rater_b, criterion")
    assert {row for row in mixed if "chirp" in row} == {("chirp", "human:p1", "overall")}
    assert len(ask(given, "agreement_with_people", pairs="both")) > len(mixed)


def test_rankings_side_by_side(given: duckdb.DuckDBPyConnection) -> None:
    columns = "model, n, mean_of_judge, mean_of_people, place_by_judge, place_by_people"
    # LAVE: m1 (1 + 0 + 0) / 3, m2 (0.5 + 0 + 1) / 3; people 5/9 and 4/9
    assert ask(given, "rankings_side_by_side", columns, judge="lave") == [
        ("m1", 3, pytest.approx(1 / 3), pytest.approx(5 / 9), 2, 1),
        ("m2", 3, 0.5, pytest.approx(4 / 9), 1, 2),
    ]


def test_best_encoder_ratio_warns_where_elo_s_order_is_not_bradley_terry_s(
    tmp_path: Path,
) -> None:
    lake = make_lake(tmp_path)
    encoders = {"m1": 1.0, "m2": 4.0}
    of_model: Row = {"family": None, "llm_parameters_b": 2.0, "training_loss": None}
    models = [
        {**of_model, "model": model, "vision_encoder_parameters_b": size}
        for model, size in encoders.items()
    ]
    ingest(lake, [CAT], [], models=models)
    row: Row = {"suite": "s", "benchmark": "b", "rater": "gpt", "criterion": "overall"}
    row |= {"category": "*", "method": "elo", "n": 9, "n_missing": 0, "n_clusters": 9}
    row |= {"initial": 1000.0, "k": 4.0, "scale": 400.0, "n_undefined": 0, "resamples": 9}
    row |= {"seed": 0, "reported_at": at(9), "warning": "the orders differ"}
    means = zip(encoders, (1010.0, 990.0), strict=True)
    append_records(lake, "rankings", [{**row, "model": name, "mean": mean} for name, mean in means])
    columns = "rater, ratio, model, elo, n_encoders, warning"
    assert ask(warehouse(lake), "best_encoder_ratio", columns) == [
        ("gpt", 0.5, "m1", 1010.0, 2, "the orders differ")
    ]


def test_grading_errors(given: duckdb.DuckDBPyConnection) -> None:
    columns = "group_name, n, accuracy, false_positive_rate, false_negative_rate"
    third = pytest.approx(1 / 3)
    # people: the cat, blue and the sky are right; LAVE: the cat, the house (0.5) and the sky
    asked = {"judge": "lave"}
    assert ask(given, "grading_errors", columns, **asked) == [
        ("*", 6, pytest.approx(4 / 6), third, third)
    ]
    assert ask(given, "grading_errors", columns, **asked, at_least=1) == [
        ("*", 6, pytest.approx(5 / 6), 0.0, third)
    ]
    assert ask(given, "grading_errors", columns, **asked, by="model") == [
        ("m1", 3, pytest.approx(2 / 3), 0.0, 0.5),
        ("m2", 3, pytest.approx(2 / 3), 0.5, 0.0),
    ]


def test_failure_modes(tmp_path: Path) -> None:
    """Two right answers that VQA accuracy misses: one labelled a synonym, both scored by LAVE."""
    lake = make_lake(tmp_path)
    labels: list[Row] = [
        {
            "item_id": name,
            "answer_id": "m1",
            "category": "synonym",
            "labeller": "ann",
            "holds": holds,
        }
        for name, holds in (("i0", True), ("i1", False))
    ]
    labels.append(labels[1] | {"category": "unknown"})
    ratings = [rating(name, 1.0, person) for name in ("i0", "i1") for person in ("p1", "p2")]
    answers = [answer("i0", "kitty"), answer("i1", "puppy dog")]
    ingest(lake, [CAT, DOG], answers, ratings, failure_labels=labels)
    digests = {"i0": digest_of(CAT, "kitty"), "i1": digest_of(DOG, "puppy dog")}
    vqa = metric_row("acc", M, call_signature="vqa_accuracy|normalizer:official")
    append_records(lake, "judges", [judge_row("lave", A), vqa])
    append_records(lake, "cases", [case_row(A, *pair) for pair in digests.items()])
    append_records(lake, "verdicts", [verdict_row(A, *pair, 3) for pair in digests.items()])
    append_records(lake, "metric_scores", [score_row(M, *pair, 0.0) for pair in digests.items()])
    with open_warehouse(lake, lazy=True) as connection:
        columns = "category, judge, n_holds, share, n, mean"
        assert ask(connection, "failure_modes", columns, judge="lave") == [
            ("*", "lave", None, None, 2, 1.0),
            ("synonym", "lave", 1, 0.5, 1, 1.0),
        ]
        assert ask(connection, "failure_modes", "judge, mean", judge="acc") == [("acc", 0.0)] * 2
        rows = ask(connection, "failure_modes", columns)
        assert [row for row in rows if row[1] is None] == [("unknown", None, 0, 0.0, None, None)]
        assert ask(connection, "failure_modes", case_kind="reverse") == []


def test_criteria_matrix(given: duckdb.DuckDBPyConnection) -> None:
    columns = "judge, judge_criterion, human_criterion, place, value"
    assert ask(given, "criteria_matrix", columns) == [
        ("broken", "correctness", "correctness", 1, None),
        ("lave", "correctness", "correctness", 1, 0.5),
        ("other", "correctness", "correctness", 1, 0.75),
    ]
    assert ask(given, "criteria_matrix", "value", judge="lave", coefficient="pearson") == [(0.9,)]


def test_disagreements(given: duckdb.DuckDBPyConnection) -> None:
    columns = "item_id, answer_id, spread, lowest_judge, highest_judge, n_judges, people, text"
    # LAVE gives blue 0, the other 1; of the house 0.5 against 0 and 0.25. Two of three people say
    # blue is right.
    assert ask(given, "disagreements", columns) == [
        ("i2", "m1", 1.0, "lave", "other-weighted", 3, pytest.approx(2 / 3), "blue"),
        ("i0", "m2", 0.5, "other", "lave", 3, pytest.approx(1 / 3), "a house"),
    ]
    assert len(ask(given, "disagreements", n=1)) == 1
    widest = ask(
        given, "disagreements", "item_id, answer_id, criterion, lowest_judge", metrics="yes"
    )
    assert widest == [
        (i, m, "correctness", judge)
        for i, m, judge in [("i2", "m1", "lave"), ("i0", "m2", "other")]
    ]


def test_closest_to_people(given: duckdb.DuckDBPyConnection) -> None:
    assert ask(given, "closest_to_people", "place, judge, value, n") == [
        (1, "other", 0.75, 6),
        (2, "lave", 0.5, 6),
        (3, "broken", None, 6),
    ]
    assert ask(given, "closest_to_people", "judge, value", coefficient="pearson") == [("lave", 0.9)]


def test_a_judge_with_several_criteria_is_one_row_of_closest_to_people(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    names = ("overall", "clarity", "fluency")
    rows = [
        {**CORRELATION, "judge": "h", "value": value, "judge_criterion": own, "human_criterion": of}
        for own, value in zip(names, (0.2, 0.9, 0.5), strict=True)
        for of in ("overall", "fluency", "other")
    ]
    append_records(lake, "correlations", rows)
    with open_warehouse(lake) as connection:
        columns = "human_criterion, judge_criterion, value"
        assert ask(connection, "closest_to_people", columns) == [
            ("fluency", "fluency", 0.5),
            ("other", "overall", 0.2),
            ("overall", "overall", 0.2),
        ]


def test_missing_scores(given: duckdb.DuckDBPyConnection) -> None:
    assert ask(given, "missing_scores", "judge, status, reason, n, share, example_item") == [
        ("other", "refused", "I cannot judge horse # of #", 1, pytest.approx(1 / 6), "i1"),
        ("other-weighted", "refused", "I cannot judge horse # of #", 1, pytest.approx(1 / 6), "i1"),
    ]


def test_costs(given: duckdb.DuckDBPyConnection) -> None:
    columns = "run_id, judge, model, n_calls, prompt_tokens, completion_tokens, n_uncounted"
    # run-0 has replies 0 to 2; run-1 has 3 to 5, of which one reports no prompt tokens, and three
    # more of request 0
    assert sorted(ask(given, "costs", columns)) == [
        ("run-0", "lave", "gpt", 3, 300, 60, 0),
        ("run-1", "lave", "gpt", 6, 500, 120, 1),
    ]
    assert ask(given, "costs", suite="another") == []
    # the first reply of run-0 is priced at 0.03 dollars, the others at nothing that is known
    assert sorted(ask(given, "costs", "run_id, cost_usd, n_unpriced")) == [
        ("run-0", 0.03, 2),
        ("run-1", None, 6),
    ]


def test_latencies(given: duckdb.DuckDBPyConnection) -> None:
    columns = "model, snapshot, n, n_timed, median_ms, p90_ms, max_ms"
    # gpt-1: 100, 200, 300, 400, 600 ms: the median is 300, the 90 % quantile 400 + 0.6 * 200
    assert ask(given, "latencies", columns) == [
        ("gpt", "gpt-1", 8, 5, 300.0, pytest.approx(520), 600.0),
        ("gpt", "gpt-2", 1, 0, None, None, None),
    ]
    # 20 tokens in 0.3 s
    assert ask(given, "latencies", "tokens_per_second")[0] == (pytest.approx(20 / 0.3),)
    assert ask(given, "latencies", "n", run="run-0") == [(3,)]


def test_changed_verdicts(tmp_path: Path) -> None:
    """A retried verdict, one of another judge under the same alias, one that stayed, one of a
    turned pair.
    """
    lake = make_lake(tmp_path)
    append_records(
        lake, "judges", [judge_row("lave", A), judge_row("lave", B, registered_at=at(5))]
    )
    one, two = DIGEST["i0", "m1"], DIGEST["i0", "m2"]
    append_records(lake, "replies", [reply_row(A, "1"), reply_row(B, "2", resolved_model="gpt-2")])
    append_records(lake, "verdicts", [
        verdict_row(A, "i0", one, None, 3, run_id="r1", reply_digests=["1".ljust(64, "0")]),
        verdict_row(A, "i0", one, 1, 4, run_id="r2", reply_digests=["1".ljust(64, "0")]),
        verdict_row(B, "i0", one, 3, 6, run_id="r3", reply_digests=["2".ljust(64, "0")]),
        verdict_row(A, "i0", two, 2, 3, run_id="r1"), verdict_row(B, "i0", two, 2, 6, run_id="r3"),
    ])  # fmt: skip
    duels = [
        duel_row(A, "i0", one, two, "a", choice, judged_at=at(minute), run_id=run)
        for choice, minute, run in (("a", 3, "r1"), ("tie", 4, "r2"))
    ]
    append_records(lake, "duels", duels)
    columns = (
        "former_run, run_id, former_status, status, former_score, score, former_judge_id, "
        "judge_id, former_snapshot, snapshot"
    )
    with open_warehouse(lake, lazy=True) as connection:
        assert ask(connection, "changed_verdicts", columns) == [
            ("r2", "r3", "ok", "ok", 0.0, 1.0, A, B, "gpt-1", "gpt-2"),
            ("r1", "r2", "ok", "ok", 0.0, 0.5, A, A, None, None),
            ("r1", "r2", "unparsed", "ok", None, 0.0, A, A, "gpt-1", "gpt-1"),
        ]
        assert ask(connection, "changed_verdicts", "score", run="r3") == [(1.0,)]


def test_scale_use(given: duckdb.DuckDBPyConnection) -> None:
    # LAVE gave 1 three times, 2 once, 3 twice
    columns = "judge, score, lowest_rating, n, share"
    assert ask(given, "scale_use", columns, judge="lave") == [
        ("lave", 0.0, 1.0, 3, 0.5),
        ("lave", 0.5, 2.0, 1, pytest.approx(1 / 6)),
        ("lave", 1.0, 3.0, 2, pytest.approx(1 / 3)),
    ]
    assert ask(given, "scale_use", "score, n", judge="other-weighted") == [
        (0.0, 1),
        (0.25, 1),
        (1.0, 3),
    ]
    assert ask(given, "scale_use", "score, n", judge="other-weighted", digits=0) == [
        (0.0, 2),
        (1.0, 3),
    ]


def test_judge_against_metric(given: duckdb.DuckDBPyConnection) -> None:
    found = ask(
        given,
        "judge_against_metric",
        "item_id, answer_id, metric, score, metric_score",
        judge="lave",
        n=3,
    )
    assert found == [
        ("i2", "m1", "exact_match", 0.0, 1.0),
        ("i2", "m2", "exact_match", 1.0, 0.0),
        ("i0", "m2", "exact_match", 0.5, 0.0),
    ]
    assert ask(given, "judge_against_metric", metric="bleu") == []


def test_length_and_score(given: duckdb.DuckDBPyConnection) -> None:
    columns = "rater, n, pearson, spearman, median_characters, mean_of_shortest, mean_of_longest"
    found = {row[0]: row[1:] for row in ask(given, "length_and_score", columns)}
    lengths, scores = (3, 7, 3, 5, 4, 25), (1.0, 0.5, 0.0, 0.0, 0.0, 1.0)  # LAVE's
    n, pearson, spearman, median, shortest, longest = found["lave"]
    # the shortest quarter would part the two of 3 letters (a third of all), so it is empty; the
    # longest is the sky, which got 1
    assert (n, median, shortest, longest) == (6, 4.5, None, 1.0)
    assert pearson == pytest.approx(stats.pearsonr(lengths, scores).statistic, abs=1e-12)
    assert spearman == pytest.approx(stats.spearmanr(lengths, scores).statistic, abs=1e-12)
    assert set(found) == {"lave", "other", "other-weighted", "human", "exact_match"}


def test_failed_by_all(given: duckdb.DuckDBPyConnection) -> None:
    columns = "item_id, judge, n_models, highest, highest_of_people, answers"
    answers = ["m1: cow", "m2: horse"]
    # of `other` the horse has no score, so nobody knows
    assert ask(given, "failed_by_all", columns, judge="lave") == [
        ("i1", "lave", 2, 0.0, pytest.approx(1 / 3), answers)
    ]
    assert ask(given, "failed_by_all", judge="other") == []
    assert ask(given, "failed_by_all", "item_id, highest", judge="lave", at_most=1) == [
        ("i0", 1.0),
        ("i1", 0.0),
        ("i2", 1.0),
    ]


def test_disputed_references(given: duckdb.DuckDBPyConnection) -> None:
    assert ask(
        given,
        "disputed_references",
        "item_id, n_references, n_distinct, share_of_most_frequent, given",
    ) == [
        ("i2", 2, 2, 0.5, ["blue ×1", "grey ×1"]),
        ("i1", 3, 2, pytest.approx(2 / 3), ["dog ×2", "puppy ×1"]),
    ]
    assert ask(given, "disputed_references", task="caption") == []


def test_asked_again(given: duckdb.DuckDBPyConnection) -> None:
    columns = "judge, request_digest, n_replies, n_draws, n_distinct_texts, tokens, texts"
    # request 0: three draws, and the first of them once more, with the same text
    assert ask(given, "asked_again", columns) == [
        ("lave", "0".ljust(64, "0"), 4, 3, 3, 480, ["So rating=1", "So rating=2", "So rating=3"])
    ]


def test_stale_verdicts(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    now, former = DIGEST["i0", "m1"], "f" * 16
    ingest(lake, [CAT], [answer("i0", "cat")])
    append_records(
        lake, "judges", [judge_row("lave", A), judge_row("gone", B, registered_at=at(0))]
    )
    append_records(
        lake,
        "cases",
        [
            case_row(A, "i0", now, context_digest="new"),
            case_row(A, "i0", former),
            case_row(B, "i0", now),
        ],
    )
    append_records(lake, "verdicts", [
        verdict_row(A, "i0", now, 3, context_digest="new"), verdict_row(A, "i0", now, 1, context_digest="old"),
        verdict_row(A, "i0", former, None), verdict_row(B, "i0", now, 3), verdict_row(A, "i0", now, 2, reading="r0"),
    ])  # fmt: skip
    with open_warehouse(lake, lazy=True) as connection:
        assert ask(connection, "stale_verdicts", "judge, reading, why, n, n_ok") == [
            (A, "r0", "the judge, or this reading of it, is in no suite of the benchmark", 1, 1),
            (
                "gone",
                "r1",
                "the judge, or this reading of it, is in no suite of the benchmark",
                1,
                1,
            ),
            ("lave", "r1", "the answer was edited or is gone", 1, 0),
            ("lave", "r1", "what the judge sees beside the answer changed", 1, 1),
        ]


def test_low_mass(given: duckdb.DuckDBPyConnection) -> None:
    columns = "judge, n, n_without_score, n_below, share_below, lowest, median"
    assert ask(given, "low_mass", columns) == [("other-weighted", 5, 0, 1, 0.2, 0.6, 0.99)]
    assert ask(given, "low_mass", "n_below", below=0.5) == [(0,)]


def test_lave_against_exact_match(given: duckdb.DuckDBPyConnection) -> None:
    found = ask(
        given,
        "lave_against_exact_match",
        "score, n_metric_0, n_metric_between, n_metric_1, n",
        judge="lave",
    )
    # says 0 of cow, horse and blue, the last of which matches; 0.5 of the house; 1 of the cat,
    # which matches, and of the sky
    assert found == [(0.0, 2, 0, 1, 3), (0.5, 1, 0, 0, 1), (1.0, 1, 0, 1, 2)]
    assert ask(given, "lave_against_exact_match", metric="bleu") == []


def test_best_of_n(given: duckdb.DuckDBPyConnection) -> None:
    third = pytest.approx(1 / 3)
    found = ask(
        given,
        "best_of_n",
        "item_id, n_answers, score, best, people_of_best, people_at_most, regret",
        judge="lave",
    )
    # by their mean people give 2/3 where P1 has 1 and 1/3 where it has 0; of the cow and the horse
    # both are first
    assert sorted(found) == [
        ("i0", 2, 1.0, ["m1"], pytest.approx(2 / 3), pytest.approx(2 / 3), 0.0),
        ("i1", 2, 0.0, ["m1", "m2"], third, third, 0.0),
        ("i2", 2, 1.0, ["m2"], pytest.approx(2 / 3), pytest.approx(2 / 3), 0.0),
    ]
    match = ask(given, "best_of_n", "item_id, best", judge="exact_match", n=2)
    assert match == [("i0", ["m1"]), ("i1", ["m1", "m2"])]


def test_odd_annotators(given: duckdb.DuckDBPyConnection) -> None:
    # p3 always differs by 1 from both others, who differ by 0.5 from the mean of p3 and each other;
    # 3 of 6 are 1, so signs cancel
    assert ask(
        given, "odd_annotators", "annotator, n, mean_absolute_difference, mean_difference"
    ) == [
        ("p3", 6, 1.0, 0.0),
        ("p1", 6, 0.5, 0.0),
        ("p2", 6, 0.5, 0.0),
    ]


def test_readings_side_by_side(given: duckdb.DuckDBPyConnection) -> None:
    columns = (
        "judge_a, judge_b, n, n_scored_a, n_scored_b, n_changed, mean_difference, "
        "mean_absolute_difference"
    )
    # of six cases both score five; the house alone has 0 and 0.25
    assert ask(given, "readings_side_by_side", columns) == [
        ("other", "other-weighted", 6, 5, 5, 1, pytest.approx(-0.05), pytest.approx(0.05))
    ]
    expected = stats.pearsonr((1, 0, 0, 1, 1), (1, 0.25, 0, 1, 1)).statistic
    assert ask(given, "readings_side_by_side", "pearson") == [(pytest.approx(expected, abs=1e-12),)]


def test_wrong_choices(given: duckdb.DuckDBPyConnection) -> None:
    # p1 chose m1 of i0, where all agree, and of i2, where LAVE gives it 0 and m2 1; p2 chose none
    # of i2. Exact match gives m1 1 there.
    columns = "item_id, annotator, judge, chosen, score_of_chosen, preferred, score_of_preferred"
    assert ask(given, "wrong_choices", columns, judge="lave") == [
        ("i2", "p1", "lave", "m1", 0.0, "m2", 1.0)
    ]
    assert ask(given, "wrong_choices", judge="exact_match") == []


def test_circles(tmp_path: Path) -> None:
    """m1 over m2, m2 over m3, m3 over m1 of the first question; the second is in order, the third
    has a tie in its circle.
    """
    lake = make_lake(tmp_path)
    models = ("m1", "m2", "m3")
    answers = [answer(i, f"{model} {i}", model) for i in ITEMS for model in models]
    chosen = {"i0": ("a", "a", "b"), "i1": ("a", "a", "a"), "i2": ("a", "tie", "b")}
    pairs = (("m1", "m2"), ("m2", "m3"), ("m1", "m3"))
    rows = [
        preference(i, *pair, choice)
        for i, given in chosen.items()
        for pair, choice in zip(pairs, given, strict=True)
    ]
    ingest(lake, list(ITEMS.values()), answers, human_preferences=rows)
    with open_warehouse(lake, lazy=True) as connection:
        assert ask(
            connection, "circles", "item_id, rater, first_model, second_model, third_model"
        ) == [("i0", "human:p1", *models)]
        assert ask(connection, "circles", rater="human:p2") == []


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Two judges of answers under one alias, each at two readings, and two of pairs under another,
    whose names in a report have their ids and readings: `twin@aaaaaaaaaaaaaaaa/r1`.
    """
    lake, models = make_lake(tmp_path_factory.mktemp("twins")), ("m1", "m2", "m3")
    texts = {(i, model): f"{model} {i}" for i in ITEMS for model in models}
    digests = {key: digest_of(ITEMS[key[0]], text) for key, text in texts.items()}
    answers = [answer(i, text, model) for (i, model), text in texts.items()]
    ratings = [rating(i, float(model == "m1"), "p1", model) for i, model in texts]
    sizes: Row = {"family": None, "vision_encoder_parameters_b": 1.0, "training_loss": None}
    sized = [{"model": f"m{n}", "llm_parameters_b": float(n), **sizes} for n in (1, 2, 3)]
    chosen = [preference("i0", "m1", "m2", "a"), preference("i1", "m1", "m2", "b")]
    ingest(lake, list(ITEMS.values()), answers, ratings, human_preferences=chosen, models=sized)
    judges = [judge_row("twin", judge, reading=r) for judge in (A, B) for r in ("r1", "r2")]
    pairing = ["e" * 16, "f" * 16]
    append_records(lake, "judges", [*judges, *(judge_row("pair", judge) for judge in pairing)])
    keys = [(judge, i, digest) for judge in (A, B) for (i, _), digest in digests.items()]
    append_records(lake, "cases", [case_row(*key) for key in keys])
    verdicts = [
        verdict_row(*key, 2 + n % 2, reading=reading, captured_mass=0.5)
        for n, key in enumerate(keys)
        for reading in ("r1", "r2")
    ]
    append_records(lake, "verdicts", verdicts)
    for judge in pairing:
        for first, second in (("m1", "m2"), ("m2", "m3"), ("m3", "m1")):  # the first one wins
            winner, loser = digests["i0", first], digests["i0", second]
            a, b = sorted((winner, loser))
            choice = "a" if winner == a else "b"
            case = case_row(judge, "i0", a, other_digest=b, shown_first="a", criterion="overall")
            append_records(lake, "cases", [case])
            duelled = duel_row(judge, "i0", a, b, "a", choice, criterion="overall")
            append_records(lake, "duels", [duelled])
    with open_warehouse(lake, lazy=True) as connection:
        materialise(connection)
        yield connection


@pytest.mark.parametrize("name", list_recipes())
def test_a_recipe_calls_a_judge_by_its_alias(twins: duckdb.DuckDBPyConnection, name: str) -> None:
    rows = ask(twins, name)
    assert [row for row in rows if re.search(r"(twin|pair)@", str(row))] == []


@pytest.mark.parametrize(
    ("name", "columns", "alias"),
    [
        ("low_mass", "judge", "twin"),
        ("readings_side_by_side", "judge_a, judge_b", "twin"),
        ("largest_differences", "judge", "twin"),
        ("agreement_with_people", "rater_a, rater_b", "pair"),
        ("larger_models", "rater", "pair"),
        ("circles", "rater", "pair"),
    ],
)
def test_an_alias_is_found(
    twins: duckdb.DuckDBPyConnection, name: str, columns: str, alias: str
) -> None:
    assert alias in {cell for row in ask(twins, name, columns) for cell in row}


def test_circles_of_a_judge_by_its_alias(twins: duckdb.DuckDBPyConnection) -> None:
    assert len(ask(twins, "circles", rater="pair")) == 2
