"""Sentences that models add to a finished reply and that say nothing of the verdict: `I hope this
helps.`, `Please let me know if you need more.`, `Note that this is based on the text alone.`
"""

import re

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_BEGINS = (
    r"(?:i hope|hope (?:this|that|it)|please (?:let|note|feel|keep in mind|be aware"
    r"|do not hesitate)|let me know|feel free|if you(?:['’]d)?(?: have| need| want| would| like)"
    r"|thank(?:s| you)|is there anything else|would you like|note that|happy to|i am happy to"
    r"|evaluated (?:by|with|according|on|under)"
    r"|this (?:evaluation|assessment|judge?ment|rating|score|verdict) (?:is|was)"
    r" (?:based|given|made) (?:on|by|with|according|in)\b)"
)
_ANYWHERE = re.compile(rf"\b{_BEGINS}", re.IGNORECASE)
_COURTESY = re.compile(rf"[\s>*_(-]*+{_BEGINS}", re.IGNORECASE)
# what such a sentence must not have: another number, a verdict taken back or handed to somebody
_SAYS_MORE = re.compile(
    r"[0-9]|\b(?:zero|one|two|three|four|five|tie|better|worse|instead|lower|higher|actual|actually"
    r"|real|should|ought|mean|meant|wrong|false|true|correct|incorrect|disagree|ignore|disregard"
    r"|example|claim\w*|demand\w*|instruct\w*|order\w*|told|begs?|wants|not (?:my|the|a)"
    r"|opposite|reverse|joke|kidding|prompt|under protest)\b",
    re.IGNORECASE,
)
# the scale of the prompt, said again: `on a scale of 1 to 5`, `the 3-point scale`
_SCALE = re.compile(
    r"\b(?:scale (?:of|from) [01](?:\.0)? to [0-9]{1,3}(?:\.0)?|[0-9]-point scale"
    r"|scale)(?: given in the instructions?)?\b",
    re.IGNORECASE,
)


def drop_courtesies(text: str) -> str:
    """The text with such sentences made blanks; every other sign stays in its place."""
    return _SENTENCE.sub(_blank, text) if _ANYWHERE.search(text) else text


def _blank(sentence: re.Match[str]) -> str:
    words = sentence[0]
    if not _COURTESY.match(words) or _SAYS_MORE.search(_SCALE.sub(" ", words)):
        return words
    return " " * len(words)
