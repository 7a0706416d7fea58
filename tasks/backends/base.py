"""The seam between judges and models: what a backend is, and the words all of them share.

Each kind of backend has a file of its own here; how judges are driven lives in
`tasks.engine.engine`. A backend raises `BackendError` only where it cannot be used at all (no key,
no model); a problem with one request is a `Failure`.

The digest is part of the lake's format. Changing what goes into it, or the field names below,
orphans every stored reply.
"""

import functools
import hashlib
import re
from typing import Protocol, runtime_checkable

import orjson

from judgelake.tasks.digests import digest_json, dump_json
from judgelake.tasks.types import Decoding, Failure, Image, Message, Pending, Reply, Request

# one readable line in a report
_REASON_CHARS = 300
# an endpoint's error may repeat the request's Authorization header
_BEARER = re.compile(r"(?i)\bbearer\s+\S+")
# a shorter key may be part of an ordinary word
_SECRET_CHARS = 6


class Backend(Protocol):
    """Answers one request at a time to each caller; batching, limits and retries are its private
    matter.
    """

    @property
    def window(self) -> int:
        """How many requests it wants in flight."""

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The reply or the failure of a request; a problem with one request never raises."""

    async def close(self) -> None:
        """Frees connections and memory; no request may follow."""


@runtime_checkable
class Batching(Protocol):
    """A backend that collects a shard's requests and sends them together."""

    async def submit(self) -> None:
        """Sends the collected requests; raises BackendError."""


@runtime_checkable
class Limited(Protocol):
    """A backend that asks an endpoint live, and whose share of the run's limits changes while it
    does.
    """

    def set_limits(self, concurrency: int, requests_per_minute: float | None) -> None:
        """From now on so many requests under way and so many a minute, None for any."""


def make_reason(text: str, secret: str = "") -> str:
    """One short line fit for a `Failure`: white space collapsed, the key and any bearer token
    masked.
    """
    line = " ".join(text.split())
    if len(secret) >= _SECRET_CHARS:
        line = line.replace(secret, "***")
    line = _BEARER.sub("Bearer ***", line)
    return line if len(line) <= _REASON_CHARS else line[: _REASON_CHARS - 1] + "…"


def request_digest(request: Request) -> str:
    """Sha256 (hex) of the canonical JSON of model, messages and decoding; the draw is left out,
    images count by their sha256.
    """
    messages = [_message_fields(message) for message in request.messages]
    model_fields = (
        {"model": request.model, "scored": request.scored}
        if request.scored
        else {"model": request.model}
    )
    if not any(image.boxes for message in request.messages for image in message.images):
        try:  # texts alone: the same bytes as canonical JSON, several times faster
            parts = (
                _dump_decoding(request.decoding),
                orjson.dumps(messages),
                orjson.dumps(model_fields)[1:],
            )
            return hashlib.sha256(b'{"decoding":%b,"messages":%b,%b' % parts).hexdigest()
        except orjson.JSONEncodeError:  # half a surrogate pair
            pass
    return digest_json(
        {"decoding": _decoding_fields(request.decoding), "messages": messages, **model_fields}
    )


@functools.lru_cache
def _dump_decoding(decoding: Decoding) -> bytes:
    return dump_json(_decoding_fields(decoding))


def _decoding_fields(decoding: Decoding) -> dict[str, float | int | None]:
    return {
        "max_tokens": decoding.max_tokens,
        "seed": decoding.seed,
        "temperature": None if decoding.temperature is None else float(decoding.temperature),
        "top_logprobs": decoding.top_logprobs,
        "top_p": None if decoding.top_p is None else float(decoding.top_p),
    }


def _message_fields(message: Message) -> dict[str, object]:
    return {
        "images": [_image_fields(image) for image in message.images],
        "role": message.role,
        "text": message.text,
    }


def _image_fields(image: Image) -> dict[str, object]:
    named: dict[str, object] = {"sha256": image.sha256} if image.sha256 else {"uri": image.uri}
    return named | (
        {"boxes": [list(map(float, box)) for box in image.boxes]} if image.boxes else {}
    )
