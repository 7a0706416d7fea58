"""Equal means of people's ratings are ties, whatever the terms and the order of their sum: planted
scales, on which a judge is exactly the mean.
"""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports.comparisons import SYSTEMS
from judgelake.tasks.stats.correlation import find_levels
from judgelake.tasks.stats.human_rules import tabulate_scores, take_mean
from judgelake.tasks.suite.suite import ReportSettings
from judgelake.tasks.warehouse.catalog import find_recipe
from tests.conftest import CHECKOUT
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


def write_answer(item_number: int, model_number: int) -> str:
    """Texts of 1 to 23 characters."""
    return "x" * (1 + (7 * item_number + 5 * model_number) % 23)


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
    answers = [
        answer(row["item_id"], write_answer(n, m), model)
        for n, row in enumerate(items)
        for m, model in enumerate(MODELS)
    ]
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
        assert row["n"] == count_means(n_levels, n_annotators)


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


def count_means(n_levels: int, n_annotators: int) -> int:
    """How many different means the judge gives: as many as the sums of the ratings."""
    return int(np.unique(draw_ratings(n_levels, n_annotators).sum(axis=2)).size)


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize(
    ("view", "criterion", "score"),
    [
        ("core_rated_scores", "judge_criterion", "judge_score"),
        ("scores_with_people", "criterion", "judge"),
    ],
)
def test_equal_means_of_a_judge_s_samples_are_equal_in_views(
    tmp_path: Path, view: str, criterion: str, score: str, step: int
) -> None:
    lake = make_lake(tmp_path)
    plant(lake, SCALES, step)
    found = query(
        lake,
        f"select {criterion} as criterion, count(distinct {score}) as n from {view} "
        f"where {criterion} = human_criterion group by all",
    )
    assert {row["criterion"]: row["n"] for row in found} == {
        name_scale(*scale): count_means(*scale) for scale in SCALES
    }


def test_the_order_of_rows_changes_no_figure_of_length_and_score(tmp_path: Path) -> None:
    recipe = find_recipe("length_and_score")
    found = []
    for step in (1, -1):
        lake = make_lake(tmp_path / str(step))
        plant(lake, SCALES, step)
        rows = query(lake, recipe.text, recipe.fill_options([]))
        found.append({(row["rater"], row["criterion"]): row["spearman"] for row in rows})
    for n_levels, n_annotators in SCALES:
        means = draw_ratings(n_levels, n_annotators).sum(axis=2)
        lengths = [len(write_answer(n, m)) for n, m in np.ndindex(means.shape)]
        expected = stats.spearmanr(lengths, means.ravel()).statistic
        for rater in ("mean", "human"):
            key = rater, name_scale(n_levels, n_annotators)
            assert [of_order[key] for of_order in found] == pytest.approx([expected] * 2, abs=1e-12)


def test_an_answer_at_the_threshold_is_called_right(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    plant(lake, [(7, 3)], 1)
    recipe = find_recipe("grading_errors")
    (row,) = query(lake, recipe.text, recipe.fill_options([f"at_least={4 / 18}"]))
    sums = draw_ratings(7, 3).sum(axis=2) - 3  # of 18; half is 9
    assert row["accuracy"] == np.mean((sums >= 4) == (sums >= 9))


NOT_COMPARED = {
    "core/core_mean_scores.sql": "means of models, rounded where they are ranked",
    "queries/judge_samples.sql": "rounded as the samples are averaged",
    "reports/rpt_failure_scores.sql": "means that nothing is compared with",
}


def test_sql_rounds_each_mean_of_scores_that_it_may_compare() -> None:
    plain = re.compile(r"(?<!round_mean\()avg\((\w+\.)?score_0_1\)")
    folder = CHECKOUT / "sql"
    files = [path for path in folder.rglob("*.sql") if path.parent.name != "papers"]
    found = {str(path.relative_to(folder)) for path in files if plain.search(path.read_text())}
    assert found == set(NOT_COMPARED)
