"""When an image of a request is read and encoded: apart from the loop, once for all that show
it.
"""

import threading

import pytest
from aiohttp import web

from judgelake.tasks.errors import BackendError
from judgelake.tasks.types import Image, Message, Reply, Request
from tests.backends.asking import completion
from tests.backends.openai.test_client import ask_script, reason_of


@pytest.fixture(autouse=True)
def has_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")


async def answer_well(_request: web.Request) -> web.Response:
    return web.json_response(completion())


def test_an_image_of_several_requests_is_read_once_and_apart_and_one_at_hand_at_once() -> None:
    far, near = Image("far.jpg", None), Image("near.jpg", None)
    encoded: list[tuple[str, bool]] = []

    def encode(image: Image) -> str:
        encoded.append((image.uri, threading.current_thread() is threading.main_thread()))
        return f"data:{image.uri}"

    def has(image: Image) -> bool:
        return image == near or any(uri == image.uri for uri, _ in encoded)

    requests = [Request("m", (Message("user", f"{number}", (far, near)),)) for number in range(3)]
    assert all(
        isinstance(reply, Reply)
        for reply in ask_script(answer_well, requests, encode_image=encode, has_image=has)
    )
    assert encoded.count(("far.jpg", False)) == 1
    assert set(encoded) == {("far.jpg", False), ("far.jpg", True), ("near.jpg", True)}


def test_an_image_that_cannot_be_read_fails_each_request_that_shows_it() -> None:
    def encode(image: Image) -> str:
        raise BackendError(f"{image.uri}: the image cannot be read")

    requests = [
        Request("m", (Message("user", f"{number}", (Image("a.jpg", None),)),))
        for number in range(2)
    ]
    for outcome in ask_script(
        answer_well, requests, encode_image=encode, has_image=lambda _: False
    ):
        assert "a.jpg: the image cannot be read" in reason_of(outcome)
