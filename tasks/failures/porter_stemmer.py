"""Stems of English words by Porter's algorithm (1980, Program 14), step by step as published. What
stems are compared for is elsewhere.
"""

from collections.abc import Sequence
from functools import lru_cache

_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4 = (
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "ion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
)


@lru_cache(maxsize=1 << 16)
def stem_word(word: str) -> str:
    """The stem of a word in lower case; a word of one or two letters is its own."""
    if len(word) <= 2:
        return word
    word = _end_plural(word)
    word = _end_past(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_end(word, _STEP_2)
    word = _replace_end(word, _STEP_3)
    return _tidy_end(_drop_suffix(word))


def _shape(stem: str) -> str:
    """Each letter as v (a vowel; y after a consonant) or c."""
    shape = ""
    for letter in stem:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(stem: str) -> int:
    """m: how often vowels are followed by consonants."""
    return _shape(stem).count("vc")


def _ends_short(stem: str) -> bool:
    """Consonant, vowel, consonant, the last not w, x or y."""
    return _shape(stem).endswith("cvc") and stem[-1] not in "wxy"


def _end_plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _end_past(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word:
            return _mend(stem) if "v" in _shape(stem) else word
    return word


def _mend(stem: str) -> str:
    """What is left after -ed and -ing, with an e where it lost one, a double consonant single."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _ends_double(stem) and not stem.endswith(("l", "s", "z")):
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _replace_end(word: str, endings: Sequence[tuple[str, str]]) -> str:
    """Steps 2 and 3: the longest ending that fits, if the stem before it has a measure above 0."""
    fitting = [pair for pair in endings if word.endswith(pair[0])]
    if not fitting:
        return word
    ending, other = max(fitting, key=lambda pair: len(pair[0]))
    stem = word.removesuffix(ending)
    return stem + other if _measure(stem) else word


def _drop_suffix(word: str) -> str:
    """Step 4."""
    fitting = [suffix for suffix in _STEP_4 if word.endswith(suffix)]
    if not fitting:
        return word
    suffix = max(fitting, key=len)
    stem = word.removesuffix(suffix)
    fits = _measure(stem) > 1 and (suffix != "ion" or stem.endswith(("s", "t")))
    return stem if fits else word


def _tidy_end(word: str) -> str:
    """Step 5."""
    if word.endswith("e"):
        stem = word[:-1]
        if _measure(stem) > 1 or (_measure(stem) == 1 and not _ends_short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _ends_double(stem: str) -> bool:
    return stem[-2:-1] == stem[-1:] and _shape(stem).endswith("c")
