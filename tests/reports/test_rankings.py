"""Rankings in a report: planted strengths found again, hand arithmetic of two models, and models
without a finite rating.
"""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.reports.rankings import rank_by_raters
from judgelake.tasks.suite.suite import ReportSettings
from tests.lakes import (
    Row,
    append_records,
    ingest,
    item,
    judge_row,
    make_lake,
    make_suite,
    query,
    warehouse,
)
from tests.reports.rater_rows import JUDGE, give_preferences, judge_both_orders, recorded_duel

SUITE = make_suite(report=ReportSettings(resamples=200, seed=0))
LOG_3 = 400 * math.log10(3)
Chosen = dict[tuple[int, str, str, str], str | None]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def rank(
    lake: Lake, method: str = "bradley_terry", rater: str = "human", category: str = "*"
) -> dict[str, Row]:
    rows = rank_by_raters(warehouse(lake), SUITE).to_dicts()
    key = (method, rater, category)
    return {
        row["model"]: row for row in rows if (row["method"], row["rater"], row["category"]) == key
    }


def test_two_models_by_hand(lake: Lake) -> None:
    # m1 wins three of four: odds of 3, so the ratings lie 400 log10(3) = 190.8 apart around 1000.
    give_preferences(lake, {(n, "m1", "m2", "p1"): "a" if n else "b" for n in range(4)})
    found = rank(lake)
    assert [found[m]["rating"] for m in ("m1", "m2")] == pytest.approx(
        [1000 + LOG_3 / 2, 1000 - LOG_3 / 2], abs=1e-6
    )
    assert [(found[m]["n"], found[m]["n_clusters"], found[m]["rank"]) for m in ("m1", "m2")] == [
        (4, 4, 1),
        (4, 4, 2),
    ]
    assert [(found[m]["initial"], found[m]["k"], found[m]["scale"]) for m in ("m1", "m2")] == [
        (1000, None, 400)
    ] * 2
    # Four comparisons do not separate them: a resample in which m2 wins most is likely.
    assert (found["m1"]["rank_high"], found["m2"]["rank_low"], found["m1"]["above_next"]) == (
        2,
        1,
        False,
    )


def test_elo_of_one_comparison_by_hand(lake: Lake) -> None:
    # From equal ratings the winner takes K (1 - 0.5) = 2, in any order.
    give_preferences(lake, {(0, "m1", "m2", "p1"): "b"})
    found = rank(lake, "elo")
    assert [found[m]["rating"] for m in ("m1", "m2")] == [998, 1002]
    assert [(found[m]["initial"], found[m]["k"], found[m]["scale"]) for m in ("m1", "m2")] == [
        (1000, 4, 400)
    ] * 2


def plant(seed: int, strengths: dict[str, float], n_items: int, annotator: str = "p1") -> Chosen:
    """Each pair once an item, the winner drawn from Bradley and Terry's model."""
    rng = np.random.default_rng(seed)
    return {
        (n, a, b, annotator): "a"
        if rng.random() < 1 / (1 + 10 ** ((strengths[b] - strengths[a]) / 400))
        else "b"
        for n in range(n_items)
        for a, b in itertools.combinations(strengths, 2)
    }


def test_planted_strengths_are_found_again(lake: Lake) -> None:
    strengths = {"m1": 1150.0, "m2": 1140.0, "m3": 970.0, "m4": 740.0}
    give_preferences(lake, plant(1, strengths, 150))
    found = rank(lake)
    for model, strength in strengths.items():
        assert found[model]["low"] < strength < found[model]["high"]
    assert [found[m]["rank"] for m in ("m3", "m4")] == [3, 4]
    # 10 points apart cannot be distinguished by 150 comparisons each, 170 and 230 can.
    assert [(found[m]["rank_low"], found[m]["rank_high"]) for m in strengths] == [
        (1, 2),
        (1, 2),
        (3, 3),
        (4, 4),
    ]
    by_place = sorted(found.values(), key=lambda row: row["rank"])
    assert [row["above_next"] for row in by_place] == [False, True, True, None]
    elo = rank(lake, "elo")
    assert sorted(elo, key=lambda m: elo[m]["rank"])[2:] == ["m3", "m4"]
    assert {row["n_undefined"] for row in elo.values()} == {0}


def test_who_wins_all_is_rated_and_groups_are_told_apart(lake: Lake) -> None:
    chosen: Chosen = {(n, "m1", "m2", "p1"): "a" if n % 2 else "b" for n in range(10)}
    chosen |= {(n, "m3", "m1", "p1"): "a" for n in range(10)} | {
        (n, "m4", "m5", "p1"): "tie" for n in range(10)
    }
    give_preferences(lake, chosen)
    for method in ("bradley_terry", "elo"):
        found = rank(lake, method)
        assert [found[m]["group_number"] for m in sorted(found)] == [1, 1, 1, 2, 2]
        assert found["m3"]["rank"] == 1
        assert not found["m3"]["orders_differ"]  # m1 and m2 are equal, whatever Elo makes of them
        assert (found["m4"]["rank"], found["m5"]["rank"]) == (1, 1)
        assert found["m4"]["rating"] == found["m5"]["rating"] == pytest.approx(1000)
        assert "group 2 of 2: no comparison links them" in found["m4"]["reason"]
    found = rank(lake)
    assert found["m3"]["low"] < found["m3"]["rating"] < found["m3"]["high"]
    assert "penalised likelihood" in found["m3"]["reason"]
    assert found["m4"]["reason"].endswith("places hold within")


def play_hub(n_items: int = 80) -> Chosen:
    """One model meets four others, as vicuna-13b does in Vicuna's first evaluation: it loses to the
    best 65 % of the time, and beats the three others nearly always.
    """
    rng = np.random.default_rng(3)
    wins = {"best": 0.35, "good": 0.6, "weak": 0.9, "weakest": 0.95}
    return {
        (n, "hub", other, "p1"): "a" if rng.random() < share else "b"
        for n in range(n_items)
        for other, share in wins.items()
    }


def test_bradley_terry_puts_the_best_above_the_hub_and_elo_s_other_order_is_marked(
    lake: Lake,
) -> None:
    give_preferences(lake, play_hub())
    first, elo = rank(lake), rank(lake, "elo")
    assert min(first, key=lambda m: first[m]["rank"]) == "best"
    assert min(elo, key=lambda m: elo[m]["rank"]) == "hub"  # as it does today
    assert all(row["orders_differ"] for row in (*first.values(), *elo.values()))
    assert {row["warning"] for row in first.values()} == {
        "Bradley-Terry and Elo order these models differently"
    }
    (warning,) = {row["warning"] for row in elo.values()}
    assert "compared 80 to 320 times" in warning
    assert elo["hub"]["low"] < elo["hub"]["median"] < elo["hub"]["high"]
    assert elo["hub"]["mean"] == pytest.approx(elo["hub"]["rating"], abs=10)
    assert first["hub"]["mean"] is first["hub"]["median"] is None


def test_equal_numbers_of_comparisons_need_no_warning(lake: Lake) -> None:
    give_preferences(lake, plant(1, {"m1": 1200.0, "m2": 1000.0, "m3": 800.0}, 60))
    rows = [*rank(lake).values(), *rank(lake, "elo").values()]
    assert {(row["orders_differ"], row["warning"]) for row in rows} == {(False, None)}


def test_k_scale_and_start_are_the_suite_s(lake: Lake) -> None:
    # One win moves a by K / 2 = 16; three of four are odds of 3, 200 log10 3 apart on a scale of
    # 200.
    give_preferences(lake, {(n, "m1", "m2", "p1"): "a" if n else "b" for n in range(4)})
    report = ReportSettings(resamples=20, elo_k=32, elo_scale=200, elo_start=0)
    frame = rank_by_raters(warehouse(lake), make_suite(report=report))
    rated = {(row["method"], row["model"]): row for row in frame.to_dicts()}
    assert rated["bradley_terry", "m1"]["rating"] == pytest.approx(LOG_3 / 4, abs=1e-6)
    assert {(row["initial"], row["scale"]) for row in rated.values()} == {(0, 200)}
    assert [rated[method, "m1"]["k"] for method in ("bradley_terry", "elo")] == [None, 32]
    assert 16 < rated["elo", "m1"]["rating"] < 32


def test_an_inconsistent_pair_is_half_a_win_and_a_missing_one_none(lake: Lake) -> None:
    give_preferences(lake, {(n, "m1", "m2", "p1"): None for n in range(4)})
    append_records(lake, "judges", [judge_row("chirp", JUDGE)])
    for number, winners in enumerate((("m1", "m1"), ("m1", "m1"), ("m1", "m2"), ("m1", None))):
        judge_both_orders(lake, number, winners)
    found = rank(lake, rater="chirp")
    # 2.5 wins of 3: odds of 5; the pair without a second verdict is left out and counted.
    gap = 400 * math.log10(5)
    assert [found[m]["rating"] for m in ("m1", "m2")] == pytest.approx(
        [1000 + gap / 2, 1000 - gap / 2], abs=1e-6
    )
    assert [(found[m]["n"], found[m]["n_missing"]) for m in ("m1", "m2")] == [(3, 1), (3, 1)]
    assert rank(lake) == {}  # people gave no preference


def test_several_annotators_are_ranked_together_and_one_by_one(lake: Lake) -> None:
    give_preferences(
        lake,
        {
            (n, "m1", "m2", who): "a" if n < wins else "b"
            for who, wins in (("p1", 1), ("p2", 5))
            for n in range(6)
        },
    )
    ratings = {
        rater: rank(lake, rater=rater)["m1"]["rating"]
        for rater in ("human", "human:p1", "human:p2")
    }
    gap = 400 * math.log10(5)  # one win of six, five of six; together six of twelve
    assert ratings == pytest.approx(
        {"human": 1000, "human:p1": 1000 - gap / 2, "human:p2": 1000 + gap / 2}, abs=1e-6
    )


def test_categories_are_ranked_apart_where_there_are_several(lake: Lake) -> None:
    wins = {n: "a" if n % 4 else "b" for n in range(8)} | {
        n: "b" if n % 4 else "a" for n in range(8, 16)
    }
    give_preferences(
        lake,
        {(n, "m1", "m2", "p1"): w for n, w in wins.items()},
        {n: "dog" if n < 8 else "cat" for n in wins},
    )
    found = {category: rank(lake, category=category)["m1"] for category in ("*", "dog", "cat")}
    assert {c: row["rating"] for c, row in found.items()} == pytest.approx(
        {"*": 1000, "dog": 1000 + LOG_3 / 2, "cat": 1000 - LOG_3 / 2}, abs=1e-6
    )
    assert {c: row["n"] for c, row in found.items()} == {"*": 16, "dog": 8, "cat": 8}


def test_raters_share_the_resamples(lake: Lake) -> None:
    chosen = plant(2, {"m1": 1100.0, "m2": 1000.0, "m3": 900.0}, 20)
    recorded = [recorded_duel(n, a, b, choice) for (n, a, b, _), choice in chosen.items()]
    give_preferences(lake, chosen, recorded=recorded)
    own, other = rank(lake), rank(lake, rater="gpt")
    assert {m: {**row, "rater": ""} for m, row in own.items()} == {
        m: {**row, "rater": "", "reported_at": own[m]["reported_at"]} for m, row in other.items()
    }


def test_the_seed_decides(lake: Lake) -> None:
    give_preferences(lake, plant(3, {"m1": 1100.0, "m2": 1000.0}, 20))
    suites = [make_suite(report=ReportSettings(resamples=50, seed=seed)) for seed in (0, 0, 1)]
    ends = [rank_by_raters(warehouse(lake), suite)["low"].to_list() for suite in suites]
    assert ends[0] == ends[1] != ends[2]


def test_without_pairs_nothing_is_ranked(lake: Lake) -> None:
    ingest(lake, [item("i0")])
    assert rank_by_raters(warehouse(lake), SUITE).is_empty()


def test_the_view_has_the_last_report_of_a_benchmark(lake: Lake) -> None:
    give_preferences(lake, {(n, "m1", "m2", "p1"): "a" if n else "b" for n in range(4)})
    append_rows(
        lake,
        "rankings",
        rank_by_raters(warehouse(lake), make_suite(name="other", report=SUITE.report)),
    )
    append_rows(lake, "rankings", rank_by_raters(warehouse(lake), SUITE))
    rows = query(lake, "select method, model, rank, rating from rpt_rankings")
    assert [(row["method"], row["model"], row["rank"]) for row in rows] == [
        (method, model, place)
        for method in ("bradley_terry", "elo")
        for place, model in enumerate(("m1", "m2"), 1)
    ]
    assert query(
        lake, "select count(*) as n, count(distinct suite) as suites from stg_rankings"
    ) == [{"n": 8, "suites": 2}]
