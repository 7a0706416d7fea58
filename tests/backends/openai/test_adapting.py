"""Refusals in the words of real servers, and what is done about each."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.backends.openai.adapting import Adaptation, apply, learn

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Q"}],
    "temperature": 0.0,
    "top_p": 1.0,
    "seed": 3,
    "logprobs": True,
    "top_logprobs": 20,
    "max_tokens": 9,
}
AS_IT_IS = Adaptation()


def refuse(message: str, param: str | None = None, code: str | None = None) -> bytes:
    return json.dumps(
        {
            "error": {
                "message": message,
                "type": "invalid_request_error",
                "param": param,
                "code": code,
            }
        }
    ).encode()


def heed(
    message: str, param: str | None = None, code: str | None = None, known: Adaptation = AS_IT_IS
) -> Adaptation | None:
    return learn(known, json.dumps(BODY).encode(), refuse(message, param, code))


@pytest.mark.parametrize(
    ("message", "param", "code", "expected"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use " "'max_completion_tokens' instead.",
         "max_tokens", "unsupported_parameter", Adaptation(swaps_limit=True)),
        ("Unsupported value: 'temperature' does not support 0 with this model. Only the " "default (1) value is supported.",
         "temperature", "unsupported_value", Adaptation(left_out=("temperature",))),
        ("You are not allowed to request logprobs from this model.", None, None, Adaptation(left_out=("logprobs",))),
        ("logprobs is not supported with reasoning models", None, None, Adaptation(left_out=("logprobs",))),
        ("Invalid 'top_logprobs': integer above maximum value. Expected a value <= 5, but got " "20 instead.",
         "top_logprobs", None, Adaptation(top_logprobs=5)),
        ("top_logprobs: Input should be less than or equal to 5", None, None, Adaptation(top_logprobs=5)),
        ("Unsupported value: 'messages[0].role' does not support 'system' with this model.",
         "messages[0].role", "unsupported_value", Adaptation(merges_system=True)),
        ("System role not supported", None, None, Adaptation(merges_system=True)),
        ("Unrecognized request argument supplied: seed", None, None, Adaptation(left_out=("seed",))),
        ("Extra inputs are not permitted: top_p", None, None, Adaptation(left_out=("top_p",))),
    ],
)  # fmt: skip
def test_what_servers_say(
    message: str, param: str | None, code: str | None, expected: Adaptation
) -> None:
    assert heed(message, param, code) == expected


@pytest.mark.parametrize(
    ("message", "param", "code"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", "messages",
         "context_length_exceeded"),
        ("The response was filtered", "prompt", "content_filter"),
        ("Invalid image data", "messages", None),
        ("temperature must be between 0 and 2", "temperature", None),
        ("'response_format' is not supported", "response_format", "unsupported_parameter"),
    ],
)  # fmt: skip
def test_what_no_change_of_settings_would_mend(
    message: str, param: str | None, code: str | None
) -> None:
    assert heed(message, param, code) is None


def test_the_same_refusal_is_not_heeded_twice() -> None:
    known = Adaptation(left_out=("temperature",), swaps_limit=True)
    assert heed("'temperature' is not supported", "temperature", None, known) is None
    assert heed("'max_tokens' is not supported", "max_tokens", None, known) is None


def test_bodies_as_the_model_takes_them() -> None:
    adapted = apply(Adaptation(True, ("temperature", "logprobs"), None, True), BODY)
    assert adapted == {
        "model": "m", "messages": [{"role": "user", "content": "You judge.\n\nQ"}], "top_p": 1.0, "seed": 3,
        "max_completion_tokens": 9,
    }  # fmt: skip
    assert apply(Adaptation(top_logprobs=5), BODY)["top_logprobs"] == 5
    assert apply(Adaptation(swaps_limit=True), adapted)["max_tokens"] == 9


def test_the_text_of_a_system_message_goes_before_images() -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text", "text": "Q"}]
    body = {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": parts}]}
    merged = apply(Adaptation(merges_system=True), body)["messages"]
    assert merged == [{"role": "user", "content": [{"type": "text", "text": "S"}, *parts]}]


def test_what_is_recorded() -> None:
    assert (
        Adaptation(True, ("temperature",), 5, True).words
        == "without temperature, top_logprobs 5, system message in the user's"
    )
    assert Adaptation(swaps_limit=True).words == ""


@given(st.binary() | st.text().map(refuse))
def test_no_refusal_raises(content: bytes) -> None:
    learnt = learn(AS_IT_IS, json.dumps(BODY).encode(), content)
    assert learnt is None or apply(learnt, BODY)["model"] == "m"
