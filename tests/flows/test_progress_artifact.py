"""How far a run's judges are, as Prefect shows it: of a real server, and of one that refuses."""

import json
import logging
import threading
from pathlib import Path

import httpx
import pytest
from prefect.exceptions import PrefectException

from judgelake.flows import progress_artifact
from judgelake.tasks.planning.cases import plan_file
from judgelake.tasks.standin.process import start_standin
from tests.flows.harness import shell_in, write_benchmark, write_suite
from tests.lakes import make_lake


@pytest.mark.full
def test_a_run_shows_its_progress_in_prefect(tmp_path: Path, prefect_url: str) -> None:
    write_benchmark(tmp_path, 20)
    asked = {"artifacts": {"type": {"any_": ["progress"]}}}
    before = httpx.post(f"{prefect_url}/artifacts/filter", json=asked).json()  # of other tests
    with start_standin() as standin, shell_in(tmp_path) as shell:
        shell.variables = {"PREFECT_API_URL": prefect_url}
        suite = write_suite(tmp_path, standin.base_url)
        code, output = shell.run("run", str(suite), "--lake", str(tmp_path / "lake"))
        assert code == 0, output
    after = httpx.post(f"{prefect_url}/artifacts/filter", json=asked).json()
    (found,) = [artifact for artifact in after if artifact not in before]
    assert found["key"].startswith("progress-")
    assert found["data"] == 100.0
    assert found["description"].endswith(": 40 of 40")
    run = httpx.get(f"{prefect_url}/flow_runs/{found['flow_run_id']}").json()
    flow = httpx.get(f"{prefect_url}/flows/{run['flow_id']}").json()
    assert flow["name"] == "judge-answers"
    assert_is_quiet(prefect_url, run["parent_task_run_id"], output)


def assert_is_quiet(prefect_url: str, flow_as_task: str, output: str) -> None:
    """A server that is there makes a run neither slower nor louder: Prefect prints nothing, no task
    asks for a slot, and no flow of this short run sends signs of life.
    """
    assert "INFO" not in output
    outer = httpx.get(f"{prefect_url}/task_runs/{flow_as_task}").json()["flow_run_id"]
    of_run = {"flow_runs": {"id": {"any_": [outer]}}}
    tasks = httpx.post(f"{prefect_url}/task_runs/filter", json=of_run).json()
    assert [task["tags"] for task in tasks] == [[], [], []]
    ours = {"id": [f"prefect.flow-run.{outer}"]}
    kinds = {"filter": {"event": {"prefix": ["prefect.flow-run."]}, "resource": ours}}
    events = httpx.post(f"{prefect_url}/events/filter", json=kinds).json()["events"]
    named = {event["event"].rpartition(".")[2] for event in events}
    assert "heartbeat" not in named
    assert "Running" in named


def follow(tmp_path: Path, cases: list[int]) -> None:
    """Look at 100 cases of which so many are judged each time, the last time at the end."""
    lake = make_lake(tmp_path)
    folder = plan_file(lake, "r1").parent
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text('{"lave": 100}')

    class Looks(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002
            (folder / "a.progress.json").write_text(json.dumps({"cases": cases.pop(0)}))
            return not cases

    progress_artifact._Artifact(lake, "r1", "Nightly VQA").follow(Looks())


def test_prefect_is_told_of_every_tenth_and_of_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[object, ...]] = []

    def create(percent: float, key: str, words: str) -> str:
        told.append((percent, key, words))
        return "id"

    monkeypatch.setattr(progress_artifact, "create_progress_artifact", create)
    monkeypatch.setattr(
        progress_artifact, "update_progress_artifact", lambda *given: told.append(given)
    )
    follow(tmp_path, [0, 4, 12, 13, 21, 22, 60, 60, 62])
    words = "Cases judged in run r1 of Nightly VQA: {} of 100".format
    assert told == [
        (12.0, "progress-nightly-vqa", words(12)),
        ("id", 22.0, words(22)),
        ("id", 60.0, words(60)),
        ("id", 62.0, words(62)),
    ]


def test_a_server_that_refuses_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[float] = []

    def refuse(percent: float, *_: str) -> None:
        asked.append(percent)
        raise PrefectException("no room")

    monkeypatch.setattr(progress_artifact, "create_progress_artifact", refuse)
    monkeypatch.setattr(progress_artifact, "get_run_logger", lambda: logging.getLogger("seen"))
    follow(tmp_path, [10, 30, 100])
    assert asked == [10.0]
    assert "not shown here: no room" in caplog.text
