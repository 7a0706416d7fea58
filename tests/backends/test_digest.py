import dataclasses
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.types import Box, Decoding, Image, Message, Request

SHA = "ab" * 32
A, B = Image("a", "aa"), Image("b", "bb")

REQUEST = Request(
    "openai/gpt-4o",
    (Message("system", "Gib acht: ä"), Message("user", "Hi", (Image("a.jpg", SHA),))),
    Decoding(seed=0),
)
# the canonical text written out by hand, so that a change of the format is seen for what it is
CANONICAL = (
    '{"decoding":{"max_tokens":512,"seed":0,"temperature":0.0,"top_logprobs":0,"top_p":null},'
    '"messages":[{"images":[],"role":"system","text":"Gib acht: ä"},{"images":[{"sha256":"'
    + SHA
    + '"}],"role":"user","text":"Hi"}],'
    '"model":"openai/gpt-4o"}'
)
PINNED = "4d79e8188483a58c90de1c9902fa4230ea101a31512774e8181f1830bcabffef"


def test_the_digest_is_that_of_the_lakes_format() -> None:
    assert request_digest(REQUEST) == PINNED == hashlib.sha256(CANONICAL.encode()).hexdigest()


def test_the_digest_is_the_same_in_another_process() -> None:
    code = (
        "from tests.backends.test_digest import REQUEST, request_digest; "
        "print(request_digest(REQUEST))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout.strip() == PINNED


def test_the_draw_and_the_type_of_a_number_do_not_count() -> None:
    assert request_digest(dataclasses.replace(REQUEST, draw=3)) == PINNED
    assert (
        request_digest(dataclasses.replace(REQUEST, decoding=Decoding(temperature=0, seed=0)))
        == PINNED
    )


def test_where_an_image_lies_and_which_endpoint_is_asked_do_not_count() -> None:
    moved = Message("user", "Hi", (Image("elsewhere/a.jpg", SHA),))
    assert (
        request_digest(
            dataclasses.replace(REQUEST, messages=(REQUEST.messages[0], moved), endpoint="vlm")
        )
        == PINNED
    )


def test_everything_else_counts() -> None:
    user = Message("user", "Hi")
    others = [
        dataclasses.replace(REQUEST, model="openai/gpt-4o-mini"),
        *(
            dataclasses.replace(REQUEST, messages=messages)
            for messages in [
                (),
                (user,),
                (user, user),
                (Message("user", "Hi", (A, B)),),
                (Message("user", "Hi", (B, A)),),
                (Message("user", "Hi", (Image("https://x/a.jpg", None),)),),
                (Message("user", "Hi", (Image("a", "aa", (Box(1, 2, 3, 4),)),)),),
            ]
        ),
        *(
            dataclasses.replace(REQUEST, decoding=decoding)
            for decoding in [
                Decoding(),
                Decoding(seed=1),
                Decoding(None),
                Decoding(1.0),
                Decoding(top_p=0.0),
                Decoding(top_logprobs=1),
            ]
        ),
        dataclasses.replace(REQUEST, decoding=Decoding(max_tokens=1)),
        dataclasses.replace(REQUEST, scored="Hi"),
    ]
    assert len({PINNED, *map(request_digest, others)}) == len(others) + 1


def test_a_lone_surrogate_has_a_digest_too() -> None:
    assert len(request_digest(Request("m", (Message("user", "\ud800"),)))) == 64


TEXTS = st.text(max_size=12)  # control characters and halves of surrogate pairs among them
IMAGES = st.builds(
    Image, TEXTS, st.none() | st.just(SHA), st.just(()) | st.just((Box(1e-5, 2, 1e16, 0.1),))
)
DECODINGS = st.builds(
    Decoding,
    st.none() | st.floats(0, 2),
    st.none() | st.floats(0, 1),
    st.integers(0, 9),
    st.integers(0, 20),
)
MESSAGES = st.builds(Message, st.just("user"), TEXTS, st.lists(IMAGES, max_size=2).map(tuple))


@given(
    st.builds(Request, TEXTS, st.lists(MESSAGES, max_size=3).map(tuple), DECODINGS, scored=TEXTS)
)
def test_the_short_way_and_the_long_way_are_the_same(request: Request) -> None:
    def name(image: Image) -> dict[str, object]:
        named: dict[str, object] = {"sha256": image.sha256} if image.sha256 else {"uri": image.uri}
        return named | (
            {"boxes": [[float(side) for side in box] for box in image.boxes]} if image.boxes else {}
        )

    reported: dict[str, object] = {
        "model": request.model,
        "decoding": dataclasses.asdict(request.decoding),
    }
    reported["messages"] = [
        {"role": one.role, "text": one.text, "images": [*map(name, one.images)]}
        for one in request.messages
    ]
    reported |= {"scored": request.scored} if request.scored else {}
    text = json.dumps(reported, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert (
        request_digest(request) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    )
