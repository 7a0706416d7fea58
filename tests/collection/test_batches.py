"""A collection by batch: every stage's requests go through the provider's Batch API, and what comes
of them is what the same model makes live. Nothing is asked twice, wherever a run ends.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.engine.collecting import CollectOrder, collect_batches
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.standin.server import _answer_body
from judgelake.tasks.suite.suite import Suite, identify_all, parse_suite, suite_of_collection
from tests.backends.batch_server import BatchServer, Json, batch_server
from tests.collection.collecting import collect
from tests.lakes import make_lake, query

TABLES = ("collected_rubrics", "collected_instructions", "collected_responses")
MOST_ROUNDS = 30
LIVE_CALL = "POST /v1/chat/completions"

pytestmark = pytest.mark.usefixtures("no_long_waits")


def answer(body: Json) -> tuple[int, Json]:
    return _answer_body(body, "0" * 24)


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with batch_server(answer) as running:
        yield running


def read_collection(folder: Path, base_url: str, more: str = "mode: batch") -> Suite:
    text = f"""
name: tried
benchmarks:
  scenes: {{source: demo, scenes: 2}}
collection: {{benchmarks: [scenes], backend: openai, model: standin/rules, base_url: "{base_url}",
  on_unreadable: go on, max_attempts: 3, price: {{input: 10.0, output: 100.0}}, {more}}}
"""
    return suite_of_collection(parse_suite(folder / "suite.yaml", text))


def run(lake: Lake, suite: Suite, run_id: str) -> int:
    """What one command does: take in what has ended, then plan and ask, stage by stage. Returns how
    many cases wait for a batch.
    """
    for identity in identify_all(suite):
        collect_batches(CollectOrder(lake, run_id, suite.judges[identity.alias], identity))
    return sum(result.n_open for result in collect(lake, suite, run_id, ""))


def rows(lake: Lake, table: str) -> list[dict[str, Any]]:
    """A table's rows without what differs between two lakes: runs, times, and the collector."""
    found = query(lake, f"select * from stg_{table}")
    kept = [
        {
            key: value
            for key, value in row.items()
            if key not in ("run_id", "judge_id", "judge") and not key.endswith("_at")
        }
        for row in found
    ]
    return sorted(kept, key=lambda row: json.dumps(row, default=str))


def count_asked(server: BatchServer) -> Counter[str]:
    """Each request in the provider's batches, with how many times it is there."""
    return Counter(
        json.dumps(line["body"], sort_keys=True)
        for batch in server.batches.values()
        for line in server.lines(batch["input_file_id"])
    )


def collect_to_the_end(lake: Lake, suite: Suite, server: BatchServer) -> int:
    """How many runs it took, the provider ending its batches between each two."""
    for number in range(MOST_ROUNDS):
        if run(lake, suite, f"run-{number}") == 0:
            return number + 1
        server.finish()
    raise AssertionError(f"not whole after {MOST_ROUNDS} runs")


@pytest.mark.full
def test_a_collection_by_batch_makes_what_a_live_one_makes(
    tmp_path: Path, server: BatchServer
) -> None:
    by_batch, live = make_lake(tmp_path / "batch"), make_lake(tmp_path / "live")
    suite = read_collection(tmp_path, server.base_url)
    n_runs = collect_to_the_end(by_batch, suite, server)
    assert n_runs > 4  # three stages, of which the first has two turns or more
    assert server.calls[LIVE_CALL] == 0
    asked = count_asked(server)
    (stored,) = query(by_batch, "select count(*) as n, sum(cost_usd) as usd from stg_replies")
    assert stored["n"] == asked.total()
    server.live = answer
    collect(live, read_collection(tmp_path, server.base_url, "mode: live"), "live", "")
    assert server.calls[LIVE_CALL] == asked.total()
    (paid,) = query(live, "select sum(cost_usd) as usd from stg_replies")
    assert stored["usd"] == pytest.approx(paid["usd"] / 2)
    for table in TABLES:
        assert rows(by_batch, table) == rows(live, table) != []


@pytest.mark.full
def test_nothing_is_paid_twice_wherever_a_run_ends_and_whatever_expires(
    tmp_path: Path, server: BatchServer
) -> None:
    """Each run is a process of its own as far as the lake goes. The answer to every second start of
    a batch is lost, as when a run is killed there; each request whose text has an odd length expires
    once.
    """
    lake, suite = make_lake(tmp_path), read_collection(tmp_path, server.base_url)
    paid, expired = Counter[str](), set[str]()

    def answer_or_expire(body: Json) -> tuple[int, Json] | None:
        text = json.dumps(body, sort_keys=True)
        if len(text) % 2 and text not in expired:
            expired.add(text)
            return None
        paid[text] += 1
        return answer(body)

    server.answer = answer_or_expire
    for number in range(MOST_ROUNDS):
        if number % 2:
            server.faults["POST /v1/batches"] = ["cut"]
        n_open, n_batches = run(lake, suite, f"run-{number}"), len(server.batches)
        if n_open == 0:
            break
        if number < 2:  # nothing has ended meanwhile
            assert run(lake, suite, f"again-{number}") == n_open
            assert len(server.batches) == n_batches
        server.finish()
    assert n_open == 0
    assert expired
    assert server.calls["GET /v1/batches"] > 0  # a batch whose start was not answered is looked up
    assert {*paid.values()} == {1}
    assert query(lake, "select count(*) as n from stg_replies") == [{"n": paid.total()}]
    (kept,) = query(lake, "select count(*) as n from stg_screened_rubrics where is_kept")
    for table, each in (("collected_instructions", 2), ("collected_responses", 10)):
        (row,) = query(lake, f"select count(*) as n from stg_{table}")
        assert row["n"] == each * kept["n"] > 0
    assert server.calls[LIVE_CALL] == 0
