"""How bodies hold a model to an answer, and what happens where an endpoint does not take it."""

import re
from dataclasses import replace
from typing import Any

import orjson
import pytest
from aiohttp import web

from judgelake.tasks.backends.local.endpoint import LocalSettings
from judgelake.tasks.backends.openai.format import AS_IT_IS, encode_request
from judgelake.tasks.backends.openai.holding import Holding, find_unheeded
from judgelake.tasks.backends.openai.settings import OpenAISettings
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.types import Answer, AnswerForm, Failure, Reply, Request
from tests.backends.asking import completion, rating_request
from tests.backends.openai.test_client import ask_script

ALONE = Answer("rating=", ("1", "2", "3"), "rating")
EXPLAINED = ALONE._replace(opening=" So rating=", explained="rationale")


def hold(form: AnswerForm, answer: Answer = ALONE, number: int = 0) -> Request:
    return replace(rating_request(number, top_logprobs=20), form=form, answer=answer)


def write(request: Request, holding: Holding) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(encode_request(request, "m", str, False, AS_IT_IS, holding))
    return body


def test_a_schema_has_the_answers_and_the_explanation_first() -> None:
    schema = write(hold("structured", EXPLAINED), Holding())["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert [*schema["schema"]["properties"]] == ["rationale", "rating"]
    assert schema["schema"]["properties"]["rating"]["enum"] == ["1", "2", "3"]
    assert schema["schema"]["required"] == ["rationale", "rating"]
    alone = write(hold("structured"), Holding())["response_format"]["json_schema"]["schema"]
    assert [*alone["properties"]] == ["rating"]


def test_a_server_that_wants_the_schema_beside_the_type_gets_the_same_one() -> None:
    named = write(hold("structured", EXPLAINED), Holding())["response_format"]["json_schema"]
    plain = write(hold("structured", EXPLAINED), Holding("json_object"))["response_format"]
    assert plain == {"type": "json_object", "schema": named["schema"]}


@pytest.mark.parametrize(
    ("constraint", "text", "unheeded"),
    [
        ("json_schema", '{"rating": "1"}', None),
        ("json_object", ' {"rationale": "cut', None),
        ("json_schema", "So rating=3", "response_format"),
        ("json_object", "3", "response_format"),
        ("regex", "It agrees. So rating=3", None),
        ("regex", "It agrees, I think.", "regex"),
        ("structured_outputs", "It agrees.", "structured_outputs"),
    ],
)
def test_a_constraint_that_was_taken_and_ignored_is_found(
    constraint: Any, text: str, unheeded: str | None
) -> None:
    holding = Holding(constraint)
    for form in ("structured", "auto"):
        assert find_unheeded(hold(form, EXPLAINED), holding, Reply(text)) == unheeded
    assert find_unheeded(hold("free", EXPLAINED), holding, Reply(text)) is None
    assert find_unheeded(hold("structured"), Holding("regex"), Reply("It", "length")) is None


@pytest.mark.parametrize("constraint", ["structured_outputs", "regex"])
def test_an_expression_takes_what_the_reader_reads_and_nothing_else(constraint: Any) -> None:
    for answer, fine, wrong in (
        (ALONE, ["1", "3"], ["4", "13", "rating=1"]),
        (EXPLAINED, ["It agrees. So rating=2", "a\nb So rating=1"], ["2", "a So rating=4"]),
    ):
        body = write(hold("structured", answer), Holding(constraint))
        pattern = body["regex"] if constraint == "regex" else body[constraint]["regex"]
        assert all(re.fullmatch(pattern, text) for text in fine)
        assert not any(re.fullmatch(pattern, text) for text in wrong)


@pytest.mark.parametrize("prefill", ["assistant", "continue_final_message"])
def test_a_forced_reply_is_begun(prefill: Any) -> None:
    body = write(hold("forced", ALONE._replace(opening="[RESULT] ")), Holding(prefill=prefill))
    assert body["messages"][-1] == {"role": "assistant", "content": "[RESULT]"}
    assert (body["max_tokens"], body["top_logprobs"]) == (4, 20)
    assert ("continue_final_message" in body) == (prefill == "continue_final_message")


def ask(
    requests: list[Request], status: int = 400, **refuses: str
) -> tuple[list[Any], list[dict[str, Any]]]:
    bodies: list[dict[str, Any]] = []

    async def handler(request: web.Request) -> web.Response:
        body = await request.json()
        bodies.append(body)
        for name, words in refuses.items():
            if name in body:
                return web.json_response({"error": {"message": words}}, status=status)
        return web.json_response(completion("So rating=3"))

    return ask_script(handler, requests, concurrency=1, max_attempts=3), bodies


UNKNOWN = "Unsupported parameter: response_format"
PYTHON_SERVER = (
    "1 validation error: {'loc': ('body', 'response_format', 'type'), "
    "'msg': \"Input should be 'text' or 'json_object'\"}"
)


@pytest.mark.parametrize(("status", "words"), [(400, UNKNOWN), (500, PYTHON_SERVER)])
def test_what_auto_is_refused_is_left_out_and_said(status: int, words: str) -> None:
    outcomes, bodies = ask(
        [hold("auto", number=number) for number in range(5)], status, response_format=words
    )
    assert [outcome.adapted for outcome in outcomes] == [
        "without response_format, without logprobs"
    ] * 5
    assert ["response_format" in body for body in bodies] == [True, *[False] * 5]


@pytest.mark.parametrize(("status", "words"), [(400, UNKNOWN), (500, PYTHON_SERVER)])
def test_a_structured_answer_that_is_refused_is_a_failure_in_the_endpoints_words(
    status: int, words: str
) -> None:
    outcomes, bodies = ask([hold("structured")], status, response_format=words)
    assert isinstance(outcomes[0], Failure)
    assert words in outcomes[0].reason
    assert len(bodies) == 1


def test_a_forced_answer_without_a_begun_reply_is_a_failure_that_says_what_to_do() -> None:
    outcomes, bodies = ask([hold("forced"), rating_request(1)])
    assert isinstance(outcomes[0], Failure)
    assert "answer_form: forced; expected for a model that runs here, or with `prefill`" in (
        outcomes[0].reason
    )
    assert isinstance(outcomes[1], Reply)
    assert len(bodies) == 1


@pytest.mark.parametrize(
    ("prefill", "form"), [("none", "auto"), ("continue_final_message", "forced")]
)
def test_auto_is_what_the_endpoint_can_do(prefill: Any, form: str) -> None:
    settings = OpenAISettings(model="openai/x", base_url="http://127.0.0.1:1/v1", prefill=prefill)
    judge = JudgeSettings("a", "lave", settings, LaveOptions(answer_form="auto"))
    assert judge.forms == {"judge": form}
    assert f"answer_form:{form}" in judge.identify(()).call_signature
    wanted = replace(judge, options=LaveOptions(answer_form="structured"))
    assert wanted.forms == {"judge": "structured"}
    free = replace(judge, options=LaveOptions())
    assert "answer_form" not in free.identify(()).call_signature


@pytest.mark.parametrize(
    ("wanted", "form"), [("free", "free"), ("auto", "forced"), ("structured", "forced")]
)
def test_a_local_model_is_forced_in_every_form_but_the_free_one(wanted: Any, form: str) -> None:
    settings = LocalSettings(model="org/model")
    judge = JudgeSettings("a", "lave", settings, LaveOptions(answer_form=wanted))
    assert judge.forms == {"judge": form}
