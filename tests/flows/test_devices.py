"""One worker a GPU: which it sees, and who gets work. The processor stands in for two GPUs."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from judgelake.flows.devices import list_environments
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.planning.cases import size_shards
from tests.flows.harness import shell_in
from tests.flows.services import dask_scheduler, free_port, worker
from tests.flows.test_clusters import connect

if TYPE_CHECKING:
    from distributed import Client


def test_each_worker_sees_one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-1a2b")
    seen = [environment["CUDA_VISIBLE_DEVICES"] for environment in list_environments()]
    assert seen == ["3", "GPU-1a2b"]
    assert [one["CUDA_VISIBLE_DEVICES"] for one in list_environments(1)] == ["3"]
    with pytest.raises(SuiteError, match=r"--gpu 3: this machine shows 2 GPUs .*expected at most"):
        list_environments(3)


def test_without_a_gpu_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert list_environments() == [{"OMP_NUM_THREADS": "8"}]
    assert list_environments(2) == [{"OMP_NUM_THREADS": "4"}] * 2
    assert list_environments(20)[19] == {"OMP_NUM_THREADS": "1"}


def test_ten_thousand_cases_are_shards_for_every_gpu() -> None:
    assert size_shards(10_000, 4 * 4) == 625


SUITE = """
name: devices
benchmarks:
  demo: {{source: demo, seed: 7, scenes: {scenes}}}
metrics: []
judges:
  small: {{protocol: lave, backend: transformers, model: {model}, rationale: false, shots: 0,
    answer_form: forced, on_unreadable: go on}}
report: {{resamples: 100, seed: 7}}
"""


@pytest.mark.full
def test_two_devices_share_the_cases(tmp_path: Path) -> None:
    from tests.backends.tiny_models import save_decoder

    suite, lake = tmp_path / "suite.yaml", tmp_path / "lake"
    suite.write_text(SUITE.format(model=save_decoder(tmp_path / "model"), scenes=120))
    with (
        shell_in(tmp_path) as shell,
        dask_scheduler(shell, free_port()) as address,
        worker(shell, address, "two", "--gpu", "2", CUDA_VISIBLE_DEVICES="5,7"),
        connect(shell, address) as client,
    ):
        given = (str(suite), "--lake", str(lake))
        assert shell.run("ingest", *given)[0] == 0
        code, output = shell.run("judge", *given, "--scheduler", address)
        assert code == 0, output
        pinned = client.run(lambda: os.environ["CUDA_VISIBLE_DEVICES"])
        done = _count_tasks(client)
        names = _find_places(client)
        assert pinned[names["two-0"]] == "5"
        assert pinned[names["two-1"]] == "7"
        assert min(done[names["two-0"]], done[names["two-1"]]) > 0
        (row,) = shell.select(
            lake, "select count(*) as n, count(*) filter (status = 'ok') as ok from core_scores"
        )
        assert int(str(row["n"])) == int(str(row["ok"])) > 900


@pytest.mark.full
def test_shards_of_a_slow_device_are_taken_by_the_other(tmp_path: Path) -> None:
    from tests.backends.tiny_models import save_decoder

    suite, lake = tmp_path / "suite.yaml", tmp_path / "lake"
    suite.write_text(SUITE.format(model=save_decoder(tmp_path / "model"), scenes=300))
    with (
        shell_in(tmp_path) as shell,
        dask_scheduler(shell, free_port()) as address,
        worker(shell, address, "two", "--gpu", "2", CUDA_VISIBLE_DEVICES="5,7"),
        connect(shell, address) as client,
    ):
        given = (str(suite), "--lake", str(lake))
        assert shell.run("ingest", *given)[0] == 0
        places = _find_places(client)
        slow = client.run(os.getpid)[places["two-0"]]
        with _slowed(slow):
            code, output = shell.run("judge", *given, "--scheduler", address)
        assert code == 0, output
        done = _count_tasks(client)
        assert done[places["two-1"]] > done[places["two-0"]]
        (row,) = shell.select(lake, "select count(*) as n from core_scores where status = 'ok'")
        assert int(str(row["n"])) > 2200


@contextmanager
def _slowed(process: int) -> Iterator[None]:
    """The process runs for a fifth of the time."""
    is_over = threading.Event()

    def pause() -> None:
        while not is_over.wait(0.05):
            os.kill(process, signal.SIGSTOP)
            is_over.wait(0.2)
            os.kill(process, signal.SIGCONT)

    pausing = threading.Thread(target=pause)
    pausing.start()
    try:
        yield
    finally:
        is_over.set()
        pausing.join()


def _count_tasks(client: "Client") -> dict[str, int]:
    """A worker's address -> the tasks that it ended."""
    done: dict[str, int] = client.run(lambda dask_worker: dask_worker.state.executed_count)
    return done


def _find_places(client: "Client") -> dict[str, str]:
    """A worker's name -> its address."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {held["name"]: place for place, held in workers.items()}
