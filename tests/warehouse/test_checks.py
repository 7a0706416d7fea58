"""Checks at a run's end: computed where something was written, reported again where not; what each
finds is tests/sql/test_checks.
"""

import json
from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse import checks
from judgelake.tasks.warehouse.checks import Finding, check_lake
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    digest_of,
    ingest,
    item,
    make_lake,
    verdict_row,
)

A = "a" * 16
CAT = item("i0")
ORPHAN = Finding(
    "chk_verdict_without_case", 1, "every verdict is on a case that some run wanted", False
)

RUN: Row = {
    "run_id": "r",
    "suite": "s",
    "suite_digest": "d",
    "stage": "",
    "outcome": "nothing to do",
    "versions": "{}",
    "seed": 0,
}
RUN |= dict.fromkeys(
    ("n_calls", "n_replies_reused", "n_verdicts", "n_failed", "prompt_tokens", "completion_tokens"),
    0,
)
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


def test_a_finding_stays_until_something_is_written(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_what_was_kept_is_computed_anew_where_it_cannot_be_read(
    lake: Lake, damage: bytes | None
) -> None:
    put_orphan(lake)
    check(lake)
    file = lake.root / "checks.json"
    kept = json.loads(file.read_bytes())
    file.write_bytes(json.dumps({**kept, "findings": [[1]]}).encode() if damage is None else damage)
    assert check(lake) == [ORPHAN]
    assert json.loads(file.read_bytes()) == kept
