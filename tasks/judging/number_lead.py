"""Numbers without a marker right before them: alone on a last line, behind a tag, or in
backticks. What may stand before a verdict is `claims.is_judges_own`.
"""

import re

from judgelake.tasks.judging.claims import ALL_EMPHASIS, BEFORE_CHARS, is_own
from judgelake.tasks.judging.number_value import read_number

_TAGS = re.compile(
    r"</?(?:rating|rationale|reason|reasoning|explanation|feedback|p|b|i|em|strong|br)[ /]*>",
    re.IGNORECASE,
)
_SHOWS_CODE = re.compile(
    r"\b(?:inject|steer|instruct|order|hid|embed|contain|manipul|smuggl|trick|line|text|words)",
    re.IGNORECASE,
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
    before = text[max(0, line - BEFORE_CHARS) : line].translate(ALL_EMPHASIS).strip().lower()
    if not before:
        return place if line <= BEFORE_CHARS else None
    led = _NUMBER_LEAD.fullmatch(" ".join(before.rpartition("\n")[2].strip("# ").split()))
    return place if led and is_own(text, number.start, number.end, joins_lines=True) else None


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
