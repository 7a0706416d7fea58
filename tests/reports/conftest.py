"""What tests of reports share."""

import pytest


@pytest.fixture
def bare_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without drawings and files of tables, which take half their time: for tests of what
    they compute and say.
    """
    for name in ("write_tables", "drop_former"):
        monkeypatch.setattr(f"judgelake.tasks.reports.build.{name}", lambda *_: None)
    monkeypatch.setattr("judgelake.tasks.reports.page.figures._to_svg", lambda *_: "<svg></svg>")
