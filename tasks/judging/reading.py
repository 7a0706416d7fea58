"""Readers: from a reply's text to a rating, or to nothing. A reader never raises and never invents
a rating the reply does not hold.

Reading the probabilities of tokens is in `tasks.judging.token_reading`.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from judgelake.tasks.types import Failure, Reply, Status, Verdict

# matched against the reversed text, so one match gives all that may follow a rating
_TAIL = re.compile(r"[\s.*_`]*")
# a last line that is the rating alone, perhaps in bold
_ALONE = re.compile(r"[\s*_`]*([0-9]+)\Z")
# a list that breaks off ends with a number that is no rating
_LIST_NUMBER = re.compile(r"^[ \t]*([0-9]{1,2})[.)][ \t]", re.MULTILINE)
# the marker of the prompts, and the one of Prometheus-Vision's own feedback
_MARKER = re.compile(r"\[RESULT\]|\b(?:so[ \t]+)?the\s+overall\s+score\s+is\b", re.IGNORECASE)
# possessive (`*+`), so that long runs of blanks take linear time
_GAP = r"[\s*_:=]*+(?:(?:score|rating)\b[\s*_:=]*+)?+[(\[]?[ \t]*+"
# `gap` to `other`: what stands around the number decides whether it is a score of the scale
_SCORE = re.compile(
    rf"(?P<gap>{_GAP})(?P<sign>[-+−]?)(?P<value>\d+(?:[.,]\d+)*+)(?P<tail>[^\W_]|%|)"
    r"(?:[ \t]?(?P<link>/|out[ \t]of\b|[-–—~]|to\b|or\b|and\b)[ \t]?(?P<other>\d{1,9}))?",
    re.IGNORECASE,
)
# `[RESULT] four` and `[RESULT] between 3 and 4` are scores that no digit gives
_NUMBER_WORD = re.compile(
    rf"{_GAP}(?:(?:between|from)[ "
    rf"\t]+)?(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|[-+−]?[0-9])\b",
    re.IGNORECASE,
)
# `more` finds a second choice behind the first: `A or B`
_CHOICE = re.compile(
    r"[\s*_:=]*+(?P<open>[(\[]?)[ \t]*+(?:(?:feedback|answer|response)[ \t]+)?(?P<value>[^\W_]+)"
    r"(?P<more>[ \t]*(?:/|,|or\b|and\b)[ \t]*\w)?",
    re.IGNORECASE,
)
# a choice ends its sentence or line; `A is better` would be prose
_LINE_ENDS = re.compile(r"[ \t*_`)\]]*(?:[.,;:!][\s*_`)\]]|[.!]?[*_`\"'”’»]*(?:\n|\Z))")
_OPENING, _CLOSING, _BEFORE_QUOTES = "\"'`“”„‘«", "\"'`”“’»", "([{:,—–-"
# `yes` and `no` as whole words: not `no-one`, `yes/no`, `yes?`, `yes or no`, nor a letter with
# a combining accent
_WORD_ENDS = (
    r"(?![^\W_]|[*_]*(?i:['’?\u0300-\u036f]|-\w|[ \t]*/|[ \t]+(?:or|and)[ \t]+(?:yes|no)\b))"
)
# `no idea`, `no problem` answer nothing
_NO_OF = (
    "one|idea|doubt|problems?|questions?|matter|wonder|need|worries|objections?|issues?|errors?"
    "|mistakes?"
)
_YES_NO = re.compile(
    rf"[\s*_]*(?:([yY][eE][sS])|[nN][oO](?![*_]*[ \t]+(?i:{_NO_OF})\b)){_WORD_ENDS}"
)
"""Without IGNORECASE, which takes a long s for an s."""

# at most 999.99, perhaps out of 10
_NUMBER = r"([0-9]{1,3}(?:\.[0-9]{1,2})?)(?:[ \t]*/[ \t]*10(?:\.0)?)?"
# two numbers with a comma, a semicolon, `and` or blanks between them
_PAIR = rf"{_NUMBER}(?:[ \t]*[,;][ \t]*|[ \t]+and[ \t]+|[ \t]+){_NUMBER}"
# bounded, so that a long line without a colon takes linear time
_LABEL = r"[^\n:0-9]{0,40}\b(?:scores?|ratings?|output)\b[^\n:0-9]{0,40}:[ \t]*"
# `Scores: 8, 9`, `(8, 9)` or `8 9` as a whole line
_PAIR_LINE = re.compile(rf"(?:{_LABEL})?[*_` \t]{{0,9}}\(?{_PAIR}\)?", re.ASCII | re.IGNORECASE)
# a longer line is a sentence
_LONGEST_PAIR_LINE = 160
# `the scores are as follows (8, 9)`
_PAIR_IN_PARENTHESES = re.compile(
    rf"\b(?:scores?|ratings?|output)\b[^\n().]{{0,60}}\({_PAIR}\)", re.ASCII | re.IGNORECASE
)
# `Assistant 1: 8` and `Assistant 2: 9` on two lines
_SIDE_LABEL = r"^[ \t*_#-]*(?:assistant|answer|response|model)[ \t]+"
_SIDE_SCORE = rf"[*_ \t]*:[*_ \t]*{_NUMBER}[*_ \t]*(?:\([^\n]*)?$"
# `Assistant 1: 9` and on the next line `Assistant 2: 8.5 (...)`
_PAIR_OF_LINES = re.compile(
    rf"{_SIDE_LABEL}(?:1|A){_SIDE_SCORE}\n+{_SIDE_LABEL}(?:2|B){_SIDE_SCORE}",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)


class RatingRead(NamedTuple):
    """A rating, the text before it, and where in the reply its last digit stands."""

    rating: int
    rationale: str
    offset: int


def read_rating_at_end(text: str, marker: str, levels: Iterable[int]) -> RatingRead | None:
    """The rating with which `text` ends: `<marker>=n` or `<marker>: n`, or a last line that is the
    number alone; n one of `levels`.

    Only white space, full stops and Markdown's emphasis may follow; a rating in quotation marks or
    in a Markdown quotation is somebody's words, not the verdict, and the last number of a list that
    breaks off is none.
    """
    backwards = _TAIL.match(
        text[::-1]
    )  # a search forwards takes quadratic time on long runs of dots or blanks
    end = text[: len(text) - (backwards.end() if backwards else 0)]
    marked = re.search(
        rf"(?i)\b(?:so\s+)?{re.escape(marker)}[\s*_]*(?:=|:|\bis\b)[\s*_]*([0-9]+)\Z", end, re.ASCII
    )
    match = marked or _ALONE.match(end, end.rfind("\n") + 1)
    if (
        match is None
        or not match[1].isascii()
        or len(match[1]) > 2
        or int(match[1]) not in set(levels)
    ):
        return None
    before, after = end[: match.start()], text[len(end) :]
    is_code = "`" in after and before.replace("```", "").count("`") % 2 == 1
    is_quoted = end[end.rfind("\n") + 1 :].lstrip().startswith(">")
    if (
        is_code
        or is_quoted
        or before.endswith(('"', "'", "“", "‘", "«", "`"))
        or (not marked and _breaks_off(before, after, match[1]))
    ):
        return None
    return RatingRead(int(match[1]), before.strip(), len(end) - 1)


def _breaks_off(before: str, after: str, number: str) -> bool:
    """Whether a number alone on the last line is that of a list's next point, of which nothing
    came.
    """
    return after.startswith(".") and str(int(number) - 1) in _LIST_NUMBER.findall(before)


def read_result_marker(text: str, levels: Iterable[int]) -> RatingRead | None:
    """The last score that `[RESULT] n` or `So the overall score is n` gives; None where there is
    none or it is not one of `levels`.

    A marker in quotation marks or a Markdown quotation, and one without a number, as in a prompt's
    words repeated, are passed over. A fraction, a span (`3-4`, `3 or 4`), a number of another scale
    (`3/10`) or in another script is no score of a level.
    """
    allowed, wrapped = set(levels), _is_wrapped(text)
    for marker in reversed([*_MARKER.finditer(text)]):
        score = _SCORE.match(text, marker.end())
        if not wrapped and _is_quoted(text, marker.start(), score.end() if score else marker.end()):
            continue
        if score is not None and not _is_list_number(text, score):
            rating = _read_level(score, max(allowed, default=0))
            return (
                RatingRead(rating, text[: marker.start()].strip(), score.end("value") - 1)
                if rating in allowed
                else None
            )
        if score is None and _gives_other_score(text, marker.end()):
            return None
    return None


def _read_level(score: re.Match[str], top: int) -> int:
    """The level that a score is, -1 for none."""
    value, link = score["value"], score["link"]
    plain = (
        not score["sign"]
        and not score["tail"]
        and value.isascii()
        and value.isdigit()
        and len(value) <= 2
    )
    on_scale = link is None or (
        (link == "/" or (link[0] in "oO" and len(link) > 2)) and int(score["other"]) == top
    )
    return int(value) if plain and on_scale else -1


def _is_list_number(text: str, score: re.Match[str]) -> bool:
    """Whether the number after a marker opens a list on the next line."""
    return (
        "\n" in score["gap"]
        and re.match(r"[.)][ \t]+\S", text[score.end() : score.end() + 20]) is not None
    )


def _gives_other_score(text: str, end: int) -> bool:
    """Whether a score follows that is no number in digits: a word, a sign such as `④`, a span
    `between 3 and 4`.
    """
    following = text[end : end + 40].lstrip(" \t\n*_:=([")
    return following[:1].isnumeric() or _NUMBER_WORD.match(text, end) is not None


def read_marked_choice(text: str, choices: Iterable[str]) -> str | None:
    """The last of `choices` that `[RESULT] <choice>` gives; None where there is none or the last
    marker gives something else.

    A marker in quotation marks or a Markdown quotation, and one followed by several choices in
    brackets (a prompt's words), are passed over.
    """
    spelled, wrapped = {_spell(choice): choice for choice in choices}, _is_wrapped(text)
    for marker in reversed([*_MARKER.finditer(text)]):
        match = _CHOICE.match(text, marker.end())
        if (
            match is None
            or (match["open"] and match["more"])
            or (not wrapped and _is_quoted(text, marker.start(), match.end()))
        ):
            continue
        alone = not match["more"] and _LINE_ENDS.match(text, match.end())
        return spelled.get(_spell(match["value"])) if alone else None
    return None


def _spell(choice: str) -> str:
    return choice if len(choice) == 1 else choice.casefold()


def _is_wrapped(text: str) -> bool:
    """Whether quotation marks stand around the whole of `text` and nowhere else."""
    bare = text.strip()
    return (
        len(bare) > 1
        and bare[0] in _OPENING
        and bare[-1] in _CLOSING
        and not {bare[0], bare[-1]} & set(bare[1:-1])
    )


def _is_quoted(text: str, start: int, end: int) -> bool:
    """Whether what stands from `start` to `end` is somebody's words: right within quotation marks,
    or in a Markdown quotation.
    """
    line = text.rfind("\n", 0, start) + 1
    if text[line : line + 20].lstrip().startswith(">"):
        return True
    before, after = (
        text[max(0, start - 9) : start].rstrip("*_"),
        text[end : end + 9].lstrip(".!,)]*_"),
    )
    opened = before[-1:] in _OPENING and (
        before[-2:-1].isspace() or before[-2:-1] in _BEFORE_QUOTES
    )
    closed = after[:1] in _CLOSING
    return (before != "" and opened and not before.endswith("```")) or (
        after != "" and closed and not after.startswith("```")
    )


def read_yes_no(text: str) -> bool | None:
    """Whether `text` begins with yes (True) or no (False), Markdown's emphasis around it left
    aside; None where with neither.

    `nobody`, `no-one`, `no idea`, `no problem`, `yes/no`, `yes?` and `yes or no` are neither.
    """
    match = _YES_NO.match(text)
    return None if match is None else match[1] is not None


class TwoNumbers(NamedTuple):
    """The scores of two answers, that of the one shown first before that of the other."""

    first: float
    second: float


def read_two_numbers(text: str, low: float, high: float) -> TwoNumbers | None:
    """The two scores of a pairwise review, both from `low` to `high`; None where it does not
    clearly give two.

    In this order: the first line that is not blank, if it is the pair alone (`9 8.5`, `9, 8.5`,
    `8/10 7/10`); the last pair of lines `Assistant 1: n`, `Assistant 2: n`; the last pair in
    parentheses after the word scores, ratings or output; the last line that is the pair alone.
    Other numbers of the text, such as those of a calculation, are nobody's scores.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    ways = (
        (_match_pair(lines[0]) if lines else None),
        _last(_PAIR_OF_LINES.finditer(text)),
        _last(_PAIR_IN_PARENTHESES.finditer(text)),
        (_match_pair(lines[-1]) if lines else None),
    )
    pair = next((match for match in ways if match), None)
    if pair is None:
        return None
    scores = TwoNumbers(*(float(number) for number in pair.groups()))
    return scores if all(low <= score <= high for score in scores) else None


# finish reasons of OpenAI, and of Anthropic's, Mistral's, Google's and Hugging Face's servers
_ENDED = frozenset({"stop", "stop_sequence", "end_turn", "eos", "eos_token", "complete"})
_CUT_OFF = frozenset({"length", "max_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "content_filtered", "safety", "recitation"})


def check_reply(reply: Reply | Failure) -> Reply | Verdict:
    """The reply, or, where no reader can try it, the verdict that says why. A reply that ended for
    a reason that is not known to be good is never read.
    """
    if isinstance(reply, Failure):
        return Verdict("failed", reason=reply.reason)
    ended = reply.finish_reason.lower()
    if reply.refusal:
        return Verdict("refused", rationale=reply.text or None, reason=reply.refusal)
    if ended in _ENDED:
        return reply
    if ended in _CUT_OFF or ended in _FILTERED:
        status: Status = "truncated" if ended in _CUT_OFF else "filtered"
        return Verdict(status, rationale=reply.text or None)
    reason = f"the endpoint ended the reply with {reply.finish_reason[:40]!r}; expected 'stop'"
    return Verdict("unparsed", rationale=reply.text or None, reason=reason)


def _match_pair(line: str) -> re.Match[str] | None:
    """The pair that a line is, Markdown's emphasis around it left aside; a long line is no pair."""
    bare = line.strip(" \t\r*_`.")
    return _PAIR_LINE.fullmatch(bare) if len(bare) <= _LONGEST_PAIR_LINE else None


def _last(matches: Iterable[re.Match[str]]) -> re.Match[str] | None:
    return max(matches, key=lambda match: match.start(), default=None)


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
    `1. word` where the text was `cut_off` before a second point could come.
    """
    allowed, match = set(levels), _RATING.match(text)
    if (
        match is None
        or int(match["value"]) not in allowed
        or float(match["top"] or max(allowed)) != max(allowed)
    ):
        return None
    rest = match["rest"]
    if (
        int(match["value"]) == 1
        and _FIRST_POINT.match(rest)
        and (cut_off or _SECOND_POINT.search(rest))
    ):
        return None
    return OpeningRating(int(match["value"]), rest.strip(" \t\r\n.*_"))


def read_opening_score(text: str) -> OpeningScore | None:
    """The score from 0.0 to 1.0 that `text` begins with, `0.85`, `Score: .85` or `0.85/1.0`; None
    where it does not clearly give one.
    """
    match = _OPENING_SCORE.match(text)
    if match is None or not 0 <= float(match["value"]) <= 1 or float(match["top"] or 1) != 1:
        return None
    start, end = match.span("value")
    point = text.find(".", start, end)
    if point < 0 and _FIRST_POINT.match(text, end):
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


def forgive_cut(reply: Reply | Failure) -> tuple[Reply | Failure, bool]:
    """The reply as if it had ended by itself, and whether it was cut off: a verdict that stands
    first is not lost with the end.
    """
    if isinstance(reply, Reply) and reply.finish_reason.lower() in _CUT_OFF:
        return replace(reply, finish_reason="stop"), True
    return reply, False
