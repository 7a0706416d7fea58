"""Readers: from a reply's text to a rating, or to nothing. A reader never raises and never invents
a rating the reply does not hold.

Reading the probabilities of tokens is in `tasks.judging.token_reading`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import NamedTuple

from judgelake.tasks.judging.claims import (
    CLOSING,
    HAS_ASIDES,
    LONGEST_CHARS,
    MOST_MARKS,
    OPENING,
    Mark,
    Settled,
    hide_asides,
    is_judges_own,
    is_own,
    is_quoted,
    settle,
    takes_back,
)
from judgelake.tasks.judging.courtesies import drop_courtesies
from judgelake.tasks.judging.number_lead import (
    blank_tags,
    find_number_alone,
    is_last_code,
)
from judgelake.tasks.judging.number_tail import read_tail
from judgelake.tasks.judging.number_value import Number, find_json_number, read_number
from judgelake.tasks.judging.verdict_tail import read_marked_tail
from judgelake.tasks.types import REPEATS, Failure, Reply, Status, Verdict

# the marker of the prompts, and the one of Prometheus-Vision's own feedback
_MARKER = re.compile(
    r"\[RESULT\]|\b(?:so[ \t]+)?the\s+overall\s+score\s+is\b|(?-i:\bRESULT):", re.IGNORECASE
)
# what every marker has: a reply without it is searched no further
_MARKER_WORD = re.compile(r"(?i)result[\]:]|overall")
_AROUND = " \t\r\n.*_`"
_MOST_MARKERS = 4 * MOST_MARKS
"""Many may be passed over, as words of the prompt; a reply with more of them repeats itself."""
_TOO_LONG = f"it is longer than {LONGEST_CHARS:,} characters"
# possessive (`*+`), so that long runs of blanks take linear time
_GAP = re.compile(
    r"[*_]*+\s*+(?::[*_]*+\s*+)?(?:(?:score|rating)\b[*_]*+:?[*_]*+\s*+"
    r"|(?:the[ \t]+(?:overall[ \t]+)?score[ \t]+is|i[ \t]+(?:would[ \t]+)?(?:give|rate)[ \t]+"
    r"(?:it|this|the[ \t]+response))[ \t]+(?:an?[ \t]+)?)?",
    re.IGNORECASE,
)
# `[RESULT] ~4`, `[RESULT] between 3 and 4`: a score of no level
_OTHER_SCORE = re.compile(
    r"[\s*_:=(\[<>~]*(?:(?:between|from)[ \t]+)?(?:(?:zero|one|two|three|four|five|six|seven|eight"
    r"|nine|ten)\b|[-+−]?[0-9])",
    re.IGNORECASE,
)
# `more` finds a second choice behind the first: `A or B`
_CHOICE = re.compile(
    r"[\s*_:]*+(?P<open>[(\[\"'“‘`]|\$?\\boxed\{(?:\\text\{)?)?[ \t*_]*+"
    r"(?:(?:feedback|answer|response)[ \t]+)?(?P<value>[^\W_]+)"
    r"(?P<more>[ \t]*(?:/|,|or\b|and\b)[ \t]*(?:[^\W_]|feedback|tie|both|neither)\b)?"
    r"(?(open)[\"'”’`})\]$*_]*)",
    re.IGNORECASE,
)
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
# `yes is what the user wants to hear`
_IS_MENTIONED = re.compile(r"[*_]*[ \t]+(?:is|was|would|cannot|could|may|might)\b")
_NO_AGAIN = re.compile(r"[\s,.!]*no\b", re.IGNORECASE)

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
# a line that is not blank, and what it holds within Markdown's emphasis
_NOT_BLANK = re.compile(r"^[ \t*_`.]*(?P<words>[^\s*_`.](?:[^\n]*[^\s*_`.])?)", re.MULTILINE)
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


def find_last_digit(text: str, mark: Mark) -> int:
    """Where the last digit of a mark's whole number stands, before its `.0`; of a word its end."""
    digits = str(mark.value)
    place = text.rfind(digits, mark.start, mark.end)
    return mark.end - 1 if place < 0 else place + len(digits) - 1


def read_rating_at_end(text: str, marker: str, levels: Iterable[int]) -> RatingRead | None:
    """The rating of `text`: the last `<marker>=n` or `<marker>: n`, behind which no more than a
    reason follows; a text that is the number alone or ends with a line `Rating:` and the number on
    the next; or a JSON object with one rating. n is one of `levels`.

    A rating in quotation marks or in a Markdown quotation is somebody's words, not the verdict. Nor
    is one that is denied, supposed or reported, or that contradicts an earlier one without
    correcting it.
    """
    mark = settle_rating_at_end(text, marker, levels).mark
    if mark is None:
        return None
    return RatingRead(int(mark.value or 0), text[: mark.start].strip(), find_last_digit(text, mark))


def settle_rating_at_end(text: str, marker: str, levels: Iterable[int]) -> Settled:
    """The mark of that rating, or why there is none."""
    if len(text) > LONGEST_CHARS:
        return Settled(None, _TOO_LONG)
    allowed = set(levels)
    top = max(allowed, default=0)
    seen = hide_asides(text) if HAS_ASIDES.search(text) else text
    seen = blank_tags(seen) if "<" in seen else seen
    place = find_json_number(seen) if "{" in seen else None
    found = [
        (match, number)
        for match in islice(_find_rating_pattern(marker).finditer(seen), MOST_MARKS + 1)
        if place is None
        and (
            number := Number(float(match["plain"]), *match.span("plain"), match.end())
            if match["plain"]
            else read_number(seen, match.end(), top, words=match["sign"].lower() != "is")
        )
        and (
            (
                match["plain"]
                and ">" not in seen
                and seen[max(0, match.start() - 1) : match.start()].isspace()
            )
            or not is_quoted(seen, match.start(), number.behind)
            or is_last_code(seen, match.start(), number.behind)
        )
    ]
    if place is None and (not found or seen[found[-1][1].behind :].strip(_AROUND)):
        place = find_number_alone(seen)
    if place is not None and not (found and found[-1][1].start >= place):
        number = read_number(seen, place, top)
        if number is None or number.value not in allowed:
            return Settled(None)
        return Settled(Mark(int(number.value), place, number.end))
    marks, after = [], 0
    says_so = bool(found) and found[-1][0]["so"] is not None
    for match, number in found:
        if match["so"] or not says_so:
            level = int(number.value or 0) if number.value in allowed else None
            own = is_judges_own(seen, match.start(), number.end, after)
            marks.append(Mark(level, match.start(), number.end, own))
        after = number.behind
    settled = settle(seen, marks)
    if (
        found
        and found[-1][0]["sign"].lower() == "is"
        and re.search(r"\w", drop_courtesies(seen[after:]))
    ):
        return Settled(None, "what follows `is` and its number may count something else")
    is_last = settled.mark is None or settled.mark.end == found[-1][1].end
    if is_last and not seen[after:].strip(_AROUND):
        return settled
    return _check_tail(seen, settled, top, [number for _, number in found])


def _check_tail(text: str, settled: Settled, top: float, numbers: Iterable[Number]) -> Settled:
    """The settled mark, where no more than a reason follows its number, one of `numbers`."""
    if settled.mark is None:
        return settled
    end = settled.mark.end
    behind = next((number.behind for number in numbers if number.end == end), end)
    fault = read_tail(text, end, float(settled.mark.value or 0), top, behind=behind).fault
    return Settled(None, fault) if fault else settled


@cache
def _find_rating_pattern(marker: str) -> re.Pattern[str]:
    return re.compile(
        # `So rating=4`, `rating: 4`, `rating is 4`
        rf"(?i)(?P<blank>(?<=\s))?\b(?P<so>so\s+)?{re.escape(marker)}[\s*_]*(?P<sign>=|:|\bis\b)(?:[*_]+(?=\s))?\s*"
        # a digit that ends the text, or else what `number_value` reads
        r"(?:(?P<plain>[0-9])(?=[\s.]*\Z)|(?=[\d\"'`(\[<{$*_\\]|(?:one|two|three|four|five)\b))",
        re.ASCII,
    )


def read_result_marker(text: str, levels: Iterable[int]) -> RatingRead | None:
    """The last score that `[RESULT] n` or `So the overall score is n` gives; None where there is
    none or it is not one of `levels`.

    A marker in quotation marks or a Markdown quotation, and one without a number, as in a prompt's
    words repeated, are passed over. A fraction, a span (`3-4`, `3 or 4`), a list, a number of
    another scale (`3/10`) or in another script is no score of a level. Nor is a score that is
    denied, supposed or reported, or that contradicts an earlier one without correcting it.
    """
    mark = settle_result_marker(text, levels).mark
    if mark is None:
        return None
    return RatingRead(int(mark.value or 0), text[: mark.start].strip(), find_last_digit(text, mark))


def settle_result_marker(text: str, levels: Iterable[int]) -> Settled:
    """The mark of that score, or why there is none."""
    allowed = set(levels)
    top = max(allowed, default=0)
    numbers: list[Number] = []

    def read_score(seen: str, marker: re.Match[str]) -> _Valued | None:
        gap = _GAP.match(seen, marker.end())
        place = gap.end() if gap else marker.end()
        number = read_number(seen, place, top)
        if number is None or _is_list_number(seen, marker.end(), number):
            other = _gives_other_score(seen, marker.end()) and number is None
            return _Valued(None, marker.end()) if other else None
        numbers.append(number)
        level = int(number.value or 0) if number.value in allowed else None
        return _Valued(level, number.end, behind=number.behind)

    settled = _settle_markers(text, read_score, is_judges_own)
    return _check_tail(hide_asides(text), settled, top, numbers) if settled.mark else settled


class _Valued(NamedTuple):
    """What a marker gives, where that ends, and what is wrong with what follows, if anything is.
    `behind`: where the quotation marks or brackets around it end.
    """

    value: int | str | None
    end: int
    fault: str = ""
    behind: int = 0


def _settle_markers(
    text: str,
    read_value: Callable[[str, re.Match[str]], _Valued | None],
    says: Callable[[str, int, int, int], bool] = is_own,
) -> Settled:
    """What the markers in `text` give: `read_value` has what one gives, None where it is passed
    over. `says`: whether a verdict is the judge's own.
    """
    if len(text) > LONGEST_CHARS:
        return Settled(None, _TOO_LONG)
    if not _MARKER_WORD.search(text):  # most of a long reply is searched once, and quickly
        return Settled(None)
    seen = hide_asides(text)
    markers = [*islice(_MARKER.finditer(seen), _MOST_MARKERS + 1)]
    if len(markers) > _MOST_MARKERS:
        return Settled(None, f"it has more than {_MOST_MARKERS} markers")
    marks, wrapped, after = [], _is_wrapped(seen), 0
    for marker in markers:
        found = read_value(seen, marker)
        if found is None:
            continue
        start, end = marker.start(), max(found.end, found.behind)
        if not wrapped and is_quoted(seen, start, end) and not is_last_code(seen, start, end):
            continue
        own = says(seen, start, found.end, after)
        marks.append(Mark(found.value, marker.start(), found.end, own, found.fault))
        after = found.end
    return settle(seen, marks)


def _is_list_number(text: str, start: int, number: Number) -> bool:
    """Whether the number after a marker opens a list on the next line."""
    return (
        "\n" in text[start : number.start]
        and re.match(r"[.)][ \t]+\S", text[number.end : number.end + 20]) is not None
    )


def _gives_other_score(text: str, end: int) -> bool:
    """Whether a score follows that is no number of a level: a sign such as `④`, a span `between 3
    and 4`, `<4`.
    """
    following = text[end : end + 40].lstrip(" \t\n*_:=([")
    return following[:1].isnumeric() or _OTHER_SCORE.match(text, end) is not None


def read_marked_choice(text: str, choices: Iterable[str]) -> str | None:
    """The last of `choices` that `[RESULT] <choice>` gives; None where there is none or the last
    marker gives something else.

    A marker in quotation marks or a Markdown quotation, and one followed by several choices in
    brackets (a prompt's words), are passed over. A choice that is denied, supposed or reported, or
    that contradicts an earlier one without correcting it, is none.
    """
    mark = settle_marked_choice(text, choices).mark
    return None if mark is None else str(mark.value)


def settle_marked_choice(text: str, choices: Iterable[str]) -> Settled:
    """The mark of that choice, or why there is none."""
    spelled = {_spell(choice): choice for choice in choices}

    def read_choice(seen: str, marker: re.Match[str]) -> _Valued | None:
        match = _CHOICE.match(seen, marker.end())
        if match is None or (match["open"] and match["more"]):
            return None
        value = None if match["more"] else spelled.get(_spell(match["value"]))
        tail = None if value is None else read_marked_tail(seen, match.end(), value)
        return _Valued(None, match.end()) if tail is None else _Valued(value, *tail)

    return _settle_markers(text, read_choice)


def _spell(choice: str) -> str:
    return choice if len(choice) == 1 else choice.casefold()


def _is_wrapped(text: str) -> bool:
    """Whether quotation marks stand around the whole of `text` and nowhere else."""
    bare = text.strip()
    return (
        len(bare) > 1
        and bare[0] in OPENING
        and bare[-1] in CLOSING
        and not {bare[0], bare[-1]} & set(bare[1:-1])
    )


def read_yes_no(text: str) -> bool | None:
    """Whether `text` begins with yes (True) or no (False), Markdown's emphasis around it left
    aside; None where with neither.

    `nobody`, `no-one`, `no idea`, `no problem`, `yes/no`, `yes?` and `yes or no` are neither.
    """
    match = _YES_NO.match(text) if len(text) <= LONGEST_CHARS else None
    if match is None or _IS_MENTIONED.match(text, match.end()):
        return None
    says_yes = match[1] is not None
    repeats = not says_yes and _NO_AGAIN.match(text, match.end())
    return None if takes_back(text, match.end()) and not repeats else says_yes


class TwoNumbers(NamedTuple):
    """The scores of two answers, that of the one shown first before that of the other."""

    first: float
    second: float


def read_two_numbers(text: str, low: float, high: float) -> TwoNumbers | None:
    """The two scores of a pairwise review, both from `low` to `high`; None where it does not
    clearly give two.

    They may be the first or the last line that is not blank, if it is the pair alone (`9 8.5`,
    `9, 8.5`, `8/10 7/10`), the last pair of lines `Assistant 1: n`, `Assistant 2: n`, or the last
    pair in parentheses after the word scores, ratings or output. Where two of these differ, the
    last counts if it corrects the other, else none. Other numbers of the text, such as those of a
    calculation, are nobody's scores.
    """
    if len(text) > LONGEST_CHARS:
        return None
    seen = hide_asides(text)
    filled = seen.rstrip()
    small = seen.lower()
    matches = [_match_pair(_NOT_BLANK.search(seen))]
    if ":" in seen:
        matches += _take(_PAIR_OF_LINES.finditer(seen))
    if "(" in seen and any(word in small for word in ("score", "rating", "output")):
        matches += _take(_PAIR_IN_PARENTHESES.finditer(seen))
    if "\n" in filled:
        matches.append(_match_pair(_NOT_BLANK.match(seen, filled.rfind("\n") + 1)))
    if len(matches) > MOST_MARKS:
        return None
    marks: list[Mark] = []
    for start, end, first, second in sorted({(*m.span(), m[1], m[2]) for m in matches if m}):
        after = marks[-1].end if marks else 0
        value = f"{float(first):g} {float(second):g}"
        marks.append(Mark(value, start, end, is_own(seen, start, end, after)))
    mark = settle(seen, marks).mark
    if mark is None:
        return None
    scores = TwoNumbers(*map(float, str(mark.value).split()))
    return scores if all(low <= score <= high for score in scores) else None


def _take(matches: Iterable[re.Match[str]]) -> list[re.Match[str]]:
    return [*islice(matches, MOST_MARKS + 1)]


# the five labels, from A much better to B much better
_ARENA_LABEL = re.compile(r"\[\[[*_]{0,3}(A>>B|A>B|A=B|B>A|B>>A)[*_]{0,3}\]\]")
_NO_FACT = re.compile(
    r"\b(?:not|never|would|could|might|if|says?|said|claims|claimed|wrote|writes?|asks?|told|wants?"
    r"|example|format|output|others?)\b|n['’]t\b",
    re.IGNORECASE,
)
_PREFERENCES = {"A>>B": 0.0, "A>B": 0.25, "A=B": 0.5, "B>A": 0.75, "B>>A": 1.0}


def read_arena_label(text: str) -> float | None:
    """The share of the win that the second answer gets: 0, .25, .5, .75 or 1 for `[[A>>B]]`,
    `[[A>B]]`, `[[A=B]]`, `[[B>A]]`, `[[B>>A]]`, as Arena-Hard and WildVision ask for them; None
    where the reply does not clearly give one.
    """
    if len(text) > LONGEST_CHARS:
        return None
    seen = hide_asides(text)
    marks, after = [], 0
    for match in _take(_ARENA_LABEL.finditer(seen)):
        if not is_quoted(seen, *match.span()):
            line = max(seen.rfind("\n", 0, match.start()) + 1, after)
            own = is_own(seen[line:], match.start() - line, match.end() - line) or _names_label(
                seen[line : match.start()]
            )
            marks.append(Mark(match[1], *match.span(), own))
            after = match.end()
    mark = settle(seen, marks).mark
    return None if mark is None else _PREFERENCES[str(mark.value)]


def _names_label(line: str) -> bool:
    """Whether the words before a label on its line end with a colon and say, as a fact, what the
    label stands for: `Assistant A is slightly better:`.
    """
    bare = line.strip(" \t*_")
    return bare.endswith(":") and _NO_FACT.search(bare) is None


# finish reasons of OpenAI, and of Anthropic's, Mistral's, Google's and Hugging Face's servers
_ENDED = frozenset({"stop", "stop_sequence", "end_turn", "eos", "eos_token", "complete"})
_CUT_OFF = frozenset({"length", "max_tokens", "model_length", REPEATS})
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
        reason = "the model repeated itself and was stopped" if ended == REPEATS else None
        return Verdict(status, rationale=reply.text or None, reason=reason)
    end = f"ended the reply with {reply.finish_reason[:40]!r}" if ended else "gave no finish_reason"
    reason = f"the endpoint {end}; expected 'stop'"
    return Verdict("unparsed", rationale=reply.text or None, reason=reason)


def _match_pair(line: re.Match[str] | None) -> re.Match[str] | None:
    """The pair that a line is, Markdown's emphasis around it left aside; a long line is no pair."""
    if line is None:
        return None
    start, end = line.span("words")
    if end - start > _LONGEST_PAIR_LINE:
        return None
    return _PAIR_LINE.fullmatch(line.string, start, end)


def forgive_cut(reply: Reply | Failure) -> tuple[Reply | Failure, bool]:
    """The reply as if it had ended by itself, and whether it was cut off: a verdict that stands
    first is not lost with the end.
    """
    if isinstance(reply, Reply) and reply.finish_reason.lower() in _CUT_OFF:
        return replace(reply, finish_reason="stop"), True
    return reply, False
