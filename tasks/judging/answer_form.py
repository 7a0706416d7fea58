"""In what form a judge's answer is asked for; protocols say how their replies end
(`Request.answer`).

`free`: the model writes, a reader looks for the answer (the papers' form, the default). `forced`:
the reply up to the answer is written for the model, and the probability of each allowed answer is
read, of answers of several tokens their joint one. Where a reply explains itself first, the model
writes that freely and is then held to an answer. `structured`: the endpoint holds the model to JSON
of a schema, or to another constraint that it knows. `auto`: forced where the endpoint can be (local
models, endpoints with `prefill`), else structured where the model takes it, else free; what a model
did not take stands in `chk_adapted_requests`.

A reply is stored as it came. Here it becomes what a free one would have looked like, so that the
protocol's own reader reads it.
"""

import math
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

import orjson

from judgelake.tasks.judging.reading import check_reply, forgive_cut
from judgelake.tasks.judging.token_reading import are_probabilities, walk_tokens, weigh_labels
from judgelake.tasks.types import (
    AnswerForm,
    Failure,
    Judge,
    Reply,
    Request,
    TokenLogprobs,
    Verdict,
)

_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")
_MOST_TOP = 20
"""The most alternatives that OpenAI lists."""


def ask_in_form(judge: Judge, forms: Mapping[str, AnswerForm]) -> Judge:
    """The judge, each of whose requests with an answer is asked in the form of its endpoint; a
    single verdict without probabilities gets those of the last answer.
    """
    requests: list[Request] = []
    replies: list[Reply | Failure] | None = None
    while True:
        try:
            requests = next(judge) if replies is None else judge.send(replies)
        except StopIteration as stop:
            verdicts: list[Verdict] = stop.value
            return _add_probabilities(verdicts, requests, replies)
        replies = yield from _ask(requests, forms)


def _ask(
    requests: Sequence[Request], forms: Mapping[str, AnswerForm]
) -> Generator[list[Request], list[Reply | Failure], list[Reply | Failure]]:
    """The replies to all of them, in two turns where an explanation comes before a forced
    answer.
    """
    asked = [_put(request, forms[request.endpoint]) for request in requests]
    replies = yield asked
    held = {
        place: follow
        for place, request in enumerate(requests)
        if forms[request.endpoint] == "forced"
        and (follow := _hold(asked[place], replies[place])) is not None
    }
    if held:
        for place, reply in zip(held, (yield [*held.values()]), strict=True):
            asked[place], replies[place] = held[place], reply
    markers = [request.answer.opening if request.answer else "" for request in requests]
    return [
        _as_free(request, reply, marker)
        for request, reply, marker in zip(asked, replies, markers, strict=True)
    ]


def _put(request: Request, form: AnswerForm) -> Request:
    """The request in its form; what explains a forced answer is asked for freely."""
    answer = request.answer
    if answer is None or form == "free" or (form == "forced" and answer.explained):
        return request
    decoding = request.decoding
    if decoding.top_logprobs or not answer.explained:
        decoding = replace(decoding, top_logprobs=_MOST_TOP)
    opening = answer.opening if answer.explained else answer.opening.lstrip()
    return replace(request, form=form, decoding=decoding, answer=answer._replace(opening=opening))


def _hold(asked: Request, reply: Reply | Failure) -> Request | None:
    """The request that holds the model to an answer after what it wrote; None where it has given
    one, or nothing that could be gone on with.
    """
    answer = asked.answer
    if answer is None or asked.form != "free" or isinstance(reply, Failure):
        return None
    if isinstance(check_reply(forgive_cut(reply)[0]), Verdict):
        return None
    before = reply.text[: _find_marker(reply.text, answer.opening)].strip()
    opening = f"{before}{answer.opening}" if before else answer.opening.lstrip()
    return replace(
        asked,
        form="forced",
        answer=answer._replace(opening=opening, explained=""),
        decoding=replace(asked.decoding, top_logprobs=_MOST_TOP),
    )


def _find_marker(text: str, opening: str) -> int:
    """Where the reply came to an answer of its own; its end where it did not."""
    place = text.casefold().rfind(opening.strip(" :=\n").casefold())
    return len(text) if place < 0 else place


def _as_free(request: Request, reply: Reply | Failure, marker: str) -> Reply | Failure:
    """The reply as the protocol's reader takes it; one whose endpoint did not hold the model to the
    form stays as it is. A cut after a whole answer is none; other ends stay, for readers refuse
    some. The answer's marker begins a line, and the explanation before it ends as a sentence does.
    """
    answer = request.answer
    if answer is None or request.form == "free" or isinstance(reply, Failure):
        return reply
    values = _read_object(reply.text)
    offset = _find_value(reply.text, answer.name) if values else 0
    position = walk_tokens(reply.text, reply.top_logprobs, offset)
    label = (str(values.get(answer.name, "")) if values else reply.text).strip()
    if (
        request.form == "forced"
        and label not in answer.labels
        and position is not None
        and are_probabilities(position)
    ):
        mass = weigh_labels(position, answer.labels)  # a reply that went on past its answer
        label = max(mass, key=mass.__getitem__) if any(mass.values()) else ""
    if label not in answer.labels:
        return reply
    opening = answer.opening if answer.marked else ""
    said = f"{values.get(answer.explained, '')}{opening}"
    before = said.removesuffix(marker)
    if before and before != said:
        ended = before.rstrip(" ,:;")
        said = f"{ended}{'' if ended.endswith(_SENTENCE_ENDS) else '.'}\n{marker.lstrip()}"
    _, was_cut = forgive_cut(reply)
    return replace(
        reply,
        text=f"{said}{label}",
        finish_reason="stop" if was_cut else reply.finish_reason,
        top_logprobs=() if position is None else (_weigh(position, answer.labels),),
    )


def _weigh(position: TokenLogprobs, labels: Sequence[str]) -> TokenLogprobs:
    """The log-probability of each label that has any; what is no probability stays as it is."""
    if not are_probabilities(position):
        return position
    mass = weigh_labels(position, labels)
    return tuple((label, math.log(share)) for label, share in mass.items() if share > 0)


def _read_object(text: str) -> Mapping[str, object]:
    """The fields of a reply in JSON, none of any other."""
    try:
        values = orjson.loads(text)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _find_value(text: str, name: str) -> int:
    """Where the last value of a field stands in JSON."""
    places = [match.end() for match in re.finditer(rf'"{re.escape(name)}"\s*:\s*"?', text)]
    return places[-1] if places else 0


def _add_probabilities(
    verdicts: list[Verdict], requests: list[Request], replies: list[Reply | Failure] | None
) -> list[Verdict]:
    if replies is None or len(verdicts) != 1 or len(replies) != 1:
        return verdicts
    (verdict,), (request,), (reply,) = verdicts, requests, replies
    if verdict.status != "ok" or verdict.probabilities is not None or isinstance(reply, Failure):
        return verdicts
    labels = request.answer.labels if request.answer else ()
    if not all(map(are_probabilities, reply.top_logprobs)):
        return verdicts
    mass = {
        label: math.exp(min(0.0, value))
        for position in reply.top_logprobs
        for label, value in position
        if value > -math.inf  # nan neither
    }
    if not mass or not set(mass) <= set(labels):
        return verdicts
    total = math.fsum(mass.values())
    shares = {label: value / total for label, value in mass.items()}
    return [replace(verdict, probabilities=shares, captured_mass=min(1.0, total))]
