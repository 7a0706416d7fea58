"""Judges behind any OpenAI-compatible endpoint: which endpoint and key, how often to try, when to stop asking.

The body formats live in `tasks.backends.openai_format` and, of texts to be scored, `echo_format`, the exchange itself in
`tasks.backends.wire`, waiting in `tasks.backends.retrying`.
"""

import asyncio
import os
import resource
import time
from typing import NamedTuple
from urllib.parse import urlsplit

from tasks.backends import echo_format
from tasks.backends.base import make_reason
from tasks.backends.openai_format import EncodeImage, decode_reply, encode_request, read_error, read_error_code
from tasks.backends.retrying import LONGEST_WAIT_S, BackOff, Pacer, read_retry_after
from tasks.backends.wire import Endpoint, HttpAnswer, Wire, WireError
from tasks.errors import BackendError
from tasks.judging.types import Failure, Image, Pending, Reply, Request

OPENAI_URL = "https://api.openai.com/v1"
KNOWN_PROVIDERS = ("openai",)
BREAKING_STATUSES = (401, 403, 404)
"""The key or the model is wrong: the next request would fare no better."""

_SPARE_FILES = 128


class _Setback(NamedTuple):
    """A failed attempt: may another one succeed, and may one of another request?"""

    reason: str
    again: bool
    breaks: bool = False
    retry_after_s: float | None = None


class OpenAIBackend:
    """Asks a chat-completions endpoint; at most `concurrency` requests are worked on at once, waits between attempts included.

    `timeout_s` is that of one attempt. After a model's first 401, 403, 404 or exhausted quota its further requests fail unsent.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key_variable: str = "OPENAI_API_KEY",
        concurrency: int = 64,
        timeout_s: float = 120.0,
        requests_per_minute: float | None = None,
        max_attempts: int = 6,
        *,
        back_off: BackOff | None = None,
        encode_image: EncodeImage | None = None,
    ) -> None:
        self.window = concurrency
        self._endpoint = find_endpoint(model, base_url, api_key_variable)
        _allow_open_files(concurrency)
        self._wire = Wire(self._endpoint, concurrency)
        self._timeout_s, self._max_attempts = timeout_s, max_attempts
        self._back_off = back_off or BackOff()
        self._encode_image = encode_image or _refuse_image
        self._slots = asyncio.Semaphore(concurrency)
        self._pacer = Pacer(requests_per_minute)
        self._broken: dict[str, str] = {}

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The reply, or the last attempt's failure in the endpoint's own words."""
        async with self._slots:
            if request.model in self._broken:
                return Failure(self._broken[request.model])
            try:
                body = self._encode(request)
            except (BackendError, OSError, TypeError, ValueError) as error:
                return self._fail(request, f"the request cannot be encoded: {error}")
            return await self._try_until_settled(request, body)

    async def close(self) -> None:
        """Closes the connections."""
        await self._wire.close()

    def _encode(self, request: Request) -> bytes:
        model = sent_model(request.model)
        if request.scored:
            return echo_format.encode_scoring(request, model)
        return encode_request(request, model, self._encode_image, newer_limit=self._endpoint.base_url == OPENAI_URL)

    async def _try_until_settled(self, request: Request, body: bytes) -> Reply | Failure:
        attempt = 0
        while True:
            attempt += 1
            await self._pacer.admit()
            if request.model in self._broken:
                return Failure(self._broken[request.model])
            outcome = await self._try_once(request, body)
            if isinstance(outcome, Reply):
                return outcome
            if not outcome.again or attempt >= self._max_attempts:
                return self._give_up(request, outcome, attempt)
            await asyncio.sleep(self._back_off.wait_s(attempt, outcome.retry_after_s))

    def _give_up(self, request: Request, setback: _Setback, attempt: int) -> Failure:
        tried = f"attempt {attempt} of {self._max_attempts}: " if attempt > 1 else ""
        failure = self._fail(request, tried + setback.reason)
        if setback.breaks:
            self._broken.setdefault(request.model, failure.reason)
        return failure

    async def _try_once(self, request: Request, body: bytes) -> Reply | _Setback:
        started = time.perf_counter()
        route = echo_format.ROUTE if request.scored else "/chat/completions"
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._wire.post(body, route)
        except TimeoutError:
            return _Setback(f"no answer within {self._timeout_s:g} s", again=True)
        except WireError as error:
            return _Setback(str(error), again=True)
        if not 200 <= answer.status < 300:
            return _judge_status(answer, echo_format.NEEDS if request.scored else "")
        latency_ms = 1000 * (time.perf_counter() - started)
        try:
            if request.scored:
                return echo_format.decode_scores(request, answer.content, latency_ms)
            return decode_reply(answer.content, latency_ms)
        except ValueError as error:
            return _Setback(f"{answer.status} {error}", again=not isinstance(error, echo_format.NoEchoError))

    def _fail(self, request: Request, reason: str) -> Failure:
        return Failure(make_reason(f"{self._endpoint.host}, {request.model}: {reason}", self._endpoint.key))


def sent_model(model: str) -> str:
    """The name that goes over the wire: without a known provider's prefix, else whole (`google/flan-t5-xxl` keeps its slash)."""
    provider, _, name = model.partition("/")
    return name if name and provider in KNOWN_PROVIDERS else model


def find_endpoint(model: str, base_url: str | None, api_key_variable: str) -> Endpoint:
    """Address and key from the arguments and the environment; raises BackendError where either is missing or unusable."""
    url = clean_base_url(base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or OPENAI_URL)
    key = os.environ.get(api_key_variable, "").strip()
    if not key and Endpoint(url, "").is_loopback:
        return Endpoint(url, "none")
    if not key:
        raise BackendError(
            f"{model}: {api_key_variable} is not set; expected the key of {Endpoint(url, '').host} in it; export it"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BackendError(
            f"{model}: {api_key_variable} holds characters that no HTTP header may have; expected a key; set it again"
        )
    return Endpoint(url, key)


def clean_base_url(url: str) -> str:
    """An address without `/chat/completions` or a slash at its end; `/v1` is its path where it has none."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.query
    except ValueError:
        usable = False
    if not usable:
        raise BackendError(f"base_url: {url!r} is no address; expected http(s)://host[:port][/v1]; mend it")
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/") or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}"


def _judge_status(answer: HttpAnswer, needs: str) -> _Setback:
    """What a status other than success means; `needs` is what the request takes of an endpoint, told where it was refused for good."""
    refused = answer.status in (400, 404, 405, 422)
    reason = f"{answer.status} {f'{needs}; it says: ' if needs and refused else ''}{read_error(answer.content)}"
    if answer.status in BREAKING_STATUSES or read_error_code(answer.content) == "insufficient_quota":
        return _Setback(reason, again=False, breaks=True)
    if answer.status not in (408, 409, 429) and answer.status < 500:
        return _Setback(reason, again=False)
    wait = read_retry_after(answer.headers)
    if wait is not None and wait > LONGEST_WAIT_S:
        return _Setback(f"{reason} (it asks to wait {wait:.0f} s)", again=False)
    return _Setback(reason, again=True, retry_after_s=wait)


def _allow_open_files(connections: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _SPARE_FILES
    if hard != resource.RLIM_INFINITY and wanted > hard:
        most = hard - _SPARE_FILES
        raise BackendError(f"concurrency: {connections} connections; expected at most {most}; raise the limit on open files")
    if soft != resource.RLIM_INFINITY and wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _refuse_image(image: Image) -> str:
    raise BackendError(
        f"image {image.uri!r}: this judge sends text only; expected a request without images; use a vision protocol"
    )
