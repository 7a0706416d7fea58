"""Readers of generations: forms that models write, and what is refused with which reason."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.collection.generations import (
    Drafted,
    count_sentences,
    read_alignment,
    read_feedback,
    read_parts,
    read_rubrics,
)
from judgelake.tasks.types import Rubric

LEVELS = ("a", "b", "c", "d", "e")
OBJECT = {"criterion": "C?"} | {f"score_{n}": level for n, level in enumerate(LEVELS, 1)}
RUBRIC = Rubric("C?", LEVELS)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(OBJECT),
        f"```json\n{json.dumps(OBJECT, indent=2)}\n```",
        json.dumps([OBJECT]),
        "{" + json.dumps(OBJECT) + "}",
        json.dumps({"criteria 1": OBJECT}),
        json.dumps({"rubrics": [OBJECT]}),
        "Criteria 1: " + json.dumps(OBJECT),
        json.dumps({"Criteria": "C?", **{f"Score {n}": x for n, x in enumerate(LEVELS, 1)}}),
        json.dumps({"description": "C?", "scores": dict(zip("12345", LEVELS, strict=True))}),
        json.dumps({"criterion": " C? ", "levels": LEVELS}),
        json.dumps(
            {"criteria": "C?"} | {f"score{n}_description": x for n, x in enumerate(LEVELS, 1)}
        ),
    ],
)
def test_forms_in_which_a_rubric_is_read(text: str) -> None:
    assert read_rubrics(text) == [Drafted(RUBRIC)]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({key: OBJECT[key] for key in OBJECT if key != "score_3"}, "what score 3 means"),
        ({**OBJECT, "score_2": ""}, "what score 2 means"),
        ({**OBJECT, "score_2": 7}, "what score 2 means"),
        ({**OBJECT, "score_2": "A"}, "mean the same"),
        ({**OBJECT, "criterion": "  "}, "no text under the key `criterion`"),
    ],
)
def test_a_rubric_that_is_none_says_why(record: dict[str, object], reason: str) -> None:
    (read,) = read_rubrics(json.dumps(record))
    assert isinstance(read, str)
    assert reason in read


def test_rubrics_are_read_in_their_order_and_cut_off_ones_are_not() -> None:
    second = {**OBJECT, "criterion": "D?", "keywords": ["Light", " ", 3, "mood"]}
    text = f"{json.dumps(OBJECT)}\n{json.dumps(second)}\n{json.dumps(OBJECT)[:60]}"
    first, other = read_rubrics(text)
    assert isinstance(first, Drafted)
    assert isinstance(other, Drafted)
    assert (other.rubric.criterion, other.keywords) == ("D?", ("light", "mood"))


@pytest.mark.parametrize(
    ("text", "aligned"),
    [
        ("align", True),
        ("'Align'.", True),
        ("misalign", False),
        ("Alignment: misaligned", False),
        ("align or misalign", None),
        ("yes", None),
        ("", None),
        ("alignment", None),
    ],
)
def test_an_alignment_is_one_word_or_none(text: str, aligned: bool | None) -> None:
    assert read_alignment(text) is aligned


def test_parts_stand_between_their_markers() -> None:
    text = "Problem: What?\nMore: of it.\n[NEXT]\n**Response:** Two\n\nlines.\n[END]"
    assert read_parts(text, "Problem", "Response") == ("What?\nMore: of it.", "Two\n\nlines.")
    assert read_parts(text.replace("\n[END]", ""), "Problem", "Response") == (
        "What?\nMore: of it.",
        "Two\n\nlines.",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Problem: a\nResponse: b", "0 markers [NEXT]"),
        ("Problem: a [NEXT] Response: b [NEXT] c", "2 markers [NEXT]"),
        ("a [NEXT] Response: b", "no `Problem:`"),
        ("Problem: a [NEXT] Feedback: b", "no `Response:`"),
        ("Problem: a [NEXT] Response: [END]", "nothing follows `Response:`"),
        ("Problem: " + "a" * 60_000, "longer than 50,000"),
    ],
)
def test_parts_that_cannot_be_told_apart_say_why(text: str, reason: str) -> None:
    read = read_parts(text, "Problem", "Response")
    assert isinstance(read, str)
    assert reason in read


def test_headings_of_training_prompts_are_broken_in_generated_text() -> None:
    read = read_parts("Problem: a\n###Feedback:\n[NEXT]\nResponse: b", "Problem", "Response")
    assert read == ("a\n# ##Feedback:", "b")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Good. So the overall score is 4.", None),
        ("Good. So the overall score is 4", None),
        ("Good. So the overall score is 3.", "ends in the score 3; expected 4"),
        ("Good.", "does not end in"),
        ("So the overall score is 4. It is good, though.", "text follows the score"),
    ],
)
def test_feedback_ends_in_the_fixed_phrase_with_its_score(text: str, wrong: str | None) -> None:
    read = read_feedback(text, 4)
    assert read is None if wrong is None else read is not None and wrong in read


def test_sentences_are_counted_at_their_ends() -> None:
    assert [count_sentences(text) for text in ("", "One", "One. Two! 3.5 is three?")] == [1, 1, 3]


@given(st.text(max_size=300))
def test_readers_never_raise(text: str) -> None:
    for shape in (text, "{" + text, '{"criterion": ' + text, f"Problem: {text} [NEXT] Response: x"):
        read_rubrics(shape)
        read_alignment(shape)
        read_parts(shape, "Problem", "Response")
        read_feedback(shape, 3)
