"""Readers of a verdict that a reply begins with: a rating, or a score from 0 to 1.

A reader never raises. What the probabilities of the opening tokens say is `token_reading`.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from judgelake.tasks.judging.claims import LONGEST_CHARS, Mark, Settled, hide_asides
from judgelake.tasks.judging.number_lead import blank_tags
from judgelake.tasks.judging.number_tail import read_tail
from judgelake.tasks.judging.number_value import Number, find_json_number, read_number

# words before an opening rating: `My overall rating (1-5): 4`, `On a scale of 1 to 5, I rate it 4`
_WORD = (
    "the|my|overall|evaluation|final|quality|correctness|completeness|clarity|fluency|conciseness"
    "|rating|score"
)
_SPAN = r"(?:from[ \t]+|of[ \t]+)?[01](?:\.0)?[ \t]*(?:to|-|–)[ \t]*(?P<{}>[0-9]{{1,3}}(?:\.0)?)"
_ON_SCALE = rf"(?:on[ \t]+a[ \t]+scale[ \t]+)?{_SPAN}"
_LEAD = re.compile(
    rf"[\s*_#]*+(?:{_ON_SCALE.format('top')}[,:][ \t]*)?"
    r"(?:i(?:[ \t]+would|['’]d)?[ \t]+(?:rate|score|give)[ \t]+(?:it|this|the)"
    r"(?:[ \t]+(?:caption|response|answer|text|description))?(?:[ \t]+as|[ \t]+with)?"
    r"(?:[ \t]+an?(?:[ \t]+(?:score|rating)[ \t]+of)?)?[ \t]+"
    rf"|(?:(?:{_WORD})[ \t]+){{0,3}}(?:{_WORD}|answer|bewertung|punktzahl|评分|评价|得分|分数|評価"
    rf"|スコア)[*_ \t]*(?:\({_ON_SCALE.format('own_top')}\)[*_ \t]*)?"
    r"(?:[:：]|=|\bis\b)(?:[*_]*+\s++)?|(?:rating|score)[ \t]+)?",
    re.IGNORECASE,
)
# a score below 1 may leave out its zero: `.85`
_MOST_DECIMALS = 9
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
    allowed, seen = set(levels), blank_tags(hide_asides(text))
    top = max(allowed)
    number = _read_opening(seen, top)
    if number is None or number.value not in allowed:
        return Settled(None)
    value, end = int(number.value or 0), number.end
    is_point = value == 1 and _FIRST_POINT.match(seen, end)
    if is_point and (cut_off or _SECOND_POINT.search(seen, end)):
        return Settled(None, "its 1 is the number of a list's first point")
    if find_json_number(seen) is not None:
        return Settled(Mark(value, number.start, len(seen)))
    tail = read_tail(seen, end, value, top, behind=number.behind)
    if tail.place is None:
        return Settled(None, tail.fault)
    return Settled(Mark(value, number.start, tail.place))


def _read_opening(text: str, top: float) -> Number | None:
    """The number that a text begins with, or the rating of the JSON object that it is."""
    place = find_json_number(text)
    if place is None:
        lead = _LEAD.match(text)
        if lead is None or any(float(lead[name] or top) != top for name in ("top", "own_top")):
            return None
        place = lead.end()
    return read_number(text, place, top, words=top > 1)


def read_opening_score(text: str) -> OpeningScore | None:
    """The score from 0.0 to 1.0 that `text` begins with, `0.85`, `Score: .85` or `0.85/1.0`; None
    where it does not clearly give one.
    """
    if len(text) > LONGEST_CHARS:
        return None
    seen = blank_tags(hide_asides(text))
    number = _read_opening(seen, 1)
    if number is None or number.value is None or number.value > 1:
        return None
    start, end = number.start, number.end
    point = seen.find(".", start, end)
    whole, decimals = seen[start : end if point < 0 else point], end - point - 1
    is_point = point < 0 and _FIRST_POINT.match(seen, end)
    if is_point or len(whole) > 1 or (point >= 0 and decimals > _MOST_DECIMALS):
        return None
    tail = read_tail(seen, end, number.value, 1, behind=number.behind)
    if tail.place is None and find_json_number(seen) is None:
        return None
    return OpeningScore(
        number.value,
        None if point == start else start,
        range(end if point < 0 else point + 1, end),
        end,
    )


def opens_with_number(text: str) -> bool:
    """Whether a number, of whatever size, is the first thing in `text`."""
    return _OPENING_NUMBER.match(hide_asides(text)) is not None
