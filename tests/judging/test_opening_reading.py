"""Replies that begin with their verdict: a table of what models really send, and what holds for
every text.
"""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging.opening import (
    OpeningRating,
    opens_with_number,
    read_opening_rating,
    read_opening_score,
)
from judgelake.tasks.judging.reading import forgive_cut
from judgelake.tasks.types import Failure, Reply

LEVELS = range(1, 6)


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        # as asked, and nearly
        ("5", 5),
        (" 4\n", 4),
        ("4.", 4),
        ("4 (high correctness)", 4),
        ("4 - High correctness: the caption names the cat.", 4),
        ("3: it is right in the main", 3),
        ("4.\n\nThe caption names 2 cats, there are 3.", 4),
        ("1. The caption is about something else.", 1),
        ("**5**", 5),
        ("__2__\n", 2),
        ("Rating: 4", 4),
        ("**Rating:** 4", 4),
        ("**Rating: 4**", 4),
        ("The overall score is 3.", 3),
        ("Correctness: 2", 2),
        ("completeness rating = 5", 5),
        ("4/5", 4),
        ("4 out of 5.", 4),
        ("05", 5),
        # numbers of something else
        ("0", None),
        ("6", None),
        ("10", None),
        ("45", None),
        ("-4", None),
        ("4.5", None),
        ("4,5", None),
        ("4½", None),
        ("4 ½", None),
        ("4 and a half", None),
        ("3-4", None),
        ("3 – 4", None),
        ("3 to 4", None),
        ("3 or 4", None),
        ("3, 4", None),
        ("3/10", None),
        ("4 out of 10", None),
        ("4/5.5", None),
        ("80%", None),
        ("4 %", None),
        ("4th", None),
        ("9" * 5000, None),
        ("1. It names the cat.\n2. It leaves out the dog.", None),
        ("1) It names the cat.\n 2) It leaves out the dog.", None),
        # another way of giving it, somebody's words, another script
        ("four", 4),
        ("I would rate it 4", 4),
        ('The caption says "5"', None),
        ('"5"', 5),
        ("`5`", 5),
        ("> 5", None),
        ('{"rating": 4}', 4),
        ("５", None),
        ("٤", None),
        ("④", None),
        ("", None),
        ("\n\n", None),
        ("**", None),
    ],
)
def test_a_rating_at_the_beginning(text: str, rating: int | None) -> None:
    found = read_opening_rating(text, LEVELS)
    assert (found.rating if found else None) == rating


def test_the_text_after_the_rating_is_kept() -> None:
    assert read_opening_rating("**4**\nIt names the cat.", LEVELS) == OpeningRating(
        4, "It names the cat"
    )
    assert read_opening_rating("4/5", LEVELS) == OpeningRating(4, "")


def test_a_first_point_that_is_cut_off_is_no_rating() -> None:
    assert read_opening_rating("1. The caption names", LEVELS, cut_off=True) is None
    assert read_opening_rating("2. The caption names", LEVELS, cut_off=True) == OpeningRating(
        2, "The caption names"
    )
    assert read_opening_rating("1", LEVELS, cut_off=True) == OpeningRating(1, "")


@pytest.mark.parametrize(
    ("text", "score", "unit", "decimals"),
    [
        ("0.85", 0.85, 0, [2, 3]),
        (" 0.9\n", 0.9, 1, [3]),
        (".85", 0.85, None, [1, 2]),
        ("1.0", 1.0, 0, [2]),
        ("1", 1.0, 0, []),
        ("1.", 1.0, 0, []),
        ("0", 0.0, 0, []),
        ("0.0", 0.0, 0, [2]),
        ("1.00", 1.0, 0, [2, 3]),
        ("0.875", 0.875, 0, [2, 3, 4]),
        ("**0.7**", 0.7, 2, [4]),
        ("Score: 0.7", 0.7, 7, [9]),
        ("0.7/1.0", 0.7, 0, [2]),
        ("0.7 out of 1", 0.7, 0, [2]),
        ("0.7. It names the cat.", 0.7, 0, [2]),
    ],
)
def test_a_score_at_the_beginning(
    text: str, score: float, unit: int | None, decimals: list[int]
) -> None:
    found = read_opening_score(text)
    assert found is not None
    assert (found.score, found.unit, [*found.decimals]) == (score, unit, decimals)
    assert all(text[offset].isdigit() for offset in decimals)


@pytest.mark.parametrize(
    "text",
    [
        "", "1.2", "2", "85", "-0.5", "0,85", "0.5-0.7", "0.5 to 0.7", "0.5 or 0.6", "0.85%", "85 %", "7/10", "0.7/10", "0.7/0.9",
        "0.85.1", "1. The caption is good.", "0.8555555555", "０.８", "0.８", "٠.٥", "It gets 0.8", '"0.8', '{"score": 8}', "zero",
    ],
)  # fmt: skip
def test_what_is_no_score(text: str) -> None:
    assert read_opening_score(text) is None


PIECES = st.sampled_from([
    "4", "1", "10", ".", ",", "0.", "85", "/", "5", "-", " ", "\n", "*", "**", "Rating", "score", ": ", " is ", "out of ", " or ",
    "%", "５", "½", '"', "2) ", "cat",
])  # fmt: skip
REPLIES = st.text() | st.lists(PIECES, max_size=10).map("".join)


@given(REPLIES, st.booleans())
def test_readers_never_raise_and_read_only_the_first_number(text: str, cut_off: bool) -> None:
    first = re.search(r"\d+", text)
    rating = read_opening_rating(text, LEVELS, cut_off=cut_off)
    assert rating is None or (
        first is not None and rating.rating == int(first[0]) and rating.rating in LEVELS
    )
    score = read_opening_score(text)
    held = re.search(r"[0-9]*\.?[0-9]+", text)
    assert score is None or (
        held is not None and score.score == float(held[0]) and 0 <= score.score <= 1
    )


@given(
    st.integers(1, 5),
    st.sampled_from(
        ["", "\nThe caption names ", ". It shows ", " because there is ", "/5 - it names "]
    ),
    st.text(alphabet="abc ").map(str.strip),
)
def test_a_rating_counts_where_its_reason_follows(rating: int, between: str, rest: str) -> None:
    found = read_opening_rating(f"{rating}{between}{rest if between else ''}", LEVELS)
    assert found is not None
    assert found.rating == rating


@pytest.mark.parametrize("text", ["10", " 4.5", "**3-4**", "-1", "−1", ".5", "99"])
def test_a_reply_that_opens_with_a_number(text: str) -> None:
    assert opens_with_number(text)


@pytest.mark.parametrize("text", ["", "ten", "The 4", '"4"', "５"])
def test_a_reply_that_does_not(text: str) -> None:
    assert not opens_with_number(text)


@pytest.mark.parametrize(
    "text",
    [
        " " * 100_000,
        "*" * 100_000,
        "1" * 100_000,
        "the " * 30_000,
        "0." * 50_000,
        "rating " * 9_000,
    ],
)
def test_long_runs_take_no_time(text: str) -> None:
    started = time.process_time()
    assert read_opening_rating(text + "x", LEVELS) is None
    assert read_opening_score(text + "x") is None
    assert time.process_time() - started < 0.5


def test_a_cut_off_reply_is_forgiven() -> None:
    assert forgive_cut(Reply("4 because", finish_reason="length")) == (Reply("4 because"), True)
    assert forgive_cut(Reply("4")) == (Reply("4"), False)
    assert forgive_cut(Failure("503")) == (Failure("503"), False)
