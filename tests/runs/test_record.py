"""The history of runs: a row for each, however it ended, and no scratch left behind."""

import json
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from judgelake.tasks.engine.shard import ShardResult
from judgelake.tasks.errors import RunError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.stop_flag import stop_file
from judgelake.tasks.runs.record import new_run_id, record_run
from judgelake.tasks.suite.suite import ReportSettings
from tests.lakes import Row, make_lake, make_suite, query

SUITE = make_suite(report=ReportSettings(seed=0))
STAGES = ("ingest", "judge", "report")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = make_lake(tmp_path)
    lake.work_folder("run-1").mkdir(parents=True)
    (lake.work_folder("run-1") / "lave-0000.parquet").write_bytes(b"")
    return lake


def run_row(lake: Lake) -> Row:
    (row,) = query(lake, "select * from stg_runs")
    return row


def read_outcome(lake: Lake) -> str:
    """The run's outcome as `lake.duckdb` shows it."""
    with duckdb.connect(str(lake.mirror / "lake.duckdb"), read_only=True) as connection:
        connection.execute("set file_search_path = $lake", {"lake": str(lake.mirror)})
        ((outcome,),) = connection.execute("select outcome from runs").fetchall()
    return str(outcome)


def test_a_run_adds_up_its_shards(lake: Lake) -> None:
    with record_run(lake, SUITE, "run-1", STAGES) as record:
        assert not record.stopped
        record.shards = [
            ShardResult(5, 1, 100, 10, (("failed", 2), ("ok", 4))),
            ShardResult(7, 0, 200, 20, (("ok", 6), ("unparsed", 1))),
        ]
    row = run_row(lake)
    counts = (
        "n_calls",
        "n_replies_reused",
        "n_verdicts",
        "n_failed",
        "prompt_tokens",
        "completion_tokens",
    )
    assert [row[name] for name in counts] == [12, 1, 13, 2, 300, 30]
    assert (row["run_id"], row["suite"], row["suite_digest"], row["seed"]) == (
        "run-1",
        "s",
        "digest",
        0,
    )
    assert (row["stage"], row["outcome"]) == ("ingest+judge+report", "done")
    assert row["started_at"] <= row["ended_at"] <= datetime.now(UTC)
    assert {"judgelake", "prefect", "duckdb", "openai"} <= json.loads(row["versions"]).keys()
    assert not lake.work_folder("run-1").exists()


@pytest.mark.parametrize(
    ("error", "outcome"), [(RuntimeError, "failed"), (KeyboardInterrupt, "stopped")]
)
def test_a_run_that_fails_writes_its_row_all_the_same(
    lake: Lake, error: type[BaseException], outcome: str
) -> None:
    def fail_midway() -> None:
        with record_run(lake, SUITE, "run-1", STAGES) as record:
            record.shards = [ShardResult(1, 0, 10, 1, (("ok", 1),))]
            raise error("midway")

    with pytest.raises(error, match="midway"):
        fail_midway()
    assert (run_row(lake)["outcome"], run_row(lake)["n_verdicts"]) == (outcome, 1)
    assert read_outcome(lake) == outcome
    assert not lake.work_folder("run-1").exists()


def test_a_run_that_came_to_its_end_says_how_whatever_its_exit_code(lake: Lake) -> None:
    def end_over_budget() -> None:
        with record_run(lake, SUITE, "run-1", STAGES) as record:
            record.shards = [ShardResult(1, 0, 10, 1, (("ok", 1),), over_budget=True)]
            raise RunError(4, ["budget: reached"])

    with pytest.raises(RunError):
        end_over_budget()
    assert (run_row(lake)["outcome"], run_row(lake)["exit_code"]) == ("over budget", 4)


def test_a_run_stands_in_the_history_while_it_runs_and_as_running_when_it_was_killed(
    lake: Lake,
) -> None:
    with record_run(lake, SUITE, "run-1", STAGES) as record:
        assert (run_row(lake)["outcome"], run_row(lake)["n_verdicts"]) == ("running", 0)
        record.shards = [ShardResult(1, 0, 10, 1, (("ok", 1),))]
        record.write("judged")
        assert (run_row(lake)["outcome"], run_row(lake)["n_verdicts"]) == ("judged", 1)
    assert (run_row(lake)["outcome"], run_row(lake)["n_verdicts"]) == ("done", 1)


def test_a_run_that_was_asked_to_stop_says_so(lake: Lake) -> None:
    with record_run(lake, SUITE, "run-1", STAGES) as record:
        stop_file(lake, "run-1").touch()
        assert record.stopped
    assert run_row(lake)["outcome"] == "stopped"


def test_a_run_without_stages_had_nothing_to_do(lake: Lake) -> None:
    with record_run(lake, SUITE, "run-1", ()):
        pass
    assert (run_row(lake)["outcome"], run_row(lake)["stage"], run_row(lake)["n_calls"]) == (
        "nothing to do",
        "",
        0,
    )
    assert read_outcome(lake) == "nothing to do"


def test_run_ids_differ_and_begin_with_the_time() -> None:
    ids = [new_run_id() for _ in range(50)]
    assert len(set(ids)) == 50
    begun = datetime.strptime(ids[0][:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert abs((datetime.now(UTC) - begun).total_seconds()) < 60
