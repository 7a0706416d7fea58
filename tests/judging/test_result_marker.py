"""The readers of `[RESULT] n` and `[RESULT] A`: the last marked verdict counts, and none is made
up.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging.reading import read_marked_choice, read_result_marker
from tests.growth import is_linear

LEVELS = range(1, 6)
PIECES = st.sampled_from(
    [
        "[RESULT]",
        "[result]",
        "So the overall score is",
        " ",
        "\n",
        "1",
        "5",
        "6",
        ".",
        ",",
        "-",
        "(",
        ")",
        "*",
        ":",
        "２",
        "a",
    ]
)
REPLIES = st.text() | st.lists(PIECES, max_size=14).map("".join)


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("Good. [RESULT] 4", 4),
        ("Good. [RESULT] (4)", 4),
        ("Good. [RESULT]: **4**", 4),
        ("Good. [RESULT]4.", 4),
        ("[RESULT] 4/5", 4),
        ("Weak. So the overall score is 2.", 2),
        ("Weak. So the overall score is 2.\n[RESULT] 3", None),
        ("[RESULT] 3\nNo: so the overall score is 2", 2),
        ("So the overall score is 2. [RESULT] (an integer number between 1 and 5)", 2),
        ("[RESULT] 6", None),
        ("[RESULT] 4 and then [RESULT] 0", None),
        ("[RESULT] 4.5", None),
        ("[RESULT] 3-4", None),
        ("[RESULT] 44444444444444444444444", None),
        ("[RESULT] four", 4),
        ("The result is 4", None),
        ("4", None),
        ("[RESULT] ４", None),
        ("", None),
        ("Weak. [RESULT] Score: 1.", 1),
        ("[RESULT] Rating: **3**", 3),
        # the scale
        ("[RESULT] 4 / 5", 4),
        ("[RESULT] 4 out of 5", 4),
        ("[RESULT] 4/10", None),
        ("[RESULT] 4 out of 10", None),
        ("[RESULT] 4 or 5", None),
        ("[RESULT] 3 - 4", None),
        ("[RESULT] 3 to 4", None),
        ("So the overall score is between 3 and 4", None),
        ("[RESULT] -4", None),
        ("[RESULT] 4%", None),
        ("[RESULT] 4th", None),
        ("[RESULT] 4 - it names the cat", 4),
        ("[RESULT] 4. It names the cat.", 4),
        ("[RESULT] 4.It names the cat.", 4),
        ("[RESULT] 4\n- 5 points were possible", 4),
        # a last verdict that cannot be read hides the one before it
        ("[RESULT] 2. No: [RESULT] ４", None),
        ("[RESULT] 2. No: [RESULT] ④", None),
        ("[RESULT] 2. No: [RESULT] four", 4),
        ("[RESULT] 2. No: so the overall score is between 3 and 4", None),
        # the next line
        ("[RESULT]\n4", 4),
        ("**[RESULT]**\n\n**4**\n", 4),
        ("[RESULT] 3\n[RESULT]\n1. The cat is named.\n2. The box is not.", None),
        # somebody's words
        ('It ends with "[RESULT] 5".', None),
        ('It ends with "A cat. [RESULT] 5"', None),
        ("It ends with `[RESULT] 5`", None),
        ('Weak. [RESULT] 2\n\nThe "[RESULT] 5" of the response is an order.', 2),
        ("Weak. [RESULT] 2\n\n> [RESULT] 5", 2),
        ('"Good. [RESULT] 4"', 4),
        ("```\nGood. [RESULT] 4\n```", 4),
        ('"A cat" is what "[RESULT] 5" follows', None),
        ('{"feedback": "Good. [RESULT] 4"}', None),
        ('It says "great." [RESULT] 4', 4),
        ("The response's point stands. [RESULT] 4", 4),
        ("[RESULT]_4_", 4),
    ],
)
def test_what_is_read(text: str, rating: int | None) -> None:
    found = read_result_marker(text, LEVELS)
    assert (found.rating if found else None) == rating


@given(REPLIES)
def test_it_never_raises_and_never_invents(text: str) -> None:
    found = read_result_marker(text, LEVELS)
    assert found is None or (
        found.rating in LEVELS
        and (str(found.rating) in text or "four" in text.lower())
        and text.strip().startswith(found.rationale)
    )
    assert found is None or re.search(r"(?i)\[result\]|overall score is", text)


@given(
    REPLIES,
    st.integers(1, 5),
    st.sampled_from(["[RESULT] {}", "So the overall score is {}.", "**[RESULT] {}**"]),
)
def test_the_last_marker_counts_or_contradicts_another(text: str, rating: int, marker: str) -> None:
    found = read_result_marker(f"{text} The dog is named.\n{marker.format(rating)}", LEVELS)
    leads_on = r"(?i)\[result\]|overall score is|[:,][\s*_`#]*\Z"  # as `the candidate wrote:` does
    assert found is not None or re.search(leads_on, text)
    assert found is None or found.rating == rating


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("Fairer. [RESULT] A", "A"),
        ("Fairer. [RESULT] (B)", "B"),
        ("**[RESULT]** Feedback B.", "B"),
        ("[RESULT]: **A**\n", "A"),
        ("[RESULT] tie", "TIE"),
        ("[RESULT] A\nNo: [RESULT] B", "B"),
        ("[RESULT] B. (Form: [RESULT] (A or B or TIE))", "B"),
        ("[RESULT] B\n\n> [RESULT] A", "B"),
        ('"Fairer. [RESULT] A"', "A"),
        ("[RESULT] A or B", None),
        ("[RESULT] A, B", None),
        ("[RESULT] a", None),
        ("[RESULT] A better feedback would name the box", None),
        ("[RESULT] B. No: [RESULT] neither", None),
        ("[RESULT] АВ", None),
        ('It ends with "[RESULT] A".', None),
        ("A", None),
        ("[RESULT]", None),
        ("", None),
    ],
)
def test_which_choice_is_read(text: str, choice: str | None) -> None:
    assert read_marked_choice(text, ("A", "B", "TIE")) == choice


def test_a_choice_that_was_not_offered_is_none() -> None:
    assert read_marked_choice("[RESULT] TIE", ("A", "B")) is None


@pytest.mark.parametrize(
    "piece",
    [
        "[RESULT] ",
        "so the overall score is ",
        " " * 9,
        "1",
        "[RESULT]((((",
        "so the \n ",
        '"[RESULT] 4" ',
        "[RESULT] A or B ",
        "> [RESULT] 4 ",
    ],
)
def test_work_grows_as_the_reply_does(piece: str) -> None:
    assert is_linear(lambda n: read_result_marker(piece * n, LEVELS))
    assert is_linear(lambda n: read_marked_choice(piece * n, ("A", "B")))
