"""Preference between two feedbacks (Prometheus-Vision, section 3.2): what is shown in which order,
and whose feedback a letter is.
"""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.digests import judge_id
from judgelake.tasks.judging import feedback_preference
from judgelake.tasks.judging.feedback_preference import FeedbackPreferenceOptions
from judgelake.tasks.types import JUDGE, Case, Decoding, Failure, Reply, Verdict
from tests.judging.judging_by_hand import MODEL, MODELS, ask, conclude
from tests.judging.test_prometheus import IMAGE, RUBRICS, headings, rubric_case, write

PAIR = ("mini", "large")


def pair_case(shown_first: str = "a", **more: Any) -> Case:
    return rubric_case(
        feedbacks=("It names a cat.", "It is short."), shown_first=shown_first, **more
    )


def choose(text: str, shown_first: str = "a", **options: Any) -> Verdict:
    judge = feedback_preference.judge(
        pair_case(shown_first), FeedbackPreferenceOptions(PAIR, **options), MODELS
    )
    return conclude(judge, text)


def test_prometheus_fields_stand_before_the_two_feedbacks() -> None:
    (request,) = ask(
        feedback_preference.judge(pair_case(), FeedbackPreferenceOptions(PAIR), MODELS)
    )
    (message,) = request.messages
    assert headings(message.text) == [
        "###Task:", "###Instruction:", "###Response:", "###Reference answer (score 5):", "###Rubric:", "###Feedback A:",
        "###Feedback B:", "###Reasons:",
    ]  # fmt: skip
    assert message.images == (IMAGE,)
    assert request.decoding == Decoding(temperature=0.0, top_p=None, max_tokens=2048)


def test_both_orders_are_asked_unless_the_suite_wants_one() -> None:
    assert feedback_preference.list_wants(FeedbackPreferenceOptions(PAIR)).both_orders
    one = FeedbackPreferenceOptions(PAIR, both_orders=False)
    assert not feedback_preference.list_wants(one).both_orders


@pytest.mark.parametrize(
    ("shown_first", "shown"),
    [("a", ("It names a cat.", "It is short.")), ("b", ("It is short.", "It names a cat."))],
)
def test_feedback_a_is_the_one_shown_first(shown_first: str, shown: tuple[str, str]) -> None:
    (request,) = ask(
        feedback_preference.judge(pair_case(shown_first), FeedbackPreferenceOptions(PAIR), MODELS)
    )
    assert (
        f"###Feedback A:\n{shown[0]}\n\n###Feedback B:\n{shown[1]}\n\n" in request.messages[0].text
    )


@pytest.mark.parametrize(
    ("letter", "shown_first", "choice"),
    [("A", "a", "a"), ("B", "a", "b"), ("A", "b", "b"), ("B", "b", "a")],
)
def test_a_letter_is_mapped_back_to_a_and_b(letter: str, shown_first: str, choice: str) -> None:
    text = f"Reasons: fairer. [RESULT] {letter}"
    assert choose(text, shown_first) == Verdict("ok", choice=choice, rationale=text)  # type: ignore[arg-type]


def test_ties_are_an_option() -> None:
    assert choose("[RESULT] TIE").status == "unparsed"
    assert [choose("[RESULT] tie", side, ties=True).choice for side in "ab"] == ["tie", "tie"]
    reported = [
        ask(
            feedback_preference.judge(
                pair_case(), FeedbackPreferenceOptions(PAIR, ties=ties), MODELS
            )
        )[0]
        .messages[0]
        .text
        for ties in (False, True)
    ]
    assert ["(A or B)" in text for text in reported] == [True, False]
    assert ["(A or B or TIE)" in text for text in reported] == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "Feedback A is better.",
        "[RESULT] C",
        "[RESULT] (A or B)",
        "[RESULT] A or B",
        "[RESULT] 4",
    ],
)
def test_a_reply_without_a_choice_is_unparsed_and_its_text_kept(text: str) -> None:
    found = choose(text)
    assert (found.status, found.choice, found.rationale) == ("unparsed", None, text)


@pytest.mark.parametrize(
    ("reply", "status"),
    [(Failure("503"), "failed"), (Reply("A", finish_reason="length"), "truncated")],
)
def test_what_cannot_be_read_says_why(reply: Reply | Failure, status: str) -> None:
    assert (
        conclude(
            feedback_preference.judge(pair_case(), FeedbackPreferenceOptions(PAIR), MODELS), reply
        ).status
        == status
    )


def test_a_case_without_rubric_or_caption_fails_without_a_call() -> None:
    text_only = FeedbackPreferenceOptions(PAIR, image="absent", caption="llava")
    found = [
        conclude(
            feedback_preference.judge(
                pair_case(rubric=None), FeedbackPreferenceOptions(PAIR), MODELS
            )
        ),
        conclude(feedback_preference.judge(pair_case(images=()), text_only, MODELS)),
    ]
    assert [one.status for one in found] == ["failed", "failed"]


def test_the_wants_name_the_two_judges(tmp_path: Path) -> None:
    wants = feedback_preference.list_wants(
        FeedbackPreferenceOptions(PAIR, both_orders=False, seed=3, image="swapped")
    )
    assert (wants.unit, wants.feedback_of, wants.both_orders, wants.seed) == (
        "feedback",
        PAIR,
        False,
        3,
    )
    assert (wants.rubrics, wants.criteria, wants.image) == (True, (("rubric",),), "swapped")
    of_file = feedback_preference.list_wants(
        FeedbackPreferenceOptions(PAIR, rubric_file=write(tmp_path, RUBRICS))
    )
    assert (of_file.rubrics, of_file.criteria) == (False, (("animal",), ("2",)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feedback_of": ("mini",)}, "feedback_of: mini; expected the names of two judges"),
        ({"feedback_of": ("mini", "mini")}, "feedback_of: mini, mini; expected"),
        (
            {"feedback_of": PAIR, "caption": "llava"},
            "caption: llava; expected with `image: absent`",
        ),
        ({"feedback_of": PAIR, "samples": 0}, "samples: 0; expected"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FeedbackPreferenceOptions(**options)


def own_id(model: str = MODEL, **options: Any) -> str:
    given: dict[str, Any] = {"feedback_of": PAIR, **options}
    return judge_id(
        feedback_preference.call_signature(FeedbackPreferenceOptions(**given), {JUDGE: model})
    )


def test_whatever_changes_the_request_changes_the_judge(tmp_path: Path) -> None:
    write(tmp_path, "{{ feedback_a }}", "feedback_preference.txt")
    rubrics = tmp_path / "rubrics"
    rubrics.mkdir()
    variants: list[dict[str, Any]] = [
        {}, {"feedback_of": ("large", "mini")}, {"image": "absent", "caption": "llava"}, {"ties": True}, {"temperature": 1.0},
        {"top_p": 0.9}, {"max_tokens": 64}, {"seed": 0}, {"templates": tmp_path}, {"rubric_file": write(rubrics, RUBRICS)},
        {"model": "x"},
    ]  # fmt: skip
    assert len({own_id(**variant) for variant in variants}) == len(variants)
    fields = {field.name for field in dataclasses.fields(FeedbackPreferenceOptions)}
    assert {key for variant in variants for key in variant} - {"model"} == fields - {
        "samples",
        "both_orders",
        "answer_form",
    }
    assert own_id(samples=3) == own_id(both_orders=False) == own_id()
