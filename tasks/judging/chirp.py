"""Readers of CHIRP's judges: which of two labelled responses is preferred, and whether a response
is graded correct.

A reader never raises and never gives a verdict that the reply does not hold; where the reply is not
clear it gives None. Text in quotation marks, code or a block quote is a quotation, not a verdict. A
declared verdict (alone on the first or last line, or after `Final answer:` and the like) counts
before a mere statement, and the last of several counts; a later statement that contradicts it
leaves None.

`CaseAsker` holds the turns of a judge's generator; each ends with the text to be read, or with the
verdict that there is none.
"""

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, NamedTuple

from judgelake.tasks.judging import reading
from judgelake.tasks.judging.claims import (
    LONGEST_CHARS,
    MOST_MARKS,
    corrects,
    is_own,
    takes_back,
)
from judgelake.tasks.judging.reading import read_yes_no
from judgelake.tasks.judging.templates import neutralise
from judgelake.tasks.types import (
    JUDGE,
    Answer,
    Decoding,
    Failure,
    Message,
    Models,
    Reply,
    Request,
    Verdict,
)

Shown = Literal["first", "second", "tie"]
Grade = Literal["correct", "partially correct", "incorrect"]

_AROUND = " \t\r\n.,!()[]{}\"'“”‘’"
_AROUND_LINE = " \t\r.,!()[]{}"
"""Around a verdict that is the whole reply; on a line of several, quotation marks make it
somebody's words.
"""
# a verdict alone on a line is short; the patterns need not run over long lines
_LONGEST_LINE = 80
# text in quotation marks or code, also if never closed, and Markdown's block quotes; an
# apostrophe within a word opens no quotation
_QUOTED = re.compile(
    r"(?<![\w.])\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|«[^»]*(?:»|\Z)|`+[^`]*(?:`+|\Z)"
    r"|(?<!\w)['‘][^'’\n]*['’](?!\w)|^[ \t]*>[^\n]*",
    re.MULTILINE,
)
# judges write verdicts in bold: `**Response 1** is better`
_EMPHASIS = re.compile(r"[*_]+")
# one space for any run, since the patterns below write one space; lines stay apart
_BLANKS = re.compile(r"[^\S\n]+")
# `if response 1 is better, ...` and `although response 1 is better, ...` decide nothing
_HYPOTHESIS = re.compile(
    r"\b(?:if|whether|unless|would|could|might|may|although|though|while|suppose|assuming|when)\b",
    re.IGNORECASE,
)
# `no, response 1 is better` denies nothing, `no response is better` does
_DENIAL = re.compile(
    r"\b(?:not|no(?!,)|never|neither|nor|none|cannot|hardly)\b|n['’]t\b", re.IGNORECASE
)

# whose verdict it is, where it is not the judge's: `the user claims that response 1 is better`
_REPORT = re.compile(
    r"\b(?<!\bI )(?:claim|say|state|argue|assert|believe|think|insist|suggest|assume|pretend"
    r"|hope)s?\b"
    r"|\b(?:claimed|said|stated|argued|asserted|wrote|writes|insisted|suggested|told|tells"
    r"|asks|asked"
    r"|wants|wanted|according to|contrary to|claims?|opinion that|idea that|notion that|rumou?r"
    r"|false|untrue|wrong to|incorrect to|mistaken|doubt|doubtful|disagree|deny|denies|denied"
    r"|dispute"
    r"|reject|refute|instead of|rather than|far from|without|refuse|unable|pretends?)\b",
    re.IGNORECASE,
)
# What is searched for in a whole text is written in small letters, and the text put into them:
# that is several times as fast as ignoring case.
# in a long text lines without these words are not searched for verdicts
_LONG_CHARS = 4000
_VERDICT_WORDS = re.compile(
    r"assistant|response|answer|option|reply|student|candidate|verdict|winner|preference|choice"
    r"|decision|grad|evaluation|selection|conclusion|judg|assessment|correct|\bone\b"
)
# blank lines
_LINES = re.compile(r"\n\s*\n")

# these words name a verdict even within a sentence
_OWN = (
    r"(?:(?:better|best|preferred|winning|chosen|stronger) (?:assistant|answer|response|one)"
    r"|verdict|winner|preference|choice|decision|grade|grading)"
)
_FINAL = (
    r"(?:(?:final|overall|my) (?:answer|evaluation|selection|conclusion|judge?ment|assessment))"
)
"""A response may have a final answer of its own: without a label it is a verdict only where it
begins a clause.
"""
# how a verdict follows the words that name it: `: 1`, `is 1`, `goes to response 1`
_IS = r" ?(?::|=|is\b:?|goes to\b) ?(?:the )?"
_DECLARES = rf"(?:{_OWN}|{_FINAL}){_IS}"
# `response 1`, but not `response 1.5`, `response 1%` or `response 1 or 2`
_LABEL = (
    r"(?:assistant|response|answer|option) ?(?:number |no\.? |\#)?([12])(?![\w/%]|\.\d)"
    r"(?!,? ?(?:or|and|&|,|-|–) ?(?:\w+ )?[12])"
)
# a verdict ends its clause; `:5` and `.5` after it would belong to a number
_CLAUSE_ENDS = r"(?= ?\)?(?:$|[.;:!,](?! ?\d)|[—–]| (?:- |(?:because|since|as|due)\b)))"
# words that make a statement stronger or weaker and leave its choice as it is
_SURELY = (
    r"(?:(?:clearly|slightly|overall|much|far|therefore|thus|definitely|still|strongly|personally"
    r"|the|a) ){0,3}"
)

# a whole reply or line may leave out the words that name the verdict
_ALONE = re.compile(
    rf"(?i)(?:{_DECLARES}|answer ?: ?)?(?:{_LABEL}|([12])|(?:it is |it['’]s )?(?:a )?(tie))"
)
# a label alone on a line may be a heading
_LABEL_ALONE = re.compile(rf"(?i){_LABEL}")
# where a text numbers its points, a lone `1` or `2` is such a number
_LIST_ITEM = re.compile(r"^ ?[12][.)](?: |$)", re.MULTILINE)
# words of `_FINAL` need a label, or the beginning of a clause (see there)
_CHOICE_DECLARED = re.compile(
    rf"(?m)\b{_DECLARES}{_LABEL}"
    rf"|(?:(?<!['’]s )\b{_OWN}"
    rf"|(?:^\W{{0,6}}|[.!?,;:] )(?:(?:so|thus|therefore|hence|overall),? )?(?:the )?{_FINAL}){_IS}"
    rf"(?:([12])|(?:a )?(tie))\b{_CLAUSE_ENDS}"
)
# `response 1 is better at detail` is about one aspect, not the choice
_CHOICE_STATED = re.compile(
    rf"\bi (?:would )?{_SURELY}(?:prefer|choose|select|pick|favou?r) "
    rf"(?:the )?(?:(?:response|answer) (?:of|from|by) )?{_LABEL}"
    rf"|{_LABEL}(?:['’]s (?:response|answer))? (?:is|was) "
    rf"{_SURELY}(?:better|best|preferred|preferable|superior|stronger|winner)\b"
    r"(?! (?:at|in|on|for|with|when|if|unless|regarding)\b)"
)

# hedged grades; all are read as `partially correct`
_PARTLY = (
    r"(?:partially|partly|somewhat|mostly|largely"
    r"|not (?:entirely|fully|completely|wholly|quite|strictly))[ -]"
)
# `correct or ...`, `correct, but ...` and `correct/incorrect` are no clear grade
_GRADE = (
    rf"(?:({_PARTLY})|(not ))?(incorrect|correct)\b"
    r"(?!['’/-]\w|,? (?:or|and|but|however|although|though|except|only|partially|partly)\b)"
)
# a whole reply or line may leave out the words that name the grade
_GRADE_ALONE = re.compile(rf"(?i)(?:{_DECLARES}|(?:answer|result|evaluation) ?: ?)?{_GRADE}")
# a grade that opens the reply counts as declared; `Correct: yes` is a form's field, no grade
_GRADE_FIRST = re.compile(
    rf"(?im)\W{{0,6}}{_GRADE}"
    r"(?= ?(?:$|[.,;!—–]|:(?! ?(?:yes|no|true|false|\d))| (?:- |(?:because|since|as)\b)))"
)
# `My verdict: incorrect.`
_GRADE_DECLARED = re.compile(rf"(?m)\b{_DECLARES}{_GRADE}{_CLAUSE_ENDS}")
# `The response is therefore correct.`
_GRADE_STATED = re.compile(
    r"(?m)\b(?:response|answer|reply|student|assistant|candidate)(?: [\w'’]+)? (?:is|was) "
    r"(?:(?:therefore|thus|clearly|indeed|considered) )?"
    rf"{_GRADE}{_CLAUSE_ENDS}"
)


class _ReadVerdict(NamedTuple):
    """A verdict and its place in the text; `value` is None where what was said is denied."""

    place: int
    value: str | None


def read_choice(text: str, ties: bool) -> Shown | None:
    """Which response is preferred: that labelled 1 (`first`) or 2, or neither where `ties` allows
    it; None where that is not clear.
    """
    value = _read(text, _ALONE, _CHOICE_DECLARED, _CHOICE_STATED, _choice_of)
    if value == "1":
        return "first"
    if value == "2":
        return "second"
    return "tie" if value == "tie" and ties else None


def read_grade(text: str) -> Grade | None:
    """Whether a response is graded correct; `not entirely correct` and the like are partially
    correct; None where it is not clear.
    """
    value = _read(text, _GRADE_ALONE, _GRADE_DECLARED, _GRADE_STATED, _grade_of, _GRADE_FIRST)
    if (read_yes_no(text), value) in ((False, "correct"), (True, "incorrect")):
        return None  # `No, the answer is correct.`
    grades: tuple[Grade, ...] = ("correct", "partially correct", "incorrect")
    return next((grade for grade in grades if grade == value), None)


_Value = Callable[["re.Match[str]"], str | None]


def _read(
    text: str,
    alone: re.Pattern[str],
    declared: re.Pattern[str],
    stated: re.Pattern[str],
    value: _Value,
    first: re.Pattern[str] | None = None,
) -> str | None:
    if len(text) > LONGEST_CHARS:
        return None
    bare = (
        _BLANKS.sub(" ", _EMPHASIS.sub("", text.replace("`", ""))).strip(_AROUND)
        if len(text) <= _LONGEST_LINE
        else ""
    )
    whole = alone.fullmatch(bare)
    if whole:
        return value(whole)
    seen = _LINES.sub("\n\n", _BLANKS.sub(" ", _EMPHASIS.sub("", _QUOTED.sub("…", text))))
    small = _lower(seen)
    parts = _list_searched(small)
    clauses, statements = (
        [*islice(_read_clauses(seen, _find(pattern, small, parts), value), MOST_MARKS + 1)]
        for pattern in (declared, stated)
    )
    if max(len(clauses), len(statements)) > MOST_MARKS:
        return None
    verdicts = [*_read_ends(seen, alone, value), *clauses]
    opening = first.match(seen) if first else None
    if opening and is_own(seen, *opening.span()) and not takes_back(seen, opening.end()):
        verdicts.append(_ReadVerdict(0, value(opening)))
    return _settle(seen, verdicts, statements)


def _lower(text: str) -> str:
    """The text in small letters, of the same length: the few that would become two stay."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(sign if len(sign.lower()) > 1 else sign.lower() for sign in text)


def _list_searched(small: str) -> list[tuple[int, int]]:
    """Begin and end of what is searched for verdicts: everything, or of a long text the lines that
    have a word of a verdict.
    """
    if len(small) <= _LONG_CHARS:
        return [(0, len(small))]
    parts: list[tuple[int, int]] = []
    end = -1
    while word := _VERDICT_WORDS.search(small, end + 1):
        begin = small.rfind("\n", 0, word.start()) + 1
        follows = parts and begin == end + 1
        end = small.find("\n", word.end())
        end = len(small) if end < 0 else end
        parts[-1:] = [(parts[-1][0], end)] if follows else [*parts[-1:], (begin, end)]
    return parts


def _find(
    pattern: re.Pattern[str], small: str, parts: Iterable[tuple[int, int]]
) -> Iterator[re.Match[str]]:
    for begin, end in parts:
        yield from pattern.finditer(small, begin, end)


def _read_ends(seen: str, alone: re.Pattern[str], value: _Value) -> Iterator[_ReadVerdict]:
    """A verdict alone on the first or the last line; a number of a list, and a label that heads a
    part of the text, are none.
    """
    for place, line in _end_lines(seen):
        bare = line.strip(_AROUND_LINE) if len(line) <= _LONGEST_LINE else ""
        match = alone.fullmatch(bare)
        if match is None or (bare in ("1", "2") and _LIST_ITEM.search(seen)):
            continue
        if _LABEL_ALONE.fullmatch(bare) and _heads_a_part(seen):
            continue
        yield _ReadVerdict(place, value(match))


def _end_lines(text: str) -> Iterator[tuple[int, str]]:
    """The first and the last line that are not blank, with their places."""
    last = len(text.rstrip())
    first = len(text) - len(text.lstrip())
    for place in dict.fromkeys(text.rfind("\n", 0, at) + 1 for at in (first, last) if last):
        end = text.find("\n", place)
        yield place, text[place : len(text) if end < 0 else end]


def _heads_a_part(seen: str) -> bool:
    """Whether both labels stand alone on lines, as headings do."""
    heads = (
        _LABEL_ALONE.fullmatch(line.strip(_AROUND_LINE + ":"))
        for line in seen.splitlines()
        if len(line) <= _LONGEST_LINE
    )
    return len({head[1] for head in heads if head}) == 2


def _read_clauses(
    seen: str, matches: Iterable[re.Match[str]], value: _Value
) -> Iterator[_ReadVerdict]:
    """What the text says outside a hypothesis or concession; the denial of a verdict has no
    value.
    """
    for match in matches:
        start = match.start() + len(match[0]) - len(match[0].lstrip(".!?,;: "))
        begin = start - len(re.split(r"[.!?\n]", seen[max(0, start - 300) : start])[-1])
        verdict = min(
            match.start(number) for number, group in enumerate(match.groups(), 1) if group
        )
        if not _HYPOTHESIS.search(seen, begin, start):
            denied = (
                _DENIAL.search(seen, begin, verdict)
                or _REPORT.search(seen, begin, start)
                or not is_own(seen, start, match.end())
                or takes_back(seen, match.end())
            )
            yield _ReadVerdict(match.start(), None if denied else value(match))


def _settle(seen: str, declared: list[_ReadVerdict], stated: list[_ReadVerdict]) -> str | None:
    """The last declared verdict, unless an earlier one differs that it does not correct, or a later
    statement does; without one, what all statements say.
    """
    if declared:
        ordered = sorted(declared, key=lambda verdict: verdict.place)
        last = ordered[-1]
        differing = [verdict for verdict in ordered if verdict.value not in (None, last.value)]
        if differing and not corrects(seen, differing[-1].place, last.place):
            return None
        return (
            last.value
            if {later.value for later in stated if later.place > last.place} <= {last.value}
            else None
        )
    values = {statement.value for statement in stated}
    return values.pop() if len(values) == 1 else None


def _choice_of(match: "re.Match[str]") -> str:
    return next(group for group in match.groups() if group).lower()


def _grade_of(match: "re.Match[str]") -> str | None:
    part, denied, word = match.groups()
    if part:
        return "partially correct"
    if denied:
        return "incorrect" if word.lower() == "correct" else None  # `not incorrect` says neither
    return word.lower()


Style = Literal["simple", "reasoning", "two_turn"]
EXTRACTOR = "extractor"
MARKERS = (
    "Question:",
    "Assistant 1 Response:",
    "Assistant 2 Response:",
    "Assistant Response:",
    "Correct Answer:",
    "Student's Answer:",
    "Evaluation:",
)
"""The delimiters of all of CHIRP's prompts."""


class FinalReply(NamedTuple):
    """The text that holds the verdict, and the text that explains it."""

    text: str
    rationale: str


Turns = Generator[list[Request], list[Reply | Failure], FinalReply | Verdict]


@dataclass(frozen=True)
class CaseAsker:
    """What all requests of a case share, and the turns in which they are sent."""

    models: Models
    decoding: Decoding
    draw: int
    answer: Answer

    def request(
        self, messages: tuple[Message, ...], endpoint: str = JUDGE, answer: Answer | None = None
    ) -> Request:
        """One request to the model of an endpoint; the extractor is asked at temperature 0."""
        decoding = (
            Decoding(temperature=0.0, max_tokens=self.decoding.max_tokens)
            if endpoint == EXTRACTOR
            else self.decoding
        )
        return Request(
            self.models[endpoint], messages, decoding, self.draw, endpoint, answer=answer
        )

    def ask(self, messages: tuple[Message, ...], endpoint: str = JUDGE) -> Turns:
        """One question, whose reply holds the verdict."""
        (reply,) = yield [self.request(messages, endpoint, self.answer)]
        return check_reply(reply)

    def ask_after_own_answer(
        self, question: tuple[Message, ...], messages: tuple[Message, ...], endpoint: str = JUDGE
    ) -> Turns:
        """The judge answers the question itself; its answer stands in the conversation when it is
        asked to judge.

        An own answer that is cut off at the limit of tokens is still one.
        """
        (own,) = yield [self.request(question, endpoint)]
        checked = check_reply(own)
        if isinstance(own, Failure) or (
            isinstance(checked, Verdict) and checked.status != "truncated"
        ):
            return checked
        if not own.text.strip():
            return Verdict("unparsed", reason="the judge gave no answer of its own to the question")
        return (
            yield from self.ask((*question, Message("assistant", own.text), *messages), endpoint)
        )

    def ask_and_extract(
        self,
        messages: tuple[Message, ...],
        extraction: Callable[[str], tuple[Message, ...]],
        endpoint: str = JUDGE,
    ) -> Turns:
        """The judge reasons; a second model, which sees the judge's text alone, names its
        verdict.
        """
        (replied,) = yield [self.request(messages, endpoint)]
        reasoned = check_reply(replied)
        if isinstance(reasoned, Verdict):
            return reasoned
        if not reasoned.text.strip():
            return Verdict("unparsed", reason="the judge gave no reasoning")
        (reply,) = yield [self.request(extraction(clean(reasoned.text)), EXTRACTOR, self.answer)]
        return check_reply(reply, reasoned.text)


def check_reply(reply: Reply | Failure, rationale: str | None = None) -> FinalReply | Verdict:
    """The text to be read, or the verdict that the reply cannot be read; `rationale` is a text that
    explains more than the reply does.
    """
    replied = reading.check_reply(reply)
    if isinstance(replied, Verdict):
        return replace(replied, rationale=rationale or replied.rationale)
    return FinalReply(replied.text, rationale or replied.text)


def clean(text: str) -> str:
    """Data for a field of a prompt: none of the delimiters in it."""
    return neutralise(text.strip(), MARKERS)
