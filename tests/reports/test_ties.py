"""Equal means of people's ratings are ties, whatever the terms and the order of their sum: planted
scales, on which a judge is exactly the mean.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports.comparisons import SYSTEMS
from judgelake.tasks.stats.correlation import find_levels
from judgelake.tasks.stats.human_rules import tabulate_scores, take_mean
from judgelake.tasks.suite.suite import ReportSettings
from tests.lakes import Row, answer, correlate, ingest, item, make_lake, make_suite, query, rating

SCALES = [(7, 3), (101, 6)]
"""Levels and annotators, of which the issue's case is (7, 3)."""
MODELS = [f"m{number}" for number in range(6)]
N_ITEMS = 12


def draw_ratings(n_levels: int, n_annotators: int) -> np.ndarray:
    """Ratings from 1 on, with few different means: (items, models, annotators). Models come in
    twos of equal means, whose ratings stand in another order.
    """
    rng = np.random.default_rng((n_levels, n_annotators))
    middle = rng.integers(1, n_levels + 1, (N_ITEMS, 3, 1))
    near = np.clip(middle + rng.integers(-2, 3, (N_ITEMS, 3, n_annotators)), 1, n_levels)
    return np.concatenate([near, rng.permuted(near, axis=2)[rng.permutation(N_ITEMS)]], axis=1)


def name_scale(n_levels: int, n_annotators: int) -> str:
    return f"{n_levels} levels, {n_annotators} annotators"


def recorded(item_id: str, model: str, criterion: str, sample: int, score: float) -> Row:
    row: Row = {"item_id": item_id, "answer_id": model, "judge": "mean", "criterion": criterion}
    row |= {"sample": sample, "status": "ok", "rating": score, "scale_low": 0.0}
    return {**row, "scale_high": 1.0, "text": None, "reason": None}


def plant(lake: Lake, scales: list[tuple[int, int]], step: int) -> None:
    """A judge that gives exactly the mean of the annotators, on half of the items by samples that
    are their ratings; rows in their order or the reverse.
    """
    ratings, verdicts = [], []
    for n_levels, n_annotators in scales:
        criterion, given = name_scale(n_levels, n_annotators), draw_ratings(n_levels, n_annotators)
        ends = {"criterion": criterion, "scale_low": 1.0, "scale_high": float(n_levels)}
        for (n, m), _ in np.ndenumerate(given[..., 0]):
            name, values = f"i{n:02}", given[n, m].tolist()
            ratings += [
                rating(name, float(value), f"p{p}", MODELS[m], **ends)
                for p, value in enumerate(values)
            ]
            shares = [(value - 1) / (n_levels - 1) for value in sorted(values)]
            samples = shares if n % 2 else [sum(shares) / n_annotators] * n_annotators
            verdicts += [
                recorded(name, MODELS[m], criterion, sample, share)
                for sample, share in enumerate(samples)
            ]
    items = [item(f"i{n:02}", f"Q{n}") for n in range(N_ITEMS)]
    answers = [answer(row["item_id"], model, model) for row in items for model in MODELS]
    ingest(lake, items, answers, ratings[::step], recorded_verdicts=verdicts[::step])


@pytest.mark.parametrize("step", [1, -1])
def test_a_judge_that_is_exactly_the_mean_has_tau_b_1(tmp_path: Path, step: int) -> None:
    lake = make_lake(tmp_path)
    plant(lake, SCALES, step)
    found = correlate(lake, make_suite(report=ReportSettings(resamples=20, seed=0))).correlations
    rows = found.filter(
        (pl.col("judge_criterion") == pl.col("human_criterion"))
        & (pl.col("human_rule") == "mean")
        & (pl.col("sample_rule") == "mean")
        & (pl.col("coefficient") == "kendall_tau_b")
        & pl.col("model").is_in(["*", SYSTEMS])
    ).to_dicts()
    assert len(rows) == 2 * len(SCALES)
    for row in rows:
        assert row["value"] == 1, row
        assert row["low"] is None or row["low"] <= 1 <= row["high"], row
    assert all(row["high"] == 1 for row in rows if row["model"] == "*")


def test_people_of_equal_means_are_equal_in_sql(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    plant(lake, SCALES, 1)
    for n_levels, n_annotators in SCALES:
        criterion = name_scale(n_levels, n_annotators)
        (row,) = query(
            lake,
            "select count(distinct score_0_1) as n from core_human "
            "where human_rule = 'mean' and criterion = $criterion",
            {"criterion": criterion},
        )
        assert row["n"] == np.unique(draw_ratings(n_levels, n_annotators).sum(axis=2)).size


@pytest.mark.parametrize("n_annotators", [3, 5, 8, 13])
@pytest.mark.parametrize("n_levels", [4, 7, 10, 101, 1001])
def test_means_are_equal_where_their_fractions_are(n_levels: int, n_annotators: int) -> None:
    rng = np.random.default_rng(3)
    given = rng.integers(n_levels, size=(2_000, n_annotators))
    given = np.concatenate([given, rng.permuted(given, axis=1), np.sort(given, axis=1)])
    ratings = given / (n_levels - 1)
    exact = [Fraction(int(total), n_annotators * (n_levels - 1)) for total in given.sum(axis=1)]
    order = {fraction: place for place, fraction in enumerate(sorted(set(exact)))}
    places = np.array([order[fraction] for fraction in exact])
    rows = np.repeat(np.arange(len(ratings)), n_annotators)
    cells = ratings.ravel(), rows, np.zeros(ratings.size, dtype=np.int64)
    of_all = take_mean(ratings), tabulate_scores(*cells, (len(ratings), 1))[:, 0]
    assert np.unique(of_all[0]).size > len(order)  # what equal means were before
    for means in of_all:
        levels, found = find_levels(means)
        np.testing.assert_array_equal(found, places)
        assert levels.size == len(order)


def test_sql_rounds_means_as_they_are_compared(tmp_path: Path) -> None:
    (row,) = query(
        make_lake(tmp_path),
        "select avg(x) as plain, round_mean(avg(x)) as compared "
        "from (select unnest([1 / 7, 2 / 7, 6 / 7]) as x)",
    )
    assert row["compared"] == round(3 / 7, 12)
