"""Readers: from a reply's text to a rating, or to nothing. A reader never raises and never invents a rating the reply does not hold."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from tasks.judging.types import Reply, Status

_TAIL = re.compile(r"[\s.*_`]*")
_ALONE = re.compile(r"[\s*_`]*([0-9]+)\Z")
_RESULT = re.compile(
    r"(?i)(?:\[RESULT\]|\b(?:so\s+)?the\s+overall\s+score\s+is\b)[\s*_:]*\(?([0-9]+(?:[.,][0-9]+|\s?[-–]\s?[0-9]+)?)", re.ASCII
)
_WORD_ENDS = r"(?![^\W_]|[*_]*(?i:['’\u0300-\u036f]|-\w|\s*/|\s+(?:or|and)\s+(?:yes|no)\b))"
_YES_NO = re.compile(rf"[\s*_]*(?:([yY][eE][sS])|[nN][oO](?![*_]*\s+(?:one|idea|doubt)\b)){_WORD_ENDS}")
"""Without IGNORECASE, which takes a long s for an s."""

_NUMBER = r"([0-9]{1,3}(?:\.[0-9]{1,2})?)(?:[ \t]*/[ \t]*10(?:\.0)?)?"
_PAIR = rf"{_NUMBER}(?:[ \t]*[,;][ \t]*|[ \t]+and[ \t]+|[ \t]+){_NUMBER}"
_LABEL = r"[^\n:0-9]{0,40}\b(?:scores?|ratings?|output)\b[^\n:0-9]{0,40}:[ \t]*"
_PAIR_LINE = re.compile(rf"(?:{_LABEL})?[*_` \t]{{0,9}}\(?{_PAIR}\)?", re.ASCII | re.IGNORECASE)
_LONGEST_PAIR_LINE = 160
_PAIR_TOLD = re.compile(rf"\b(?:scores?|ratings?|output)\b[^\n().]{{0,60}}\({_PAIR}\)", re.ASCII | re.IGNORECASE)
_SIDE_LABEL = r"^[ \t*_#-]*(?:assistant|answer|response|model)[ \t]+"
_SIDE_SCORE = rf"[*_ \t]*:[*_ \t]*{_NUMBER}[*_ \t]*(?:\([^\n]*)?$"
_PAIR_OF_LINES = re.compile(
    rf"{_SIDE_LABEL}(?:1|A){_SIDE_SCORE}\n+{_SIDE_LABEL}(?:2|B){_SIDE_SCORE}", re.ASCII | re.IGNORECASE | re.MULTILINE
)


class RatingRead(NamedTuple):
    """A rating and the text before it."""

    rating: int
    rationale: str


def read_rating_at_end(text: str, marker: str, levels: Iterable[int]) -> RatingRead | None:
    """The rating with which `text` ends: `<marker>=n` or `<marker>: n`, or a last line that is the number alone; n one of `levels`.

    Only white space, full stops and Markdown's emphasis may follow; a rating in quotation marks is somebody's words, not the verdict.
    """
    backwards = _TAIL.match(text[::-1])  # a search forwards takes quadratic time on long runs of dots or blanks
    end = text[: len(text) - (backwards.end() if backwards else 0)]
    marked = re.search(rf"(?i)\b(?:so\s+)?{re.escape(marker)}[\s*_]*(?:=|:|\bis\b)[\s*_]*([0-9]+)\Z", end, re.ASCII)
    found = marked or _ALONE.match(end, end.rfind("\n") + 1)
    if found is None or not found[1].isascii() or len(found[1]) > 2 or int(found[1]) not in set(levels):
        return None
    before, after = end[: found.start()], text[len(end) :]
    is_code = "`" in after and before.replace("```", "").count("`") % 2 == 1
    if is_code or before.endswith(('"', "'", "“", "‘", "«", "`")):
        return None
    return RatingRead(int(found[1]), before.strip())


def read_result_marker(text: str, levels: Iterable[int]) -> RatingRead | None:
    """The last score that `[RESULT] n` or `So the overall score is n` gives; None where there is none or it is not one of `levels`.

    A marker without a number, as in a prompt's words repeated, is passed over; a fraction or a span (`3-4`) is no score of a level.
    """
    found = _last(_RESULT.finditer(text))
    if found is None or len(found[1]) > 2 or not found[1].isdigit() or int(found[1]) not in set(levels):
        return None
    return RatingRead(int(found[1]), text[: found.start()].strip())


def read_yes_no(text: str) -> bool | None:
    """Whether `text` begins with yes (True) or no (False), Markdown's emphasis around it left aside; None where with neither.

    `nobody`, `no-one`, `no idea`, `yes/no` and `yes or no` are neither.
    """
    found = _YES_NO.match(text)
    return None if found is None else found[1] is not None


class TwoNumbers(NamedTuple):
    """The scores of two answers, that of the one shown first before that of the other."""

    first: float
    second: float


def read_two_numbers(text: str, low: float, high: float) -> TwoNumbers | None:
    """The two scores of a pairwise review, both from `low` to `high`; None where it does not clearly give two.

    In this order: the first line that is not blank, if it is the pair alone (`9 8.5`, `9, 8.5`, `8/10 7/10`); the last pair of lines
    `Assistant 1: n`, `Assistant 2: n`; the last pair in parentheses after the word scores, ratings or output; the last line that is
    the pair alone. Other numbers of the text, such as those of a calculation, are nobody's scores.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    ways = (
        (_match_pair(lines[0]) if lines else None),
        _last(_PAIR_OF_LINES.finditer(text)),
        _last(_PAIR_TOLD.finditer(text)),
        (_match_pair(lines[-1]) if lines else None),
    )
    found = next((match for match in ways if match), None)
    if found is None:
        return None
    scores = TwoNumbers(*(float(number) for number in found.groups()))
    return scores if all(low <= score <= high for score in scores) else None


def _match_pair(line: str) -> re.Match[str] | None:
    """The pair that a line is, Markdown's emphasis around it left aside; a long line is none."""
    bare = line.strip(" \t\r*_`.")
    return _PAIR_LINE.fullmatch(bare) if len(bare) <= _LONGEST_PAIR_LINE else None


def _last(matches: Iterable[re.Match[str]]) -> re.Match[str] | None:
    return max(matches, key=lambda match: match.start(), default=None)


def reply_status(reply: Reply) -> Status | None:
    """Why a reply cannot be read at all: refused, filtered or cut off; None where it can be tried."""
    if reply.refusal:
        return "refused"
    if reply.finish_reason == "content_filter":
        return "filtered"
    if reply.finish_reason == "length":
        return "truncated"
    return None
