"""Scoring a given text through /completions: which tokens are the text's, what other endpoints do,
and the stand-in's own rule.
"""

import asyncio
import json
import math
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from judgelake.tasks.backends.openai.client import OpenAIBackend
from judgelake.tasks.backends.openai.format import NoEchoError, decode_scores, encode_scoring
from judgelake.tasks.backends.openai.limits import BackOff
from judgelake.tasks.judging import likelihood
from judgelake.tasks.judging.likelihood import LikelihoodOptions
from judgelake.tasks.standin.server import ServerSettings, Standin
from judgelake.tasks.types import JUDGE, Case, Failure, Image, Message, Reply, Request
from tests.backends.asking import ask, scripted_endpoint

QUESTION = Message("user", "Q: what?\nA:")
REQUEST = Request("standin/rules", (QUESTION,), scored=" a cat")


def completion(
    tokens: list[str], logprobs: list[float | None], offsets: list[int] | None = None, **more: Any
) -> bytes:
    places = (
        offsets
        if offsets is not None
        else [sum(map(len, tokens[:at])) for at in range(len(tokens))]
    )
    listed = {"tokens": tokens, "token_logprobs": logprobs, "text_offset": places}
    return orjson.dumps(
        {
            "model": "davinci-002",
            "choices": [{"text": "x", "finish_reason": "length", "logprobs": listed}],
            **more,
        }
    )


def decode(content: bytes, request: Request = REQUEST) -> list[tuple[str, float]]:
    reply = decode_scores(request, content, 1.0)
    assert reply.finish_reason == "stop"
    assert all(len(alternatives) == 1 for alternatives in reply.top_logprobs)
    return [alternatives[0] for alternatives in reply.top_logprobs]


def test_the_body_is_the_texts_and_the_scored_text_with_nothing_to_be_written() -> None:
    request = Request("m", (Message("system", "S"), QUESTION), scored=" a cat")
    assert json.loads(encode_scoring(request, "davinci-002")) == {
        "model": "davinci-002", "prompt": "S\nQ: what?\nA: a cat", "echo": True, "logprobs": 1, "max_tokens": 0, "temperature": 0.0,
    }  # fmt: skip


def test_the_scored_text_s_tokens_are_kept_and_the_rest_is_not() -> None:
    content = completion(
        ["Q", ": what?\n", "A:", " a", " cat"],
        [None, -9.0, -9.0, -1.0, -2.0],
        usage={"prompt_tokens": 5},
    )
    assert decode(content) == [(" a", -1.0), (" cat", -2.0)]
    reply = decode_scores(REQUEST, content, 1.0)
    assert (reply.text, reply.resolved_model, reply.prompt_tokens, reply.completion_tokens) == (
        "",
        "davinci-002",
        5,
        0,
    )


@pytest.mark.parametrize(
    ("tokens", "logprobs", "kept"),
    [
        # a server's own first token, whose characters its offsets count
        (
            ["<s>", "Q: what?\n", "A:", " a", " cat"],
            [None, -9.0, -9.0, -1.0, -2.0],
            [(" a", -1.0), (" cat", -2.0)],
        ),
        # SentencePiece's mark for a space, one before the text too
        (
            ["▁Q", ":", "▁what", "?\n", "A:", "▁a", "▁cat"],
            [None, *[-9.0] * 4, -1.0, -2.0],
            [("▁a", -1.0), ("▁cat", -2.0)],
        ),
        # a token that was generated although none was asked for
        (
            ["Q: what?\n", "A:", " a", " cat", " on"],
            [None, -9.0, -1.0, -2.0, -0.1],
            [(" a", -1.0), (" cat", -2.0)],
        ),
    ],
)
def test_what_servers_add_is_left_out(
    tokens: list[str], logprobs: list[float | None], kept: list[tuple[str, float]]
) -> None:
    assert decode(completion(tokens, logprobs)) == kept


@pytest.mark.parametrize("first", ["", "<s>"])
def test_where_a_character_is_cut_in_tokens_the_offsets_decide(first: str) -> None:
    request = Request("m", (QUESTION,), scored=" Zoë?")
    shift = len(first)
    tokens = [first, "Q: what?\n", "A:", " Zo", "bytes:\\xc3", "bytes:\\xab", "?"][not first :]
    offsets = [0, shift, 9 + shift, 11 + shift, 14 + shift, 14 + shift, 15 + shift][not first :]
    logprobs = [None, *[-9.0] * 2, -1.0, -2.0, -3.0, -4.0][not first :]
    kept = decode(completion(tokens, logprobs, offsets), request)
    assert [logprob for _, logprob in kept] == [-1.0, -2.0, -3.0, -4.0]


def test_the_first_token_of_all_has_no_log_probability_and_is_left_out() -> None:
    assert decode(completion([" a", " cat"], [None, -2.0]), Request("m", (), scored=" a cat")) == [
        (" cat", -2.0)
    ]


@pytest.mark.parametrize(
    "content",
    [
        orjson.dumps({"choices": [{"text": "a cat", "logprobs": None}]}),
        orjson.dumps({"choices": [{"text": "", "logprobs": {}}]}),
        orjson.dumps({"choices": []}),
        orjson.dumps([1]),
        orjson.dumps(
            {
                "choices": [
                    {"logprobs": {"tokens": [1], "token_logprobs": [None], "text_offset": [0]}}
                ]
            }
        ),
        completion([], []),
        completion([" on"], [-1.0]),  # the generated token alone
        completion(["Q: what?\nA:", " a", " cat"], [None, None, None]),
    ],
)
def test_an_answer_without_the_text_s_log_probabilities_says_what_it_takes(content: bytes) -> None:
    with pytest.raises(
        NoEchoError,
        match=r"no log-probabilities of the text that was sent; .*`echo` with `logprobs`: vLLM",
    ):
        decode_scores(REQUEST, content, 1.0)


def test_an_answer_that_is_cut_off_is_worth_another_attempt() -> None:
    with pytest.raises(ValueError, match="no whole JSON") as refused:
        decode_scores(REQUEST, b'{"choices": [', 1.0)
    assert not isinstance(refused.value, NoEchoError)


def fail(status: int, body: object) -> tuple[str, int]:
    """The reason of a request to an endpoint that always answers so, and how often it was asked."""
    calls = []

    async def answer(request: web.Request) -> web.Response:
        calls.append(request.path)
        return web.json_response(body, status=status)

    async def drive() -> Reply | Failure | Any:
        async with scripted_endpoint(answer) as base_url:
            backend = OpenAIBackend("standin/rules", base_url, back_off=BackOff(first_s=0.001))
            try:
                return await backend.reply(REQUEST)
            finally:
                await backend.close()

    outcome = asyncio.run(drive())
    assert isinstance(outcome, Failure)
    assert set(calls) == {"/v1/completions"}
    return outcome.reason, len(calls)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (
            200,
            {"choices": [{"text": "a cat", "logprobs": None}]},
            "200 the answer has no log-probabilities of the text",
        ),
        (
            400,
            {"error": {"message": "echo and logprobs cannot go together"}},
            "echo and logprobs cannot go together",
        ),
        (404, {"detail": "Not Found"}, "Not Found"),
    ],
)
def test_an_endpoint_that_cannot_echo_fails_at_once_and_says_what_it_takes(
    status: int, body: object, words: str
) -> None:
    reason, calls = fail(status, body)
    assert words in reason
    assert "take an endpoint whose /completions knows `echo` with `logprobs`: vLLM" in reason
    assert calls == 1


def test_an_endpoint_that_is_busy_is_asked_again() -> None:
    reason, calls = fail(503, {"error": {"message": "later"}})
    assert (calls, reason.endswith("503 later")) == (6, True)


def test_a_text_cannot_be_scored_after_an_image() -> None:
    request = Request(
        "standin/rules", (Message("user", "Q", (Image("a.png", None),)),), scored=" a"
    )
    (outcome,) = ask(OpenAIBackend("standin/rules", "http://127.0.0.1:9"), [request])
    assert isinstance(outcome, Failure)
    assert "cannot be encoded: a text cannot be scored after images" in outcome.reason


def test_the_stand_in_scores_a_response_by_its_rule() -> None:
    case = Case("b", "i", "vqa", "Is it a cat?", (), "a dog a", "d" * 16)
    judge = likelihood.judge(case, LikelihoodOptions(), {JUDGE: "standin/rules"})
    (request,) = next(judge)

    async def send() -> object:
        async with scripted_endpoint(Standin(ServerSettings()).complete) as base_url:
            backend = OpenAIBackend("standin/rules", base_url)
            try:
                return await backend.reply(request)
            finally:
                await backend.close()

    reply = asyncio.run(send())
    assert isinstance(reply, Reply)
    # (1 + n) / (2 + n) / (1 + w): ` a` came once in the question, ` dog` never, the second ` a`
    # twice
    probabilities = [2 / 3 / 2, 1 / 2 / 4, 3 / 4 / 2]
    assert [position[0][0] for position in reply.top_logprobs] == [" a", " dog", " a"]
    assert [position[0][1] for position in reply.top_logprobs] == pytest.approx(
        [math.log(p) for p in probabilities], rel=1e-12
    )
    with pytest.raises(StopIteration) as end:
        judge.send([reply])
    (verdict,) = end.value.value
    assert verdict.score_0_1 == pytest.approx(math.prod(probabilities) ** (1 / 3), rel=1e-12)


def test_the_stand_in_only_scores() -> None:
    async def post(body: object) -> int:
        async with (
            scripted_endpoint(Standin(ServerSettings()).complete) as base_url,
            aiohttp.ClientSession() as session,
            session.post(f"{base_url}/completions", json=body) as answer,
        ):
            return answer.status

    assert asyncio.run(post({"model": "standin/rules", "prompt": "Once", "max_tokens": 5})) == 400
