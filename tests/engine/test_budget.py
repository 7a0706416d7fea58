"""A run's budget: what is admitted, what shards share, and judging against an endpoint over HTTP
that keeps a bill of its own.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest

from judgelake.tasks.backends.openai.settings import OpenAISettings
from judgelake.tasks.backends.prices import FREE, Price
from judgelake.tasks.engine.budget import OVER_BUDGET, Budget, BudgetedBackend
from judgelake.tasks.engine.shard import ShardOrder, ShardResult, run_judge_shard
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import find_work, write_work
from judgelake.tasks.suite.suite import LimitSettings, Scope, Suite
from judgelake.tasks.types import Decoding, Failure, Message, Pending, Reply, Request
from tests.lakes import (
    answer,
    append_records,
    at,
    ingest,
    item,
    lave_judge,
    make_lake,
    make_suite,
    query,
    reply_row,
)

CASES = 40
PRICE = Price(10.0, 1000.0)
PROMPT_TOKENS, COMPLETION_TOKENS, MAX_TOKENS = 1000, 20, 50
BILLED = 1000 * 10e-6 + 20 * 1000e-6
"""One reply of the endpoint: 0.01 + 0.02 = 0.03 dollars."""


@dataclass
class Billing:
    """An endpoint that answers 3, says that it used so many tokens, and adds up what it charges."""

    n: int = 0
    counts_tokens: bool = True
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self) -> bytes:
        with self.lock:
            self.n += 1
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "rating=3"},
        }
        usage = {
            "prompt_tokens": PROMPT_TOKENS,
            "completion_tokens": COMPLETION_TOKENS,
            "total_tokens": 1020,
        }
        body = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m-1",
            "choices": [choice],
        }
        return json.dumps(body | ({"usage": usage} if self.counts_tokens else {})).encode()


@contextmanager
def billing_endpoint(billing: Billing) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = billing.answer()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = make_lake(tmp_path)
    ingest(
        lake,
        [item(f"i{n:02}", f"What is in photo {n}?") for n in range(CASES)],
        [answer(f"i{n:02}", "a cat") for n in range(CASES)],
    )
    return lake


def make_judged(url: str, budget_usd: float | None, price: Price | None = PRICE) -> Suite:
    endpoint = OpenAISettings("m", base_url=url, price=price)
    limits = LimitSettings(concurrency=8, budget_usd=budget_usd)
    return make_suite(lave_judge(endpoint=endpoint, max_tokens=MAX_TOKENS), limits=limits)


def judge(lake: Lake, suite: Suite, run_id: str = "run-1", slots: int = 1) -> list[ShardResult]:
    """All shards of the one judge, one after the other."""
    (work,) = write_work(lake, suite, Scope(), run_id)
    images = lake.root / "images"
    orders = [
        ShardOrder(lake, run_id, suite.judges["lave"], work.identity, suite.limits, file, images)
        for file in work.shards
    ]
    return [run_judge_shard(replace(order, slots=slots)) for order in orders]


def count_pending(lake: Lake, suite: Suite) -> int:
    return sum(work.n_pending for work in find_work(lake, suite, Scope()))


# ---- judging against a bill


def test_a_budget_ends_admission_keeps_what_was_paid_for_and_the_next_run_goes_on(
    lake: Lake,
) -> None:
    billing = Billing()
    with billing_endpoint(billing) as url:
        suite = make_judged(
            url, 0.60
        )  # 20 replies at 0.03; one may cost up to 0.01 + 50 x 0.001 = 0.06 and some guess of its prompt
        (result,) = judge(lake, suite)
        judged = result.n_calls
        assert result.over_budget
        assert billing.n == judged == dict(result.statuses)["ok"]
        assert result.cost_usd == pytest.approx(BILLED * judged)
        assert 0.60 - 0.07 <= BILLED * judged <= 0.60  # never beyond, and hardly anything left
        assert query(lake, "select count(*) as n, sum(cost_usd) as usd from stg_replies") == [
            {"n": judged, "usd": pytest.approx(BILLED * judged)}
        ]
        assert count_pending(lake, suite) == CASES - judged
        (rest,) = judge(lake, make_judged(url, None), "run-2")
    assert (rest.n_calls, rest.over_budget) == (CASES - judged, False)
    assert billing.n == CASES


def test_a_budget_that_is_never_reached_changes_nothing(lake: Lake) -> None:
    with billing_endpoint(Billing()) as url:
        (result,) = judge(lake, make_judged(url, 100.0))
    assert (result.n_calls, result.over_budget, result.n_unpriced) == (CASES, False, 0)
    assert result.cost_usd == pytest.approx(CASES * BILLED)


@pytest.mark.parametrize(("price", "calls", "over"), [(PRICE, 0, True), (FREE, CASES, False)])
def test_a_budget_of_nothing_refuses_what_is_paid_and_only_that(
    lake: Lake, price: Price, calls: int, over: bool
) -> None:
    billing = Billing()
    with billing_endpoint(billing) as url:
        (result,) = judge(lake, make_judged(url, 0.0, price))
    assert (result.n_calls, billing.n, result.over_budget) == (calls, calls, over)


def test_a_budget_holds_over_the_shards_of_a_run(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judgelake.tasks.planning.cases.CASES_PER_SHARD", 10)
    monkeypatch.setattr("judgelake.tasks.planning.cases.LEAST_CASES_PER_SHARD", 10)
    billing = Billing()
    with billing_endpoint(billing) as url:
        results = judge(lake, make_judged(url, 0.60))
    assert [result.over_budget for result in results] == [False, True, True, True]
    assert sum(result.cost_usd for result in results) == pytest.approx(BILLED * billing.n)
    assert 0.60 - 0.07 <= BILLED * billing.n <= 0.60


def test_a_shard_that_is_killed_has_spent_what_it_spent(lake: Lake) -> None:
    billing = Billing()
    with billing_endpoint(billing) as url:
        suite = make_judged(url, 0.60)
        (work,) = write_work(lake, suite, Scope(), "run-1")
        work.shards[0].with_suffix(".budget.json").write_text('{"spent": 0.40, "reserved": 0.60}')
        judge(lake, suite)
    assert 0.40 + BILLED * billing.n <= 0.60 < 0.40 + BILLED * billing.n + 0.07


def test_without_a_price_the_cost_is_unknown_and_never_nothing(lake: Lake) -> None:
    with billing_endpoint(Billing()) as url:
        (result,) = judge(lake, make_judged(url, None, None))
    assert (result.cost_usd, result.n_unpriced) == (0.0, CASES)
    assert query(lake, "select count(*) as n, count(cost_usd) as priced from stg_replies") == [
        {"n": CASES, "priced": 0}
    ]
    (row,) = query(lake, "select n_calls, cost_usd, cost_usd_per_1000 from rpt_costs")
    assert tuple(row.values()) == (CASES, None, None)


def test_an_endpoint_that_counts_no_tokens_is_taken_to_have_used_all_it_might(lake: Lake) -> None:
    billing = Billing(counts_tokens=False)
    with billing_endpoint(billing) as url:
        (result,) = judge(lake, make_judged(url, 0.60))
    assert result.over_budget
    assert 0 < billing.n <= 0.60 / (MAX_TOKENS * 1000e-6)
    assert result.n_unpriced == billing.n


def test_what_judges_cost_is_given_per_thousand_verdicts(lake: Lake) -> None:
    with billing_endpoint(Billing()) as url:
        judge(lake, make_judged(url, None))
    (row,) = query(
        lake,
        "select n_verdicts, n_calls, prompt_tokens, completion_tokens, cost_usd, "
        "cost_usd_per_1000 from rpt_costs",
    )
    assert tuple(row.values()) == (
        CASES,
        CASES,
        1000 * CASES,
        20 * CASES,
        pytest.approx(0.03 * CASES),
        pytest.approx(30.0),
    )


def test_replies_and_runs_of_before_costs_were_kept_have_none(lake: Lake) -> None:
    append_records(
        lake,
        "replies",
        [reply_row("a" * 16, "1", cost_usd=0.5), reply_row("a" * 16, "2", cost_usd=0.5)],
    )
    run = {
        "run_id": "r",
        "suite": "s",
        "suite_digest": "d",
        "stage": "judge",
        "started_at": at(1),
        "ended_at": at(2),
        "outcome": "done",
    }
    run |= dict.fromkeys(
        (
            "n_calls",
            "n_replies_reused",
            "n_verdicts",
            "n_failed",
            "prompt_tokens",
            "completion_tokens",
            "seed",
        ),
        0,
    )
    append_records(lake, "runs", [{**run, "cost_usd": 1.0, "versions": "{}"}])
    for file in [file for table in ("replies", "runs") for file in lake.find_parts(table)[table]]:
        old = pl.read_parquet(file, hive_partitioning=False)
        old.drop("cost_usd", "cached_tokens", strict=False).write_parquet(file)
    assert query(lake, "select count(*) as n, count(cost_usd) as priced from stg_replies") == [
        {"n": 2, "priced": 0}
    ]
    assert query(lake, "select run_id, cost_usd from core_runs") == [
        {"run_id": "r", "cost_usd": None}
    ]
    (row,) = query(lake, "select n_calls, cost_usd, cost_usd_per_1000 from rpt_costs")
    assert tuple(row.values()) == (2, None, None)


# ---- admission


def test_a_request_waits_for_what_is_in_flight_and_is_refused_only_when_nothing_is(
    tmp_path: Path,
) -> None:
    async def drive() -> list[bool]:
        budget = Budget(10.0, tmp_path / "a.parquet")
        assert await budget.admit(6.0)
        second = asyncio.create_task(budget.admit(6.0))
        await asyncio.sleep(0)
        assert not second.done()  # 6 + 6 > 10, but the first may turn out cheaper
        budget.settle(6.0, 2.0)
        third = asyncio.create_task(budget.admit(6.0))
        admitted = [await second]  # 2 + 6
        budget.settle(6.0, 5.0)
        return [
            *admitted,
            await third,
            await budget.admit(0.0),
            await budget.admit(3.0),
            budget.reached,
        ]  # 7 + 6, free, 7 + 3

    assert asyncio.run(drive()) == [True, False, True, True, True]


def test_shards_at_a_time_never_pass_the_budget_together(tmp_path: Path) -> None:
    """Each spends all that it is given, in any interleaving."""

    async def drive() -> float:
        budgets = [Budget(8.0, tmp_path / f"{name}.parquet", share=0.5) for name in "ab"]
        spent = 0.0
        for turn in range(40):
            budget = budgets[turn % 2]
            if await budget.admit(0.5):
                budget.settle(0.5, 0.5)
                spent += 0.5
            if turn == 11:  # the first is done, another takes its slot
                budgets[0].close()
                budgets[0] = Budget(8.0, tmp_path / "c.parquet", share=0.5)
        return spent

    assert 6.0 <= asyncio.run(drive()) <= 8.0


class _Costly:
    """A backend that replies with a prompt twice as long as was guessed."""

    window = 1

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        return (
            Failure("no")
            if request.draw == 1
            else Reply("3", prompt_tokens=200, completion_tokens=1)
        )

    async def close(self) -> None:
        pass


def test_only_replies_are_paid_for_and_what_does_not_fit_is_pending(tmp_path: Path) -> None:
    def ask(backend: BudgetedBackend, draw: int) -> Reply | Failure | Pending:
        # 388 characters and 12 for the frame: 100 tokens guessed, 133 with caution
        return asyncio.run(
            backend.reply(Request("m", (Message("user", "x" * 388),), Decoding(max_tokens=1), draw))
        )

    budget = Budget(0.0004, tmp_path / "a.parquet")
    backend = BudgetedBackend(_Costly(), budget, {"judge": Price(1.0, 1.0)}, 512)
    assert isinstance(ask(backend, 1), Failure)
    assert [isinstance(ask(backend, draw), Reply) for draw in (2, 3)] == [
        True,
        True,
    ]  # 201 millionths each
    assert ask(backend, 4) == OVER_BUDGET
    asyncio.run(backend.close())
    assert json.loads((tmp_path / "a.budget.json").read_text()) == {
        "spent": pytest.approx(402e-6),
        "reserved": pytest.approx(402e-6),
    }
