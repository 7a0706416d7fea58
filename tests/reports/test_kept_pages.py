"""Pages by run: each night's report stays beside the latest, on a disk and in a bucket."""

import re
from datetime import datetime
from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import list_folders, read_file
from judgelake.tasks.reports import kept_pages
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.reports.kept_pages import keep_page, list_pages
from tests.bucket_server import Bucket
from tests.lakes import Row, append_records, metric_row
from tests.reports.test_build import SUITE, copy_lake, planted  # noqa: F401  # a fixture


def run_row(run: str) -> Row:
    started = datetime.strptime(run[:16], "%Y%m%dT%H%M%S%z")
    counts = dict.fromkeys(
        ("n_calls", "n_replies_reused", "n_verdicts", "n_failed", "prompt_tokens",
         "completion_tokens"), 0,
    )  # fmt: skip
    return counts | {
        "run_id": run, "suite": SUITE.name, "suite_digest": SUITE.digest, "stage": "",
        "outcome": "done", "versions": "{}", "seed": 0, "started_at": started, "ended_at": started,
    }  # fmt: skip


@pytest.mark.full
@pytest.mark.usefixtures("bare_reports")
def test_each_run_keeps_its_page_and_the_latest_leads_to_it(
    planted: Lake,  # noqa: F811
    tmp_path: Path,
) -> None:
    lake = copy_lake(planted, tmp_path)
    first, second = "20261122T020000Z-aaaaaa", "20261123T020000Z-bbbbbb"
    append_records(lake, "runs", [run_row(first)])
    page = Path(str(build_report(lake, SUITE)))
    old = page.parent / "runs" / first / "report.html"
    assert "Earlier reports" not in page.read_text()
    assert f"as the run {first} left it" in old.read_text()
    assert (old.parent / "tables" / "rpt_metrics.csv").is_file()
    before = old.read_bytes()

    append_records(lake, "judges", [metric_row("new", "e" * 16)])
    append_records(lake, "runs", [run_row(second)])
    build_report(lake, SUITE)
    assert old.read_bytes() == before
    for shown in (page, page.parent / "runs" / second / "report.html"):
        links = re.findall(r'href="([^"#]*report\.html)"[^>]*>([^<]*)<', shown.read_text())
        assert ("2026-11-22 02:00 UTC") in [text for _, text in links]
        assert all((shown.parent / link).resolve() in (page, old) for link, _ in links)
    assert list_folders(page.parent / "runs") == [first, second]
    keep_page(page, page.parent, second)  # as another report of the same run does
    assert list_folders(page.parent / "runs") == [first, second]


def test_the_oldest_pages_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_pages, "KEPT", 3)
    page = tmp_path / "report.html"
    page.write_text("page")
    for day in range(1, 6):
        keep_page(page, tmp_path, f"202611{day:02}T020000Z-aaaaaa")
    assert [run[:8] for run, _ in list_pages(page)] == ["20261105", "20261104", "20261103"]


@pytest.mark.parametrize("run", ["../other", "a/b", "", "."])
def test_a_run_whose_name_is_a_path_keeps_none(tmp_path: Path, run: str) -> None:
    page = tmp_path / "latest" / "report.html"
    page.parent.mkdir()
    page.write_text("page")
    keep_page(page, page.parent, run)
    assert sorted(tmp_path.rglob("*")) == [page.parent, page]


def test_a_bucket_keeps_pages_too(bucket: Bucket, tmp_path: Path) -> None:
    page = bucket.place("reports") / "s" / "report.html"
    folder = tmp_path / "made"
    (folder / "rows").mkdir(parents=True)
    (folder / "report.html").write_text(f'{kept_pages.PLACE_OF_RUN}<a href="runs/r0/report.html">')
    (folder / "rows" / "1.js").write_text("rows")
    for run in ("r1", "r2"):
        keep_page(page, folder, run)
    assert [run for run, _ in list_pages(page, "r2")] == ["r1"]
    kept = (read_file(page.parent / "runs" / "r1" / "report.html") or b"").decode()
    assert "as the run r1 left it" in kept
    assert '<a href="../r0/report.html">' in kept
    assert read_file(page.parent / "runs" / "r1" / "rows" / "1.js") == b"rows"
