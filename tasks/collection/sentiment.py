"""How positive a description of a score is, by a small lexicon of words about quality
(Prometheus-Vision, Figure 4, uses a language model of 66M parameters; this needs no download).

Words of general language that say nothing about quality are in no list, and a word of another
domain may be missed: a mean over many rubrics is meant, not one sentence.
"""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GOOD = _words(
    "accurate accurately all always apt balanced careful carefully clear clearly coherent "
    "complete completely comprehensive comprehensively consistent convincing correct correctly "
    "creative deep deeply detailed distinct easily effective effectively engaging every exact "
    "exactly excellent excellently exceptional exceptionally expert fine fitting fluent full "
    "fully good great helpful highly imaginative insightful insightfully lively logical mastery "
    "meaningful nuanced original outstanding perfect perfectly persuasive precise precisely "
    "profound reasonable relevant rich richly right rightly sensible skilful skillfully solid "
    "sound strong strongly subtle successful successfully superb thorough thoroughly useful "
    "vivid well whole wholly"
)
_BAD = _words(
    "absent ambiguous bare barely confused confusing contradicts contradict disregards "
    "erroneous error errors fail failing fails failed false flawed guess guessed guesses hardly "
    "harmful ignore ignores ignoring illogical impossible inaccurate inaccurately inadequate "
    "inappropriate incoherent incomplete inconsistent incorrect incorrectly insufficient "
    "invents invented irrelevant lack lacking lacks limited minimal misidentifies misinterprets "
    "misled misleading misread misreads misses missing mistake mistakes mistaken mistaking "
    "never none nonsense nothing omission omissions omits overlooks poor poorly shallow "
    "stereotype superficial unclear unable unfit unrelated unsuitable vague vaguely weak wrong "
    "wrongly"
)
_WEAKER = _words("some somewhat partly partially mostly nearly almost minor few small")
_NOT = _words("not no without never neither nor cannot hardly barely")
_WORD = re.compile(r"[a-z]+")


def measure_sentiment(text: str) -> float:
    """From -1 (negative) to 1 (positive): good less bad words over both, 0 where there is neither.
    A word after a negation counts as its contrary; weakening words count as half of each.
    """
    good = bad = 0.0
    words = _WORD.findall(text.lower())
    for place, word in enumerate(words):
        negated = not _NOT.isdisjoint(words[max(0, place - 2) : place])
        if word in _WEAKER:
            good, bad = good + 0.5, bad + 0.5
        elif word in _GOOD:
            good, bad = (good, bad + 1) if negated else (good + 1, bad)
        elif word in _BAD:
            good, bad = (good + 1, bad) if negated and word not in _NOT else (good, bad + 1)
    return (good - bad) / (good + bad) if good + bad else 0.0
