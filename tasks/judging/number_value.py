"""A number that a reply gives as its verdict: in digits or as a word, within markup that closes
again (quotes, brackets, `\\boxed{}`, `$`), or as the one rating of a JSON object.

What stands before it is `claims`, what behind it `number_tail`.
"""

import json
import re
from typing import NamedTuple

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    "ten")  # fmt: skip
SCALE = re.compile(
    r"[ \t]*+(?:\([ \t]?)?(?:/|(?:(?:out[ \t]+)?of|von|sur|sobre|su)\b)[ \t]*+"
    r"(?P<top>[0-9]{1,3}(?:\.[0-9]{1,2})?)(?![\w/%]|[.,]\d)",
    re.IGNORECASE,
)
# possessive (`*+`), so that long runs of blanks take linear time
_OPENS = re.compile(r"(?:\\(?:boxed|text)\{|[\"'`“‘(\[<{$]|\*{1,3}|_{1,3}|[ \t])*+")
_OPENER = re.compile(r"\\(?:boxed|text)\{|\*+|_+|\S")
_CLOSERS = {"“": "”", "‘": "’", "(": ")", "[": "]", "<": ">", "{": "}"}
_CORE = re.compile(
    rf"(?:(?P<digits>[-+−]?\d+(?:\.\d+)?|\.\d+)|(?P<word>{'|'.join(NUMBER_WORDS)})\b)"
    r"(?P<on>(?!分)[^\W_]|[.,]\d|[%½]|)",
    re.IGNORECASE,
)
_MOST_OPENERS, _MOST_DIGITS = 6, 12
_JSON = re.compile(r"\s*(?:```(?:json)?\s*)?(?P<object>\{.*\})\s*(?:```)?\s*\Z", re.DOTALL)
_RATED_KEYS = frozenset({"rating", "score"})
_REASON_KEYS = frozenset(
    {"rationale", "reason", "reasons", "reasoning", "explanation", "justification", "feedback"}
)
_JSON_VALUE = re.compile(r'"(?:rating|score)"\s*:\s*"?(?=[-.0-9])', re.IGNORECASE)


class Number(NamedTuple):
    """A number from `start` to `end`; its markup, and a scale within it, end at `behind`. `value`
    is None where it is a fraction, a percentage, of another script or out of another scale.
    """

    value: float | None
    start: int
    end: int
    behind: int


def read_number(text: str, place: int, top: float, *, words: bool = True) -> Number | None:
    """The number at `place` of a text, its markup left aside; None where there is none."""
    opened = _OPENS.match(text, place)
    begin = opened.end() if opened else place
    core = _CORE.match(text, begin)
    if core is None or (core["word"] and not words):
        return None
    openers = _OPENER.findall(text[place:begin])
    end = core.end("word" if core["word"] else "digits")
    value, digits = None, core["digits"]
    if core["word"] and not core["on"]:
        value = float(NUMBER_WORDS.index(core["word"].lower()))
    elif digits and not core["on"] and digits.isascii() and digits[0] not in "-+":
        value = float(digits) if len(digits) < _MOST_DIGITS else None
    behind = _find_close(text, end, openers, top) if openers else end
    return Number(value if behind is not None else None, begin, end, behind or end)


def _find_close(text: str, end: int, openers: list[str], top: float) -> int | None:
    """Where the markup closes that was opened before a number; None where it does not."""
    if len(openers) > _MOST_OPENERS:
        return None
    line_end = text.find("\n", end)
    line = text[end : len(text) if line_end < 0 else line_end][:200]
    # bold may go on behind the number, to the end of its line: `**4 - good**`
    tight = [opener for opener in openers if opener[0] not in "*_" or opener in line[:4]]
    if any(opener not in line for opener in openers if opener[0] in "*_"):
        return None
    closing = "".join(
        rf"[ \t]*{re.escape('}' if opener[0] == chr(92) else _CLOSERS.get(opener, opener))}"
        for opener in reversed(tight)
    )
    scale = SCALE.match(text, end)
    for start in (end, scale.end() if scale and float(scale["top"]) == top else end):
        closed = re.compile(closing).match(text, start)
        if closed:
            return closed.end()
    return None


def find_json_number(text: str) -> int | None:
    """Where the rating stands in a text that is one JSON object, fenced or not, with one rating
    or score and otherwise reasons alone; None where the text is none.
    """
    match = _JSON.match(text) if "{" in text[:20] else None
    if match is None:
        return None
    try:
        pairs = json.loads(match["object"], object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    keys = [str(key).lower() for key, _ in pairs]
    rated = [value for key, value in pairs if str(key).lower() in _RATED_KEYS]
    places = [found.end() for found in _JSON_VALUE.finditer(text)]
    if len(rated) != 1 or len(places) != 1 or not {*keys} <= _RATED_KEYS | _REASON_KEYS:
        return None
    is_number = isinstance(rated[0], int | float) and not isinstance(rated[0], bool)
    is_text = isinstance(rated[0], str) and re.fullmatch(r"[0-9.]+", rated[0]) is not None
    return places[0] if is_number or is_text else None
