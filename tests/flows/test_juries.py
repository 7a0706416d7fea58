"""Juries through the command: judged after their members without a call, shown like any judge."""

from pathlib import Path

import pytest

from tests.flows.harness import shell_in

SUITE = """
name: juries
benchmarks:
  demo: {source: demo, seed: 7, scenes: 12}
judges:
  lave: {protocol: lave, backend: standin}
  harmonic: {protocol: harmonic, backend: standin}
  fleur: {protocol: fleur, backend: standin}
  simple: {protocol: chirp, backend: standin, style: simple, criteria: [overall], matchups: 1}
  ties: {protocol: chirp, backend: standin, style: simple, ties: true, criteria: [overall],
    matchups: 1}
  jury: {protocol: jury, members: [lave, harmonic]}
  learnt: {protocol: jury, members: [harmonic, fleur], combine: learnt}
  pairs: {protocol: jury, members: [simple, ties], combine: majority}
report: {resamples: 20}
limits: {budget_usd: 1}
"""


MEANS = """
select jury.score_0_1 - (lave.score_0_1 + harmonic.score_0_1) / 2 as error
from core_scores as jury
join core_scores as lave using (item_id, answer_id, criterion)
join core_scores as harmonic using (item_id, answer_id, criterion)
where jury.judge = 'jury' and lave.judge = 'lave' and harmonic.judge = 'harmonic'
"""


@pytest.mark.full
@pytest.mark.usefixtures("one_prefect")
def test_juries_of_a_whole_run(tmp_path: Path) -> None:
    file, lake = tmp_path / "suite.yaml", tmp_path / "lake"
    file.write_text(SUITE)
    with shell_in(tmp_path) as shell:
        code, output = shell.run("run", str(file), "--lake", str(lake))
        assert code == 0, output
        coverage = shell.select(
            lake, "select judge, status, sum(n) as n from rpt_coverage group by all"
        )
        found = {row["judge"]: row for row in coverage}
        assert {row["status"] for row in coverage} <= {"ok", "inconsistent"}
        assert found["jury"]["n"] == found["lave"]["n"]
        assert found["learnt"]["n"] == found["fleur"]["n"]
        assert found["pairs"]["n"] == found["simple"]["n"]
        errors = [row["error"] for row in shell.select(lake, MEANS)]
        assert len(errors) == found["jury"]["n"]
        assert errors == pytest.approx([0.0] * len(errors), abs=1e-9)
        correlated = shell.select(lake, "select distinct judge from rpt_correlation")
        assert {"jury", "learnt", "lave"} <= {row["judge"] for row in correlated}
        assert (
            shell.select(lake, "select judge from rpt_costs where judge in ('jury', 'pairs')") == []
        )
        assert shell.run("check", "--lake", str(lake))[0] == 0
        page = (lake / "reports" / "juries" / "report.html").read_text()
        assert ">jury<" in page

        code, output = shell.run("run", str(file), "--lake", str(lake))
        assert (code, "nothing to do" in output) == (0, True), output
        code, output = shell.run("plan", str(file), "--lake", str(lake))
        assert "the stored verdicts of simple, ties are combined (pairs)" in output
        assert shell.list_left() == []
