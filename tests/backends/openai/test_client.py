import asyncio
import json
import logging
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from judgelake.tasks.backends.base import Backend
from judgelake.tasks.backends.openai import client
from judgelake.tasks.backends.openai.client import OpenAIBackend
from judgelake.tasks.backends.openai.endpoints import clean_base_url, find_endpoint, sent_model
from judgelake.tasks.backends.openai.format import encode_request
from judgelake.tasks.backends.openai.limits import BackOff
from judgelake.tasks.errors import BackendError
from judgelake.tasks.standin.server import FaultPlan, ServerSettings, Standin
from judgelake.tasks.types import Decoding, Failure, Image, Message, Pending, Reply, Request
from tests.backends.asking import (
    Handler,
    ask,
    completion,
    rating_request,
    read_log,
    scripted_endpoint,
)

AT_ONCE = BackOff(first_s=0.001)
KEY = "sk-verysecret-0123456789"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "API_KEY BASE_URL API_BASE ORG_ID PROJECT_ID CUSTOM_HEADERS"
    for name in [f"OPENAI_{part}" for part in names.split()]:
        monkeypatch.delenv(name, raising=False)
    # a proxy where nobody listens: loopback must not be asked for through it
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")


def make_backend(base_url: str, **options: Any) -> OpenAIBackend:
    return OpenAIBackend(
        "standin/rules", base_url, **{"back_off": AT_ONCE, "timeout_s": 10.0, **options}
    )


def ask_script(
    handler: Handler, requests: list[Request], *, one_by_one: bool = False, **options: Any
) -> list[Any]:
    async def drive() -> list[Any]:
        async with scripted_endpoint(handler) as base_url:
            backend = make_backend(base_url, **options)
            try:
                if one_by_one:
                    return [await backend.reply(request) for request in requests]
                return list(await asyncio.gather(*(backend.reply(request) for request in requests)))
            finally:
                await backend.close()

    return asyncio.run(drive())


def faulty(
    log: Path | None = None, retry_after_s: float | None = None, **chances: float
) -> Handler:
    """The stand-in with these faults, such as `_500` or `hang`, and their chances."""
    plan = FaultPlan({fault.removeprefix("_"): chance for fault, chance in chances.items()}, seed=3)
    return Standin(ServerSettings(faults=plan, retry_after_s=retry_after_s, log=log)).complete


def reason_of(outcome: object) -> str:
    assert isinstance(outcome, Failure)
    assert "\n" not in outcome.reason
    return outcome.reason


def test_a_reply_of_the_standin_with_logprobs() -> None:
    standin = Standin(ServerSettings(latency_ms=30))
    (reply,) = ask_script(standin.complete, [rating_request(top_logprobs=2)])
    assert isinstance(reply, Reply)
    assert (
        reply.text
        == "The candidate answer says the same as the reference answer 'cat'. So rating=3"
    )
    assert (reply.finish_reason, reply.resolved_model, reply.refusal) == (
        "stop",
        "standin/rules",
        None,
    )
    assert [token for token, _ in reply.top_logprobs[-1]] == ["3", "2"]
    assert "".join(position[0][0] for position in reply.top_logprobs) == reply.text
    assert reply.completion_tokens == len(reply.top_logprobs) == 18
    assert reply.latency_ms is not None
    assert 30 <= reply.latency_ms < 5000


def test_the_backend_fits_the_seam() -> None:
    seam: Backend = make_backend("http://127.0.0.1:9")
    assert seam.window == 64


def test_every_fault_is_survived_and_nothing_answered_is_asked_again(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    faults = {"_500": 0.12, "_429": 0.12, "truncate": 0.12, "garbage": 0.12, "reset": 0.12}
    requests = [rating_request(number) for number in range(60)]
    replies = ask_script(faulty(log, 0.01, **faults), requests, max_attempts=40)
    assert {reply.text[-1] for reply in replies if isinstance(reply, Reply)} == {"3"}
    assert all(isinstance(reply, Reply) for reply in replies)
    attempts = defaultdict(list)
    for line in read_log(log):
        attempts[line["digest"]].append(line["fault"])
    assert len(attempts) == 60
    assert all(met[-1] is None and None not in met[:-1] for met in attempts.values())
    assert {fault for met in attempts.values() for fault in met[:-1]} == {
        fault.removeprefix("_") for fault in faults
    }


def test_an_endpoint_that_hangs_is_left_and_asked_again() -> None:
    requests = [rating_request(number) for number in range(20)]
    replies = ask_script(faulty(hang=0.3), requests, timeout_s=0.5, max_attempts=12)
    assert all(isinstance(reply, Reply) for reply in replies)


@pytest.mark.parametrize(
    ("fault", "words", "attempts"),
    [
        ("500", "attempt 2 of 2: 500 a fault of the plan", 2),
        ("408", "attempt 2 of 2: 408 a fault of the plan", 2),
        ("409", "attempt 2 of 2: 409 a fault of the plan", 2),
        ("truncate", "attempt 2 of 2: ", 2),
        ("garbage", "attempt 2 of 2: 200 the answer is no whole JSON (20 bytes)", 2),
        ("reset", "attempt 2 of 2: ", 2),
        ("hang", "attempt 2 of 2: no answer within 0.4 s", 2),
        ("400", "standin/rules: 400 a fault of the plan", 1),
        ("422", "standin/rules: 422 a fault of the plan", 1),
    ],
)
def test_what_does_not_pass_is_a_failure_in_the_endpoints_words(
    fault: str, words: str, attempts: int, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    outcomes = ask_script(
        faulty(log, **{f"_{fault}": 1.0}),
        [rating_request(0), rating_request(1)],
        max_attempts=2,
        timeout_s=0.4 if fault == "hang" else 10.0,
    )
    assert all(words in reason_of(outcome) for outcome in outcomes)
    assert all(reason_of(outcome).startswith("127.0.0.1:") for outcome in outcomes)
    sent = Counter(line["digest"] for line in read_log(log))
    assert sorted(sent.values()) == [attempts] * 2


def test_the_second_attempt_comes_no_sooner_than_asked(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    outcomes = ask_script(faulty(log, 0.4, _429=1.0), [rating_request()], max_attempts=2)
    assert "429 a fault of the plan" in reason_of(outcomes[0])
    first, second = (line["time_s"] for line in read_log(log))
    assert second - first >= 0.4


def test_a_wait_beyond_all_patience_ends_the_request() -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.json_response(
            {"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "3600"}
        )

    (outcome,) = ask_script(handler, [rating_request()])
    assert "429 slow down (it asks to wait 3600 s)" in reason_of(outcome)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_after_a_refused_key_or_model_nothing_more_is_sent(status: int, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    requests = [rating_request(number) for number in range(5)]
    outcomes = ask_script(faulty(log, **{f"_{status}": 1.0}), requests, one_by_one=True)
    assert len(read_log(log)) == 1
    assert len({reason_of(outcome) for outcome in outcomes}) == 1
    assert f"standin/rules: {status} a fault of the plan" in reason_of(outcomes[4])


def test_requests_that_wait_to_try_again_stop_when_the_key_is_refused() -> None:
    asked: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        asked.append((await request.json())["messages"][0]["content"])
        return web.json_response(
            {"error": {"message": "no"}}, status=500 if len(asked) == 1 else 401
        )

    outcomes = ask_script(
        handler, [rating_request(0), rating_request(1)], back_off=BackOff(first_s=0.3)
    )
    assert len(asked) == 2
    assert all("401 no" in reason_of(outcome) for outcome in outcomes)


def test_an_exhausted_quota_is_not_asked_for_again() -> None:
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request)
        return web.json_response(
            {"error": {"message": "pay first", "code": "insufficient_quota"}}, status=429
        )

    outcomes = ask_script(handler, [rating_request(0), rating_request(1)], concurrency=1)
    assert len(asked) == 1
    assert all("429 pay first" in reason_of(outcome) for outcome in outcomes)


def test_the_key_reaches_the_endpoint_and_neither_failures_nor_logs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("JUDGE_KEY", f" {KEY}\n")
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(
            status=(400, 500)[len(seen) > 1],
            text=f"{'x' * 210} rejected {KEY} of {dict(request.headers)}",
        )

    outcomes = ask_script(
        handler,
        [rating_request(0), rating_request(1)],
        api_key_variable="JUDGE_KEY",
        max_attempts=2,
    )
    assert set(seen) == {f"Bearer {KEY}"}
    assert all("rejected ***" in reason_of(outcome) for outcome in outcomes)
    assert not any(
        part in text
        for text in [*map(reason_of, outcomes), caplog.text]
        for part in (KEY, KEY[:14])
    )


ESCAPED = "sk-very/secret+0123456789"


@pytest.mark.parametrize(
    "escape",
    [
        lambda text: text.replace("/", r"\/"),
        lambda text: text.replace("s", r"\u0073"),
        lambda text: text.replace("k", r"\u006B"),
        lambda text: "".join(rf"\u{ord(one):04x}" for one in text),
    ],
)
def test_a_key_that_json_escapes_is_in_no_reply_and_no_failure(
    escape: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", ESCAPED)
    error = {"error": {"message": "denied KEY", "code": "content_filter"}}
    whole = completion("you sent KEY", finish_reason="KEY") | {"model": "KEY"}
    events = [
        {"choices": [{"delta": {"content": part}, "finish_reason": end}]}
        for part, end in (("you sent KE", None), ("Y", "stop"))
    ]
    pieces = [json.dumps(event) for event in events]
    pieces = [pieces[0].replace("KE", ESCAPED[:9]), pieces[1].replace('"Y"', f'"{ESCAPED[9:]}"')]
    parts = {"content": [{"type": "text", "text": "you sent KEY"}]}
    bodies = [
        (200, json.dumps(whole).replace("KEY", escape(ESCAPED))),
        (200, json.dumps(completion(message=parts)).replace("KEY", escape(ESCAPED))),
        (200, "".join(f"data: {piece}\n\n" for piece in pieces)),
        (400, json.dumps(error).replace("KEY", escape(ESCAPED))),
        (403, json.dumps({"error": "denied KEY"}).replace("KEY", escape(ESCAPED))),
    ]

    async def handler(request: web.Request) -> web.Response:
        number = int(re.findall(r"photo (\d+)", await request.text())[0])
        status, body = bodies[number]
        return web.Response(status=status, text=body, content_type="application/json")

    requests = [rating_request(number) for number in range(len(bodies))]
    outcomes = ask_script(handler, requests, api_key_variable="JUDGE_KEY", concurrency=1)
    assert not any(ESCAPED in repr(outcome) for outcome in outcomes)
    texts = [one.text for one in outcomes if isinstance(one, Reply)]
    assert texts == ["you sent ***"] * 3 + [""]
    assert "403 denied ***" in reason_of(outcomes[-1])


def test_the_headers_are_those_of_the_openai_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Team: judges\nauthorization: Bearer of-another-endpoint"
    )
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers)
        return web.json_response(completion())

    ask_script(handler, [rating_request()])
    (headers,) = seen
    assert (headers["OpenAI-Organization"], headers["X-Team"]) == ("org-1", "judges")
    assert headers.getall("Content-Type") == ["application/json"]
    assert headers.getall("Authorization") == [
        f"Bearer {KEY}"
    ]  # the key that the suite names, and nothing beside it
    assert "OpenAI-Project" not in headers


def test_a_socks_proxy_in_the_environment_is_no_matter_on_loopback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    (reply,) = ask_script(faulty(), [rating_request()])
    assert isinstance(reply, Reply)


def test_a_redirect_is_not_followed() -> None:
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request)
        return web.Response(status=307, headers={"Location": str(request.url)}, text="elsewhere")

    (outcome,) = ask_script(handler, [rating_request()])
    assert "307 elsewhere" in reason_of(outcome)
    assert len(asked) == 1


def test_the_pace_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    requests = [rating_request(number) for number in range(21)]
    ask_script(faulty(log), requests, requests_per_minute=2400)
    times = [line["time_s"] for line in read_log(log)]
    assert (
        0.23 <= times[-1] - times[0] < 2
    )  # 20 intervals of 25.1 ms less the 250 ms of catching up


def test_all_connections_are_there_beyond_the_http_clients_default_of_100() -> None:
    in_flight = most = 0

    async def handler(_request: web.Request) -> web.Response:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.3)
        in_flight -= 1
        return web.json_response(completion())

    outcomes = ask_script(
        handler, [rating_request(number) for number in range(450)], concurrency=150
    )
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert 100 < most <= 150


@pytest.mark.parametrize(
    ("refusal", "left_out", "words"),
    [
        (
            "Unsupported value: 'temperature' does not support 0 with this model.",
            "temperature",
            "without temperature",
        ),
        ("logprobs is not supported with this model", "logprobs", "without logprobs"),
    ],
)
def test_what_a_model_does_not_take_is_learnt_from_one_refusal(
    refusal: str, left_out: str, words: str
) -> None:
    bodies: list[dict[str, Any]] = []

    async def handler(request: web.Request) -> web.Response:
        body = await request.json()
        bodies.append(body)
        if left_out in body:
            return web.json_response(
                {"error": {"message": refusal, "param": None, "code": None}}, status=400
            )
        listed = (
            {"content": [{"token": "So", "logprob": -1, "top_logprobs": []}]}
            if "logprobs" in body
            else None
        )
        return web.json_response(completion("So rating=3", logprobs=listed))

    requests = [rating_request(number, top_logprobs=5) for number in range(20)]
    outcomes = ask_script(handler, requests, concurrency=1, max_attempts=1)
    assert [(one.text, one.adapted) for one in outcomes] == [("So rating=3", words)] * 20
    assert [left_out in body for body in bodies] == [True, *[False] * 20]


def test_twenty_equal_refusals_in_a_row_end_the_asking() -> None:
    asked = 0

    async def handler(_request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.json_response(
            {"error": {"message": f"request {asked}: no such field"}}, status=400
        )

    outcomes = ask_script(handler, [rating_request(number) for number in range(100)], concurrency=1)
    assert asked == 20
    assert all("no such field" in reason_of(outcome) for outcome in outcomes)


def test_refusals_between_replies_do_not_end_the_asking() -> None:
    asked = 0

    async def handler(_request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        if asked % 3:
            return web.json_response(
                {"error": {"message": "maximum context length", "code": "context_length_exceeded"}},
                status=400,
            )
        return web.json_response(completion())

    ask_script(handler, [rating_request(number) for number in range(90)], concurrency=1)
    assert asked == 90


def ask_in_turn(
    answer: Callable[[int], web.Response], count: int, **options: Any
) -> tuple[int, list[Failure | Reply | Pending]]:
    """Send `count` requests, one when the other is over, to an endpoint that gives the n-th
    `answer`; how many it got, and the outcomes.
    """
    asked = 0

    async def handler(_request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return answer(asked)

    async def drive() -> list[Failure | Reply | Pending]:
        async with scripted_endpoint(handler) as base_url:
            backend = make_backend(
                base_url,
                **{"back_off": BackOff(first_s=0), "outage_s": 0, "concurrency": 1, **options},
            )
            try:
                return [await backend.reply(rating_request(number)) for number in range(count)]
            finally:
                await backend.close()

    outcomes = asyncio.run(drive())
    return asked, outcomes


def fail_with(status: int, **headers: str) -> Callable[[int], web.Response]:
    return lambda n: web.json_response(
        {"error": {"message": f"no such thing, request req_{n}af"}}, status=status, headers=headers
    )


@pytest.mark.parametrize("status", [500, 502, 503, 408])
def test_twenty_requests_in_a_row_that_used_all_attempts_end_the_asking(status: int) -> None:
    asked, outcomes = ask_in_turn(fail_with(status), 30, max_attempts=3)
    assert asked == 60  # 20 requests of 3 attempts
    assert f"attempt 3 of 3: {status} no such thing" in reason_of(outcomes[19])
    assert (
        f"standin/rules: not asked, as the last 20 requests failed with: {status} no such thing"
        in reason_of(outcomes[20])
    )
    assert {reason_of(one) for one in outcomes[20:]} == {reason_of(outcomes[20])}
    assert not any(
        one.is_final for one in outcomes if isinstance(one, Failure)
    )  # the next run asks for them again


def test_a_server_that_is_gone_is_asked_by_twenty_requests() -> None:
    outcomes = ask(
        make_backend("http://127.0.0.1:9", max_attempts=2, outage_s=0),
        [rating_request()] * 22,
        one_by_one=True,
    )
    assert "attempt 2 of 2: ClientConnectorError: Cannot connect to host 127.0.0.1:9" in reason_of(
        outcomes[19]
    )
    assert (
        "not asked, as the last 20 requests failed with: ClientConnectorError: Cannot connect "
        "to host 127.0.0.1:9" in reason_of(outcomes[20])
    )


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        (fail_with(429), {}),
        (fail_with(429, **{"Retry-After": "0"}), {}),
        (fail_with(503, **{"Retry-After": "0"}), {}),
        (fail_with(500), {"outage_s": 60}),
        (lambda n: web.json_response(completion()) if n % 20 == 0 else fail_with(500)(n), {}),
        (lambda n: web.Response(status=500, text=("out of memory", "no worker")[n % 2]), {}),
    ],
)
def test_what_may_pass_does_not_end_the_asking(
    answer: Callable[[int], web.Response], options: dict[str, Any]
) -> None:
    asked, _ = ask_in_turn(answer, 45, max_attempts=1, **options)
    assert asked == 45


def test_an_endpoint_that_is_overrun_may_do_better_with_fewer_at_once() -> None:
    asked = 0

    async def handler(_request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.05)  # 32 are under way, then the other 8
        return web.Response(status=503)

    ask_script(
        handler,
        [rating_request(number) for number in range(40)],
        concurrency=40,
        max_attempts=1,
        outage_s=0,
    )
    assert asked == 40


def test_a_filtered_request_is_answered_for_good() -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.json_response(
            {"error": {"message": "The prompt was filtered", "code": "content_filter"}}, status=400
        )

    (reply,) = ask_script(handler, [rating_request()])
    assert isinstance(reply, Reply)
    assert (reply.finish_reason, reply.refusal) == ("content_filter", "The prompt was filtered")


def test_retry_after_holds_back_the_others_too() -> None:
    times: list[float] = []

    async def handler(_request: web.Request) -> web.Response:
        times.append(time.perf_counter())
        if len(times) == 1:
            return web.json_response(
                {"error": {"message": "slow down"}}, status=429, headers={"retry-after": "0.4"}
            )
        return web.json_response(completion())

    outcomes = ask_script(handler, [rating_request(number) for number in range(5)], concurrency=1)
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert times[1] - times[0] >= 0.4


def test_the_limit_that_an_endpoint_states_is_kept() -> None:
    """A meter that refills 50 a second from 5: it says so in its headers and refuses what is
    beyond.
    """
    level, last, refused = 5.0, time.perf_counter(), 0

    async def handler(_request: web.Request) -> web.Response:
        nonlocal level, last, refused
        now = time.perf_counter()
        level, last = min(5.0, level + (now - last) * 50), now
        reported = {
            "x-ratelimit-limit-requests": "5",
            "x-ratelimit-remaining-requests": str(int(max(0, level - 1))),
        }
        reported["x-ratelimit-reset-requests"] = f"{int(1000 * (5 - max(0, level - 1)) / 50)}ms"
        if level < 1:
            refused += 1
            return web.json_response(
                {"error": {"message": "too many"}}, status=429, headers=reported
            )
        level -= 1
        return web.json_response(completion(), headers=reported)

    outcomes = ask_script(
        handler, [rating_request(number) for number in range(60)], concurrency=4, max_attempts=20
    )
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert refused <= 12


def test_no_more_than_concurrency_are_in_flight() -> None:
    in_flight, most = 0, 0

    async def handler(_request: web.Request) -> web.Response:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.01)
        in_flight -= 1
        return web.json_response(completion())

    ask_script(handler, [rating_request(number) for number in range(40)], concurrency=8)
    assert most == 8


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            completion(None, message={"content": None, "refusal": "I will not"}),
            Reply("", refusal="I will not"),
        ),
        (completion("2", finish_reason="eos"), Reply("2", finish_reason="eos")),
        (completion("2", finish_reason=None), Reply("2", finish_reason="")),
        (completion("2", finish_reason=""), Reply("2", finish_reason="")),
        ({"choices": [{"message": {"content": "2"}}]}, Reply("2", finish_reason="")),
        (
            completion(
                "2",
                logprobs={
                    "content": [{"token": "2", "logprob": -1.5, "bytes": None, "top_logprobs": []}]
                },
            ),
            Reply("2", top_logprobs=((("2", -1.5),),)),
        ),
        (
            completion(
                "2",
                logprobs={
                    "content": [
                        {
                            "token": "2",
                            "logprob": -3,
                            "top_logprobs": [{"token": "1", "logprob": -1}],
                        }
                    ]
                },
            ),
            Reply("2", top_logprobs=((("2", -3.0), ("1", -1.0)),)),
        ),
    ],
)
def test_replies_of_other_servers_are_read(body: dict[str, Any], expected: Reply) -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.json_response(body)

    (reply,) = ask_script(handler, [rating_request()])
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason, reply.refusal) == (
        expected.text,
        expected.finish_reason,
        expected.refusal,
    )
    assert reply.top_logprobs == expected.top_logprobs
    assert reply.resolved_model == body.get("model", "")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{}", "200 the answer is no chat completion"),
        ("[]", "200 the answer is no chat completion"),
        ('{"choices": []}', "200 the answer is no chat completion"),
        ('{"choices": [{"message": {"content": 7}}]}', "200 the answer is no chat completion"),
        ('{"choices": [{"text": "2"}]}', "200 the answer is no chat completion"),
        (
            '{"error": {"message": "overloaded"}}',
            "200 the answer is no chat completion: overloaded",
        ),
        ("", "200 the answer is no whole JSON (0 bytes): an empty body"),
        ("<html>\n  busy</html>", "200 the answer is no whole JSON (20 bytes): <html> busy</html>"),
    ],
)
def test_a_body_that_is_no_completion_is_tried_again_and_then_a_failure(
    body: str, words: str
) -> None:
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request)
        return web.Response(text=body)

    (outcome,) = ask_script(handler, [rating_request()], max_attempts=2)
    assert f"attempt 2 of 2: {words}" in reason_of(outcome)
    assert len(asked) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_of_any_length_is_left_at_the_limit(
    monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """A packed one counts by what it unpacks to. It was answered: it is not asked for again."""
    monkeypatch.setattr(client, "MOST_BYTES", 2**20)
    n_asked = 0

    async def answer(_: web.Request) -> web.Response:
        nonlocal n_asked
        n_asked += 1
        response = web.json_response(completion("x" * 2**21))
        if packed:
            response.enable_compression()
        return response

    (outcome,) = ask_script(answer, [rating_request()], timeout_s=60.0)
    assert reason_of(outcome).endswith("the answer is longer than 1 MiB")
    assert n_asked == 1


def test_an_endpoint_that_is_not_there_is_a_failure() -> None:
    (outcome,) = ask(make_backend("http://127.0.0.1:9", max_attempts=2), [rating_request()])
    assert reason_of(outcome).startswith("127.0.0.1:9, standin/rules: attempt 2 of 2: ")
    assert "Cannot connect to host 127.0.0.1:9" in reason_of(outcome)


def test_images_are_refused_unless_there_is_an_encoder() -> None:
    request = Request("standin/rules", (Message("user", "Hi", (Image("a.jpg", None),)),))
    bodies = []

    async def handler(asked: web.Request) -> web.Response:
        bodies.append(await asked.json())
        return web.json_response(completion())

    (refused,) = ask_script(handler, [request])
    assert "'a.jpg': this judge sends text only" in reason_of(refused)
    (reply,) = ask_script(handler, [request], encode_image=lambda image: f"data:{image.uri}")
    assert isinstance(reply, Reply)
    (body,) = bodies
    image, text = body["messages"][0]["content"]
    assert (image["image_url"]["url"], text["text"]) == ("data:a.jpg", "Hi")


def test_a_text_that_json_cannot_hold_is_a_failure() -> None:
    (outcome,) = ask(
        make_backend("http://127.0.0.1:9"), [Request("standin/rules", (Message("user", "\ud800"),))]
    )
    assert "cannot be encoded" in reason_of(outcome)


def test_the_body_says_what_was_asked_and_nothing_else() -> None:
    conversation = (Message("system", "S"), Message("user", "U"), Message("assistant", "A"))
    request = Request("m", conversation, Decoding(temperature=None, max_tokens=9), draw=2)
    body = {"model": "n", "messages": [{"role": m.role, "content": m.text} for m in conversation]}
    assert json.loads(encode_request(request, "n", str, newer_limit=False)) == body | {
        "max_tokens": 9
    }
    decoding = Decoding(temperature=0.5, top_p=0.9, max_tokens=9, top_logprobs=5, seed=0)
    settings = {
        "temperature": 0.5,
        "top_p": 0.9,
        "logprobs": True,
        "top_logprobs": 5,
        "max_completion_tokens": 9,
    }
    drawn = Request("m", conversation, decoding, draw=2)
    assert json.loads(encode_request(drawn, "n", str, newer_limit=True)) == body | settings | {
        "seed": 2
    }


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("openai/gpt-4o-mini-2024-07-18", "gpt-4o-mini-2024-07-18"),
        ("openai/org/model", "org/model"),
        ("google/flan-t5-xxl", "google/flan-t5-xxl"),
        ("standin/rules", "standin/rules"),
        ("gpt-4o", "gpt-4o"),
        ("openai/", "openai/"),
    ],
)
def test_the_model_name_that_is_sent(model: str, sent: str) -> None:
    assert sent_model(model) == sent


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("http://host:8000", "http://host:8000/v1"),
        ("http://host:8000/", "http://host:8000/v1"),
        ("http://host:8000/v1/", "http://host:8000/v1"),
        ("http://host:8000/v1/chat/completions", "http://host:8000/v1"),
        (" https://host/chat/completions/ ", "https://host/v1"),
        ("https://host/v1beta/openai/", "https://host/v1beta/openai"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
    ],
)
def test_the_address_with_and_without_its_end(url: str, clean: str) -> None:
    assert clean_base_url(url) == clean


@pytest.mark.parametrize(
    "url",
    ["host:8000", "ftp://host", "http://", "http://host:x", "http://[", "http://host/v1?key=1"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BackendError, match="base_url"):
        clean_base_url(url)


def test_the_address_comes_from_the_argument_then_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert find_endpoint("openai/m", None, "OPENAI_API_KEY").base_url == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_API_BASE", "http://old")
    assert find_endpoint("openai/m", None, "OPENAI_API_KEY").base_url == "http://old/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://new")
    assert find_endpoint("openai/m", None, "OPENAI_API_KEY").base_url == "http://new/v1"
    endpoint = find_endpoint("openai/m", "http://argument", "OPENAI_API_KEY")
    assert (endpoint.base_url, endpoint.key) == ("http://argument/v1", KEY)
    assert KEY not in repr(endpoint)


def test_a_key_is_needed_except_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BackendError, match="JUDGE_KEY is not set"):
        OpenAIBackend("openai/m", None, "JUDGE_KEY")
    for url in ("http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"):
        assert find_endpoint("m", url, "JUDGE_KEY").key
    monkeypatch.setenv("JUDGE_KEY", "sk-two\nlines")
    with pytest.raises(BackendError, match="JUDGE_KEY holds characters") as caught:
        find_endpoint("openai/m", None, "JUDGE_KEY")
    assert "sk-two" not in str(caught.value)


def test_providers_have_their_own_address_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    monkeypatch.setenv(
        "OPENAI_BASE_URL", "http://elsewhere"
    )  # is OpenAI's models' and the unknown ones'
    endpoint = find_endpoint("mistral/mistral-small-2503", None)
    assert (endpoint.base_url, endpoint.key, sent_model("mistral/x")) == (
        "https://api.mistral.ai/v1",
        KEY,
        "x",
    )
    with pytest.raises(BackendError, match="GROQ_API_KEY is not set"):
        find_endpoint("groq/x", None)
    with pytest.raises(BackendError, match="MY_KEY is not set"):
        find_endpoint("groq/x", None, "MY_KEY")
    assert (
        find_endpoint("google/flan-t5-xxl", "http://127.0.0.1:8000").base_url
        == "http://127.0.0.1:8000/v1"
    )


@pytest.mark.parametrize(
    ("version", "path"),
    [
        (None, "/openai/v1/chat/completions"),
        ("2024-10-21", "/openai/deployments/gpt/chat/completions"),
    ],
)
def test_azure(version: str | None, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    with pytest.raises(BackendError, match="AZURE_OPENAI_ENDPOINT is not set"):
        find_endpoint("azure/gpt", None)
    if version:
        monkeypatch.setenv("OPENAI_API_VERSION", version)
    seen: list[web.Request] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.json_response(completion("So rating=3"))

    async def drive() -> object:
        app = web.Application()
        app.router.add_post(path, handler)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", f"http://127.0.0.1:{runner.addresses[0][1]}/")
        backend = OpenAIBackend("azure/gpt")
        try:
            return await backend.reply(rating_request(model="azure/gpt"))
        finally:
            await backend.close()
            await runner.cleanup()

    reply = asyncio.run(drive())
    assert isinstance(reply, Reply), reply
    (request,) = seen
    assert request.headers["api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.query.get("api-version") == version
