"""`judgelake ingest --preview`: what it shows, and that it leaves no trace."""

import sys
from pathlib import Path

import polars as pl
import pytest

from judgelake.flows.preview_command import _show
from tests.flows.harness import shell_in

SUITE = """
name: t
benchmarks:
  survey:
    source: table
    file: survey.csv
    columns: {item_id: id, prompt: q, answer: a, model: {constant: m}}
    human_ratings: {rating: r, annotator: {constant: p}, values: {Yes: 1, No: 0}, scale: [0, 1]}
  other: {source: table, file: survey.csv, columns: {item_id: id, prompt: q}}
"""
NOTHING = """
name: t
benchmarks:
  survey: {source: table, file: survey.csv, columns: {item_id: id, prompt: q}, where: {r: No}}
"""


def test_preview_and_ingest_name_a_condition_that_keeps_no_row(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(NOTHING)
    (tmp_path / "survey.csv").write_text("id,q,r\n1,Why?,Yes\n2,Who?,Yes\n")
    told = f"{tmp_path / 'survey.csv'}: the condition `where: r` kept none of 2 rows"
    arguments = (str(tmp_path / "suite.yaml"), "--lake", str(tmp_path / "lake"))
    with shell_in(tmp_path) as shell:
        code, text = shell.run("ingest", "--preview", *arguments)
        assert code == 0, text
        assert f"survey (table): no rows; nothing was written\nnote: {told}\n" in text
        code, text = shell.run("ingest", *arguments)
        assert code == 0, text
        assert f"0 items, 0 answers, 0 quarantined, survey: {told} in" in text


def test_preview_shows_rows_and_quarantine_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)
    rows = "".join(f"{n},Question {n}?,because,Yes\n" for n in range(10, 20))
    (tmp_path / "survey.csv").write_text(f"id,q,a,r\n{rows}20,Why?,so,Perhaps\n21,Who?\n")
    lake = tmp_path / "lake"
    with shell_in(tmp_path) as shell:
        code, text = shell.run(
            "ingest",
            "--preview",
            str(tmp_path / "suite.yaml"),
            "--lake",
            str(lake),
            "--benchmark",
            "survey",
        )
        assert code == 0, text
        assert (
            "survey (table): items 11, answers 11, human_ratings 10, quarantine 2; nothing was "
            "written" in text
        )
        assert "| 10 | m/short/0 | m | short | 0 | because |" in text
        assert "items: 5 of 11 rows" in text
        assert "would be quarantined: 2 of 2 rows" in text
        assert (
            "| human_ratings | survey.csv | line 12 | r | Perhaps | the value is none of Yes, No |"
            in text
        )
        assert "other" not in text
        assert not lake.exists()
        code, text = shell.run(
            "ingest", "--preview", str(tmp_path / "suite.yaml"), "--lake", str(lake), "--limit", "3"
        )
        assert code == 0, text
        assert (
            "survey (table): items 3, answers 3, human_ratings 3, quarantine 2; nothing was written"
            in text
        )
        assert "other (table): items 11" not in text


def test_a_wide_table_fits_into_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    columns = {f"a_long_name_{n}": [f"row {row}, text {n}" for row in range(9)] for n in range(40)}
    _show("items", pl.DataFrame({**columns, "text": ["\x1b[31m" + "long " * 60] * 9}))
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "items: 5 of 9 rows" in shown
    assert "row 4, text 0" in shown
    assert "\x1b" not in shown
    reason = "the value is none of Yes, No " * 9
    _show("quarantine", pl.DataFrame({"locator": ["line 1"], "reason": [reason]}))
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert " ".join(shown.split()).count("none of Yes, No") == 9


@pytest.mark.parametrize("is_terminal", [False, True])
def test_text_gives_a_terminal_no_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    _show("items", pl.DataFrame({"text": ["\x1b[2Jgone\x9b31m"], "uris": [["a\x1b[2J"]]}))
    shown = capsys.readouterr().out
    assert r"\x1b[2Jgone\x9b31m" in shown
    assert not {"\x1b", "\x9b"} & {*shown}
