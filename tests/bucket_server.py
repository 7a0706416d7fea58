"""A real S3 server over HTTP (moto's) behind a small proxy that counts requests and does to some of
them what networks and S3 do.
"""

import atexit
import functools
import http.client
import http.server
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import boto3
from moto.server import ThreadedMotoServer
from upath import UPath

from judgelake.tasks.lake.buckets import open_bucket

KEY, SECRET = "test-access-key", "test-secret-that-nobody-may-see"  # moto takes any
_SLOW_DOWN = (
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)
_DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
_ENDINGS = {"slow down": (503, _SLOW_DOWN), "deny": (403, _DENIED)}
_numbers = itertools.count(1)


class Seen(NamedTuple):
    """One request: its number from 1, method and path with query."""

    number: int
    method: str
    path: str


Fault = Callable[[Seen], str | float | None]
"""What to do to a request: 'slow down' (503), 'deny' (403), 'cut' the answer in its middle, 'lose'
the answer, seconds of delay, or nothing.
"""


class Bucket:
    """A fresh bucket. `fault` decides about each request, `seen` holds all of them."""

    def __init__(self) -> None:
        self._server = _start()
        self.name = f"bucket-{next(_numbers)}"
        self.url = f"s3://{self.name}"
        _client().create_bucket(Bucket=self.name)
        self._server.seen, self._server.fault = [], lambda _: None

    @property
    def seen(self) -> list[Seen]:
        """The requests since the bucket was made."""
        return self._server.seen

    def count(self, method: str, part: str = "") -> int:
        """Requests of this method whose path holds `part`."""
        return sum(one.method == method and part in one.path for one in self.seen)

    def forget(self) -> None:
        """Count from here."""
        self._server.seen = []

    def trouble(self, fault: Fault) -> None:
        """From now on do this to requests."""
        self._server.fault = fault

    def place(self, name: str) -> UPath:
        """A path in the bucket."""
        return open_bucket(f"{self.url}/{name}")

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to reach it."""
        port = self._server.server_address[1]
        return {
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip


class _Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    seen: list[Seen]
    fault: Fault

    def __init__(self, moto_port: int) -> None:
        self.moto_port, self.guard = moto_port, threading.Lock()
        self.seen, self.fault = [], lambda _: None
        super().__init__(("127.0.0.1", 0), _Handler)

    def note(self, method: str, path: str) -> Seen:
        with self.guard:
            self.seen.append(Seen(len(self.seen) + 1, method, path))
            return self.seen[-1]

    def handle_error(self, *_: object) -> None:
        """Clients that are killed are part of the tests."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Proxy

    def do_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        seen = self.server.note(self.command, self.path)
        fault = self.server.fault(seen)
        if isinstance(fault, float):
            time.sleep(fault)
        if fault in _ENDINGS:
            status, said = _ENDINGS[str(fault)]
            self._answer(status, [("Content-Type", "application/xml")], said)
            return
        status, headers, content = self._forward(body)
        if fault == "lose":
            self.close_connection = True
            return
        self._answer(status, headers, content, cut=fault == "cut")

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.moto_port)
        try:
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            response = connection.getresponse()
            dropped = {"transfer-encoding", "connection", "content-length"}
            headers = [
                (name, value)
                for name, value in response.getheaders()
                if name.lower() not in dropped
            ]
            length = response.getheader("Content-Length")
            if self.command == "HEAD" and length is not None:
                headers.append(("Content-Length", length))
            return response.status, headers, response.read()
        finally:
            connection.close()

    def _answer(
        self, status: int, headers: list[tuple[str, str]], content: bytes, *, cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Silence."""


for _method in ("GET", "PUT", "POST", "HEAD", "DELETE"):
    setattr(_Handler, f"do_{_method}", _Handler.do_any)


@functools.cache
def _moto() -> ThreadedMotoServer:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    atexit.register(server.stop)
    return server


def moto_url() -> str:
    """Where the S3 server itself listens, without the proxy."""
    return f"http://127.0.0.1:{_moto().get_host_and_port()[1]}"


@functools.cache
def _start() -> _Proxy:
    proxy = _Proxy(_moto().get_host_and_port()[1])
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    atexit.register(proxy.server_close)
    return proxy


@functools.cache
def _client() -> "boto3.client":
    return boto3.client(
        "s3",
        endpoint_url=moto_url(),
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )
