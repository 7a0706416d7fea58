"""Runs that meet and runs that are ended, through the command: who waits for whom, what Ctrl-C and
SIGTERM leave, what `status` says.
"""

import json
import signal
from collections import Counter
from pathlib import Path

import pytest

from judgelake.tasks.standin.process import start_standin
from tests.flows.harness import (
    HANG_S,
    Shell,
    interrupt,
    read_requests,
    shell_in,
    standing_still,
    wait_until,
    write_benchmark,
    write_suite,
)
from tests.flows.test_whole_runs import ONE_EACH

pytestmark = pytest.mark.full


def test_two_runs_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    """The second says for whom it waits, finds everything done and asks nothing; one that will
    not wait ends with 6.

    A run takes its leases in order: once the first only reports, the second may hold the judge's
    while it waits for the report's. So the first is kept judging while leases are looked at.
    """
    write_benchmark(tmp_path, 150)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    (tmp_path / "b").mkdir()
    with start_standin(log=log, latency_ms=300) as standin, shell_in(tmp_path) as shell:
        suite = str(write_suite(tmp_path, standin.base_url, concurrency=16))
        words = ("run", suite, "--lake", str(lake))
        first = shell.start(*words)
        assert wait_until(lambda: len(read_requests(log)) >= 30, first), shell.output.read_text()
        other = Shell(tmp_path / "b", shell.token)
        with standing_still(standin):  # the first judges until the second has waited for it
            code, output = other.run(*words, "--no-wait")
            assert code == 6, output
            assert "holds judge-" in output
            second = other.start(*words)
            waiting = "judgelake: lease: waiting: run "
            assert wait_until(lambda: waiting in other.output.read_text(), second)
            status = json.loads(status_words(other, lake))
        # the second may stand there too, and holds nothing
        assert status["under_way"][0]["alive"]
        assert {lease["pid"] for lease in status["leases"]} == {first.pid}
        assert not any(lease["stale"] for lease in status["leases"])
        assert first.wait(HANG_S) == 0, shell.output.read_text()
        assert second.wait(HANG_S) == 0
        assert "; 0 calls, " in other.output.read_text()
        assert max(Counter(read_requests(log)).values()) == 1
        assert len(read_requests(log)) == 300
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.count(lake, "select count(*) from raw_verdicts") == 300
        assert shell.list_left() == []


def status_words(shell: Shell, lake: Path) -> str:
    """What `judgelake status --format json` says, without disturbing the output of the run that
    waits.
    """
    beside = Shell(shell.folder / "status", shell.token)
    beside.folder.mkdir()
    code, output = beside.run("status", "--lake", str(lake), "--format", "json")
    assert code == 0, output
    return output


@pytest.mark.parametrize("end", ["SIGTERM", "Ctrl-C twice"])
def test_however_a_run_is_ended_what_has_come_is_kept(tmp_path: Path, end: str) -> None:
    """SIGTERM waits for what is in flight (10 s here), as Ctrl-C does; a second Ctrl-C does not,
    but keeps what came.
    """
    write_benchmark(tmp_path, 300)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with start_standin(log=log, latency_ms=2000) as standin, shell_in(tmp_path) as shell:
        suite = str(write_suite(tmp_path, standin.base_url, concurrency=16))
        run = shell.start("run", suite, "--lake", str(lake), "--log-format", "json")
        assert wait_until(lambda: len(read_requests(log)) >= 40)
        if end == "SIGTERM":
            run.send_signal(signal.SIGTERM)
        else:
            interrupt(run)
            assert wait_until(lambda: "finishing what is in flight" in shell.output.read_text())
            interrupt(run)
        assert run.wait(HANG_S) == 130, shell.output.read_text()
        output = shell.output.read_text()
        assert "Traceback" not in output
        asked, stored = len(read_requests(log)), shell.count(lake, "select count(*) from replies")
        assert asked < 600
        in_flight = 0 if end == "SIGTERM" else 16
        assert asked - in_flight <= stored <= asked
        steps = [json.loads(line)["step"] for line in output.splitlines() if line.startswith("{")]
        assert steps[:2] == ["ingest", "plan"]
        assert shell.list_left() == []
        code, output = shell.run("status", "--lake", str(lake))
        assert code == 0
        # a machine so busy that shards do not end within 5 s of the second Ctrl-C leaves the run's
        # row as it was
        assert "exit 130" in output or (end != "SIGTERM" and "was killed" in output)
