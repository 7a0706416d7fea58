"""What the flow that builds reports shows in Prefect."""

import logging
from pathlib import Path

import pytest
from prefect.exceptions import PrefectException

from judgelake.flows import build_reports


def test_prefect_shows_the_summary_and_a_report_survives_its_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "report.md").write_text("# all is well")
    shown: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        build_reports, "create_markdown_artifact", lambda *given: shown.append(given)
    )
    monkeypatch.setattr(
        build_reports,
        "create_link_artifact",
        lambda link, **more: shown.append((link, more["key"])),
    )
    build_reports._show_in_prefect("Nightly VQA_2", tmp_path / "report.html")
    assert shown == [
        ("# all is well", "report-nightly-vqa-2", "Report of Nightly VQA_2"),
        ((tmp_path / "report.html").as_uri(), "report-nightly-vqa-2-page"),
    ]

    def refuse(*given: object) -> None:
        raise PrefectException("no room")

    monkeypatch.setattr(build_reports, "create_markdown_artifact", refuse)
    monkeypatch.setattr(build_reports, "get_run_logger", lambda: logging.getLogger("seen"))
    build_reports._show_in_prefect("s", tmp_path / "report.html")
    assert "not shown here: no room" in caplog.text
