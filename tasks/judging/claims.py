"""Whether a verdict in a reply is the judge's own, and what holds where a reply gives several.

A verdict that is denied, supposed, asked or reported of somebody else is none. Where two verdicts
of the judge's own differ and nothing says that the second corrects the first, a person would
hesitate, and there is none either. Finding verdicts is the readers' matter.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

LONGEST_CHARS = 100_000
"""Of a reply that is read: 25,000 tokens. Whatever is longer is no verdict, and is not searched."""
MOST_MARKS = 50
"""A reply that gives more verdicts than that repeats itself without end."""
_BEFORE_CHARS, _AFTER_CHARS = 240, 120

# where the sentence before a verdict begins; a colon at a line's end leads on to the next line
_SENTENCE_END = re.compile(r"[.!?](?=[\s\"'”’)*_]|$)|(?<![:,])\n|\n(?=[ \t]*\n)")
_MARKDOWN = str.maketrans("", "", "*_`#")
_QUOTES = "\"'“”„‘’«»"

# words that may stand between a denial or a report and the verdict that it is about
_BETWEEN = (
    r"(?:[ ,:\"'“‘(]+(?:say|says|saying|said|give|gives|given|giving|assign|award|conclude"
    r"|concluding"
    r"|write|writing|put|output|choose|pick|select|call|reply|respond|answer|be|been|it|this"
    r"|that|a|an"
    r"|the|as|with|to|for|by|of|at|on|in|go|good|conscience|simply|just|yet|really|honestly|fairly"
    r"|confidently|me|you|us|score|rating|final|result|verdict|overall|justify|deserve"
    r"|deserves|merit"
    r"|warrant|support|accept|agree|claim|state|stating|any|end|ending|here|possibly|think|believe"
    r"|consider|considered|so|i|we|judge|would|will|should|could|recommend|merits|earns|gets"
    r"|justifies|warrants|supports|reach|reached|mean|means"
    r"|imply|come|arrive|enough|have|has|get|earn|receive|must|want|wanted|need|ever|literally|only"
    r"|also|words|word|text|phrase|string|line|marker|follows|and|case|grade|hand|out|is|was"
    r"|were))*"
    r"[ ,:\"'“‘(\-–—]*$"
)
# `I would not say`, `I cannot give`, `it is wrong to conclude`
_DENIED = re.compile(
    r"\b(?:not|never|cannot|no(?![,.:;!])|without|neither|nor|hardly|unable to|refus\w+"
    r"|declin\w+|hesitat\w+"
    r"|fail\w* to|instead of|rather than|far from|against|avoid|(?:false|wrong|untrue|incorrect"
    r"|mistaken|premature|unfair|misleading|tempting|absurd|harsh|generous|nonsense) (?:that|to)"
    r"|disagree\w*|den(?:y|ies|ied)|doubt\w*|disput\w+|reject\w*|contrary to|despite|ignor\w+)"
    rf"(?! (?:doubt|wonder|question)\b)\b{_BETWEEN}|n['’]t\b{_BETWEEN}"
)
# `the candidate wrote`, `the prompt asks me to end with`
_REPORTED = re.compile(
    r"\b(?:candidate|user|student|assistant|model|response|answer|references?|prompt|instructions?"
    r"|question|text|image|picture|caption|sign|author|they|he|she|it|you|someone|somebody|people"
    r"|annotators?|field|note|example|demonstration|format|template|line|sentence|feedback|rubric"
    r"|critic|reviewer|colleague|judges|another judge|other judge|first judge)\b[^.!?\n]{0,60}?"
    r"\b(?:wrote|writes?|written|says?|said|stat(?:es|ed)|claim(?:s|ed)?|contains?|includes?|reads?"
    r"|ends?|ended|outputs?|ask(?:s|ed)?|requests?|demand(?:s|ed)?|orders?|told|tells?"
    r"|instruct(?:s|ed)?|wants?|wanted|tr(?:ies|ied)|shows?|adds?|added|appends?|repeats?|mentions?"
    r"|quotes?|inserts?|inserted|insists?|suggests?|suggested|begs?|hopes?|expects?|hides?|argues?"
    rf"|closes?|begins?|starts?|gave|gives|rated|assigned|awarded){_BETWEEN}"
)
# `Candidate answer: So rating=3`, `according to the user, ...`
_LABELLED = re.compile(
    r"(?:^|[ \n(])(?:candidate(?: answer)?|student|user|question|reference answers?|original"
    r"|quote|quoted|example|for example|e\.g\.|such as|like|sample|format|template|instructions?"
    r"|response to evaluate|the response)[ ]?(?:answer|output|reply|text)?:?[ ,]*"
    rf"[{_QUOTES}(\[]*$"
    r"|\baccording to (?:the |this |its )?(?:candidate|user|student|assistant|prompt|author|model"
    r"|response|answer|text)\b[^.!?]{0,30}$"
)
_IF = re.compile(
    r"\b(?:if|unless|suppos(?:e|ing)|assuming|imagine|had (?:it|the|they|this|he|she))\b"
)
_MIGHT = re.compile(r"\b(?:would|could|might|may|were|had|should)\b|['’]d\b")
_BUT = re.compile(r"\b(?:but|however|yet|since it|because it)\b")
# `might deserve`, `would be`; `I would say` is a judge's polite form
_SUPPOSED = re.compile(rf"(?:\b(?:could|might|may)|(?<!\bi )(?<!\bi['’])\bwould){_BETWEEN}")
_CONCLUDES = re.compile(r"[,;–—-][ ]*(?:(?:and|hence|thus|therefore|so)[ ,]*)*$")
# `rating=1 or rating=3`
_EITHER = re.compile(r"\b(?:or|either|between|versus|vs\.?)$|[0-9]\W{0,4}and$")
_SO = re.compile(r"(?i)so\b")

# what takes a verdict back right behind it
_DENIED_AFTER = re.compile(
    r"(?i)[ \t*_`\"'“”’)\]]*(?:\?|,? *(?:is|was|are|were|would|could|might|may|seems|cannot"
    r"|can['’]t|isn['’]t|wasn['’]t|does not|doesn['’]t|won['’]t|should not|must not|will not)\b"
    r"(?: \w+){0,2}? "
    r"?(?:false|wrong|incorrect|untrue|mistaken|unjustified|unfair|inaccurate|impossible|absurd"
    r"|nonsense|too|not|never|what|how|only for|reserved|for|only|tempting|out of|be|have|mean"
    r"|apply"
    r"|hold|rejected|an? (?:lie|mistake|error|exaggeration|stretch|joke|trick|order|attempt))\b"
    r"|,? *(?:said|says|claims?|claimed|wrote|writes|argues?|insists?|according to)\b"
    r"|,? *(?:as )?(?:they|you|he|she|the (?:user|candidate|student|prompt|response|answer|author"
    r"|text)) (?:says?|said|claims?|claimed|wants?|wanted|wrote|writes|puts?|asks?|asked)\b"
    r"|,? *(?:or|and) (?:maybe |perhaps |possibly )?(?:[0-9]|so rating|rating|\[result\])"
    r"|,? *(?:maybe|perhaps)\b| *(?:means?|stands? for|denotes?|represents?)\b)"
)
# after a rating: it is taken back
_RETRACTS = re.compile(
    r"(?i)[\s*_`.!,;:)\]…—–-]*(?:(?:but|or|though|hmm|well|ah|oh)\b[ ,…]*)?(?:actually"
    r"|correction|wait"
    r"|scratch that|never ?mind|on (?:second thoughts?|reflection)|i take (?:that|it) back"
    r"|i (?:made a mistake|was wrong|misread|misspoke|meant)|that (?:should (?:be|have been)"
    r"|is wrong|was wrong)|i(?: a|['’])m not (?:so )?sure|not sure|unsure|ignore (?:that|this"
    r"|the above)"
    r"|disregard|oops|sorry|no(?=[ ]*[,.:;!—–-]))\b"
)
# anywhere between two ratings: the later one corrects the earlier
_CORRECTS = re.compile(
    r"(?i)\b(?:actually|correct(?:ion|ing|ed)|wait|scratch that|never ?mind|on (?:second thoughts?"
    r"|(?:further )?reflection|reconsideration|balance)|reconsider\w*|re-?evaluat\w*|re-?check\w*"
    r"|revis\w+|re-?read\w*|i take (?:that|it) back|i (?:made a mistake|was wrong|misread|misspoke"
    r"|overlooked|missed|change)|let me (?:correct|change|fix|redo|revise|rethink)"
    r"|changed? (?:my|the"
    r"|it)|should (?:be|have been)|sorry|apolog\w+|oops|updat\w+|finally|in the end|instead"
    r"|looking again|having looked)\b|\bno[,.:;!]|\bhmm|\bfinal:"
)


class Mark(NamedTuple):
    """A verdict that a text gives from `start` to `end`; `value` is None where it is none of those
    asked for.
    """

    value: int | str | None
    start: int
    end: int
    is_own: bool = True


def is_own(text: str, start: int, end: int) -> bool:
    """Whether what stands from `start` to `end` is said by the judge itself, as a fact."""
    whole = text[max(0, start - _BEFORE_CHARS) : start]
    before = whole.rstrip(" \t\n")
    is_apart = whole.count("\n", len(before)) > 1 and not before.endswith((":", ","))
    ends = [match.end() for match in _SENTENCE_END.finditer(before, 0, max(0, len(before) - 1))]
    if is_apart or before.endswith((".", "!", "?")):
        ends.append(len(before))
    sentence = before[ends[-1] if ends else 0 :].translate(_MARKDOWN).lower()
    sentence = " ".join(sentence.split())
    if _DENIED_AFTER.match(text, end, end + _AFTER_CHARS):
        return False
    if not sentence:
        return True
    hypothesis = _IF.search(sentence)
    supposed = (
        hypothesis is not None
        and _MIGHT.search(sentence) is not None
        and not _BUT.search(sentence, hypothesis.end())
    )
    if _CONCLUDES.search(sentence) and (_SO.match(text, start) or sentence.endswith("so,")):
        # `it would be complete if it named the dog, so rating=2` supposes nothing of the rating
        return not (supposed and _IF.match(sentence))
    if supposed:
        return False
    return not (
        _EITHER.search(sentence)
        or _DENIED.search(sentence)
        or _REPORTED.search(sentence)
        or _LABELLED.search(sentence)
        or _SUPPOSED.search(sentence)
    )


class Settled(NamedTuple):
    """The mark that holds, or (None) why there is none."""

    mark: Mark | None
    reason: str = ""


def settle(text: str, marks: Sequence[Mark]) -> Settled:
    """The last of the judge's own verdicts, where it stands unchallenged. `marks` are in order."""
    if len(marks) > MOST_MARKS:
        return Settled(None, f"it gives more than {MOST_MARKS} verdicts")
    own = [mark for mark in marks if mark.is_own]
    if not own:
        reason = "its only verdict is denied, supposed or somebody else's words" if marks else ""
        return Settled(None, reason)
    last = own[-1]
    if any(mark.start > last.start and mark.value != last.value for mark in marks):
        return Settled(None, f"another verdict than its own {last.value} stands behind it")
    differing = [mark for mark in own if mark.value not in (None, last.value)]
    if differing and not corrects(text, differing[-1].end, last.start):
        return Settled(None, f"it gives both {differing[-1].value} and {last.value}")
    if takes_back(text, last.end):
        return Settled(None, f"it takes its {last.value} back")
    return Settled(last) if last.value is not None else Settled(None)


def give_reason(expected: str, settled: Settled) -> str:
    """Why a reply is not read: what was expected of it, and what stands against its verdict."""
    return f"{expected}: {settled.reason}" if settled.reason else expected


def corrects(text: str, start: int, end: int) -> bool:
    """Whether the words from `start` to `end` say that what follows replaces what stood before."""
    return _CORRECTS.search(text, max(start, end - 2 * _BEFORE_CHARS), end) is not None


def takes_back(text: str, end: int) -> bool:
    """Whether the words right behind a verdict withdraw it."""
    return _RETRACTS.match(text, end, end + _AFTER_CHARS) is not None
