"""Judges driven to their end with replies of the stand-in's rules: which requests they would send.
Nothing is sent. What the requests cost is `tasks.planning.estimate`.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.standin.answers import answer_request
from judgelake.tasks.standin.rules import Asked, split_tokens
from judgelake.tasks.types import Answer, Judge, Reply, Request, TokenLogprobs

Key = tuple[str, int]
"""Request digest and draw."""
FindReplies = Callable[[Collection[str]], Mapping[Key, Reply]]
"""From request digests to the replies that the lake holds."""
_SCORED = -2.0
"""Natural log-probability of each token where a text is scored."""


class Exchange(NamedTuple):
    """A request that would be sent, and the stand-in's reply to it."""

    request: Request
    reply: Reply


class Rehearsal(NamedTuple):
    """The distinct requests of some judges: those to be sent, and those that the lake has replies
    to.
    """

    asked: list[Exchange]
    stored: list[Exchange]


def rehearse(judges: Iterable[Judge], find_replies: FindReplies) -> Rehearsal:
    """Drive all judges to their end, a turn of all of them at a time."""
    asked: dict[Key, Exchange] = {}
    stored: dict[Key, Exchange] = {}
    turns = [(judge, step) for judge in judges if (step := _advance(judge, None)) is not None]
    while turns:
        new = {_key(request): request for _, step in turns for request in step}
        new = {
            key: request for key, request in new.items() if key not in asked and key not in stored
        }
        held = find_replies({digest for digest, _ in new})
        for key, request in new.items():
            if key in held:
                stored[key] = Exchange(request, held[key])
            else:
                asked[key] = Exchange(request, answer_by_rule(request))
        known = asked | stored
        sent = [
            (judge, _advance(judge, [known[_key(request)].reply for request in step]))
            for judge, step in turns
        ]
        turns = [(judge, step) for judge, step in sent if step is not None]
    return Rehearsal(list(asked.values()), list(stored.values()))


def list_first(judges: Iterable[Judge]) -> dict[Key, Request]:
    """What judges ask before anybody has replied."""
    return {_key(request): request for judge in judges for request in _advance(judge, None) or ()}


def answer_by_rule(request: Request) -> Reply:
    """The reply of `standin/rules`, without a server."""
    if request.scored:
        return Reply(
            "", top_logprobs=tuple(((token, _SCORED),) for token in split_tokens(request.scored))
        )
    if request.form != "free" and request.answer is not None:
        return _hold_by_rule(request, request.answer)
    images = tuple(
        image.sha256 or image.uri for message in request.messages for image in message.images
    )
    answer = answer_request(Asked("\n".join(message.text for message in request.messages), images))
    tokens = answer.tokens[: request.decoding.max_tokens]
    finish = "stop" if len(tokens) == len(answer.tokens) else "length"
    tops = [_rank(token, answer.alternatives.get(at, {})) for at, token in enumerate(tokens)]
    return Reply(
        "".join(tokens),
        finish,
        tuple(tops) if request.decoding.top_logprobs else (),
        completion_tokens=len(tokens),
    )


def _hold_by_rule(request: Request, answer: Answer) -> Reply:
    """The first of the answers, in the request's form."""
    label = answer.labels[0]
    top = ((label, 0.0),)
    if request.form == "forced":
        return Reply(label, top_logprobs=(top,), completion_tokens=1)
    text = json.dumps({**({answer.explained: ""} if answer.explained else {}), answer.name: label})
    return Reply(text, completion_tokens=len(split_tokens(text)))


def _rank(token: str, alternatives: Mapping[str, float]) -> TokenLogprobs:
    return tuple((text, math.log(share)) for text, share in alternatives.items() if share > 0) or (
        (token, 0.0),
    )


def _key(request: Request) -> Key:
    return request_digest(request), request.draw


def _advance(judge: Judge, replies: list[Reply] | None) -> list[Request] | None:
    """The next requests of a judge; None where it has concluded. An error of the protocol is left
    to the real run, which reports it.
    """
    try:
        return next(judge) if replies is None else judge.send([*replies])
    except StopIteration:
        return None
    except Exception:
        return None
