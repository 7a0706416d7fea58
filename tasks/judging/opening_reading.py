"""Readers of replies that begin with their verdict: a rating of a scale of levels, or a score from 0.0 to 1.0.

They never raise and never invent a number. What the probabilities of tokens say is `tasks.judging.token_reading`.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from tasks.judging.types import Failure, Reply

_WORD = "the|my|overall|evaluation|final|quality|correctness|completeness|clarity|fluency|conciseness|rating|score"
_BEFORE = rf"[\s*_]*+(?:(?:(?:{_WORD})[ \t]+){{0,3}}(?:{_WORD})[*_ \t]*(?::|=|\bis\b)[*_\s]*+)?"
_AFTER = (
    r"(?![^\W_]|[.,]\d|[ \t]?%|,[ \t]*\d|[ \t]?[¼-¾]|[ \t]+(?:or\b|and[ \t]+(?:a[ \t]+)?half\b))"
    r"(?:[ \t]?(?:/|out[ \t]of\b)[ \t]?(?P<top>[0-9]{1,3}(?:\.[0-9]{1,2})?)(?![^\W_]|[.,]\d|[ \t]?%))?"
    r"(?![ \t]?(?:/|out[ \t]of\b|[-–—~]|to\b|and\b)[ \t]?[.\d])"
)
_RATING = re.compile(rf"{_BEFORE}(?P<value>[0-9]{{1,9}}){_AFTER}(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_SCORE = re.compile(rf"{_BEFORE}(?P<value>[0-9]?\.[0-9]{{1,9}}|[0-9]){_AFTER}", re.IGNORECASE)
_NUMBER = re.compile(r"[\s*_]*+[-+−]?[.,]?[0-9]")
_FIRST_POINT = re.compile(r"[.)][ \t]+[^\W_]")
_SECOND_POINT = re.compile(r"^[ \t*_]*2[.)][ \t]", re.MULTILINE)


class OpeningRating(NamedTuple):
    """A rating and the text after it."""

    rating: int
    rationale: str


class OpeningScore(NamedTuple):
    """A score from 0 to 1, where in the reply its unit stands (None: `.85`), and where its decimals do, the last of them before `end`."""

    score: float
    unit: int | None
    decimals: range
    end: int


def read_opening_rating(text: str, levels: Iterable[int], *, cut_off: bool = False) -> OpeningRating | None:
    """The rating that `text` begins with, `n`, `Rating: n` or `n/<highest level>`; None where it is not clearly one of `levels`.

    Blanks and Markdown's emphasis may stand before it. Fractions, spans (`3-4`), other scales (`3/10`), other scripts' digits and the number
    of a list's first point are no ratings; nor is `1. word` where the text was `cut_off` before a second point could come.
    """
    allowed, found = set(levels), _RATING.match(text)
    if found is None or int(found["value"]) not in allowed or float(found["top"] or max(allowed)) != max(allowed):
        return None
    rest = found["rest"]
    if int(found["value"]) == 1 and _FIRST_POINT.match(rest) and (cut_off or _SECOND_POINT.search(rest)):
        return None
    return OpeningRating(int(found["value"]), rest.strip(" \t\r\n.*_"))


def read_opening_score(text: str) -> OpeningScore | None:
    """The score from 0.0 to 1.0 that `text` begins with, `0.85`, `Score: .85` or `0.85/1.0`; None where it does not clearly give one."""
    found = _SCORE.match(text)
    if found is None or not 0 <= float(found["value"]) <= 1 or float(found["top"] or 1) != 1:
        return None
    start, end = found.span("value")
    point = text.find(".", start, end)
    if point < 0 and _FIRST_POINT.match(text, end):
        return None
    return OpeningScore(
        float(found["value"]), None if point == start else start, range(end if point < 0 else point + 1, end), end
    )


def opens_with_number(text: str) -> bool:
    """Whether a number, of whatever size, is the first thing in `text`."""
    return _NUMBER.match(text) is not None


def forgive_cut(reply: Reply | Failure) -> tuple[Reply | Failure, bool]:
    """The reply as if it had ended by itself, and whether it was cut off: a verdict that stands first is not lost with the end."""
    if isinstance(reply, Reply) and reply.finish_reason == "length":
        return replace(reply, finish_reason="stop"), True
    return reply, False
