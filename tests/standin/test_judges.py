"""The stand-in's rules for rubric grading, feedback preference, two-number scoring and captions, by
hand; on the project's own prompts.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging import captions, feedback_preference, lave, llava_bench, prometheus
from judgelake.tasks.judging.captions import CaptionsOptions
from judgelake.tasks.judging.feedback_preference import FeedbackPreferenceOptions
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.judging.llava_bench import LlavaBenchOptions
from judgelake.tasks.judging.prometheus import PrometheusOptions
from judgelake.tasks.standin.answers import NO_RULE, answer_request
from judgelake.tasks.standin.prometheus import (
    grade_response,
    prefer_feedback,
    score_two,
    write_caption,
)
from judgelake.tasks.standin.rules import (
    Asked,
    TokenReply,
    describe_image,
    rate_answer,
    share_borne_out,
)
from judgelake.tasks.types import Case, Image, Judge, Rubric
from tests.judging.judging_by_hand import MODELS, ask, make_case

RUBRIC = Rubric("Is it right?", ("no", "hardly", "half", "nearly", "yes"))
RULES = (grade_response, prefer_feedback, score_two, write_caption, rate_answer)


def make(
    answer: str = "a red car", references: tuple[str, ...] = ("red car",), **more: Any
) -> Case:
    given: dict[str, Any] = {
        "rubric": RUBRIC,
        "other_answer": "a dog",
        "shown_first": "a",
        "feedbacks": ("Good.", "Bad."),
        **more,
    }
    return make_case(answer, references, **given)


def asked(judge: Judge, images: tuple[str, ...] = ()) -> Asked:
    (request,) = ask(judge)
    return Asked("\n".join(message.text for message in request.messages), images)


def says(judge: Judge, images: tuple[str, ...] = ()) -> str:
    return "".join(answer_request(asked(judge, images)).tokens)


def grade(case: Case, images: tuple[str, ...] = (), **options: Any) -> str:
    return says(
        prometheus.judge(case, PrometheusOptions(**({"image": "absent"} | options)), MODELS), images
    )


@pytest.mark.parametrize(
    ("answer", "references", "score"),
    [
        ("a red car", ("red car",), 5),  # 2 of 2 words: 1 + 4
        ("a red bus", ("red car",), 3),  # 1 of 2: 1 + 2
        ("a bus", ("red car",), 1),
        ("red", ("red old car on grass",), 2),  # 1 of 4 (red, old, car, grass): 1 + 1
        ("red car old", ("red old car grass",), 4),  # 3 of 4: 1 + 3
        (
            "what",
            (),
            5,
        ),  # no reference: all its content words occur in the instruction "What is it?"
        ("dog", (), 1),
    ],
)
def test_a_score_by_hand(answer: str, references: tuple[str, ...], score: int) -> None:
    assert grade(make(answer, references)).endswith(f"[RESULT] {score}")


def test_the_score_hangs_on_the_image_and_on_which_one_it_is() -> None:
    case = make(images=(Image("a.png", "a" * 64),))
    words = frozenset({"red", "car"})
    shares = {digit: share_borne_out(words, (digit * 64,), None) for digit in "abcdef0123"}
    assert set(shares.values()) == {0.0, 0.5, 1.0}
    for digit, share in shares.items():
        assert share is not None
        quality = (2 * 1.0 + share) / 3  # r = 1
        assert grade(case, (digit * 64,), image=True).endswith(
            f"[RESULT] {1 + int(4 * quality + 0.5)}"
        )


def test_a_description_bears_out_its_own_words() -> None:
    # r = 1, s = 1 of 2 words (red, not car): (2 + 0.5) / 3 = 0.833, 1 + 3.33 -> 4
    assert grade(make(caption="A red house."), caption="people").endswith("[RESULT] 4")


@pytest.mark.parametrize(
    ("feedbacks", "ties", "expected"),
    [
        (("It names the red car.", "Good."), False, "A"),
        (("Good.", "It names the red car."), False, "B"),
        (("Good.", "Bad."), False, "A"),
        (("Good.", "Bad."), True, "TIE"),
    ],
)
def test_the_feedback_that_says_more_is_better(
    feedbacks: tuple[str, str], ties: bool, expected: str
) -> None:
    options = FeedbackPreferenceOptions(("x", "y"), image="absent", ties=ties)
    assert says(feedback_preference.judge(make(feedbacks=feedbacks), options, MODELS)).endswith(
        f"[RESULT] {expected}"
    )


def test_two_scores_by_hand() -> None:
    # "a red car": 2 of 20 words, 0 of 1 of the question's ("what"): 1 + 9 x (0.1 + 0) / 2 = 1.45 ->
    # 1.5;
    # "what a dog": 2 words, 1 of 1: 1 + 9 x 1.1 / 2 = 5.95 -> 6
    options = LlavaBenchOptions(image="absent")
    assert says(
        llava_bench.judge(make(prompt="What?", other_answer="what a dog"), options, MODELS)
    ).startswith("1.5 6\n")
    swapped = make(prompt="What?", other_answer="what a dog", shown_first="b")
    assert says(llava_bench.judge(swapped, options, MODELS)).startswith("6 1.5\nAnswer 1 says more")
    equal = make(prompt="What?", other_answer=make().answer)
    assert says(llava_bench.judge(equal, options, MODELS)) == "1.5 1.5\nBoth are equally good."


def test_two_scores_hang_on_image_and_context() -> None:
    case = make(images=(Image("a.png", "a" * 64),), caption="A red car.")
    replies = {
        says(llava_bench.judge(case, LlavaBenchOptions(), MODELS), (digit * 64,))
        for digit in "abcdef"
    }
    assert len(replies) > 1
    answer = says(
        llava_bench.judge(case, LlavaBenchOptions(image="absent", caption="people"), MODELS)
    )
    # both words of "red car" stand in the context, none of "dog"
    first, second = map(float, answer.split("\n")[0].split())
    assert first > second


def test_an_image_has_one_description() -> None:
    judge = [
        captions.judge(make(images=(Image("a.png", "a" * 64),)), CaptionsOptions(), MODELS)
        for _ in range(2)
    ]
    assert says(judge[0], ("a" * 64,)) == describe_image("a" * 64) != says(judge[1], ("b" * 64,))
    assert describe_image("a" * 64).startswith("The image shows a ")


def test_each_prompt_is_known_to_one_rule() -> None:
    case = make(images=(Image("a.png", "a" * 64),))
    prompts = [
        asked(prometheus.judge(case, PrometheusOptions(), MODELS), ("a",)),
        asked(
            feedback_preference.judge(case, FeedbackPreferenceOptions(("x", "y")), MODELS), ("a",)
        ),
        asked(llava_bench.judge(case, LlavaBenchOptions(), MODELS), ("a",)),
        asked(captions.judge(case, CaptionsOptions(), MODELS), ("a",)),
        asked(lave.judge(case, LaveOptions(), MODELS)),
    ]
    known = [[rule(prompt) is not None for rule in RULES] for prompt in prompts]
    assert known == [[row == column for column in range(5)] for row in range(5)]


@given(
    st.text()
    | st.sampled_from(
        [
            "Describe the image.",
            "Rate it from 1 to 10.",
            "###Task:\n###Response:\nx\n###Feedback:",
            "[Answer 1]\nx",
        ]
    )
)
def test_no_verdict_is_given_on_a_prompt_that_is_not_known(text: str) -> None:
    """It is described what the image shows, as one that answers an instruction would."""
    answer: TokenReply = answer_request(Asked(text, ("a" * 64,)))
    assert "".join(answer.tokens) == describe_image("a" * 64)
    assert "".join(answer_request(Asked(text)).tokens) == NO_RULE
