"""Captions of images, for judges that read text only."""

from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.digests import judge_id
from judgelake.tasks.judging import captions
from judgelake.tasks.judging.captions import CaptionsOptions
from judgelake.tasks.types import JUDGE, Case, Decoding, Failure, Image, Reply, Verdict
from tests.judging.judging_by_hand import MODEL, MODELS, ask, conclude

IMAGE = Image("cat.png", "f" * 64)
CASE = Case(
    "b",
    "i1",
    "caption",
    "",
    (),
    "",
    "",
    context_digest="f" * 16,
    criterion="caption",
    images=(IMAGE,),
)


def write(reply: Reply | Failure | str) -> Verdict:
    return conclude(captions.judge(CASE, CaptionsOptions(), MODELS), reply)


def test_one_request_with_the_image() -> None:
    (request,) = ask(captions.judge(CASE, CaptionsOptions(max_tokens=99, seed=0), MODELS))
    (message,) = request.messages
    assert (message.role, message.images) == ("user", (IMAGE,))
    assert message.text.startswith("Describe the image")
    assert (request.model, request.decoding) == (
        MODEL,
        Decoding(temperature=0.0, max_tokens=99, seed=0),
    )


def test_the_reply_is_the_caption() -> None:
    assert write(" A cat in a box.\n") == Verdict("ok", text="A cat in a box.")


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("", "unparsed"),
        (" \n", "unparsed"),
        (Failure("503"), "failed"),
        (Reply("", refusal="no"), "refused"),
        (Reply("A cat in", finish_reason="length"), "truncated"),
    ],
)
def test_no_caption_says_why(reply: Reply | Failure | str, status: str) -> None:
    found = write(reply)
    assert (found.status, found.text) == (status, None)


def test_it_wants_each_image_once() -> None:
    wants = captions.list_wants(CaptionsOptions())
    assert (wants.unit, wants.image, wants.criteria, wants.samples) == (
        "image",
        True,
        (("caption",),),
        1,
    )


def test_whatever_changes_the_request_changes_the_captioner(tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text("What is there?")
    variants: list[dict[str, Any]] = [
        {},
        {"temperature": 1.0},
        {"top_p": 0.9},
        {"max_tokens": 64},
        {"seed": 0},
        {"templates": tmp_path},
    ]
    signatures = [
        captions.call_signature(CaptionsOptions(**variant), MODELS) for variant in variants
    ]
    assert (
        len(
            {
                judge_id(one)
                for one in [*signatures, captions.call_signature(CaptionsOptions(), {JUDGE: "x"})]
            }
        )
        == 7
    )
    assert (
        ask(captions.judge(CASE, CaptionsOptions(templates=tmp_path), MODELS))[0].messages[0].text
        == "What is there?"
    )
