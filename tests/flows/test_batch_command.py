"""The command with `mode: batch`: submit and leave, run again and collect; a judge of two turns;
staying until the batch has ended.
"""

from pathlib import Path

import pytest

from tests.backends.batch_server import batch_server
from tests.flows.harness import shell_in, write_benchmark, write_suite

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_prefect")]
ITEMS = 6
CASES = 2 * ITEMS


def batch_suite(folder: Path, base_url: str, more: str = "") -> str:
    write_benchmark(folder, ITEMS)
    file = write_suite(folder, base_url)
    file.write_text(
        file.read_text().replace(
            "max_attempts: 3", f"max_attempts: 3, mode: batch, on_unreadable: go on{more}"
        )
    )
    return str(file)


def test_submit_leave_and_collect(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    with batch_server() as server, shell_in(tmp_path) as shell:
        suite = batch_suite(tmp_path, server.base_url)
        code, said = shell.run("run", suite, "--lake", lake)
        assert code == 7, said
        assert (
            f"open: {CASES} cases wait for a batch at the provider; run the same command again "
            f"to collect it" in said
        )
        n = server.requests.total()
        assert f"batches: {n} requests in batch_1" in said
        assert len(server.batches) == 1
        code, said = shell.run("run", suite, "--lake", lake)
        assert (code, len(server.batches)) == (7, 1), said
        server.finish()
        code, said = shell.run("run", suite, "--lake", lake)
        assert code == 0, said
        assert "batches:" not in said
        assert shell.count(lake, "select count(*) as n from verdicts where status = 'ok'") == CASES
        assert shell.select(lake, "select state, n_requests from batches") == [
            {"state": "collected", "n_requests": n}
        ]
        assert server.calls["POST /v1/chat/completions"] == 0
        assert set(server.requests.values()) == {1}
        code, said = shell.run("run", suite, "--lake", lake)
        assert (code, len(server.batches)) == (0, 1), said
        assert shell.list_left() == []


def test_a_run_that_stays_needs_no_second_one(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    with batch_server() as server, shell_in(tmp_path) as shell:
        suite = batch_suite(
            tmp_path, server.base_url, ", batch_wait_s: 600, price: {input: 1, output: 1}"
        )
        server.ends_at_look = 2
        code, said = shell.run("run", suite, "--lake", lake)
        assert code == 0, said
        assert shell.count(lake, "select count(*) as n from verdicts where status = 'ok'") == CASES
        assert server.calls["POST /v1/chat/completions"] == 0
        n = server.requests.total()
        # half of 110 tokens at 1 USD a million each
        (row,) = shell.select(lake, "select n_calls, cost_usd from runs")
        assert row["n_calls"] == n
        assert row["cost_usd"] == pytest.approx(n * 55e-6)
