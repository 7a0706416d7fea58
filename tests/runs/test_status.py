"""`judgelake status`: planted leases, runs and progress files come out as what they are
(suite_totals).
"""

import json
from pathlib import Path

import pytest

from judgelake.flows.status_command import describe_status
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.leases import hold_leases
from judgelake.tasks.planning.cases import plan_file
from judgelake.tasks.runs.record import record_run
from judgelake.tasks.runs.status import read_status
from tests.lakes import Row, append_records, at, make_lake, make_suite

RUN: Row = {
    "suite_digest": "d",
    "stage": "judge",
    "versions": "{}",
    "seed": 0,
    "n_replies_reused": 0,
    "n_failed": 0,
}
RUN |= {"prompt_tokens": 0, "completion_tokens": 0}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def put_run(
    lake: Lake,
    run_id: str,
    suite: str,
    minute: int,
    outcome: str,
    code: int | None,
    cost: float | None,
) -> None:
    row = {
        **RUN,
        "run_id": run_id,
        "suite": suite,
        "started_at": at(minute),
        "ended_at": at(minute + 1.5),
        "outcome": outcome,
    }
    append_records(
        lake,
        "runs",
        [{**row, "exit_code": code, "n_calls": 1000 + minute, "n_verdicts": 10, "cost_usd": cost}],
    )


def test_an_empty_lake(lake: Lake) -> None:
    assert describe_status(read_status(lake)) == ["nothing is under way", "no run yet"]


def test_runs_and_suites(lake: Lake) -> None:
    put_run(lake, "r1", "a", 0, "done", 0, 1.5)
    put_run(lake, "r2", "a", 10, "over budget", 4, 0.25)
    put_run(lake, "r3", "b", 20, "done", None, None)
    assert describe_status(read_status(lake)) == [
        "nothing is under way",
        "last 3 runs:",
        "  r3  b  done  exit -  1,020 calls, 10 verdicts, cost not known, 90.0 s",
        "  r2  a  over budget  exit 4  1,010 calls, 10 verdicts, 0.25 USD, 90.0 s",
        "  r1  a  done  exit 0  1,000 calls, 10 verdicts, 1.50 USD, 90.0 s",
        "suites:",
        # 1000 + 1010 calls, 1.50 + 0.25 USD
        "  a  2 runs, last over budget at 2026-03-01 00:10:00 UTC; 2,010 calls, 20 verdicts, "
        "1.75 USD",
        "  b  1 run, last done at 2026-03-01 00:20:00 UTC; 1,020 calls, 10 verdicts, cost not known",
    ]


def test_ten_runs_are_shown(lake: Lake) -> None:
    for minute in range(12):
        put_run(lake, f"r{minute:02}", "a", minute, "done", 0, 0.0)
    assert [row["run_id"] for row in read_status(lake).runs] == [
        f"r{minute:02}" for minute in range(11, 1, -1)
    ]


def test_what_is_under_way_and_how_far(lake: Lake) -> None:
    """Two shards have judged 30 and 12 of 100 cases; a killed run before it left its row and no
    lease.
    """
    put_run(lake, "r0", "a", 0, "running", None, 0.0)
    with (
        record_run(lake, make_suite(), "r1", ("judge",)),
        hold_leases(lake, ["judge-x"], "run r1 of s", 0, print),
    ):
        folder = plan_file(lake, "r1").parent
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plan.json").write_text('{"lave": 60, "chirp": 40}')
        (folder / "lave-0000.progress.json").write_text('{"cases": 30}')
        (folder / "chirp-0000.progress.json").write_text('{"cases": 12}')
        status = read_status(lake)
    output = describe_status(status)
    assert output[0] == "under way:"
    assert output[1].startswith(
        "  r0  a  since 2026-03-01 00:00:00 UTC  nothing judged yet; it holds no lease"
    )
    assert output[2].startswith("  r1  s  since ")
    assert output[2].endswith(" UTC  judged 42 of 100 cases")
    assert output[3] == "leases:"
    assert output[4].startswith("  judge-x  run r1 of s  host ")
    assert "STALE" not in output[4]
    again = json.loads(status.as_json())
    assert [(one["run_id"], one["alive"], one["n_judged"], one["n_to_judge"]) for one in again["under_way"]] == [
        ("r0", False, 0, 0), ("r1", True, 42, 100),
    ]  # fmt: skip
    assert again["leases"][0]["name"] == "judge-x"


def test_a_lease_that_nobody_renews_is_stale(lake: Lake) -> None:
    with hold_leases(lake, ["n"], "run r of s", 0, print):
        file = lake.root / "_leases" / "n" / "000000000001.json"
        file.write_text(
            json.dumps(json.loads(file.read_text()) | {"place": "elsewhere", "beaten_at": 0})
        )
        assert any(
            "STALE: the next run takes it over" in line
            for line in describe_status(read_status(lake))
        )
