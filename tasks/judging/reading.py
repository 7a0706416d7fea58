"""Readers: from a reply's text to a rating, or to nothing. A reader never raises and never invents a rating the reply does not hold."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from tasks.judging.types import Reply, Status

_TAIL = re.compile(r"[\s.*_`]*")
_ALONE = re.compile(r"[\s*_`]*([0-9]+)\Z")


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


def reply_status(reply: Reply) -> Status | None:
    """Why a reply cannot be read at all: refused, filtered or cut off; None where it can be tried."""
    if reply.refusal:
        return "refused"
    if reply.finish_reason == "content_filter":
        return "filtered"
    if reply.finish_reason == "length":
        return "truncated"
    return None
