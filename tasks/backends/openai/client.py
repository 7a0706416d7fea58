"""Judges behind any OpenAI-compatible endpoint: which endpoint and key, how often to try, when to
stop asking.

The body formats live in `tasks.backends.openai.format`, waiting in
`tasks.backends.openai.limits`.

The openai package says which headers go with a request; aiohttp alone sends it, at a quarter of the
CPU that `AsyncOpenAI.post` takes (0.14 against 0.58 ms a request where it was measured), which is
what lets one process keep 256 requests of 200 ms in flight.
"""

import asyncio
import dataclasses
import functools
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import openai

from judgelake.tasks.backends.base import make_reason
from judgelake.tasks.backends.openai import format as echo_format
from judgelake.tasks.backends.openai.adapting import Adaptation, learn
from judgelake.tasks.backends.openai.endpoints import (
    LEAST_KEY_CHARS,
    OPENAI_KEY,
    OPENAI_URL,
    Endpoint,
    find_endpoint,
    hide_key,
    sent_model,
)
from judgelake.tasks.backends.openai.format import (
    AS_IT_IS,
    EncodeImage,
    decode_reply,
    encode_request,
    note_unheeded,
    read_error,
    read_error_code,
)
from judgelake.tasks.backends.openai.holding import BY_SCHEMA, CONSTRAINTS, Holding
from judgelake.tasks.backends.openai.limits import (
    EQUAL_REFUSALS,
    LONGEST_WAIT_S,
    OUTAGE_S,
    BackOff,
    Health,
    Pacer,
    Slot,
    Throttle,
    read_retry_after,
)
from judgelake.tasks.errors import BackendError
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.types import Failure, Image, Pending, Reply, Request

BREAKING_STATUSES = (401, 403, 404)
REFUSALS = (400, 422, 500)  # of a setting; llama-cpp-python's server says 500
"""The key or the model is wrong: the next request would fail as well."""

# 529 is Anthropic's `overloaded_error`
PUSH_BACKS = (429, 503, 529)
# Azure's code, and OpenAI's for images
FILTER_CODES = ("content_filter", "content_policy_violation")
# open files beside connections: the lake's parts, logs, libraries
_SPARE_FILES = 128


MOST_BYTES = 32 * 2**20
"""Bytes of an answer that are read: 16,000 tokens with twenty alternatives each take half."""
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)


class WireError(Exception):
    """No whole answer came; one line without headers. Always raised `from None`: aiohttp's own
    errors may carry the key.
    """


class TooLongError(WireError):
    """The body of an answer is longer than any reply; nothing of it is kept."""

    def __init__(self) -> None:
        super().__init__(f"the answer is longer than {MOST_BYTES / 2**20:g} MiB")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Wire:
    """Sends bodies over kept connections; how long an answer may take is for the caller to say."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        self._base_url, self._query = (
            endpoint.base_url,
            f"?{endpoint.query}" if endpoint.query else "",
        )
        self._headers = _make_headers(endpoint)
        self._key = endpoint.key
        # what is in a body that may spell the key: the key, or an escape of a letter or a slash
        self._signs = (self._key.encode(), b"\\u00", b"\\/")
        self._proxy = None if endpoint.is_loopback else _find_proxy(endpoint)
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes, route: str = "/chat/completions") -> HttpAnswer:
        """The answer, whatever its status; raises WireError where none came, TooLongError where it
        is longer than `MOST_BYTES`.
        """
        session = self._session or self._open()
        try:
            url = f"{self._base_url}{route}{self._query}"
            async with session.post(
                url, data=body, allow_redirects=False, proxy=self._proxy
            ) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                parts, size = [], 0
                async for part in response.content.iter_any():
                    size += len(part)
                    if size > MOST_BYTES:  # unpacked, so that no answer fills the memory
                        raise TooLongError
                    parts.append(part)
                content = b"".join(parts)
                # an answer may repeat the request's headers, in an error or in a reply; from here
                # on nothing knows the key
                if any(sign in content for sign in self._signs):
                    content = hide_key(content, self._key)
                return HttpAnswer(response.status, headers, content)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise WireError(_describe(error)) from None

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections),
            headers=self._headers,
            timeout=_NO_TIMEOUT,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self._session

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()


def _make_headers(endpoint: Endpoint) -> dict[str, str]:
    client = openai.AsyncOpenAI(
        api_key=endpoint.key, base_url=endpoint.base_url, http_client=_make_unused_client()
    )
    headers = [*client.default_headers.items(), *client.auth_headers.items()]
    named = {name.lower(): value for name, value in headers if isinstance(value, str)}
    if endpoint.key_header:
        del named["authorization"]
        named[endpoint.key_header] = endpoint.key
    return named


@functools.cache
def _make_unused_client() -> openai.DefaultAsyncHttpxClient:
    """Nothing is sent through it: one for all endpoints, since each reads all certificates."""
    # left to itself it reads proxies, and fails over a SOCKS one
    return openai.DefaultAsyncHttpxClient(trust_env=False)


def _find_proxy(endpoint: Endpoint) -> str | None:
    parts = urlsplit(endpoint.base_url)
    # not aiohttp's trust_env: it also reads ~/.netrc, and refuses a request whose host it finds
    # there
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class _Setback(NamedTuple):
    """A failed attempt. `again`: another attempt may succeed. `breaks`: no other request to the
    model can succeed. `pushes_back`: the endpoint has too much to do. `passes`: the endpoint says
    that the cause is temporary.
    """

    reason: str
    again: bool
    breaks: bool = False
    retry_after_s: float | None = None
    pushes_back: bool = False
    passes: bool = False


class OpenAIBackend:
    """Asks a chat-completions endpoint; at most `concurrency` requests are under way at once, fewer
    where it does not take so many.

    `timeout_s` is that of one attempt. After a model's first 401, 403, 404 or exhausted quota, or
    twenty equal refusals in a row, its further requests fail unsent; also where twenty in a row
    ended all their attempts in the same words and `outage_s` passed without a reply, and where the
    endpoint answers nothing at all, or gives no reply, for minutes. Other shards of the run read
    that in `health_file`.
    What a model does not take (`temperature`, a system message, ...) is learnt from its first
    refusal.
    `has_image`: whether `encode_image` of an image takes no time; else it runs in a thread.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key_variable: str = OPENAI_KEY,
        concurrency: int = 64,
        timeout_s: float = 120.0,
        requests_per_minute: float | None = None,
        max_attempts: int = 6,
        *,
        back_off: BackOff | None = None,
        outage_s: float = OUTAGE_S,
        health_file: LakePath | None = None,
        encode_image: EncodeImage | None = None,
        has_image: Callable[[Image], bool] = lambda _: True,
        holding: Holding = BY_SCHEMA,
    ) -> None:
        self.window = concurrency
        self._endpoint = find_endpoint(model, base_url, api_key_variable)
        _allow_open_files(concurrency)
        self._wire = Wire(self._endpoint, concurrency)
        self._timeout_s, self._max_attempts = timeout_s, max_attempts
        self._back_off = back_off or BackOff()
        self._health = Health(health_file, timeout_s, outage_s)
        self._encode_image, self._has_image = encode_image or _refuse_image, has_image
        self._fetching: dict[Image, asyncio.Task[str]] = {}
        self._throttle = Throttle(concurrency, first=self._health.limit)
        self._pacer = Pacer(requests_per_minute)
        self._adaptations: dict[str, Adaptation] = {}
        self._holding = holding

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The reply, or the last attempt's failure in the endpoint's own words."""
        attempt = 0
        while True:
            attempt += 1
            outcome = await self._attempt(request, again=attempt > 1)
            if not isinstance(outcome, _Setback):
                return outcome
            self._health.note_trouble(make_reason(outcome.reason, self._endpoint.key))
            silence = self._health.find_silence()
            if silence or not outcome.again or attempt >= self._max_attempts:
                return self._give_up(request, outcome, attempt, silence)
            await asyncio.sleep(self._back_off.wait_s(attempt, outcome.retry_after_s))

    def set_limits(self, concurrency: int, requests_per_minute: float | None) -> None:
        """From now on at most so many requests under way, at most `concurrency` of the beginning,
        and so many a minute.
        """
        self._throttle.set_most(min(concurrency, self.window))
        self._pacer.set_pace(requests_per_minute)

    async def close(self) -> None:
        """Closes the connections."""
        self._health.limit = self._throttle.limit
        self._health.save()
        await self._wire.close()

    async def _attempt(self, request: Request, again: bool) -> Reply | Failure | _Setback:
        """Wait for a slot and send, once more where the model's refusal taught what it takes."""
        slot = await self._throttle.take(first=again)
        outcome: Reply | Failure | _Setback | None = None
        try:
            while outcome is None:
                if request.model in self._health.faults:
                    return Failure(self._health.faults[request.model])
                try:
                    missing = {
                        image
                        for message in request.messages
                        for image in message.images
                        if not self._has_image(image)
                    }
                    if missing:
                        await asyncio.gather(*map(self._fetch, missing))
                    body = self._encode(request)
                except (BackendError, OSError, TypeError, ValueError) as error:
                    return self._fail(request, f"the request cannot be encoded: {error}")
                if self._pacer.holds_back:
                    await self._pacer.admit()
                outcome = await self._exchange(request, body, slot)
        finally:
            pushed_back = isinstance(outcome, _Setback) and outcome.pushes_back
            self._throttle.give_back(
                slot, served=isinstance(outcome, Reply), pushed_back=pushed_back
            )
        return outcome

    async def _fetch(self, image: Image) -> None:
        """Have an image read (maybe from a bucket) and encoded in a thread, once for all requests
        that wait for it.
        """
        task = self._fetching.get(image)
        if task is None:
            task = self._fetching[image] = asyncio.create_task(
                asyncio.to_thread(self._encode_image, image)
            )
            task.add_done_callback(lambda _: self._fetching.pop(image))
        await asyncio.shield(task)

    def _encode(self, request: Request) -> bytes:
        model = sent_model(request.model)
        if request.scored:
            return echo_format.encode_scoring(request, model)
        adaptation = self._adaptations.get(request.model, AS_IT_IS)
        newer_limit = self._endpoint.base_url == OPENAI_URL
        return encode_request(
            request, model, self._encode_image, newer_limit, adaptation, self._holding
        )

    async def _exchange(self, request: Request, body: bytes, slot: Slot) -> Reply | _Setback | None:
        """One request and what its answer means; None where it is to be sent at once in another
        form.
        """
        started = time.perf_counter()
        route = echo_format.ROUTE if request.scored else "/chat/completions"
        outcome: Reply | _Setback | None
        answer: HttpAnswer | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._wire.post(body, route)
        except TimeoutError:
            words = f"no answer within {self._timeout_s:g} s"
            outcome = _Setback(words, again=True, pushes_back=True)
        except WireError as error:
            outcome = _Setback(str(error), again=not isinstance(error, TooLongError))
        took_s = time.perf_counter() - started
        if answer is None:
            self._health.note_end(took_s, answered=False)
            return outcome
        latency_ms = 1000 * took_s
        tokens: int | None = None
        if 200 <= answer.status < 300:
            outcome = self._read(request, answer, latency_ms)
            if isinstance(outcome, Reply):
                tokens = (outcome.prompt_tokens or 0) + (outcome.completion_tokens or 0)
        else:
            outcome = self._heed_refusal(request, body, answer, latency_ms)
        self._health.note_end(took_s, answered=True, replied=isinstance(outcome, Reply))
        self._pacer.note(answer.headers, slot.number, self._throttle.n_sent, tokens)
        return outcome

    def _heed_refusal(
        self, request: Request, body: bytes, answer: HttpAnswer, latency_ms: float
    ) -> Reply | _Setback | None:
        """What an answer that is no success means; None as in `_exchange`."""
        if is_filtered(answer):
            self._health.streaks.pop(request.model, None)
            return Reply(
                "",
                "content_filter",
                refusal=make_reason(read_error(answer.content), self._endpoint.key),
                latency_ms=latency_ms,
            )
        adapts = answer.status in REFUSALS and not request.scored
        if adapts and self._adapt(request, body, answer):
            return None
        setback = _judge_status(answer, echo_format.NEEDS if request.scored else "")
        if adapts and learn(AS_IT_IS, body, answer.content):
            setback = setback._replace(again=False)  # a setting that is needed is not taken
        if setback.pushes_back and setback.retry_after_s:
            self._throttle.pause(setback.retry_after_s)
        return setback

    def _read(self, request: Request, answer: HttpAnswer, latency_ms: float) -> Reply | _Setback:
        try:
            if request.scored:
                reply = echo_format.decode_scores(request, answer.content, latency_ms)
            else:
                reply = decode_reply(answer.content, latency_ms)
        except ValueError as error:
            return _Setback(
                f"{answer.status} {error}", again=not isinstance(error, echo_format.NoEchoError)
            )
        self._health.streaks.pop(request.model, None)
        key = self._endpoint.key
        if len(key) >= LEAST_KEY_CHARS and key in reply.text:  # whose parts were joined only now
            reply = dataclasses.replace(reply, text=reply.text.replace(key, "***"))
        known = self._adaptations.get(request.model, AS_IT_IS)
        if not request.scored and (request.form != "free" or request.decoding.top_logprobs):
            known = note_unheeded(known, request, reply, self._holding)
        if known is AS_IT_IS:
            return reply
        return dataclasses.replace(reply, adapted=known.words or None)

    def _adapt(self, request: Request, body: bytes, answer: HttpAnswer) -> bool:
        """Whether the refusal says what to change, or another's has said it since this body was
        written.
        """
        known = self._adaptations.get(request.model, AS_IT_IS)
        learnt = learn(known, body, answer.content)
        if learnt and request.form == "structured" and {*learnt.left_out} & {*CONSTRAINTS}:
            return False
        if learnt is not None and learnt != known:
            self._adaptations[request.model] = learnt
            return True
        return self._encode(request) != body

    def _give_up(
        self, request: Request, setback: _Setback, attempt: int, silence: str | None
    ) -> Failure:
        tried = f"attempt {attempt} of {self._max_attempts}: " if attempt > 1 else ""
        failure = dataclasses.replace(
            self._fail(request, tried + setback.reason), is_final=setback.breaks
        )
        if setback.breaks:
            self._health.give_up(request.model, failure.reason)
        elif silence is not None:
            self._health.give_up(request.model, self._fail(request, silence).reason)
        elif self._fails_all(request.model, setback):
            words = (
                f"not asked, as the last {EQUAL_REFUSALS} requests failed with: {setback.reason}"
            )
            self._health.give_up(request.model, self._fail(request, words).reason)
        return failure

    def _fails_all(self, model: str, setback: _Setback) -> bool:
        """Whether the model fails every request; fewer at once may fare better."""
        if setback.passes or (setback.pushes_back and self._throttle.limit >= 2):
            return False
        return self._health.fails_all(model, setback.reason, passes=setback.again)

    def _fail(self, request: Request, reason: str) -> Failure:
        return Failure(
            make_reason(f"{self._endpoint.host}, {request.model}: {reason}", self._endpoint.key)
        )


def is_filtered(answer: HttpAnswer) -> bool:
    """Whether the provider's filter stopped the request itself; it would stop it again."""
    return answer.status == 400 and read_error_code(answer.content) in FILTER_CODES


def _judge_status(answer: HttpAnswer, needs: str) -> _Setback:
    """What a status other than success means; `needs` is what the request needs of an endpoint; the
    reason names it where the request was refused for good.
    """
    refused = answer.status in (400, 404, 405, 422)
    reason = (
        f"{answer.status} "
        f"{f'{needs}; it says: ' if needs and refused else ''}{read_error(answer.content)}"
    )
    if (
        answer.status in BREAKING_STATUSES
        or read_error_code(answer.content) == "insufficient_quota"
    ):
        return _Setback(reason, again=False, breaks=True)
    if answer.status not in (408, 409, 429) and answer.status < 500:
        return _Setback(reason, again=False)
    wait = read_retry_after(answer.headers)
    if wait is not None and wait > LONGEST_WAIT_S:
        return _Setback(f"{reason} (it asks to wait {wait:.0f} s)", again=False)
    passes = wait is not None or answer.status == 429
    return _Setback(
        reason,
        again=True,
        retry_after_s=wait,
        pushes_back=answer.status in PUSH_BACKS,
        passes=passes,
    )


def _allow_open_files(connections: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _SPARE_FILES
    if hard != resource.RLIM_INFINITY and wanted > hard:
        most = hard - _SPARE_FILES
        raise BackendError(
            f"concurrency: {connections} connections; expected at most {most}; raise the limit "
            f"on open files"
        )
    if soft != resource.RLIM_INFINITY and wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _refuse_image(image: Image) -> str:
    raise BackendError(
        f"image {image.uri!r}: this judge sends text only; expected a request without images; "
        f"use a vision protocol"
    )
