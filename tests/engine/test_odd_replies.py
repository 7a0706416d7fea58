"""A reply with any field of any type, from the endpoint's bytes through the ledger to the lake: it is
kept or refused, and no other reply is lost with it.
"""

import asyncio
import contextlib
import copy
import dataclasses
import functools
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.backends.openai.adapting import learn
from judgelake.tasks.backends.openai.client import OpenAIBackend
from judgelake.tasks.backends.openai.format import (
    AS_IT_IS,
    decode_reply,
    decode_scores,
    read_error,
    read_error_code,
)
from judgelake.tasks.backends.openai.limits import BackOff
from judgelake.tasks.engine.engine import judge_cases
from judgelake.tasks.engine.ledger import Ledger, load_replies
from judgelake.tasks.judging.lave import LaveOptions, judge, read_verdict
from judgelake.tasks.types import Case, Failure, Message, Pending, Reply, Request
from tests.backends.asking import rating_request, scripted_endpoint
from tests.judging.judging_by_hand import MODELS, make_case
from tests.lakes import make_lake, query

JUDGE = "a" * 16
ENTRY = {"token": "So", "logprob": -0.5, "top_logprobs": [{"token": "so", "logprob": -1.0}]}
WHOLE: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "snapshot-1",
    "service_tier": None,
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "So rating=3", "refusal": None},
            "logprobs": {"content": [ENTRY], "refusal": None},
        }
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 4},
    },
}
SCORED: dict[str, Any] = {
    "model": "snapshot-1",
    "choices": [
        {"logprobs": {"tokens": ["Q", " a"], "token_logprobs": [None, -1.0], "text_offset": [0, 1]}}
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 0},
}
ODD: tuple[Any, ...] = (
    None, True, -1, 10**18, 10**19, -(10**19), 1e308, "", "many", "\x00\x1b\ud7ff", [], [None], ["a", 1], {}, {"a": {"b": []}},
    {"text": "a", "type": "text"}, [{"type": "text", "text": 5}],
)  # fmt: skip


def list_places(value: Any) -> Iterator[tuple[str | int, ...]]:
    """The path of each field in a body."""
    pairs: Any = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in pairs:
        yield (key,)
        yield from ((key, *rest) for rest in list_places(inner))


def replace_at(body: Any, place: tuple[str | int, ...], value: Any) -> Any:
    changed = copy.deepcopy(body)
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return changed


def list_odd(body: Any) -> list[bytes]:
    """The body with each of its fields replaced by each odd value, and left out."""
    bodies = [replace_at(body, place, odd) for place in list_places(body) for odd in ODD]
    return [json.dumps(one).encode() for one in bodies]


def decode_all(decode: Callable[[bytes], Reply], bodies: list[bytes]) -> list[Reply]:
    """The replies that could be read; each other body must be refused with a ValueError."""
    replies = []
    for body in bodies:
        with contextlib.suppress(ValueError):
            replies.append(decode(body))
    return replies


def decode_score(body: bytes) -> Reply:
    return decode_scores(Request("m", (Message("user", "Q"),), scored=" a"), body, 1.0)


def test_any_field_of_any_type_costs_no_other_reply(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ledger = Ledger(lake, "run-1", JUDGE, "r1")
    odd = list_odd(WHOLE)
    replies = decode_all(decode_reply, odd) + decode_all(decode_score, list_odd(SCORED))
    good = decode_reply(json.dumps(WHOLE).encode())
    # beside the text, its message and the choices no field costs the reply
    texts = [
        replace_at(WHOLE, place, value)
        for place in list_places(WHOLE)
        if place[:1] in (("model",), ("usage",), ("id",))
        or "finish_reason" in place
        or "logprobs" in place
        for value in ODD
    ]
    kept = decode_all(decode_reply, [json.dumps(one).encode() for one in texts])
    assert len(kept) == len(texts)
    assert {reply.text for reply in kept} == {"So rating=3"}
    for number, reply in enumerate([good, *replies, good]):
        request = Request("m", (Message("user", f"Q{number}"),))
        digest = request_digest(request)
        ledger.keep_reply(digest, request, reply)
        case = Case("b", f"i{number}", "vqa", "Q", ("r",), "a", f"{number:016}")
        verdict = read_verdict(reply, LaveOptions())
        ledger.keep_verdicts(case, [verdict], [digest])
    asyncio.run(ledger.flush())
    n = len(replies) + 2
    assert len(replies) > 300
    assert query(lake, "select count(*) as n from stg_replies") == [{"n": n}]
    assert query(lake, "select count(*) as n from stg_verdicts") == [{"n": n}]
    stored = load_replies(lake, JUDGE)
    assert len([stored[key] for key in stored]) == n


def test_an_end_of_another_type_or_none_is_never_scored() -> None:
    for odd in (5, True, [], {"a": 1}, ["stop"], None, ""):
        body = replace_at(WHOLE, ("choices", 0, "finish_reason"), odd)
        reply = decode_reply(json.dumps(body).encode())
        assert read_verdict(reply, LaveOptions()).status == "unparsed"


NAMES = sorted({place[-1] for place in list_places(WHOLE) if isinstance(place[-1], str)})
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**62, 2**70)
    | st.floats()  # of them NaN and the infinities, which are no JSON, but which servers send
    | st.text(st.characters(), max_size=20),  # of them lone surrogates
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)
PLACES = [(), *list_places(WHOLE)]
ODD_BODIES = st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=16, max_size=16)


def send_all(ledger: Ledger, cases: list[Case], bodies: Mapping[str, bytes]) -> None:
    """Judge the cases as a shard does; the endpoint answers each by the body of its answer."""

    async def answer(asked: web.Request) -> web.Response:
        prompt = (await asked.json())["messages"][-1]["content"]
        body = next(body for said, body in bodies.items() if f"{said}\n" in prompt)
        return web.Response(body=body, content_type="application/json")

    async def drive() -> None:
        async with scripted_endpoint(answer) as base_url:
            backend = OpenAIBackend("standin/rules", base_url, max_attempts=1)
            start = functools.partial(judge, options=LaveOptions(), models=MODELS)
            try:
                await judge_cases(cases, start, backend, ledger, lambda: False)
                await ledger.flush()
            finally:
                await backend.close()

    asyncio.run(drive())


@given(ODD_BODIES)
def test_any_json_in_any_field_costs_no_other_reply(
    odd: list[tuple[tuple[str | int, ...], Any]],
) -> None:
    """From the endpoint over the ledger to the lake; each odd body between two good ones."""
    bodies = {"good 0": json.dumps(WHOLE).encode()}
    for number, (place, value) in enumerate(odd, 1):
        body = replace_at(WHOLE, place, value) if place else value
        bodies |= {f"odd {number}": json.dumps(body).encode(), f"good {number}": bodies["good 0"]}
    cases = [
        replace(make_case(said), item_id=f"i{number}", content_digest=f"{number:016}")
        for number, said in enumerate(bodies)
    ]
    with tempfile.TemporaryDirectory() as folder:
        lake = make_lake(Path(folder))
        ledger = Ledger(lake, "run-1", JUDGE, "r1")
        send_all(ledger, cases, bodies)
        verdicts = query(lake, "select item_id, status, reply_digests from stg_verdicts")
        stored = load_replies(lake, JUDGE)
        assert {row["item_id"] for row in verdicts} == {case.item_id for case in cases}
        assert len(stored) == sum(row["status"] != "failed" for row in verdicts)
        for row in verdicts:
            (digest,) = row["reply_digests"]
            case = cases[int(row["item_id"][1:])]
            kept = ledger.find_reply(digest, 0)
            assert (kept is None) == (row["status"] == "failed")
            assert kept is None or find_words(stored[digest, 0]) == find_words(kept)
            if case.answer.startswith("good"):
                assert (row["status"], kept and kept.text) == ("ok", "So rating=3")


def find_words(reply: Reply) -> tuple[object, ...]:
    """All of a reply but its log-probabilities and latency, which the lake rounds."""
    return dataclasses.astuple(replace(reply, top_logprobs=(), latency_ms=None))


@pytest.mark.parametrize("decode", [decode_reply, decode_score])
@pytest.mark.parametrize("opening", [b"[", b'{"choices": [', b'{"a": '])
def test_depth_ends_no_run(decode: Callable[[bytes], Reply], opening: bytes) -> None:
    assert decode_all(decode, [opening * 100_000]) == []


def nest(depth: int) -> str:
    return "[" * depth + "]" * depth


def run_deep(n_frames: int, work: Callable[[], None]) -> None:
    """Run `work` below so many frames, as a worker's own are."""
    run_deep(n_frames - 1, work) if n_frames else work()


@pytest.mark.parametrize("depth", [200, 254, 255, 300, 900, 1000, 1024, 1025, 5000])
def test_a_reply_of_any_depth_is_read_or_refused(depth: int) -> None:
    bodies = [
        json.dumps(replace_at(whole, place, "DEEP")).replace('"DEEP"', nest(depth)).encode()
        for whole in (WHOLE, SCORED)
        for place in list_places(whole)
    ]
    bodies += [
        text.encode()
        for value in (nest(depth), '{"a":' * depth + "1" + "}" * depth)
        for text in (value, f'{{"error": {value}}}', f'{{"error": {{"message": {value}}}}}')
    ]

    def read() -> None:
        for body in bodies:
            decode_all(decode_reply, [body])
            decode_all(decode_score, [body])
            decode_all(decode_reply, [b"data: " + body + b"\n\ndata: [DONE]\n\n"])
            assert read_error(body)
            read_error_code(body)
            learn(AS_IT_IS, json.dumps({"messages": [], "temperature": 0}).encode(), body)

    run_deep(100, read)


def test_a_deep_reply_over_http_fails_alone() -> None:
    deep = f'{{"error": {{"message": {nest(300)}}}}}'

    async def handle(request: web.Request) -> web.Response:
        text = (await request.json())["messages"][-1]["content"]
        number = int(re.findall(r"photo (\d+)", text)[0])
        is_deep = number % 7 == 0
        return web.Response(
            text=deep if is_deep else json.dumps(WHOLE),
            status=400 if number == 0 else 200,
            content_type="application/json",
        )

    async def drive() -> list[Reply | Failure | Pending]:
        async with scripted_endpoint(handle) as base_url:
            backend = OpenAIBackend("m", base_url, back_off=BackOff(0, 0), max_attempts=2)
            requests = [rating_request(number, model="m") for number in range(30)]
            try:
                return await asyncio.gather(*map(backend.reply, requests))
            finally:
                await backend.close()

    found = asyncio.run(drive())
    assert [n for n, one in enumerate(found) if isinstance(one, Failure)] == [0, 7, 14, 21, 28]
