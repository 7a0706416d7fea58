"""What a shard keeps: in which order and when rows reach the lake, what is left after a crash
between two writes, what is reused (`stored_replies`, `stored_reply_keys`).
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.engine import ledger as ledger_module
from judgelake.tasks.engine.ledger import Ledger, Tally, load_replies
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.types import Case, Message, Reply, Request, Verdict
from tests.flows.harness import HANG_S
from tests.lakes import make_lake, query

JUDGE = "a" * 16
Append = Callable[[Lake, str, pl.DataFrame], list[LakePath]]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def make_ledger(lake: Lake, **more: Any) -> Ledger:
    return Ledger(lake, "run-1", JUDGE, "r1", **more)


def make_request(number: int, draw: int = 0) -> Request:
    return Request("m", (Message("user", f"Q{number}"),), draw=draw)


def keep(ledger: Ledger, number: int, verdict: Verdict | None = None) -> str:
    """One reply and the verdict on it; returns the request's digest."""
    request = make_request(number)
    digest = request_digest(request)
    ledger.keep_reply(
        digest, request, Reply(f"So rating={number}", prompt_tokens=10, completion_tokens=2)
    )
    case = Case("b", f"i{number}", "vqa", "Q", ("r",), "a", f"{number:016}")
    ledger.keep_verdicts(case, [verdict or Verdict("ok", rating=3, score_0_1=1.0)], [digest])
    return digest


def names(lake: Lake) -> list[str]:
    """The tables that have part files."""
    return [name for name in ("replies", "verdicts") if lake.part_files(name)]


def rows_on_air(lake: Lake) -> list[dict[str, Any]]:
    """Verdicts in the lake that rest on a reply which is not."""
    return query(
        lake,
        "select item_id from (select item_id, unnest(reply_digests) as digest from "
        "stg_verdicts) as v "
        "where digest not in (select request_digest from stg_replies)",
    )


def record_writes(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[str, pl.DataFrame], None] = lambda *_: None
) -> list[str]:
    """Note `<table>:<rows>` of each write once it is done; `before` may wait or raise."""
    written: list[str] = []

    def append(lake: Lake, name: str, frame: pl.DataFrame) -> list[LakePath]:
        before(name, frame)
        paths = append_rows(lake, name, frame)
        written.append(f"{name}:{frame.height}")
        return paths

    monkeypatch.setattr(ledger_module, "append_rows", append)
    return written


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, HANG_S))


async def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_replies_are_written_before_the_verdicts_that_rest_on_them(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, ledger = record_writes(monkeypatch), make_ledger(lake)
    keep(ledger, 1)
    keep(ledger, 2)
    run(ledger.flush())
    assert written == ["replies:2", "verdicts:2"]
    run(ledger.flush())
    assert written[2:] == ["replies:0", "verdicts:0"]
    assert [len(lake.part_files(name)) for name in ("replies", "verdicts")] == [1, 1]


def test_rows_come_back_as_they_were(lake: Lake) -> None:
    ledger = make_ledger(lake)
    request = make_request(1, draw=3)
    reply = Reply(
        "So rating=2",
        "stop",
        ((("2", -0.1), ("3", -2.5)), (("x", -0.5),)),
        "m-2024",
        7,
        3,
        12.5,
        None,
    )
    ledger.keep_reply(request_digest(request), request, reply)
    case = Case("b", "i1", "vqa", "Q", ("r",), "a", "d" * 16, "c" * 16, "correctness", 3)
    verdict = Verdict("ok", 2, 0.5, "Half.", None, {"2": 0.75, "3": 0.25}, 1.0)
    ledger.keep_verdicts(case, [verdict], [request_digest(request)])
    run(ledger.flush())
    stored = load_replies(lake, JUDGE)
    assert stored[request_digest(request), 3] == reply
    assert (request_digest(request), 0) not in stored
    assert len(load_replies(lake, "b" * 16)) == 0
    (row,) = query(lake, "select * exclude judged_at from stg_verdicts")
    levels = [{"level": "2", "probability": 0.75}, {"level": "3", "probability": 0.25}]
    assert row == {
        "judge_id": JUDGE, "reading": "r1", "benchmark": "b", "item_id": "i1", "content_digest": "d" * 16,
        "context_digest": "c" * 16, "criterion": "correctness", "sample": 3, "status": "ok", "rating": 2.0, "score_0_1": 0.5,
        "probabilities": levels, "captured_mass": 1.0, "rationale": "Half.", "reason": None,
        "reply_digests": [request_digest(request)], "run_id": "run-1",
    }  # fmt: skip


def test_probabilities_are_kept_in_single_precision(lake: Lake) -> None:
    """The nearest numbers with 24 bits: 0.1 is 13421773 / 2^27 and 0.9 is 15099494 / 2^24 then."""
    ledger = make_ledger(lake)
    given = Verdict("unparsed", probabilities={"1": 0.1, "2": 0.9}, captured_mass=0.9)
    keep(ledger, 1, given)
    run(ledger.flush())
    (row,) = query(lake, "select probabilities, captured_mass from stg_verdicts")
    assert [level["probability"] for level in row["probabilities"]] == [
        13421773 / 2**27,
        15099494 / 2**24,
    ]
    assert row["captured_mass"] == 15099494 / 2**24


def test_what_is_asked_again_on_request_is_not_answered_from_the_lake(lake: Lake) -> None:
    first = make_ledger(lake)
    good, unread = keep(first, 1), keep(first, 2, Verdict("unparsed", reason="no rating"))
    run(first.flush())
    again = Ledger(lake, "run-2", JUDGE, "r1", retry=("unparsed",))
    assert again.find_reply(good, 0) is not None
    assert again.find_reply(unread, 0) is None
    assert (
        Ledger(lake, "run-2", JUDGE, "another reading", retry=("unparsed",)).find_reply(unread, 0)
        is not None
    )
    again.keep_reply(unread, make_request(2), Reply("So rating=1"))
    run(again.flush())
    resumed = Ledger(
        lake, "run-2", JUDGE, "r1", retry=("unparsed",)
    )  # the same run, its shard begun anew
    assert resumed.find_reply(unread, 0) == Reply("So rating=1")
    assert make_ledger(lake).find_reply(unread, 0) == Reply("So rating=1")


def test_a_later_ledger_finds_the_replies_of_an_earlier_one(lake: Lake) -> None:
    first = make_ledger(lake)
    digest = keep(first, 1)
    assert first.find_reply(digest, 0) is not None
    run(first.flush())
    second = make_ledger(lake)
    found = second.find_reply(digest, 0)
    assert found is not None
    assert found.text == "So rating=1"
    assert second.find_reply(request_digest(make_request(2)), 0) is None
    assert (second.tally.n_calls, second.tally.n_replies_reused) == (0, 1)


def test_the_tally_counts_calls_tokens_and_statuses(lake: Lake) -> None:
    ledger = make_ledger(lake)
    keep(ledger, 1)
    keep(ledger, 2, Verdict("unparsed"))
    keep(ledger, 3, Verdict("unparsed"))
    tally = ledger.tally
    assert (tally.n_calls, tally.prompt_tokens, tally.completion_tokens) == (3, 30, 6)
    assert tally.statuses == {"ok": 1, "unparsed": 2}


@pytest.mark.parametrize("table", ["replies", "verdicts"])
def test_a_crash_between_two_writes_leaves_no_verdict_without_its_reply(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """The lake as it is after the process died right before the write of `table`."""

    def crash(name: str, frame: pl.DataFrame) -> None:
        if name == table:
            raise LakeError("gone")

    record_writes(monkeypatch, crash)
    ledger = make_ledger(lake)
    keep(ledger, 1)
    with pytest.raises(LakeError, match="gone"):
        run(ledger.flush())
    assert names(lake) == ([] if table == "replies" else ["replies"])
    assert rows_on_air(lake) == []


def test_what_a_failed_write_could_not_keep_is_written_by_the_next(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([True])

    def fail_once(name: str, frame: pl.DataFrame) -> None:
        if next(failures, False):
            raise LakeError("no room")

    written, ledger = record_writes(monkeypatch, fail_once), make_ledger(lake)
    keep(ledger, 1)
    with pytest.raises(LakeError, match="no room"):
        run(ledger.flush())
    keep(ledger, 2)
    run(ledger.flush())
    assert written == ["replies:2", "verdicts:2"]
    assert rows_on_air(lake) == []


def test_a_flush_that_is_cancelled_still_writes_replies_first(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_write = threading.Event(), threading.Event()

    def wait(name: str, frame: pl.DataFrame) -> None:
        began.set()
        may_write.wait(HANG_S)

    written, ledger = record_writes(monkeypatch, wait), make_ledger(lake)

    async def cancel_one_and_flush() -> None:
        keep(ledger, 1)
        first = asyncio.create_task(ledger.flush())
        await wait_until(began.is_set)
        first.cancel()
        keep(ledger, 2)
        last = asyncio.create_task(ledger.flush())
        await asyncio.sleep(0.05)
        assert (
            written == []
        )  # the second waits for the first, although nobody waits for that one any more
        may_write.set()
        await last

    run(cancel_one_and_flush())
    assert written == ["replies:1", "verdicts:1", "replies:1", "verdicts:1"]


def test_a_verdict_that_comes_during_a_write_waits_for_its_reply(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_write = threading.Event(), threading.Event()

    def wait(name: str, frame: pl.DataFrame) -> None:
        began.set()
        may_write.wait(HANG_S)

    written, ledger = record_writes(monkeypatch, wait), make_ledger(lake)

    async def keep_during_a_write() -> None:
        keep(ledger, 1)
        flushing = asyncio.create_task(ledger.flush())
        await wait_until(began.is_set)
        keep(ledger, 2)
        may_write.set()
        await flushing

    run(keep_during_a_write())
    assert written == ["replies:1", "verdicts:1"]
    run(ledger.flush())
    assert written[2:] == ["replies:1", "verdicts:1"]


def test_enough_replies_are_flushed_at_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    written, ledger = record_writes(monkeypatch), make_ledger(lake, flush_replies=3)

    async def keep_some() -> None:
        flushing = asyncio.create_task(ledger.flush_regularly(3600, lambda _: None))
        keep(ledger, 1)
        keep(ledger, 2)
        await asyncio.sleep(0.05)
        assert written == []
        keep(ledger, 3)
        await wait_until(lambda: len(written) == 2)
        keep(ledger, 4)
        await asyncio.sleep(0.05)
        flushing.cancel()

    run(keep_some())
    assert written == ["replies:3", "verdicts:3"]


def test_long_texts_are_flushed_at_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies, and verdicts on replies that an earlier run paid for, count by what they hold."""
    written, ledger = record_writes(monkeypatch), make_ledger(lake, flush_bytes=10_000)

    async def keep_long() -> None:
        flushing = asyncio.create_task(ledger.flush_regularly(3600, lambda _: None))
        for at in range(2):
            ledger.keep_reply(f"{at:064}", make_request(at), Reply("x" * 5000))
        await wait_until(lambda: len(written) == 2)
        keep(ledger, 1)
        await asyncio.sleep(0.05)
        assert len(written) == 2
        logprobs = ((("x", -0.5),) * 20,) * 5
        ledger.keep_reply("b" * 64, make_request(3), Reply("x", top_logprobs=logprobs))
        await wait_until(lambda: len(written) == 4)
        keep(ledger, 4, Verdict("ok", rating=3, score_0_1=1.0, rationale="x" * 10_000))
        await wait_until(lambda: len(written) == 6)
        flushing.cancel()

    run(keep_long())
    assert written == [
        "replies:2", "verdicts:0", "replies:2", "verdicts:1", "replies:1", "verdicts:1"
    ]  # fmt: skip
    assert not ledger.is_full


def test_few_replies_are_flushed_when_their_time_comes(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, ledger = record_writes(monkeypatch), make_ledger(lake)
    reported: list[int] = []

    def report(tally: Tally) -> None:
        reported.append(tally.n_calls)

    async def keep_one() -> None:
        keep(ledger, 1)
        flushing = asyncio.create_task(ledger.flush_regularly(1, report))
        await wait_until(lambda: len(written) == 2)
        flushing.cancel()

    run(keep_one())
    assert written == ["replies:1", "verdicts:1"]
    assert reported == [1]  # a tick a second
