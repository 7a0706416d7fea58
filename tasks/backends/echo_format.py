"""A given text scored instead of a reply written: the bodies of `/completions` with `echo`, which vLLM and OpenAI's davinci-002 know.

Pure. Chat completions live in `tasks.backends.openai_format`.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from tasks.backends.openai_format import read_error
from tasks.judging.types import Reply, Request, TokenLogprobs

ROUTE = "/completions"
NEEDS = "log-probabilities of a given text take an endpoint whose /completions knows `echo` with `logprobs`: vLLM, davinci-002"


class NoEchoError(ValueError):
    """The endpoint answered without the log-probabilities of the text that it was sent; asking again will not help."""


def encode_scoring(request: Request, model: str) -> bytes:
    """The body that has `request.scored` scored after the messages' texts; raises ValueError where there are images."""
    if any(message.images for message in request.messages):
        raise ValueError("a text cannot be scored after images by /completions; expected messages without images")
    body = {"model": model, "prompt": make_prompt(request) + request.scored}
    return orjson.dumps(body | {"echo": True, "logprobs": 1, "max_tokens": 0, "temperature": 0.0})


def make_prompt(request: Request) -> str:
    """The texts of the messages, one below the other: such models know no roles."""
    return "\n".join(message.text for message in request.messages)


def decode_scores(request: Request, content: bytes, latency_ms: float) -> Reply:
    """The reply with one entry for each token of the scored text; raises NoEchoError where it is not scored, ValueError for no JSON."""
    try:
        completion = orjson.loads(content)
    except ValueError:
        raise ValueError(f"the answer is no whole JSON ({len(content)} bytes): {read_error(content)}") from None
    try:
        logprobs = completion["choices"][0]["logprobs"]
        tokens, values, offsets = (logprobs[name] for name in ("tokens", "token_logprobs", "text_offset"))
        kept = _find_scored(tokens, offsets, make_prompt(request), request.scored)
        scored = tuple(_entry(tokens[at], values[at]) for at in kept if values[at] is not None)
    except (KeyError, IndexError, TypeError, AttributeError):
        scored = ()
    if not scored:
        raise NoEchoError(f"the answer has no log-probabilities of the text that was sent; {NEEDS}")
    return _make_reply(completion, scored, latency_ms)


def _entry(token: str, logprob: float) -> TokenLogprobs:
    return ((token, float(logprob)),)


def _make_reply(completion: dict[str, Any], scored: tuple[TokenLogprobs, ...], latency_ms: float) -> Reply:
    usage, model = completion.get("usage"), completion.get("model")
    prompt_tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return Reply(
        text="",
        top_logprobs=scored,
        resolved_model=model if isinstance(model, str) else "",
        prompt_tokens=prompt_tokens if isinstance(prompt_tokens, int) else None,
        completion_tokens=0,
        latency_ms=latency_ms,
    )


def _find_scored(tokens: Sequence[str], offsets: Sequence[int], prompt: str, scored: str) -> range:
    """The places of the scored text's tokens: those at the end that joined give it, else those whose offset lies in it.

    Offsets alone do not do: where a server puts a token before the text (`<s>`), vLLM counts its characters. Tokens alone do not do where
    a character is cut in several. A last token that was generated against our wish is left out.
    """
    for end in (len(tokens), len(tokens) - 1):
        tail, start = "", end
        while start > 0 and len(tail) < len(scored):
            start -= 1
            tail = tokens[start].replace("▁", " ") + tail
        if tail == scored.replace("▁", " "):
            return range(start, end)
    shift = 0 if (prompt + scored).startswith(tokens[0].replace("▁", " ")) else len(tokens[0])
    inside = [at for at, offset in enumerate(offsets) if len(prompt) <= offset - shift < len(prompt) + len(scored)]
    return range(inside[0], inside[-1] + 1)
