import asyncio
import random
import time

import pytest

from judgelake.tasks.backends.openai.throttle import BackOff, Pacer, read_retry_after

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


def admitted(pacer: Pacer, count: int, stall_s: float = 0.0) -> list[float]:
    async def one(times: list[float]) -> None:
        await pacer.admit()
        times.append(time.monotonic())
        if stall_s and len(times) == 3:
            time.sleep(stall_s)  # noqa: ASYNC251 - the event loop stands still, as under load

    async def drive() -> list[float]:
        times: list[float] = []
        await asyncio.gather(*(one(times) for _ in range(count)))
        return times

    return asyncio.run(drive())


def test_the_pace_is_even() -> None:
    times = admitted(
        Pacer(3000), 26
    )  # 20 ms apart: 25 intervals take 500 ms, whatever is caught up with on the way
    assert 0.5 <= times[-1] - times[0] < 1.5


def test_a_new_pace_holds_from_the_next_but_one_on() -> None:
    async def drive() -> float:
        pacer = Pacer(60)
        await pacer.admit()
        pacer.set_pace(6000)
        started = time.monotonic()
        for _ in range(6):
            await pacer.admit()
        return time.monotonic() - started

    assert (
        1.0 <= asyncio.run(drive()) < 2.0
    )  # one more second of the old pace, then five intervals of 10 ms, caught up with or not


def test_a_stall_is_not_made_up_for_by_a_burst() -> None:
    times = admitted(Pacer(3000), 40, stall_s=0.4)
    # after the third there are 37 more at 20 ms; at most 250 ms of the stall, that is 13 of them,
    # are caught up with
    assert times[-1] - times[2] >= 0.4 + 23 * 0.02


def test_without_a_limit_all_are_admitted_at_once() -> None:
    times = admitted(Pacer(None), 100)
    assert times[-1] - times[0] < 0.5
