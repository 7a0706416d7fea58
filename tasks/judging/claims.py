"""Whether a verdict in a reply is the judge's own, and what holds where a reply gives several.

A verdict counts where its sentence begins with it or with words that lead in to a verdict, and
where nothing but a reason follows it. Everything else (a denial, a supposition, somebody else's
words) is not read, whatever its wording. Where two verdicts of the judge's own differ and no
sentence between them takes the first back, a person would hesitate, and there is none either.
Finding verdicts is the readers' matter.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

LONGEST_CHARS = 100_000
"""Of a reply that is read: 25,000 tokens. Whatever is longer is no verdict, and is not searched."""
MOST_MARKS = 50
"""A reply that gives more verdicts than that repeats itself without end."""
BEFORE_CHARS, _AFTER_CHARS = 240, 120
_EMPHASIS = str.maketrans("", "", "*_`#")

# what is in the text and not meant: a comment, struck text
_STRUCK = re.compile(
    r"<!--.*?(?:-->|\Z)|~~[^~\n]+~~|<(s|del|strike)>[^<\n]*</\1>", re.DOTALL | re.IGNORECASE
)
HAS_ASIDES = re.compile("<|~~")
# a chat template's tokens
_END_TOKENS = re.compile(r"\s*(?:(?:</s>|<\|[^|<>\s]{1,30}\|>|<(?:eos|end_of_turn)>)\s*)+\Z")
_THOUGHT, _THOUGHT_ENDS = "<think>", "</think>"

# what a sentence that corrects a verdict begins with
CORRECTION = (
    r"(?:(?:oh|ah|hmm+|well|but|or|though|no|ok|okay)\b[ ,.:;!…—–-]*)*"
    r"(?:actually|correction|correcting|corrected|wait|scratch that|never ?mind|oops|sorry"
    r"|apologies"
    r"|i apologi[sz]e|i take (?:that|it) back"
    r"|on (?:second thoughts?|(?:further )?(?:reflection|consideration)|reconsideration)"
    r"|(?:let me|i must|i should) (?:correct|change|fix|redo|revise|rethink|reconsider|re-?check)"
    r"|(?:reconsidering|re-?evaluating|re-?checking|re-?reading|revising|revised|looking again"
    r"|having looked)|i (?:made a mistake|was wrong|misread|misspoke|meant|overlooked|missed"
    r"|change)"
    r"|that (?:should (?:be|have been)|is wrong|was wrong)|no(?= ?[,.:;!—–-]))(?![\w'’])"
)
_WITHDRAWAL = (
    rf"(?:{CORRECTION}|(?:(?:but|or)\b ?)?(?:i(?: a|['’])m not (?:so )?sure|not sure|unsure|maybe"
    r"|perhaps|or not|disregard|ignore (?:that|this|the above))(?![\w'’]))"
)
_TAKES_BACK = re.compile(rf"[\s*_`.!,;:)\]…—–-]*{_WITHDRAWAL}", re.IGNORECASE)
_CORRECTS = re.compile(rf"(?:\A|[.!?…,;:—–-]\s|\n)[\s*_`.,;:…—–-]*+{CORRECTION}", re.IGNORECASE)
# a prompt's field: what follows is another case, which a model goes on to make up
_NEXT_CASE = re.compile(r"(?im)^[\s*_#]*(?:question|instruction|task|candidate answer)\b[*_ ]*:")

# words that may lead in to a verdict; a sentence that begins with any other says something else
_JUDGED = (
    r"(?:(?:the |this )?(?:candidate|student|response|answer|assistant|caption)"
    r"(?:['’]s (?:answer|response)| answer| response)?|it|this)"
)
LEAD_WORDS = (
    r"(?:(?:rating|score) ?[:=] ?[0-9]|donc|daher|因此|所以"
    r"|so|hence|thus|therefore|then|and|however|accordingly"
    r"|consequently|finally|final answer|final"
    r"|overall|all in all|in (?:conclusion|summary|total|short|sum|my (?:opinion|view|judge?ment))"
    r"|to (?:conclude|sum up|summari[sz]e)|as a result|result|now|still|clearly|here|my|the|an?"
    r"|this|it|is|are|as|follows|that|for both|below|following|verdict|ratings?|scores?|judge?ment"
    r"|grade"
    r"|decision|output|feedback|evaluation|assessment|conclusion|rationale|explanation|reasoning"
    r"|i(?: would| will| must| therefore| hence| thus|['’]d|['’]ll)?(?: have to)? "
    rf"(?:give|say|rate|assign|award|conclude|choose|judge|settle on|go with)(?: {_JUDGED})?"
    rf"|{_JUDGED} (?:gets|deserves|earns|receives|merits)"
    r"|(?:assistant|response|answer|model) [ab12] is (?:\w+ )?better|they (?:tie|are equal"
    r"|are tied)"
    rf"|{CORRECTION}|(?:yes|no|well)(?=[,.:!]))(?![\w'’])"
)
_LEAD = re.compile(rf"(?:{LEAD_WORDS}|[\s,:.()\[\]|•…+=>—–→-])*+")
_CONCLUDES = re.compile(
    r"\b(?:so|hence|thus|therefore|(?:i|i would|i['’]d) (?:say|give|rate|conclude))\b"
)
_SINCE = re.compile(r"\W*(?:since|because)\b")
_IF = re.compile(
    r"\W*(?:even )?(?:if|unless|had|were|suppos\w+|assuming|should|when|whether|although|though)\b"
)
# where a sentence ends; `e.g.` ends none, nor does a line that ends with a colon or a comma
SENTENCE_END = re.compile(
    r"[.!?…。！？;\n](?:(?<=[。！？;])|(?<=\n)(?<![:,\n]\n)|(?<=[.!?…])(?<!\be\.g\.)(?<!\bi\.e\.)"
    r"(?<!\bcf\.)(?<!\bvs\.)[\"'”’»)\]]*(?=\s|$))"
)
# what stood before was only the form
_FORM_WORDS = ("example", "placeholder", "template", "format")
_FORM = re.compile(
    r"\b(?:only|just|merely) an? (?:\w+ )?(?:example|placeholder|template)\b"
    r"|\b(?:is|was) (?:only |just )?(?:an example of )?the (?:\w+ )?format\b"
)
_BLANKS, _LINES = re.compile(r"[^\S\n]+"), re.compile(r" ?\n\s*")
_LINE_ENDS = re.compile(r"(?<![:,\n]) ?\n(?!\s*\n)")
# a verdict that is spoken of: `[RESULT] 5 is too generous`
_MENTIONED = re.compile(
    r"[ \t*_`\"'”’)]*(?:is|was|are|would|should|seems?|cannot|can['’]t|could|might|may|stands"
    r"|appears?|means|isn['’]t)\b",
    re.IGNORECASE,
)


def hide_asides(text: str) -> str:
    """The text, its thoughts (`<think>`), comments, struck words and end tokens made blanks: every
    other sign stays in its place.
    """
    if not HAS_ASIDES.search(text):
        return text
    hidden = _STRUCK.sub(lambda match: " " * len(match[0]), text)
    start = len(hidden) - len(hidden.lstrip())
    if hidden.startswith(_THOUGHT, start):
        end = hidden.find(_THOUGHT_ENDS, start)
        end = len(hidden) if end < 0 else end + len(_THOUGHT_ENDS)
        hidden = " " * end + hidden[end:]
    tail = max(0, len(hidden) - BEFORE_CHARS)
    tokens = _END_TOKENS.search(hidden, tail)
    return hidden if tokens is None else hidden[: tokens.start()].ljust(len(hidden))


OPENING, CLOSING, _BEFORE_QUOTES = "\"'`“”„‘«", "\"'`”“’»", "([{:,—–-"


def is_quoted(text: str, start: int, end: int) -> bool:
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
    opened = before[-1:] in OPENING and (before[-2:-1].isspace() or before[-2:-1] in _BEFORE_QUOTES)
    closed = after[:1] in CLOSING
    return (before != "" and opened and not before.endswith("```")) or (
        after != "" and closed and not after.startswith("```")
    )


class Mark(NamedTuple):
    """A verdict that a text gives from `start` to `end`; `value` is None where it is none of those
    asked for. `fault`: what is wrong with what follows it, if anything is.
    """

    value: int | str | None
    start: int
    end: int
    is_own: bool = True
    fault: str = ""


ALL_EMPHASIS = str.maketrans("*_`|", "    ")
_RULE = re.compile(r"[\s=~—–-]*\Z")
# `Not rating=3, but rating=2`: the number that is refused is none
_REFUSED = re.compile(r"(?:\A|(?<=[.!?\n] ))not (?:rating|score) ?[=:] ?[0-9], but ?\Z")
_ENDED = re.compile(r"[.!?…。！？][\"'”’»)\]]*\Z")
# one word is a sentence only if it appraises: `Correct.`, not `Eg.` or `max.`
_APPRAISAL = re.compile(
    r"(?:correct|incorrect|wrong|right|true|false|yes|no|good|great|excellent|perfect|fine|weak"
    r"|poor|bad|fair|okay|ok|nice|fairer|half|partial|match(?:es|ing)?|same|different|ambiguous"
    r"|incomplete|sound|clear|done|agreed|exactly|well|relevant|irrelevant|middling|[0-9]+|.*\W.*"
    r"|.*[^\x00-\x7f].*)"
)
_ABBREVIATED = re.compile(
    r"\b(?:max|min|avg|prev|orig|approx|incl|excl|poss|exp|est|e\.?g|i\.?e|cf|vs|fig|ex|etc|nr|ca"
    r"|resp|viz|al|usu)\.\Z"
)
_POINTS = re.compile(
    r"\A\W*(?:the|what) follow(?:ing|s)\b|\b(?:the following|as follows|these words|follows"
    r"|this (?:sentence|line|verdict|string|rating|score|marker)|the next (?:line|sentence))\W*\Z"
    r"|\A(?!.*\b(?:what|as|than|like) (?:most |all |the |many )?(?:people|references?"
    r"|annotators)\b)"
    r".*\b(?:says?|(?<!well )said|reads?|adds?|added|writes?|wrote|states?|stated|goes on"
    r"|continues?|claims?"
    r"|outputs?|prints?|disagrees?)\W*\Z"
    r"|\b(?:(?:another|other|second) judge|judge disagrees|colleague|annotator|grader|reviewer"
    r"|an? (?:\w+ )?(?:example|sample"
    r"|illustration|mistake)|(?:example|sample) output)\b|\A\W*(?:here is|for example|example"
    r"|imagine"
    r"|suppose|hypothetically|illustration|consider|take|pretend|never|do not|don['’]t)\b"
    r"|\b(?:like|adds?|added|imagine) this\W*\Z"
    r"|\b(?:writ|wrote|sa(?:y|id)|told|output|print|end(?:s|ed|ing)? with|answer|repl|respon"
    r"|ask|want|ignor|demand|quot)\w*\b[^.]*\b(?:this|like so|below)\W*\Z"
)
_LONG_WORDS, _LONG_WORD_CHARS = 8, 8
"""A sentence of more words is a part of the feedback, unless its end points to what follows."""
_POINTS_AT_END = re.compile(
    r"\b(?:the following|as follows|these words|this (?:sentence|line|verdict|string|rating|score"
    r"|marker)|the next (?:line|sentence)|like (?:this|so)|below)\W*\Z"
)
_COMPLETE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|agrees?|disagrees?|match(?:es)?|names?|misses"
    r"|mentions?|fits?|differs?|says?|gives?|contradicts?|equals?|lacks?"
    r"|answers)\b(?!\W*\Z)(?=.*\w)"
    r"|\b(?:fits?|matches|agrees?|differs?|fails)\W*\Z"
)
_ELSEWHERE = re.compile(
    r"\b(?:here is|what (?:it|the)|said|says? that|writes?|wrote|written|judge|grader|annotator"
    r"|colleague|reviewer|example"
    r"|sample|template|format|inject\w*|told|wants?|asks?|asked|would|could|should|might|not\W*\Z"
    r"|never\W*\Z|the\W*\Z|an?\W*\Z|is\W*\Z|be\W*\Z|with\W*\Z|that\W*\Z|but\W*\Z)\b"
)


def is_own(text: str, start: int, end: int, after: int = 0, *, joins_lines: bool = False) -> bool:
    """Whether what stands from `start` to `end` is said by the judge itself, as a fact.

    `after`: where the verdict before it ends. `joins_lines`: a line without a full stop leads on to
    the next.
    """
    if _MENTIONED.match(text, end, end + _AFTER_CHARS):
        return False
    begin = max(after, start - BEFORE_CHARS)
    before = _BLANKS.sub(" ", text[begin:start].translate(_EMPHASIS)).lower()
    if joins_lines:
        before = _LINE_ENDS.sub(" ", before)
    before = _LINES.sub("\n", before)
    breaks = [match.end() for match in SENTENCE_END.finditer(before)]
    sentence = before[breaks[-1] if breaks else 0 :]
    if not breaks and after and sentence.strip(" ,:") in ("", "and"):
        return False  # the second of a list: `between rating=2 and rating=3`
    if not breaks and begin > after:
        sentence = f"x {sentence}"  # its beginning is further away, and leads in to nothing
    return _LEAD.fullmatch(sentence) is not None or is_lead(sentence, text[start : start + 3])


def is_lead(sentence: str, verdict: str = "") -> bool:
    """Whether nothing but words that lead in to a verdict stand before it in its sentence, in small
    letters; or, after a comma, words that conclude (`the animal differs, so`).
    """
    if _LEAD.fullmatch(sentence):
        return True
    if _IF.match(sentence):
        return False
    clause = sentence[sentence.rfind(",") + 1 :]
    if clause == sentence or not _LEAD.fullmatch(clause):
        return False
    return (
        verdict.startswith("so ")
        or _CONCLUDES.search(clause) is not None
        or _SINCE.match(sentence) is not None
    )


def is_judges_own(text: str, start: int, end: int, after: int = 0) -> bool:
    """Whether what stands from `start` to `end` is said by the judge itself, as a fact, and the
    sentence or line before does not give it to somebody else. `after`: where the verdict before it
    ends; the first sentence is then about that one.
    """
    before = text[max(after, start - BEFORE_CHARS) : start].translate(ALL_EMPHASIS).lower()
    if _REFUSED.search(before) or (
        after and _REFUSED.search(text[max(0, after - 20) : start].lower())
    ):
        return True
    if not is_own(text, start, end, after):
        return False
    ends = [match.end() for match in SENTENCE_END.finditer(before)]
    if not ends or (after > 0 and len(ends) == 1 and not before[: ends[0]].startswith("\n")):
        return True
    lines = [line.strip() for line in before[: ends[-1]].splitlines() if not _RULE.match(line)]
    if not lines:
        return True
    line, is_above = lines[-1], before[: ends[-1]].endswith("\n")
    if not _ENDED.search(line):
        return (
            line.startswith((">", "-", "•", "+"))
            or is_lead(line.lstrip("# "))
            or (
                not line.startswith("#")
                and _COMPLETE.search(line) is not None
                and _ELSEWHERE.search(line) is None
            )
        )
    last = next((part.strip() for part in SENTENCE_END.split(line)[::-1] if part.strip()), "")
    if len(last.split()) > _LONG_WORDS:
        return _POINTS_AT_END.search(last) is None
    bare = last.partition(":")[2].strip() or last
    is_short = not is_above and last != "" and " " not in last and len(last) < _LONG_WORD_CHARS
    is_word = is_short and _APPRAISAL.fullmatch(bare) is None
    return not is_word and _ABBREVIATED.search(line) is None and _POINTS.search(last) is None


class Settled(NamedTuple):
    """The mark that holds, or (None) why there is none."""

    mark: Mark | None
    reason: str = ""


NOT_OWN = "its only verdict is denied, supposed or somebody else's words"


def settle(text: str, marks: Sequence[Mark]) -> Settled:
    """The last of the judge's own verdicts, where it stands unchallenged. `marks` are in order."""
    if len(marks) > MOST_MARKS:
        return Settled(None, f"it gives more than {MOST_MARKS} verdicts")
    own = [mark for mark in marks if mark.is_own]
    if not own:
        return Settled(None, NOT_OWN if marks else "")
    last = own[-1]
    if any(mark.start > last.start and mark.value != last.value for mark in marks):
        return Settled(None, f"another verdict than its own {last.value} stands behind it")
    differing = [mark for mark in own if mark.value not in (None, last.value)]
    if differing and not corrects(text, differing[-1].end, last.start):
        return Settled(None, f"it gives both {differing[-1].value} and {last.value}")
    if _TAKES_BACK.match(text, last.end, last.end + _AFTER_CHARS):
        return Settled(None, f"it takes its {last.value} back")
    if last.fault:
        return Settled(None, last.fault)
    return Settled(last) if last.value is not None else Settled(None)


def give_reason(expected: str, settled: Settled) -> str:
    """Why a reply is not read: what was expected of it, and what stands against its verdict."""
    return f"{expected}: {settled.reason}" if settled.reason else expected


def corrects(text: str, start: int, end: int) -> bool:
    """Whether a sentence from `start` to `end` says that what follows replaces what was before."""
    between = text[max(start, end - 2 * BEFORE_CHARS) : end]
    return _CORRECTS.search(between) is not None and _NEXT_CASE.search(between) is None


def takes_back(text: str, end: int) -> bool:
    """Whether the words right behind a verdict withdraw it."""
    return _TAKES_BACK.match(text, end, end + _AFTER_CHARS) is not None


def is_form(text: str) -> bool:
    """Whether the text says that what stands before it is an example."""
    small = text.lower()
    return any(word in small for word in _FORM_WORDS) and _FORM.search(small) is not None
