"""Whom judges are held to: checked before anything is asked, and named with the samples that are
the target.
"""

from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.reports.scored_rows import check_against, name_target
from judgelake.tasks.suite.suite import ReportSettings
from tests.lakes import answer, append_records, ingest, item, judge_row, make_lake, make_suite
from tests.reports.test_correlating import recorded


def test_a_target_is_a_registered_or_a_recorded_judge(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    append_records(lake, "judges", [judge_row("lave", "a" * 16)])
    ingest(
        lake,
        [item("i0")],
        [answer("i0", "x")],
        recorded_verdicts=[recorded("gpt-4v", "i0", "m1", 0, 0.5)],
    )
    for known in ("human", "lave", "gpt-4v"):
        check_against(lake, make_suite(report=ReportSettings(against=known)))
    with pytest.raises(
        SuiteError,
        match=r"report: against: 'gpt-4' is no rater of this lake; did you mean 'gpt-4v'\?",
    ):
        check_against(lake, make_suite(report=ReportSettings(against="gpt-4")))


def test_the_samples_that_a_suite_chooses_are_named() -> None:
    assert (
        name_target(make_suite(report=ReportSettings(against="gpt-4v", against_samples=(0, 1, 2))))
        == "gpt-4v:0+1+2"
    )
    assert name_target(make_suite(report=ReportSettings(against="gpt-4v"))) == "gpt-4v"
