"""The engine with backends and keepers made of a few lines: how many run at once, what is asked,
what ends a run.
"""

import asyncio
import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import pytest

from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.engine import engine
from judgelake.tasks.engine.engine import collect_less, judge_cases
from judgelake.tasks.errors import BackendError
from judgelake.tasks.types import Case, Failure, Judge, Message, Pending, Reply, Request, Verdict
from tests.flows.harness import HANG_S

Answer = Reply | Failure | Pending


@dataclass
class Keeper:
    """Keeps in memory; `stored` are replies from before."""

    stored: dict[tuple[str, int], Reply] = field(default_factory=dict)
    replies: dict[tuple[str, int], Reply] = field(default_factory=dict)
    verdicts: dict[str, list[Verdict]] = field(default_factory=dict)
    rests_on: dict[str, list[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    kept: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.kept.set()

    def find_reply(self, digest: str, draw: int) -> Reply | None:
        return self.stored.get((digest, draw)) or self.replies.get((digest, draw))

    def keep_reply(self, digest: str, request: Request, reply: Reply) -> None:
        assert digest == request_digest(request)
        assert (digest, request.draw) not in self.replies
        self.replies[digest, request.draw] = reply

    def keep_verdicts(self, case: Case, verdicts: list[Verdict], digests: list[str]) -> None:
        assert case.item_id not in self.verdicts
        self.verdicts[case.item_id] = verdicts
        self.rests_on[case.item_id] = digests

    def leave_open(self, pending: Sequence[Pending]) -> None:
        self.open += [one.handle for one in pending]


@dataclass
class Backend:
    """Answers with the text `<question>!` after `seconds`, unless `special` has something else for
    the question.
    """

    window: int = 2
    seconds: float = 0.0
    special: dict[str, Answer | Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    cancelled: int = 0

    async def reply(self, request: Request) -> Answer:
        text = request.messages[0].text
        self.asked.append(text)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        answer = self.special.get(text, Reply(f"{text}!"))
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        """Nothing is held."""


def make_case(number: int, answer: str | None = None) -> Case:
    return Case("b", f"i{number}", "vqa", "Q", ("r",), answer or f"a{number}", "d" * 16)


def make_request(text: str, draw: int = 0) -> Request:
    return Request("m", (Message("user", text),), draw=draw)


def ask_once(case: Case) -> Judge:
    (reply,) = yield [make_request(case.answer)]
    return [
        Verdict("failed", reason=reply.reason)
        if isinstance(reply, Failure)
        else Verdict("refused", rationale=reply.text)
    ]


def judge(
    cases: Iterable[Case],
    backend: Backend,
    keeper: Keeper,
    start: Callable[[Case], Judge] = ask_once,
    should_stop: Callable[[], bool] = lambda: False,
) -> None:
    asyncio.run(asyncio.wait_for(judge_cases(cases, start, backend, keeper, should_stop), HANG_S))


def read(verdicts: list[Verdict]) -> list[str | None]:
    return [verdict.rationale for verdict in verdicts]


def test_every_case_is_asked_and_concluded_once() -> None:
    backend, keeper = Backend(), Keeper()
    judge(map(make_case, range(20)), backend, keeper)
    assert sorted(backend.asked) == sorted(f"a{number}" for number in range(20))
    assert {item: read(verdicts) for item, verdicts in keeper.verdicts.items()} == {
        f"i{n}": [f"a{n}!"] for n in range(20)
    }
    assert keeper.rests_on["i7"] == [request_digest(make_request("a7"))]
    assert keeper.replies[keeper.rests_on["i7"][0], 0] == Reply("a7!")


def test_no_more_than_twice_the_window_is_open() -> None:
    backend, keeper = Backend(window=3, seconds=0.002), Keeper()
    taken = 0

    def draw_cases() -> Iterable[Case]:
        nonlocal taken
        for number in range(40):
            taken += 1
            assert taken - len(keeper.verdicts) <= 6
            yield make_case(number)

    judge(draw_cases(), backend, keeper)
    assert backend.most_in_flight == 6
    assert len(keeper.verdicts) == 40


def test_equal_requests_are_asked_once_at_a_time_and_then_found() -> None:
    backend, keeper = Backend(window=2, seconds=0.002), Keeper()
    judge([make_case(number, "same") for number in range(9)], backend, keeper)
    assert backend.asked == ["same"]
    assert [read(verdicts) for verdicts in keeper.verdicts.values()] == [["same!"]] * 9


def test_another_draw_is_another_request() -> None:
    def draw_twice(case: Case) -> Judge:
        yield [make_request(case.answer, draw) for draw in range(2)]
        return []

    backend, keeper = Backend(), Keeper()
    judge([make_case(1)], backend, keeper, draw_twice)
    assert backend.asked == ["a1", "a1"]
    assert {draw for _, draw in keeper.replies} == {0, 1}


def test_a_failed_request_is_not_kept_and_may_be_asked_again() -> None:
    backend, keeper = Backend(window=1, special={"same": Failure("no")}), Keeper()
    judge([make_case(number, "same") for number in range(3)], backend, keeper)
    assert keeper.replies == {}
    assert all(
        verdict.reason == "no" for verdicts in keeper.verdicts.values() for verdict in verdicts
    )
    assert 1 < len(backend.asked) <= 3  # two are open at once and share one; the third comes after


def test_stored_replies_are_not_asked() -> None:
    backend = Backend()
    keeper = Keeper(stored={(request_digest(make_request("a1")), 0): Reply("from the lake")})
    judge(map(make_case, range(3)), backend, keeper)
    assert sorted(backend.asked) == ["a0", "a2"]
    assert read(keeper.verdicts["i1"]) == ["from the lake"]


def test_a_judge_of_several_turns_gets_its_replies_in_order() -> None:
    def compare_then_extract(case: Case) -> Judge:
        first = yield [make_request(f"{case.answer}{letter}") for letter in "xyz"]
        texts = [reply.text for reply in first if isinstance(reply, Reply)]
        (last,) = yield [make_request(" ".join(texts))]
        assert isinstance(last, Reply)
        return [Verdict("refused", rationale=last.text)]

    class Uneven(Backend):
        async def reply(self, request: Request) -> Answer:
            await asyncio.sleep({"x": 0.02, "y": 0.01}.get(request.messages[0].text[-1], 0))
            return await super().reply(request)

    keeper = Keeper()
    judge([make_case(1), make_case(2)], Uneven(), keeper, compare_then_extract)
    assert {item: read(verdicts) for item, verdicts in keeper.verdicts.items()} == {
        "i1": ["a1x! a1y! a1z!!"],
        "i2": ["a2x! a2y! a2z!!"],
    }
    digests = [
        request_digest(make_request(text)) for text in ("a1x", "a1y", "a1z", "a1x! a1y! a1z!")
    ]
    assert keeper.rests_on["i1"] == digests


@pytest.mark.parametrize("turn", ["before it asks", "after a reply"])
def test_a_protocol_that_raises_costs_only_its_case_a_verdict(turn: str) -> None:
    def stumble(case: Case) -> Judge:
        if case.item_id == "i1" and turn == "before it asks":
            raise ZeroDivisionError("one over nought")
        (reply,) = yield [make_request(case.answer)]
        if case.item_id == "i1":
            raise ZeroDivisionError("one over nought")
        assert isinstance(reply, Reply)
        return [Verdict("refused", rationale=reply.text)]

    keeper = Keeper()
    judge(map(make_case, range(5)), Backend(), keeper, stumble)
    (verdict,) = keeper.verdicts["i1"]
    assert (verdict.status, verdict.reason) == (
        "failed",
        "the protocol raised ZeroDivisionError: one over nought",
    )
    assert len(keeper.rests_on["i1"]) == (turn == "after a reply")
    assert [read(keeper.verdicts[f"i{number}"]) for number in (0, 2, 3, 4)] == [
        [f"a{number}!"] for number in (0, 2, 3, 4)
    ]


def test_a_pending_reply_leaves_no_verdict_and_no_reply() -> None:
    keeper = Keeper()
    judge(map(make_case, range(3)), Backend(special={"a1": Pending("batch-1")}), keeper)
    assert sorted(keeper.verdicts) == ["i0", "i2"]
    assert len(keeper.replies) == 2
    assert keeper.open == ["batch-1"]


def test_while_nothing_can_be_kept_nothing_new_is_asked() -> None:
    backend, keeper = Backend(window=2, seconds=0.01), Keeper()
    keeper.kept.clear()

    async def let_go() -> None:
        running = asyncio.create_task(
            judge_cases(map(make_case, range(9)), ask_once, backend, keeper, lambda: False)
        )
        await asyncio.sleep(0.05)
        assert backend.asked == []
        keeper.kept.set()
        await running

    asyncio.run(let_go())
    assert len(keeper.verdicts) == 9


def test_a_halt_drops_what_is_in_flight() -> None:
    backend, keeper = Backend(window=2, seconds=60), Keeper()

    async def halt() -> None:
        flags = (lambda: backend.in_flight > 0, lambda: backend.in_flight > 0)
        await asyncio.wait_for(
            judge_cases(map(make_case, range(9)), ask_once, backend, keeper, *flags), HANG_S
        )

    asyncio.run(halt())
    assert (backend.cancelled, keeper.verdicts) == (4, {})


def test_a_bug_in_a_backend_costs_its_request_and_no_other() -> None:
    backend, keeper = Backend(special={"a3": RuntimeError("a bug")}), Keeper()
    judge(map(make_case, range(100)), backend, keeper)
    (verdict,) = keeper.verdicts.pop("i3")
    assert verdict == Verdict("failed", reason="the backend raised RuntimeError: a bug")
    assert len(keeper.replies) == len(keeper.verdicts) == 99


def test_a_backend_that_only_has_bugs_ends_the_run_with_its_error() -> None:
    bugs: dict[str, Answer | Exception] = {f"a{n}": RuntimeError("a bug") for n in range(3, 1000)}
    backend, keeper = Backend(window=2, special=bugs), Keeper()
    with pytest.raises(RuntimeError, match="a bug"):
        judge(map(make_case, range(1000)), backend, keeper)
    assert len(keeper.replies) == 3
    assert len(backend.asked) < 3 + engine._MOST_ERRORS + 2 * backend.window


def test_a_backend_that_cannot_be_used_ends_the_run_at_once() -> None:
    backend = Backend(special={"a3": BackendError("no model")})
    with pytest.raises(BackendError, match="no model"):
        judge(map(make_case, range(100)), backend, Keeper())
    assert len(backend.asked) < 10


def test_what_is_in_flight_ends_with_the_run() -> None:
    class OneFails(Backend):
        async def reply(self, request: Request) -> Answer:
            if request.messages[0].text == "a3":
                raise BackendError("no model")
            return await super().reply(request)

    backend = OneFails(window=2, seconds=60)
    with pytest.raises(BackendError):
        judge(map(make_case, range(4)), backend, Keeper())
    assert (backend.cancelled, backend.in_flight) == (3, 0)


def test_cancelling_the_run_ends_what_is_in_flight() -> None:
    backend = Backend(window=2, seconds=60)

    async def cancel() -> None:
        running = asyncio.create_task(
            judge_cases(map(make_case, range(9)), ask_once, backend, Keeper(), lambda: False)
        )
        while backend.in_flight < 4:
            await asyncio.sleep(0.001)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (backend.cancelled, backend.in_flight) == (4, 0)

    asyncio.run(cancel())


def test_a_stop_admits_nothing_new_and_lets_the_rest_finish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "_LOOK_S", 0.001)  # the stop is seen before any reply comes
    backend, keeper = Backend(window=2, seconds=0.02), Keeper()
    judge(map(make_case, range(100)), backend, keeper, should_stop=lambda: len(backend.asked) >= 4)
    assert len(backend.asked) == len(keeper.verdicts) == 4
    assert backend.cancelled == 0


def test_a_stop_is_seen_although_every_reply_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_LOOK_S", 0)
    requests = [make_request(f"a{number}") for number in range(1000)]
    stored = {(request_digest(request), 0): Reply("yes") for request in requests}
    keeper = Keeper(stored=stored)
    cases = map(make_case, range(1000))
    judge(cases, Backend(), keeper, should_stop=lambda: len(keeper.verdicts) >= 4)
    assert 4 <= len(keeper.verdicts) < 100


def test_a_stop_before_the_start_asks_nothing() -> None:
    backend = Backend()
    judge(map(make_case, range(9)), backend, Keeper(), should_stop=lambda: True)
    assert backend.asked == []


def test_after_the_drain_what_still_hangs_is_given_up_without_a_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "DRAIN_S", 0.1)
    monkeypatch.setattr(engine, "_LOOK_S", 0.001)  # the stop is seen before any reply comes

    class OneHangs(Backend):
        async def reply(self, request: Request) -> Answer:
            self.seconds = 60 if request.messages[0].text == "a1" else 0.01
            return await super().reply(request)

    backend, keeper = OneHangs(window=2), Keeper()
    judge(map(make_case, range(100)), backend, keeper, should_stop=lambda: len(backend.asked) >= 4)
    assert sorted(keeper.verdicts) == ["i0", "i2", "i3"]
    assert (backend.cancelled, backend.in_flight) == (1, 0)


def test_a_keeper_that_fails_ends_the_run() -> None:
    class Full(Keeper):
        def keep_verdicts(self, case: Case, verdicts: list[Verdict], digests: list[str]) -> None:
            raise OSError(f"no room for {case.item_id}: {verdicts}, {digests}")

    with pytest.raises(OSError, match="no room"):
        judge(map(make_case, range(50)), Backend(), Full())


def test_no_cases_are_no_work() -> None:
    backend = Backend()
    judge([], backend, Keeper())
    assert backend.asked == []


def test_shards_side_by_side_leave_the_collector_as_it_was() -> None:
    gc.unfreeze()  # what the tests' own start skips
    usual, first, second = gc.get_threshold(), collect_less(), collect_less()
    with first:
        assert gc.get_threshold()[0] > usual[0]
        second.__enter__()
    second.__exit__(None, None, None)
    assert (gc.get_threshold(), gc.get_freeze_count()) == (usual, 0)


def test_objects_that_were_skipped_before_a_shard_are_skipped_after_it() -> None:
    gc.freeze()
    try:
        with collect_less():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
