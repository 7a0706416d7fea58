"""Every report view over five lakes of real inputs, against a second implementation
(`tests.oracle.views`): point values and counts, row by row, to 1e-9.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.warehouse.views import view_texts
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.conftest import CHECKOUT
from tests.flows.harness import shell_in
from tests.oracle.real_lakes import N_ITEMS, write_suites
from tests.oracle.views.compare import CHECKS, differences
from tests.oracle.views.rows import Tables

pytestmark = [pytest.mark.data, pytest.mark.full, pytest.mark.usefixtures("one_prefect")]

FILLED: Mapping[str, tuple[str, ...]] = {
    "rpt_agreement": ("nq301", "vicuna", "flickr8k", "owleval", "okvqa"),
    "rpt_attribute_agreement": ("vicuna",),
    "rpt_bias_family": ("vicuna",),
    "rpt_bias_family_scores": ("okvqa",),
    "rpt_bias_length": ("nq301", "flickr8k", "okvqa"),
    "rpt_bias_longer": ("vicuna", "owleval"),
    "rpt_bias_position": ("vicuna", "owleval"),
    "rpt_category_win_rate": ("vicuna", "owleval"),
    "rpt_choice_accuracy": ("okvqa",),
    "rpt_circular_triads": ("owleval",),
    "rpt_confusion": ("nq301", "vicuna", "flickr8k", "owleval", "okvqa"),
    "rpt_contradictions": ("owleval",),
    "rpt_corpus_scores": ("nq301", "flickr8k", "okvqa"),
    "rpt_correlation": ("nq301", "flickr8k", "okvqa"),
    "rpt_costs": ("owleval", "okvqa"),
    "rpt_coverage": ("nq301", "vicuna", "flickr8k", "owleval", "okvqa"),
    "rpt_criteria": ("okvqa",),
    "rpt_difference_tests": ("okvqa",),
    "rpt_failure_cases": ("nq301", "okvqa"),
    "rpt_failure_examples": ("nq301", "okvqa"),
    "rpt_failure_modes": ("nq301", "okvqa"),
    "rpt_failure_scores": ("nq301", "okvqa"),
    "rpt_feedback_preference": ("owleval",),
    "rpt_grader_accuracy": ("nq301", "okvqa"),
    "rpt_image_dependence": ("owleval",),
    "rpt_item_labels": ("okvqa",),
    "rpt_judge_comparison": ("nq301", "flickr8k", "okvqa"),
    "rpt_judges": ("nq301", "vicuna", "flickr8k", "owleval", "okvqa"),
    "rpt_kappas": ("nq301", "vicuna", "flickr8k", "owleval", "okvqa"),
    "rpt_calibration": ("nq301", "flickr8k", "okvqa"),
    "rpt_leniency": ("nq301", "flickr8k", "okvqa"),
    "rpt_metrics": ("nq301", "flickr8k", "owleval", "okvqa"),
    "rpt_overall": ("nq301", "flickr8k", "okvqa"),
    "rpt_quarantine": ("flickr8k",),
    "rpt_ranking_overlap": ("vicuna", "owleval"),
    "rpt_rankings": ("vicuna", "owleval"),
    "rpt_refusals": ("nq301", "vicuna", "flickr8k", "owleval", "okvqa"),
    "rpt_reliability": ("nq301", "vicuna", "flickr8k", "owleval", "okvqa"),
    "rpt_scale_use": ("nq301", "flickr8k", "owleval", "okvqa"),
    "rpt_scaled_average": ("okvqa",),
    "rpt_self_consistency": ("owleval",),
    "rpt_superscore": ("okvqa",),
    "rpt_win_rate": ("vicuna", "owleval"),
}
"""View -> the lakes on which it has rows."""


def test_every_view_is_what_a_second_implementation_says(tmp_path: Path, data_folder: Path) -> None:
    suites = write_suites(tmp_path, data_folder, CHECKOUT / "infra" / "suites")
    _run_suites(tmp_path, suites)
    filled: dict[str, list[str]] = {view: [] for view in CHECKS}
    found = []
    for lake in suites:
        with open_warehouse(open_lake(tmp_path / lake / "lake")) as connection:
            tables = Tables(connection)
            for view in CHECKS:
                n, differing = differences(tables, view)
                found += [f"{lake}: {line}" for line in differing[:5]]
                filled[view] += [lake] if n else []
    assert found == []
    assert {view: tuple(lakes) for view, lakes in filled.items()} == FILLED


def _run_suites(folder: Path, suites: Mapping[str, Path]) -> None:
    """Two at a time, a lake each."""
    with ThreadPoolExecutor(2) as pool:
        for ended in [pool.submit(_run, folder / name, suite) for name, suite in suites.items()]:
            code, output = ended.result()
            assert code == 0, output


def _run(folder: Path, suite: Path) -> tuple[int, str]:
    folder.mkdir()
    limit = ["--limit", str(N_ITEMS[suite.stem])] if suite.stem in N_ITEMS else []
    with shell_in(folder) as shell:
        return shell.run("run", str(suite), "--lake", str(folder / "lake"), *limit)


def test_every_view_has_a_second_implementation() -> None:
    # no real lake has a collection or a trained judge: tests/collection/test_collection.py and
    # tests/training/test_report.py recompute these views
    views = {name for name in view_texts() if name.startswith("rpt_")}
    assert {*CHECKS} == {
        name for name in views if not name.startswith(("rpt_collected_", "rpt_training"))
    }
    assert {*CHECKS} == {*FILLED}
