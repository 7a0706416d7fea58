"""What every reader of verdicts has in common: no reply makes it raise, and none gives a verdict
that it does not hold.
"""

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging.reading import (
    read_arena_label,
    read_marked_choice,
    read_rating_at_end,
    read_result_marker,
    read_two_numbers,
    read_yes_no,
)

Read = Callable[[str], object]


class Reader(NamedTuple):
    """A reader, its verdict as a reply spells it (`{}` is a number where there is one), and what of
    it is out of range.
    """

    read: Read
    spelled: str
    verdicts: Mapping[str, object]
    out_of_range: tuple[str, ...]
    stands_first: bool


def read_rating(text: str) -> object:
    found = read_rating_at_end(text, "rating", (1, 2, 3))
    return found and found.rating


def read_result(text: str) -> object:
    found = read_result_marker(text, range(1, 6))
    return found and found.rating


LEVELS_3, LEVELS_5 = ({str(n): n for n in range(1, top + 1)} for top in (3, 5))
CHOICES = {choice: choice for choice in ("A", "B", "TIE")}
PAIRS = {"9 8.5": (9, 8.5), "1, 10": (1, 10), "7 7": (7, 7)}
READERS = {
    "rating": Reader(
        read_rating, "So rating={}", LEVELS_3, ("0", "4", "33", "-1", "2.5", "1e3"), False
    ),
    "result": Reader(
        read_result,
        "[RESULT] {}",
        LEVELS_5,
        ("0", "6", "45", "-1", "2.5", "10/10", "3-4", "4 or 5", "2%"),
        False,
    ),
    "overall": Reader(
        read_result,
        "So the overall score is {}",
        LEVELS_5,
        ("0", "6", "-3", "4,5", "3/10", "between 3 and 4"),
        False,
    ),
    "choice": Reader(
        lambda text: read_marked_choice(text, CHOICES),
        "[RESULT] {}",
        CHOICES,
        ("C", "AB", "1", "A or B"),
        False,
    ),
    "two": Reader(
        lambda text: read_two_numbers(text, 1, 10),
        "{}",
        PAIRS,
        ("11 5", "0 5", "5 1000", "-1 5"),
        True,
    ),
    "arena": Reader(
        read_arena_label,
        "[[{}]]",
        {"A>>B": 0.0, "A=B": 0.5, "B>A": 0.75},
        ("A", "A>C", "A<B", "A>>>B"),
        True,
    ),
    "yes-no": Reader(
        read_yes_no,
        "{}",
        {"Yes": True, "no": False, "NO": False},
        ("Nope", "Yess", "Nobody", "Yes/no"),
        True,
    ),
}
EACH = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)

MARKERS = [
    "So rating=",
    "rating: ",
    "[RESULT] ",
    "[result]",
    "So the overall score is ",
    "Assistant 1: ",
    "Scores: ",
    "Yes",
    "no",
]
NUMBERS = [
    "1",
    "2",
    "3",
    "5",
    "9 8",
    "4.5",
    "0",
    "99",
    "-1",
    "３",
    "٣",
    "②",
    "½",
    "four",
    "A",
    "B",
    "TIE",
]
MARKS = [
    " ",
    "\n",
    "*",
    "**",
    "`",
    "```",
    '"',
    "'",
    "“",
    "”",
    "«",
    "»",
    "> ",
    "- ",
    "1. ",
    "#",
    "{",
    "}",
    ":",
    ",",
    ".",
    "/5",
    " out of ",
    "(",
    ")",
]
REPLIES = st.text() | st.lists(
    st.sampled_from([*MARKERS, *NUMBERS, *MARKS, "cat "]), max_size=16
).map("".join)
WORDS = st.lists(
    st.sampled_from(
        ["It", "names", "the", "cat", "and", "is", "short", ",", "but", "not", "right"]
    ),
    max_size=9,
).map(lambda words: f"{' '.join(words)}." if words else "")
"""A sentence or nothing: one that leads into a verdict may deny it."""


@EACH
@given(text=REPLIES)
def test_no_reply_makes_a_reader_raise_or_give_what_it_cannot(reader: Reader, text: str) -> None:
    found = reader.read(text)
    if isinstance(found, tuple):
        assert all(1 <= number <= 10 for number in found)
    else:
        assert found is None or found in reader.verdicts.values()


@EACH
@given(words=WORDS, data=st.data())
def test_a_plain_verdict_is_read_with_words_around_it(
    reader: Reader, words: str, data: st.DataObject
) -> None:
    spelled, verdict = data.draw(st.sampled_from(list(reader.verdicts.items())))
    end = data.draw(st.sampled_from(["", ".", "\n", " ", "**", ".\n\n"]))
    reported = reader.spelled.format(spelled)
    assert (
        reader.read(f"{reported}\n{words}" if reader.stands_first else f"{words}\n{reported}{end}")
        == verdict
    )


@EACH
@given(data=st.data(), words=WORDS)
def test_several_verdicts_that_agree_are_one_and_others_are_never_a_third(
    reader: Reader, data: st.DataObject, words: str
) -> None:
    spelled = [data.draw(st.sampled_from(list(reader.verdicts.items()))) for _ in range(3)]
    text = f"\n{words}\n".join(reader.spelled.format(one) for one, _ in spelled)
    verdicts = [verdict for _, verdict in spelled]
    # Whether one that differs makes a contradiction is the reader's own: tests/judging.
    settled = (
        (verdicts[0],)
        if verdicts.count(verdicts[0]) == 3
        else (None, verdicts[0 if reader.stands_first else -1])
    )
    assert reader.read(text) in settled


@EACH
@given(data=st.data())
def test_a_reply_that_breaks_off_before_its_verdict_gives_none(
    reader: Reader, data: st.DataObject
) -> None:
    spelled = data.draw(st.sampled_from(list(reader.verdicts)))
    whole = reader.spelled.format(spelled)
    cut = data.draw(st.integers(0, len(whole) - len(spelled)))
    assert (
        reader.read("The answer names the cat. "[: 26 * (not reader.stands_first)] + whole[:cut])
        is None
    )


@EACH
@pytest.mark.parametrize("quotes", ['""', "''", "``", "“”", "‘’", "«»"])
def test_a_verdict_that_the_reply_only_quotes_is_none(reader: Reader, quotes: str) -> None:
    for spelled in reader.verdicts:
        reported = reader.spelled.format(spelled)
        assert reader.read(f"The response ends with {quotes[0]}{reported}{quotes[1]}.") is None
        assert (
            reader.read(f"The response ends with {quotes[0]}a cat. {reported}{quotes[1]}") is None
        )
        assert reader.read(f"The response ends:\n\n> {reported}") is None


@EACH
@pytest.mark.parametrize("zero", [0x0660, 0x06F0, 0x0966, 0xFF10, 0x1D7CE])
def test_digits_and_letters_of_other_scripts_are_no_verdict(reader: Reader, zero: int) -> None:
    letters = {
        ord(latin): other for latin, other in zip("ABTIEYNOesno", "АВТІЕΥΝОеѕпо", strict=True)
    }
    digits = {ord("0") + n: chr(zero + n) for n in range(10)}
    for spelled in reader.verdicts:
        assert reader.read(reader.spelled.format(spelled.translate(digits | letters))) is None


@EACH
@pytest.mark.parametrize("mark", ["*", "**", "__", "_"])
def test_emphasis_around_a_verdict_changes_nothing(reader: Reader, mark: str) -> None:
    for spelled, verdict in reader.verdicts.items():
        assert reader.read(f"{mark}{reader.spelled.format(spelled)}{mark}") == verdict
        assert reader.read(reader.spelled.format(f"{mark}{spelled}{mark}")) == verdict


@EACH
def test_what_is_out_of_range_is_none(reader: Reader) -> None:
    for spelled in reader.out_of_range:
        assert (
            reader.read(
                f"{reader.spelled.format(spelled)}\n"
                if reader.stands_first
                else f"Well. {reader.spelled.format(spelled)}"
            )
            is None
        )


@EACH
def test_a_value_in_json_is_not_what_was_asked_for(reader: Reader) -> None:
    """A rating alone in an object is one to LAVE's reader."""
    for value in reader.verdicts.values():
        for key in ("rating", "result", "RESULT", "score", "answer"):
            is_rating = reader.read is read_rating and key in ("rating", "score")
            assert reader.read(json.dumps({key: value})) == (value if is_rating else None)
            assert (
                reader.read(json.dumps({"feedback": "fine", key: [value, value]}, indent=1)) is None
            )


@EACH
@given(text=REPLIES, data=st.data())
def test_a_verdict_in_its_place_counts_or_none_does(
    reader: Reader, text: str, data: st.DataObject
) -> None:
    """What else is said may contradict it; it gives no other verdict."""
    spelled, verdict = data.draw(st.sampled_from(list(reader.verdicts.items())))
    reported = reader.spelled.format(spelled)
    reply = f"{reported}\n{text}" if reader.stands_first else f"{text}\n\n{reported}"
    assert reader.read(reply) in (verdict, None)


@EACH
@pytest.mark.parametrize("words", ["NO.", "It is not a cat"])
def test_a_paragraph_before_it_denies_no_verdict(reader: Reader, words: str) -> None:
    for spelled, verdict in reader.verdicts.items():
        if not reader.stands_first:
            assert reader.read(f"{words}\n\n{reader.spelled.format(spelled)}") == verdict
