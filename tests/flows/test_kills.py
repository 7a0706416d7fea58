"""Killed and interrupted in the middle of judging: nothing paid for is lost or doubled, no process
is left.
"""

from collections import Counter
from pathlib import Path

import pytest

from judgelake.tasks.standin.process import start_standin
from tests.flows.harness import (
    HANG_S,
    busiest_worker,
    interrupt,
    read_requests,
    shell_in,
    standing_still,
    wait_until,
    write_benchmark,
    write_suite,
)
from tests.flows.test_whole_runs import ONE_EACH

N_CASES = 1200


@pytest.mark.full
def test_kill_nine_a_worker_then_everything(tmp_path: Path) -> None:
    """Asked again is at most what had come since the last flush: requests seen minus replies
    stored, at each kill.
    """
    write_benchmark(tmp_path, N_CASES // 2)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    stored = "select count(*) from replies"
    with start_standin(log=log, latency_ms=200) as standin, shell_in(tmp_path) as shell:
        suite = str(write_suite(tmp_path, standin.base_url, concurrency=24))
        shell.variables["JUDGELAKE_WORKERS"] = "processes"
        run = shell.start("run", suite, "--lake", str(lake))
        assert wait_until(lambda: len(read_requests(log)) >= 150, run), shell.output.read_text()
        with standing_still(standin):
            # what has come is kept within 10 s
            assert wait_until(lambda: any(lake.glob("replies/**/*.parquet")), run)
            busiest_worker(shell).kill()
            asked = len(read_requests(log))
            at_first = asked - shell.count(lake, stored)
        # Dask has run the shard again
        assert wait_until(lambda: len(read_requests(log)) >= asked + 150, run)
        with standing_still(standin):
            assert wait_until(lambda: len(list(lake.glob("replies/**/*.parquet"))) >= 2, run)
            run.kill()
            run.wait()
            assert shell.list_left() == []  # workers and servers end with their parent
            at_second = len(read_requests(log)) - at_first - shell.count(lake, stored)
        assert shell.count(lake, stored) > 0
        assert (
            "LOST: it ended without writing its end" in shell.run("status", "--lake", str(lake))[1]
        )

        code, output = shell.run("run", suite, "--lake", str(lake))
        assert code == 0, output
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.count(lake, "select count(*) from verdicts where status = 'ok'") == N_CASES
        assert [
            row["outcome"]
            for row in shell.select(lake, "select outcome from core_runs order by started_at")
        ] == [
            "lost",
            "done",
        ]
        assert shell.count(lake, stored) == N_CASES
        times = Counter(read_requests(log))
        assert len(times) == N_CASES
        asked_again = sum(times.values()) - N_CASES
        # a request in flight at the kill may still be logged a moment later: one window more each
        assert asked_again <= at_first + at_second + 2 * 24
        assert shell.list_left() == []


@pytest.mark.full
def test_ctrl_c_keeps_what_is_in_flight(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 600)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with start_standin(log=log, latency_ms=300) as standin, shell_in(tmp_path) as shell:
        suite = str(write_suite(tmp_path, standin.base_url, concurrency=16))
        run = shell.start("run", suite, "--lake", str(lake))
        assert wait_until(lambda: len(read_requests(log)) >= 60, run), shell.output.read_text()
        interrupt(run)
        assert run.wait(HANG_S) == 130, shell.output.read_text()
        output = shell.output.read_text()
        assert "finishing what is in flight" in output
        assert shell.list_left() == []
        asked = len(read_requests(log))
        assert asked < 1200
        assert (
            shell.count(lake, "select count(*) from replies") == asked
        )  # every reply asked for came in and was kept
        assert [row["outcome"] for row in shell.select(lake, "select outcome from runs")] == [
            "stopped"
        ]
        code, output = shell.run("run", suite, "--lake", str(lake))
        assert code == 0, output
        assert max(Counter(read_requests(log)).values()) == 1
        assert shell.count(lake, ONE_EACH) == 0
