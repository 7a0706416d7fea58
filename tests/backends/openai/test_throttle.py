"""How many requests go out at once: against made endpoints whose latency and refusals follow a
rule.
"""

import asyncio
import dataclasses
from collections.abc import Callable

import pytest

from judgelake.tasks.backends.openai.limits import Throttle
from tests.flows.harness import HANG_S


class Clock:
    """Time that only moves when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drive(
    most: int,
    rounds: int,
    latency: Callable[[int], float],
    refuses: Callable[[int], bool] = lambda _: False,
) -> list[int]:
    """Keep the throttle full for so many round trips; the limit after each. `latency` and `refuses`
    see how many are under way.
    """
    clock = Clock()

    async def run() -> list[int]:
        throttle, limits = Throttle(most, clock), []
        for _ in range(rounds):
            taken = [await throttle.take() for _ in range(int(throttle.limit))]
            slots = [
                dataclasses.replace(slot, n_under_way=len(taken), is_full=True) for slot in taken
            ]  # as in a stream, not a volley
            clock.now += latency(len(slots))
            for slot in slots:
                refused = refuses(slot.n_under_way)
                throttle.give_back(slot, served=not refused, pushed_back=refused)
            limits.append(int(throttle.limit))
        return limits

    return asyncio.run(run())


def test_it_begins_at_a_quarter_and_doubles_a_round_trip_where_latency_does_not_rise() -> None:
    assert drive(256, 3, lambda _: 0.2) == [128, 256, 256]
    assert Throttle(256).limit == 64
    assert Throttle(16).limit == 16
    assert Throttle(64).limit == 32


def test_more_is_taken_by_doubling_and_less_at_once() -> None:
    throttle = Throttle(256, Clock())
    throttle.set_most(20)
    assert throttle.limit == 20

    async def fill() -> list[int]:
        limits = []
        for _ in range(3):
            slots = [await throttle.take() for _ in range(int(throttle.limit))]
            for slot in slots:
                throttle.give_back(dataclasses.replace(slot, is_full=True), served=True)
            limits.append(int(throttle.limit))
        return limits

    assert asyncio.run(fill()) == [20, 20, 20]
    throttle.set_most(60)
    assert asyncio.run(fill()) == [40, 60, 60]
    throttle.set_most(10)
    assert throttle.limit == 10


def test_a_refusal_cuts_at_once_and_once_for_all_that_were_under_way() -> None:
    limits = drive(128, 40, lambda _: 0.1, lambda under_way: under_way > 50)
    assert max(limits[5:]) <= 52  # never far above what is taken
    assert min(limits[5:]) >= 30  # 0.7 of about 50, not 0.7 to the power of the number of refusals


def test_the_first_refusal_of_a_burst_counts_for_the_whole_burst() -> None:
    async def run() -> float:
        throttle = Throttle(128)
        slots = [await throttle.take() for _ in range(32)]
        throttle.give_back(slots[0], served=False, pushed_back=True)
        return throttle.limit

    assert asyncio.run(run()) == pytest.approx(22.4)  # 0.7 x 32


def test_a_lone_request_that_is_refused_is_not_taken_for_too_many() -> None:
    """A server that is still loading refuses the first request; then it takes all: back to 64 in
    six doublings, not in 63 round trips.
    """
    clock = Clock()

    async def run() -> list[int]:
        throttle, limits = Throttle(64, clock), []
        clock.now += 1
        throttle.give_back(await throttle.take(), served=False, pushed_back=True)
        for _ in range(6):
            clock.now += 1
            slots = [await throttle.take() for _ in range(int(throttle.limit))]
            clock.now += 0.1
            for slot in slots:
                throttle.give_back(
                    dataclasses.replace(slot, n_under_way=len(slots), is_full=True), served=True
                )
            limits.append(int(throttle.limit))
        return limits

    assert asyncio.run(run()) == [2, 4, 8, 16, 32, 64]


def test_it_stays_where_more_at_once_bring_no_more_replies() -> None:
    # an endpoint that works on 80 at a time: beyond, latency rises in proportion
    limits = drive(1024, 60, lambda under_way: 0.2 * max(1.0, under_way / 80))
    assert max(limits[30:]) <= 420  # 256 is its beginning; it never runs on to 1,024
    fast = drive(1024, 60, lambda under_way: 0.2 * max(1.0, under_way / 5000))
    assert fast[-1] == 1024


def test_a_pause_holds_everything_back_and_what_is_sent_again_goes_first() -> None:
    async def run() -> list[str]:
        throttle, order = Throttle(1), []

        async def work(name: str, first: bool) -> None:
            slot = await throttle.take(first=first)
            order.append(name)
            throttle.give_back(slot, served=True)

        throttle.pause(0.05)
        started = asyncio.get_running_loop().time()
        tasks = [asyncio.create_task(work("new", False)), asyncio.create_task(work("again", True))]
        await asyncio.gather(*tasks)
        assert asyncio.get_running_loop().time() - started >= 0.045
        return order

    assert asyncio.run(run()) == ["again", "new"]


@pytest.mark.parametrize("moment", ["waiting", "woken"])
def test_a_cancelled_request_leaves_its_slot_to_the_next(moment: str) -> None:
    async def run() -> None:
        throttle = Throttle(1)
        held = await throttle.take()
        task = asyncio.create_task(throttle.take())
        await asyncio.sleep(0)
        if moment == "woken":
            throttle.give_back(held, served=True)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if moment == "waiting":
            throttle.give_back(held, served=True)
        await asyncio.wait_for(throttle.take(), HANG_S)

    asyncio.run(run())
