"""Judges through OpenAI's Batch API: requests wait in files until a shard ends, then go to the provider; a later run collects the replies.

Nothing is asked here that is in an open batch already. The provider's calls are `tasks.backends.batch_api`, the lake's rows
`tasks.judging.batches`; collecting is `tasks.judging.collecting`.
"""

import asyncio
import contextlib
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tasks.backends.adapting import Adaptation, learn
from tasks.backends.base import make_reason
from tasks.backends.batch_api import BatchApi, BatchError
from tasks.backends.batch_lines import write_line
from tasks.backends.digest import request_digest
from tasks.backends.endpoints import OPENAI_URL, find_endpoint, sent_model
from tasks.backends.openai_format import EncodeImage, encode_request, read_error
from tasks.errors import BackendError
from tasks.judging.batches import Batch, BatchBook, Key
from tasks.judging.types import QUEUED, Failure, Pending, Reply, Request


class FileLimits(NamedTuple):
    """What the provider takes in one file."""

    n_requests: int = 50_000
    n_bytes: int = 200_000_000


OPENAI_LIMITS = FileLimits()


@dataclass
class _File:
    """Requests that wait on this machine's disk; written by one adaptation, which the batch's replies then carry."""

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
    """Keeps requests for the next batch; `submit` sends them. A request that an open batch holds is pending, one that was refused fails.

    `endpoint` is the judge's name for the model. What a model does not take is learnt from the refusals that this run has collected.
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
        limits: FileLimits = OPENAI_LIMITS,
    ) -> None:
        self.window = window
        self._model, self._name, self._book, self._limits = model, endpoint, book, limits
        self._endpoint = find_endpoint(model, base_url, api_key_variable)
        self._timeout_s, self._max_attempts = timeout_s, max_attempts
        self._encode_image = encode_image
        standing = book.read(model)
        self._adaptation, self._refusals = standing.adaptation, standing.refusals
        here = [batch for batch in standing.open if batch.base_url == self._endpoint.base_url]
        self._open = {key: batch.name for batch in here for key in batch.requests}
        self._folder = tempfile.TemporaryDirectory(prefix="judgelake-batch-")
        self._files: list[_File] = []

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """Pending, or why the request can go into no batch."""
        key = (request_digest(request), request.draw)
        if key in self._open:
            return Pending(self._open[key])
        if request.scored:
            return self._fail(request, "texts are scored live only; expected `mode: live`")
        try:
            looks = any(message.images for message in request.messages)  # an image is read and encoded, maybe from a bucket
            refused = await asyncio.to_thread(self._heed, request, key) if looks else self._heed(request, key)
            if refused is not None:
                return self._fail(request, refused)
            adaptation = self._adaptation
            body = await asyncio.to_thread(self._encode, request, adaptation) if looks else self._encode(request, adaptation)
            self._queue(key, body, adaptation)
        except (BackendError, OSError, TypeError, ValueError) as error:
            return self._fail(request, f"the request cannot be put into a batch: {error}")
        return QUEUED

    async def close(self) -> None:
        """Drops what was not submitted."""
        self._folder.cleanup()

    async def submit(self) -> None:
        """Send what waits: into the lake, then up, then started. Raises BatchError; what was not planned is asked again by the next run."""
        if self._files:
            await asyncio.to_thread(self._submit_all)

    def _submit_all(self) -> None:
        with contextlib.closing(BatchApi(self._endpoint, self._timeout_s, self._max_attempts)) as api:
            for file in self._files:
                self._submit(api, file)
        self._files.clear()

    def _submit(self, api: BatchApi, file: _File) -> None:
        base_url = self._endpoint.base_url
        batch = self._book.plan(self._name, self._model, base_url, file.requests, file.n_bytes, file.adaptation)
        try:
            file_id = api.upload(file.path, batch.file_name)
        except BatchError as error:  # without its file there is no batch
            self._book.end(batch, "abandoned", error.words)
            raise
        start_batch(api, self._book, batch, file_id)

    def _heed(self, request: Request, key: Key) -> str | None:
        """Why a refused request would be refused again; None where it was not refused, or its model's refusal said what to change."""
        if key not in self._refusals:
            return None
        said, adaptation = self._refusals[key]
        body = self._encode(request, adaptation)
        self._adaptation = learn(self._adaptation, body, said.encode()) or self._adaptation
        return read_error(said.encode()) if self._encode(request, self._adaptation) == body else None

    def _encode(self, request: Request, adaptation: Adaptation) -> bytes:
        newer_limit = self._endpoint.base_url == OPENAI_URL
        return encode_request(request, sent_model(request.model), self._encode_image, newer_limit, adaptation)

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
            raise ValueError(f"{len(line):,} bytes; expected at most {self._limits.n_bytes:,}; lower image_max_side")
        path = Path(self._folder.name) / f"{len(self._files)}.jsonl"
        self._files.append(_File(path, adaptation))
        self._files[-1].add(key, line)
        self._open[key] = "queued"

    def _fail(self, request: Request, reason: str) -> Failure:
        return Failure(make_reason(f"{self._endpoint.host}, {request.model}: {reason}", self._endpoint.key))


def start_batch(api: BatchApi, book: BatchBook, batch: Batch, file_id: str) -> Batch:
    """Start the batch of a planned one's uploaded file; raises BatchError. Where it may have begun all the same it stays planned."""
    try:
        batch_id = api.start(file_id, batch.key, batch.planned_at)
    except BatchError as error:
        if error.sure:
            book.end(batch, "failed", error.words)
        raise
    return book.submit(batch, file_id, batch_id)
