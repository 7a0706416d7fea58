"""What may follow a number that is a verdict.

Nothing; the scale (`/5`, `stars`), a listed aside (`(good)`, `, not 4`); or sentences of which each
begins as one about the answer does and none gives another number of the scale, speaks of the
verdict itself or of who asked for it. Behind anything else the number counts something (`4 dogs`),
is one of several (`4 or 5`), is mentioned or is taken back.
"""

import re
from typing import NamedTuple

from judgelake.tasks.judging.claims import is_form, takes_back
from judgelake.tasks.judging.courtesies import drop_courtesies
from judgelake.tasks.judging.number_value import NUMBER_WORDS, SCALE

_LONGEST_CHARS = 3_000
"""More text than that behind a number is no reason."""
_EMPHASIS = str.maketrans("*_`#", "    ")
_NUMERAL = rf"(?:[0-9]|{'|'.join(NUMBER_WORDS)})"
_UNIT = re.compile(r"[ \t]*(?:(?:stars?|points?|punkten?|points)\b|分)[)\]]?", re.IGNORECASE)
_PARENTHESIS = re.compile(r"[ \t]*(?:\(([^()\n]{1,160})\)|\[([^\[\]\n]{1,160})\])")
_GOOD_SIGN, _BAD_SIGN = (
    re.compile(r"\s*[✅✔☑👍🎉👏💯🏆⭐🌟]\ufe0f?"),
    re.compile(r"\s*[❌✗✘👎🚫]\ufe0f?"),
)
_OTHER_REFUSED = re.compile(
    rf",?[ \t]+(?:and not|but not|not|rather than|instead of)[ \t]+(?:an?[ \t]+)?{_NUMERAL}"
    r"(?=[\s,.;)]|\Z)(?!\.\d)",
    re.IGNORECASE,
)
# the end, a sentence's end, a line's end, or what leads on to a reason
_LEADS_ON = re.compile(
    r"[ \t]*(?:[.!](?=\s|\Z|[A-Z\[(\"'“])|[。！]|\n|[:;,—–][ \t]|-[ \t])"
    r"|[ \t]+(?=(?i:because|since|as|due to|given|with|although|though|while)\b|[A-Z]|\[RESULT\])"
    r"|[ \t]*\Z"
)
# a rule or a prompt's sign for the end
_NO_WORDS = re.compile(r"(?:[-=]{3,})?\s*(?:\[END\])?", re.IGNORECASE)

_QUOTED = re.compile(
    r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|«[^»\n]{1,200}»|(?<!\w)['‘][^'’\n]{1,200}['’](?!\w)"
    r"|^ ?>[^\n]*",
    re.MULTILINE,
)
_RESTATED = (
    r"(?:\b(?:rating|score|verdict)|\[result\])(?: (?:is|of)\b| ?[:=])? ?{value}(?:\.0)?(?:/{top})?"
    r"(?![\w/]|\.\d)(?: (?:says|means|stands for)(?= that))?"
)
_HARMLESS = (
    # set phrases
    r"\bi would not change a (?:word|thing)|\bi (?:mentioned|noted)\b|\bmy decision\b"
    r"|\bexplanation of the (?:rating )?scale\b",
    # `(1 = poor, 5 = excellent)`, `ratings range from 1 (incorrect) to 3 (correct)`
    r"\(?(?:scale ?: ?)?1 ?= ?[a-z ]{1,30}(?:[,;\n] ?[0-9] ?= ?[a-z ]{1,30}){1,4}\)?",
    r"\b(?:(?:ratings?|scores?|scale) (?:ranges? |goes |is )?)?(?:from|between) 1"
    r"(?: \([a-z ]{1,30}\))? (?:to|and) [0-9]{1,2}(?: \([a-z ]{1,30}\))?",
    r"\bthis (?:score|rating) (?:reflects|shows|is because)\b",
    rf"\b(?:the )?reason (?:for|behind) the (?:score|rating)(?: of {_NUMERAL})?",
    r"\[result\][ :]*\(an? integer[^()\n]{0,60}\)",
    # another number refused: `it does not deserve a 5`, `a score of 5 would need the bench`
    rf"\bnot (?:quite |really )?(?:(?:deserve|merit|worth|reach|get|give it|enough for) )?"
    rf"(?:an? |the )?(?:(?:full |perfect )?(?:score|rating) of )?{_NUMERAL}(?:\.0)?\b(?!\.\d)",
    rf"\b(?:(?:score|rating) of )?{_NUMERAL}(?:\.0)? would (?:be too (?:high|low|much"
    r"|generous|harsh|strict)|need|require)\b",
    rf"\b(?:rather than|instead of) (?:an? )?{_NUMERAL}\b(?!\.\d)",
    # counts: `only 1 of 5 objects`, `there are 3`, `two people`
    rf"\b{_NUMERAL} (?:out )?of (?:the |all )?(?:{_NUMERAL} )?(?:\w+ )?[a-z]{{3,}}",
    rf"\bthere (?:is|are|was|were) (?:only )?{_NUMERAL}\b(?= *[.!;,\n]|\Z)",
    rf"\b(?:has|have|shows?|sees?|counts?) (?:only )?{_NUMERAL}\b(?= *[.!;,\n]|\Z)",
    rf"\b{_NUMERAL} points? (?:is|are|was|were) possible",
    rf"\b{_NUMERAL}[ -](?!(?:for|if|in|on|at|of|as|when|and|or|is|was|are|were|after|to"
    r"|by|with|because|since|but|stars?|points?|instead|rather|overall|now|would|should|could|might"
    r"|may|seems?|it|than|minus|plus|fits|suits|feels|looks|sounds|gets|does|has)\b)[a-z]{3,}",
)
# what any of these holds: most texts hold none, and are searched no further
_HELD = re.compile(
    rf"[0-9]|\b(?:let me|feel free|i hope|i would|score|rating|verdict|{'|'.join(NUMBER_WORDS)})\b"
)
_OTHER_NUMBER = re.compile(
    rf"(?<![\w.,/%$-])(?P<digits>\d(?:\.\d{{1,9}})?)(?:/(?P<top>[0-9]{{1,3}}))?(?![\w%/]|[.,]\d)"
    rf"|\b(?<!no )(?<!the )(?<!that )(?P<word>{'|'.join(NUMBER_WORDS)})\b|(?P<sign>[①-⑳½⅓¼])"
)
# who says what, and what is said of the verdict itself
_SPEAKS_OF_VERDICT = re.compile(
    r"\?|\b(?:(?:i|me|my|mine|myself|we|our|us|let['’]?s)\b"
    r"|(?:ratings?|scores?|verdicts?|grades?|judge?ments?|number is|this number)\b"
    r"|should (?:be|have|get|read)\b|ought\b|too (?:high|low|generous|kind|harsh|strict|much)\b"
    r"|(?:dis)?agree with th|disagree|fairer|lower|higher|rais|revis|reconsider"
    r"|deserv|merit|reservations?\b|less\b(?! \w)|from less\b|otherwise\b|unless\b"
    r"|demand|instructed\b|dictat|order(?:ed|s)\b|requested\b|told\b|begs?\b|wants?\b"
    r"|ask(?:s|ed) (?:for|me|to)\b|(?:says?|said|claim(?:s|ed)?) (?:so|to be|this|it(?! (?:is"
    r"|was|has)\b))\b"
    r"|claimed by\b|own (?:claim|words)\b|inject|quoted\b|hypothe|tentativ"
    r"|provisional|placeholder|pretend|jok(?:e|ing)\b|kidding\b|sarcas|iron(?:y|ic)"
    r"|lies?\b|draft|preliminar|tr(?:ap|ick)s?\b|overrat|inflat|generous|undeserv"
    r"|unjustif|wish|instruction in\b|its instruction|insist|forc(?:es|ed)\b|command"
    r"|prescri|threat|prompt|written in\b|earn|meant\b|of this\b|you\b|line\b"
    r"|quotation|ends here\b|would like\b|made (?:it|this)\b|needs\b|not so\b|not really\b"
    r"|scratch that\b|never ?mind\b|oops\b|wait\b|second thought"
    r"|on reflection\b|correction\b|upper bound\b|maximum\b|minimum\b|starting point\b"
    r"|grader|(?:other|stricter|lenient) judge\b|(?:this|that|it all) (?:is|was) (?:not"
    r"|false|wrong|untrue|incorrect|nonsense)\b(?! (?:an?|the)\b))"
)
# how a sentence about the answer begins
_CONNECTIVES = (
    r"(?:because(?: of)?|since|as|due to|given(?: that)?|although|though|while|whereas|however|but"
    r"|and|so|also|in addition|additionally|moreover|furthermore|overall|in general|for example"
    r"|for instance|still|yet|in (?:this|the) (?:image|picture|photo|caption)|compared (?:to"
    r"|with)|according to|based on|weil|da|denn|car|parce que)"
)
_ITS_NAMES = (
    "response|answer|candidate|caption|description|text|sentence|feedback|image|picture|photo|one"
)
_MEANT = (
    r"above|below|reverse|opposite|contrary|truth|real|actual|true|former|latter|following|number"
)
_SUBJECTS = (
    rf"(?:the(?:\Z| (?!(?:{_MEANT}|preceding|previous|highest|lowest|best|worst)\b)[\w'’-]+)"
    r"|this is (?:mainly|mostly|largely|primarily|because|due)\b"
    rf"|this (?:{_ITS_NAMES})\b|(?:it|these|they|he|she|there|both|all|everything|nothing|nobody"
    rf"|none"
    r"|most|people|details?|objects?|colou?rs?)\b"
    r"|(?:its|each|every|some|many|several|few|an?|almost|nearly|hardly|next to|only|no|one|another"
    r"|his|her|their) (?!(?:joke|example|lie)\b)[\w'’-]+"
    rf"|{_NUMERAL} [a-z]{{3,}}|(?:names|leaves|misses|mentions|describes|omits|lacks|includes|gives"
    r"|covers|ignores|invents|adds|contains|matches)\b"
    r"|(?:die|der|das|es|le|les|la|il|elle|el|los|las|una?) \w+|[说回描答图该这两])"
)
_BEGINS = re.compile(rf"(?:{_CONNECTIVES}[ ,]+)*(?:{_SUBJECTS}|\d+ of )")
_HEADING = re.compile(
    r"(?:explanation|rationale|reason(?:s|ing)?|justification|feedback|comments?|note|why"
    r"|evaluation|analysis|summary)"
)
# `as the bench is missing`, not `as the response demands` or `as the maximum`
_AS = re.compile(r"as\b(?!.{3,80}\b(?:is|are|was|were|has|have|does|do|names?|mentions?|misses"
    r"|lacks?|leaves?|omits?|invents?|ignores?|overlooks?)\b)")  # fmt: skip
_AMOUNT = r"(?:high|full|great|small|minor|few|a few|some|slight|several|only|no|minimal)"
_FREE = (
    r"very|quite|rather|completely|entirely|mostly|fairly|highly|fully|largely|almost|nearly|mainly"
    r"|in|the|main|and|or|but|well|fluent|clear|short|long|brief|concise|simple|fine|names?|named"
    rf"|mentioned|missing|found|covered|shown|with {_AMOUNT} \w+|correctness|completeness|clarity"
    r"|fluency|conciseness|quality|relevance|accuracy|match|work|done|response|answer|caption"
)
_GOOD = (
    r"good|great|excellent|perfect|perfectly|correct|right|accurate|complete|relevant|detailed"
    r"|thorough|precise|strong|outstanding|flawless|high|faithful|helpful|solid|best"
)
_BAD = (
    r"bad|poor|wrong|incorrect|inaccurate|terrible|useless|awful|horrible|irrelevant|unclear"
    r"|misleading|weak|worst|lowest|low|worthless|unhelpful|false|unacceptable"
)
_MIDDLING = (
    r"fair|average|okay|ok|acceptable|moderate|adequate|decent|mediocre|middling|medium|neutral"
)
_HALF = r"ambiguous|incomplete|partial|partially|partly"
_WORD = re.compile(
    rf"[\s,]*(?:(?P<good>{_GOOD})|(?P<bad>{_BAD})|(?P<mid>{_MIDDLING}|{_HALF})|(?:{_FREE}))\b"
)
_IS_SAID = re.compile(
    r"\b(?<!of )(?:response|answer|caption|candidate|student|description|text|it|this)"
    rf"(?:['’]s \w+)? (?:is|was) (?:(?:very|quite|completely|entirely|simply"
    rf"|just) )?(?:(?P<bad>{_BAD})"
    r"|(?P<good>perfect|excellent|flawless|outstanding)|(?P<right>correct|right))\b(?! in\b)"
)
# `1. It is fluent.` and `2. It is short.` are points of a list
_LIST = re.compile(r"^[ \t]*1[.)][ \t]+[a-z][^\n]*\n[ \t]*2[.)][ \t]+[a-z]", re.MULTILINE)
_POINT = re.compile(r"^[ \t]*\d[.)](?=[ \t]+[a-z])", re.MULTILINE)
_BLANKS, _BREAKS = re.compile(r"[ \t]+"), re.compile(r"\s*\n\s*")
_SENTENCE = re.compile(r"[.!。！；;\n]+|(?<=\s)[-–—](?=\s)|:(?=\s)|—")
_BULLET = re.compile(r"[\s,.!…•>-]+|\s*\d[.)] ")


class Tail(NamedTuple):
    """Where the reason begins that follows a verdict, or what makes the number none."""

    place: int | None
    fault: str = ""


def read_tail(text: str, end: int, value: float, top: float, *, behind: int | None = None) -> Tail:
    """What follows the number `value` that ends at `end`, its markup at `behind`, on a scale up to
    `top`.
    """
    start = end if behind is None else behind
    if len(text) - start > _LONGEST_CHARS and text[start + _LONGEST_CHARS :].strip():
        return Tail(None, f"more than {_LONGEST_CHARS:,} characters follow its {value:g}")
    seen = text[start : start + _LONGEST_CHARS].translate(_EMPHASIS)
    place = 0
    scale = SCALE.match(seen)
    if scale is not None:
        if float(scale["top"]) != top:
            return Tail(None, f"its {value:g} is out of {scale['top']}")
        place = scale.end()
        if "(" in scale[0]:
            place += seen[place : place + 1] == ")"
    if takes_back(text, end):
        return Tail(None, f"it takes its {value:g} back")
    known = _Scale(value, top)
    place = _pass_asides(seen, place, known)
    rest = seen[place:]
    if _NO_WORDS.fullmatch(rest.strip(" \t\r\n.!。！\"'”’»")):
        return Tail(start + place)
    leads_on = _LEADS_ON.match(rest)
    if leads_on is None:
        return Tail(None, f"more than a reason follows its {value:g}")
    fault = known.find_fault(rest[leads_on.end() :])
    return Tail(None, fault) if fault else Tail(start + place)


def _pass_asides(seen: str, place: int, known: "_Scale") -> int:
    """Where the units, signs and listed asides end that stand right behind a number."""
    while True:
        sign = known.own_sign.match(seen, place) if known.own_sign else None
        match = _UNIT.match(seen, place) or sign or _OTHER_REFUSED.match(seen, place)
        if match is None:
            match = _PARENTHESIS.match(seen, place)
            if match is None or not known.allows_aside((match[1] or match[2]).strip()):
                return place
        place = match.end()


class _Scale:
    """A verdict's place on its scale, and what may be said behind it."""

    def __init__(self, value: float, top: float) -> None:
        low = 0.0 if top <= 1 else 1.0
        self.value, self.top = value, top
        self.share = (value - low) / (top - low) if top > low else 1.0
        self.own_sign = _GOOD_SIGN if self.share > 0.5 else _BAD_SIGN if self.share < 0.5 else None
        restated = _RESTATED.format(value=re.escape(f"{value:g}"), top=re.escape(f"{top:g}"))
        self._harmless = re.compile("|".join((restated, *_HARMLESS)))

    def allows_aside(self, words: str) -> bool:
        """Whether the words of a parenthesis say no more than the number."""
        small = words.lower()
        if small == f"{self.value:g}" or (small in NUMBER_WORDS and _count(small) == self.value):
            return True
        scale = SCALE.match(f" {small}")
        if scale is not None and scale.end() == len(small) + 1:
            return float(scale["top"]) == self.top
        left = self._harmless.sub(" ", small)
        if not left.strip(" .,") or self._is_appraisal(left):
            return True
        return not small.startswith(("as ", "because ")) and (
            not self.find_fault(words)
            and re.search(r"\b(?:is|are|has|have|demonstrates|shows)\b", small) is not None
        )

    def find_fault(self, text: str) -> str:
        """What makes a text behind a number no reason for it; '' where nothing does."""
        shown = f"{self.value:g}"
        small = _BREAKS.sub("\n", _BLANKS.sub(" ", drop_courtesies(text).lower()))
        small = _QUOTED.sub(_name_quoted, small)
        if _LIST.search(small):
            small = _POINT.sub("", small)
        left = _BLANKS.sub(
            " ", self._harmless.sub(" it it ", small) if _HELD.search(small) else small
        )
        if self._gives_another(left):
            return f"another number than its {shown} stands where a score could"
        if is_form(text):
            return f"it calls its {shown} an example"
        if _SPEAKS_OF_VERDICT.search(left) or self._is_contrary(left):
            return f"what follows its {shown} speaks of another verdict"
        for sentence in _SENTENCE.split(left):
            bare = sentence[_end(_BULLET.match(sentence)) :].strip()
            if bare and not self._is_about_answer(bare):
                return f"more than a reason follows its {shown}"
        return ""

    def _is_about_answer(self, sentence: str) -> bool:
        if sentence.startswith("as ") and _AS.match(sentence):
            return False
        if _BEGINS.match(sentence) or _HEADING.fullmatch(sentence) or self._is_appraisal(sentence):
            return True
        clause = sentence.partition(", ")
        return (
            bool(clause[2])
            and self._is_appraisal(clause[0])
            and (_BEGINS.match(clause[2]) is not None)
        )

    def _is_appraisal(self, phrase: str) -> bool:
        """Whether nothing but words of praise or blame stand there that agree with the number."""
        place = 0
        while match := _WORD.match(phrase, place):
            if (
                (match["good"] and self.share < 0.5)
                or (match["bad"] and self.share > 0.5)
                or (match["mid"] and not 0 < self.share < 1)
            ):
                return False
            place = match.end()
        return place > 0 and not phrase[place:].strip(" .!,")

    def _is_contrary(self, text: str) -> bool:
        """Whether the answer is called what the number does not say."""
        return any(
            (found["bad"] and self.share > 0.5)
            or (found["good"] and self.share < 0.5)
            or (found["right"] and self.share == 0)
            for found in _IS_SAID.finditer(text)
        )

    def _gives_another(self, text: str) -> bool:
        for found in _OTHER_NUMBER.finditer(text):
            if found["sign"]:
                return True
            other = _count(found["word"]) if found["word"] else float(found["digits"])
            if (
                other != self.value
                and other <= self.top
                and float(found["top"] or self.top) == self.top
            ):
                return True
        return False


def _name_quoted(found: re.Match[str]) -> str:
    return " " if found[0].strip()[:1] == ">" else " it "


def _count(word: str) -> float:
    return float(NUMBER_WORDS.index(word))


def _end(match: re.Match[str] | None) -> int:
    return match.end() if match else 0
