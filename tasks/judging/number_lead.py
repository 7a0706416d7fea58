"""Whether a number that a reply gives is said by the judge itself: what may stand before it.

Beyond `claims.is_own`, which looks at the number's own sentence, the sentence or line before must
not hand it to somebody else (`The other judge said`, `## Example`, `Ignore the following.`).
"""

import re

from judgelake.tasks.judging.claims import SENTENCE_END, is_lead, is_own
from judgelake.tasks.judging.number_value import read_number

_BEFORE_CHARS = 240
_EMPHASIS = str.maketrans("*_`|", "    ")
_RULE = re.compile(r"[\s=~—–-]*\Z")
_TAGS = re.compile(
    r"</?(?:rating|rationale|reason|reasoning|explanation|feedback|p|b|i|em|strong|br)[ /]*>",
    re.IGNORECASE,
)
_SHOWS_CODE = re.compile(
    r"\b(?:inject|steer|instruct|order|hid|embed|contain|manipul|smuggl|trick|line|text|words)",
    re.IGNORECASE,
)
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
_LONG_WORDS = 8
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
# what a number alone on its line may stand behind
_NUMBER_LEAD = re.compile(
    r"(?:.*[,;.!?] )?(?:(?:so|therefore|thus|hence|overall|donc|daher|因此|所以)[, ]*)?"
    r"(?:(?:the |my |final |overall )*(?:rating|score|verdict|output|grade|bewertung|评分"
    r"|得分)(?: is)?|(?:so|therefore|thus|hence|donc|daher|因此|所以)"
    r"|i(?: would|['’]d| must)? (?:say|give|rate|conclude)(?: it| this)?) ?[:=]?"
)


def blank_tags(text: str) -> str:
    """The text with the tags of markup made blanks, `<rating>` a marker and `<br>` a line's end:
    every other sign stays in its place.
    """
    return _TAGS.sub(_blank_tag, text) if "<" in text else text


def _blank_tag(tag: re.Match[str]) -> str:
    small = tag[0].lower()
    if small == "<rating>":
        return " rating="
    return ("\n" if small.startswith(("<br", "</p", "</r", "</e", "</f")) else " ").ljust(
        len(small)
    )


def find_number_alone(text: str) -> int | None:
    """Where the number of a last line stands that is nothing else: the whole text, or behind a line
    that leads in to a rating.
    """
    filled = text.rstrip(" \t\r\n.*_`")
    line = filled.rfind("\n") + 1
    if len(filled) - line > 40:
        return None
    place = line + len(text[line:]) - len(text[line:].lstrip())
    number = read_number(text, place, 0)
    if number is None or text[number.behind :].strip(" \t\r\n.!*_`"):
        return None
    before = text[max(0, line - _BEFORE_CHARS) : line].translate(_EMPHASIS).strip().lower()
    if not before:
        return place if line <= _BEFORE_CHARS else None
    led = _NUMBER_LEAD.fullmatch(" ".join(before.rpartition("\n")[2].strip("# ").split()))
    return place if led and is_own(text, number.start, number.end, joins_lines=True) else None


def is_judges_own(text: str, start: int, end: int, after: int = 0) -> bool:
    """Whether what stands from `start` to `end` is said by the judge itself, as a fact. `after`:
    where the verdict before it ends.
    """
    before = text[max(after, start - _BEFORE_CHARS) : start].translate(_EMPHASIS).lower()
    if _REFUSED.search(before) or (after and _REFUSED.search(_last(text, after, start))):
        return True
    return is_own(text, start, end, after) and not _is_handed_over(before, after > 0)


def is_last_code(text: str, start: int, end: int) -> bool:
    """Whether backticks stand right around a verdict that is the last thing of a text, and nothing
    before it says that they show what somebody else wrote.
    """
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return (
        text[max(0, start - 1) : start] == "`"
        and text[end:].strip() in ("`", "`.", ".`")
        and not line.lstrip().startswith(">")
        and not _SHOWS_CODE.search(text, max(0, start - 120), start)
    )


def _last(text: str, after: int, start: int) -> str:
    return text[max(0, after - 20) : start].lower()


def _is_handed_over(before: str, goes_on: bool) -> bool:
    """Whether the sentence or line before gives to somebody else what follows it. `goes_on`: the
    first sentence is about the verdict before.
    """
    ends = [match.end() for match in SENTENCE_END.finditer(before)]
    if not ends or (goes_on and len(ends) == 1 and not before[: ends[0]].startswith("\n")):
        return False
    lines = [line.strip() for line in before[: ends[-1]].splitlines() if not _RULE.match(line)]
    if not lines:
        return False
    line, is_above = lines[-1], before[: ends[-1]].endswith("\n")
    if _ENDED.search(line):
        parts = [part.strip() for part in SENTENCE_END.split(line) if part.strip()]
        last = parts[-1] if parts else ""
        if len(last.split()) > _LONG_WORDS:
            return _POINTS_AT_END.search(last) is not None
        bare = last.partition(":")[2].strip() or last
        return bool(
            _ABBREVIATED.search(line) is not None
            or (not is_above and last and " " not in last and _APPRAISAL.fullmatch(bare) is None)
            or _POINTS.search(last) is not None
        )
    if line.startswith((">", "-", "•", "+")) or is_lead(line.lstrip("# ")):
        return False
    return (
        line.startswith("#")
        or _COMPLETE.search(line) is None
        or _ELSEWHERE.search(line) is not None
    )
