import asyncio
import dataclasses
from pathlib import Path

from judgelake.tasks.backends.base import Backend, FirstContact
from judgelake.tasks.types import UNASKED, Failure, Message, Pending, Reply, Request

REQUEST = Request("m", (Message("user", "Hi"),))


class Endpoint:
    """Answers the n-th request with the n-th answer (the last one for ever), a moment later."""

    window = 4

    def __init__(self, *answers: Reply | Failure) -> None:
        self.answers, self.n_asked, self.most_at_once, self._now = answers, 0, 0, 0

    async def reply(self, _request: Request) -> Reply | Failure | Pending:
        self.n_asked, self._now = self.n_asked + 1, self._now + 1
        self.most_at_once = max(self.most_at_once, self._now)
        answer = self.answers[min(self.n_asked, len(self.answers)) - 1]
        await asyncio.sleep(0.01)
        self._now -= 1
        return answer

    async def close(self) -> None:
        """Nothing is held."""


def ask(backend: Backend, count: int) -> list[Reply | Failure | Pending]:
    async def run() -> list[Reply | Failure | Pending]:
        return await asyncio.gather(
            *(backend.reply(dataclasses.replace(REQUEST, draw=draw)) for draw in range(count))
        )

    return asyncio.run(run())


def test_a_refusal_for_good_costs_one_request_and_the_next_shard_none(tmp_path: Path) -> None:
    refused, file = Failure("host, m: 401 wrong key", is_final=True), tmp_path / "judge.contact"
    endpoint = Endpoint(refused)
    contact = FirstContact(endpoint, file)
    assert ask(contact, 5) == [refused, UNASKED, UNASKED, UNASKED, UNASKED]
    assert contact.refusal == "host, m: 401 wrong key"
    later = FirstContact(endpoint, file)
    assert ask(later, 3) == [UNASKED] * 3
    assert (endpoint.n_asked, later.refusal) == (1, contact.refusal)


def test_once_answered_all_are_sent_together_and_the_next_shard_waits_for_none(
    tmp_path: Path,
) -> None:
    endpoint = Endpoint(Reply("yes"))
    assert ask(FirstContact(endpoint, tmp_path / "c"), 5) == [Reply("yes")] * 5
    assert endpoint.most_at_once == 4  # the first alone, then the other four
    endpoint = Endpoint(Reply("yes"))
    ask(FirstContact(endpoint, tmp_path / "c"), 5)
    assert endpoint.most_at_once == 5


def test_a_failure_that_may_pass_stops_nobody_and_settles_nothing(tmp_path: Path) -> None:
    endpoint = Endpoint(Failure("503"), Reply("yes"))
    assert ask(FirstContact(endpoint, tmp_path / "c"), 3) == [
        Failure("503"),
        Reply("yes"),
        Reply("yes"),
    ]
    assert not (tmp_path / "c").exists()
