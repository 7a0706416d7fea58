"""The demo as `make demo` runs it, and its report in real Chromium."""

import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from tests.flows.harness import HANG_S, Shell, shell_in
from tests.test_notebooks import NOTEBOOKS, run_notebook

CHECKOUT = Path(__file__).parents[2]
CHROMIUM = [
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.mark.full
def test_demo_from_nothing_to_a_report_in_chromium(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with shell_in(tmp_path) as shell:
        code, output = shell.run(
            "run",
            "demo",
            "--lake",
            str(lake),
        )
        assert code == 0, output
        _follow_the_hints(shell, output)
        assert shell.list_left() == []
        agreement = shell.select(
            lake,
            "select benchmark, judge, value, low, high from rpt_correlation where model = '*' and "
            "(task, category, style) = ('*', '*', '*') and "
            "coefficient = 'spearman'",
        )
        assert all(-1 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in agreement)  # type: ignore[operator]
        judges = {(row["benchmark"], str(row["judge"]).partition("|")[0]) for row in agreement}
        assert {judge for name, judge in judges if name == "demo" and ":" not in str(judge)} == {
            "lave-standin",
            "prometheus",
            "harmonic",
            "jury",
        }
        assert ("demo-small", "smollm2") in judges
        assert ("demo-scenes", "small-vlm") in judges
        ratings = shell.select(lake, "select distinct model from rpt_rankings")
        assert {str(row["model"]) for row in ratings} >= {"rule-strong", "rule-weak"}
        coverage = shell.select(lake, "select distinct judge, status from rpt_coverage")
        unlike = {(row["judge"], row["status"]) for row in coverage} - {
            (row["judge"], "ok") for row in coverage
        }
        assert unlike == {("chirp", "inconsistent")}  # the stand-in prefers the longer of two
    for notebook in NOTEBOOKS:
        shown = run_notebook(notebook, lake)
        assert "lave-standin" in shown
    page = lake / "reports" / "demo" / "report.html"
    seen = _chromium(tmp_path, "--dump-dom", page.as_uri()).stdout.decode()
    assert "Synthetic scenes with oracle ratings" in seen
    assert "standin/rules" in seen
    _look_at(tmp_path, page, 1280)
    _look_at(tmp_path, page, 500)


def _follow_the_hints(shell: Shell, output: str) -> None:
    """The two queries that the run ends with must work as printed."""
    hints = [
        line.removeprefix("try: judgelake ")
        for line in output.splitlines()
        if line.startswith("try: ")
    ]
    assert len(hints) == 2
    for hint in hints:
        words, query = hint.removesuffix('"').split(' "')
        code, answer = shell.run(*words.split(), query)
        assert code == 0
        assert "│" in answer


def _look_at(folder: Path, page: Path, width: int) -> None:
    """A screenshot shows something of many colours: text, tables and figures, not a blank or broken
    page.
    """
    picture = folder / f"report-{width}.png"
    _chromium(folder, f"--window-size={width},1600", f"--screenshot={picture}", page.as_uri())
    with Image.open(picture) as image:
        assert image.size == (width, 1600)
        colours = image.convert("RGB").getcolors(maxcolors=2**24) or []
    assert len(colours) > 200
    assert max(n for n, _ in colours) < 0.97 * width * 1600


def _chromium(folder: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed; .ci/run installs it")
    profile = f"--user-data-dir={folder / 'profile'}"
    return subprocess.run(
        [*CHROMIUM, profile, *options], capture_output=True, timeout=HANG_S, check=True
    )
