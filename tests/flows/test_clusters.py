"""Runs on a Dask cluster of separate processes: what is refused before anything is asked, and what
is lost when a part of it goes.
"""

import asyncio
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client, Security

from judgelake.flows.certificate_command import make_certificate
from judgelake.flows.cli import make_parser
from judgelake.flows.cluster import Workers, open_workers, refuse_thin_share
from judgelake.flows.run_command import run_stages
from judgelake.flows.runners import ENDPOINT_SLOT
from judgelake.flows.serve_command import serve_suite
from judgelake.flows.worker_command import run_worker
from judgelake.tasks.engine.ledger import FLUSH_SECONDS
from judgelake.tasks.engine.shares import find_share, follow_share, mark_done, mark_open
from judgelake.tasks.errors import ClusterError, SuiteError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.planning.cases import size_shards
from judgelake.tasks.runs.workers import make_probe, probe_place
from judgelake.tasks.standin.process import start_standin
from judgelake.tasks.suite.suite import LimitSettings, read_suite
from tests.conftest import copy_packages
from tests.flows.harness import (
    HANG_S,
    Shell,
    read_requests,
    shell_in,
    wait_until,
    write_benchmark,
    write_suite,
)
from tests.flows.services import (
    certificate,
    dask_scheduler,
    free_port,
    kill_group,
    network_pair,
    worker,
)
from tests.flows.test_whole_runs import ONE_EACH
from tests.lakes import lave_judge, make_lake, make_suite

STORED = "select count(*) from replies"


def test_every_slot_gets_a_shard_where_there_are_cases_enough() -> None:
    assert size_shards(60_000, 1) == 25_000
    assert size_shards(25_000, 4) == 6_250  # a shard for each of the four
    assert size_shards(1_200, 4) == 500  # three shards: fewer cases are not worth a task
    assert size_shards(0, 4) == 500


@pytest.mark.parametrize(
    ("metrics", "stages", "slots"),
    [
        ((), ("ingest", "judge"), {"ENDPOINT": 1}),
        (("exact_match",), ("judge",), {"ENDPOINT": 1, "METRIC": 1}),
    ],
)
def test_a_suite_without_metrics_has_no_worker_for_them(
    tmp_path: Path, metrics: tuple[str, ...], stages: tuple[str, ...], slots: dict[str, int]
) -> None:
    suite, lake = make_suite(lave_judge(), metrics=metrics), make_lake(tmp_path)
    with open_workers(lake, suite, "r", stages, None, limit=4, wait=False) as workers:
        assert workers.slots == slots


def test_slots_share_the_limits_and_those_that_are_left_have_all_of_them(tmp_path: Path) -> None:
    limits, files = (
        LimitSettings(concurrency=64, requests_per_minute=900),
        [tmp_path / f"lave-{n}.parquet" for n in range(4)],
    )
    assert find_share(limits, 1, files[0]) == (64, 900.0)
    for file in files:
        mark_open(file)
    # four are left for three slots: which three are at work is not known, and 64 // 3 = 21 is right
    # for any
    assert [find_share(limits, 3, file) for file in files] == [(21, 300.0)] * 4
    mark_done(files[1])
    assert [find_share(limits, 3, files[n]).concurrency for n in (0, 2, 3)] == [
        22,
        21,
        21,
    ]  # 64 in all
    mark_done(files[0])
    assert [find_share(limits, 3, files[n]) for n in (2, 3)] == [(32, 450.0)] * 2
    mark_done(files[2])
    mark_done(files[2])  # a shard that was sent to a second worker
    assert find_share(limits, 3, files[3]) == (64, 900.0)
    assert find_share(limits, 3, files[2]) == (21, 300.0)
    assert find_share(LimitSettings(concurrency=5), 4, files[3]).requests_per_minute is None


def test_a_share_grows_while_a_shard_is_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judgelake.tasks.engine.shares._LOOK_S", 0.01)
    limits, files = (
        LimitSettings(concurrency=64, requests_per_minute=1000),
        [tmp_path / "a.parquet", tmp_path / "b.parquet"],
    )
    seen: list[tuple[int, float | None]] = []

    async def drive() -> None:
        following = asyncio.create_task(
            follow_share(limits, 2, files[0], lambda *share: seen.append(share))
        )
        for n in range(2):
            reported = len(seen)
            while len(seen) < reported + 2:  # the first may have been looked up before
                await asyncio.sleep(0.01)
            mark_done(files[1]) if n == 0 else following.cancel()
        with suppress(asyncio.CancelledError):
            await following

    for file in files:
        mark_open(file)
    asyncio.run(asyncio.wait_for(drive(), HANG_S))
    assert (seen[0], seen[-1]) == ((32, 500.0), (64, 1000.0))


def test_more_slots_than_requests_is_refused() -> None:
    workers = Workers("tcp://h:1", {ENDPOINT_SLOT: 3})
    refuse_thin_share(3, workers)
    with pytest.raises(
        ClusterError,
        match=r"have 3 endpoint slots, limits\.concurrency is 2; expected at least one",
    ):
        refuse_thin_share(2, workers)


def test_probe_reports_what_a_worker_lacks_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_benchmark(tmp_path, 5)
    lake = open_lake(tmp_path / "lake", create=True)
    suite = read_suite(write_suite(tmp_path, "https://judge.example.org/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    probe = make_probe(lake, suite, "run", None)
    assert probe_place(probe) == []
    monkeypatch.delenv("OPENAI_API_KEY")
    (damage,) = probe_place(probe)
    assert "OPENAI_API_KEY is not set" in damage
    assert probe_place(probe.without_keys()) == []
    probe.token_file.write_text("of another lake")
    assert "another lake" in probe_place(probe.without_keys())[0]
    probe.token_file.unlink()
    assert "cannot read and write the lake" in probe_place(probe.without_keys())[0]


def test_probe_names_files_that_are_missing_and_an_api_that_does_not_answer(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 5)
    lake = open_lake(tmp_path / "lake", create=True)
    suite = read_suite(
        write_suite(tmp_path, "http://127.0.0.1:9/v1", extra=f"images: {tmp_path}/pictures")
    )
    url = f"http://127.0.0.1:{free_port()}/api"
    damage = probe_place(make_probe(lake, suite, "run", url))
    assert [line.partition(" (")[0] for line in damage] == [
        f"{tmp_path}/pictures is not there",
        f"cannot reach Prefect at {url}",
    ]


def run_on(
    shell: Shell, address: str, suite: Path, lake: Path, *words: str
) -> "subprocess.Popen[bytes]":
    return shell.start("run", str(suite), "--lake", str(lake), "--scheduler", address, *words)


def asked_again(log: Path) -> int:
    times = Counter(read_requests(log))
    return sum(times.values()) - len(times)


@pytest.mark.parametrize(
    ("command", "run"),
    [
        ("run suite.yaml", run_stages),
        ("judge suite.yaml", run_stages),
        ("worker", run_worker),
        ("serve suite.yaml --interval 9", serve_suite),
    ],
)
def test_a_scheduler_without_tls_is_refused(command: str, run: Callable[[Any], int]) -> None:
    words = [*command.split(), "--scheduler", "tcp://127.0.0.1:1"]
    with pytest.raises(ClusterError, match=r"may run code on its workers .* or give --without-tls"):
        run(make_parser().parse_args(words))


@pytest.mark.full
def test_who_has_no_certificate_is_refused(tmp_path: Path) -> None:
    with (
        shell_in(tmp_path) as shell,
        dask_scheduler(shell, free_port()) as address,
        worker(shell, address, "one"),
        worker(shell, address, "loud", "--without-tls") as loud,
    ):
        with connect(shell, address) as client:
            workers = client.scheduler_info(n_workers=-1)["workers"]
        assert loud.poll() is None  # the address has TLS all the same
        places = [address, *workers, *(worker["nanny"] for worker in workers.values())]
        assert len(places) == 5
        for place in places:
            with pytest.raises(OSError, match=r"(?i)certificate|verify"):
                Client(place, security=Security.temporary(), timeout=HANG_S)  # type: ignore[no-untyped-call]
            with pytest.raises(OSError, match=r"(?i)closed|reset|timed out"):
                Client(place.replace("tls://", "tcp://"), timeout=5)  # type: ignore[no-untyped-call]
        listening = {
            connection.laddr.port
            for process in shell.living()
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }
        for port in listening - {int(place.rpartition(":")[2]) for place in places}:
            # Dask's HTTP server has no page
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/info/main/workers.html")


def test_a_certificate_is_made_once_and_only_its_owner_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tls"
    make_certificate(Namespace(folder=folder))
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert sorted(files) == ["cert.pem", "dask.yaml", "key.pem"]
    assert {oct(file.stat().st_mode & 0o777) for file in folder.iterdir()} == {"0o600"}
    make_certificate(Namespace(folder=folder))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == files
    assert f"DASK_CONFIG={folder}" in capsys.readouterr().out
    (folder / "key.pem").unlink()
    with pytest.raises(SuiteError, match=r"a certificate without key\.pem; expected all three"):
        make_certificate(Namespace(folder=folder))


@pytest.mark.full
def test_a_worker_lost_and_one_added_while_it_runs(tmp_path: Path) -> None:
    """Asked again is at most what the lost worker's half of 16 in flight, 0.6 s each, can have
    asked between two flushes.
    """
    write_benchmark(tmp_path, 600)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with start_standin(log=log, latency_ms=600) as standin, shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, standin.base_url, concurrency=16)
        with (
            dask_scheduler(shell, free_port()) as address,
            worker(shell, address, "first") as first,
            worker(shell, address, "second", "--metric", "1"),
        ):
            run = run_on(shell, address, suite, lake)
            assert wait_until(lambda: len(read_requests(log)) >= 40), shell.output.read_text()
            with worker(shell, address, "third"), connect(shell, address) as client:
                assert wait_until(lambda: any(lake.glob("replies/**/*.parquet")))
                kill_group(first)
                assert wait_until(
                    lambda: has_work(client, "third")
                )  # the lost worker's shard: the second is busy
                assert run.wait(HANG_S) == 0, shell.output.read_text()
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.count(lake, "select count(*) from verdicts where status = 'ok'") == 1200
        assert asked_again(log) <= 8 * (FLUSH_SECONDS / 0.6 + 2)
        assert shell.list_left() == []


def connect(shell: Shell, address: str) -> Any:
    make: Any = Client
    return make(address, set_as_default=False, security=security_of(shell))


def security_of(shell: Shell) -> Security:
    """What a client of the shell's cluster needs, without Dask's configuration of this process."""
    folder = certificate(shell)
    (key, cert) = (str(folder / name) for name in ("key.pem", "cert.pem"))
    return Security(  # type: ignore[no-untyped-call]
        require_encryption=True, tls_ca_file=cert, tls_client_cert=cert, tls_client_key=key
    )


def has_work(client: Any, name: str) -> bool:
    workers = client.scheduler_info(n_workers=-1)["workers"]
    processing = client.processing()
    return any(processing.get(address) for address, one in workers.items() if one["name"] == name)


@pytest.mark.full
def test_the_scheduler_gone_then_the_next_run_goes_on(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 400)
    log, lake, port = tmp_path / "requests.jsonl", tmp_path / "lake", free_port()
    with start_standin(log=log, latency_ms=300) as standin, shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, standin.base_url, concurrency=8)
        with (
            dask_scheduler(shell, port) as address,
            worker(shell, address, "only", "--metric", "1") as only,
        ):
            run = run_on(shell, address, suite, lake)
            assert wait_until(lambda: any(lake.glob("replies/**/*.parquet"))), (
                shell.output.read_text()
            )
            (scheduler,) = [one for one in shell.living() if "scheduler" in one.cmdline()]
            scheduler.send_signal(signal.SIGKILL)
            assert run.wait(HANG_S) == 2, shell.output.read_text()
            assert f"scheduler {address}: went away during the run" in shell.output.read_text()
            assert only.wait(HANG_S) == 2
        stored = shell.count(lake, STORED)
        assert stored > 0
        with (
            dask_scheduler(shell, port) as address,
            worker(shell, address, "again", "--metric", "1"),
        ):
            assert run_on(shell, address, suite, lake).wait(HANG_S) == 0, shell.output.read_text()
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.count(lake, STORED) == 800
        assert shell.list_left() == []


@pytest.mark.full
def test_what_does_not_fit_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 10)
    log, lake, other = tmp_path / "requests.jsonl", tmp_path / "lake", tmp_path / "other"
    errors = copy_packages(other) / "tasks" / "errors.py"
    errors.write_text(errors.read_text() + "# changed\n")
    with start_standin(log=log) as standin, shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, standin.base_url)
        with dask_scheduler(shell, free_port()) as address:
            with worker(shell, address, "old", PYTHONPATH=str(other)) as old:
                assert old.wait(HANG_S) == 1  # it does not join a scheduler of other code
                assert (
                    "the scheduler has judgelake 0.1.0+"
                    in (tmp_path / "worker-old.log").read_text()
                )
            with worker(shell, address, "asks"):
                run = run_on(shell, address, suite, lake)
                assert run.wait(HANG_S) == 1
                output = shell.output.read_text()
                assert "none of its 1 workers has a slot METRIC" in output
                assert f"judgelake worker --scheduler {address} --metric 1" in output
                far = tmp_path / "far.yaml"
                far.write_text(
                    suite.read_text().replace(standin.base_url, "https://judge.example.org/v1")
                )
                assert run_on(shell, address, far, lake, "--judge", "lave").wait(HANG_S) == 1
                output = shell.output.read_text()
                assert "OPENAI_API_KEY is not set" in output
                assert "worker tls://" in output
        with dask_scheduler(shell, free_port(), path=str(other)) as address:
            waiting = run_on(shell, address, suite, lake, "--judge", "lave", "--wait-for-workers")
            assert waiting.poll() is None
            with worker(shell, address, "alike", PYTHONPATH=str(other)):
                assert wait_until(lambda: "other versions than here" in shell.output.read_text()), (
                    shell.output.read_text()
                )
                assert (
                    "expected the same judgelake and packages everywhere"
                    in shell.output.read_text()
                )
                assert waiting.wait(HANG_S) == 1
        assert read_requests(log) == []
        assert shell.list_left() == []


@pytest.mark.full
def test_a_worker_behind_another_network(tmp_path: Path) -> None:
    """Scheduler and command in one network namespace, worker and endpoint in another: all goes over
    the cable between them.
    """
    write_benchmark(tmp_path, 20)
    log, lake, port = tmp_path / "requests.jsonl", tmp_path / "lake", free_port()
    with (
        shell_in(tmp_path) as shell,
        network_pair(f"jl{os.getpid() % 10_000}") as (here, there, address_here, _),
    ):
        endpoint = [
            *there,
            sys.executable,
            "-m",
            "judgelake.tasks.standin.server",
            "--port",
            str(port),
            "--log",
            str(log),
        ]
        served = subprocess.Popen(endpoint, env=shell.environment(), stdout=subprocess.DEVNULL)
        suite = write_suite(tmp_path, f"http://127.0.0.1:{port}/v1")
        try:
            with (
                dask_scheduler(shell, 8786, before=here, host=address_here) as address,
                worker(shell, address, "far", "--metric", "1", before=there),
            ):
                words = ["run", str(suite), "--lake", str(lake), "--scheduler", address]
                command = [*here, sys.executable, "-m", "judgelake.flows.cli", *words]
                done = subprocess.run(
                    command,
                    env=shell.environment(),
                    capture_output=True,
                    text=True,
                    timeout=HANG_S,
                    check=False,
                )
        finally:
            served.kill()
            served.wait()
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(read_requests(log)) == 40  # 20 items, two models
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.list_left() == []
