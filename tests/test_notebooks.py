"""The notebooks of `infra/examples`: their cells run in order, in a process of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.planning.cases import register_judges
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import read_suite
from judgelake.tasks.warehouse.lake_file import write_lake_file
from tests.conftest import CHECKOUT

NOTEBOOKS = sorted((CHECKOUT / "infra" / "examples").glob("*.ipynb"))
_RUNNER = """
import ast, json, sys
names = {}
for number, text in enumerate(json.load(sys.stdin), 1):
    *steps, last = ast.parse(text).body
    exec(compile(ast.Module(steps, []), f"cell {number}", "exec"), names)
    print(eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names))
"""


def run_notebook(notebook: Path, lake: Path) -> str:
    """Run the code cells, each of which ends in an expression; returns what these show."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", _RUNNER],
        input=json.dumps(texts),
        env={**os.environ, "JUDGELAKE_LAKE": str(lake), "POLARS_FMT_MAX_ROWS": "100"},
        cwd=notebook.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run_over_a_demo_lake_that_nothing_has_judged_yet(
    notebook: Path, tmp_path: Path
) -> None:
    suite = read_suite(CHECKOUT / "infra" / "suites" / "demo.yaml")
    lake = open_lake(tmp_path / "lake", create=True)
    ingest_benchmark(lake, suite.benchmarks["demo"], suite.image_root(lake.root), 4)
    register_judges(lake, suite)
    write_lake_file(lake)
    shown = run_notebook(notebook, lake.mirror)
    assert "rpt_correlation" in shown
    assert "rule-strong" in shown


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert [cell["outputs"] for cell in cells if cell.get("outputs")] == []
