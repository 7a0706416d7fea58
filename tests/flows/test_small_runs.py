"""A small run: its workers are in its own process, nothing of it listens to other machines, and
what it starts does not wait for one another. By the order of events; how long it takes is
`tests/bench/bench_small_run.py`.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client

from judgelake.flows import nightly_evaluation, run_left, runners
from judgelake.flows.cluster import is_small
from judgelake.flows.runners import RunServer, local_cluster, workers_here
from judgelake.tasks.errors import ExitCode
from judgelake.tasks.runs.log import RunOptions
from judgelake.tasks.runs.summary import RunEnd
from judgelake.tasks.suite.suite import Scope, read_suite
from tests.backends.batch_server import Json, batch_server, rate
from tests.flows.harness import HANG_S, shell_in, wait_until, write_benchmark, write_suite
from tests.lakes import make_lake


def list_listening(processes: list[psutil.Process]) -> set[str]:
    """The addresses at which processes take connections."""
    return {
        connection.laddr.ip
        for process in processes
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


@pytest.mark.full
@pytest.mark.parametrize("workers", ["", "processes"])
def test_a_small_run_works_in_its_own_process_and_listens_on_loopback(
    tmp_path: Path, workers: str
) -> None:
    """Looked at while its first request waits for an answer; the other case shows that worker
    processes would be seen.
    """
    seen: list[tuple[set[str], list[str]]] = []

    def look(body: Json) -> tuple[int, Json]:
        if not seen:
            seen.append((list_listening(shell.living()), shell.list_commands()))
        return rate(body)

    write_benchmark(tmp_path, 4)
    with batch_server() as server, shell_in(tmp_path) as shell:
        server.live = look
        shell.variables["JUDGELAKE_WORKERS"] = workers
        suite = write_suite(tmp_path, server.base_url)
        code, said = shell.run("run", str(suite), "--lake", str(tmp_path / "lake"))
    assert code == 0, said
    ((listening, commands),) = seen
    assert listening == {"127.0.0.1"}
    known = ("judgelake.flows.cli", "judgelake.flows.prefect_server")
    assert all(any(name in command for command in commands) for name in known)
    others = [command for command in commands if not any(name in command for name in known)]
    assert (others == []) == (workers == ""), others


def test_workers_of_a_small_run_start_no_process() -> None:
    here = psutil.Process()
    listening, children = list_listening([here]), here.children(recursive=True)
    with (
        workers_here() as address,
        Client(address) as client,  # type: ignore[no-untyped-call]
    ):
        places = client.run(os.getpid)
        assert len(places) == 2
        assert {*places.values()} == {os.getpid()}
        assert all(place.startswith("inproc://") for place in (address, *places))
        assert here.children(recursive=True) == children
        # Dask opens a port for its status pages also where it shows none
        assert list_listening([here]) - listening <= {"127.0.0.1"}


def test_which_runs_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_benchmark(tmp_path, 4)
    suite = read_suite(write_suite(tmp_path, "http://127.0.0.1:1/v1"))
    assert is_small(suite, None)
    with (tmp_path / "questions.json").open("a") as file:
        file.write(" " * 2**20)
    assert not is_small(suite, None)
    assert is_small(suite, 500)
    assert not is_small(suite, 501)
    monkeypatch.setenv("JUDGELAKE_WORKERS", "processes")
    assert not is_small(suite, 4)


def test_a_server_that_starts_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events: list[str] = []
    start = runners._start_server
    monkeypatch.setenv("JUDGELAKE_CACHE", str(tmp_path))
    monkeypatch.setattr(runners, "_start_server", noted(events, "begins", start))
    monkeypatch.setattr(runners, "_answers", noted(events, "is asked", lambda *_: True))
    with RunServer() as server:
        wait = server.start()
        events.append("has begun")
        wait()
    assert events == ["begins", "has begun", "is asked"]


def noted(events: list[str], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def noting(*given: Any) -> Any:
        events.append(name)
        return call(*given)

    return noting


def test_a_run_imports_while_its_server_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The server answers when all but the last module are there; the flow imports the rest while it
    works.
    """
    events: list[str] = []

    class Server(RunServer):
        def start(self) -> Callable[[], str]:
            events.append("server begins")
            return noted(events, "server answers", str)

        def answers(self) -> bool:
            return len(events) > 2

    end = RunEnd(ExitCode.DONE, (), "run")
    flow = noted(events, "flow", lambda *_: end)
    monkeypatch.setattr(nightly_evaluation, "nightly_evaluation", flow)
    monkeypatch.setattr(run_left, "import_module", events.append)
    write_benchmark(tmp_path, 4)
    suite = read_suite(write_suite(tmp_path, "http://127.0.0.1:1/v1"))
    options = Namespace(scheduler=None, retry=[], wait_for_workers=False)
    stages, lake = ("ingest", "judge", "report"), make_lake(tmp_path)
    how = RunOptions(None, "json")
    ended = run_left._run_flow(options, suite, lake, "run", Scope(), stages, how, Server())
    assert ended is end
    modules = run_left._list_late(suite, stages)
    assert events[:4] == ["server begins", *modules[:2], "server answers"]
    assert sorted(events[4:]) == sorted(["flow", *modules[2:]])


SLOW_CLIENT = """
import time
from pathlib import Path

folder = Path({folder!r})
(folder / "loading").touch()
deadline = time.monotonic() + {hang_s}
while not (folder / "ingested").exists():
    if time.monotonic() > deadline:
        (folder / "nobody ingested").touch()
        break
    time.sleep(0.01)
"""


@pytest.mark.full
def test_ingest_does_not_wait_for_what_worker_processes_load(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The worker's client ends loading only once the block, in which a run ingests, has begun."""
    text = SLOW_CLIENT.format(folder=str(tmp_path), hang_s=HANG_S)
    (tmp_path / "slow_client.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with local_cluster(clients=["slow_client"]) as (address, security):
        assert wait_until((tmp_path / "loading").exists)
        (tmp_path / "ingested").touch()
        with Client(address, security=security) as client:  # type: ignore[no-untyped-call]
            loaded = client.run(lambda: "slow_client" in sys.modules)
    assert sorted(loaded.values()) == [False, True]
    assert not (tmp_path / "nobody ingested").exists()
