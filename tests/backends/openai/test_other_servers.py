"""What self-hosted servers and gateways answer that OpenAI does not."""

import json
from typing import Any

import pytest

from judgelake.tasks.backends.openai.format import AS_IT_IS, decode_reply, note_unheeded
from judgelake.tasks.types import Reply
from tests.backends.asking import completion, rating_request

POSITIONS: list[dict[str, Any]] = [
    {"token": "So", "logprob": -0.5, "top_logprobs": []},
    {"token": " 3", "logprob": -1.5, "top_logprobs": []},
]


def stream(*events: object, ending: str = "data: [DONE]\n\n") -> bytes:
    return (
        ": ping\r\n\r\n"
        + "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events)
        + ending
    ).encode()


def chunk(text: str | None, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "model": "m@main",
        "choices": [choice | more],
        "usage": None,
    }


def test_a_stream_that_nobody_asked_for_is_put_together() -> None:
    first = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
    usage = {
        "choices": [],
        "usage": {"prompt_tokens": 12, "completion_tokens": 2, "total_tokens": 14},
    }
    reported = [chunk(one["token"], logprobs={"content": [one]}) for one in POSITIONS]
    reply = decode_reply(stream(first, *reported, chunk(None, "length"), usage))
    assert reply == Reply(
        "So 3",
        "length",
        ((("So", -0.5),), ((" 3", -1.5),)),
        "m@main",
        prompt_tokens=12,
        completion_tokens=2,
    )
    assert decode_reply(stream(chunk("2", "stop"), ending="")).text == "2"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (stream(chunk("So"), ending=""), "the answer is a stream that broke off after 1 events"),
        (
            stream(chunk("So"), ending='data: {"choices": [{"de'),
            r"no stream of a chat completion \(\d+ bytes\)",
        ),
        (stream([1]), "no stream of a chat completion"),
        (stream({"choices": [7]}), "no stream of a chat completion"),
        (stream(), "broke off after 0 events"),
        (
            stream(chunk("So"), {"error": {"message": "out of memory"}}),
            "no chat completion: out of memory",
        ),
    ],
)
def test_a_stream_that_broke_off_is_no_reply(content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        decode_reply(content)


def test_of_a_message_in_parts_the_text_is_read() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "1 or 2?"}]},
        {"type": "text", "text": "So "},
        {"type": "text", "text": "3"},
    ]
    assert (
        decode_reply(
            json.dumps(completion(None, message={"role": "assistant", "content": parts})).encode()
        ).text
        == "So 3"
    )
    with pytest.raises(ValueError, match="no chat completion"):
        decode_reply(json.dumps(completion(None, message={"content": ["So"]})).encode())


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ("unknown", (None, None, None)),
        ({}, (None, None, None)),
        ({"prompt_tokens": "12", "completion_tokens": 3}, (12, 3, None)),
        (
            {"prompt_tokens": 12, "prompt_tokens_details": {"cached_tokens": "some"}},
            (12, None, None),
        ),
        ({"prompt_tokens": 12.0, "prompt_tokens_details": {"cached_tokens": 4}}, (12, None, 4)),
    ],
)
def test_counts_that_are_no_numbers_cost_no_reply(
    usage: object, counts: tuple[int | None, ...]
) -> None:
    reply = decode_reply(json.dumps(completion("So 3") | {"usage": usage}).encode())
    assert reply.text == "So 3"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == counts


@pytest.mark.parametrize(
    ("asked", "reply", "words"),
    [
        (5, Reply("So"), "without logprobs"),
        (0, Reply("So"), ""),
        (5, Reply("", "content_filter"), ""),
        (5, Reply("So", top_logprobs=((("So", -0.5),),)), ""),
    ],
)
def test_log_probabilities_that_were_asked_for_and_did_not_come_are_noted(
    asked: int, reply: Reply, words: str
) -> None:
    request = rating_request(0, top_logprobs=asked)
    assert note_unheeded(AS_IT_IS, request, reply).words == words
    known = note_unheeded(AS_IT_IS, rating_request(0, top_logprobs=5), Reply("So"))
    assert note_unheeded(known, request, reply) == known


@pytest.mark.parametrize(
    "odd",
    [
        {"usage": {"prompt_tokens": 10**19, "completion_tokens": -1}},
        {"model": 5},
        {"created": {}, "id": []},
        {"choices": [{"message": {"content": "So 3"}, "logprobs": "none"}]},
        {"choices": [{"message": {"content": "So 3"}, "logprobs": {"content": [{"token": 1}]}}]},
    ],
)
def test_odd_fields_beside_the_text_cost_no_reply(odd: dict[str, object]) -> None:
    """The text was paid for; a number that no table can hold would cost every reply of a flush."""
    reply = decode_reply(json.dumps(completion("So 3") | odd).encode())
    assert reply.text == "So 3"
    assert reply.top_logprobs == ()


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b'{"choices": ' + b'{"a": ' * 100_000, b'{"x": ' + b"[" * 9**6 + b"}"],
)
def test_json_of_any_depth_is_a_failed_reply(content: bytes) -> None:
    with pytest.raises(ValueError, match="no whole JSON"):
        decode_reply(content)
