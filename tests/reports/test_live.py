"""Report views where there is no report of what the lake holds: the figures are those that a report
would write, and are computed once.
"""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from judgelake.schemas.tables import TABLES
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports.build import FIGURES, build_report
from judgelake.tasks.reports.live import make_figures
from judgelake.tasks.suite.kept import list_suites, record_suite
from judgelake.tasks.suite.suite import Suite, parse_suite
from judgelake.tasks.warehouse.views import list_below, view_texts
from judgelake.tasks.warehouse.warehouse import open_warehouse, renew, select_frame
from tests.lakes import answer, append_records, ingest, item, judge_row, make_lake, rating
from tests.reports.test_build import copy_lake, plant

TEXT = """
name: s
benchmarks: {b: {source: demo}}
report: {resamples: 50, seed: 0}
"""
REPORTED = [name for name, table in TABLES.items() if table.origin == "report"]
VIEWS = [
    name
    for name in view_texts()
    if name.startswith("rpt_") and not list_below(name).isdisjoint(f"raw_{t}" for t in REPORTED)
]
SPEARMAN = (
    "select value, low, high, n from rpt_correlation where judge = 'lave' and coefficient = "
    "'spearman' and human_criterion = 'correctness' and model = '*' and human_rule = 'mean' "
    "and (task, category, style) = ('*', '*', '*')"
)


pytestmark = pytest.mark.usefixtures("bare_reports")


@pytest.fixture(scope="module")
def suite() -> Suite:
    return parse_suite(Path("suite.yaml"), TEXT)


@pytest.fixture(scope="module")
def unreported(tmp_path_factory: pytest.TempPathFactory, suite: Suite) -> Lake:
    """A lake whose suite has run, and has no report; for tests that only read, or copy."""
    lake = make_lake(tmp_path_factory.mktemp("unreported"))
    plant(lake)
    record_suite(lake, suite)
    return lake


@pytest.fixture(scope="module")
def with_report(unreported: Lake, suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same with its report; for tests that only read, or copy."""
    lake = copy_lake(unreported, tmp_path_factory.mktemp("with_report"))
    build_report(lake, suite)
    return lake


@pytest.fixture
def lake(unreported: Lake, tmp_path: Path) -> Lake:
    return copy_lake(unreported, tmp_path)


@pytest.fixture
def reported_lake(with_report: Lake, tmp_path: Path) -> Lake:
    return copy_lake(with_report, tmp_path)


class Asked:
    """A connection as `judgelake sql` has it, and the lines that it says."""

    def __init__(self, lake: Lake) -> None:
        self.connection = open_warehouse(lake, sealed=True, lazy=True)
        self.lines: list[str] = []

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        make_figures(self.connection, text, self.lines.append)
        frame = select_frame(self.connection, text, "asked")
        return frame.drop("reported_at", strict=False).rows()


def ask(lake: Lake, text: str) -> list[tuple[Any, ...]]:
    return Asked(lake).rows(text)


def test_every_report_table_is_computed_by_one_function() -> None:
    assert sorted(table for figures in FIGURES for table in figures.tables) == sorted(REPORTED)


def test_every_view_is_the_same_before_and_after_a_report(lake: Lake, with_report: Lake) -> None:
    asked = Asked(lake)
    before = {view: asked.rows(f"select * from {view} order by all") for view in VIEWS}
    assert before["rpt_correlation"]
    assert before["rpt_kappas"]
    assert asked.lines
    after = Asked(with_report)
    assert {view: after.rows(f"select * from {view} order by all") for view in VIEWS} == before
    assert after.lines == []


def test_figures_follow_what_the_lake_holds(reported_lake: Lake, suite: Suite) -> None:
    lake = reported_lake
    reported = ask(lake, SPEARMAN)
    rows = [rating(f"i{n:02}", n % 2, "p9", "m1") for n in range(24)]
    items = [item(f"i{n:02}", f"Q{n}", image=f"{n % 9}.png") for n in range(24)]
    answers = [answer(f"i{n:02}", f"{m} on {n}", m) for n in range(24) for m in ("m1", "m2")]
    ingest(lake, items, answers, rows, minute=6)
    changed = Asked(lake)
    ((value, *_),) = changed.rows(SPEARMAN)
    scores = changed.rows(
        "select judge, human from scores_with_people where alias = 'lave' "
        "and human_criterion = 'correctness' and judge is not null and human is not null"
    )
    judge, human = np.array(scores).T
    assert value == pytest.approx(stats.spearmanr(judge, human)[0], abs=1e-12)
    assert (value,) != reported[0][:1]
    assert len(changed.lines) == 1
    build_report(lake, suite)
    assert ask(lake, SPEARMAN)[0][0] == value


def test_figures_are_computed_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Asked(lake)
    rows = first.rows(SPEARMAN)
    assert first.lines == ["s: computing correlations: the lake has no report of what it holds now"]
    assert first.rows(SPEARMAN) == rows
    monkeypatch.setattr("judgelake.tasks.reports.build.compute_figures", None)
    second = Asked(lake)
    assert second.rows(SPEARMAN) == rows
    assert second.rows("select count(*) from judge_comparisons") != [(0,)]  # computed beside them
    assert second.lines == []


def test_a_lake_that_cannot_be_written_has_the_same_figures(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    there = sorted(lake.mirror.rglob("*"))
    rows = ask(lake, SPEARMAN)
    assert sorted(lake.mirror.rglob("*")) == there
    monkeypatch.undo()
    assert ask(lake, SPEARMAN) == rows


def test_a_statement_without_report_tables_computes_nothing(lake: Lake) -> None:
    asked = Asked(lake)
    assert asked.rows("select count(*) from items") == [(24,)]
    assert asked.lines == []


def test_a_suite_that_cannot_be_read_shows_its_last_report(
    reported_lake: Lake, suite: Suite
) -> None:
    lake = reported_lake
    reported = ask(lake, SPEARMAN)
    broken = dataclasses.replace(suite, text="name: s\nbenchmarks: {b: {source: gone}}", digest="x")
    record_suite(lake, broken)
    asked = Asked(lake)
    assert asked.rows(SPEARMAN) == reported
    (line,) = asked.lines
    assert line.startswith("s: figures of its last report are shown: ")
    assert "suite.yaml:2: source: 'gone'" in line


def test_two_suites_keep_apart(lake: Lake, suite: Suite) -> None:
    other = parse_suite(Path("other.yaml"), TEXT.replace("name: s", "name: t"))
    append_records(lake, "judges", [judge_row("lave", "a" * 16, suite="t")])
    build_report(lake, suite)
    record_suite(lake, other)
    asked = Asked(lake)
    counts = asked.rows("select suite, count(*) from correlations group by all order by all")
    assert [name for name, _ in counts] == ["s", "t"]
    assert [line.split(":")[0] for line in asked.lines] == ["t"]
    assert [kept.name for kept in list_suites(lake)] == ["s", "t"]


def test_a_prompt_that_stays_open_shows_the_report_that_came(lake: Lake, suite: Suite) -> None:
    asked = Asked(lake)
    rows = asked.rows(SPEARMAN)
    build_report(lake, suite)
    for part in lake.part_files("human_ratings"):
        part.rename(part.with_name("0" * 64 + ".parquet"))  # as a compaction replaces it
    assert renew(asked.connection)
    asked.lines.clear()
    assert asked.rows(SPEARMAN) == rows
