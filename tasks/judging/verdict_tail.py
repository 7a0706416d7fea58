"""What may follow a verdict: nothing, an end, a remark that repeats it, or a reason.

A reason speaks of what is judged (both responses, the one chosen, the image), takes no stance of
its own and does not speak against the verdict. Whatever else follows is a fault, and a verdict with
a fault is not read. What follows a number is in `tasks.judging.number_tail`.
"""

import re
from typing import NamedTuple

from judgelake.tasks.judging.courtesies import drop_courtesies

_LONGEST_CHARS, _LONGEST_PIECE = 10_000, 800
"""Of what may follow a verdict, in which no person would look for it any more."""
PRAISE, BLAME = "✅✔☑👍🏆🎉🥇", "❌✗✘👎"
_SIGNS = re.compile(f"[{PRAISE}{BLAME}]\ufe0f?")


class Sides(NamedTuple):
    """Who is judged. `names` finds a name, whose last group says which; it is the verdict's own
    side where that is one of `own`, or everywhere where `own` is None. `value`: the verdict.
    """

    value: str
    names: re.Pattern[str]
    own: frozenset[str] | None = None

    @property
    def is_grade(self) -> bool:
        """Whether one response is graded; without it, one of two is chosen."""
        return self.own is None


# a remark in parentheses right behind a verdict; others are part of their sentence
_ASIDE = re.compile(r"[\s*_`\"'”’]*[(\[]([^()\[\]]*)[)\]]?")
# a piece ends with a sentence (not after an initial or a title) or at a dash
_PIECES = re.compile(
    r"(?<!\b[a-z])(?<!\bdr)(?<!\bmr)(?<!\bst)(?<!\bvs)[.](?=[\s)\]\"'”’]|$)"
    r"|[!…。！](?=[\s)\]\"'”’]|$)|[;\n|]| [-–—] "
)
_PARENTHESES = re.compile(r"[()\[\]]")
_EDGES = " \t\r,:;.!*_`#>\"'“”‘’«»{}$\\–—-"
_OPENERS = re.compile(
    r"(?:(?:because(?: of)?|since|as(?! claimed| usual)|due to|given(?: that)?|for|although|though"
    r"|even though|despite|while|whereas|and|but|yet|however|here|overall|also|additionally"
    r"|moreover|furthermore|meanwhile|specifically|in (?:particular|contrast|comparison|addition)"
    r"|by contrast|on the other hand|reason(?:ing|s)?(?=:)|explanation(?=:)|rationale(?=:)"
    r"|justification(?=:)|[0-9][.)](?= ))\b[ ,:–—-]*)*+"
)
_SUBJECT = re.compile(
    r"(?:xown|xother|(?:(?:all|most)(?: of)? )?xreference|it|its|it['’]s|they|their|both"
    r"|neither|each|being|having"
    r"|see (?:the |its )?(?:xreference|image)"
    r"|the (?:two|responses|assistants|answers|image|picture|photo|question))\b"
    r"(?! (?:for|in|on|at|by|if|or|with|to)\b)(?: \S+|['’]s )"
)
_CAUSE = re.compile(r"(?:due to|because of)\Z")
_CAUSES = re.compile(r"(?:the|its|their|more|better|what)\b")
_REMARK = re.compile(
    r"(?:it is |the )?(?:clearly |slightly |much |far )?(?:better|best|preferred|winner|stronger"
    r"|more (?:accurate|complete|detailed|relevant|precise|helpful|informative|truthful"
    r"|correct|details?))"
    r"(?: (?:one|response|answer|assistant|choice|feedback))?(?: overall)?(?: than xother)?"
    r"|xown|see xreference|(?:and )?not xother|over (?:xother|both)|overall"
    r"|(?:explanation|reason(?:ing|s)?|rationale|justification)"
    r"|(?:with )?(?:(?:high|full) confidence|confidence:? (?:high|(?:[6-9][0-9]|100) ?%))"
    r"|(?:the )?(?:worse|weaker|runner-up:?|second|loser:?) xother"
)
# whose words a verdict is, doubts, conditions, jokes, and the judge's own second thoughts
_STANCE = re.compile(
    r"\b(?:i|i['’]\w+|my|mine|me|we|you|claim\w*|alleg\w*|(?:says?|said) (?:so|it|to|that it)"
    r"|said|told|tells|demand\w*|instruct\w*|orders?|ordered|begs?|begged|beg|dictat\w*|request\w*"
    r"|insist\w*|pretend\w*|according|suppos\w*|so-called|jok\w+|kidding|psych|ironic\w*|sarcas\w*"
    r"|placeholder|example|template|if|unless|perhaps|maybe|may|might|(?<!both )could"
    r"|(?<!xreference )(?:would|should)|must"
    r"|depends|otherwise|reverse|opposite|contrary|disagree\w*|untrue|corrected|correction|actually"
    r"|instead|rather|no longer|wants?|wish\w*|hopes?|thinks?|believes?|reject\w*|ignored?|prompt"
    r"|verdict|grade[ds]?|judge[ds]?|decision|preference|liar|lying"
    r"|(?:because|since) xown says?(?: ['\"“‘]?(?:in)?correct)?$"
    r"|as (?:xown|xother|it|he|she|they) (?:says?|states?|puts|notes)"
    r"|partly|partially"
    r"|partial|half|unsure|sure|not so|or (?:xown|xother|[12ab]\b)"
    r"|is (?:xother|[12]\b)|who (?:wins|is)|other way|choose|pick|select"
    r"|(?<!than )xother (?:is|was|does|did)$|[12] (?:less|more)\b)\b"
    r"|\?|[0-9]{1,3} ?%"
)
_EVEN = re.compile(
    r"\b(?:tie|ties|tied|equal(?:ly)?|(?:both|they|the two) are (?:the same|identical|alike))\b"
)
_DENIED = r"(?P<denied>(?:\b(?:not?|never|neither|nor|without|less|hardly|nothing)|n['’]t)\b)"
_DENIES = r"\b(?:not(?! only)|no|never|neither|nor|nothing|none)\b|n['’]t\b"
_POLAR = re.compile(
    rf"(?:{_DENIED}(?: (?!but\b)\w+){{0,2}}? )?\b(?:"
    r"(?P<ranks>(?P<up>better|best|winner|wins?|won|superior|stronger|strongest|preferred"
    r"|preferable|prefer|chosen|choice|outperforms|beats|deserves?|merits?"
    r"|the one|edge|win|victory|prize)|worse|worst|inferior|weaker|weakest|loses?|loser|lost)"
    r"|(?P<good>right|correct(?:ly)?|accurate(?:ly)?|precise(?:ly)?|complete(?:ly)?|excellent"
    r"|perfect(?:ly)?|true|fine|good|match(?:es|ed|ing)?|agrees?|equals?|same|identical|synonym\w*)"
    r"|wrong(?:ly)?|incorrect(?:ly)?|false(?:ly)?|inaccura\w+|fail(?:s|ed|ing)?|miss(?:es|ed)?"
    r"|(?:is|are) missing|vague\w*|lack(?:s|ed|ing)?|overlook\w*|ignores|invent\w*|hallucinat\w+"
    r"|bad(?:ly)?|poor(?:ly)?|off by|a lie|backwards"
    r"|useless|mistake\w*|differ(?:s|ent|ed)?|contradict\w*|mismatch\w*|errors?|erroneous\w*|weak"
    r"|incomplete\w*|irrelevant|nonsens\w*|terribl\w+|awful\w*|unclear|confus\w+|mis\w+s|untrue"
    r"|omit\w*|lies(?! (?:on|in|down|at|next|by|under|beside))"
    rf")\b|(?P<plain>{_DENIES})"
)
_CLAUSES = re.compile(
    r"[,:]| (?=(?:and|but|while|whereas|although|though|even though|despite|yet|because|since|as"
    r"|so|than|over|unlike)\b)"
)
_SPEAKERS = re.compile(r"\b(?:xown|xother|both|neither|they|xreference)\b")
_NO_SPEAKERS = {
    False: ("than ", "over ", "unlike ", "as "),
    True: ("than ", "over ", "unlike ", "as ", "and "),
}
_CONCEDES = re.compile(r"\W*(?:although|though|even though|despite)\b")
_LIMITS = re.compile(
    r"\b(?:but|however|yet|except|although|though|despite|save for|apart from|(?:xown|it) only"
    r"|only in)\b"
)
# a fact about the world may follow a grade; these begin no fact
_NO_FACT = re.compile(
    r"(?:i|we|my|if|unless|this|that|these|those|not|no|never|or|nor|half|parts?|partly|only|just"
    r"|well|hm+|oh|says?|said|about|so|psst|lol|far|in your"
    r"|in (?:truth|fact|reality|colou?r|the (?:first|second|end))"
    r"|at (?:least|most)|to (?:be|say)|the (?:reverse|opposite|contrary|above|below|following"
    r"|claim|statement|former|latter|truth|(?:first|second|other) (?:half|part|one|is)|joke"
    r"|rest))\b"
)
_FACT = re.compile(r"\S+(?: \S+){2,}")
_NO_SPEAKER = re.compile(
    r"\b(?:disagree\w*|reverse|opposite|kidding|joking|psych|placeholder|verdict|grade[ds]?|wrong"
    r"|incorrect|untrue|false(?! god)|mistaken|differs?)\b|\?|\bxown\b"
)
_AGREES = re.compile(
    r"\b(?:same|match\w*|agree\w*|equal\w*|identical|equivalent|synonym\w*|consistent|also|too"
    r"|as well|both|likewise|so (?:does|is)|all|correspond\w*|in line|among|one of|supported"
    r"|confirm\w*|means?|like|as xreference)\b"
)
_AS_REFERENCE = re.compile(r"\bxown\b.*\b(?:that|which|what|as) xreference \w+$")
_DENIAL = re.compile(_DENIES)
_SAME = re.compile(r"\b(?:same|match(?:es)?|agrees?|identical|equivalent|synonym\w*)\b")


# a later sentence that takes a stated grade back
_RETRACTS = re.compile(
    r"(?:half|parts?|partly|only|hardly|not|no|never|n?or|well|hm+|oh|psst|lol"
    r"|(?:in|on|by) no|the (?:reverse|opposite|contrary|above|claim|truth|joke|rest))\b"
    r"|.*\bno longer\b"
    r"|.*\b(?:disagree\w*|reverse|opposite|kidding|jok\w+|placeholder|not so|disregard|sarcas\w*"
    r"|ironic\w*|verdict|graded?|claim(?:s|ed)|demand\w*|instruct\w*|pretend\w*|begs?|supposed"
    r"|(?:this|that|above|it) is (?:false|untrue|wrong|not (?:true|so|right))"
    r"|i(?: am|['’]m| was| take| mean| would| do| did| say| lied?| think)|correction|corrected)\b"
)

# of one or two words: a quotation, or an entry of a numbered list with what it means
_NAMED_FACT = re.compile(r"“|\A\s*[0-9]{1,2}\s*\Z|[(:]")


def find_fault(behind: str, sides: Sides, *, stated: bool = False) -> str:
    """What is wrong with what follows a verdict; empty where nothing is. `behind`: the text after
    it, of which names are in capitals or small letters as `sides` has them. `stated`: a sentence
    of its own says of the response that it is correct or not, so that later ones may be any facts.
    """
    if not behind.strip(_EDGES + ".\n"):
        return ""
    behind = drop_courtesies(behind)
    if len(behind) > _LONGEST_CHARS:
        return f"more than a reason follows its {sides.value}"
    if not fits_signs(behind, sides.value):
        return f"a sign that follows speaks against its {sides.value}"
    named = sides.names.sub(lambda name: _name(name, sides), _SIGNS.sub(" ", behind)).lower()
    if stated and sides.is_grade:
        return _find_retraction(named, sides)
    if sides.value == "correct" and _LIMITS.search(named):
        return f"what follows limits its {sides.value}"
    aside = _ASIDE.match(named)
    pieces = [aside[1], *_PIECES.split(named[aside.end() :])] if aside else _PIECES.split(named)
    speaker = "xown"
    for piece in pieces:
        if len(piece) > _LONGEST_PIECE:
            return f"more than a reason follows its {sides.value}"
        words = _list_words(piece)
        if not words or _REMARK.fullmatch(words):
            continue
        opened = _OPENERS.match(words)
        opener, bare = (opened[0].strip(), words[opened.end() :]) if opened else ("", words)
        if _is_fact(bare, sides):
            continue
        speaker, contradicts = _follow(words, speaker, sides)
        if contradicts:
            return f"what follows speaks against its {sides.value}"
        gives_cause = _CAUSE.search(opener) is not None and _CAUSES.match(bare) is not None
        speaks = gives_cause or _SUBJECT.match(bare) is not None
        evens = sides.value != "tie" and not sides.is_grade and _EVEN.search(words) is not None
        if not speaks or evens or _STANCE.search(words):
            return f"more than a reason follows its {sides.value}"
    return ""


def _find_retraction(named: str, sides: Sides) -> str:
    """What is wrong with sentences behind one that states a grade."""
    speaker = "xreference"
    for piece in _PIECES.split(named):
        words = _list_words(piece)
        if not words or _REMARK.fullmatch(words):
            continue
        if _RETRACTS.match(words) or (len(words.split()) < 3 and not _NAMED_FACT.search(piece)):
            return f"more than a reason follows its {sides.value}"
        speaker, contradicts = _follow(words, speaker, sides)
        if contradicts:
            return f"what follows speaks against its {sides.value}"
        if sides.value == "correct" and "xown" in words and _LIMITS.search(words):
            return f"what follows limits its {sides.value}"
    return ""


def _list_words(piece: str) -> str:
    """The words of a piece, without what stands around them."""
    return " ".join(_PARENTHESES.sub(", ", piece).strip(_EDGES + "\n").split())


def fits_signs(text: str, value: str) -> bool:
    """Whether the emoji in a text point the way of the verdict."""
    against = PRAISE if value == "incorrect" else BLAME
    return not any(sign in text for sign in against)


def _name(name: "re.Match[str]", sides: Sides) -> str:
    if sides.own is None:
        return "xown" if name.lastindex else "xreference"
    return "xown" if name.lastindex and name[name.lastindex].lower() in sides.own else "xother"


def _is_fact(bare: str, sides: Sides) -> bool:
    """Whether a piece behind a grade states a fact about the world and speaks of no answer."""
    return (
        sides.is_grade
        and _FACT.fullmatch(bare) is not None
        and _NO_FACT.match(bare) is None
        and _SUBJECT.match(bare) is None
        and _NO_SPEAKER.search(bare) is None
        and not (sides.value == "incorrect" and _SAME.search(bare))
        and not (sides.value == "correct" and _DENIAL.search(bare))
    )


def _follow(words: str, speaker: str, sides: Sides) -> tuple[str, bool]:
    """Of whom a piece speaks last, and whether it speaks against the verdict."""
    if sides.is_grade and _contrasts(words, sides.value):
        return speaker, True
    for clause in _CLAUSES.split(words):
        found = _SPEAKERS.search(clause)
        if found and not clause.startswith(_NO_SPEAKERS[sides.is_grade]):
            speaker = found[0]
        concedes = _CONCEDES.match(clause) is not None
        for polar in _POLAR.finditer(clause):
            ranks = polar["ranks"] is not None and not sides.is_grade
            praises = bool(polar["up"] or polar["good"]) != bool(polar["denied"])
            if _is_against(speaker, praises, ranks, sides) and (ranks or not concedes):
                return speaker, True
    return speaker, False


def _contrasts(words: str, value: str) -> bool:
    """Whether a piece sets the answer against the references where the grade is correct, or says
    one thing of both where it is incorrect.
    """
    if value == "correct":
        return "xown" in words and "xreference" in words and _AGREES.search(words) is None
    says_same = words.startswith("both ") or _AS_REFERENCE.search(words) is not None
    return value == "incorrect" and says_same and _DENIAL.search(words) is None


def _is_against(speaker: str, praises: bool, ranks: bool, sides: Sides) -> bool:
    """Whether praise or blame of somebody speaks against a verdict."""
    if sides.is_grade:
        return (
            sides.value != "partially correct"
            and speaker != "xreference"
            and praises == (sides.value == "incorrect")
        )
    if not sides.own:  # a tie
        return ranks and (praises or speaker not in ("both", "neither", "they"))
    return praises == (speaker == "xother")


# of two feedbacks, A is shown first
_FEEDBACKS = re.compile(
    r"\b(?i:feedback|response|answer) ([AB])\b(?:['’]s\b)?"
    r"|\b(?i:the) (first|second)(?: (?:feedback|response|one))?\b"
    r"|\b(?:(B)|(A)(?=['’]s\b| (?:\w+s|better)\b))\b(?:['’]s\b)?|(?<=than )(A)\b"
    r"|\b(?i:the other)(?: (?:feedback|response|one))?\b"
)
_FEEDBACK_NAMES = {"A": frozenset({"a", "first"}), "B": frozenset({"b", "second"})}
# a choice ends its sentence or line, is called the better one, or has a reason
_CHOICE_ENDS = re.compile(
    r"(?P<better>[ \t]+(?:is|was)[ \t]+(?:(?:clearly|slightly|much|the)[ \t]+)*(?:better|preferred"
    r"|best)(?:[ \t]+(?:one|feedback|response|choice))?(?![\w'’]))?"
    r"(?:[ \t*_`)\]]*(?:\[RESULT\]|[.,;:!][\s*_`)\]]|[.!]?[*_`\"'”’»]*(?:\n|\Z))"
    r"|,?[ \t]+(?=(?:because|since|as|due|given|although|though)\b|[(—–-])"
    rf"|[ \t*_]*(?=[{PRAISE}{BLAME}]))"
)
_NEXT_MARKER = re.compile(r"\[RESULT\]", re.IGNORECASE)


class MarkedTail(NamedTuple):
    """Where a marked choice ends, and what is wrong with what follows it, if anything is."""

    end: int
    fault: str


def read_marked_tail(text: str, end: int, choice: str) -> MarkedTail | None:
    """What follows a marked choice as far as the next marker; None where the words run on."""
    ends = _CHOICE_ENDS.match(text, end)
    if ends is None or (ends["better"] and choice not in _FEEDBACK_NAMES):
        return None
    end = ends.end("better") if ends["better"] else end
    marker = _NEXT_MARKER.search(text, end, end + _LONGEST_CHARS)
    behind = text[end : len(text) if marker is None else marker.start()]
    if marker is not None:
        if not text[marker.end() :].strip(_EDGES + "\n"):
            return MarkedTail(end, f"a marker without a choice follows its {choice}")
        # what leads in to the next marker is said of that one
        behind = behind[: max(behind.rfind("\n"), behind.rfind(". ")) + 1]
    sides = Sides(choice, _FEEDBACKS, _FEEDBACK_NAMES.get(choice, frozenset()))
    return MarkedTail(end, find_fault(behind, sides))
