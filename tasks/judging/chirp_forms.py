"""The forms of a verdict of CHIRP's judges: a choice between two labelled responses, a grade.

Finding them in a reply, and which of several holds, is in `tasks.judging.chirp_reading`; what may
follow one, in `tasks.judging.verdict_tail`.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from judgelake.tasks.judging.claims import CORRECTION
from judgelake.tasks.judging.verdict_tail import Sides


class Form(NamedTuple):
    """The forms of a verdict (alone on a line, declared, stated), words of which each has one, what
    a match gives, whom what follows may speak of, and the keys of a JSON object that gives one.
    """

    alone: re.Pattern[str]
    declared: re.Pattern[str]
    stated: re.Pattern[str]
    declares: re.Pattern[str]
    words: tuple[str, ...]
    give: Callable[["re.Match[str]"], str | None]
    sides: Callable[[str], Sides]
    keys: frozenset[str]


# words that open a sentence and leave its verdict as it is
_OPEN = (
    r"(?:(?:so|however|hence|thus|therefore|overall|all in all|all told|and|yes|no|well|finally"
    r"|still|based on (?:this|that|the image|these points)"
    r"|in (?:conclusion|summary|total|short|sum|my (?:opinion|view|judge?ment))|to (?:conclude"
    r"|sum up"
    r"|summari[sz]e)|clearly|as a result|it is clear that|i (?:think|believe|conclude|find"
    rf"|would say)(?: that)?|{CORRECTION})\b[ ,:.…—–-]*)*+"
)
# `Although Assistant 1 is accurate, ` concedes, and the verdict follows
_CONCEDING = (
    r"(?:(?:while|although|though|even though|whereas) (?!.{0,99}\b(?:says?|said|claims?|wants?"
    r"|wrote|asks?|if)\b)[^,?“”]{2,200}, )?"
)
_NO_TIE = r"(?:(?:it is |this is )?not a tie[:;,.—–-]+ ?|(?:nearly|almost) a tie, but )?"
_OWN = (
    r"(?:(?:better|best|preferred|winning|chosen|stronger) (?:assistant|answer|response|one|option)"
    r"|preferred(?= ?:)|verdict|winner|preference|choice|decision|grade|grading)"
)
_FINAL = (
    r"(?:(?:final|overall|my) (?:answer|evaluation|selection|conclusion|judge?ment|assessment))"
)
"""A response may have one of its own: it is a verdict only where it begins a sentence."""
# how a verdict follows the words that name it: `: 1`, `is 1`, `goes to response 1`
_IS = r" ?(?::|=|\bis\b:?|\bgoes to\b) ?(?:the )?"
_DECLARES = rf"(?:(?:my|the) )?(?:(?:final|overall) )?(?:{_OWN}|{_FINAL}){_IS}"
_DECLARED = re.compile(rf"(?<!['’]s )\b{_OWN}{_IS}|^(?:the |my )?{_FINAL}{_IS}")
_NOUN = "(?:assistant|response|answer|option)"
# `response 1`, `the first response`, but not `response 1.5`, `response 1%`
_LABEL = (
    rf"(?:{_NOUN} ?(?:number |no\.? |\#)?([12]|one|two)(?![\w/%'’-]|\.\d|[ ]?%)"
    rf"|the (first|second) (?:assistant|response|answer|option)(?!['’]))"
    r"(?: \((?:the )?(?:first|second|better|preferred)(?: one| response| answer| assistant)?\))?"
)
# `Assistant 1's response`
_NAME = (
    rf"(?:the )?(?:(?:response|answer) (?:of|from|by) (?:the )?)?(?:{_LABEL}"
    rf"|(?:{_NOUN} ?([12]|one|two)|the (first|second) assistant)['’]s (?:response|answer))"
)
_OTHER = (
    r"(?:the )?(?:assistant|response|answer|option|other|second|first)(?: [12]| one| response)?"
    r"(?:['’]s(?: response| answer)?)?"
)
# words that make a statement stronger or weaker and leave its choice as it is
_SURELY = (
    r"(?:(?:clearly|slightly|overall|much|far|therefore|thus|definitely|still|strongly|personally"
    r"|the|a) ){0,3}"
)
# a remark in parentheses, a reason or a concession may follow
_WHY = (
    r"(?P<why>(?: \([^()]*\)?| over (?:the other|both)| overall|,? (?:and )?not (?:the other"
    rf"|{_NOUN} [12]))?(?:,? (?:because|since|as|due|given"
    r"|although|though|even though|despite|for (?:its|the|being|having))\b.*|[ ]?[-—–]+ .*"
    r"|: (?:see|it|its|this|because|as|since)\b.*)?)"
)
_NUMBER = r"([12])(?![\w/%]|\.\d)"
_TIE = (
    r"(?:(?:it is |it['’]s |this is |i(?: would|['’]d)? (?:call|declare|consider)"
    r" (?:it|this) |call it )?"
    r"(?:a )?(tie)(?: between (?:the two|both|(?:assistant|response)s? [12] and (?:(?:assistant"
    r"|response) )?[12])(?: assistants| responses)?)?"
    r"|(?:both(?: of them)?|they|the two|(?:assistant|response)s? [12] and (?:(?:assistant"
    r"|response) )?[12])(?: (?:assistants|responses|answers))? are (equal(?:ly (?:good|bad|accurate"
    r"|helpful|correct))?|tied)"
    r"|neither (?:one |response |assistant |answer )?is (better)(?: than the other)?"
    r"(?:: (?:a )?tie)?)"
)

_CHOICE_ALONE = re.compile(
    rf"(?:{_OPEN}{_DECLARES}|{_OPEN}(?:the )?answer ?: ?|{_OPEN}the answer is (?=assistant"
    rf"|response|the)|{_NO_TIE}{_OPEN})"
    rf"(?:(?:the )?{_LABEL}|{_NUMBER}|{_TIE}){_WHY}"
)
_CHOICE_DECLARED = re.compile(
    rf"{_NO_TIE}{_OPEN}{_DECLARES}(?:(?:the )?{_LABEL}|{_NUMBER}|(?:a )?(tie))(?!\w){_WHY}"
)
_PREFER = r"(?:prefer|choose|select|pick|favou?r|go with|opt for|vote for)"
_BETTER = (
    r"(?:better|best|preferred|preferable|superior|stronger|winner)"
    r"(?: (?:one|response|answer|assistant|option|choice))?"
)
# `response 1 is better at detail` is about one aspect, not the choice
_CHOICE_STATED = re.compile(
    rf"{_OPEN}{_CONCEDING}{_NO_TIE}{_OPEN}"
    rf"(?:i(?: would| will|['’]d|['’]ll)? {_SURELY}{_PREFER} "
    rf"(?:{_NAME}|{_NUMBER})(?: (?:over|to|than|instead of) {_OTHER})?"
    rf"|{_NAME} (?:wins|has (?:the|a slight|a clear) edge(?: here)?|did better"
    rf"|(?:outperforms|beats|surpasses) {_OTHER}"
    rf"|(?:gives|provides|offers) (?:the|a) (?:better|more (?:complete|accurate|helpful))"
    r" (?:answer|response)"
    rf"|(?:is|was) {_SURELY}(?:{_BETTER}(?: (?:than|to|over) {_OTHER})?"
    rf"|(?P<less>worse|weaker|inferior) (?:than|to) {_OTHER}))"
    rf"|(?:die antwort von )?{_LABEL} ist besser"
    rf"|{_TIE})(?!\w){_WHY}"
)
_CHOICE_WORDS = (
    "better", "best", "besser", "prefer", "superior", "stronger", "wins", "winn", "chosen",
    "choos", "choice", "select", "pick", "favo", "go with", "opt for", "vote for", "verdict",
    "decision", "final", "grad", "evaluation", "conclusion", "judgment", "judgement", "assessment",
    "outperforms", "beats", "surpasses", "worse", "weaker", "inferior", "edge", "my answer",
    "tie", "equal",
)  # fmt: skip
_FIRST, _SECOND = frozenset({"1", "one", "first"}), frozenset({"2", "two", "second"})
_CHOICE_NAMES = re.compile(
    rf"(?i)\b(?:(?:the )?{_NOUN}(?: |: )?(?:number |no\.? |\#)?([12]|one|two)\b(?!\.\d)"
    r"|the (first|second)(?: (?:assistant|response|answer|option|one))?)\b"
    r"(?:['’]s (?:response|answer)\b)?"
    r"|\b(?:the other(?: (?:one|response|answer|assistant))?|(?:its|the) (?:rival|opponent"
    r"|competitor))\b"
)

# hedged grades; all are read as `partially correct`
_PARTLY = (
    r"(?:partially|partly|somewhat|mostly|largely"
    r"|not (?:entirely|fully|completely|wholly|quite|strictly))[ -]"
)
_CERTAINLY = (
    r"(?:(?:therefore|thus|hence|clearly|indeed|considered|definitely|absolutely|completely"
    r"|entirely"
    r"|fully|totally|perfectly|100 ?%) )?"
)
_GRADE = rf"(?:({_PARTLY})|{_CERTAINLY}(not )?)(incorrect|correct|wrong)(?![\w/'’-])"
# a reason may follow: `Correct: see the references`, but not `Correct: blue`
_GRADE_WHY = (
    r"(?P<why>(?: \([^()]*\)?)?(?:,? (?:because|since)\b.*"
    r"|,? as (?!(?:far|long|to|regards|if|though)\b)"
    r".*|,? (?:although|though|even though)\b.*|[ ]?[-—–]+ .*"
    r"|: (?!(?:yes|no|true|false|[0-9]+)\b).*)?)"
)
_CLAUSE = re.compile(
    r": (?:see|it|its|this|both|all|he|she|they|as|because|since|“|the (?:response|answer|reply"
    r"|student|candidate|assistant|references?|image|picture))"
)
_GRADE_IS = (
    r"(?:(?:my|the) )?(?:(?:final|overall) )?(?:verdict|decision|grade|grading"
    rf"|(?:final|overall|my) (?:evaluation|conclusion|judge?ment|assessment)){_IS}"
    r"|(?:my |the )?(?:final|overall) answer ?[:=] ?"
)
_GRADE_ALONE = re.compile(
    rf"(?:{_OPEN}(?:{_GRADE_IS}|(?:answer|result|evaluation) ?: ?)|{_OPEN}(?:(?:it|this)(?: is"
    rf"|['’]s) )?){_GRADE}{_GRADE_WHY}"
)
_GRADE_DECLARED = re.compile(rf"{_OPEN}(?:{_GRADE_IS}){_GRADE}{_GRADE_WHY}")
_GRADED = (
    r"(?:(?:the|this|that) |(?=candidate|student))(?:(?:(?:student|candidate)(?:['’]s)?"
    r"|(?:assistant|model|user|ai)['’]s) )?"
    r"(?:final |given |provided |short )?(?:response|answer|reply|student|assistant|candidate) "
)
# `The response is therefore correct`; `the reference answer` and `my answer` are not what is graded
_GRADE_STATED = re.compile(
    rf"{_CONCEDING}{_OPEN}(?:{_GRADED}(?:(?:is|was) |(?P<denied>(?:is|was)n['’]t ))|(?:therefore"
    r"|thus|so|hence),? (?:it|this) is |(?:it|this) is (?=therefore|thus|hence)|i (?:think"
    r"|believe|find) (?:that )?(?:it|this)(?: is|['’]s) )"
    rf"{_GRADE}{_GRADE_WHY}"
    rf"|{_OPEN}{_GRADED}(?:(?:has )?answered|did(?P<fails> not|n['’]t) answer) (?:the question )?"
    r"(?P<rightly>(?:in)?correctly)"
    r"(?P<why_rightly>,? (?:because|since|as)\b.*)?"
)
_GRADE_NAMES = re.compile(
    r"(?i)\b(?:(?:the |a )?(?:(?:correct|right|true|reference|expected|gold|ground[- ]truth) "
    r"(?:answers?|responses?|one)|references?\b|ground[- ]truth\b"
    r"|(?:correct|right) \w+(?: \w+){0,2}(?= (?:is|are|includes?)\b))"
    r"|((?:the |this |that )?(?:(?:student|candidate|assistant|model|user)(?:['’]s)? )?"
    r"(?:(?:final|given|provided|short) )?(?:answers?|response|reply|student|assistant|candidate))"
    r"(?:['’]s (?:answer|response|reply))?)\b"
)


def _give_choice(match: "re.Match[str]") -> str | None:
    named = match.re.groupindex.values()
    said = next(
        group for place, group in enumerate(match.groups(), 1) if group and place not in named
    )
    is_first = said in _FIRST
    if not is_first and said not in _SECOND:
        return "tie"
    return "first" if is_first != bool(match.groupdict().get("less")) else "second"


def _choice_sides(value: str) -> Sides:
    own = {"first": _FIRST, "second": _SECOND}.get(value, frozenset())
    return Sides(value, _CHOICE_NAMES, own)


def _give_grade(match: "re.Match[str]") -> str | None:
    found = match.groupdict()
    if found.get("rightly"):
        return "incorrect" if found["fails"] else found["rightly"].removesuffix("ly")
    part, denied, word = (
        group
        for place, group in enumerate(match.groups(), 1)
        if place not in match.re.groupindex.values()
    )
    why = found["why"] or ""
    if part:
        return None if found.get("denied") else "partially correct"
    if denied or found.get("denied"):
        # `not incorrect` says neither
        return "incorrect" if word == "correct" and not (denied and found.get("denied")) else None
    if word == "correct" and why[:1] == ":" and not _CLAUSE.match(why):
        return None
    return "correct" if word == "correct" else "incorrect"


def _grade_sides(value: str) -> Sides:
    return Sides(value, _GRADE_NAMES)


CHOICE = Form(
    _CHOICE_ALONE, _CHOICE_DECLARED, _CHOICE_STATED, _DECLARED, _CHOICE_WORDS, _give_choice,
    _choice_sides, frozenset({"choice", "winner", "verdict", "preference"}),
)  # fmt: skip
GRADES = Form(
    _GRADE_ALONE, _GRADE_DECLARED, _GRADE_STATED, _DECLARED, ("correct", "wrong"), _give_grade,
    _grade_sides, frozenset({"grade", "verdict"}),
)  # fmt: skip
