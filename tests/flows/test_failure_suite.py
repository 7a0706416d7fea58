"""The suite of failure modes through the command: cases, labels by rule and by labelling judges,
and what the page shows of them.
"""

from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.flows.harness import shell_in

pytestmark = pytest.mark.usefixtures("one_prefect")

SUITE = CHECKOUT / "infra" / "suites" / "failure_modes.yaml"


@pytest.mark.full
def test_failure_modes_of_the_demo(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with shell_in(tmp_path) as shell:
        code, output = shell.run("run", str(SUITE), "--lake", str(lake), "--limit", "30")
        assert code == 0, output
        labelled = shell.select(
            lake,
            "select labelled_by, labeller, category, n, n_holds from rpt_failure_modes where "
            "case_kind = 'missed' and model = '*'",
        )
        (cases,) = shell.select(
            lake, "select n_cases from rpt_failure_cases where case_kind = 'missed' and model = '*'"
        )
        assert {(row["labelled_by"], row["n"]) for row in labelled} == {
            ("judge", cases["n_cases"]),
            ("rules", cases["n_cases"]),
        }
        held = {
            row["category"]: row["n_holds"] for row in labelled if row["labeller"] == "why-looking"
        }
        assert len(held) == 9
        assert held["specificity_or_verbosity"] != 0
        scored = shell.select(lake, "select distinct metric from rpt_metrics order by metric")
        assert [row["metric"] for row in scored] == [
            "lave-standin",
            "soft_vqa_accuracy",
            "vqa_accuracy",
        ]
        coverage = shell.select(
            lake,
            "select distinct judge, status from rpt_coverage where judge like 'why-%' order by "
            "judge",
        )
        assert coverage == [
            {"judge": "why-looking", "status": "ok"},
            {"judge": "why-text", "status": "ok"},
        ]
    assert 'id="failuremodes"' in (lake / "reports" / "failure_modes" / "report.html").read_text()
