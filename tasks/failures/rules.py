"""Which of LAVE's failure categories (Mañas et al. 2024, Table 1) hold of an answer, where a rule
can say: by its words and references alone.

Compared are words as the official VQA evaluation normalises them, with those references from which
the answer then still differs. Multiple answers, broad questions, ambiguous objects and wrong human
verdicts take a look at the image, so no rule decides them.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from snowballstemmer import stemmer

from judgelake.tasks.failures.wordnet import WordNet
from judgelake.tasks.metrics.vqa_accuracy import normalise_official, strip_official

VERSION = 1
_SAYS_UNKNOWN = (
    "unknown",
    "unanswerable",
    "unsure",
    "not sure",
    "unclear",
    "not clear",
    "uncertain",
    "undetermined",
    "not known",
    "i don't know",
    "i do not know",
    "don't know",
    "do not know",
    "can't tell",
    "cannot tell",
    "can not tell",
    "i can't tell",
    "it is unknown",
    "it's unknown",
    "it is unclear",
    "it's unclear",
    "i am not sure",
    "i'm not sure",
)
_FUNCTION = (
    "and are as at be but by for from he her his i in is it its of on or she so that "
    "their there they this to was were with"
)
_NEGATION = "no not none never without 0 nothing"
_UNKNOWN = frozenset(normalise_official(strip_official(_SAYS_UNKNOWN)))
_FUNCTION_WORDS, _NEGATIONS = frozenset(_FUNCTION.split()), frozenset(_NEGATION.split())

_PORTER = stemmer("porter")
_STAYS_DOUBLE = frozenset("aeioulsz")

Words = tuple[str, ...]


@lru_cache(maxsize=1 << 16)
def stem_word(word: str) -> str:
    """The stem of a word in lower case by Porter (1980, Program 14); one of one or two letters is
    its own, as in his program.
    """
    if len(word) <= 2:
        return word
    stem: str = _PORTER.stemWord(word)
    # His step 1b makes any double consonant single (trekking, trek); Snowball only bdfgmnprt.
    double = len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in _STAYS_DOUBLE
    return stem[:-1] if double and word.endswith((f"{stem}ed", f"{stem}ing")) else stem


def name_rules(wordnet: WordNet | None) -> str:
    """The labeller that these rules are, as it stands beside its labels."""
    return f"rules|version:{VERSION}|wordnet:{'none' if wordnet is None else wordnet.version}"


def label_answer(
    answer: str, references: Sequence[str], wordnet: WordNet | None
) -> dict[str, bool]:
    """Category -> whether it holds, for the categories that the rules decide; synonym and hypernym
    only with WordNet.
    """
    candidate, *known = map(_split_words, normalise_official(strip_official([answer, *references])))
    others = (
        [words for words in dict.fromkeys(known) if words and words != candidate]
        if candidate
        else []
    )
    holds = {
        "same_stem": any(is_same_stem(candidate, words) for words in others),
        "specificity_or_verbosity": any(says_more_or_less(candidate, words) for words in others),
        "unknown": " ".join(candidate) in _UNKNOWN,
    }
    if wordnet is not None:
        holds["synonym"] = any(is_synonym(candidate, words, wordnet) for words in others)
        holds["hypernym"] = any(is_hypernym(candidate, words, wordnet) for words in others)
    return holds


def is_same_stem(candidate: Words, reference: Words) -> bool:
    """Whether the stems are the same in any order, or the same once spaces are gone."""
    stems = [[*map(stem_word, words)] for words in (candidate, reference)]
    joined = {"".join(words) for words in (candidate, reference)}
    return (
        sorted(stems[0]) == sorted(stems[1])
        or "".join(stems[0]) == "".join(stems[1])
        or len(joined) == 1
    )


def says_more_or_less(candidate: Words, reference: Words) -> bool:
    """Whether one has all the stems of the other and some more, of which none is a negation; a
    shared function word alone is no answer.
    """
    stems, other_stems = (frozenset(map(stem_word, words)) for words in (candidate, reference))
    return (
        (stems < other_stems or other_stems < stems)
        and bool((stems & other_stems) - _FUNCTION_WORDS)
        and not (stems ^ other_stems) & _NEGATIONS
    )


def is_synonym(candidate: Words, reference: Words, wordnet: WordNet) -> bool:
    """Whether the phrases, or what is left of them without their common words, share a sense."""
    return any(
        wordnet.find_senses(phrase) & wordnet.find_senses(other)
        for phrase, other in _phrases(candidate, reference)
    )


def is_hypernym(candidate: Words, reference: Words, wordnet: WordNet) -> bool:
    """Whether a sense of one phrase stands above a sense of the other, and they share none."""
    return not is_synonym(candidate, reference, wordnet) and any(
        _stands_above(phrase, other, wordnet) or _stands_above(other, phrase, wordnet)
        for phrase, other in _phrases(candidate, reference)
    )


def _stands_above(upper: str, lower: str, wordnet: WordNet) -> bool:
    senses = wordnet.find_senses(upper)
    return bool(senses) and any(
        senses & wordnet.find_ancestors(sense) for sense in wordnet.find_senses(lower)
    )


def _phrases(candidate: Words, reference: Words) -> Iterator[tuple[str, str]]:
    """Both whole, and both without the words whose stems they share, where something is left of
    each.
    """
    yield " ".join(candidate), " ".join(reference)
    common = {*map(stem_word, candidate)} & {*map(stem_word, reference)}
    phrase, other = (
        " ".join(word for word in words if stem_word(word) not in common)
        for words in (candidate, reference)
    )
    if common and phrase and other:
        yield phrase, other


def _split_words(text: str) -> Words:
    return tuple(text.split())
