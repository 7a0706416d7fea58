"""A judge's trial within a shard: how many requests are out, and when it ends."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from judgelake.tasks.engine.trial import TRIAL_REPLIES, CappedBackend, TrialKeeper, try_judge
from judgelake.tasks.judging.harmonic import HarmonicOptions
from judgelake.tasks.judging.harmonic import judge as harmonic_judge
from judgelake.tasks.types import (
    Case,
    Failure,
    Judge,
    Message,
    Pending,
    Reply,
    Request,
    Status,
    Verdict,
)
from tests.judging.judging_by_hand import MODELS, make_case

CASES = [replace(make_case(), item_id=f"i{number:03}") for number in range(200)]
Rule = Callable[[str], Reply | Failure]


class Endpoint:
    """Answers by a rule, after a moment; counts what it was asked."""

    window = 64

    def __init__(self, rule: Rule = lambda _: Reply("So rating=3")) -> None:
        self.rule = rule
        self.n_asked = self.n_out = self.most_out = 0

    async def reply(self, request: Request) -> Reply | Failure:
        self.n_asked += 1
        self.n_out += 1
        self.most_out = max(self.most_out, self.n_out)
        await asyncio.sleep(0)
        self.n_out -= 1
        return self.rule(request.messages[0].text)

    async def close(self) -> None:
        """Nothing to close."""


class Kept:
    """Keeps in memory."""

    def __init__(self) -> None:
        self.kept = asyncio.Event()
        self.kept.set()
        self.replies: dict[tuple[str, int], Reply] = {}
        self.rest_on: list[tuple[str, list[str]]] = []
        self.statuses: list[str] = []
        self.open: list[Pending] = []

    def find_reply(self, digest: str, draw: int) -> Reply | None:
        return self.replies.get((digest, draw))

    def keep_reply(self, digest: str, request: Request, reply: Reply) -> None:
        self.replies[digest, request.draw] = reply

    def keep_verdicts(self, case: Case, verdicts: list[Verdict], digests: list[str]) -> None:
        self.rest_on.append((case.item_id, digests))
        self.statuses += [verdict.status for verdict in verdicts]

    def leave_open(self, pending: Sequence[Pending]) -> None:
        self.open += pending


def ask(case: Case, *turns: int) -> Judge:
    """So many requests in each turn; the verdict is what its last reply allows."""
    replies: Sequence[Reply | Failure] = ()
    for turn, n in enumerate(turns):
        texts = [f"{case.item_id} {turn} {number}" for number in range(n)]
        replies = yield [Request("m", (Message("user", text),)) for text in texts]
    if not replies or isinstance(replies[-1], Failure):
        return [Verdict("failed")]
    status: Status = "ok" if "rating" in replies[-1].text else "unparsed"
    return [Verdict(status)]


def run(
    start: Callable[[Case], Judge],
    endpoint: Endpoint,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[Kept, TrialKeeper]:
    async def run() -> tuple[Kept, TrialKeeper]:
        kept = Kept()
        tried = TrialKeeper(kept)
        backend = CappedBackend(endpoint)
        await try_judge(CASES, start, backend, tried, TRIAL_REPLIES, should_stop)
        return kept, tried

    return asyncio.run(run())


def test_twenty_replies_end_a_trial() -> None:
    endpoint = Endpoint()
    kept, tried = run(lambda case: ask(case, 1), endpoint)
    assert (endpoint.n_asked, tried.n_replies, kept.statuses) == (20, 20, ["ok"] * 20)


def test_cases_that_ask_nothing_bring_no_reply() -> None:
    endpoint = Endpoint(lambda _: Reply("no"))
    kept, tried = run(
        lambda case: ask(case, *((1,) if int(case.item_id[1:]) % 3 else ())), endpoint
    )
    assert (endpoint.n_asked, tried.n_replies) == (20, 20)
    assert (kept.statuses.count("unparsed"), kept.statuses.count("failed")) == (20, 10)


def test_failures_are_made_up_for() -> None:
    """Three of five requests fail: fifty bring twenty replies."""
    numbers = iter(range(1000))
    endpoint = Endpoint(
        lambda _: Failure("500") if next(numbers) % 5 not in (0, 1) else Reply("no")
    )
    kept, tried = run(lambda case: ask(case, 1), endpoint)
    assert (tried.n_replies, kept.statuses.count("unparsed")) == (20, 20)
    assert 46 <= endpoint.n_asked <= 50


def test_where_all_fails_the_trial_ends_with_the_cases() -> None:
    endpoint = Endpoint(lambda _: Failure("500"))
    kept, tried = run(lambda case: ask(case, 1), endpoint)
    assert (tried.n_replies, len(kept.statuses), endpoint.most_out) == (0, len(CASES), 20)


@pytest.mark.parametrize("first", [1, 3])
def test_later_turns_count_before_many_cases_have_begun(first: int) -> None:
    """A cascade whose first case needs one turn, and others three."""

    def start(case: Case) -> Judge:
        return ask(case, *[1] * (first if case is CASES[0] else 3))

    endpoint = Endpoint()
    run(start, endpoint)
    assert 20 <= endpoint.n_asked <= 22


def judge_harmonic(case: Case, sampling: int = 20) -> Judge:
    """A case of five times as many requests."""
    options = HarmonicOptions(image="absent", sampling=sampling, temperature=1.0)
    return harmonic_judge(replace(case, task="caption"), options, MODELS)


def test_a_case_of_many_requests_that_can_be_read_is_asked_to_its_end() -> None:
    endpoint = Endpoint(lambda _: Reply("Rating: 4"))
    kept, tried = run(judge_harmonic, endpoint)
    assert (endpoint.n_asked, endpoint.most_out) == (100, 20)
    assert (tried.n_replies, kept.statuses) == (100, ["ok"] * 6)


def test_a_case_of_many_requests_ends_after_twenty_that_cannot_be_read() -> None:
    endpoint = Endpoint(lambda _: Reply("I would rather not say."))
    kept, tried = run(judge_harmonic, endpoint)
    assert (endpoint.n_asked, tried.n_replies) == (20, 20)
    # the overall score, which comes last, has the status of the first criterion
    assert kept.statuses == ["unparsed", *["failed"] * 4, "unparsed"]
    assert [len(digests) for _, digests in kept.rest_on] == [20]


def test_a_case_whose_first_requests_fail_is_read_by_the_next() -> None:
    """The second criterion's twenty draws are the first that have a verdict."""
    numbers = iter(range(1000))
    endpoint = Endpoint(lambda _: Failure("500") if next(numbers) == 3 else Reply("no"))
    kept, _ = run(judge_harmonic, endpoint)
    assert endpoint.n_asked == 40
    assert kept.statuses == ["failed", "unparsed", *["failed"] * 4]


def test_more_draws_than_twenty_go_out_until_a_verdict_rests_on_them() -> None:
    endpoint = Endpoint(lambda _: Reply("no"))
    run(lambda case: judge_harmonic(case, 30), endpoint)
    assert endpoint.n_asked == 40


def test_a_case_that_asks_further_is_asked_twenty_at_a_time() -> None:
    endpoint = Endpoint()
    kept, _ = run(lambda case: ask(case, 50, 1), endpoint)
    assert (endpoint.n_asked, endpoint.most_out, kept.statuses) == (51, 20, ["ok"])


def test_a_case_of_five_requests_is_one_of_four() -> None:
    endpoint = Endpoint()
    run(lambda case: ask(case, 5), endpoint)
    assert (endpoint.n_asked, endpoint.most_out <= 20) == (20, True)


def test_equal_requests_count_once() -> None:
    endpoint = Endpoint()
    kept, _ = run(lambda case: ask(replace(case, item_id=case.item_id[:3]), 1), endpoint)
    assert len(kept.statuses) == 191  # twenty groups of ten; one of the last group ends it


def test_a_trial_ends_where_the_run_is_stopped() -> None:
    endpoint = Endpoint()
    kept, _ = run(lambda case: ask(case, 1), endpoint, lambda: endpoint.n_asked > 5)
    assert endpoint.n_asked == len(kept.statuses) == 7  # 1, 2 and 4 cases
