"""The reader of `[RESULT] n`: the last marked score counts, and none is made up."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.judging.reading import read_result_marker

LEVELS = range(1, 6)
PIECES = st.sampled_from(
    ["[RESULT]", "[result]", "So the overall score is", " ", "\n", "1", "5", "6", ".", ",", "-", "(", ")", "*", ":", "２", "a"]
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
        ("Weak. So the overall score is 2.\n[RESULT] 3", 3),
        ("[RESULT] 3\nNo: so the overall score is 2", 2),
        ("So the overall score is 2. [RESULT] (an integer number between 1 and 5)", 2),
        ("[RESULT] 6", None),
        ("[RESULT] 4 and then [RESULT] 0", None),
        ("[RESULT] 4.5", None),
        ("[RESULT] 3-4", None),
        ("[RESULT] 44444444444444444444444", None),
        ("[RESULT] four", None),
        ("The result is 4", None),
        ("4", None),
        ("[RESULT] ４", None),
        ("", None),
    ],
)
def test_what_is_read(text: str, rating: int | None) -> None:
    found = read_result_marker(text, LEVELS)
    assert (found.rating if found else None) == rating


@settings(deadline=None)
@given(REPLIES)
def test_it_never_raises_and_never_invents(text: str) -> None:
    found = read_result_marker(text, LEVELS)
    assert found is None or (found.rating in LEVELS and str(found.rating) in text and text.strip().startswith(found.rationale))
    assert found is None or re.search(r"(?i)\[result\]|overall score is", text)


@settings(deadline=None)
@given(REPLIES, st.integers(1, 5), st.sampled_from(["[RESULT] {}", "So the overall score is {}.", "**[RESULT] {}**"]))
def test_the_last_marker_counts_whatever_stands_before(text: str, rating: int, marker: str) -> None:
    found = read_result_marker(f"{text}\n{marker.format(rating)}", LEVELS)
    assert found is not None
    assert found.rating == rating


def test_long_replies_take_no_time() -> None:
    for piece in ("[RESULT] ", "so the overall score is ", " " * 9, "1", "[RESULT]((((", "so the \n "):
        read_result_marker(piece * 20_000, LEVELS)
