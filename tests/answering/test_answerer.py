"""The answerers' protocol by hand: what is asked for each prompt and task, what is recorded, and how
replies are read.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.answering.answerer import (
    ANSWERER,
    STYLE_OF,
    TASKS,
    AnswerOptions,
    answer,
    call_signature,
    read_verdict,
    reading_signature,
)
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.standin.answers import answer_request
from judgelake.tasks.standin.rules import Asked, describe_image
from judgelake.tasks.types import Box, Case, Failure, Image, Reply, Request, Verdict

MODELS = {"judge": "some/vlm"}
IMAGE = Image("a.png", "a" * 64)


def make_case(task: str = "vqa", prompt: str = "What is it?", **more: Any) -> Case:
    more.setdefault("images", (IMAGE,))
    return Case("b", "i", task, prompt, ("cat",), "", "d" * 16, criteria=("answer",), **more)


def ask(case: Case, **options: Any) -> Request:
    (request,) = next(answer(case, AnswerOptions(**options), MODELS))
    return request


def conclude(case: Case, reply: Reply | Failure, **options: Any) -> Verdict:
    running = answer(case, AnswerOptions(**options), MODELS)
    next(running)
    with pytest.raises(StopIteration) as end:
        running.send([reply])
    (verdict,) = end.value.value
    assert isinstance(verdict, Verdict)
    return verdict


def test_the_prompt_is_the_items_own_and_what_is_asked_for() -> None:
    short, long = (ask(make_case(), prompt=kind).messages[0] for kind in ("short", "long"))
    assert short.text.startswith("What is it?\n")
    assert "no sentence" in short.text
    assert long.text.startswith("What is it?\n")
    assert "full sentences" in long.text
    assert short.images == long.images == (IMAGE,)
    assert "cat" not in short.text + long.text  # a reference is not shown to who answers


def test_each_task_has_its_wording() -> None:
    asked = {task: ask(make_case(task)).messages[0].text for task in TASKS}
    assert len({*asked.values()}) == len(TASKS)
    assert asked["instruction"] == "What is it?"
    assert all(text.startswith("What is it?") for text in asked.values())
    assert "red box" in ask(make_case("referring", "")).messages[0].text
    assert "Describe the image." in ask(make_case("caption", " ")).messages[0].text


def test_boxes_and_decoding_are_those_of_case_and_options() -> None:
    boxed = replace(IMAGE, boxes=(Box(1, 2, 3, 4),))
    request = ask(
        make_case("referring", images=(boxed,), sample=2),
        samples=3,
        temperature=0.7,
        top_p=0.9,
        max_tokens=64,
        seed=5,
    )
    decoding = request.decoding
    assert request.messages[0].images[0].boxes == (Box(1, 2, 3, 4),)
    assert (request.draw, request.model) == (2, "some/vlm")
    assert (decoding.temperature, decoding.top_p, decoding.max_tokens, decoding.seed) == (
        *(0.7, 0.9),
        *(64, 5),
    )


@pytest.mark.parametrize(
    ("options", "styles"),
    [
        ({"prompt": "short"}, dict.fromkeys(TASKS, "short")),
        ({"prompt": "long"}, dict.fromkeys(TASKS, "long")),
        ({}, STYLE_OF),
        ({"style": "long"}, dict.fromkeys(TASKS, "long")),
        ({"prompt": "long", "style": "short"}, dict.fromkeys(TASKS, "short")),
    ],
)
def test_style_and_model_are_recorded(options: dict[str, Any], styles: dict[str, str]) -> None:
    found = {task: conclude(make_case(task), Reply("x"), **options).made or {} for task in TASKS}
    assert {task: made["style"] for task, made in found.items()} == styles
    assert {made["model"] for made in found.values()} == {"some/vlm"}
    named = conclude(make_case(), Reply("x"), recorded_as="vlm")
    assert named.made == {"model": "vlm", "style": "short"}


def test_an_item_without_its_image_is_not_asked() -> None:
    gone = make_case(images=(Image("gone.png", None),))
    with pytest.raises(StopIteration) as end:
        next(answer(gone, AnswerOptions(), MODELS))
    (verdict,) = end.value.value
    assert (verdict.status, verdict.made) == (
        "missing_image",
        {"model": "some/vlm", "style": "short"},
    )
    assert ask(replace(gone, images=()), image="absent").messages[0].images == ()


@pytest.mark.parametrize(
    ("reply", "status", "text"),
    [
        (Reply(" a cat\n"), "ok", "a cat"),
        (Reply("a\x00 c\x1bat\tnow"), "ok", "a cat\tnow"),
        (Reply("\x00 \n"), "unparsed", None),
        (Reply(""), "unparsed", None),
        (Reply("a long", finish_reason="length"), "truncated", None),
        (Reply("", finish_reason="content_filter"), "filtered", None),
        (Reply("", refusal="I cannot"), "refused", None),
        (Failure("no route"), "failed", None),
    ],
)
def test_the_whole_reply_is_the_answer(
    reply: Reply | Failure, status: str, text: str | None
) -> None:
    verdict = read_verdict(reply)
    assert (verdict.status, verdict.text) == (status, text)


def test_an_answer_that_was_cut_off_is_kept_where_that_is_wanted() -> None:
    cut = Reply("a long", finish_reason="length")
    assert read_verdict(cut, keep_truncated=True) == Verdict("ok", text="a long")
    assert read_verdict(replace(cut, text=" "), keep_truncated=True).status == "unparsed"


def test_what_is_asked_signs_the_answerer_and_what_is_recorded_its_reading(tmp_path: Path) -> None:
    plain = AnswerOptions()
    for other in (
        AnswerOptions(prompt="short"),
        AnswerOptions(temperature=0.5),
        AnswerOptions(max_tokens=9),
        AnswerOptions(seed=1),
        AnswerOptions(top_p=0.5),
    ):
        assert call_signature(other, MODELS) != call_signature(plain, MODELS)
        assert reading_signature(other) == reading_signature(plain)
    for other in (
        AnswerOptions(recorded_as="vlm"),
        AnswerOptions(style="long"),
        AnswerOptions(keep_truncated=True),
    ):
        assert call_signature(other, MODELS) == call_signature(plain, MODELS)
        assert reading_signature(other) != reading_signature(plain)
    (tmp_path / "answer_task.txt").write_text("{{ prompt }} Now!")
    own = AnswerOptions(templates=tmp_path)
    assert call_signature(own, MODELS) != call_signature(plain, MODELS)
    assert ask(make_case(), templates=tmp_path).messages[0].text == "What is it? Now!"
    (tmp_path / "answers.txt").write_text("x")
    with pytest.raises(SuiteError, match="replaces no prompt of this judge"):
        call_signature(own, MODELS)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"samples": 0}, "samples: 0; expected a whole number from 1"),
        ({"samples": 2}, "where all samples are alike"),
        ({"recorded_as": " "}, "expected the name of a model"),
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AnswerOptions(**wrong)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("prompt", ["short", "long", "task"])
def test_the_stand_in_answers_every_prompt(task: str, prompt: str) -> None:
    request = ask(make_case(task), prompt=prompt)
    text = "".join(answer_request(Asked(request.messages[0].text, ("e" * 64,))).tokens)
    described = describe_image("e" * 64)
    style = ANSWERER.options(prompt=prompt).find_style(task)
    assert (text == described) is (style == "long")
    assert text in described


def test_without_an_image_the_stand_in_takes_a_word_of_the_question() -> None:
    request = ask(make_case(prompt="Which horse won?"), prompt="short", image="absent")
    text = "".join(answer_request(Asked(request.messages[0].text)).tokens)
    assert text in {"which", "hors", "horse", "won"}
