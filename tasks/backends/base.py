"""The seam between judges and models: what a backend is, the words all of them share, and what
stands before them: the first contact with an endpoint, and the choice among a judge's endpoints.

Each kind of backend has a file of its own here; how judges are driven lives in
`tasks.engine.engine`. A backend raises `BackendError` only where it cannot be used at all (no key,
no model); a problem with one request is a `Failure`.

The digest is part of the lake's format. Changing what goes into it, or the field names below,
orphans every stored reply.
"""

import asyncio
import functools
import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, runtime_checkable

import orjson

from judgelake.tasks.digests import digest_json, dump_json
from judgelake.tasks.errors import LakeError, show_controls
from judgelake.tasks.lake.storage import LakePath, read_file, write_whole
from judgelake.tasks.types import UNASKED, Decoding, Failure, Image, Pending, Reply, Request

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
    """One short line fit for a `Failure`: white space collapsed, control characters shown, the key
    and any bearer token masked.
    """
    line = show_controls(" ".join(text.split()))
    if len(secret) >= _SECRET_CHARS:
        line = line.replace(secret, "***")
    line = _BEARER.sub("Bearer ***", line)
    return line if len(line) <= _REASON_CHARS else line[: _REASON_CHARS - 1] + "…"


def request_digest(request: Request) -> str:
    """Sha256 (hex) of the canonical JSON of model, messages and decoding; the draw is left out,
    images count by their sha256.
    """
    messages = [
        {
            "images": [_image_fields(image) for image in message.images],
            "role": message.role,
            "text": message.text,
        }
        for message in request.messages
    ]
    model_fields: dict[str, object] = (
        {"model": request.model, "scored": request.scored}
        if request.scored
        else {"model": request.model}
    )
    if request.form != "free" and request.answer is not None:
        answer = request.answer._asdict() | {"form": request.form}
        model_fields |= {"answer": answer}
    elif not any(image.boxes for message in request.messages for image in message.images):
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


def _image_fields(image: Image) -> dict[str, object]:
    named: dict[str, object] = {"sha256": image.sha256} if image.sha256 else {"uri": image.uri}
    return named | (
        {"boxes": [list(map(float, box)) for box in image.boxes]} if image.boxes else {}
    )


# how tokenisers spell blanks
_BLANKS = " \n▁ĠĊ"
_PATIENCE_S = 10.0
"""Seconds that other requests wait for the first answer: a refusal comes at once, and a slow answer
must not hold up the rest.
"""


class FirstContact:
    """A backend that sends its second request only after the first is answered. If the first is
    refused for good, nothing further is sent.

    The outcome is stored in `file` for the run's other shards. `refusal` holds the endpoint's own
    words, '' for no refusal.
    """

    def __init__(self, backend: Backend, file: LakePath) -> None:
        self.window = backend.window
        self._backend, self._file = backend, file
        stored = read_file(file)
        self.refusal = (stored or b"").decode()
        self._answered = asyncio.Event() if stored is None else None
        self._is_first = stored is None

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The backend's reply, or `UNASKED` where nothing further is sent."""
        if self._is_first and self._answered is not None:
            self._is_first = False
            try:
                return self._note(await self._backend.reply(request))
            finally:
                self._answered.set()
        if self._answered is not None and not self._answered.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._answered.wait(), _PATIENCE_S)
        return UNASKED if self.refusal else await self._backend.reply(request)

    def set_limits(self, concurrency: int, requests_per_minute: float | None) -> None:
        """Passes the limits on to the backend."""
        if isinstance(self._backend, Limited):
            self._backend.set_limits(concurrency, requests_per_minute)

    async def close(self) -> None:
        """Closes the backend."""
        await self._backend.close()

    def _note(self, reply: Reply | Failure | Pending) -> Reply | Failure | Pending:
        self.refusal = reply.reason if isinstance(reply, Failure) and reply.is_final else ""
        if self.refusal or isinstance(reply, Reply):
            with suppress(LakeError):  # a full disk: storing the replies reports it
                write_whole(self._file, self.refusal.encode())
        return reply


def keep_used(request: Request, reply: Reply) -> Reply:
    """The reply with the alternatives of tokens only where an answer may stand, the likeliest token
    elsewhere, by which the place is found. Of a reply that explains itself at temperature 0: in a
    short one all are used, in a drawn one the chosen token is not always the likeliest.
    """
    answer = request.answer
    is_long = answer is not None and answer.explained and request.form == "free"
    if answer is None or not is_long or request.decoding.temperature != 0:
        return reply
    labels = {*answer.labels}
    kept = tuple(
        position
        if len(position) < 2 or any(token.strip(_BLANKS) in labels for token, _ in position)
        else (max(position, key=lambda pair: pair[1]),)
        for position in reply.top_logprobs
    )
    return replace(reply, top_logprobs=kept)


class RoutingBackend:
    """Backends by endpoint name; names that share a backend share its limits."""

    def __init__(self, backends: Mapping[str, Backend], keeps_all: bool = False) -> None:
        self._backends, self._keeps_all = backends, keeps_all
        self._each = list({id(backend): backend for backend in backends.values()}.values())
        self.window = max(backend.window for backend in self._each)

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The reply of the endpoint that the request names, with the log-probabilities that are
        used, or all.
        """
        reply = await self._backends[request.endpoint].reply(request)
        if self._keeps_all or not isinstance(reply, Reply) or not reply.top_logprobs:
            return reply
        return keep_used(request, reply)

    @property
    def refusal(self) -> str:
        """The words of an endpoint that takes no request, '' where each takes some."""
        contacts = (backend for backend in self._each if isinstance(backend, FirstContact))
        return next((contact.refusal for contact in contacts if contact.refusal), "")

    def set_limits(self, concurrency: int, requests_per_minute: float | None) -> None:
        """Gives each endpoint that is asked live its share of the run's limits."""
        for backend in self._each:
            if isinstance(backend, Limited):
                backend.set_limits(concurrency, requests_per_minute)

    async def submit(self) -> None:
        """Sends what waits for a batch."""
        for backend in self._each:
            if isinstance(backend, Batching):
                await backend.submit()

    async def close(self) -> None:
        """Closes each backend once."""
        for backend in self._each:
            await backend.close()
