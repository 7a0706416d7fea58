"""Contradictions on the pairs that people were surveyed on and over all criteria, larger models by
category and over all criteria: planted choices, counted in plain Python.
"""

import graphlib
import itertools
from pathlib import Path

import numpy as np
import pytest

from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.reports.rankings import compare_with_attributes, count_contradictions
from judgelake.tasks.suite.suite import ReportSettings
from tests.lakes import answer, ingest, item, make_lake, make_suite, preference, query, warehouse
from tests.reports.rater_rows import name_item, recorded_duel

SUITE = make_suite(report=ReportSettings(resamples=50, seed=0))
SIZES = {"m1": 1.0, "m2": 3.0, "m3": 7.0, "m4": 13.0}
PAIRS = list(itertools.combinations(SIZES, 2))
SURVEYED = [("m1", "m2"), ("m1", "m3"), ("m2", "m3")]
CRITERIA = ("overall", "relevance")
N_ITEMS = 12
Key = tuple[int, str, str, str]
"""Item, criterion, the models of the first and second answer."""


def list_models() -> list[dict[str, object]]:
    unknown = {"family": None, "vision_encoder_parameters_b": None, "training_loss": None}
    return [{"model": name, "llm_parameters_b": size, **unknown} for name, size in SIZES.items()]


def draw_choices(seed: int, pairs: list[tuple[str, str]]) -> dict[Key, str]:
    rng = np.random.default_rng(seed)
    return {
        (number, criterion, *pair): str(rng.choice(["a", "b", "tie"], p=[0.45, 0.45, 0.1]))
        for number in range(N_ITEMS)
        for criterion in CRITERIA
        for pair in pairs
    }


HUMAN, JUDGE = draw_choices(1, SURVEYED), draw_choices(2, PAIRS)


def category_of(number: int) -> str | None:
    return "dog" if number % 3 else None


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """People compared three models, and those of the first ten items alone; a judge four."""
    lake = make_lake(tmp_path_factory.mktemp("planted"))
    ingest(
        lake,
        [item(name_item(n), f"Q{n}", category=category_of(n)) for n in range(N_ITEMS)],
        [answer(name_item(n), f"{m} on {n}", m) for n in range(N_ITEMS) for m in SIZES],
        human_preferences=[
            preference(name_item(n), a, b, choice, criterion=criterion)
            for (n, criterion, a, b), choice in HUMAN.items()
            if n < 10
        ],
        recorded_duels=[
            recorded_duel(n, a, b, choice, criterion=criterion)
            for (n, criterion, a, b), choice in JUDGE.items()
        ],
        models=list_models(),
    )
    opened = warehouse(lake)
    append_rows(lake, "contradictions", count_contradictions(opened, SUITE))
    append_rows(lake, "attribute_agreement", compare_with_attributes(opened, SUITE))
    return lake


def count_circles(chosen: dict[Key, str]) -> tuple[int, int]:
    """Questions, and those with a circle, a question of each criterion by itself."""
    beaten: dict[tuple[int, str], dict[str, list[str]]] = {}
    for (number, criterion, a, b), choice in chosen.items():
        by_winner = beaten.setdefault((number, criterion), {})
        if choice != "tie":
            by_winner.setdefault(a if choice == "a" else b, []).append(b if choice == "a" else a)
    circling = [runs_in_a_circle(by_winner) for by_winner in beaten.values()]
    return len(circling), sum(circling)


def runs_in_a_circle(beaten: dict[str, list[str]]) -> bool:
    try:
        graphlib.TopologicalSorter(beaten).prepare()
    except graphlib.CycleError:
        return True
    return False


def test_contradictions_on_surveyed_pairs_and_of_all_criteria(planted: Lake) -> None:
    """CHIRP, C.2.8: a judge is compared with people on the comparisons that they made."""
    asked = {
        ("human", "all"): {key: choice for key, choice in HUMAN.items() if key[0] < 10},
        ("gpt", "all"): JUDGE,
        ("gpt", "surveyed"): {
            key: choice for key, choice in JUDGE.items() if key[0] < 10 and key[2:] in SURVEYED
        },
    }
    rows = query(planted, "from rpt_contradictions")
    found = {
        (row["rater"], row["pairs"], row["criterion"]): (row["n_questions"], row["n_contradictory"])
        for row in rows
    }
    assert found == {
        (*who, criterion): count_circles(
            {key: choice for key, choice in chosen.items() if criterion in (key[1], "*")}
        )
        for who, chosen in asked.items()
        for criterion in (*CRITERIA, "*")
    }
    # A question under both criteria is two, of one cluster.
    clusters = {(row["rater"], row["pairs"], row["criterion"]): row["n_clusters"] for row in rows}
    assert clusters["gpt", "all", "*"] == clusters["gpt", "all", "overall"] == N_ITEMS
    shares = {row["share"] == row["n_contradictory"] / row["n_questions"] for row in rows}
    assert shares == {True}


def test_pairs_that_people_all_compared_are_not_told_twice(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    chosen = {key: choice for key, choice in HUMAN.items() if key[1] == "overall"}
    ingest(
        lake,
        [item(name_item(n), f"Q{n}") for n in range(N_ITEMS)],
        [answer(name_item(n), f"{m} on {n}", m) for n in range(N_ITEMS) for m in SIZES],
        human_preferences=[
            preference(name_item(n), a, b, choice) for (n, _, a, b), choice in chosen.items()
        ],
        recorded_duels=[recorded_duel(n, a, b, "a") for n, _, a, b in chosen],
    )
    rows = count_contradictions(warehouse(lake), SUITE).to_dicts()
    assert {(row["rater"], row["criterion"], row["pairs"]) for row in rows} == {
        ("human", "overall", "all"),
        ("gpt", "overall", "all"),
    }


def test_larger_models_by_category_and_over_all_criteria(planted: Lake) -> None:
    """CHIRP, Table 2: the larger model is b in every planted pair."""
    found = {
        (row["rater"], row["criterion"], row["category"]): (row["n"], row["agreement"])
        for row in query(planted, "from rpt_attribute_agreement")
    }
    given = {"gpt": JUDGE, "human": {key: one for key, one in HUMAN.items() if key[0] < 10}}
    worth = {"a": 0.0, "tie": 0.5, "b": 1.0}
    expected = {}
    for rater, chosen in given.items():
        for criterion, category in itertools.product((*CRITERIA, "*"), ("dog", "", "*")):
            won = [
                worth[choice]
                for key, choice in chosen.items()
                if criterion in (key[1], "*") and category in (category_of(key[0]) or "", "*")
            ]
            expected[rater, criterion, category] = (len(won), pytest.approx(np.mean(won)))
    assert found == expected
