"""Between the project's words and the chat-completions format: a request as a body, a body as a
reply, an error body as words.

Pure; sending, and what is done about an error, live in `tasks.backends.openai.client`.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
import orjson

from judgelake.tasks.backends.openai.adapting import Adaptation, apply, spell
from judgelake.tasks.backends.openai.holding import BY_SCHEMA, Holding, find_unheeded, hold
from judgelake.tasks.types import Image, Message, Reply, Request, TokenLogprobs

BEGINNINGS = (b"data:", b"event:", b":")


def join_stream(content: bytes) -> bytes:
    """The one body that the events add up to; raises ValueError where the stream broke off or is
    none of a completion.
    """
    try:
        events = [
            orjson.loads(line[5:])
            for line in content.splitlines()
            if line.startswith(b"data:") and line[5:].strip() != b"[DONE]"
        ]
        failed = next((event for event in events if event.get("error")), None)
        return orjson.dumps(failed or _join_events(events))
    except (AttributeError, TypeError, orjson.JSONDecodeError):
        raise ValueError(
            f"the answer is no stream of a chat completion ({len(content)} bytes)"
        ) from None


def _join_events(events: list[dict[str, Any]]) -> dict[str, Any]:
    choices = [
        choice
        for event in events
        for choice in event.get("choices") or ()
        if not choice.get("index")
    ]
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    if not reasons:
        raise ValueError(f"the answer is a stream that broke off after {len(events)} events")
    deltas = [choice.get("delta") or {} for choice in choices]
    texts = {
        name: "".join(delta.get(name) or "" for delta in deltas) or None
        for name in ("content", "refusal")
    }
    positions = [
        position
        for choice in choices
        for position in (choice.get("logprobs") or {}).get("content") or ()
    ]
    whole = {name: value for event in events for name, value in event.items() if value is not None}
    only = {"index": 0, "finish_reason": reasons[-1], "message": {"role": "assistant", **texts}}
    return {
        **whole,
        "object": "chat.completion",
        "choices": [only | ({"logprobs": {"content": positions}} if positions else {})],
    }


EncodeImage = Callable[[Image], str]
"""From an image to a data URL."""


AS_IT_IS = Adaptation()


class _Entry(msgspec.Struct, gc=False):
    token: str
    logprob: float


class _Position(_Entry, gc=False):
    top_logprobs: list[_Entry] | None = None


class _Logprobs(msgspec.Struct):
    content: list[_Position] | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


_Count = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
"""A number of tokens that somebody can have sent, and that a table holds."""


class _Details(msgspec.Struct):
    cached_tokens: _Count | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    prompt_tokens_details: _Details | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


_MOST_WORDS = 100
_Kind = TypeVar("_Kind")
_COMPLETIONS = msgspec.json.Decoder(_Completion)
"""As objects of the SDK, the log-probabilities, twenty a token, would cost more than all the
rest.
"""


def encode_request(
    request: Request,
    model: str,
    encode_image: EncodeImage,
    newer_limit: bool,
    adaptation: Adaptation = AS_IT_IS,
    holding: Holding = BY_SCHEMA,
) -> bytes:
    """The body to send. `newer_limit` names the limit `max_completion_tokens`, which OpenAI's
    reasoning models insist on. Raises ValueError for a form that the endpoint does not have.
    """
    decoding = request.decoding
    messages = [
        {"role": message.role, "content": _encode_content(message, encode_image)}
        if message.images and message.role == "user"
        else {"role": message.role, "content": message.text}
        for message in request.messages
    ]
    body: dict[str, Any] = {"model": model, "messages": messages}
    if decoding.temperature is not None:
        body["temperature"] = decoding.temperature
    if decoding.top_p is not None:
        body["top_p"] = decoding.top_p
    if decoding.top_logprobs:
        body["logprobs"], body["top_logprobs"] = True, decoding.top_logprobs
    if decoding.seed is not None:
        # one seed for all draws would make them the same draw
        body["seed"] = decoding.seed + request.draw
    body["max_completion_tokens" if newer_limit else "max_tokens"] = decoding.max_tokens
    if request.form != "free":
        body = hold(body, request, holding)
    return orjson.dumps(body if adaptation is AS_IT_IS else apply(adaptation, body))


def _encode_content(message: Message, encode_image: EncodeImage) -> list[dict[str, Any]]:
    urls = [{"url": encode_image(image)} for image in message.images]
    parts = [{"type": "image_url", "image_url": url} for url in urls]
    return [*parts, {"type": "text", "text": message.text}]


def decode_reply(content: bytes, latency_ms: float | None = None) -> Reply:
    """The reply in a completion; raises ValueError in one line where the body is cut off, no JSON,
    or no completion.
    """
    if content.lstrip().startswith(BEGINNINGS):
        content = join_stream(content)
    try:
        completion = _COMPLETIONS.decode(content)
    # other servers have fields and parts of their own
    except (msgspec.MsgspecError, RecursionError):
        completion = _read_loosely(content)
    if not completion.choices:
        raise ValueError(f"the answer is no chat completion: {read_error(content)}")
    choice, usage = completion.choices[0], completion.usage or _Usage()
    positions = (choice.logprobs.content if choice.logprobs else None) or ()
    cached = usage.prompt_tokens_details
    return Reply(
        text=choice.message.content or "",
        finish_reason=choice.finish_reason or "",
        top_logprobs=tuple(_alternatives(position) for position in positions),
        resolved_model=completion.model or "",
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        latency_ms=latency_ms,
        refusal=choice.message.refusal or None,
        cached_tokens=cached.cached_tokens if cached else None,
    )


def _read_loosely(content: bytes) -> _Completion:
    """A completion whose text is in parts, or whose counts, name or log-probabilities are of other
    types than the format says: these are left out, since the text was paid for. Raises ValueError
    where there is no text.
    """
    try:
        values = orjson.loads(content)
    except ValueError:
        raise ValueError(
            f"the answer is no whole JSON ({len(content)} bytes): {read_error(content)}"
        ) from None
    try:
        choice = values["choices"][0]
        message = choice["message"]
        if isinstance(message.get("content"), list):
            message["content"] = _join_parts(message["content"])
        parts = {
            "choices": [
                {
                    "message": {**message, "refusal": _read_words(message.get("refusal"))},
                    "finish_reason": _read_words(choice.get("finish_reason")),
                    "logprobs": _convert(choice.get("logprobs"), _Logprobs),
                }
            ],
            "model": _convert(values.get("model"), str),
            "usage": _read_usage(values.get("usage")),
        }
        return msgspec.convert(parts, _Completion)
    except (AttributeError, IndexError, TypeError, KeyError, msgspec.ValidationError):
        raise ValueError(f"the answer is no chat completion: {read_error(content)}") from None


def _read_words(value: object) -> str | None:
    """A word of another server; one of another type is shown, so that nobody takes it for none."""
    return value if isinstance(value, str | None) else spell(value)[:_MOST_WORDS]


def _read_usage(usage: object) -> _Usage | None:
    """The counts that are possible, whatever the others are."""
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return _Usage(
        _convert(usage.get("prompt_tokens"), _Count),
        _convert(usage.get("completion_tokens"), _Count),
        _Details(_convert(cached, _Count)),
    )


def _convert(value: object, kind: type[_Kind]) -> _Kind | None:
    """A value of another server where it is of the kind that the format names; else None."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return None


def _join_parts(parts: list[dict[str, Any]]) -> str:
    """The text of a message in parts (Mistral's reasoning models)."""
    return "".join(part["text"] for part in parts if part.get("type") == "text")


def note_unheeded(
    known: Adaptation, request: Request, reply: Reply, holding: Holding = BY_SCHEMA
) -> Adaptation:
    """A constraint or log-probabilities that were asked for and did not come: some servers take
    such settings and ignore them (`transformers serve`).
    """
    ignored = []
    if constraint := find_unheeded(request, holding, reply):
        ignored.append(constraint)
    if request.decoding.top_logprobs and reply.text and not reply.top_logprobs:
        ignored.append("logprobs")
    left_out = dict.fromkeys((*known.left_out, *ignored))
    if len(left_out) == len(known.left_out):
        return known
    return dataclasses.replace(known, left_out=(*left_out,))


def _alternatives(position: _Position) -> TokenLogprobs:
    listed = [(entry.token, float(entry.logprob)) for entry in position.top_logprobs or ()]
    for token, _ in listed:
        if token == position.token:
            return tuple(listed)
    return ((position.token, float(position.logprob)), *listed)


def read_error(content: bytes) -> str:
    """An endpoint's own words for what went wrong: `error.message`, `message` or `detail` of its
    JSON, else the text itself.
    """
    try:
        body: Any = orjson.loads(content)
    except ValueError:
        return _shorten(content.decode(errors="replace")) or "an empty body"
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    if isinstance(error, str):
        return _shorten(error)
    try:
        return _shorten(orjson.dumps(error).decode())
    except orjson.JSONEncodeError:  # it reads what is nested four times as deep as what it writes
        return _shorten(content.decode(errors="replace"))


def _shorten(text: str) -> str:
    # longer than a reason may be: a key must be masked before it is cut
    return " ".join(text.split())[:2000]


def read_error_code(content: bytes) -> str | None:
    """The `error.code` of an error body, `insufficient_quota` for one."""
    try:
        code = orjson.loads(content)["error"]["code"]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    return code if isinstance(code, str) else None


ROUTE = "/completions"
NEEDS = (
    "log-probabilities of a given text take an endpoint whose /completions knows `echo` "
    "with `logprobs`: vLLM, davinci-002"
)


class NoEchoError(ValueError):
    """The endpoint answered without the log-probabilities of the text that it was sent; asking
    again will not help.
    """


def encode_scoring(request: Request, model: str) -> bytes:
    """The body that has `request.scored` scored after the messages' texts; raises ValueError where
    there are images.
    """
    if any(message.images for message in request.messages):
        raise ValueError(
            "a text cannot be scored after images by /completions; expected messages without images"
        )
    body = {"model": model, "prompt": make_prompt(request) + request.scored}
    return orjson.dumps(body | {"echo": True, "logprobs": 1, "max_tokens": 0, "temperature": 0.0})


def make_prompt(request: Request) -> str:
    """The texts of the messages, one below the other: such models know no roles."""
    return "\n".join(message.text for message in request.messages)


def decode_scores(request: Request, content: bytes, latency_ms: float) -> Reply:
    """The reply with one entry for each token of the scored text; raises NoEchoError where it is
    not scored, ValueError for no JSON.
    """
    try:
        completion = orjson.loads(content)
    except ValueError:
        raise ValueError(
            f"the answer is no whole JSON ({len(content)} bytes): {read_error(content)}"
        ) from None
    try:
        logprobs = completion["choices"][0]["logprobs"]
        tokens, values, offsets = (
            logprobs[name] for name in ("tokens", "token_logprobs", "text_offset")
        )
        kept = _find_scored(tokens, offsets, make_prompt(request), request.scored)
        scored = tuple(_entry(tokens[at], values[at]) for at in kept if values[at] is not None)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
        scored = ()
    if not scored:
        raise NoEchoError(f"the answer has no log-probabilities of the text that was sent; {NEEDS}")
    return _make_echo_reply(completion, scored, latency_ms)


def _entry(token: str, logprob: float) -> TokenLogprobs:
    if not isinstance(token, str):
        raise TypeError("a token is no text")
    return ((token, float(logprob)),)


def _make_echo_reply(
    completion: dict[str, Any], scored: tuple[TokenLogprobs, ...], latency_ms: float
) -> Reply:
    usage, model = completion.get("usage"), completion.get("model")
    counts = _read_usage(usage) or _Usage()
    return Reply(
        text="",
        top_logprobs=scored,
        resolved_model=model if isinstance(model, str) else "",
        prompt_tokens=counts.prompt_tokens,
        completion_tokens=0,
        latency_ms=latency_ms,
    )


def _find_scored(tokens: Sequence[str], offsets: Sequence[int], prompt: str, scored: str) -> range:
    """The places of the scored text's tokens: those at the end that joined give it, else those
    whose offset lies in it.

    Offsets alone do not do: where a server puts a token before the text (`<s>`), vLLM counts its
    characters. Tokens alone do not do where a character is cut in several. A last token that was
    generated against our wish is left out.
    """
    for end in (len(tokens), len(tokens) - 1):
        tail, start = "", end
        while start > 0 and len(tail) < len(scored):
            start -= 1
            tail = tokens[start].replace("▁", " ") + tail
        if tail == scored.replace("▁", " "):
            return range(start, end)
    shift = 0 if (prompt + scored).startswith(tokens[0].replace("▁", " ")) else len(tokens[0])
    inside = [
        at
        for at, offset in enumerate(offsets)
        if len(prompt) <= offset - shift < len(prompt) + len(scored)
    ]
    return range(inside[0], inside[-1] + 1)
