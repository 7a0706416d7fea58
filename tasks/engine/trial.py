"""A judge's trial within a shard: its cases are asked few at a time until enough replies have been
read, or could not be. Whether the judge then goes on is `tasks.planning.trials`.
"""

import asyncio
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from judgelake.tasks.backends.base import Backend
from judgelake.tasks.engine.engine import Keeper, judge_cases
from judgelake.tasks.types import Case, Failure, Judge, Pending, Reply, Request, Verdict

TRIAL_REPLIES = 20
"""So many replies show whether a judge can be read; no more of its requests are out before."""
UNREADABLE = ("unparsed", "truncated")
_NOT_ASKED = Failure("not asked, for the replies before it cannot be read")


class CappedBackend:
    """A backend with at most `TRIAL_REPLIES` requests under way, whichever endpoint they go to."""

    def __init__(self, backend: Backend) -> None:
        self.window = min(backend.window, TRIAL_REPLIES)
        self._backend, self._free = backend, asyncio.Semaphore(TRIAL_REPLIES)

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The backend's reply."""
        async with self._free:
            return await self._backend.reply(request)

    async def close(self) -> None:
        """Close the backend."""
        await self._backend.close()


class TrialKeeper:
    """A keeper that counts the replies on which verdicts rest; what failed brings none.

    Cases with equal requests count once, as in `queries/readable_replies.sql`. `most_asked`: the
    most requests of a case so far.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._counted: set[tuple[str, ...]] = set()
        self.most_asked = 1

    @property
    def n_replies(self) -> int:
        """How many replies were read, or could not be."""
        return sum(map(len, self._counted))

    @property
    def kept(self) -> asyncio.Event:
        """Clear while replies cannot be written."""
        return self._keeper.kept

    def find_reply(self, digest: str, draw: int) -> Reply | None:
        """A reply that the lake (or this shard) already has."""
        return self._keeper.find_reply(digest, draw)

    def keep_reply(self, digest: str, request: Request, reply: Reply) -> None:
        """Keep a reply that has just come."""
        self._keeper.keep_reply(digest, request, reply)

    def keep_verdicts(self, case: Case, verdicts: list[Verdict], digests: list[str]) -> None:
        """Keep a judge's verdicts, and count the replies that they rest on."""
        self._keeper.keep_verdicts(case, verdicts, digests)
        self.most_asked = max(self.most_asked, len(digests))
        if any(verdict.status in ("ok", *UNREADABLE) for verdict in verdicts):
            self._counted.add(tuple(digests))

    def leave_open(self, pending: Sequence[Pending]) -> None:
        """Note a case whose replies will come in a later run."""
        self._keeper.leave_open(pending)


async def try_judge(
    cases: Iterable[Case],
    start: Callable[[Case], Judge],
    backend: CappedBackend,
    keeper: TrialKeeper,
    n_wanted: int,
    should_stop: Callable[[], bool],
    should_halt: Callable[[], bool] = lambda: False,
) -> None:
    """Judge `cases` until `n_wanted` replies count; those that are left over stay for another
    shard.

    One case begins, then twice as many each time. So what a case asks in later turns is known
    before many have begun, and at most one case asks more than is wanted.
    """
    start_few = functools.partial(ask_few_first, start)
    queue, n_cases = iter(cases), 1
    while (n_missing := n_wanted - keeper.n_replies) > 0 and not should_stop():
        n_begun = max(1, min(n_cases, n_missing // keeper.most_asked))
        if not (part := [*_take(queue, start, n_begun)]):
            return
        await judge_cases(part, start_few, backend, keeper, should_stop, should_halt)
        n_cases *= 2


def ask_few_first(start: Callable[[Case], Judge], case: Case) -> Judge:
    """The judge of a case, 20 of a turn's requests at a time until a verdict rests on them.

    Where most such verdicts cannot be read, the case ends with what the protocol concludes from the
    replies that came; the other requests count as failed, so a later run may ask them.
    """
    judge, turns = start(case), list[list[Reply | Failure]]()
    while True:
        try:
            requests = judge.send(turns[-1]) if turns else next(judge)
        except StopIteration as end:
            return list[Verdict](end.value)
        replies: list[Reply | Failure] = []
        n_next = TRIAL_REPLIES
        while len(replies) < len(requests):
            replies += yield requests[len(replies) : len(replies) + n_next]
            if n_left := len(requests) - len(replies):
                verdicts = _conclude(start(case), [*turns, [*replies, *[_NOT_ASKED] * n_left]])
                n_ok = sum(verdict.status == "ok" for verdict in verdicts)
                n_unread = sum(verdict.status in UNREADABLE for verdict in verdicts)
                if n_unread > n_ok:
                    return verdicts
                n_next = n_left if n_ok else TRIAL_REPLIES
        turns.append(replies)


def _conclude(judge: Judge, turns: Sequence[list[Reply | Failure]]) -> list[Verdict]:
    """The verdicts of a judge that has not begun; none where it asks further, or fails, which the
    case itself reports.
    """
    try:
        next(judge)
        for replies in turns:
            judge.send(replies)
    except StopIteration as end:
        return list(end.value)
    except Exception:
        return []
    return []


def _take(queue: Iterator[Case], start: Callable[[Case], Judge], n_asking: int) -> Iterator[Case]:
    """The next cases up to so many that ask something; those that ask nothing cost nothing."""
    for case in queue:
        yield case
        n_asking -= asks_something(start(case))
        if n_asking <= 0:
            return


def asks_something(judge: Judge) -> bool:
    """Whether a judge that has not begun sends a request. An error of the protocol is left to the
    real run, which reports it.
    """
    try:
        return len(next(judge)) > 0
    except Exception:  # StopIteration, too
        return False
