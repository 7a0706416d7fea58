"""An endpoint that answers nothing is given up for the whole run, and what one shard has met counts
in the next. The backend asks a scripted endpoint over HTTP.
"""

import asyncio
import json
import re
from pathlib import Path

import pytest
from aiohttp import web

from judgelake.flows import progress
from judgelake.tasks.backends.openai import limits
from judgelake.tasks.backends.openai.client import OpenAIBackend
from judgelake.tasks.backends.openai.limits import BackOff, Health
from judgelake.tasks.types import Failure, Pending, Reply
from tests.backends.asking import completion, rating_request, scripted_endpoint
from tests.flows.harness import HANG_S

MODEL = "standin/rules"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that `Health` sees, moved by the test."""
    now = [1000.0]
    monkeypatch.setattr("judgelake.tasks.backends.openai.limits.time.time", lambda: now[0])
    return now


def time_out(kept: Health, clock: list[float], *ends_s: float) -> None:
    """Requests that were sent at 1,000 s and end unanswered so many seconds later."""
    for end_s in ends_s:
        clock[0] = 1000.0 + end_s
        kept.note_end(end_s, answered=False)


def test_three_minutes_without_any_answer_end_the_asking(clock: list[float]) -> None:
    kept = Health(None, timeout_s=120)
    time_out(kept, clock, 120, 121)
    assert kept.find_silence() is None
    time_out(kept, clock, 179)
    assert kept.find_silence() is None
    clock[0] = 1180.0
    assert kept.find_silence() == "not asked, as it has answered nothing for 180 s"
    kept.note_end(1, answered=True)  # an error is a sign of life, too
    assert kept.find_silence() is None


def test_a_pause_without_requests_is_no_silence(clock: list[float]) -> None:
    kept = Health(None, timeout_s=120)
    clock[0] = 9119.0
    for took_s in (119, 110, 100):
        kept.note_end(took_s, answered=False)
    assert kept.find_silence() is None
    clock[0] = 9180.0
    assert kept.find_silence() == "not asked, as it has answered nothing for 180 s"


def test_silence_begins_with_the_last_answer(clock: list[float]) -> None:
    kept = Health(None, timeout_s=120)
    clock[0] = 1050.0
    kept.note_end(50, answered=True)
    clock[0] = 1120.0
    for _ in range(3):
        kept.note_end(120, answered=False)  # sent before that answer
    clock[0] = 1229.0
    assert kept.find_silence() is None
    clock[0] = 1230.0
    assert kept.find_silence() is not None


def test_a_longer_timeout_is_waited_for(clock: list[float]) -> None:
    kept = Health(None, timeout_s=600)
    time_out(kept, clock, 300, 400, 599)
    assert kept.find_silence() is None
    time_out(kept, clock, 601)
    assert kept.find_silence() is not None


def test_silence_counts_over_the_shards_of_a_run(clock: list[float], tmp_path: Path) -> None:
    file = tmp_path / "x.health"
    first = Health(file, timeout_s=50)
    time_out(first, clock, 50, 100)
    first.save()
    second = Health(file, timeout_s=50)
    time_out(second, clock, 185)
    assert second.find_silence() == "not asked, as it has answered nothing for 185 s"
    second.give_up(MODEL, "hangs")
    assert Health(file, timeout_s=50).faults == {MODEL: "hangs"}


def test_an_answer_in_another_shard_is_a_sign_of_life(clock: list[float], tmp_path: Path) -> None:
    silent, answered = (Health(tmp_path / "x.health", timeout_s=50) for _ in range(2))
    time_out(silent, clock, 50, 100, 150)
    answered.note_end(1, answered=True)
    answered.save()
    clock[0] = 1190.0
    assert silent.find_silence() is None  # 40 s since the other's answer
    clock[0] = 1331.0
    assert silent.find_silence() is not None


def test_an_endpoint_that_only_asks_to_wait_is_given_up(clock: list[float]) -> None:
    kept = Health(None, timeout_s=120)
    for waited_s in (0, 299, 598, 718):
        clock[0] = 1001.0 + waited_s
        kept.note_end(1, answered=True)
        assert kept.find_silence() is None
    clock[0] = 1720.0
    kept.note_end(1, answered=True)
    assert kept.find_silence() == "not asked, as it has given no reply for 720 s"
    kept.note_end(1, answered=True, replied=True)
    assert kept.find_silence() is None


def test_a_drought_counts_over_the_shards_of_a_run_but_not_over_a_pause(
    clock: list[float], tmp_path: Path
) -> None:
    file = tmp_path / "x.health"
    first = Health(file, timeout_s=120)
    for waited_s in (0, 299, 598):
        clock[0] = 1001.0 + waited_s
        first.note_end(1, answered=True)
    clock[0] = 1725.0
    second = Health(file, timeout_s=120)
    second.note_end(1, answered=True)
    assert second.find_silence() == "not asked, as it has given no reply for 725 s"
    clock[0] = 1725.0 + limits.LONGEST_WAIT_S + 1
    third = Health(file, timeout_s=120)  # nothing was asked meanwhile
    for _ in range(5):
        third.note_end(1, answered=True)
    assert third.find_silence() is None


def test_a_run_that_is_only_asked_to_wait_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "DROUGHT_S", 0.3)
    (tmp_path / "plan.json").write_text('{"lave": 20}')
    monkeypatch.setattr(progress, "_QUIET_S", 0.0)
    lines: list[str] = []

    async def throttle(_request: web.Request) -> web.Response:
        lines.append(progress.describe_progress(tmp_path / "plan.json", 1.0))
        body = {"error": {"message": "slow down"}}
        return web.json_response(body, status=429, headers={"retry-after": "0.1"})

    async def drive() -> list[Reply | Failure | Pending]:
        async with scripted_endpoint(throttle) as base_url:
            backend = OpenAIBackend(
                MODEL,
                base_url,
                timeout_s=0.5,
                max_attempts=10**6,
                back_off=BackOff(first_s=0.01),
                health_file=tmp_path / "x.health",
            )
            try:
                asking = asyncio.gather(*map(backend.reply, map(rating_request, range(20))))
                return list(await asyncio.wait_for(asking, HANG_S))
            finally:
                await backend.close()

    outcomes = asyncio.run(drive())
    reasons = [one.reason for one in outcomes if isinstance(one, Failure)]
    assert len(reasons) == 20
    assert any("429 slow down" in reason for reason in reasons)
    assert any("not asked, as it has given no reply for" in reason for reason in reasons)
    assert re.search(r"0/s  waiting  0 tokens  no reply for \d s: 429 slow down$", lines[-1])


def test_failures_of_an_earlier_shard_are_counted(clock: list[float], tmp_path: Path) -> None:
    file = tmp_path / "x.health"
    first = Health(file, timeout_s=10)
    assert not any(first.fails_all(MODEL, f"500 request {n}", True) for n in range(12))
    first.save()
    clock[0] += 61.0
    second = Health(file, timeout_s=10)
    assert [second.fails_all(MODEL, f"500 request {n}", True) for n in range(8)] == [
        *[False] * 7,
        True,
    ]


def test_a_later_shard_begins_with_what_the_endpoint_took_before(tmp_path: Path) -> None:
    """The endpoint answers nothing until 100 requests are there; without the file 32 go out."""
    file, n_asked, enough = tmp_path / "x.health", 0, asyncio.Event()
    Health(file, timeout_s=120).save()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"limit": 120.0}))

    async def answer(_request: web.Request) -> web.Response:
        nonlocal n_asked
        n_asked += 1
        if n_asked == 100:
            enough.set()
        await asyncio.wait_for(enough.wait(), HANG_S)
        return web.json_response(completion())

    async def drive() -> None:
        async with scripted_endpoint(answer) as base_url:
            backend = OpenAIBackend(MODEL, base_url, concurrency=128, health_file=file)
            await asyncio.gather(*map(backend.reply, map(rating_request, range(100))))
            await backend.close()

    asyncio.run(drive())
    assert json.loads(file.read_text())["limit"] >= 120


def test_a_hung_endpoint_is_asked_by_no_later_shard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "SILENCE_S", 0.3)
    asked = 0

    async def hang(_request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        await asyncio.sleep(5)
        return web.json_response(completion())

    async def ask_all(base_url: str) -> list[Reply | Failure | Pending]:
        backend = OpenAIBackend(
            MODEL,
            base_url,
            concurrency=4,
            timeout_s=0.1,
            max_attempts=1000,
            back_off=BackOff(first_s=0.01),
            health_file=tmp_path / "x.health",
        )
        try:
            requests = map(rating_request, range(20))
            return list(await asyncio.gather(*map(backend.reply, requests)))
        finally:
            await backend.close()

    async def drive() -> list[list[Reply | Failure | Pending]]:
        async with scripted_endpoint(hang) as base_url:
            return [await ask_all(base_url), await ask_all(base_url)]

    first, second = asyncio.run(drive())
    assert asked < 100
    assert all(isinstance(one, Failure) and not one.is_final for one in first + second)
    reasons = {one.reason for one in second if isinstance(one, Failure)}
    assert len(reasons) == 1
    assert "not asked, as it has answered nothing for 0 s" in reasons.pop()
