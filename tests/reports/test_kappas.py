"""Kappas in a report: hand arithmetic, scikit-learn as the oracle, and what is left out."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.stats.resampling import key_clusters
from judgelake.tasks.suite.suite import ReportSettings, read_suite
from judgelake.tasks.warehouse.warehouse import select_file
from tests.lakes import (
    Row,
    answer,
    append_records,
    ingest,
    item,
    judge_row,
    make_lake,
    make_suite,
    query,
    rating,
    warehouse,
)
from tests.reports.rater_rows import (
    JUDGE,
    agree,
    give_preferences,
    judge_both_orders,
    recorded_duel,
)

SUITE = make_suite(report=ReportSettings(resamples=100, seed=0))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def measure(lake: Lake) -> dict[tuple[str, str, str], Row]:
    rows = agree(lake, SUITE)["kappas"].to_dicts()
    return {(row["rater_a"], row["rater_b"], row["chance"]): row for row in rows}


def test_kappa_of_choices_by_hand_and_by_matchup(lake: Lake) -> None:
    # On m1-m2 both always say m1, on m3-m4 both always m4: without the matchup's chance the
    # agreement of 1 would be kappa 1; by matchup
    # chance alone agrees always, and there is no kappa.
    chosen = {
        (n, a, b, "p1"): choice
        for a, b, choice in (("m1", "m2", "a"), ("m3", "m4", "b"))
        for n in range(6)
    }
    recorded = [
        recorded_duel(n, b, a, "b" if choice == "a" else "a")
        for (n, a, b, _), choice in chosen.items()
    ]
    give_preferences(lake, chosen, recorded=recorded)
    found = measure(lake)
    plain, by_matchup = (found["gpt", "human:p1", chance] for chance in ("nominal", "matchups"))
    assert (
        plain["n"],
        plain["n_clusters"],
        plain["agreement"],
        plain["kappa"],
        plain["strength"],
    ) == (
        12,
        6,
        1,
        1,
        "almost perfect",
    )
    assert (
        by_matchup["agreement"],
        by_matchup["kappa"],
        by_matchup["strength"],
        by_matchup["n_undefined"],
    ) == (
        1,
        None,
        "undefined",
        100,
    )


def test_kappa_with_ties_and_its_interval(lake: Lake) -> None:
    # Ten pairs: people a a a a b b b b tie tie, the judge a a a b b b b a tie a: 7 agree. Chance: a
    # .4 .5, b .4 .4, tie .2 .1 = .38.
    human = ["a"] * 4 + ["b"] * 4 + ["tie"] * 2
    judge = ["a", "a", "a", "b", "b", "b", "b", "a", "tie", "a"]
    recorded = [recorded_duel(n, "m1", "m2", choice) for n, choice in enumerate(judge)]
    give_preferences(
        lake, {(n, "m1", "m2", "p1"): choice for n, choice in enumerate(human)}, recorded=recorded
    )
    found = measure(lake)
    for chance in ("nominal", "matchups"):
        row = found["gpt", "human:p1", chance]
        assert row["agreement"] == pytest.approx(0.7)
        assert row["kappa"] == pytest.approx((0.7 - 0.38) / (1 - 0.38))
        assert row["kappa_low"] < row["kappa"] < row["kappa_high"]
        assert row["agreement_low"] < 0.7 < row["agreement_high"]
        assert (row["strength"], row["n_undefined"], row["resamples"], row["seed"]) == (
            "moderate",
            0,
            100,
            0,
        )


def test_inconsistent_pairs_are_left_out_and_counted(lake: Lake) -> None:
    give_preferences(lake, {(n, "m1", "m2", "p1"): "a" if n < 3 else "b" for n in range(5)})
    append_records(lake, "judges", [judge_row("chirp", JUDGE)])
    for number, winners in enumerate(
        (("m1", "m1"), ("m1", "m1"), ("m1", "m2"), ("m2", "m2"), ("m1", None))
    ):
        judge_both_orders(lake, number, winners)
    row = measure(lake)["chirp", "human:p1", "nominal"]
    # Items 0, 1 and 3 agree; 2 is inconsistent, 4 has no verdict.
    assert (row["n"], row["n_inconsistent"], row["agreement"], row["kappa"]) == (3, 1, 1, 1)


def test_kappas_of_scores_equal_scikit_learn_s(lake: Lake) -> None:
    rng = np.random.default_rng(4)
    given = rng.integers(0, 4, 40)
    second = np.clip(given + rng.integers(-1, 2, 40), 0, 3)
    items = [item(f"i{n:02}", image=f"{n % 15}.png") for n in range(40)]
    rows = [
        rating(f"i{n:02}", float(value), who, scale_high=3.0)
        for who, values in (("p1", given), ("p2", second))
        for n, value in enumerate(values)
    ]
    ingest(lake, items, [answer(row["item_id"], "x") for row in items], rows)
    found = measure(lake)
    assert set(found) == {
        ("human:p1", "human:p2", chance) for chance in ("nominal", "linear", "quadratic")
    }
    for chance in ("nominal", "linear", "quadratic"):
        row = found["human:p1", "human:p2", chance]
        expected = cohen_kappa_score(given, second, weights=None if chance == "nominal" else chance)
        assert row["kappa"] == pytest.approx(expected, abs=1e-12)
        assert (row["n"], row["n_clusters"], row["agreement"]) == (
            40,
            15,
            pytest.approx((given == second).mean()),
        )


def test_the_agreement_is_that_of_the_view_without_intervals(lake: Lake) -> None:
    rng = np.random.default_rng(5)
    chosen: dict[tuple[int, str, str, str], str | None] = {
        (n, *models, who): str(rng.choice(["a", "b", "tie"]))
        for n in range(15)
        for models in (("m1", "m2"), ("m2", "m3"))
        for who in ("p1", "p2", "p3")
    }
    give_preferences(lake, chosen)
    found = measure(lake)
    plain = query(lake, "select judge_a, judge_b, n, agreement, kappa from rpt_agreement")
    assert len(plain) == 3
    for row in plain:
        own = found[row["judge_a"], row["judge_b"], "nominal"]
        assert (own["n"], own["agreement"], own["kappa"]) == (
            row["n"],
            pytest.approx(row["agreement"]),
            pytest.approx(row["kappa"]),
        )


def test_labels_are_reported_once_a_pair(lake: Lake) -> None:
    """rater_labels: two rows of one pair in either order that contradict each other are
    inconsistent.
    """
    recorded = [
        recorded_duel(0, "m1", "m2", "a"),
        recorded_duel(0, "m2", "m1", "a"),
        recorded_duel(1, "m2", "m1", "tie"),
    ]
    give_preferences(lake, {(1, "m1", "m2", "p1"): "b"}, recorded=recorded)
    frame = select_file(warehouse(lake), "queries/rater_labels.sql", {"benchmark": "b"})
    first, second = key_clusters(["b/i000", "b/i001"]).tolist()
    known = (False, None, "vqa", "(none)", "short", "m1", "m2")
    assert frame.rows() == [
        ("choice", "overall", who, *known, label, 1, unit, key)
        for who, label, unit, key in (
            ("gpt", 3.0, 0, first),
            ("gpt", 2.0, 1, second),
            ("human:p1", 1.0, 1, second),
        )
    ]


def test_the_view_has_what_was_written(lake: Lake) -> None:
    give_preferences(
        lake, {(n, "m1", "m2", who): "a" if n else "b" for n in range(4) for who in ("p1", "p2")}
    )
    append_rows(lake, "kappas", agree(lake, SUITE)["kappas"])
    rows = query(lake, "select rater_a, rater_b, chance, n, kappa, strength from rpt_kappas")
    assert [tuple(row.values()) for row in rows] == [
        ("human:p1", "human:p2", chance, 4, 1.0, "almost perfect")
        for chance in ("matchups", "nominal")
    ]


@pytest.mark.data
def test_gpt_4_agrees_with_people_on_vicuna_s_eighty_questions(
    lake: Lake, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accuracy 0.525 and kappa 0.228, as the data folder's README gives them."""
    monkeypatch.setenv("JUDGELAKE_DATA", str(data_folder))
    suite = read_suite(Path(__file__).parents[2] / "infra" / "suites" / "vicuna_pairs.yaml")
    ingest_benchmark(lake, suite.benchmarks["vicuna_pairs"], lake.root, None)
    rows = agree(lake, suite)["kappas"].to_dicts()
    found = {
        row["chance"]: row
        for row in rows
        if (row["rater_a"], row["rater_b"], row["category"]) == ("gpt-4", "human:human", "*")
    }
    for row in (found["nominal"], found["matchups"]):  # people compared one matchup
        assert (row["n"], row["agreement"]) == (80, 0.525)
        assert row["kappa"] == pytest.approx(0.228, abs=5e-4)
        assert row["kappa_low"] < 0.228 < row["kappa_high"]
