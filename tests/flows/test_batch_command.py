"""The command with `mode: batch`: submit and leave, run again and collect; a judge of two turns;
staying until the batch has ended; a collection, killed while its batch runs.
"""

import json
from pathlib import Path

import pytest

from tests.backends.batch_server import Json, batch_server
from tests.collection.test_batches import answer, count_asked
from tests.flows.harness import shell_in, wait_until, write_benchmark, write_suite

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


def test_a_collection_by_batch_is_killed_while_its_batch_runs_and_goes_on(tmp_path: Path) -> None:
    """The first command is killed once the provider has the rubrics' batch, the second leaves, the
    third stays for all stages: the provider ends its batches at each second look.
    """
    lake = str(tmp_path / "lake")
    with batch_server(answer) as server, shell_in(tmp_path) as shell:
        suite = tmp_path / "suite.yaml"
        text = f"""
name: small
benchmarks:
  scenes: {{source: demo, scenes: 2}}
collection: {{benchmarks: [scenes], backend: openai, model: standin/rules, file: collected.json,
  base_url: "{server.base_url}", mode: batch, on_unreadable: go on, price: {{input: 1, output: 1}}}}
limits: {{budget_usd: 5}}
"""
        suite.write_text(text.replace("mode: batch", "mode: batch, batch_wait_s: 600"))
        killed = shell.start("collect", str(suite), "--lake", lake)
        assert wait_until(lambda: len(server.batches) == 1, killed, pause_s=0.01)
        killed.kill()
        killed.wait()
        assert shell.list_left() == []
        suite.write_text(text)
        code, said = shell.run("collect", str(suite), "--lake", lake)
        assert code == 7, said
        assert "wait for a batch at the provider; run the same command again" in said
        assert len(server.batches) == 1

        def answer_and_end_soon(body: Json) -> tuple[int, Json]:
            server.ends_at_look = server.calls["GET /v1/batches/{id}"] + 2
            return answer(body)

        server.answer = answer_and_end_soon
        server.ends_at_look = server.calls["GET /v1/batches/{id}"] + 2
        suite.write_text(text.replace("mode: batch", "mode: batch, batch_wait_s: 600"))
        code, said = shell.run("collect", str(suite), "--lake", lake)
        assert code == 0, said
        assert {*count_asked(server).values()} == {1}
        assert server.calls["POST /v1/chat/completions"] == 0
        kept = shell.count(lake, "select count(*) from stg_screened_rubrics where is_kept")
        assert f"responses: {10 * kept:,} of {10 * kept:,}" in said
        assert len(json.loads((tmp_path / "collected.json").read_text())) == 10 * kept > 0
        assert shell.list_left() == []
