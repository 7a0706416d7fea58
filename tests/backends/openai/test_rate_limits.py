"""`x-ratelimit-*` headers: what they say and how long is waited for."""

import asyncio

import pytest

from judgelake.tasks.backends.openai.limits import Allowance, Pacer, read_duration


def headers(limit: str, remaining: str, reset: str, kind: str = "requests") -> dict[str, str]:
    names = {"limit": limit, "remaining": remaining, "reset": reset}
    return {f"x-ratelimit-{name}-{kind}": value for name, value in names.items()}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360), ("20ms", 0.02), ("1.5s", 1.5), ("2m59.56s", 179.56), ("1h", 3600), ("1d", 86400), ("12", 12), ("0", 0),
        ("", None), ("soon", None), ("1.2.3s", None), ("-1s", None), ("5 s", None), (None, None),
    ],
)  # fmt: skip
def test_durations(text: str | None, seconds: float | None) -> None:
    assert read_duration(text) == (None if seconds is None else pytest.approx(seconds))


def test_the_rate_is_what_was_used_over_the_time_until_it_is_full() -> None:
    now = 100.0
    allowance = Allowance("requests", lambda: now)
    assert allowance.wait_s(1) == 0  # nothing is known yet
    allowance.note(
        headers("60", "2", "58s"), number=1, n_sent=1, cost=1
    )  # 58 used, full in 58 s: one a second
    assert allowance.wait_s(1) == 0
    allowance.spend(1)
    allowance.spend(1)
    assert allowance.wait_s(1) == pytest.approx(1.0)
    now += 1.5
    assert allowance.wait_s(1) == 0


def test_requests_sent_since_are_counted_and_older_answers_are_not_heeded() -> None:
    allowance = Allowance("requests", lambda: 0.0)
    allowance.note(
        headers("100", "10", "90s"), number=5, n_sent=18, cost=1
    )  # 13 more went out: 3 too many, at one a second
    assert allowance.wait_s(1) == pytest.approx(4.0)
    allowance.note(headers("100", "90", "10s"), number=4, n_sent=18, cost=1)
    assert allowance.wait_s(1) == pytest.approx(4.0)


@pytest.mark.parametrize(
    "given", [{}, headers("60", "60", "0s"), headers("x", "1", "1s"), headers("60", "1", "never")]
)
def test_words_that_state_no_rate_hold_nothing_back(given: dict[str, str]) -> None:
    allowance = Allowance("requests", lambda: 0.0)
    allowance.note(given, 1, 50, 1)
    assert allowance.wait_s(1) == 0


def test_tokens_count_at_the_mean_of_the_replies_so_far() -> None:
    async def run() -> float:
        pacer = Pacer(None)
        pacer.note({}, 1, 1, tokens=500)
        pacer.note(headers("100000", "600", "10s", "tokens"), 1, 1)  # 9,940 tokens a second
        loop = asyncio.get_running_loop()
        await pacer.admit()
        started = loop.time()
        await pacer.admit()  # 100 are left of the 500 it takes: 400 / 9,940 = 40 ms
        return loop.time() - started

    assert 0.02 <= asyncio.run(run()) < 1
