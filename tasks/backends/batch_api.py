"""The provider's side of a batch: upload a file, start a batch of it, find both again by our key, ask after it, fetch what it answered.

Calls are few, so the openai package sends them (its errors carry the key and stop here). What the lake knows of a batch is
`tasks.judging.batches`, what a line of a file means `tasks.backends.batch_lines`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import openai
from openai.types import Batch

from tasks.backends.base import make_reason
from tasks.backends.endpoints import Endpoint
from tasks.backends.openai_format import read_error
from tasks.backends.retrying import BackOff
from tasks.errors import BackendError

T = TypeVar("T")
ROUTE: Literal["/v1/chat/completions"] = "/v1/chat/completions"
KEY = "judgelake_batch"
"""The entry of a batch's metadata that holds our key."""
ENDED = ("completed", "failed", "expired", "cancelled")
_CLOCKS_APART_S = 3600.0
_PAGE = 100


class BatchError(BackendError):
    """A call that failed; `status` is None where no answer came. Where `sure`, the provider has refused it and done nothing."""

    def __init__(self, words: str, status: int | None = None) -> None:
        super().__init__(words)
        self.words, self.status = words, status

    @property
    def sure(self) -> bool:
        """Whether trying again would fare no better."""
        return self.status is not None and self.status < 500 and self.status not in (408, 409, 429)

    def __reduce__(self) -> tuple[type["BatchError"], tuple[str, int | None]]:
        return BatchError, (self.words, self.status)


class BatchNews(NamedTuple):
    """How a batch stands at the provider; `code` and `reason` say why it failed as a whole."""

    status: str
    output_file: str | None
    error_file: str | None
    code: str | None
    reason: str | None


class BatchApi:
    """One account's files and batches; raises BatchError."""

    def __init__(self, endpoint: Endpoint, timeout_s: float, max_attempts: int, back_off: BackOff | None = None) -> None:
        self._endpoint, self._attempts, self._back_off = endpoint, max_attempts, back_off or BackOff()
        headers: dict[str, str | openai.Omit] = (
            {endpoint.key_header: endpoint.key, "Authorization": openai.Omit()} if endpoint.key_header else {}
        )
        self._client = openai.OpenAI(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            timeout=timeout_s,
            max_retries=0,  # a batch that was perhaps made must be looked for first
            http_client=openai.DefaultHttpxClient(trust_env=not endpoint.is_loopback),
            default_headers=headers,  # type: ignore[arg-type]  # Omit takes a header away
            default_query=dict(part.split("=") for part in endpoint.query.split("&")) if endpoint.query else None,
        )

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def upload(self, file: Path, name: str) -> str:
        """Upload requests under a name; returns the file's id. One that is uploaded twice costs nothing."""

        def send() -> str:
            with file.open("rb") as opened:
                return self._client.files.create(file=(name, opened), purpose="batch").id

        return self._try("upload a batch's file", send)

    def find_file(self, name: str, n_bytes: int, since: datetime) -> str | None:
        """The id of a file that was uploaded whole under this name."""

        def look() -> str | None:
            for file in self._client.files.list(purpose="batch", limit=_PAGE, order="desc"):
                if file.created_at < since.timestamp() - _CLOCKS_APART_S:
                    return None
                if file.filename == name and file.bytes == n_bytes:
                    return file.id
            return None

        return self._try("list files", look)

    def start(self, file_id: str, key: str, since: datetime) -> str:
        """Start the batch of an uploaded file; where no answer came it is looked for before it is tried again, so that none is paid twice."""

        def send() -> str:
            return self._client.batches.create(
                input_file_id=file_id, endpoint=ROUTE, completion_window="24h", metadata={KEY: key}
            ).id

        return self._try("start a batch", send, before_again=lambda: self.find_batch(key, since))

    def find_batch(self, key: str, since: datetime) -> str | None:
        """The id of the batch that carries our key."""

        def look() -> str | None:
            for batch in self._client.batches.list(limit=_PAGE):
                if batch.created_at < since.timestamp() - _CLOCKS_APART_S:
                    return None
                if (batch.metadata or {}).get(KEY) == key:
                    return batch.id
            return None

        return self._try("list batches", look)

    def ask(self, batch_id: str) -> BatchNews:
        """How a batch stands."""
        return _read_news(self._try(f"ask after {batch_id}", lambda: self._client.batches.retrieve(batch_id)))

    def download(self, file_id: str, to: Path) -> None:
        """Fetch a file of answers, which may be larger than memory should hold."""

        def fetch() -> None:
            with self._client.files.with_streaming_response.content(file_id) as response:
                response.stream_to_file(to)

        self._try(f"fetch {file_id}", fetch)

    def _try(self, what: str, call: Callable[[], T], before_again: Callable[[], T | None] = lambda: None) -> T:
        """Call until it works, is refused for good, or `max_attempts` are over; `before_again` may find that it has worked."""
        attempt = 0
        while True:
            attempt += 1
            try:
                with self._explain(what):
                    return call()
            except BatchError as error:
                if error.sure:
                    raise
                failed = error
            if attempt < self._attempts:
                time.sleep(self._back_off.wait_s(attempt))
            found = before_again()
            if found is not None:
                return found
            if attempt >= self._attempts:
                raise failed

    @contextmanager
    def _explain(self, what: str) -> Iterator[None]:
        """Turn the package's errors, which carry the key, into ours."""
        try:
            yield
        except openai.APIStatusError as error:
            response = error.response
            raise self._fail(what, f"{error.status_code} {read_error(response.content)}", error.status_code) from None
        except (openai.APIError, OSError) as error:
            raise self._fail(what, f"{type(error).__name__}: {error}", None) from None

    def _fail(self, what: str, words: str, status: int | None) -> BatchError:
        return BatchError(make_reason(f"{self._endpoint.host}: cannot {what}: {words}", self._endpoint.key), status)


def _read_news(batch: Batch) -> BatchNews:
    errors = (batch.errors.data if batch.errors else None) or []
    reason = "; ".join(dict.fromkeys(error.message for error in errors if error.message)) or None
    code = next((error.code for error in errors if error.code), None)
    return BatchNews(batch.status, batch.output_file_id, batch.error_file_id, code, reason)
