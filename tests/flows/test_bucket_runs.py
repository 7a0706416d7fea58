"""A whole run on a lake in a bucket over HTTP: throttled, slow, killed in the middle, and in the
end the same as on a disk.
"""

import time
from pathlib import Path

import pytest

from judgelake.tasks.lake.storage import read_file
from judgelake.tasks.standin.process import start_standin
from tests.bucket_server import SECRET, Bucket, Seen
from tests.flows.harness import read_requests, shell_in, wait_until, write_benchmark, write_suite
from tests.flows.test_whole_runs import ONE_EACH

N_CASES = 400
RESULTS = (
    "select item_id, content_digest, status, rating, score_0_1 from verdicts order by all",
    "select item_id, content_digest, score from metric_scores order by all",
)


def trouble(seen: Seen) -> str | float | None:
    """Every 37th request is throttled, every 53rd slow, every 83rd cut off."""
    if seen.number % 37 == 0:
        return "slow down"
    return 0.5 if seen.number % 53 == 0 else "cut" if seen.number % 83 == 0 else None


@pytest.mark.full
def test_killed_and_resumed_in_a_bucket(bucket: Bucket, tmp_path: Path) -> None:
    write_benchmark(tmp_path, N_CASES // 2)
    log, lake, local = tmp_path / "requests.jsonl", f"{bucket.url}/a/lake", tmp_path / "lake"
    bucket.trouble(trouble)
    with start_standin(log=log, latency_ms=300) as standin, shell_in(tmp_path) as shell:
        suite = str(write_suite(tmp_path, standin.base_url, concurrency=8))
        run = shell.start("run", suite, "--lake", lake)
        assert wait_until(lambda: bucket.count("PUT", "/replies/") >= 1), (
            shell.output.read_text()
        )  # the first flush
        run.kill()
        run.wait()
        assert shell.list_left() == []
        asked, stored = len(read_requests(log)), shell.count(lake, "select count(*) from replies")
        assert 0 < stored < N_CASES

        code, output = shell.run("run", suite, "--lake", lake)
        assert code == 0, output
        assert f"{lake}/reports/small/report.html" in output
        assert SECRET not in output
        assert (
            len(read_requests(log)) <= N_CASES + asked - stored + 8
        )  # what was in flight or not yet flushed is asked again
        assert shell.count(lake, ONE_EACH) == 0
        assert b"</html>" in (read_file(bucket.place("a/lake/reports/small/report.html")) or b"")

        before = len(read_requests(log))
        code, output = shell.run("run", suite, "--lake", lake)
        assert (code, len(read_requests(log))) == (0, before), output
        code, output = shell.run("run", suite, "--lake", str(local))
        assert code == 0, output
        for query in RESULTS:
            assert shell.select(lake, query) == shell.select(local, query) != []
        assert shell.list_left() == []


class Outage:
    """A bucket that refuses everything for `seconds`, from the first replies on that are written
    into it.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.began_s, self.n_refused = seconds, 0.0, 0

    def __call__(self, seen: Seen) -> str | None:
        if not self.began_s and (seen.method, "/replies/" in seen.path) == ("PUT", True):
            self.began_s = time.monotonic()
        refuses = bool(self.began_s) and time.monotonic() - self.began_s < self.seconds
        self.n_refused += refuses
        return "slow down" if refuses else None


@pytest.mark.full
def test_a_bucket_that_refuses_for_a_while_costs_no_reply(bucket: Bucket, tmp_path: Path) -> None:
    write_benchmark(tmp_path, N_CASES // 2)
    log, lake, outage = tmp_path / "requests.jsonl", f"{bucket.url}/a/lake", Outage(15)
    bucket.trouble(outage)
    with start_standin(log=log, latency_ms=300) as standin, shell_in(tmp_path) as shell:
        suite = str(write_suite(tmp_path, standin.base_url, concurrency=8))
        code, output = shell.run("run", suite, "--lake", lake)
        assert code == 0, output
        assert outage.n_refused > 0
        assert shell.count(lake, ONE_EACH) == 0
        assert shell.count(lake, "select count(*) from verdicts where status = 'ok'") == N_CASES
        assert len(read_requests(log)) == len({*read_requests(log)}) == N_CASES
        assert shell.list_left() == []
