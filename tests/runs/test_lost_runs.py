"""Runs that end without a word: a process killed with `kill -9`, one that another machine no longer
hears of, and one that lives after all.
"""

import dataclasses
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from judgelake.flows.status_command import describe_status
from judgelake.tasks.errors import LakeError, LeaseError, RunError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.leases import HERE, STALE_S, Surroundings, list_leases
from judgelake.tasks.runs.record import end_lost_runs, record_run
from judgelake.tasks.runs.status import read_status
from tests.conftest import CHECKOUT
from tests.lakes import make_lake, make_suite, query

SUITE = make_suite()
RUN_AND_WAIT = """
import sys
from pathlib import Path
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.runs.record import record_run
from tests.lakes import make_suite
with record_run(Lake(Path(sys.argv[1])), make_suite(), "run-1", ("judge",)):
    print("runs", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


@pytest.fixture
def process(lake: Lake) -> "Iterator[subprocess.Popen[str]]":
    """A process in the middle of `run-1`."""
    command = [sys.executable, "-c", RUN_AND_WAIT, str(lake.root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=CHECKOUT, **pipes) as run:  # type: ignore[call-overload]
        assert run.stdout.readline() == "runs\n"
        yield run
        run.kill()


def outcomes(lake: Lake) -> list[object]:
    return [
        row["outcome"] for row in query(lake, "select outcome from stg_runs order by started_at")
    ]


def later(seconds: float) -> Surroundings:
    """Another machine, whose clock is so far on."""
    return dataclasses.replace(
        HERE, place="elsewhere", wall=lambda: datetime.now(UTC).timestamp() + seconds
    )


def test_a_run_that_fails_leaves_no_lease_behind_and_takes_nobodys_away(lake: Lake) -> None:
    def fail() -> None:
        with record_run(lake, SUITE, "run-1", ("judge",)):
            with pytest.raises(LeaseError), record_run(lake, SUITE, "run-1", ("judge",)):
                pytest.fail("two of one name")
            assert [lease.name for lease in list_leases(lake)] == ["run-run-1"]
            raise RunError(3, ["coverage"])

    with pytest.raises(RunError):
        fail()
    assert list((lake.root / "_leases").iterdir()) == []


def test_a_run_that_cannot_write_its_end_is_reported_as_lost_and_the_next_writes_it(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is full: its lease is small enough to be released all the same."""

    def refuse(*_: object) -> None:
        raise LakeError("No space left on device")

    def run() -> None:
        with record_run(lake, SUITE, "run-1", ("judge",)):
            monkeypatch.setattr("judgelake.tasks.runs.record.append_records", refuse)
            raise LakeError("replies: cannot be written")

    with pytest.raises(LakeError, match="cannot be written"):
        run()
    monkeypatch.undo()
    assert outcomes(lake) == ["running"]
    assert [(one.alive, one.lost) for one in read_status(lake).under_way] == [(False, True)]
    with record_run(lake, SUITE, "run-2", ("judge",)):
        assert outcomes(lake) == ["lost", "running"]
    assert list((lake.root / "_leases").iterdir()) == []


def test_a_killed_run_is_reported_as_lost_and_the_next_writes_its_end(
    lake: Lake, process: "subprocess.Popen[str]"
) -> None:
    assert [(one.alive, one.lost) for one in read_status(lake).under_way] == [(True, False)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    status = read_status(lake)
    assert [(one.alive, one.lost) for one in status.under_way] == [(False, True)]
    assert (
        [row["outcome"] for row in status.runs],
        [row["last_outcome"] for row in status.suites],
    ) == (["lost"], ["lost"])
    assert describe_status(status)[1].endswith(
        "nothing judged yet; LOST: it ended without writing its end (run the suite again to go on)"
    )
    assert outcomes(lake) == ["running"]  # reading writes nothing

    with record_run(lake, SUITE, "run-2", ("judge",)):
        assert outcomes(lake) == ["lost", "running"]
    (row, _) = query(lake, "select * from stg_runs order by started_at")
    assert (row["exit_code"], row["run_id"], row["stage"]) == (None, "run-1", "judge")
    assert row["started_at"] < row["ended_at"] <= datetime.now(UTC)
    assert outcomes(lake) == ["lost", "done"]
    assert list_leases(lake) == []
    assert list((lake.root / "_leases").iterdir()) == []
    assert read_status(lake).under_way == ()


def test_another_machine_goes_by_the_signs_of_life(lake: Lake) -> None:
    """Within two minutes of the last one a run lives; after that it is lost, and what it writes
    after all counts more.
    """
    with record_run(lake, SUITE, "run-1", ("judge",)) as record:
        end_lost_runs(lake, later(STALE_S - 30))
        assert outcomes(lake) == ["running"]
        end_lost_runs(lake, later(STALE_S + 30))
        (row,) = query(lake, "select * from stg_runs")
        assert row["outcome"] == "lost"
        assert row["ended_at"] - row["started_at"] < timedelta(seconds=30)  # when it was last seen
        end_lost_runs(lake, later(STALE_S + 30))
        record.write("reporting")
        assert outcomes(lake) == ["reporting"]
    assert outcomes(lake) == ["done"]


def test_a_run_that_never_wrote_a_row_leaves_no_lease(lake: Lake) -> None:
    with record_run(lake, SUITE, "run-1", ("judge",)):
        for part in (lake.root / "runs").rglob("*.parquet"):
            part.unlink()
        end_lost_runs(lake, later(STALE_S + 30))
        assert (outcomes(lake), list_leases(lake)) == ([], [])
