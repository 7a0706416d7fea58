"""A local worker whose nanny has given up is replaced; one that cannot start ends what waits for
it, and says why.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client, Scheduler, SpecCluster

from judgelake.flows import worker_watch
from judgelake.flows.worker_watch import MOST_STARTS, WatchedNanny, WorkerWatch, keep_workers
from judgelake.tasks.errors import ClusterError

PRELOAD = """
from pathlib import Path
if Path({flag!r}).exists():
    import judgelake_is_not_here
"""


@contextmanager
def one_worker(watch: WorkerWatch, preload: str = "") -> Iterator[SpecCluster]:
    scheduler = {
        "cls": Scheduler,
        "options": {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"},
    }
    options = {
        "nthreads": 1,
        "dashboard": False,
        "silence_logs": 50,
        "preload": preload or None,
        "watch": watch,
    }
    workers = {"one": {"cls": WatchedNanny, "options": options}}
    with (
        SpecCluster(scheduler=scheduler, silence_logs=50) as cluster,  # type: ignore[no-untyped-call]
        keep_workers(cluster, workers, watch),
    ):
        yield cluster


def work_on(client: Client) -> int:
    pid: int = client.submit(os.getpid, pure=False).result(60)
    return pid


@pytest.mark.full
def test_a_worker_without_its_nanny_is_replaced() -> None:
    with one_worker(WorkerWatch()) as cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
        first = work_on(client)
        cluster.sync(cluster.workers["one"].close)  # type: ignore[no-untyped-call]  # as one that has given up: nobody starts its worker again
        assert work_on(client) != first


@pytest.mark.full
def test_a_worker_that_never_starts_is_an_error_in_its_own_words(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    flag.touch()
    words = r"worker one: did not start 3 times in a row .*No module named 'judgelake_is_not_here'"
    with (
        pytest.raises(ClusterError, match=words),
        one_worker(WorkerWatch(), PRELOAD.format(flag=str(flag))),
    ):
        pytest.fail("it is up")


@pytest.mark.full
def test_a_worker_that_hangs_at_its_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_watch, "START_S", 2.0)
    words = r"worker one: did not start 3 times in a row \(at last: it was not up after 2 s\)"
    with (
        pytest.raises(ClusterError, match=words),
        one_worker(WorkerWatch(), "import time\ntime.sleep(600)\n"),
    ):
        pytest.fail("it is up")


@pytest.mark.full
def test_a_worker_that_does_not_start_again_fails_what_waits_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flag = tmp_path / "flag"

    def kill_for_good() -> None:
        with (
            one_worker(WorkerWatch(patience_s=1.0), PRELOAD.format(flag=str(flag))) as cluster,
            Client(cluster) as client,  # type: ignore[no-untyped-call]
        ):
            first = work_on(client)
            flag.touch()
            os.kill(first, signal.SIGKILL)
            work_on(client)

    with pytest.raises(
        ClusterError, match=r"worker one: did not start \d+ times in a row .*judgelake_is_not_here"
    ):
        kill_for_good()
    assert "judgelake: worker one: did not start 3 times in a row" in capsys.readouterr().err


def test_a_worker_that_comes_up_in_between_is_never_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed for ever, and now and then while it starts; only one that does not come up for as long
    as patience lasts is lost.
    """
    now_s = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    watch = WorkerWatch(patience_s=60.0)
    watch.note_failure("one", "killed")
    assert not watch.are_up(["one"])
    watch.note_start("one")
    assert watch.are_up(["one"])
    for _ in range(100):
        for _ in range(MOST_STARTS):
            watch.note_failure("one", "killed")
        now_s += 50
        assert watch.find_lost() == []
        watch.note_start("one")
    for _ in range(MOST_STARTS - 1):
        watch.note_failure("one", "killed")
    now_s += 100
    assert watch.find_lost() == []  # too few to decide
    watch.note_failure("one", "it ended with status 3")
    assert watch.find_lost() == ["one"]
    watch.note_lost("one")
    assert watch.find_lost() == []
    assert str(watch.refuse()).startswith(
        f"worker one: did not start {MOST_STARTS} times in a row (at last: it ended with "
        f"status 3); expected "
    )
