"""Readers of a verdict that a reply begins with: a rating, or a score from 0 to 1.

A reader never raises. What the probabilities of the opening tokens say is `token_reading`.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from judgelake.tasks.judging.claims import LONGEST_CHARS, Mark, Settled, hide_asides
from judgelake.tasks.judging.number_tail import read_tail

# words before an opening rating: `My overall rating: 4`
_WORD = (
    "the|my|overall|evaluation|final|quality|correctness|completeness|clarity|fluency|conciseness"
    "|rating|score"
)
_BEFORE = rf"[\s*_]*+(?:(?:(?:{_WORD})[ \t]+){{0,3}}(?:{_WORD})[*_ \t]*(?::|=|\bis\b)[*_\s]*+)?"
_RATING = re.compile(rf"{_BEFORE}(?P<value>[0-9]{{1,9}})", re.IGNORECASE)
# a score below 1 may leave out its zero: `.85`
_OPENING_SCORE = re.compile(
    rf"{_BEFORE}(?P<value>[0-9]?\.[0-9]{{1,9}}|[0-9])(?![0-9])", re.IGNORECASE
)
# any number, to see that a reply opens with one that is no rating
_OPENING_NUMBER = re.compile(r"[\s*_]*+[-+−]?[.,]?[0-9]")
# `1. word` may be the first point of a list; a second point shows that it is
_FIRST_POINT = re.compile(r"[.)][ \t]+[^\W_]")
# `2. ` at the beginning of a line: the text before it is a list's first point
_SECOND_POINT = re.compile(r"^[ \t*_]*2[.)][ \t]", re.MULTILINE)


class OpeningRating(NamedTuple):
    """A rating and the text after it."""

    rating: int
    rationale: str


class OpeningScore(NamedTuple):
    """A score from 0 to 1, where in the reply its unit stands (None: `.85`), and where its decimals
    do, the last of them before `end`.
    """

    score: float
    unit: int | None
    decimals: range
    end: int


def read_opening_rating(
    text: str, levels: Iterable[int], *, cut_off: bool = False
) -> OpeningRating | None:
    """The rating that `text` begins with, `n`, `Rating: n` or `n/<highest level>`; None where it is
    not clearly one of `levels`.

    Blanks and Markdown's emphasis may stand before it. Fractions, spans (`3-4`), other scales
    (`3/10`), other scripts' digits and the number of a list's first point are no ratings; nor is
    `1. word` where the text was `cut_off` before a second point could come; nor is a number that
    counts something, that is denied, or that the rest takes back or contradicts.
    """
    mark = settle_opening_rating(text, levels, cut_off=cut_off).mark
    if mark is None:
        return None
    return OpeningRating(int(str(mark.value)), text[mark.end :].strip(" \t\r\n.*_"))


def settle_opening_rating(text: str, levels: Iterable[int], *, cut_off: bool = False) -> Settled:
    """The mark of that rating, or why there is none."""
    if len(text) > LONGEST_CHARS:
        return Settled(None, f"it is longer than {LONGEST_CHARS:,} characters")
    allowed, seen = set(levels), hide_asides(text)
    match = _RATING.match(seen)
    if match is None or int(match["value"]) not in allowed:
        return Settled(None)
    value, end = int(match["value"]), match.end()
    is_point = value == 1 and _FIRST_POINT.match(seen, end)
    if is_point and (cut_off or _SECOND_POINT.search(seen, end)):
        return Settled(None, "its 1 is the number of a list's first point")
    tail = read_tail(seen, end, value, max(allowed))
    if tail.place is None:
        return Settled(None, tail.fault)
    return Settled(Mark(value, match.start("value"), tail.place))


def read_opening_score(text: str) -> OpeningScore | None:
    """The score from 0.0 to 1.0 that `text` begins with, `0.85`, `Score: .85` or `0.85/1.0`; None
    where it does not clearly give one.
    """
    seen = hide_asides(text)
    match = _OPENING_SCORE.match(seen) if len(text) <= LONGEST_CHARS else None
    if match is None or not 0 <= float(match["value"]) <= 1:
        return None
    start, end = match.span("value")
    point = seen.find(".", start, end)
    if point < 0 and _FIRST_POINT.match(seen, end):
        return None
    if read_tail(seen, end, float(match["value"]), 1).place is None:
        return None
    return OpeningScore(
        float(match["value"]),
        None if point == start else start,
        range(end if point < 0 else point + 1, end),
        end,
    )


def opens_with_number(text: str) -> bool:
    """Whether a number, of whatever size, is the first thing in `text`."""
    return _OPENING_NUMBER.match(hide_asides(text)) is not None
