"""Shards that judge by batch, run after run, over the provider's stand-in. Single requests:
`tests.backends.openai.test_batch`.
"""

import dataclasses
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.backends.openai.settings import OpenAISettings
from judgelake.tasks.backends.prices import Price
from judgelake.tasks.backends.replay import ReplaySettings
from judgelake.tasks.engine.collecting import CollectOrder, collect_batches
from judgelake.tasks.engine.shard import ShardOrder, ShardResult, run_judge_shard
from judgelake.tasks.judging.fleur import FleurOptions
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.stop_flag import STOP, set_stop
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import LimitSettings, Scope
from tests.backends.asking import completion
from tests.backends.batch_server import BatchServer, Json, batch_server, rate, refuse
from tests.lakes import (
    answer,
    ingest,
    item,
    lave_judge,
    make_endpoint,
    make_lake,
    make_suite,
    query,
)

CASES = 4
LIVE_CALL = "POST /v1/chat/completions"

pytestmark = pytest.mark.usefixtures("no_long_waits")


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with batch_server() as running:
        yield running


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = make_lake(tmp_path)
    items = [item(f"i{n}", f"What is in photo {n}?", ("red bus", "red bus")) for n in range(CASES)]
    ingest(lake, items, [answer(f"i{n}", "a red bus") for n in range(CASES)])
    return lake


def make_judge(server: BatchServer, **settings: Any) -> JudgeSettings:
    given = {
        "model": "openai/gpt-4o-mini",
        "base_url": server.base_url,
        "mode": "batch",
        "max_attempts": 3,
        **settings,
    }
    return lave_judge(endpoint=OpenAISettings(**given))


def run(
    lake: Lake,
    judge: JudgeSettings,
    run_id: str,
    budget_usd: float | None = None,
    until: float = 0.0,
) -> list[ShardResult]:
    """What a run does with one judge: collect, plan, judge. The collected comes first."""
    suite = make_suite(judge, limits=LimitSettings(concurrency=4, budget_usd=budget_usd))
    register_judges(lake, suite)
    identity = judge.identify(("b",))
    results = [collect_batches(CollectOrder(lake, run_id, judge, identity, until))]
    (work,) = write_work(lake, suite, Scope(), run_id)
    images = lake.root / "images"
    orders = [
        ShardOrder(lake, run_id, judge, work.identity, suite.limits, file, images)
        for file in work.shards
    ]
    return results + [run_judge_shard(order) for order in orders]


def states(lake: Lake) -> Counter[str]:
    return Counter(row["state"] for row in query(lake, "select state from stg_batches"))


def verdicts(lake: Lake) -> list[dict[str, Any]]:
    return query(lake, "select item_id, status, rating, reason from stg_verdicts order by item_id")


def test_submit_leave_collect(
    lake: Lake, server: BatchServer, capfd: pytest.CaptureFixture[str]
) -> None:
    judge = make_judge(server, price=Price(10.0, 100.0))
    collected, shard = run(lake, judge, "run-1")
    assert (collected.n_calls, shard.n_calls, shard.n_open, shard.statuses) == (0, 0, CASES, ())
    assert states(lake) == {"submitted": 1}
    (batch,) = server.batches.values()
    assert (batch["endpoint"], batch["completion_window"]) == ("/v1/chat/completions", "24h")
    lines = server.lines(batch["input_file_id"])
    assert [line["custom_id"] for line in lines] == [f"request-{n}" for n in range(CASES)]
    assert {(line["method"], line["url"], line["body"]["model"]) for line in lines} == {
        ("POST", "/v1/chat/completions", "gpt-4o-mini")
    }

    collected, shard = run(lake, judge, "run-2")  # the batch still runs: nothing is sent again
    assert (collected.n_calls, shard.n_calls, shard.n_open) == (0, 0, CASES)
    assert len(server.batches) == 1

    server.finish()
    collected, shard = run(lake, judge, "run-3")
    assert (collected.n_calls, shard.n_calls, shard.n_open, shard.statuses) == (
        CASES,
        0,
        0,
        (("ok", CASES),),
    )
    # half of 100 tokens at 10 USD a million and 10 at 100: (0.001 + 0.001) / 2 a reply
    assert collected.cost_usd == pytest.approx(CASES * 0.001)
    kept = query(
        lake, "select distinct cost_usd, latency_ms, run_id, requested_model from stg_replies"
    )
    assert kept == [
        {
            "cost_usd": 0.001,
            "latency_ms": None,
            "run_id": "run-3",
            "requested_model": "openai/gpt-4o-mini",
        }
    ]
    assert [row["rating"] for row in verdicts(lake)] == [3] * CASES
    assert states(lake) == {"collected": 1}
    assert (server.calls[LIVE_CALL], server.requests.total()) == (0, CASES)
    assert capfd.readouterr().err == ""


def test_a_run_can_stay_until_the_batch_has_ended(lake: Lake, server: BatchServer) -> None:
    judge = make_judge(server)
    run(lake, judge, "run-1")
    server.ends_at_look = 3
    collected, shard = run(lake, judge, "run-2", until=time.time() + 100)
    assert (collected.n_calls, shard.statuses) == (CASES, (("ok", CASES),))
    assert server.calls["GET /v1/batches/{id}"] == 3


def test_a_judge_of_two_turns_sends_the_second_where_the_first_was_answered(
    lake: Lake, server: BatchServer
) -> None:
    """FLEUR with reasons: a batch of scores, then, for the three cases whose score came, a batch of
    reasons.
    """

    def answer_turn(body: Json) -> tuple[int, Json]:
        if len(body["messages"]) > 1:
            score = body["messages"][-2]
            assert (score["role"], score["content"]) == ("assistant", "0.8")
            return 200, completion("The answer names it.")
        return (
            refuse("too long", code="context_length_exceeded")
            if "photo 0?" in said(body)
            else (200, completion("0.8"))
        )

    server.answer = answer_turn
    judge = dataclasses.replace(
        make_judge(server),
        protocol="fleur",
        options=FleurOptions(image="absent", reason=True, smoothing="raw", top_logprobs=0),
    )
    _, shard = run(lake, judge, "run-1")
    assert (shard.n_open, shard.statuses) == (CASES, ())
    server.finish()
    collected, shard = run(lake, judge, "run-2")
    assert (collected.n_calls, shard.n_open, shard.statuses) == (3, 3, (("failed", 1),))
    _, shard = run(
        lake, judge, "run-3"
    )  # the second batch still runs; the case that failed is asked once more
    assert (shard.n_open, len(server.batches)) == (4, 3)
    server.answer = lambda body: (
        answer_turn(body) if len(body["messages"]) > 1 else (200, completion("0.8"))
    )
    server.finish()
    collected, shard = run(lake, judge, "run-4")
    assert (collected.n_calls, shard.n_open, shard.statuses) == (4, 1, (("ok", 3),))
    server.ends_at_look = server.calls["GET /v1/batches/{id}"] + 1
    collected, shard = run(lake, judge, "run-5", until=time.time() + 100)
    assert (collected.n_calls, shard.n_open, shard.statuses) == (1, 0, (("ok", 1),))
    found = query(lake, "select distinct status, score_0_1, rationale from stg_verdicts")
    assert found == [{"status": "ok", "score_0_1": 0.8, "rationale": "The answer names it."}]
    assert server.calls[LIVE_CALL] == 0
    assert query(lake, "select count(*) as n from stg_replies") == [{"n": 2 * CASES}]


def said(body: Json) -> str:
    return str(body["messages"][-1]["content"])


def test_refused_lines_become_failures_and_broken_ones_go_round_again(
    lake: Lake, server: BatchServer
) -> None:
    judge = make_judge(server)
    run(lake, judge, "run-1")

    def answer_some(body: Json) -> tuple[int, Json] | None:
        if "photo 0?" in said(body):
            return refuse("context too long", code="context_length_exceeded")
        if "photo 1?" in said(body):
            return 500, {"error": {"message": "try later"}}
        if "photo 2?" in said(body):
            return refuse("no", code="content_filter")
        return rate(body)

    server.answer = answer_some
    server.finish()
    collected, shard = run(lake, judge, "run-2")
    assert (collected.n_calls, shard.n_open) == (
        2,
        1,
    )  # the filter's word is a reply, as it is live
    assert dict(shard.statuses) == {"failed": 1, "refused": 1, "ok": 1}
    assert [(row["item_id"], row["status"]) for row in verdicts(lake)] == [
        ("i0", "failed"),
        ("i2", "refused"),
        ("i3", "ok"),
    ]
    assert "context too long" in verdicts(lake)[0]["reason"]
    assert server.requests.total() == CASES + 1


@pytest.mark.full
def test_what_a_model_does_not_take_is_left_out_in_the_next_batch(
    lake: Lake, server: BatchServer
) -> None:
    judge = make_judge(server)
    run(lake, judge, "run-1")

    def take_no_temperature(body: Json) -> tuple[int, Json]:
        return (
            refuse("Unsupported parameter: 'temperature'", "temperature")
            if "temperature" in body
            else rate(body)
        )

    server.answer = take_no_temperature
    server.finish()
    _, shard = run(lake, judge, "run-2")
    assert (shard.n_open, shard.statuses) == (CASES, ())
    server.finish()
    _, shard = run(lake, judge, "run-3")
    assert shard.statuses == (("ok", CASES),)
    assert query(lake, "select distinct adapted from stg_replies") == [
        {"adapted": "without temperature"}
    ]
    ingest(lake, [item("i9", "What is in photo 9?")], [answer("i9", "a cat")], minute=5)
    run(lake, judge, "run-4")  # remembered
    assert "temperature" not in server.lines(server.batches["batch_3"]["input_file_id"])[0]["body"]


def test_nothing_is_submitted_once_a_run_was_asked_to_stop(lake: Lake, server: BatchServer) -> None:
    judge = make_judge(server)
    set_stop(lake, "run-1", STOP)
    run(lake, judge, "run-1")
    assert (server.batches, states(lake)) == ({}, {})


def test_what_is_submitted_counts_against_the_budget_at_its_most(
    lake: Lake, server: BatchServer
) -> None:
    judge = make_judge(server, price=Price(0.0, 2.0))
    # at most 256 tokens at half of 2 USD a million each: two of four fit into 600e-6 USD
    _, shard = run(lake, judge, "run-1", budget_usd=600e-6)
    assert (shard.over_budget, server.requests.total()) == (True, 2)


def test_a_live_judge_takes_in_what_was_asked_by_batch_before(
    lake: Lake, server: BatchServer
) -> None:
    run(lake, make_judge(server), "run-1")
    server.finish()
    collected, shard = run(lake, make_judge(server, mode="live"), "run-2")
    assert (collected.n_calls, shard.n_calls, shard.statuses) == (CASES, 0, (("ok", CASES),))


def test_a_judge_that_replays_leaves_open_batches_alone(
    lake: Lake, server: BatchServer, tmp_path: Path
) -> None:
    judge = make_judge(server)
    run(lake, judge, "run-1")
    replayed = lave_judge(endpoint=ReplaySettings(judge.endpoint.model, cassette=tmp_path))
    order = CollectOrder(lake, "run-2", replayed, judge.identify(("b",)))
    assert (collect_batches(order).n_calls, server.calls["GET /v1/batches/{id}"]) == (0, 0)


def test_the_mode_is_not_part_of_the_judge_and_halves_its_price() -> None:
    live, batch = (
        OpenAISettings("openai/gpt-4o-mini", mode=mode, price=Price(2.0, 6.0, 1.0))
        for mode in ("live", "batch")
    )
    assert lave_judge(endpoint=live).identify(("b",)) == lave_judge(endpoint=batch).identify(("b",))
    assert (live.known_price, batch.known_price) == (Price(2.0, 6.0, 1.0), Price(1.0, 3.0, 0.5))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"backend": "openai", "model": "x", "batch_wait_s": 5.0},
            "batch_wait_s: 5.0; expected it with `mode: batch` only",
        ),
        (
            {"backend": "openai", "model": "x", "mode": "batch", "batch_wait_s": -1.0},
            "batch_wait_s: -1.0; expected seconds from 0",
        ),
    ],
)
def test_settings_that_do_not_go_together(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        make_endpoint(**given)
