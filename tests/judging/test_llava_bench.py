"""LLaVA-Bench style scoring: two answers, two numbers; whose number is whose in either order."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.digests import judge_id
from judgelake.tasks.judging import llava_bench
from judgelake.tasks.judging.llava_bench import LlavaBenchOptions
from judgelake.tasks.types import (
    JUDGE,
    Case,
    Choice,
    Decoding,
    Failure,
    Image,
    Message,
    Reply,
    Verdict,
)
from tests.judging.judging_by_hand import MODEL, MODELS, ask, conclude, make_case

IMAGE = Image("cat.png", "f" * 64)


def pair_case(shown_first: str = "a", **more: Any) -> Case:
    given: dict[str, Any] = {
        "images": (IMAGE,),
        "other_answer": "A dog.",
        "task": "instruction",
        **more,
    }
    return make_case("A cat.", shown_first=shown_first, **given)


def render(case: Case, **options: Any) -> tuple[Message, ...]:
    (request,) = ask(llava_bench.judge(case, LlavaBenchOptions(**options), MODELS))
    return request.messages


def score(reply: Reply | Failure | str, shown_first: str = "a") -> Verdict:
    return conclude(llava_bench.judge(pair_case(shown_first), LlavaBenchOptions(), MODELS), reply)


def test_question_and_answers_stand_before_what_is_asked() -> None:
    system, user = render(pair_case())
    assert (system.role, user.role, user.images) == ("system", "user", (IMAGE,))
    *parts, asked = user.text.split("\n\n")
    assert parts == [
        "[Question]\nWhat is it?\n[End of question]",
        "[Answer 1]\nA cat.\n[End of answer 1]",
        "[Answer 2]\nA dog.\n[End of answer 2]",
    ]
    assert "on a scale of 1 to 10" in asked
    assert "one line that holds two numbers and nothing else" in asked
    assert "the question about the image:" in asked
    assert all(quality in asked for quality in ("helpful", "relevant", "accurate", "detailed"))


def test_the_answer_shown_first_is_answer_1() -> None:
    (_, user) = render(pair_case("b"))
    assert "[Answer 1]\nA dog.\n[End of answer 1]\n\n[Answer 2]\nA cat.\n" in user.text


def test_the_context_stands_in_for_the_image() -> None:
    (_, user) = render(
        pair_case(images=(), caption="A cat\nin a box."), image="absent", caption="people"
    )
    assert user.text.startswith("[Context]\nA cat\nin a box.\n[End of context]\n\n[Question]\n")
    assert "about an image that the context describes" in user.text
    (_, bare) = render(pair_case(images=(), caption="A cat."), image="absent")
    assert "ontext" not in bare.text
    assert "image" not in bare.text


def test_a_missing_context_is_a_failed_verdict_and_no_call() -> None:
    options = LlavaBenchOptions(image="absent", caption="people")
    assert conclude(llava_bench.judge(pair_case(images=()), options, MODELS)).status == "failed"


def test_one_request_a_sample() -> None:
    (request,) = ask(llava_bench.judge(pair_case(sample=1), LlavaBenchOptions(seed=4), MODELS))
    assert (request.draw, request.decoding) == (
        1,
        Decoding(temperature=0.2, top_p=None, max_tokens=1024, seed=4),
    )


@pytest.mark.parametrize(
    ("line", "shown_first", "choice", "scores"),
    [
        ("9 8.5", "a", "a", (9, 8.5)),
        ("9 8.5", "b", "b", (8.5, 9)),
        ("7, 8", "a", "b", (7, 8)),
        ("8 8", "b", "tie", (8, 8)),
        ("0 10", "a", "b", (0, 10)),
    ],
)
def test_the_higher_score_wins(
    line: str, shown_first: str, choice: Choice, scores: tuple[float, float]
) -> None:
    text = f"{line}\nBecause."
    assert score(text, shown_first) == Verdict(
        "ok", choice=choice, score_a=scores[0], score_b=scores[1], rationale=text
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8",
        "Both are good.",
        "11 8\nBecause.",
        "８ ９",
        '{"1": 8, "2": 9}',
        "8 or 9\nHard to say.",
    ],
)
def test_a_reply_without_two_scores_is_unparsed_and_its_text_kept(text: str) -> None:
    found = score(text)
    assert (found.status, found.choice, found.score_a, found.rationale) == (
        "unparsed",
        None,
        None,
        text,
    )


@pytest.mark.parametrize(
    ("reply", "status"),
    [(Failure("503"), "failed"), (Reply("9 8", finish_reason="length"), "truncated")],
)
def test_what_cannot_be_read_says_why(reply: Reply | Failure, status: str) -> None:
    assert score(reply).status == status


def test_the_wants() -> None:
    wants = llava_bench.list_wants(LlavaBenchOptions())
    assert (wants.unit, wants.matchups, wants.both_orders, wants.criteria, wants.image) == (
        "pair", "reference", True, (("overall",),), True,
    )  # fmt: skip
    other = llava_bench.list_wants(
        LlavaBenchOptions(
            matchups="all", both_orders=False, seed=5, image="absent", caption="people"
        )
    )
    assert (other.matchups, other.both_orders, other.seed, other.image, other.captioner) == (
        "all",
        False,
        5,
        "absent",
        "people",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"caption": "people"}, "caption: people; expected with `image: absent`"),
        ({"samples": 0}, "samples: 0; expected"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LlavaBenchOptions(**options)


def own_id(model: str = MODEL, **options: Any) -> str:
    return judge_id(llava_bench.call_signature(LlavaBenchOptions(**options), {JUDGE: model}))


def test_whatever_changes_the_request_changes_the_judge(tmp_path: Path) -> None:
    (tmp_path / "llava_bench.txt").write_text("{{ answer_1 }} {{ answer_2 }}")
    variants: list[dict[str, Any]] = [
        {}, {"image": "absent", "caption": "people"}, {"temperature": 0.0}, {"top_p": 0.9}, {"max_tokens": 64}, {"seed": 0},
        {"templates": tmp_path}, {"model": "x"},
    ]  # fmt: skip
    assert len({own_id(**variant) for variant in variants}) == len(variants)
    fields = {field.name for field in dataclasses.fields(LlavaBenchOptions)}
    which_cases = {"matchups", "both_orders", "samples"}
    assert {key for variant in variants for key in variant} - {"model"} == fields - which_cases
    assert own_id(matchups="all", both_orders=False, samples=2) == own_id()


def test_the_user_s_template_is_asked_with(tmp_path: Path) -> None:
    (tmp_path / "llava_bench.txt").write_text(
        "{{ image }}|{{ caption }}|{{ question }}|{{ answer_1 }}|{{ answer_2 }}"
    )
    assert [message.text for message in render(pair_case(), templates=tmp_path)] == [
        "1|None|What is it?|A cat.|A dog."
    ]
