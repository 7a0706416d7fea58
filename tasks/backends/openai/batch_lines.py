"""The lines of a batch's files: the requests that go up, and the answers that come back. No line
longer than a live answer may be is kept.

Uploading, asking after and downloading is `tasks.backends.openai.batch`.
"""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Literal

import orjson

from judgelake.tasks.backends.base import make_reason
from judgelake.tasks.backends.openai import client
from judgelake.tasks.backends.openai.client import HttpAnswer, TooLongError, is_filtered
from judgelake.tasks.backends.openai.format import decode_reply, read_error
from judgelake.tasks.types import Reply

ROUTE: Literal["/v1/chat/completions"] = "/v1/chat/completions"
# timeout, conflict, rate limit: asked again, the request may succeed
_PASSING = (408, 409, 429)
_ID = "request-"
# inside a JSON string a backslash stands before each quote: an answer cannot spell this
_NAMED = re.compile(rb'"custom_id"\s*:\s*"(' + _ID.encode() + rb'\d+)"')
_SEARCHED = 2**16
"""Bytes at either end of a line that is too long in which its request's name is looked for."""
_MOST_REFUSAL = 2**13
"""Bytes of a refusal that are kept as they came; of a longer one its words are."""


def write_line(place: int, body: bytes) -> bytes:
    """The line of the request at `place` (from 0) of a file."""
    head = orjson.dumps({"custom_id": f"{_ID}{place}", "method": "POST", "url": ROUTE})
    return head[:-1] + b',"body":' + body + b"}\n"


def cut_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of an output or error file. In place of one longer than a live answer may be stands
    one that refuses its request in the same words.
    """
    while line := file.readline(client.MOST_BYTES + 1):
        if len(line) > client.MOST_BYTES:
            yield from _refuse_long(line, file)
        elif line.strip():
            yield line


def _refuse_long(line: bytes, file: BinaryIO) -> Iterator[bytes]:
    """The line in place of a long one that begins with `line`; none where neither of its ends names
    a request, which is then asked again.
    """
    head = tail = line[:_SEARCHED]
    while not line.endswith(b"\n") and (line := file.readline(client.MOST_BYTES)):
        tail = (tail + line)[-_SEARCHED:]
    if named := _NAMED.search(head) or _NAMED.search(tail):
        error = {"error": {"message": str(TooLongError())}}
        response = {"status_code": 400, "body": error}
        yield orjson.dumps({"custom_id": named[1].decode(), "response": response})


def read_line(line: bytes) -> tuple[int, Reply | str | None]:
    """Which request a line of an output or error file is about, and what came: a reply, a refusal's
    body, None where it was not answered.

    Raises ValueError where it is no such line.
    """
    record: dict[str, Any] = orjson.loads(line)
    try:
        place = _find_place(str(record["custom_id"]))
        response = record.get("response")
        if response is None:
            return place, None  # expired, cancelled, or the provider's own failure
        status, body = int(response["status_code"]), response["body"]
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError) as error:
        raise ValueError(f"a line without {error}: {line[:200].decode(errors='replace')}") from None
    try:
        content = orjson.dumps(body)
    except orjson.JSONEncodeError:  # asked again, it would be paid for again
        return place, "the answer is nested too deeply to be read"
    return place, _read_answer(HttpAnswer(status, {}, content))


def _find_place(name: str) -> int:
    number = name.removeprefix(_ID)
    if number == name or not number.isdecimal():
        raise ValueError(f"{name[:40]!r} names no request")
    return int(number)


def _read_answer(answer: HttpAnswer) -> Reply | str | None:
    if is_filtered(answer):
        return Reply("", "content_filter", refusal=make_reason(read_error(answer.content)))
    if answer.status in _PASSING or answer.status >= 500:
        return None
    if not 200 <= answer.status < 300:
        is_long = len(answer.content) > _MOST_REFUSAL
        return read_error(answer.content) if is_long else answer.content.decode()
    try:
        return decode_reply(answer.content)
    except ValueError as error:
        return str(error)
