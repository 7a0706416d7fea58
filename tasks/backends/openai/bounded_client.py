"""The HTTP client of the openai package with a bound on what is read of an answer."""

import contextlib
from typing import Any

import openai

from judgelake.tasks.backends.openai.client import MOST_BYTES, TooLongError

# what is said of a body that has been read and unpacked no longer holds
_OF_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


class BoundedClient(openai.DefaultHttpxClient):
    """Reads no more of an answer than `MOST_BYTES`, unpacked, and leaves a file that is streamed to
    its reader; goes nowhere else, as no live request does.
    """

    def __init__(self, *, trust_env: bool) -> None:
        super().__init__(trust_env=trust_env, follow_redirects=False)

    def send(self, request: Any, *, stream: bool = False, **more: Any) -> Any:
        """The response, read as far as the bound; raises TooLongError where it is longer."""
        response = super().send(request, stream=True, **more)
        if stream and response.is_success:
            return response
        parts, size = [], 0
        with contextlib.closing(response):
            for part in response.iter_bytes():
                parts.append(part[: MOST_BYTES - size])
                size += len(part)
                if size > MOST_BYTES:
                    if response.is_success:
                        raise TooLongError
                    break  # the beginning of an error says what it is
        headers = [
            (name, value)
            for name, value in response.headers.items()
            if name.lower() not in _OF_THE_BODY
        ]
        return type(response)(
            response.status_code, headers=headers, content=b"".join(parts), request=request
        )
