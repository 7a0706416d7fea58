"""Readers of CHIRP's judges: which of two labelled responses is preferred, and whether a response
is graded correct.

A reader never raises and never gives a verdict that the reply does not hold. A sentence is a
verdict only where the whole of it has the form of one: an opening word (`so`, `overall`), the
verdict, and perhaps a reason. Text in quotation marks, code or a block quote is a quotation. A
declared verdict (alone on the first or last line, or after `Final answer:` and the like) counts
before a mere statement, and the last of several counts where it corrects the others.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

from judgelake.tasks.judging.claims import (
    CORRECTION,
    LONGEST_CHARS,
    MOST_MARKS,
    NOT_OWN,
    SENTENCE_END,
    Mark,
    Settled,
    corrects,
    hide_asides,
    is_form,
    takes_back,
)
from judgelake.tasks.judging.reading import read_yes_no

Shown = Literal["first", "second", "tie"]
Grade = Literal["correct", "partially correct", "incorrect"]

_AROUND = " \t\r\n.,!()[]{}\"'“”‘’"
_AROUND_LINE = " \t\r.,;!()[]{}"
"""Around a verdict that is the whole reply; on a line of several, quotation marks make it
somebody's words.
"""
_LONGEST_WHOLE, _LONGEST_SENTENCE, _BEHIND_CHARS = 80, 600, 100
_MOST_SENTENCES, _MOST_CLAUSES, _MOST_QUOTES = 400, 8, 2000
"""A verdict is short; of more sentences with its words, the reply repeats itself."""
# text in quotation marks or code, also if never closed, and Markdown's block quotes; an
# apostrophe within a word opens no quotation. Each begins with a literal, which is found quickly.
_QUOTED = {
    "`": re.compile(r"`+[^`]*(?:`+|\Z)"),
    '"': re.compile(r"\"(?<![\w.]\")[^\"]*(?:\"|\Z)"),
    "“": re.compile(r"“[^”]*(?:”|\Z)"),
    "«": re.compile(r"«[^»]*(?:»|\Z)"),
    "'": re.compile(r"'(?<!\w')[^'’\n]*['’](?!\w)"),
    "‘": re.compile(r"‘(?<!\w‘)[^'’\n]*['’](?!\w)"),
    ">": re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE),
}
# a form of boxes: what is not ticked is not said
_UNTICKED = re.compile(r"^[ \t]*(?:[-+*][ \t]*)?(?:\[[ \t]?\]|[☐⬜◻])[^\n]*", re.MULTILINE)
_TICKED = re.compile(r"^[ \t]*(?:[-+*][ \t]*)?(?:\[[xX✓✔]\]|[☑☒✅✔])[ \t]*", re.MULTILINE)
_BOXES = ("[x]", "[X]", "[✓]", "[✔]", "☑", "☒", "✅", "✔", "☐", "⬜", "◻", "[ ]", "[]")
_BULLET = re.compile(r"\A(?:[-+•]|[0-9]{1,2}[.)])[ \t]+")

# words that open a sentence and leave its verdict as it is
_OPEN = (
    r"(?:(?:so|however|hence|thus|therefore|overall|all in all|all told|and|yes|no|well|finally"
    r"|still"
    r"|in (?:conclusion|summary|total|short|sum|my (?:opinion|view|judge?ment))|to (?:conclude"
    r"|sum up"
    r"|summari[sz]e)|clearly|as a result|it is clear that|i (?:think|believe|conclude|find"
    rf"|would say)(?: that)?|{CORRECTION})\b[ ,:.…—–-]*)*+"
)
# after these a clause of a longer sentence is a sentence of its own
_JOINS = re.compile(
    r",? (?:and|but|so|yet|hence|thus|therefore)(?: still)?,? |, (?:still|overall),? "
)
_CONDITION = re.compile(
    r"\W*(?:(?:and|but|so|well),? )?(?:even )?(?:if|unless|had|were|suppos\w+|assuming|should|when"
    r"|whether|although|though|while|according|because|since)\b"
)
_OWN = (
    r"(?:(?:better|best|preferred|winning|chosen|stronger) (?:assistant|answer|response|one|option)"
    r"|verdict|winner|preference|choice|decision|grade|grading)"
)
_FINAL = (
    r"(?:(?:final|overall|my) (?:answer|evaluation|selection|conclusion|judge?ment|assessment))"
)
"""A response may have one of its own: it is a verdict only where it begins a sentence."""
# how a verdict follows the words that name it: `: 1`, `is 1`, `goes to response 1`
_IS = r" ?(?::|=|\bis\b:?|\bgoes to\b) ?(?:the )?"
_DECLARES = rf"(?:(?:my|the) )?(?:(?:final|overall) )?(?:{_OWN}|{_FINAL}){_IS}"
_DECLARED = re.compile(rf"(?<!['’]s )\b{_OWN}{_IS}|^(?:the |my )?{_FINAL}{_IS}")
# `response 1`, but not `response 1.5`, `response 1%`
_LABEL = r"(?:assistant|response|answer|option) ?(?:number |no\.? |\#)?([12])(?![\w/%]|\.\d)"
_OTHER = (
    r"(?:the )?(?:assistant|response|answer|option|other|second|first)(?: [12]| one| response)?"
)
# words that make a statement stronger or weaker and leave its choice as it is
_SURELY = (
    r"(?:(?:clearly|slightly|overall|much|far|therefore|thus|definitely|still|strongly|personally"
    r"|the|a) ){0,3}"
)
# a reason, a concession or a remark in parentheses may follow a choice
_WHY = (
    r"(?: \((?P<aside>[^()]*)\)?| over (?:the other|both)| overall)?(?P<why>,? (?:because|since|as"
    r"|due"
    r"|given|although|though|even though|despite|for (?:its|the|being|having))\b.*| [-—–] .*"
    r"|: (?:see|it|its|this|because|as|since)\b.*)?"
)
_DOUBTS = re.compile(
    r"\A\W*or\b|\b(?:if|unless|perhaps|maybe|depends)\b|\b(?:or|nor)\b(?= [12]| the other)"
)
_ONLY = re.compile(r"\b(?:only|partly|if|but|unless|except|not)\b")

_CHOICE_ALONE = re.compile(
    rf"(?:{_DECLARES}|answer ?: ?|{_OPEN})(?:(?:the )?{_LABEL}|([12])(?![\w/%.])|(?:it is "
    rf"|it['’]s )?"
    r"(?:a )?(tie))(?: \((?P<aside>[^()]*)\)?)?(?P<why>,? (?:because|since|as|due|given)\b.*)?"
)
# a label alone on a line may be a heading
_LABEL_ALONE = re.compile(rf"(?i){_LABEL}")
# where a text numbers its points, a lone `1` or `2` is such a number
_LIST_ITEM = re.compile(r"^ ?[12][.)](?: |$)", re.MULTILINE)
_CHOICE_DECLARED = re.compile(rf"{_OPEN}{_DECLARES}(?:{_LABEL}|([12])|(?:a )?(tie))(?!\w){_WHY}")
# `response 1 is better at detail` is about one aspect, not the choice
_CHOICE_STATED = re.compile(
    rf"{_OPEN}(?:i (?:would |will |['’]d )?{_SURELY}(?:prefer|choose|select|pick|favou?r|go with"
    r"|opt for|vote for) "
    rf"(?:the )?(?:(?:response|answer) (?:of|from|by) )?{_LABEL}(?: (?:over|to|than"
    rf"|instead of) {_OTHER})?"
    rf"|(?:the )?{_LABEL}(?:['’]s (?:response|answer))? (?:wins|(?:is|was) {_SURELY}"
    r"(?:better|best|preferred|preferable|superior|stronger|winner)"
    rf"(?: (?:one|response|answer|assistant|option|choice))?(?: (?:than|to"
    rf"|over) {_OTHER})?))(?!\w){_WHY}"
)
_CHOICE_WORDS = (
    "better", "best", "prefer", "superior", "stronger", "wins", "winn", "chosen", "choos", "choice",
    "select", "pick", "favo", "go with", "opt for", "vote for", "verdict", "decision", "final",
    "grad", "evaluation", "conclusion", "judgment", "judgement", "assessment",
)  # fmt: skip

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
    r"(?P<aside>)(?P<why>,? (?:because|since)\b.*|,? as (?!(?:far|long|to|regards|if|though)\b).*"
    r"| [-—–] .*|: (?!(?:yes|no|true|false|[0-9]+)\b).*)?"
)
_CLAUSE = re.compile(
    r": (?:see|it|its|this|both|all|he|she|they|as|because|since|the (?:response|answer|reply"
    r"|student|candidate|assistant|references?|image|picture))\b"
)
_GRADE_IS = (
    r"(?:(?:my|the) )?(?:(?:final|overall) )?(?:verdict|decision|grade|grading"
    rf"|(?:final|overall|my) (?:evaluation|conclusion|judge?ment|assessment)){_IS}"
    r"|(?:my |the )?(?:final|overall) answer ?[:=] ?"
)
_GRADE_ALONE = re.compile(
    rf"(?:{_GRADE_IS}|(?:answer|result|evaluation) ?: ?|{_OPEN}){_GRADE}{_GRADE_WHY}"
)
_GRADE_DECLARED = re.compile(rf"{_OPEN}(?:{_GRADE_IS}){_GRADE}{_GRADE_WHY}")
# `The response is therefore correct`; `the reference answer` and `my answer` are not what is graded
_GRADE_STATED = re.compile(
    rf"{_OPEN}(?:(?:the|this|that) |(?=candidate|student))(?:(?:(?:student|candidate)(?:['’]s)?"
    rf"|(?:assistant|model|user|ai)['’]s) )?"
    r"(?:final |given |provided |short )?(?:response|answer|reply|student|assistant"
    r"|candidate) (?:is|was) "
    rf"{_GRADE}{_GRADE_WHY}"
)
# what speaks against a grade right behind it
_SAYS_WRONG = re.compile(
    r"\A[\s.!…]*not[.!]|\b(?:is|are|was|were) (?:(?!not\b)\w+ )?(?:wrong|incorrect|false|inaccurate"
    r"|not correct)\b"
)
_SAYS_RIGHT = re.compile(
    r"\b(?:answer|response|reply|student|candidate|it) (?:is|was) (?:\w+ )?(?<!not )(?:correct"
    r"|right)\b"
)


# a reason that leaves something out of `correct`
_LIMITS = re.compile(r"\b(?:but|however|yet|except|although|though|partially|partly)\b")


class _Form(NamedTuple):
    """The forms of a verdict (alone on a line, declared, stated), words of which each has one, and
    what a match gives. `opens`: the first sentence may be a verdict alone.
    """

    alone: re.Pattern[str]
    declared: re.Pattern[str]
    stated: re.Pattern[str]
    words: tuple[str, ...]
    give: Callable[["re.Match[str]"], str | None]
    opens: bool


class _Said(NamedTuple):
    """A verdict from `place` to `end`, and the reason given within; `value` is None where it is not
    clear or taken back.
    """

    place: int
    end: int
    value: str | None
    why: str


def read_choice(text: str, ties: bool) -> Shown | None:
    """Which response is preferred: that labelled 1 (`first`) or 2, or neither where `ties` allows
    it; None where that is not clear.
    """
    mark = settle_choice(text, ties).mark
    shown: tuple[Shown, ...] = ("first", "second", "tie")
    return next((one for one in shown if mark is not None and one == mark.value), None)


def settle_choice(text: str, ties: bool) -> Settled:
    """The mark of that choice, or why there is none."""
    settled, _ = _settle(text, _CHOICE)
    if settled.mark is not None and settled.mark.value == "tie" and not ties:
        return Settled(None, "it says tie, which was not asked for")
    return settled


def read_grade(text: str) -> Grade | None:
    """Whether a response is graded correct; `not entirely correct` and the like are partially
    correct; None where it is not clear.
    """
    mark = settle_grade(text).mark
    grades: tuple[Grade, ...] = ("correct", "partially correct", "incorrect")
    return next((one for one in grades if mark is not None and one == mark.value), None)


def settle_grade(text: str) -> Settled:
    """The mark of that grade, or why there is none."""
    settled, behind = _settle(text, _GRADES)
    if settled.mark is None:
        return settled
    value = str(settled.mark.value)
    says_yes = read_yes_no(text)
    if (says_yes, value) in ((False, "correct"), (True, "incorrect")):
        return Settled(None, f"it says both {'yes' if says_yes else 'no'} and {value}")
    against = {"correct": _SAYS_WRONG, "incorrect": _SAYS_RIGHT}.get(value)
    if against is not None and against.search(behind[:_BEHIND_CHARS]):
        return Settled(None, f"what follows speaks against its {value}")
    return settled


def _settle(text: str, form: _Form) -> tuple[Settled, str]:
    """The verdict that holds, or why there is none, and what follows the verdict."""
    if len(text) > LONGEST_CHARS:
        return Settled(None, f"it is longer than {LONGEST_CHARS:,} characters"), ""
    shown = hide_asides(text)
    if any(box in shown for box in _BOXES):
        shown = _TICKED.sub("", _UNTICKED.sub("", shown))
    bare = re.sub(r"[*_`]", "", shown) if len(shown) <= _LONGEST_WHOLE else ""
    whole = _match_alone(bare.strip(_AROUND).lower(), form)
    if whole is not None and _is_clear(whole) and form.give(whole) is not None:
        return Settled(Mark(form.give(whole), 0, len(text))), whole["why"] or ""
    for sign, pattern in _QUOTED.items():
        signs = shown.count(sign)
        if signs > _MOST_QUOTES:
            return Settled(None, f"it has more than {_MOST_QUOTES} of the sign {sign}"), ""
        if signs:
            shown = pattern.sub("“”", shown)
    seen = _lower(shown.replace("*", "").replace("_", "").replace("\r", ""))
    sentences = _find_sentences(seen, form.words)
    if len(sentences) > _MOST_SENTENCES:
        return Settled(None, f"more than {_MOST_SENTENCES} of its sentences could be verdicts"), ""
    declared, stated = [*_read_ends(seen, form)], list[_Said]()
    for begin, end in sentences:
        for match, is_declared in _read_sentence(seen, begin, end, form):
            said = _say(seen, begin, end, match, form)
            (declared if is_declared else stated).append(said)
    return _weigh(seen, declared, stated)


def _lower(text: str) -> str:
    """The text in small letters, of the same length: the few that would become two stay."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(sign if len(sign.lower()) > 1 else sign.lower() for sign in text)


def _match_alone(text: str, form: _Form) -> "re.Match[str] | None":
    return form.alone.fullmatch(" ".join(text.split(" ")))


def _find_sentences(seen: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Begin and end of the sentences that have one of the words, in order; no more than one above
    the limit.
    """
    found: dict[int, int] = {}
    for word in words:
        last, place = (
            0,
            seen.find(word),
        )  # `last`: where a sentence begins, -1 where none is known to
        while place >= 0 and len(found) <= _MOST_SENTENCES:
            window = max(last, place - _LONGEST_SENTENCE)
            breaks = [match.end() for match in SENTENCE_END.finditer(seen, window, place)]
            begin = breaks[-1] if breaks else last if window == last else -1
            ends = SENTENCE_END.search(seen, place, place + _LONGEST_SENTENCE)
            end = min(len(seen), place + _LONGEST_SENTENCE) if ends is None else ends.end()
            if begin >= 0:
                found[begin] = end
            last = -1 if ends is None else end
            place = seen.find(word, end)
    return sorted(found.items())


def _read_sentence(
    seen: str, begin: int, end: int, form: _Form
) -> Iterator[tuple["re.Match[str] | None", bool]]:
    """The verdicts that a sentence or its clauses give, and whether they are declared; None for one
    that is declared and not clear.
    """
    sentence = " ".join(seen[begin:end].split())
    asks = sentence.endswith("?")
    sentence = _BULLET.sub("", sentence.strip(" #|"), count=1).strip(" .!…,;)(。！")
    clauses = [sentence]
    if not _CONDITION.match(sentence):
        clauses += [
            sentence[join.end() :] for join in islice(_JOINS.finditer(sentence), _MOST_CLAUSES)
        ]
    matches = [
        (match, pattern is form.declared)
        for clause in clauses
        for pattern in (form.declared, form.stated)
        if not asks and (match := pattern.fullmatch(clause))
    ]
    yield from matches
    if len(_DECLARED.findall(sentence)) > sum(is_declared for _, is_declared in matches):
        yield None, True


def _say(seen: str, begin: int, end: int, match: "re.Match[str] | None", form: _Form) -> _Said:
    clear = match is not None and _is_clear(match) and not takes_back(seen, end)
    value = form.give(match) if match is not None and clear else None
    return _Said(begin, end, value, "" if match is None else match["why"] or "")


def _is_clear(match: "re.Match[str]") -> bool:
    """Whether the reason and the remark behind a verdict leave it as it is."""
    return not (_DOUBTS.search(match["why"] or "") or _ONLY.search(match["aside"] or ""))


def _read_ends(seen: str, form: _Form) -> Iterator[_Said]:
    """A verdict alone on the first or the last line, or, where the form has it, the first sentence.
    A number of a list, and a label that heads a part of the text, are none.
    """
    for begin, end in _list_ends(seen, form.opens):
        line = seen[begin:end] if end - begin <= _LONGEST_SENTENCE else ""
        bare = _BULLET.sub("", line.strip(" #"), count=1).strip(_AROUND_LINE)
        match = _match_alone(bare, form)
        if match is None or line.rstrip().endswith("?"):
            continue
        if bare in ("1", "2") and _LIST_ITEM.search(seen):
            continue
        if _LABEL_ALONE.fullmatch(bare) and _heads_a_part(seen):
            continue
        yield _say(seen, begin, end, match, form)


def _list_ends(text: str, opens: bool) -> Iterator[tuple[int, int]]:
    """Where the first and the last line with words begin and end, and the first sentence."""
    last = len(text.rstrip())
    first = len(text) - len(text.lstrip())
    for place in dict.fromkeys(text.rfind("\n", 0, at) + 1 for at in (first, last) if last):
        end = text.find("\n", place)
        yield place, len(text) if end < 0 else end
    sentence = SENTENCE_END.search(text, first, first + _LONGEST_SENTENCE)
    if opens and sentence is not None:
        yield first, sentence.end()


def _heads_a_part(seen: str) -> bool:
    """Whether both labels stand alone on lines, as headings do."""
    heads = (
        _LABEL_ALONE.fullmatch(line.strip(_AROUND_LINE + ":#-"))
        for line in seen.split("\n")
        if len(line) <= _LONGEST_WHOLE
    )
    return len({head[1] for head in heads if head}) == 2


def _weigh(seen: str, declared: list[_Said], stated: list[_Said]) -> tuple[Settled, str]:
    """The last declared verdict, unless an earlier one differs that it does not correct, or a later
    statement does; without one, what all statements say.
    """
    if max(len(declared), len(stated)) > MOST_MARKS:
        return Settled(None, f"it gives more than {MOST_MARKS} verdicts"), ""
    said = sorted(declared or stated, key=lambda one: one.place)
    if not said:
        return Settled(None), ""
    last = said[-1]
    if last.value is None:
        return Settled(None, NOT_OWN), ""
    others = [
        one for one in said if one.value not in (last.value, None if declared else last.value)
    ]
    later = [one for one in stated if one.place > last.place and one.value != last.value]
    if later or (others and not (declared and corrects(seen, others[-1].place, last.end))):
        other = (later or others)[-1].value
        return Settled(None, f"it gives both {other} and {last.value}" if other else NOT_OWN), ""
    behind = last.why + seen[last.end :]
    if is_form(behind):
        return Settled(None, f"it calls its {last.value} an example"), ""
    return Settled(Mark(last.value, last.place, last.end)), behind


def _give_choice(match: "re.Match[str]") -> str | None:
    named = match.re.groupindex.values()
    number = next(
        group for place, group in enumerate(match.groups(), 1) if group and place not in named
    )
    return {"1": "first", "2": "second"}.get(number, number)


def _give_grade(match: "re.Match[str]") -> str | None:
    part, denied, word = match.groups()[:3]
    why = match["why"] or ""
    if part:
        return "partially correct"
    if denied:
        return "incorrect" if word == "correct" else None  # `not incorrect` says neither
    if word == "correct" and (_LIMITS.search(why) or (why[:1] == ":" and not _CLAUSE.match(why))):
        return None
    return "correct" if word == "correct" else "incorrect"


_CHOICE = _Form(
    _CHOICE_ALONE, _CHOICE_DECLARED, _CHOICE_STATED, _CHOICE_WORDS, _give_choice, opens=False
)
_GRADES = _Form(
    _GRADE_ALONE, _GRADE_DECLARED, _GRADE_STATED, ("correct", "wrong"), _give_grade, opens=True
)
