"""The lines of a batch's files: a request as a line to upload, an answered line as a reply, a refusal, or nothing (ask again). Pure."""

from typing import Any

import orjson

from tasks.backends.base import make_reason
from tasks.backends.batch_api import ROUTE
from tasks.backends.openai_api import is_filtered
from tasks.backends.openai_format import decode_reply, read_error
from tasks.backends.wire import HttpAnswer
from tasks.judging.types import Reply

_PASSING = (408, 409, 429)
_ID = "request-"


def write_line(place: int, body: bytes) -> bytes:
    """The line of the request at `place` (from 0) of a file."""
    head = orjson.dumps({"custom_id": f"{_ID}{place}", "method": "POST", "url": ROUTE})
    return head[:-1] + b',"body":' + body + b"}\n"


def read_line(line: bytes) -> tuple[int, Reply | str | None]:
    """Which request a line of an output or error file is about, and what came: a reply, a refusal's body, None where it was not answered.

    Raises ValueError where it is no such line.
    """
    said: dict[str, Any] = orjson.loads(line)
    try:
        place = int(str(said["custom_id"]).removeprefix(_ID))
        response = said.get("response")
        if response is None:
            return place, None  # expired, cancelled, or the provider's own failure
        status, content = int(response["status_code"]), orjson.dumps(response["body"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a line without {error}: {line[:200].decode(errors='replace')}") from None
    return place, _read_answer(HttpAnswer(status, {}, content))


def _read_answer(answer: HttpAnswer) -> Reply | str | None:
    if is_filtered(answer):
        return Reply("", "content_filter", refusal=make_reason(read_error(answer.content)))
    if answer.status in _PASSING or answer.status >= 500:
        return None
    if not 200 <= answer.status < 300:
        return answer.content.decode()
    try:
        return decode_reply(answer.content)
    except ValueError as error:
        return str(error)
