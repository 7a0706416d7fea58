"""Which log-probabilities of a reply are stored: those that readers use."""

import asyncio
import math

import pytest

from judgelake.tasks.backends.base import RoutingBackend, keep_used, request_digest
from judgelake.tasks.backends.local.decoding import repeats_itself
from judgelake.tasks.backends.replay import ReplayBackend
from judgelake.tasks.judging.lave import LaveOptions, read_verdict
from judgelake.tasks.types import REPEATS, Answer, Decoding, Message, Reply, Request

WEIGHTED = LaveOptions(rating="weighted", top_logprobs=5)
ANSWER = Answer(" So rating=", ("1", "2", "3"), "rating", explained="rationale")
REQUEST = Request("m", (Message("user", "rate"),), Decoding(0.0, top_logprobs=5), answer=ANSWER)


def reply(*tokens: str) -> Reply:
    """Each token the likeliest of five, where a rating stands the ratings among them."""
    positions = []
    for token in tokens:
        others = ["1", "2", "3", "x", "y"] if token.isdigit() else ["a", "b", "c", "d", "e"]
        rest = [other for other in others if other != token][:4]
        positions.append(((token, math.log(0.6)), *((other, math.log(0.1)) for other in rest)))
    return Reply("".join(tokens), top_logprobs=tuple(positions))


SAID = reply("It", " agrees", " in", " 2", " ways", ".", " So", " rating", "=", "3")


def test_the_verdict_is_the_same_and_the_rationale_s_alternatives_are_gone() -> None:
    kept = keep_used(REQUEST, SAID)
    assert read_verdict(kept, WEIGHTED) == read_verdict(SAID, WEIGHTED)
    assert read_verdict(kept, WEIGHTED).probabilities is not None
    assert [len(position) for position in kept.top_logprobs] == [1, 1, 1, 5, 1, 1, 1, 1, 1, 5]
    assert [position[0][0] for position in kept.top_logprobs] == [
        position[0][0] for position in SAID.top_logprobs
    ]


@pytest.mark.parametrize(
    "request_",
    [
        Request("m", REQUEST.messages, Decoding(0.7), answer=ANSWER),
        Request("m", REQUEST.messages, Decoding(0.0), answer=ANSWER._replace(explained="")),
        Request("m", REQUEST.messages, Decoding(0.0)),
        Request("m", REQUEST.messages, Decoding(0.0), answer=ANSWER, form="structured"),
    ],
    ids=["drawn", "short", "without an answer", "structured"],
)
def test_where_any_place_may_be_read_all_are_kept(request_: Request) -> None:
    assert keep_used(request_, SAID) == SAID


@pytest.mark.parametrize("keeps_all", [True, False])
def test_a_setting_keeps_all(keeps_all: bool) -> None:
    stored = ReplayBackend({(request_digest(REQUEST), 0): SAID})
    backend = RoutingBackend({"judge": stored}, keeps_all=keeps_all)
    found = asyncio.run(backend.reply(REQUEST))
    assert found == (SAID if keeps_all else keep_used(REQUEST, SAID))


def test_a_reply_that_repeats_itself_is_known_and_a_list_is_not() -> None:
    assert repeats_itself([7] * 96)
    assert repeats_itself([1, *[5, 6, 7, 8, 9] * 20])
    assert not repeats_itself([7] * 95)
    assert not repeats_itself([*range(96)])
    assert not repeats_itself([token for row in range(24) for token in (1, 2, 3, row)])
    assert not repeats_itself([*[5, 6, 7] * 31, 1, 5, 6])


def test_a_stopped_repetition_is_truncated_and_says_so() -> None:
    verdict = read_verdict(Reply("a b a b a b", REPEATS), LaveOptions())
    assert (verdict.status, verdict.reason) == (
        "truncated",
        "the model repeated itself and was stopped",
    )
