import asyncio
import random
from types import SimpleNamespace

import pytest

from judgelake.tasks.backends.openai import limits
from judgelake.tasks.backends.openai.limits import BackOff, Pacer, read_retry_after

# 1994-11-06 08:49:37 UTC is 784111777 s after 1970
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize(
    ("headers", "now_s", "expected"),
    [
        ({}, 0.0, None),
        ({"retry-after": "2"}, 0.0, 2.0),
        ({"retry-after": "0.25"}, 0.0, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 0.0, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 0.0, 9.0),
        ({"retry-after": DATE}, 784111770.0, 7.0),
        ({"retry-after": DATE}, 784111780.0, 0.0),  # past
        ({"retry-after": "soon"}, 0.0, None),
        ({"retry-after": "-3"}, 0.0, None),
        ({"retry-after": "nan"}, 0.0, None),
        ({"retry-after": "inf"}, 0.0, None),
    ],
)
def test_read_retry_after(headers: dict[str, str], now_s: float, expected: float | None) -> None:
    assert read_retry_after(headers, now_s) == expected


def test_waits_double_up_to_the_longest_and_are_shortened_by_half_at_most() -> None:
    back_off = BackOff(first_s=1.0, longest_s=5.0, jitter=random.Random(1))
    for attempt, full in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (40, 5.0)):
        waits = [back_off.wait_s(attempt) for _ in range(200)]
        assert full / 2 <= min(waits) < 0.55 * full
        assert 0.95 * full < max(waits) <= full


def test_a_wait_is_never_shorter_than_asked() -> None:
    assert all(BackOff(first_s=0.5).wait_s(1, retry_after_s=3.0) >= 3.0 for _ in range(100))


class Clock:
    """Time that passes by waiting only, so that a busy machine changes nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: self.now_s))
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def admit(self, pacer: Pacer, count: int, stall_s: float = 0.0) -> list[float]:
        """When each was admitted; the event loop stands still for `stall_s` after the third."""

        async def drive() -> list[float]:
            times = []
            for number in range(count):
                await pacer.admit()
                times.append(self.now_s)
                self.now_s += stall_s if number == 2 else 0.0
            return times

        return asyncio.run(drive())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


PACED_S = 60.25 / 3000
"""3000 in a minute, and the 250 ms that may be caught up with."""


def test_the_pace_is_even(clock: Clock) -> None:
    assert clock.admit(Pacer(3000), 26) == pytest.approx([n * PACED_S for n in range(26)])


def test_a_new_pace_holds_from_the_next_but_one_on(clock: Clock) -> None:
    pacer = Pacer(60)
    clock.admit(pacer, 1)
    pacer.set_pace(6000)
    # one more second of the old pace, then intervals of 10 ms
    expected = [60.25 / 60 + n * PACED_S / 2 for n in range(6)]
    assert clock.admit(pacer, 6) == pytest.approx(expected)


def test_a_stall_is_not_made_up_for_by_a_burst(clock: Clock) -> None:
    times = clock.admit(Pacer(3000), 40, stall_s=0.4)
    late = [at - times[2] for at in times[3:]]
    # 250 ms of the stall are caught up with: 13 at once, and then the pace again
    assert late[:13] == pytest.approx([0.4] * 13)
    assert late[13:] == pytest.approx([0.4 - 0.25 + n * PACED_S for n in range(13, 37)])


def test_many_who_wait_together_are_admitted_one_by_one(clock: Clock) -> None:
    async def drive() -> list[float]:
        async def admit() -> float:
            await pacer.admit()
            return clock.now_s

        return await asyncio.gather(*(admit() for _ in range(26)))

    pacer = Pacer(3000)
    assert asyncio.run(drive()) == pytest.approx([n * PACED_S for n in range(26)])


def test_without_a_limit_all_are_admitted_at_once(clock: Clock) -> None:
    assert clock.admit(Pacer(None), 100) == [0.0] * 100
