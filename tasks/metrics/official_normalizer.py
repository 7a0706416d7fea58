"""The string rules of the official VQA evaluation (Antol et al. 2015; GT-Vision-Lab/VQA, vqaEval.py), over many strings at once.

What the official code does is kept with its oddities, as Python 3 runs it (`\\d`, `lower` and `split` then know Unicode). How the
comparison is scored lives in `tasks.metrics.vqa_accuracy`. A plain version of the same rules is the tests' oracle.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

MARKS = ';/[]"{}()=+\\_-><@`,?!'
"""What counts as punctuation; the period has a rule of its own, the apostrophe has none."""

MAX_PERIODS_REMOVED = 32
"""The official code passes the flag `re.UNICODE`, 32, where `sub` takes the number of replacements."""

_MARK_OR_PERIOD = re.compile(f"[{re.escape(MARKS)}.]")
_MARK_BESIDE_SPACE = re.compile(f"[{re.escape(MARKS)}](?= )|(?<= )[{re.escape(MARKS)}]")
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_LOOSE_PERIOD = re.compile(r"\.(?!\d)")

_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {"none": "0"} | {word: str(number) for number, word in enumerate(_COUNTED)}
ARTICLES = ("a", "an", "the")

_APOSTROPHES = """
    ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd he'd've
    he's how'd how'll how's isn't it'd it'd've it'll ma'am might've mightn't mightn't've must've mustn't needn't not've
    o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've somebody'd've somebody'll somebody's
    someone'd someone'd've someone'll someone's something'd something'd've something'll that's there'd there'd've
    there're there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's
    what've when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've
    wouldn't wouldn't've y'all y'all'd've y'all'll you'd you'd've you'll you're you've
"""


def _list_misspellings(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at, letter in enumerate(word) if letter == "'"]


CONTRACTIONS = {wrong: word for word in _APOSTROPHES.split() for wrong in _list_misspellings(word)} | {"somebody'd": "somebodyd"}
"""Each word of the official table with one of its apostrophes left out; the last pair is the wrong way round there too."""

_REWRITTEN: Mapping[str, str] = CONTRACTIONS | NUMBERS | dict.fromkeys(ARTICLES, "")


def strip_official(texts: Sequence[str]) -> list[str]:
    """What is always done: line breaks and tabs become spaces, both ends are trimmed."""
    return [text.replace("\n", " ").replace("\t", " ").strip() for text in texts]


def normalise_official(stripped: Sequence[str]) -> list[str]:
    """What is done to stripped strings where the references of a question differ: punctuation, numbers, articles, apostrophes."""
    return _rewrite_words([_remove_marks(text) if _MARK_OR_PERIOD.search(text) else text for text in stripped])


def _remove_marks(text: str) -> str:
    """Drop a mark that touches a space anywhere in the text, make another a space; a comma inside a number drops all marks."""
    dropped = MARKS if _COMMA_IN_NUMBER.search(text) else "".join(sorted(set(_MARK_BESIDE_SPACE.findall(text))))
    spaced = text.translate(_translate_marks(dropped))
    return _LOOSE_PERIOD.sub("", spaced, count=MAX_PERIODS_REMOVED) if "." in spaced else spaced


@lru_cache(maxsize=4096)
def _translate_marks(dropped: str) -> dict[int, str]:
    return {ord(mark): "" if mark in dropped else " " for mark in MARKS}


def _rewrite_words(texts: Sequence[str]) -> list[str]:
    """Rewrite the words of all texts in one go: marks are gone, so one can part the texts; the spaces keep `lower` local."""
    if not texts:
        return []
    words = " ; ".join(texts).lower().split()
    kept = filter(None, map(_REWRITTEN.get, words, words))
    return [text.strip() for text in " ".join(kept).split(";")]
