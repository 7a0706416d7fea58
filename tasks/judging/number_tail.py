"""What may follow a number that is a verdict: its scale, the end of the sentence, or a reason that
gives no other number of the scale.

A number behind which anything else stands counts something (`4 dogs`), belongs to another scale
(`4 out of 10`) or is one of several (`4 or 5`, `4 for style, 2 for truth`).
"""

import re
from typing import NamedTuple

from judgelake.tasks.judging.claims import is_form, takes_back

_MOST_NUMBERS = 200
"""Text with more numbers than that is no reason."""
_BEFORE_CHARS, _AFTER_CHARS = 80, 40
_EMPHASIS = str.maketrans("*_`", "   ")

_SCALE = re.compile(
    r"[ \t]*+(?:\([ \t]?)?(?:/|(?:out[ \t]+)?of\b)[ \t]*+(?P<top>[0-9]{1,3}(?:\.[0-9]{1,2})?)"
    r"(?![\w/%]|[.,]\d)",
    re.IGNORECASE,
)
_CLOSES = re.compile(r"[)\]>\"'”’»]*(?:[ \t]+(?:stars?|points?)\b[)\]]*)?")
# `4 because`, `4, the bench is missing`, `4 The bench is missing`; not `4 the bench`
_REASONS = r"(?:because|since|as|for|given|with|due|considering|although|though|while|but)\b"
_BEGINS = r"(?:the|this|it|its|both|there|all|every|each|overall)\b"
_FOLLOWS = re.compile(
    rf"[ \t]*+(?:\Z|[.!](?=\s|\Z|[A-Z\[(\"'“])|[。！]|[:;—–][ \t]|-[ \t]|\(|\["
    rf"|,?(?<=[ \t,])[ \t]*(?i:{_REASONS})|,[ \t]+{_BEGINS}"
    rf"|(?<=[ \t])(?=[A-Z])(?i:{_BEGINS}))"
)
# what makes no reason: `4 (or 5)`, `5 - if it named the dog`, `4 (on a scale of ten)`
_HEDGED = re.compile(
    r"[\s.!,:;()\[\]—–-]*(?:if|unless|or|maybe|perhaps|possibly|probably|rather|more like|on an?"
    r"|out of|at (?:most|least|best)|that is what|the (?:number|count|amount) of|otherwise"
    r"|just (?:kidding|joking)|down from|up from|minus|plus|no(?=[,.:;!])|wait|actually|hmm"
    r"|not sure)\b"
    r"|[^.!?]*\bme\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,/%$-])([0-9](?:\.[0-9]{1,9})?)(?:/([0-9]{1,3}))?(?![\w%/]|[.,]\d)", re.ASCII
)
# `not a 5`, and `a 5 would need the dog`, `a score of 5 needs it`
_NOT_IT = re.compile(r"\bnot (?:quite |really |worth )?(?:an? +)?\Z", re.IGNORECASE)
_WOULD = re.compile(r"(?: (?:stars?|points?))? (?:would|needs?|requires?)\b", re.IGNORECASE)
# `between 1 and 5` names the scale
_SPAN = re.compile(r"\b(?:between|from) +(?:1 +(?:and|to) +)?\Z", re.IGNORECASE)
# `3 chairs`: no other number of the scale
_COUNTED = re.compile(
    r"[ -](?!(?:for|if|in|on|at|of|as|when|and|or|is|was|after|to|by|with|because|since|but|stars?"
    r"|points?|instead|rather|overall|now)\b)[^\W\d_]{3,}"
)
_CLAUSE_ENDS = re.compile(
    r"(?: (?:stars?|points?|instead|after all|rather|now|overall|at best|at most))*\s*(?:[.,;!?)]"
    r"|\Z)"
)
_ARTICLE = re.compile(r"\ban? +(?:(?:low|high|weak|strong|mere|solid|bare) )? *\Z", re.IGNORECASE)
_SCORE_IS = re.compile(
    r"\b(?:ratings?|scores?|verdict|grade|own)\b[\w' ]{0,30}?(?:\b(?:is|was|be|to|now)|:|=) *\Z",
    re.IGNORECASE,
)
# `Final answer: 2`, `- Fluency = 3`
_LABELLED = re.compile(r"[ \t>#•-]*(?:[^:=\n]{1,60}[:=][ \t]*)?\Z")
_LEVEL_NAMED = re.compile(r"[ \t]?(?:[:=(—–]|-[ \t])")


class Tail(NamedTuple):
    """Where the reason begins that follows a verdict, or what makes the number none."""

    place: int | None
    fault: str = ""


def read_tail(text: str, end: int, value: float, top: float) -> Tail:
    """What follows the number `value` that ends at `end`, on a scale up to `top`."""
    seen = text.translate(_EMPHASIS)
    scale = _SCALE.match(seen, end)
    if scale is not None and float(scale["top"]) != top:
        return Tail(None, f"its {value:g} is out of {scale['top']}")
    closes = _CLOSES.match(seen, end if scale is None else scale.end())
    place = closes.end() if closes else end
    line_end = seen.find("\n", place)
    line = seen[place : len(seen) if line_end < 0 else line_end]
    if _FOLLOWS.match(line) is None or _HEDGED.match(line):
        return Tail(None, f"more than a reason follows its {value:g}")
    if _gives_another(seen, place, value, top):
        return Tail(None, f"another number than its {value:g} stands where a score could")
    if is_form(seen[place:]):
        return Tail(None, f"it calls its {value:g} an example")
    return Tail(None, f"it takes its {value:g} back") if takes_back(text, end) else Tail(place)


def _gives_another(text: str, start: int, value: float, top: float) -> bool:
    """Whether another number of the scale stands where a verdict could, from `start` on."""
    first_line = text.find("\n", start)
    first_line = len(text) if first_line < 0 else first_line
    for count, number in enumerate(_NUMBER.finditer(text, start)):
        if count >= _MOST_NUMBERS:
            return True
        other = float(number[1])
        if other == value or other > top or float(number[2] or top) != top:
            continue
        begin = max(text.rfind("\n", start, number.start()) + 1, number.start() - _BEFORE_CHARS)
        before = text[begin : number.start()]
        after = text[number.end() : number.end() + _AFTER_CHARS].partition("\n")[0]
        if _NOT_IT.search(before) or _WOULD.match(after) or _SPAN.search(before):
            continue
        if number.start() < first_line:
            if not _COUNTED.match(after):
                return True
        elif _is_a_score(before, after):
            return True
    return False


def _is_a_score(before: str, after: str) -> bool:
    """Whether a number between these parts of its line may be a score."""
    if before.lstrip().startswith(">"):
        return False
    if _ARTICLE.search(before) and not _COUNTED.match(after):
        return True
    if _SCORE_IS.search(before) and _CLAUSE_ENDS.match(after):
        return True
    alone = _LABELLED.fullmatch(before) is not None and not after.strip(" \t.!)")
    return alone or (not before.strip(" \t-") and _LEVEL_NAMED.match(after) is not None)
