"""A chat-completions endpoint that costs next to nothing, for benches of clients: `python -m
tests.bench.canned_server MS REPLY_FILE`.

Answers each request with the same bytes after MS milliseconds; prints its port, ends with its
standard input. A parser of its own, since a web framework would take more CPU than the clients that
are measured.
"""

import asyncio
import sys
from pathlib import Path


class _Connection(asyncio.Protocol):
    def __init__(self, wait_s: float, answer: bytes) -> None:
        self._wait_s, self._answer, self._buffer = wait_s, answer, bytearray()
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Count a body's bytes without keeping them."""
        if self._left:
            self._left -= len(data)
        else:
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._buffer[:end]).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            self._left = length - (len(self._buffer) - end - 4)
            self._buffer.clear()
        if self._left <= 0:
            self._left = 0
            asyncio.get_running_loop().call_later(self._wait_s, self._reply)

    def _reply(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._answer)  # type: ignore[attr-defined]


async def _serve(wait_s: float, body: bytes) -> None:
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    answer = head.encode() + body
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(wait_s, answer), "127.0.0.1", 0, backlog=2048
    )
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1]) / 1000, Path(sys.argv[2]).read_bytes()))
