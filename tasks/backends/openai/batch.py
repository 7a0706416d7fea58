"""Judges through OpenAI's Batch API: requests wait in files until a shard ends, then go to the
provider; a later run collects the replies.

A request that is in an open batch already is not asked again. The lake's rows are written in
`tasks.backends.openai.batch_book`, the lines of files in `tasks.backends.openai.batch_lines`;
replies are collected in `tasks.engine.collecting`.

Calls are few, so the openai package sends them (its errors carry the key and stop here).
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

import openai
from openai.types import Batch as ProviderBatch
from openai.types import FileObject

from judgelake.tasks.backends.base import make_reason, request_digest
from judgelake.tasks.backends.openai.adapting import Adaptation, learn
from judgelake.tasks.backends.openai.batch_book import Batch, BatchBook, Key
from judgelake.tasks.backends.openai.batch_lines import ROUTE, cut_lines, write_line
from judgelake.tasks.backends.openai.batch_news import ODD, BatchNews, read_news, read_text
from judgelake.tasks.backends.openai.bounded_client import BoundedClient
from judgelake.tasks.backends.openai.client import MOST_BYTES, TooLongError
from judgelake.tasks.backends.openai.endpoints import (
    OPENAI_URL,
    Endpoint,
    find_endpoint,
    hide_key,
    sent_model,
)
from judgelake.tasks.backends.openai.format import EncodeImage, encode_request, read_error
from judgelake.tasks.backends.openai.holding import BY_SCHEMA, Holding
from judgelake.tasks.backends.openai.limits import BackOff
from judgelake.tasks.errors import BackendError
from judgelake.tasks.lake.processes import own_folder
from judgelake.tasks.types import QUEUED, Failure, Pending, Reply, Request

T = TypeVar("T")
Listed = TypeVar("Listed", ProviderBatch, FileObject)
KEY = "judgelake_batch"
"""The entry of a batch's metadata that holds our key."""
# states in which OpenAI changes a batch no more
ENDED = ("completed", "failed", "expired", "cancelled")
# our clock and the provider's may differ; an hour is far more than they do
_CLOCKS_APART_S = 3600.0
# the most batches that OpenAI lists in one answer
_PAGE = 100
_MOST_LISTED = 100 * _PAGE
"""Batches or files that are looked through; an account has fewer in the hours looked at."""


class BatchError(BackendError):
    """A call that failed; `status` is None where no answer came. Where `sure`, the provider has
    refused it and done nothing.
    """

    def __init__(self, words: str, status: int | None = None) -> None:
        super().__init__(words)
        self.words, self.status = words, status

    @property
    def sure(self) -> bool:
        """Whether trying again would fail as well."""
        return self.status is not None and self.status < 500 and self.status not in (408, 409, 429)

    def __reduce__(self) -> tuple[type["BatchError"], tuple[str, int | None]]:
        return BatchError, (self.words, self.status)


class BatchApi:
    """One account's files and batches; raises BatchError."""

    def __init__(
        self,
        endpoint: Endpoint,
        timeout_s: float,
        max_attempts: int,
        back_off: BackOff | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._endpoint, self._attempts, self._back_off = (
            endpoint,
            max_attempts,
            back_off or BackOff(),
        )
        self._should_stop = should_stop
        headers: dict[str, str | openai.Omit] = (
            {endpoint.key_header: endpoint.key, "Authorization": openai.Omit()}
            if endpoint.key_header
            else {}
        )
        self._client = openai.OpenAI(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            timeout=timeout_s,
            max_retries=0,  # a batch that was perhaps made must be looked for first
            http_client=BoundedClient(trust_env=not endpoint.is_loopback),
            default_headers=headers,  # type: ignore[arg-type]  # Omit takes a header away
            default_query=dict(part.split("=") for part in endpoint.query.split("&"))
            if endpoint.query
            else None,
        )

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def upload(self, file: Path, name: str) -> str:
        """Upload requests under a name; returns the file's id. One that is uploaded twice costs
        nothing.
        """

        def send() -> str:
            with file.open("rb") as opened:
                made = self._client.files.create(file=(name, opened), purpose="batch")
                return read_text(made.id)

        return self._try("upload a batch's file", send)

    def find_file(self, name: str, n_bytes: int, since: datetime) -> str | None:
        """The id of a file that was uploaded whole under this name."""

        def look() -> str | None:
            files = self._client.files.list(purpose="batch", limit=_PAGE, order="desc")
            for file in self._go_through(files, since):
                if file.filename == name and file.bytes == n_bytes:
                    return read_text(file.id)
            return None

        return self._try("list files", look)

    def start(self, file_id: str, key: str, since: datetime) -> str:
        """Start the batch of an uploaded file; where no answer came it is looked for before it is
        tried again, so that none is paid twice.
        """

        def send() -> str:
            made = self._client.batches.create(
                input_file_id=file_id, endpoint=ROUTE, completion_window="24h", metadata={KEY: key}
            )
            return read_text(made.id)

        return self._try("start a batch", send, before_again=lambda: self.find_batch(key, since))

    def find_batch(self, key: str, since: datetime) -> str | None:
        """The id of the batch that carries our key."""

        def look() -> str | None:
            for batch in self._go_through(self._client.batches.list(limit=_PAGE), since):
                if (batch.metadata or {}).get(KEY) == key:
                    return read_text(batch.id)
            return None

        return self._try("list batches", look)

    def _go_through(self, listed: Iterable[Listed], since: datetime) -> Iterator[Listed]:
        """The entries of a list, the newest first, back to a time. Raises BatchError where the list
        has no end: some servers ignore which page is asked for.
        """
        seen: set[str] = set()
        for entry in listed:
            if entry.created_at < since.timestamp() - _CLOCKS_APART_S:
                return
            if entry.id in seen:
                why = f"its list repeats itself after {len(seen):,} entries"
            elif len(seen) >= _MOST_LISTED:
                why = f"its list has more than {_MOST_LISTED:,} entries"
            else:
                why = "the run was asked to stop" if self._should_stop() else ""
            if why:
                raise self._fail("look through batches or files", why, None)
            seen.add(entry.id)
            yield entry

    def ask(self, batch_id: str) -> BatchNews:
        """How a batch stands."""

        def look() -> BatchNews:
            return read_news(self._client.batches.retrieve(batch_id), self._endpoint.key)

        return self._try(f"ask after {batch_id}", look)

    def read_lines(self, file_id: str, n_requests: int, folder: Path) -> Iterator[bytes]:
        """The lines of a file of answers to so many requests, which is fetched into a folder since
        it may be larger than memory should hold.
        """
        file = folder / "lines.jsonl"
        self.download(file_id, file, n_requests)
        with file.open("rb") as opened:
            for line in cut_lines(opened):
                # as of a live answer: it may repeat the request's headers
                yield hide_key(line, self._endpoint.key)

    def download(self, file_id: str, to: Path, n_requests: int) -> None:
        """Fetch a file of answers to so many requests; no more of it than they may have, and one
        that is too long.
        """
        most_bytes = (n_requests + 1) * MOST_BYTES

        def fetch() -> bool:
            size = 0
            with (
                self._client.files.with_streaming_response.content(file_id) as response,
                to.open("wb") as opened,
            ):
                for part in response.iter_bytes():
                    size += len(part)
                    if size > most_bytes:
                        return False
                    opened.write(part)
            return True

        if not self._try(f"fetch {file_id}", fetch):
            raise self._fail(
                f"fetch {file_id}",
                f"it is longer than {most_bytes / 2**20:,g} MiB; expected at most "
                f"{MOST_BYTES / 2**20:g} MiB a request; look at it at the provider, where it "
                f"stays; its requests are asked again once it is deleted and they are 48 hours old",
                None,
            )

    def _try(
        self, what: str, call: Callable[[], T], before_again: Callable[[], T | None] = lambda: None
    ) -> T:
        """Call until it works, is refused for good, or `max_attempts` are over; `before_again` may
        find that it has worked.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                with self._explain(what):
                    return call()
            except BatchError as error:
                if error.sure or self._should_stop():
                    raise
                failed = error
            if attempt < self._attempts:
                time.sleep(self._back_off.wait_s(attempt))
            result = before_again()
            if result is not None:
                return result
            if attempt >= self._attempts:
                raise failed

    @contextmanager
    def _explain(self, what: str) -> Iterator[None]:
        """Turn the package's errors, which carry the key, into ours."""
        try:
            yield
        except openai.APIStatusError as error:
            response = error.response
            raise self._fail(
                what, f"{error.status_code} {read_error(response.content)}", error.status_code
            ) from None
        except TooLongError as error:
            raise self._fail(what, str(error), None) from None
        except (openai.APIError, OSError) as error:
            raise self._fail(what, f"{type(error).__name__}: {error}", None) from None
        except ODD as error:  # the package checks no type, and gives a text for what is no JSON
            words = f"the answer is not what OpenAI's is ({type(error).__name__})"
            raise self._fail(what, words, None) from None

    def _fail(self, what: str, words: str, status: int | None) -> BatchError:
        return BatchError(
            make_reason(f"{self._endpoint.host}: cannot {what}: {words}", self._endpoint.key),
            status,
        )


class FileLimits(NamedTuple):
    """What the provider takes in one file."""

    n_requests: int = 50_000
    n_bytes: int = 200_000_000


OPENAI_LIMITS = FileLimits()


@dataclass
class _File:
    """Requests that wait on this machine's disk; written by one adaptation, which the batch's
    replies then carry.
    """

    path: Path
    adaptation: Adaptation
    requests: list[Key] = field(default_factory=list)
    n_bytes: int = 0

    def has_room(self, line: bytes, limits: FileLimits) -> bool:
        return len(self.requests) < limits.n_requests and self.n_bytes + len(line) <= limits.n_bytes

    def add(self, key: Key, line: bytes) -> None:
        try:
            with self.path.open("ab") as opened:
                opened.write(line)
        except OSError:  # no room for the whole line: half of it would spoil the next one, too
            os.truncate(self.path, self.n_bytes)
            raise
        self.requests.append(key)
        self.n_bytes += len(line)


class BatchBackend:
    """Keeps requests for the next batch; `submit` sends them. A request that an open batch holds is
    pending, one that was refused fails.

    `endpoint` is the judge's name for the model. What a model does not take is learnt from the
    refusals that this run has collected.
    """

    def __init__(
        self,
        model: str,
        book: BatchBook,
        base_url: str | None,
        api_key_variable: str,
        endpoint: str,
        window: int,
        timeout_s: float,
        max_attempts: int,
        encode_image: EncodeImage,
        *,
        holding: Holding = BY_SCHEMA,
        limits: FileLimits = OPENAI_LIMITS,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.window, self._should_stop = window, should_stop
        self._model, self._name, self._book, self._limits = model, endpoint, book, limits
        self._endpoint = find_endpoint(model, base_url, api_key_variable)
        self._timeout_s, self._max_attempts = timeout_s, max_attempts
        self._encode_image, self._holding = encode_image, holding
        standing = book.read(model)
        self._adaptation, self._refusals = standing.adaptation, standing.refusals
        here = [batch for batch in standing.open if batch.base_url == self._endpoint.base_url]
        self._open = {key: batch.name for batch in here for key in batch.requests}
        self._folder = own_folder("batch")
        self._files: list[_File] = []

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """Pending, or why the request can go into no batch."""
        key = (request_digest(request), request.draw)
        if key in self._open:
            return Pending(self._open[key])
        if request.scored:
            return self._fail(request, "texts are scored live only; expected `mode: live`")
        try:
            looks = any(
                message.images for message in request.messages
            )  # an image is read and encoded, maybe from a bucket
            refused = (
                await asyncio.to_thread(self._heed, request, key)
                if looks
                else self._heed(request, key)
            )
            if refused is not None:
                return self._fail(request, refused)
            adaptation = self._adaptation
            body = (
                await asyncio.to_thread(self._encode, request, adaptation)
                if looks
                else self._encode(request, adaptation)
            )
            self._queue(key, body, adaptation)
        except (BackendError, OSError, TypeError, ValueError) as error:
            return self._fail(request, f"the request cannot be put into a batch: {error}")
        return QUEUED

    async def close(self) -> None:
        """Drops what was not submitted."""
        self._folder.cleanup()

    async def submit(self) -> None:
        """Send what waits: into the lake, then up, then started. Raises BatchError; what was not
        planned is asked again by the next run.
        """
        if self._files:
            await asyncio.to_thread(self._submit_all)

    def _submit_all(self) -> None:
        timeout_s, attempts = self._timeout_s, self._max_attempts
        with contextlib.closing(
            BatchApi(self._endpoint, timeout_s, attempts, should_stop=self._should_stop)
        ) as api:
            for file in self._files:
                self._submit(api, file)
        self._files.clear()

    def _submit(self, api: BatchApi, file: _File) -> None:
        base_url = self._endpoint.base_url
        batch = self._book.plan(
            self._name, self._model, base_url, file.requests, file.n_bytes, file.adaptation
        )
        try:
            file_id = api.upload(file.path, batch.file_name)
        except BatchError as error:  # without its file there is no batch
            self._book.end(batch, "abandoned", error.words)
            raise
        start_batch(api, self._book, batch, file_id)

    def _heed(self, request: Request, key: Key) -> str | None:
        """Why a refused request would be refused again; None where it was not refused, or its
        model's refusal said what to change.
        """
        if key not in self._refusals:
            return None
        refusal, adaptation = self._refusals[key]
        body = self._encode(request, adaptation)
        self._adaptation = learn(self._adaptation, body, refusal.encode()) or self._adaptation
        return (
            read_error(refusal.encode())
            if self._encode(request, self._adaptation) == body
            else None
        )

    def _encode(self, request: Request, adaptation: Adaptation) -> bytes:
        newer_limit = self._endpoint.base_url == OPENAI_URL
        return encode_request(
            request,
            sent_model(request.model),
            self._encode_image,
            newer_limit,
            adaptation,
            self._holding,
        )

    def _queue(self, key: Key, body: bytes, adaptation: Adaptation) -> None:
        """Put a request into the file that is being filled, or the first one of a new file."""
        last = self._files[-1] if self._files else None
        if last is not None:
            line = write_line(len(last.requests), body)
            if last.adaptation == adaptation and last.has_room(line, self._limits):
                last.add(key, line)
                self._open[key] = "queued"
                return
        line = write_line(0, body)
        if len(line) > self._limits.n_bytes:
            raise ValueError(
                f"{len(line):,} bytes; expected at most {self._limits.n_bytes:,}; lower "
                f"image_max_side"
            )
        path = Path(self._folder.name) / f"{len(self._files)}.jsonl"
        self._files.append(_File(path, adaptation))
        self._files[-1].add(key, line)
        self._open[key] = "queued"

    def _fail(self, request: Request, reason: str) -> Failure:
        return Failure(
            make_reason(f"{self._endpoint.host}, {request.model}: {reason}", self._endpoint.key)
        )


def start_batch(api: BatchApi, book: BatchBook, batch: Batch, file_id: str) -> Batch:
    """Start the batch of a planned one's uploaded file; raises BatchError. Where it may have begun
    all the same it stays planned.
    """
    try:
        batch_id = api.start(file_id, batch.key, batch.planned_at)
    except BatchError as error:
        if error.sure:
            book.end(batch, "failed", error.words)
        raise
    return book.submit(batch, file_id, batch_id)
