"""What a model does not take, learnt from its refusals: which settings are left out, renamed or
capped for it from then on.

Bodies are written in `tasks.backends.openai.format`. Which refusals are for good is decided in
`tasks.backends.openai.client`; what a shard then does is in `tasks.engine.shard`.
"""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from judgelake.tasks.backends.openai.holding import CONSTRAINTS

# words with which providers refuse a parameter that a model does not take
_NOT_TAKEN = re.compile(
    r"unsupported|not support|n[o']t supported|unrecognized|unknown|not permitted|extra "
    r"inputs|not allowed|only the default|"
    r"does not (?:accept|allow|take)|not available|not enabled|invalid (?:parameter|argument)|"
    r"input should be '",  # pydantic's words for a value that is not among those it knows
    re.IGNORECASE,
)
_SETTINGS = (
    "temperature",
    "top_p",
    "seed",
    "top_logprobs",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    *CONSTRAINTS,
)
# `must be less than or equal to 5`, `at most 20`: the largest `top_logprobs` of a provider
_CAP = re.compile(
    r"(?:less than or equal to|at most|maximum(?: value)?(?: is| of|:)?|between 0 and|<=|up "
    r"to|greater than)\s*`?(\d{1,2})\b",
    re.IGNORECASE,
)
# asked for where a refusal names no usable limit of its own
_CAP_FOR_SURE = 5
# words with which providers refuse a system message
_SYSTEM = re.compile(
    r"system[` '\"]*(?:role|message|prompt|instruction)|does not support "
    r"['\"`]system|developer instruction",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Adaptation:
    """How request bodies for a model differ from the usual; `words` names the differences."""

    swaps_limit: bool = False
    left_out: tuple[str, ...] = ()
    top_logprobs: int | None = None
    merges_system: bool = False

    @property
    def words(self) -> str:
        """What is recorded beside each reply; '' for nothing."""
        differences = [f"without {name}" for name in self.left_out]
        if self.top_logprobs is not None:
            differences.append(f"top_logprobs {self.top_logprobs}")
        if self.merges_system:
            differences.append("system message in the user's")
        return ", ".join(differences)  # the limit's name changes nothing about the reply


def learn(known: Adaptation, body: bytes, refusal: bytes) -> Adaptation | None:
    """What to do after a refusal (status 400, 422 or 500) of `body`; None where it is about
    something else, or was heeded already.
    """
    sent: dict[str, Any] = orjson.loads(body)
    param, code, message = _read_refusal(refusal)
    if code in ("context_length_exceeded", "content_filter"):
        return None
    is_about = bool(_NOT_TAKEN.search(message)) or (code or "").startswith("unsupported")
    roles = [part.get("role") for part in sent.get("messages", ())]
    if "system" in roles and _SYSTEM.search(message):
        return dataclasses.replace(known, merges_system=True)
    name = _find_setting(param, message, sent)
    if name is None:
        return None
    if name == "top_logprobs" and (cap := _find_cap(message, sent["top_logprobs"])) is not None:
        return dataclasses.replace(known, top_logprobs=cap)
    if not is_about:
        return None
    if name in ("max_tokens", "max_completion_tokens"):
        return None if known.swaps_limit else dataclasses.replace(known, swaps_limit=True)
    left = "logprobs" if name == "top_logprobs" else name
    return (
        None
        if left in known.left_out
        else dataclasses.replace(known, left_out=(*known.left_out, left))
    )


def apply(adaptation: Adaptation, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body as the model takes it."""
    adapted = dict(body)
    for name in adaptation.left_out:
        adapted.pop(name, None)
        if name == "logprobs":
            adapted.pop("top_logprobs", None)
    if adaptation.top_logprobs is not None and "top_logprobs" in adapted:
        adapted["top_logprobs"] = min(adapted["top_logprobs"], adaptation.top_logprobs)
    if adaptation.swaps_limit:
        names = ("max_tokens", "max_completion_tokens")
        old, new = names if "max_tokens" in adapted else names[::-1]
        adapted[new] = adapted.pop(old)
    if adaptation.merges_system:
        adapted["messages"] = _merge_system(adapted["messages"])
    return adapted


def _read_refusal(content: bytes) -> tuple[str, str | None, str]:
    """The parameter that an error names ('' for none), its code, and all its words."""
    try:
        error = orjson.loads(content)
    except ValueError:
        return "", None, content.decode(errors="replace")
    error = error.get("error", error) if isinstance(error, dict) else {}
    if not isinstance(error, dict):
        return "", None, spell(error)
    param, code = error.get("param"), error.get("code")
    message = error.get("message") or error.get("detail") or error
    return (
        param if isinstance(param, str) else "",
        code if isinstance(code, str) else None,
        spell(message),
    )


def spell(value: object) -> str:
    """A value of a body as a text."""
    try:
        return str(value)
    except RecursionError:
        return "(nested too deeply to be shown)"


def _find_setting(param: str, message: str, sent: Mapping[str, Any]) -> str | None:
    """The setting of `sent` that the refusal is about."""
    if param in sent:
        return param if param in _SETTINGS else None
    return next(
        # whole words: `max_tokens` is not named by `max_tokens_per_minute`
        (name for name in _SETTINGS if name in sent and re.search(rf"\b{name}\b", message)),
        None,
    )


def _find_cap(message: str, asked: int) -> int | None:
    match = _CAP.search(message)
    if match is None:
        return None
    cap = int(match[1])
    return cap if 0 < cap < asked else _CAP_FOR_SURE if asked > _CAP_FOR_SURE else None


def _merge_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The system messages' texts at the beginning of the first user message."""
    system_text = "\n\n".join(
        str(message["content"]) for message in messages if message["role"] == "system"
    )
    rest = [dict(message) for message in messages if message["role"] != "system"]
    first = next((message for message in rest if message["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": system_text}, *rest]
    if isinstance(first["content"], str):
        first["content"] = f"{system_text}\n\n{first['content']}"
    else:
        first["content"] = [{"type": "text", "text": system_text}, *first["content"]]
    return rest
