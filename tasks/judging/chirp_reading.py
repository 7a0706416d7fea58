"""Readers of CHIRP's judges: which of two labelled responses is preferred, and whether a response
is graded correct.

A reader never raises and never gives a verdict that the reply does not hold. A sentence is a
verdict only where the whole of it has one of the forms of `tasks.judging.chirp_forms`, and where
`tasks.judging.verdict_tail` finds no fault with what follows. Text in quotation marks, code or a
block quote is a quotation. A declared verdict (alone on the first or last line, or after `Final
answer:` and the like) counts before a mere statement, and the last of several counts where it
corrects the others.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

from judgelake.tasks.judging.chirp_forms import CHOICE, GRADES, Form
from judgelake.tasks.judging.claims import (
    LONGEST_CHARS,
    MOST_MARKS,
    NOT_OWN,
    SENTENCE_END,
    Mark,
    Settled,
    corrects,
    hide_asides,
    is_form,
    is_lead,
    takes_back,
)
from judgelake.tasks.judging.reading import read_yes_no
from judgelake.tasks.judging.verdict_tail import BLAME, PRAISE, find_fault, fits_signs

Shown = Literal["first", "second", "tie"]
Grade = Literal["correct", "partially correct", "incorrect"]

_SIGNS = f"{PRAISE}{BLAME}\ufe0f"
_AROUND = " \t\r\n.,!()[]{}$\"'“”‘’" + _SIGNS
_AROUND_LINE = " \t\r.,;!()[]{}$" + _SIGNS
"""Around a verdict that is the whole reply; on a line of several, quotation marks make it
somebody's words.
"""
_LONGEST_WHOLE, _LONGEST_SENTENCE, _LONGEST_OBJECT = 80, 600, 4000
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
_TICKED = re.compile(r"^[ \t]*(?:[-+*][ \t]*)?(?:\[[xX✓✔]\]|[☑☒])[ \t]*", re.MULTILINE)
_BOXES = ("[x]", "[X]", "[✓]", "[✔]", "☑", "☒", "☐", "⬜", "◻", "[ ]", "[]")
_DASH = re.compile(r"\A[-+•][ \t]+")
_BULLET = re.compile(r"\A(?:[-+•]|[0-9]{1,2}[.)])[ \t]+")

# `\\boxed{2}`, `$\\boxed{\\text{Correct}}$`
_BOXED = re.compile(r"\\boxed\{(?:\\text(?:bf|rm)?\{)?([^{}\n]{1,60})\}\}?")
_TAGGED = re.compile(r"<(choice|winner|verdict|preference|grade|answer)>([^<>]{1,60})</\1>")
_FENCE = re.compile(r"```(?:json)?\s*(\{.*\})\s*```|(\{.*\})", re.DOTALL)
_REASON_KEYS = frozenset({"reason", "reasons", "reasoning", "rationale", "explanation"})
# after these a clause of a longer sentence is a sentence of its own
_JOINS = re.compile(
    r",? (?:and|but|so|yet|hence|thus|therefore)(?: still)?,? |, (?:still|overall),? "
)
_CONDITION = re.compile(
    r"\W*(?:(?:and|but|so|well),? )?(?:even )?(?:if|unless|had|were|suppos\w+|assuming|should|when"
    r"|whether|although|though|while|according|because|since)\b"
)
# a label alone on a line may be a heading
_LABEL_ALONE = re.compile(r"(?i)(?:assistant|response|answer|option) ?(?:number |no\.? |\#)?([12])")
# where a text numbers its points, a lone `1` or `2` is such a number
_LIST_ITEM = re.compile(r"^ ?[12][.)](?: |$)", re.MULTILINE)
# a sentence or a line that hands the word to somebody else, or breaks off
_HANDS_ON = re.compile(
    r"\b(?:following|below|as follows|this (?:sentence|line|text)|these words|last (?:words|line)"
    r"|next line|instruct\w*|demands?|wants?|told|is false|begs?|suppos\w*|imagine"
    r"|pretend)\b(?!.*[,:] )"
)
_BREAKS_OFF = re.compile(
    r"\b(?:not?|never|wrong|false|bad|examples?|sample|format|template|placeholder|injected"
    r"|sa(?:id|ys?"
    r"|ying)|wr(?:ote|ites?|ite)|claim\w*|ends?|ending|words?|text|prompt|told|tells|ask\w*|wants?"
    r"|output|order\w*|demand\w*|instruct\w*|other|another|if|unless|would|could|ignore|quote\w*"
    r"|reads?|following|below|user|the (?:answer|response|reply|student|candidate))\b|n['’]t\b"
    r"|[—–-]$"
)
_NAMES_VERDICT = re.compile(
    r"\b(?:choice|preference|winner|selection|grading|(?:better|preferred) (?:response|assistant"
    r"|answer))\b|\Aanswer\b"
)
_IT = re.compile(r"\b(?:it|this)(?: is|['’]s)\b(?! a tie)")


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
    settled = _settle(text, CHOICE)
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
    settled = _settle(text, GRADES)
    value = settled.mark and settled.mark.value
    says_yes = read_yes_no(text)
    if (says_yes, value) in ((False, "correct"), (True, "incorrect")):
        return Settled(None, f"it says both {'yes' if says_yes else 'no'} and {value}")
    return settled


def _settle(text: str, form: Form) -> Settled:
    """The verdict that holds, or why there is none."""
    if len(text) > LONGEST_CHARS:
        return Settled(None, f"it is longer than {LONGEST_CHARS:,} characters")
    shown = hide_asides(text)
    if any(box in shown for box in _BOXES):
        shown = _TICKED.sub("", _UNTICKED.sub("", shown))
    if 0 < shown.count("\\boxed{") <= MOST_MARKS:
        shown = _BOXED.sub(r"\1", shown)
    whole = _read_whole(shown.strip(), form)
    if whole is not None:
        return Settled(Mark(whole, 0, len(text)))
    for sign, pattern in _QUOTED.items():
        signs = shown.count(sign)
        if signs > _MOST_QUOTES:
            return Settled(None, f"it has more than {_MOST_QUOTES} of the sign {sign}")
        if signs:
            shown = pattern.sub("“”", shown)
    seen = _lower(shown.replace("*", "").replace("_", "").replace("\r", ""))
    sentences = _find_sentences(seen, form.words)
    if len(sentences) > _MOST_SENTENCES:
        return Settled(None, f"more than {_MOST_SENTENCES} of its sentences could be verdicts")
    declared, stated = list[_Said](), list[_Said]()
    for said, is_line in _read_ends(seen, form):
        (declared if is_line else stated).append(said)
    for begin, end in sentences:
        for match, is_declared in _read_sentence(seen, begin, end, form):
            said = _say(seen, begin, end, match, form)
            (declared if is_declared else stated).append(said)
    return _weigh(seen, declared, stated, form)


def _read_whole(shown: str, form: Form) -> str | None:
    """The verdict that the reply is as a whole, within whatever wraps it."""
    if shown.startswith(("{", "```")) and len(shown) <= _LONGEST_OBJECT:
        found = _FENCE.fullmatch(shown)
        if found is not None:
            return _read_object(found[1] or found[2], form)
    if len(shown) > 2 * _LONGEST_WHOLE:
        return None
    tagged = _TAGGED.fullmatch(shown)
    bare = re.sub(r"[*_`]", "", tagged[2] if tagged else shown)
    return _read_alone(bare, form) if len(bare) <= _LONGEST_WHOLE else None


def _read_alone(text: str, form: Form) -> str | None:
    """The verdict that a short text is, unless what follows within it speaks against it."""
    bare = text.strip(_AROUND).lower()
    match = _match_alone({"one": "1", "two": "2"}.get(bare, bare), form)
    value = form.give(match) if match is not None else None
    if value is None or match is None or not fits_signs(text, value):
        return None
    return None if find_fault(match["why"] or "", form.sides(value)) else value


def _read_object(text: str, form: Form) -> str | None:
    """The verdict of a JSON object that has it under one key, and besides at most its reason."""
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    keys = [str(pair[0]).lower() for pair in pairs if isinstance(pair, tuple)]
    verdicts = [value for key, value in pairs if key.lower() in form.keys]
    reasons = [value for key, value in pairs if key.lower() in _REASON_KEYS]
    if len(verdicts) != 1 or len(verdicts) + len(reasons) != len(keys):
        return None
    if isinstance(verdicts[0], bool) or not isinstance(verdicts[0], str | int):
        return None
    value = _read_alone(str(verdicts[0]), form)
    clear = value is not None and not any(
        not isinstance(reason, str) or find_fault(reason, form.sides(value)) for reason in reasons
    )
    return value if clear else None


def _lower(text: str) -> str:
    """The text in small letters, of the same length: the few that would become two stay."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(sign if len(sign.lower()) > 1 else sign.lower() for sign in text)


def _match_alone(text: str, form: Form) -> "re.Match[str] | None":
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
    seen: str, begin: int, end: int, form: Form
) -> Iterator[tuple["re.Match[str] | None", bool]]:
    """The verdicts that a sentence or its clauses give, and whether they are declared; None for one
    that is declared and not clear.
    """
    sentence = " ".join(seen[begin:end].split())
    asks = sentence.endswith("?")
    sentence = _BULLET.sub("", sentence.strip(" #|"), count=1).strip(" .!…,;)(。！$" + _SIGNS)
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
    if len(form.declares.findall(sentence)) > sum(is_declared for _, is_declared in matches):
        yield None, True


def _say(seen: str, begin: int, end: int, match: "re.Match[str] | None", form: Form) -> _Said:
    if match is None:
        return _Said(begin, end, None, "")
    why = match.groupdict().get("why") or match.groupdict().get("why_rightly") or ""
    value = form.give(match)
    if value is not None and (
        takes_back(seen, end)
        or _is_handed_on(seen, begin, form)
        or not fits_signs(seen[begin:end], value)
        or find_fault(why, form.sides(value))
    ):
        value = None
    return _Said(begin, end, value, why)


def _is_handed_on(seen: str, begin: int, form: Form) -> bool:
    """Whether the sentence or line before a verdict says that its words are somebody else's, or
    breaks off in the middle of a sentence.
    """
    before = seen[max(0, begin - _LONGEST_SENTENCE) : begin]
    bare = before.rstrip(" \t\n|>")
    if not bare:
        return False
    line = bare[bare.rfind("\n") + 1 :].strip(" \t>•+")
    if "\n" not in before[len(bare) :]:  # on the same line
        ends = [end.end() for end in islice(SENTENCE_END.finditer(line), _MOST_SENTENCES)]
        ends = [end for end in ends if end < len(line)]
        return _HANDS_ON.search(line[ends[-1] if ends else 0 :]) is not None
    if line.endswith((":", ",", "：")):
        return not is_lead(_NAMES_VERDICT.sub("verdict", line.strip("-# ")))
    if line.endswith((".", "!", "?", "…", ";", ")", "”", "。", "！")):
        sentence = line[max(line.rfind(". ", 0, -1), line.rfind("? "), line.rfind("! ")) + 1 :]
        return _HANDS_ON.search(sentence) is not None
    if line.startswith("#") and is_lead(_NAMES_VERDICT.sub("verdict", line.strip("-# "))):
        return False
    return _match_alone(line.strip(_AROUND_LINE), form) is None and bool(_BREAKS_OFF.search(line))


def _read_ends(seen: str, form: Form) -> Iterator[tuple[_Said, bool]]:
    """A verdict alone on the first or the last line or in the first sentence (True), or in the last
    one (False). A number of a list, and a label that heads a part of the text, are none.
    """
    for begin, end, is_line in _list_ends(seen):
        line = seen[begin:end] if end - begin <= _LONGEST_SENTENCE else ""
        bare = _DASH.sub("", line.strip(" #|\n"), count=1).strip(_AROUND_LINE + "\n")
        match = _match_alone(bare, form)
        if match is None or line.rstrip().endswith("?"):
            continue
        is_first = not seen[:begin].strip()
        if bare in ("1", "2") and (_LIST_ITEM.search(seen) or seen[:begin].rstrip().endswith("?")):
            continue
        if _LABEL_ALONE.fullmatch(bare) and _heads_a_part(seen):
            continue
        if not is_first and _IT.search(bare):  # of what is said before
            continue
        if not is_first and not is_line and _LABEL_ALONE.match(bare):
            continue
        yield _say(seen, begin, end, match, form), is_line or is_first


def _list_ends(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where the first and the last line with words begin and end, and the first and last sentence;
    and whether it is a line.
    """
    last = len(text.rstrip())
    first = len(text) - len(text.lstrip())
    for place in dict.fromkeys(text.rfind("\n", 0, at) + 1 for at in (first, last) if last):
        end = text.find("\n", place)
        yield place, len(text) if end < 0 else end, True
    sentence = SENTENCE_END.search(text, first, first + _LONGEST_SENTENCE)
    if sentence is not None:
        yield first, sentence.end(), False
    line = max(text.rfind("\n", 0, last) + 1, last - _LONGEST_SENTENCE)
    ends = [end.end() for end in SENTENCE_END.finditer(text, line, last) if end.end() < last]
    if ends and last - ends[-1] <= _LONGEST_WHOLE and len(text[line : ends[-1]].split()) > 1:
        yield ends[-1], last, False


def _heads_a_part(seen: str) -> bool:
    """Whether both labels stand alone on lines, as headings do."""
    heads = (
        _LABEL_ALONE.fullmatch(line.strip(_AROUND_LINE + ":#-"))
        for line in seen.split("\n")
        if len(line) <= _LONGEST_WHOLE
    )
    return len({head[1] for head in heads if head}) == 2


def _weigh(seen: str, declared: list[_Said], stated: list[_Said], form: Form) -> Settled:
    """The last declared verdict, unless an earlier one differs that it does not correct, or a later
    statement does; without one, what all statements say.
    """
    if max(len(declared), len(stated)) > MOST_MARKS:
        return Settled(None, f"it gives more than {MOST_MARKS} verdicts")
    said = sorted(declared or stated, key=lambda one: (one.place, one.end))
    if not said:
        return Settled(None)
    last = said[-1]
    if last.value is None:
        return Settled(None, NOT_OWN)
    others = [
        one for one in said if one.value not in (last.value, None if declared else last.value)
    ]
    later = [one for one in stated if one.place > last.place and one.value != last.value]
    if later or (others and not (declared and corrects(seen, others[-1].place, last.end))):
        other = (later or others)[-1].value
        return Settled(None, f"it gives both {other} and {last.value}" if other else NOT_OWN)
    behind = _leave_out(seen, last.end, stated)
    if is_form(last.why + behind):
        return Settled(None, f"it calls its {last.value} an example")
    sides = form.sides(last.value)
    is_stated = any(name.lastindex for name in sides.names.finditer(seen[last.place : last.end]))
    fault = find_fault(behind, sides, stated=is_stated)
    return Settled(None, fault) if fault else Settled(Mark(last.value, last.place, last.end))


def _leave_out(seen: str, place: int, stated: Iterable[_Said]) -> str:
    """What follows `place`, without the statements in it, which say the same."""
    parts = []
    for one in sorted(stated, key=lambda one: one.place):
        if one.place >= place:
            parts.append(seen[place : one.place])
            place = one.end
    return "\n".join([*parts, seen[place:]])
