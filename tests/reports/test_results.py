"""Results by report: what is kept, what counts as moved, and which earlier report a page is
compared with.
"""

import datetime
from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.reports.build import build_report, open_for
from judgelake.tasks.reports.exports import is_fresh
from judgelake.tasks.reports.results import choose_base
from tests.lakes import (
    Row,
    append_records,
    digest_of,
    item,
    make_lake,
    metric_row,
    query,
    score_row,
)
from tests.reports.test_build import (
    SUITE,
    copy_lake,
    planted,  # noqa: F401  # fixture
)

pytestmark = pytest.mark.usefixtures("bare_reports")
DAY = datetime.datetime(2026, 11, 20, 3, tzinfo=datetime.UTC)
FIGURES = "select figure, judge, model, value, n from results order by all"


def result(day: int, value: float | None, **other: object) -> Row:
    row: Row = {
        "suite": "s", "run_id": f"run{day}", "figure": "mean", "benchmark": "b", "judge": "j",
        "model": "m", "criterion": "*", "value": value, "n": 10,
        "low": None if value is None else value - 0.1, "high": None if value is None else value + 0.1,
        "reported_at": DAY + datetime.timedelta(days=day),
    }  # fmt: skip
    return row | other


def test_report_results_are_kept_once_and_say_what_the_views_say(
    planted: Lake,  # noqa: F811
    tmp_path: Path,
) -> None:
    lake = copy_lake(planted, tmp_path)
    kept = query(lake, FIGURES)
    assert {row["figure"] for row in kept} == {"agreement", "mean", "coverage"}
    coverage = [(row["value"], row["n"]) for row in kept if row["figure"] == "coverage"]
    assert coverage == [(47 / 48, 48), (1.0, 48)]
    means = {(r["judge"], r["model"]): r["value"] for r in kept if r["figure"] == "mean"}
    assert means == {
        (row["metric"], row["model"]): row["mean"] for row in query(lake, "from rpt_metrics")
    }
    page = build_report(lake, SUITE)
    assert query(lake, FIGURES) == kept
    assert query(lake, "from changes") == []
    assert "Against the report" not in Path(str(page)).read_text()


def test_a_page_names_what_moved_and_what_it_is_compared_with(
    planted: Lake,  # noqa: F811
    tmp_path: Path,
) -> None:
    lake = copy_lake(planted, tmp_path)
    texts = [
        (f"i{n:02}", digest_of(item(f"i{n:02}", f"Q{n}", image=f"{n % 9}.png"), f"m1 on {n}"))
        for n in range(24)
    ]
    append_records(lake, "judges", [metric_row("new", "e" * 16)])
    append_records(lake, "metric_scores", [score_row("e" * 16, *key, 0.5) for key in texts])
    shown = " ".join(Path(str(build_report(lake, SUITE))).read_text().split())
    assert "Against the report of" in shown
    assert "none of " in shown
    assert "all are what they were" in shown
    assert is_fresh(lake, SUITE)

    other = build_report(lake, SUITE, str(planted.root))
    assert f"Against the lake {planted.root}" in " ".join(Path(str(other)).read_text().split())
    assert not is_fresh(lake, SUITE)  # the next report is compared with the last again


def test_moved_is_more_than_both_intervals_leave_to_chance(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    # half widths of .1 and .1: their root of squares is .1414
    rows = [
        result(0, 0.3), result(1, 0.36), result(2, 0.5),
        result(1, 0.5, model="still"), result(2, 0.63, model="still"),
        result(1, None, model="none"), result(2, 0.6, model="none"),
        result(1, 0.5, model="gone"), result(2, 0.5, model="new"),
        result(1, 0.990, model="*", figure="coverage", low=None, high=None),
        result(2, 0.979, model="*", figure="coverage", low=None, high=None),
    ]  # fmt: skip
    append_records(lake, "results", rows)
    found = query(
        lake,
        "select model, base_run_id, round(difference, 3) as difference, has_moved, is_last "
        "from changes order by model, base_run_id",
    )
    assert [tuple(row.values()) for row in found] == [
        ("*", "run1", -0.011, True, True),
        ("m", "run0", 0.2, True, False),
        ("m", "run1", 0.14, False, True),
        ("none", "run1", None, None, True),
        ("still", "run1", 0.13, False, True),
    ]


@pytest.mark.parametrize(
    ("wanted", "run"),
    [("last", "run2"), ("2026-11-21", "run1"), ("2026-12-31", "run2"), ("run0", "run0")],
)
def test_a_base_is_the_last_report_a_date_or_a_run(
    planted: Lake,  # noqa: F811
    tmp_path: Path,
    wanted: str,
    run: str,
) -> None:
    lake = copy_lake(planted, tmp_path)
    append_records(lake, "results", [result(day, 0.5, suite=SUITE.name) for day in range(3)])
    with open_for(lake.take_snapshot(), SUITE, lazy=True, keeps_core=False) as connection:
        newest = query(lake, "select max(reported_at) as at from results")[0]["at"]
        assert newest > result(2, None)["reported_at"]  # the planted lake's own report
        base = choose_base(connection, SUITE, wanted)
    assert base is not None
    assert (base.reported_at, base.name) == (result(int(run[-1]), None)["reported_at"], run)


def test_the_page_names_the_base_that_was_chosen(
    planted: Lake,  # noqa: F811
    tmp_path: Path,
) -> None:
    lake = copy_lake(planted, tmp_path)
    append_records(lake, "results", [result(day, 0.5, suite=SUITE.name) for day in range(3)])
    page = Path(str(build_report(lake, SUITE, "run0")))
    assert "(run <code>run0</code>)" in page.read_text()


@pytest.mark.parametrize("wanted", ["2020-01-01", "nothing", "./nowhere"])
def test_a_base_that_is_not_there_is_refused_before_anything_is_computed(
    planted: Lake,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wanted: str,
) -> None:
    lake = copy_lake(planted, tmp_path)
    make_lake(tmp_path / "empty")
    monkeypatch.setattr("judgelake.tasks.reports.build.compute_figures", None)
    with pytest.raises(Exception, match=r"nowhere|--compare (2020-01-01|nothing): no earlier"):
        build_report(lake, SUITE, wanted)
    with pytest.raises(SuiteError, match="this lake has no results of a suite"):
        build_report(lake, SUITE, str(open_lake(tmp_path / "empty" / "lake").root))
