"""Every protocol and ablation through the command: ready suites with the stand-in, on the demo and
on OwlEval's real images.
"""

from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.flows.harness import shell_in

pytestmark = pytest.mark.usefixtures("one_prefect")

SUITES = CHECKOUT / "infra" / "suites"
READ = {"ok", "inconsistent"}


def run_suite(folder: Path, name: str, limit: int, code: int = 0) -> list[dict[str, object]]:
    """Run a suite's first items twice; the second run must find nothing left. Returns judge, status
    and n of rpt_coverage.
    """
    folder.mkdir(exist_ok=True)
    lake = folder / "lake"
    words = ("run", str(SUITES / f"{name}.yaml"), "--lake", str(lake), "--limit", str(limit))
    with shell_in(folder) as shell:
        ended, output = shell.run(*words)
        assert ended == code, output
        again, reported = shell.run(*words)
        assert (again, "0 calls, 0 replies reused, 0 verdicts" in reported) == (code, True), (
            reported
        )
        assert shell.list_left() == []
        assert (
            shell.select(
                lake,
                "select run_id, count(*) as n from stg_duels anti join stg_cases using "
                "(judge_id) group by all",
            )
            == []
        )
        return shell.select(lake, "select judge, status, n from rpt_coverage")


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "n_judges"), [("lave_ablations", 7), ("chirp_demo", 8), ("harmonic_ablations", 12)]
)
def test_ablations_on_the_demo(tmp_path: Path, name: str, n_judges: int) -> None:
    coverage = run_suite(tmp_path, name, limit=12)
    assert len({row["judge"] for row in coverage}) == n_judges
    assert {row["status"] for row in coverage} == {"ok"}
    assert (
        len({row["n"] for row in coverage if name != "harmonic_ablations"}) <= 1
    )  # every judge judged the same answers


@pytest.mark.full
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_judges"), [("chirp_owleval", 6), ("prometheus_owleval", 4), ("harmonic_owleval", 6)]
)
def test_pairs_rubrics_captions_and_image_controls_on_real_images(
    tmp_path: Path, data_folder: Path, name: str, n_judges: int
) -> None:
    coverage = run_suite(tmp_path, name, limit=4)
    assert len({row["judge"] for row in coverage}) == n_judges
    assert {row["status"] for row in coverage} <= READ


@pytest.mark.full
@pytest.mark.data
def test_two_numbers_and_rubrics_of_items(tmp_path: Path, data_folder: Path) -> None:
    pairs = run_suite(tmp_path / "pairs", "llava_bench", limit=6)
    assert {row["status"] for row in pairs if row["judge"] != "gpt-4"} <= READ
    rubrics = run_suite(tmp_path / "rubrics", "prometheus_items", limit=6)
    assert {row["status"] for row in rubrics if row["judge"] == "prometheus"} == {"ok"}
