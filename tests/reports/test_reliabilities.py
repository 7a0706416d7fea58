"""Reliability among all raters in a report, and people as one rater in kappas: hand arithmetic, the
krippendorff package as the oracle.
"""

from pathlib import Path

import krippendorff
import numpy as np
import pytest

from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.reports.kappas import MOST_LEVELS
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.suite.suite import ReportSettings
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
)
from tests.reports.rater_rows import JUDGE, agree, give_preferences, recorded_duel

SUITE = make_suite(report=ReportSettings(resamples=100, seed=0))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def give_ratings(
    lake: Lake,
    ratings: np.ndarray,
    judge: np.ndarray | None = None,
    scale: tuple[float, float] = (1, 5),
    judge_scale: tuple[float, float] | None = None,
) -> None:
    """(annotators, answers), NaN where blank; three answers share an image. A judge's ratings are
    on the same scale unless it has its own.
    """
    items = [item(f"i{n:03}", f"Q{n}", image=f"{n // 3}.png") for n in range(ratings.shape[1])]
    ends: Row = {"scale_low": scale[0], "scale_high": scale[1]}
    rows = [
        rating(items[n]["item_id"], float(value), f"p{p}", **ends)
        for p, given in enumerate(ratings) for n, value in enumerate(given) if not np.isnan(value)
    ]  # fmt: skip
    said: list[Row] = [] if judge is None else [
        {"item_id": items[n]["item_id"], "answer_id": "m1", "judge": "gpt", "criterion": "correctness", "sample": 0, "status": "ok",
         "rating": float(value), "text": None, "reason": None,
         **dict(zip(ends, judge_scale or scale, strict=True))}
        for n, value in enumerate(judge)
    ]  # fmt: skip
    ingest(
        lake, items, [answer(one["item_id"], "x") for one in items], rows, recorded_verdicts=said
    )


def measure(lake: Lake) -> dict[tuple[str, str], Row]:
    return {
        (row["raters"], row["statistic"]): row
        for row in agree(lake, SUITE)["reliabilities"].to_dicts()
    }


def test_people_and_a_judge_with_them_equal_the_package(lake: Lake) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, 45)
    ratings = np.clip(truth + rng.integers(-1, 2, (3, 45)), 1, 5).astype(np.float64)
    ratings[rng.random(ratings.shape) < 0.2] = np.nan
    judge = np.clip(truth + rng.integers(-1, 2, 45), 1, 5).astype(np.float64)
    give_ratings(lake, ratings, judge)
    found = measure(lake)
    for name, given in (("people", ratings), ("people and gpt", np.vstack([ratings, judge]))):
        for metric in ("nominal", "ordinal", "interval"):
            row = found[name, f"alpha_{metric}"]
            # a judge's score of an answer that nobody rated is not in its group
            rated = given[:, ~np.isnan(ratings).all(axis=0)]
            assert row["value"] == pytest.approx(
                krippendorff.alpha(rated, level_of_measurement=metric), abs=1e-12
            )
            assert row["low"] < row["value"] < row["high"]
            assert (row["n"], row["n_undefined"], row["resamples"]) == (
                int(((~np.isnan(rated)).sum(axis=0) > 1).sum()),
                0,
                100,
            )
    assert found["people and gpt", "alpha_nominal"]["n_raters"] == 4
    assert {name for name, _ in found} == {"people", "people and gpt"}


def test_fleiss_kappa_by_hand(lake: Lake) -> None:
    # Three raters, answers 111, 110, 000, 100: kappa 1/3 (test_fleiss_kappa); a fifth has two
    # labels and is left out.
    ratings = np.array([[1, 1, 0, 1, 1], [1, 1, 0, 0, 1], [1, 0, 0, 0, np.nan]], dtype=np.float64)
    give_ratings(lake, ratings, scale=(0, 1))
    found = measure(lake)
    row = found["people", "fleiss_kappa"]
    assert (row["per_unit"], row["n"], row["n_left_out"], row["strength"]) == (3, 4, 1, "fair")
    assert row["value"] == pytest.approx(1 / 3)
    assert {statistic for _, statistic in found} == {
        "fleiss_kappa",
        "alpha_nominal",
    }  # of two levels the metrics are one


def test_choices_have_no_order_and_inconsistent_ones_are_no_labels(lake: Lake) -> None:
    chosen = {(n, "m1", "m2", who): "a" if n < 3 else "b" for n in range(6) for who in ("p1", "p2")}
    # of the first pair the judge's two rows differ
    recorded = [recorded_duel(n, "m1", "m2", "a" if n < 3 else "b") for n in range(6)] + [
        recorded_duel(0, "m2", "m1", "a")
    ]
    give_preferences(lake, chosen, recorded=recorded)
    found = measure(lake)
    assert {(row["n"], row["value"]) for row in found.values()} == {(6, 1.0), (5, 1.0)}
    assert found["people and gpt", "fleiss_kappa"]["n_left_out"] == 1
    assert {statistic for _, statistic in found} == {"fleiss_kappa", "alpha_nominal"}


def test_many_levels_are_a_measure(lake: Lake) -> None:
    ratings = np.random.default_rng(0).uniform(1, 5, (2, 1 + MOST_LEVELS // 2))
    give_ratings(lake, ratings)
    assert set(measure(lake)) == {("people", "alpha_interval")}


@pytest.mark.parametrize("image", ["absent", "swapped-0"])
def test_judges_among_themselves(lake: Lake, image: str) -> None:
    give_ratings(lake, np.array([[1.0, 1, 3]]), np.array([1.0, 3, 3]), scale=(1, 3))
    blind = "b" * 16
    append_records(
        lake,
        "judges",
        [
            judge_row("lave", JUDGE),
            judge_row("blind", blind, call_signature=f"protocol:lave|image:{image}"),
        ],
    )
    digests = [digest_of(item(f"i{n:03}", f"Q{n}"), "x") for n in range(3)]
    for judge, said in ((JUDGE, (1, 3, 3)), (blind, (3, 1, 1))):
        append_records(
            lake, "cases", [case_row(judge, f"i{n:03}", digest) for n, digest in enumerate(digests)]
        )
        append_records(
            lake,
            "verdicts",
            [verdict_row(judge, f"i{n:03}", digest, said[n]) for n, digest in enumerate(digests)],
        )
    row = measure(lake)["judges", "alpha_nominal"]
    assert (row["n_raters"], row["n"], row["value"]) == (2, 3, 1.0)
    append_rows(lake, "reliabilities", agree(lake, SUITE)["reliabilities"])
    assert query(
        lake,
        "select raters, n, value from rpt_reliability where statistic = 'alpha_nominal' and "
        "raters = 'judges'",
    ) == [{"raters": "judges", "n": 3, "value": 1.0}]


def test_raters_on_unlike_scales_are_compared_by_position_with_a_reason(lake: Lake) -> None:
    # The judge's 1 to 3 and the people's 1 to 5 share the labels 0, 0.5 and 1 by accident alone.
    people = np.array([[1.0, 2, 3, 4, 5, 4], [1, 3, 3, 5, 5, 4]])
    give_ratings(lake, people, np.array([1.0, 1, 2, 3, 3, 2]), judge_scale=(1, 3))
    found = measure(lake)
    assert {key for key in found if key[0] != "people"} == {("people and gpt", "alpha_interval")}
    row = found["people and gpt", "alpha_interval"]
    assert row["note"].startswith("scales of unlike spans, 2 and 4: no label in common")
    assert found["people", "alpha_ordinal"]["note"] is None
    pairs = kappas(lake)
    assert {chance for rater, _, chance in pairs if rater == "gpt"} == {"none"}
    row = pairs["gpt", "human:p0", "none"]
    assert (row["agreement"], row["kappa"], row["n"]) == (None, None, 6)
    for name in ("spearman", "kendall_tau_b"):
        expected = COEFFICIENTS[name](np.array([1.0, 1, 2, 3, 3, 2]), people[0])
        assert row[name] == pytest.approx(expected)
    assert row["reason"].startswith("scales of unlike spans, 2 and 4: no label in common")
    assert pairs["gpt", "human:* (majority)", "none"]["kappa"] is None
    # People among themselves have labels in common, and by SQL alone it is the same.
    assert pairs["human:p0", "human:p1", "quadratic"]["spearman"] is None
    live = query(lake, "select judge_a, judge_b, kappa, reason from rpt_agreement order by all")
    assert [row["kappa"] is None for row in live] == [True, True, False]
    assert [row["reason"] is None for row in live] == [False, False, True]


def kappas(lake: Lake) -> dict[tuple[str, str, str], Row]:
    return {
        (row["rater_a"], row["rater_b"], row["chance"]): row
        for row in agree(lake, SUITE)["kappas"].to_dicts()
    }


def test_people_as_one_rater_by_majority_and_by_mean(lake: Lake) -> None:
    # Majorities 1, 2, none, 3 (of 1 1 2, 2 2 3, 1 2 3, 3 3 3) against the judge's 1, 2, 2, 3: three
    # common labels, all equal.
    ratings = np.array([[1, 2, 1, 3], [1, 2, 2, 3], [2, 3, 3, 3]], dtype=np.float64)
    give_ratings(lake, ratings, np.array([1.0, 2, 2, 3]), scale=(1, 3))
    found = kappas(lake)
    majority = found["gpt", "human:* (majority)", "nominal"]
    assert (majority["n"], majority["agreement"], majority["kappa"], majority["strength"]) == (
        3,
        1.0,
        1.0,
        "almost perfect",
    )
    # Means on 0-1: 1/6, 2/3, 1/2, 1 against 0, 1/2, 1/2, 1. Squares of differences: 2/36 in all, of
    # 4 rows.
    mean = found["gpt", "human:* (mean)", "quadratic"]
    means, judge = np.array([1 / 6, 2 / 3, 1 / 2, 1]), np.array([0, 1 / 2, 1 / 2, 1])
    expected = 1 - ((means - judge) ** 2).mean() / ((means[:, None] - judge) ** 2).mean()
    assert (mean["n"], mean["kappa"]) == (4, pytest.approx(expected))
    assert ("gpt", "human:* (mean)", "nominal") not in found


def test_a_lone_annotator_is_not_pooled(lake: Lake) -> None:
    give_preferences(
        lake,
        {(n, "m1", "m2", "p1"): "a" for n in range(3)},
        recorded=[recorded_duel(n, "m1", "m2", "a") for n in range(3)],
    )
    assert {key[:2] for key in kappas(lake)} == {("gpt", "human:p1")}


def test_choices_pooled_by_majority(lake: Lake) -> None:
    # a a b -> a; a b tie -> nobody; b b b -> b; tie tie a -> tie
    votes = ["aab", "abt", "bbb", "tta"]
    said = {"a": "a", "b": "b", "t": "tie"}
    chosen = {
        (n, "m1", "m2", f"p{k}"): said[vote]
        for n, given in enumerate(votes)
        for k, vote in enumerate(given)
    }
    give_preferences(
        lake,
        chosen,
        recorded=[
            recorded_duel(n, "m1", "m2", choice) for n, choice in enumerate(["a", "a", "a", "tie"])
        ],
    )
    row = kappas(lake)["gpt", "human:* (majority)", "nominal"]
    # Of three common two agree. Chance: a 2/3 1/3, b 0 1/3, tie 1/3 1/3 = 1/3; kappa 1/2.
    assert (row["n"], row["agreement"], row["kappa"]) == (
        3,
        pytest.approx(2 / 3),
        pytest.approx(0.5),
    )
