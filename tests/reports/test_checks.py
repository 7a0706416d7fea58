"""Checks at a run's end: computed where something was written, told again where not; what each finds is tests/sql/test_checks."""

import json
from pathlib import Path

import pytest

from flows import run_command
from tasks.lake import Lake, append_records
from tasks.reports import checks
from tasks.reports.checks import Finding, check_lake
from tasks.reports.warehouse import open_warehouse
from tests.lakes import Row, answer, at, digest_of, ingest, item, make_lake, make_suite, reply_row, verdict_row

A = "a" * 16
CAT = item("i0")
ORPHAN = Finding("chk_verdict_without_case", 1, "every verdict is on a case that some run wanted", False)

RUN: Row = {
    "run_id": "r",
    "suite": "s",
    "suite_digest": "d",
    "stage": "",
    "outcome": "nothing to do",
    "versions": "{}",
    "seed": 0,
}
RUN |= dict.fromkeys(("n_calls", "n_replies_reused", "n_verdicts", "n_failed", "prompt_tokens", "completion_tokens"), 0)
RUN |= {"started_at": at(0), "ended_at": at(1)}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = make_lake(tmp_path)
    ingest(lake, [CAT], [answer("i0", "cat")])
    return lake


def check(lake: Lake) -> list[Finding]:
    with open_warehouse(lake, lazy=True) as connection:
        return check_lake(lake, connection)


def put_orphan(lake: Lake) -> None:
    append_records(lake, "verdicts", [verdict_row(A, "i0", digest_of(CAT, "cat"), 3)])


def test_a_finding_stays_until_something_is_written(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(lake) == []
    put_orphan(lake)
    assert check(lake) == [ORPHAN]
    with monkeypatch.context() as idle:
        idle.setattr(checks, "run_checks", lambda _: pytest.fail("nothing was written"))
        assert check(lake) == [ORPHAN]
        append_records(lake, "runs", [RUN])
        assert check(lake) == [ORPHAN]
    for file in lake.part_files("verdicts"):
        file.unlink()
    assert check(lake) == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"made_from": 1}', None])
def test_what_was_kept_is_computed_anew_where_it_cannot_be_read(lake: Lake, damage: bytes | None) -> None:
    put_orphan(lake)
    check(lake)
    file = lake.root / "checks.json"
    kept = json.loads(file.read_bytes())
    file.write_bytes(json.dumps({**kept, "findings": [[1]]}).encode() if damage is None else damage)
    assert check(lake) == [ORPHAN]
    assert json.loads(file.read_bytes()) == kept


def test_a_run_tells_what_was_found_and_ends_with_5(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    put_orphan(lake)
    append_records(lake, "replies", [reply_row(A, "1"), reply_row(A, "2", resolved_model="gpt-2")])
    with open_warehouse(lake, lazy=True) as connection:
        assert run_command._tell_checks(lake, connection) == 5
    assert capsys.readouterr().out.splitlines() == [
        "warning: 2 rows against: all replies of a judge's model came from one snapshot of it",
        f'see: judgelake sql --lake {lake.root} "select * from chk_snapshot_changed"',
        "check: 1 row against: every verdict is on a case that some run wanted",
        f'see: judgelake sql --lake {lake.root} "select * from chk_verdict_without_case"',
    ]


def test_a_warning_fails_no_run(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    append_records(lake, "replies", [reply_row(A, "1"), reply_row(A, "2", resolved_model="gpt-2")])
    with open_warehouse(lake, lazy=True) as connection:
        assert run_command._tell_checks(lake, connection) == 0
    assert capsys.readouterr().out.startswith("warning: 2 rows")


@pytest.mark.parametrize("stages", [("ingest",), ("ingest", "judge", "report")])
@pytest.mark.parametrize("is_wrong", [False, True])
@pytest.mark.parametrize("is_thin", [False, True])
def test_the_highest_code_stands(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, stages: tuple[str, ...], is_wrong: bool, is_thin: bool
) -> None:
    """Coverage is told of whole runs alone, checks of every stage."""
    monkeypatch.setattr(run_command, "_check_coverage", lambda *_: 3 * is_thin)
    if is_wrong:
        put_orphan(lake)
    append_records(lake, "runs", [RUN])
    expected = 5 if is_wrong else 3 if is_thin and "report" in stages else 0
    assert run_command._tell_end(lake, make_suite(), "r", stages) == expected


def test_a_stopped_run_ends_at_once(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    put_orphan(lake)
    append_records(lake, "runs", [{**RUN, "outcome": "stopped"}])
    assert run_command._tell_end(lake, make_suite(), "r", ("judge",)) == 130
    assert "check:" not in capsys.readouterr().out
