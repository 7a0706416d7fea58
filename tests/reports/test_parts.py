"""Correlations of each task, category and style: scipy's, and those of the SQL functions."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from judgelake.schemas.reports import COEFFICIENTS
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports import scored_rows
from judgelake.tasks.reports.scored_rows import PARTS
from judgelake.tasks.suite.suite import ReportSettings
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file
from tests.lakes import answer, correlate, ingest, item, make_lake, make_suite, query, rating
from tests.reports.test_correlating import recorded

CATEGORIES, STYLES = ("colour", None, "count"), ("short", "long")
N_ITEMS = 60
RNG = np.random.default_rng(5)
PEOPLE = RNG.integers(0, 4, (N_ITEMS, 2)) / 3
JUDGE = np.clip(PEOPLE + RNG.normal(0, 0.3, PEOPLE.shape), 0, 1).round(2)
SUITE = make_suite(report=ReportSettings(resamples=100, seed=2))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Each item, of one of three categories, has a short and a long answer of one model."""
    lake = make_lake(tmp_path_factory.mktemp("parts"))
    keys = [(f"i{n:02}", style, n, s) for n in range(N_ITEMS) for s, style in enumerate(STYLES)]
    ingest(
        lake,
        [item(f"i{n:02}", f"Q{n}", category=CATEGORIES[n % 3]) for n in range(N_ITEMS)],
        [answer(i, f"{style} {i}", "m1", answer_id=style, style=style) for i, style, *_ in keys],
        [rating(i, PEOPLE[n, s], answer_id=style) for i, style, n, s in keys],
        recorded_verdicts=[recorded("r", i, style, 0, JUDGE[n, s]) for i, style, n, s in keys],
    )
    return lake


def test_each_part_equals_scipy(lake: Lake) -> None:
    found = correlate(lake, SUITE).correlations.filter(
        pl.col("coefficient") == "spearman", pl.col("human_rule") == "mean", pl.col("model") == "*"
    )
    chosen = {
        ("*", "*"): np.ones_like(PEOPLE, dtype=bool),
        ("*", "short"): np.array([[True, False]] * N_ITEMS),
        ("*", "long"): np.array([[False, True]] * N_ITEMS),
    }
    for k, category in enumerate(CATEGORIES):
        chosen[category or "(none)", "*"] = np.repeat(np.arange(N_ITEMS) % 3 == k, 2).reshape(-1, 2)
    expected = {
        ("*", *key): (int(rows.sum()), stats.spearmanr(JUDGE[rows], PEOPLE[rows])[0])
        for key, rows in chosen.items()
    }  # all items have one task: it has no row of its own
    got = {row[:3]: row[3:] for row in found.select(*PARTS, "n", "value").iter_rows()}
    assert got.keys() == expected.keys()
    for key, (n, value) in expected.items():
        assert got[key] == (n, pytest.approx(value, abs=1e-12))


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_each_part_has_the_figures_of_sql(lake: Lake, coefficient: str) -> None:
    text = f"""
        select coalesce(category, '(none)') as name, unnest({coefficient}_ci(
            judge, human, cluster, resamples := 100, seed := 2))
        from scores_with_people group by category order by name"""
    found = correlate(lake, SUITE).correlations.filter(
        pl.col("coefficient") == coefficient,
        pl.col("human_rule") == "mean",
        pl.col("category") != "*",
    )
    columns = "value", "low", "high", "n", "n_clusters"
    rows = found.sort("category").select("category", *columns).rows()
    assert rows == [(row["name"], *(row[c] for c in columns)) for row in query(lake, text)]


def test_judges_are_compared_on_all_parts_together(lake: Lake) -> None:
    assert correlate(lake, SUITE).comparisons["n"].to_list() == [2 * N_ITEMS] * len(COEFFICIENTS)


def test_more_than_a_hundred_categories_have_no_rows(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored_rows, "MOST_PARTS", 2)
    found = correlate(lake, SUITE).correlations
    assert found["category"].unique().to_list() == ["*"]
    assert set(found["style"]) == {"*", *STYLES}


def test_a_category_without_a_name_is_none(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ingest(lake, [item("i0")], [answer("i0", "x", "m1")])
    with open_warehouse(lake) as connection:
        (row,) = select_file(connection, "queries/answer_parts.sql", {"benchmark": "b"}).rows()
    assert row == ("i0", "m1", "vqa", "(none)", "short")
