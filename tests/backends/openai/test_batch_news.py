"""What a provider says of files and batches in any form: it is read, or the call fails with a
BatchError; nothing else is raised, and no list is read for ever.
"""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson
import pytest

from judgelake.tasks.backends.openai import batch
from judgelake.tasks.backends.openai.batch import BatchApi, BatchError
from judgelake.tasks.backends.openai.batch_lines import read_line
from judgelake.tasks.backends.openai.endpoints import find_endpoint
from judgelake.tasks.backends.openai.limits import BackOff

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
LATE = int((SINCE + timedelta(days=1)).timestamp())
DEEP = "[" * 300 + "]" * 300
ODD = ("null", "5", '"x"', "[]", "{", "[1]", '[["x"]]', '{"a": {"b": 1}}', "true", DEEP, "[" * 5000)


class Provider(ThreadingHTTPServer):
    """Answers each call with the next of `bodies`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: Iterator[str] = iter(())
        self.status, self.n_calls = 200, 0

    def say(self, bodies: str | Iterator[str], status: int = 200) -> None:
        self.status, self.n_calls = status, 0
        self.bodies = itertools.repeat(bodies) if isinstance(bodies, str) else bodies


class Handler(BaseHTTPRequestHandler):
    """Says what the server was told to say."""

    server: Provider

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = next(self.server.bodies).encode()
        self.server.n_calls += 1
        self.send_response(self.server.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  # the server's name for it

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = Provider()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def api(provider: Provider) -> Iterator[BatchApi]:
    url = f"http://127.0.0.1:{provider.server_port}/v1"
    made = BatchApi(find_endpoint("m", url, "OPENAI_API_KEY"), 20.0, 1, BackOff(0, 0))
    yield made
    made.close()


def test_an_answer_of_any_form_is_read_or_a_batch_error(
    provider: Provider, api: BatchApi, tmp_path: Path
) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text("{}\n")
    calls: list[Callable[[], object]] = [
        lambda: api.ask("b"),
        lambda: api.find_batch("key", SINCE),
        lambda: api.find_file("name", 3, SINCE),
        lambda: api.start("file", "key", SINCE),
        lambda: api.upload(file, "name"),
    ]
    places = (
        "{}",
        '{{"id": {}}}',
        '{{"id": "b", "status": {}}}',
        '{{"id": "b", "status": "failed", "errors": {}}}',
        '{{"id": "b", "status": "failed", "errors": {{"data": {}}}}}',
        '{{"id": "b", "status": "failed", "errors": {{"data": [{{"message": {0}, "code": {0}}}]}}}}',
        '{{"id": "b", "status": "completed", "output_file_id": {}}}',
        '{{"object": "list", "data": {}}}',
        '{{"object": "list", "data": [{{"id": "b", "created_at": {}}}]}}',
        f'{{{{"object": "list", "data": [{{{{"id": "b", "created_at": {LATE}, "metadata": {{}}}}}}]}}}}',
        '{{"error": {{"message": {}}}}}',
    )
    n_failed = 0
    for place, odd in itertools.product(places, ODD):
        body = place.replace("{}", odd) if place == "{}" else place.format(odd)
        for status, call in itertools.product((200, 400, 503), calls):
            provider.say(body, status=status)
            try:
                call()
            except BatchError:
                n_failed += 1
    assert n_failed > 1000


@pytest.mark.parametrize("message", ODD[:-1])
def test_a_batch_that_failed_for_odd_reasons_has_failed(
    provider: Provider, api: BatchApi, message: str
) -> None:
    if message == "{":
        return
    errors = f'{{"data": [{{"message": {message}, "code": {message}}}]}}'
    provider.say(f'{{"id": "b", "status": "failed", "errors": {errors}}}')
    news = api.ask("b")
    assert (news.status, news.reason) == ("failed", "x" if message == '"x"' else None)


def list_page(*names: str) -> str:
    rows = [{"id": name, "created_at": LATE, "filename": name, "bytes": 1} for name in names]
    return json.dumps({"object": "list", "data": rows, "has_more": True})


def test_a_list_that_repeats_its_page_is_left(provider: Provider, api: BatchApi) -> None:
    finds: list[Callable[[], object]] = [
        lambda: api.find_batch("k", SINCE),
        lambda: api.find_file("f", 3, SINCE),
    ]
    for find in finds:
        provider.say(list_page("a", "b"))
        with pytest.raises(BatchError, match="repeats itself after 2 entries"):
            find()
        assert provider.n_calls == 2


def test_a_list_without_an_end_is_left(
    provider: Provider, api: BatchApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_MOST_LISTED", 10)
    provider.say(list_page(f"a{n}", f"b{n}") for n in itertools.count())
    with pytest.raises(BatchError, match="more than 10 entries"):
        api.find_batch("k", SINCE)
    assert provider.n_calls == 6


def test_a_run_that_was_asked_to_stop_reads_no_further_page(provider: Provider) -> None:
    url = f"http://127.0.0.1:{provider.server_port}/v1"
    endpoint = find_endpoint("m", url, "OPENAI_API_KEY")
    api = BatchApi(endpoint, 20.0, 6, BackOff(0, 0), should_stop=lambda: provider.n_calls >= 3)
    provider.say(list_page(f"a{n}") for n in itertools.count())
    with pytest.raises(BatchError, match="asked to stop"):
        api.find_batch("k", SINCE)
    assert provider.n_calls == 3
    provider.say("{}", status=503)
    provider.n_calls = 3
    with pytest.raises(BatchError, match="503"):
        api.ask("b")
    assert provider.n_calls == 4
    api.close()


def test_an_answer_that_is_nested_too_deeply_is_not_paid_for_again() -> None:
    response = b'{"status_code": 200, "body": ' + DEEP.encode() + b"}"
    line = b'{"custom_id": "request-3", "response": ' + response + b"}"
    assert orjson.loads(line)
    for odd in (b"1e999", b"null", DEEP.encode()):
        with pytest.raises(ValueError):
            read_line(line.replace(b"200", odd, 1))
    assert read_line(line) == (3, "the answer is nested too deeply to be read")
