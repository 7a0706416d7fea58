"""Readers of a verdict that a reply begins with: a rating, or a score from 0 to 1.

A reader never raises. What the probabilities of the opening tokens say is `token_reading`.
"""

import re
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from judgelake.tasks.judging.claims import LONGEST_CHARS, MOST_MARKS, is_own, takes_back

# words before an opening rating: `My overall rating: 4`
_WORD = (
    "the|my|overall|evaluation|final|quality|correctness|completeness|clarity|fluency|conciseness"
    "|rating|score"
)
_BEFORE = rf"[\s*_]*+(?:(?:(?:{_WORD})[ \t]+){{0,3}}(?:{_WORD})[*_ \t]*(?::|=|\bis\b)[*_\s]*+)?"
# `4.5`, `4%`, `4, 5`, `4½`, `4 or 5`, `3-4` are no plain rating; `4/5` gives its scale in `top`
_AFTER = (
    r"(?![^\W_]|[.,]\d|[ \t]?%|,[ \t]*\d|[ \t]?[¼-¾]|[ \t]+(?:or\b|and[ \t]+(?:a[ \t]+)?half\b))"
    r"(?:[ \t]?(?:/|out[ \t]of\b)[ \t]?(?P<top>[0-9]{1,3}(?:\.[0-9]{1,2})?)(?![^\W_]|[.,]\d|[ "
    r"\t]?%))?"
    r"(?![ \t]?(?:/|out[ \t]of\b|[-–—~]|to\b|and\b)[ \t]?[.\d])"
)
# `rest` is the explanation after the rating
_RATING = re.compile(
    rf"{_BEFORE}(?P<value>[0-9]{{1,9}}){_AFTER}(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
# a score below 1 may leave out its zero: `.85`
_OPENING_SCORE = re.compile(
    rf"{_BEFORE}(?P<value>[0-9]?\.[0-9]{{1,9}}|[0-9]){_AFTER}", re.IGNORECASE
)
# any number, to see that a reply opens with one that is no rating
_OPENING_NUMBER = re.compile(r"[\s*_]*+[-+−]?[.,]?[0-9]")
# `1. word` may be the first point of a list; a second point shows that it is
_FIRST_POINT = re.compile(r"[.)][ \t]+[^\W_]")
# `2. ` at the beginning of a line: the text before it is a list's first point
_SECOND_POINT = re.compile(r"^[ \t*_]*2[.)][ \t]", re.MULTILINE)


# in `4 people stand there` and `4 is too much` the number is no rating
_COUNTS = re.compile(
    r"[ \t]+(?!(?:stars?|points?|because|since|as|for|given|the|this|it|its|both|there|all|every"
    r"|each|although|though|while|with|and|but|overall)\b)[a-zäöüßéèêàçñ]+[ \t]+\w"
)
_NO_RATING = re.compile(
    r"[*_ \t]*(?:\?|[\"'”’]|(?:(?:stars?|points?)[ \t]+)?(?:(?:is|was)(?=[ \t]+\w)|would|means"
    r"|meaning|stands|cannot|can['’]t|could|might|may|should|isn['’]t|being|and up|and above"
    r"|and below|or more|or less|or below|or above)\b|=|:[0-9]|[+×*]?[ \t]*[0-9])",
    re.IGNORECASE,
)
# the rating that an explanation ends with, which must be the same
_LATER = re.compile(
    r"\b(?:rating|score)[*_ \t]*"
    r"(?::|=|\bis\b(?:[ \t]+now)?)[*_ \t]*([0-9](?:[.,][0-9]+)?)"
    r"(?![\w%]|[ \t]?(?:[-–—~]|to\b)[ \t]?[0-9])",
    re.IGNORECASE,
)


def _stands(text: str, end: int, value: float) -> bool:
    """Whether the number that ends at `end` is meant as the verdict, and nothing behind it takes it
    back or gives another.
    """
    if _COUNTS.match(text, end) or _NO_RATING.match(text, end) or takes_back(text, end):
        return False
    later = [*islice(_LATER.finditer(text, end), MOST_MARKS + 1)]
    return len(later) <= MOST_MARKS and all(
        float(match[1].replace(",", ".")) == value or not is_own(text, *match.span())
        for match in later
    )


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
    allowed, match = set(levels), _RATING.match(text) if len(text) <= LONGEST_CHARS else None
    if (
        match is None
        or int(match["value"]) not in allowed
        or float(match["top"] or max(allowed)) != max(allowed)
    ):
        return None
    rest = match["rest"]
    opens_list = (
        int(match["value"]) == 1
        and _FIRST_POINT.match(rest)
        and (cut_off or _SECOND_POINT.search(rest))
    )
    if opens_list or not _stands(text, match.start("rest"), int(match["value"])):
        return None
    return OpeningRating(int(match["value"]), rest.strip(" \t\r\n.*_"))


def read_opening_score(text: str) -> OpeningScore | None:
    """The score from 0.0 to 1.0 that `text` begins with, `0.85`, `Score: .85` or `0.85/1.0`; None
    where it does not clearly give one.
    """
    match = _OPENING_SCORE.match(text) if len(text) <= LONGEST_CHARS else None
    if match is None or not 0 <= float(match["value"]) <= 1 or float(match["top"] or 1) != 1:
        return None
    start, end = match.span("value")
    point = text.find(".", start, end)
    if point < 0 and _FIRST_POINT.match(text, end):
        return None
    if not _stands(text, match.end(), float(match["value"])):
        return None
    return OpeningScore(
        float(match["value"]),
        None if point == start else start,
        range(end if point < 0 else point + 1, end),
        end,
    )


def opens_with_number(text: str) -> bool:
    """Whether a number, of whatever size, is the first thing in `text`."""
    return _OPENING_NUMBER.match(text) is not None
