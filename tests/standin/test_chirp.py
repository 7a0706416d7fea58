"""The stand-in as CHIRP's judges, driven by the protocols themselves: every style and method comes
to a verdict, by its written rule.
"""

import hashlib
from typing import Any, get_args

import pytest

from judgelake.tasks.judging import chirp_grading, chirp_pairs
from judgelake.tasks.judging.chirp import Style
from judgelake.tasks.judging.chirp_grading import ChirpGradingOptions
from judgelake.tasks.judging.chirp_pairs import CRITERIA, ChirpOptions
from judgelake.tasks.standin.answers import answer_request
from judgelake.tasks.standin.chirp import judge_chirp
from judgelake.tasks.standin.rules import Asked
from judgelake.tasks.types import Case, Image, Judge, Reply, Request, Verdict

MODELS = dict.fromkeys(("judge", "vlm", "extractor"), "standin/rules")
ANSWERS = [
    "A red bus waits at the crossing while two people with umbrellas walk past the bakery.",
    "The street is wet, and a cyclist in a yellow coat looks at the clock above the shop.",
    "It shows a dog.",
    "There are lights, cars, a tree, a bench, a bin, a sign, a lamp, a cat and a long wall in "
    "the evening sun.",
]


def reply_to(request: Request) -> Reply:
    text = "\n".join(message.text for message in request.messages)
    images = tuple(image.sha256 or "" for message in request.messages for image in message.images)
    return Reply("".join(answer_request(Asked(text, images)).tokens))


def play(judge: Judge) -> Verdict:
    step = next(judge)
    while True:
        try:
            step = judge.send([reply_to(request) for request in step])
        except StopIteration as end:
            (verdict,) = end.value
            assert isinstance(verdict, Verdict)
            return verdict


def picture(name: str) -> tuple[Image, ...]:
    return (Image(f"{name}.jpg", hashlib.sha256(name.encode()).hexdigest()),)


def judge_pair(
    a: str,
    b: str,
    criterion: str = "overall",
    seen: str = "street",
    shown_first: str = "a",
    **options: Any,
) -> Verdict:
    shown = picture(seen) if options.get("image", True) != "absent" else ()
    case = Case(
        "b",
        "i",
        "vqa",
        "What is in the street?",
        (),
        a,
        "d",
        criterion=criterion,
        images=shown,
        other_answer=b,
        shown_first=shown_first,
    )
    return play(chirp_pairs.judge(case, ChirpOptions(**{"style": "simple", **options}), MODELS))


def grade(
    answer: str, seen: str = "street", references: tuple[str, ...] = ("a red bus",), **options: Any
) -> Verdict:
    shown = picture(seen) if options.get("image", True) != "absent" else ()
    case = Case(
        "b", "i", "vqa", "What waits at the crossing?", references, answer, "d", images=shown
    )
    return play(chirp_grading.judge(case, ChirpGradingOptions(**options), MODELS))


@pytest.mark.parametrize("style", get_args(Style))
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("image", [True, "absent", "swapped"])
def test_every_style_and_criterion_comes_to_a_choice_that_does_not_hang_on_the_order(
    style: Any, ties: bool, image: Any
) -> None:
    for criterion in CRITERIA:
        for a, b in [(ANSWERS[0], ANSWERS[1]), (ANSWERS[2], ANSWERS[3])]:
            options = {"criterion": criterion, "style": style, "ties": ties, "image": image}
            one, other = judge_pair(a, b, **options), judge_pair(a, b, shown_first="b", **options)
            assert one.status == other.status == "ok"
            assert one.choice == other.choice != "tie"


def test_equal_weights_are_a_tie_where_it_is_allowed_and_the_first_where_not() -> None:
    a, b = "A dog barks.", "A barks dog!"  # the same content words
    for style in get_args(Style):
        assert judge_pair(a, b, style=style, ties=True).choice == "tie"
        assert [judge_pair(a, b, style=style, shown_first=first).choice for first in "ab"] == [
            "a",
            "b",
        ]


def test_what_is_preferred_depends_on_the_image() -> None:
    choices = {
        judge_pair(ANSWERS[0], ANSWERS[1], seen=f"image-{number}").choice for number in range(12)
    }
    assert choices == {"a", "b"}
    # without an image each response is borne out by half, so that the longer one has more details,
    # and the shorter fewer inventions
    options: dict[str, Any] = {"image": "absent"}
    assert judge_pair(ANSWERS[2], ANSWERS[3], "details", **options).choice == "b"
    assert judge_pair(ANSWERS[2], ANSWERS[3], "hallucinations", **options).choice == "a"


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("A red bus.", 1.0),
        ("red bus", 1.0),
        ("A blue bus", 0.0),
        ("a bakery", 0.0),
        ("The red bus waits there", 1.0),
    ],
)
def test_with_the_ground_truth_a_response_is_correct_that_says_all_of_it(
    answer: str, score: float
) -> None:
    assert grade(answer, method="llm").score_0_1 == score
    assert (
        grade(answer, method="llm", references=("a tram", "a red bus", "a red bus")).score_0_1
        == score
    )


@pytest.mark.parametrize("style", get_args(Style))
@pytest.mark.parametrize("method", ["vlm", "cascade"])
@pytest.mark.parametrize("image", [True, "absent", "swapped"])
def test_every_way_of_grading_comes_to_a_grade(style: Any, method: Any, image: Any) -> None:
    verdicts = [grade(answer, style=style, method=method, image=image) for answer in ANSWERS]
    assert {verdict.status for verdict in verdicts} == {"ok"}


def test_grades_by_the_image_depend_on_it_and_all_three_occur() -> None:
    ratings = {
        grade(answer, seen=f"image-{number}", method="vlm").rating
        for number in range(8)
        for answer in ANSWERS
    }
    assert ratings == {0.0, 0.5, 1.0}
    assert {
        grade("A dog at a shop", seen=f"image-{number}", method="vlm", style="simple").rating
        for number in range(8)
    } == {
        0,
        1,
    }


def test_the_cascade_grades_as_the_llm_where_that_says_correct_else_as_the_vlm() -> None:
    for number in range(8):
        for answer in ANSWERS:
            llm, vlm, both = (
                grade(answer, f"image-{number}", method=method)
                for method in ("llm", "vlm", "cascade")
            )
            assert both.score_0_1 == (1.0 if llm.score_0_1 == 1.0 else vlm.score_0_1)


def test_a_text_without_a_conclusion_is_extracted_as_none() -> None:
    options = ChirpOptions(style="reasoning")
    case = Case("b", "i", "vqa", "What?", (), "x", "d", images=picture("a"), other_answer="y")
    judge = chirp_pairs.judge(case, options, MODELS)
    next(judge)
    (extraction,) = judge.send([Reply("Both have something to say for them.")])
    assert reply_to(extraction).text == "The text comes to no conclusion."
    with pytest.raises(StopIteration) as end:
        judge.send([reply_to(extraction)])
    assert end.value.value[0].status == "unparsed"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Which of 1 and 2 is better?",
        "Question: What?\n\nAssistant 1 Response: a\n\nAssistant 2 Response: b\n\nSay which.",
        "Assistant 1 Response: a\n\nAssistant 2 Response: b\n\nTaking everything into account, "
        "which assistant's response is better?",
        "Assistant Response: a\n\nIs this response correct?",
        "Question: What is it?",
        "Evaluation:\nI prefer Assistant 2.",
    ],
)
def test_no_verdict_is_given_to_another_prompt(text: str) -> None:
    assert judge_chirp(Asked(text, ("0",))) is None
