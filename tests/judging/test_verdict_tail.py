"""What may follow a choice or a grade. Whole replies are in `replies/`."""

import re

import pytest

from judgelake.tasks.judging.chirp_forms import CHOICE, GRADES
from judgelake.tasks.judging.chirp_reading import settle_choice, settle_grade
from judgelake.tasks.judging.verdict_tail import Sides, find_fault, read_marked_tail
from tests.growth import is_linear

FIRST, TIE = CHOICE.sides("first"), CHOICE.sides("tie")
RIGHT, WRONG = GRADES.sides("correct"), GRADES.sides("incorrect")


@pytest.mark.parametrize(
    ("behind", "sides"),
    [
        ("", FIRST),
        (".\n", FIRST),
        (" (the first response)", FIRST),
        (" ✅", FIRST),
        (", since Assistant 2 invents a cat", FIRST),
        (". It names the dog, while Assistant 2 does not.", FIRST),
        (", although it misses the cat", FIRST),
        (". Neither is better.", TIE),
        (". The references agree with the answer.", RIGHT),
        (". Paris is the capital of France.", RIGHT),
        (" ❌", WRONG),
        (". The correct answer is a cat.", WRONG),
    ],
)
def test_an_end_a_remark_and_a_reason_are_no_fault(behind: str, sides: Sides) -> None:
    assert find_fault(behind, sides) == ""


@pytest.mark.parametrize(
    ("behind", "sides", "fault"),
    [
        (" (worse)", FIRST, "what follows speaks against its first"),
        (" (or 2)", FIRST, "more than a reason follows its first"),
        (", since Assistant 2 is better", FIRST, "what follows speaks against its first"),
        (". I disagree.", FIRST, "more than a reason follows its first"),
        (". It says that it must win.", FIRST, "more than a reason follows its first"),
        (" ❌", FIRST, "a sign that follows speaks against its first"),
        (". Assistant 2 is better.", TIE, "what follows speaks against its tie"),
        (", but not the year", RIGHT, "what follows limits its correct"),
        (". The answer names the wrong animal.", RIGHT, "what follows speaks against its correct"),
        (
            ". The dog is blue, the answer says red.",
            RIGHT,
            "more than a reason follows its correct",
        ),
        (" ✅", WRONG, "a sign that follows speaks against its incorrect"),
        (": the answer matches the reference", WRONG, "what follows speaks against its incorrect"),
        (" The dog." * 2000, RIGHT, "more than a reason follows its correct"),
    ],
)
def test_whatever_else_follows_is_named(behind: str, sides: Sides, fault: str) -> None:
    assert find_fault(behind, sides) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("A", ""),
        ("A is better", ""),
        ("A, since B overlooks the dog.", ""),
        ("A. B", "more than a reason follows its A"),
        ("A is better. I disagree.", "more than a reason follows its A"),
        ("A [RESULT]", "a marker without a choice follows its A"),
        ("A Wait. [RESULT] B", None),
        ("A better one names it", None),
    ],
)
def test_what_follows_a_marked_choice(text: str, fault: str | None) -> None:
    tail = read_marked_tail(text, 1, "A")
    assert (None if tail is None else tail.fault) == fault


def test_the_reason_of_an_unread_verdict_says_what_follows_it() -> None:
    assert settle_choice("Winner: 1. I disagree.", ties=True).reason == (
        "more than a reason follows its first"
    )
    assert settle_grade("Correct. The reverse is true.").reason == (
        "more than a reason follows its correct"
    )


@pytest.mark.parametrize("piece", ["It is ", "not ", "(", "a, ", "it is 1 but ", "xown ", "- "])
def test_work_grows_as_the_text_does(piece: str) -> None:
    sides = Sides("first", re.compile("(1)"), frozenset({"1"}))
    assert is_linear(lambda n: find_fault(piece * n, sides))
    assert is_linear(lambda n: find_fault(f"{piece}. " * n, RIGHT))
