r"""VQA accuracy (Antol et al. 2015): agreement with all annotators but one, averaged over who is
left out.

The official code's string rules are kept with their oddities, as Python 3 runs them (`\d`, `lower`
and `split` then know Unicode). A plain version of the same rules is the tests' oracle.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from judgelake.tasks.metrics.metric import for_short_answers
from judgelake.tasks.metrics.pairs import (
    AnswerPairs,
    Ids,
    Scores,
    divide_by_row,
    find_distinct,
    pair_answers,
)

MARKS = ';/[]"{}()=+\\_-><@`,?!'
"""What counts as punctuation; the period has a rule of its own, the apostrophe has none."""

MAX_PERIODS_REMOVED = 32
"""The official code passes the flag `re.UNICODE`, 32, where `sub` takes the number of
replacements.
"""

# a text without marks skips the rules for them
_MARK_OR_PERIOD = re.compile(f"[{re.escape(MARKS)}.]")
# a mark that touches a space anywhere in the text is dropped; another becomes a space
_MARK_BESIDE_SPACE = re.compile(f"[{re.escape(MARKS)}](?= )|(?<= )[{re.escape(MARKS)}]")
# one such number makes the official code remove all marks
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
# a period before a digit belongs to a number
_LOOSE_PERIOD = re.compile(r"\.(?!\d)")

_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {"none": "0"} | {word: str(number) for number, word in enumerate(_COUNTED)}
ARTICLES = ("a", "an", "the")

_APOSTROPHES = """
    ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't
    haven't he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am might've mightn't
    mightn't've must've mustn't needn't not've o'clock oughtn't 'ow's'at shan't she'd've should've
    shouldn't shouldn't've somebody'd've somebody'll somebody's someone'd someone'd've someone'll
    someone's something'd something'd've something'll that's there'd there'd've there're there's
    they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're
    what's what've when's where'd where's where've who'd who'd've who'll who's who've why'll
    why're why's won't would've
    wouldn't wouldn't've y'all y'all'd've y'all'll you'd you'd've you'll you're you've
"""


def _list_misspellings(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at, letter in enumerate(word) if letter == "'"]


CONTRACTIONS = {
    wrong: word for word in _APOSTROPHES.split() for wrong in _list_misspellings(word)
} | {"somebody'd": "somebodyd"}
"""Each word of the official table with one of its apostrophes left out; the last pair is the wrong
way round there too.
"""

_REWRITTEN: Mapping[str, str] = CONTRACTIONS | NUMBERS | dict.fromkeys(ARTICLES, "")


def strip_official(texts: Sequence[str]) -> list[str]:
    """The official code's first step: line breaks and tabs become spaces, both ends are trimmed."""
    return [text.replace("\n", " ").replace("\t", " ").strip() for text in texts]


def normalise_official(stripped: Sequence[str]) -> list[str]:
    """What the official code does to stripped strings where the references of a question differ:
    punctuation, numbers, articles, apostrophes.
    """
    return _rewrite_words(
        [_remove_marks(text) if _MARK_OR_PERIOD.search(text) else text for text in stripped]
    )


def _remove_marks(text: str) -> str:
    """Drop a mark that touches a space anywhere in the text, make another a space; a comma inside a
    number drops all marks.
    """
    dropped = (
        MARKS
        if _COMMA_IN_NUMBER.search(text)
        else "".join(sorted(set(_MARK_BESIDE_SPACE.findall(text))))
    )
    spaced = text.translate(_translate_marks(dropped))
    return _LOOSE_PERIOD.sub("", spaced, count=MAX_PERIODS_REMOVED) if "." in spaced else spaced


@lru_cache(maxsize=4096)
def _translate_marks(dropped: str) -> dict[int, str]:
    return {ord(mark): "" if mark in dropped else " " for mark in MARKS}


def _rewrite_words(texts: Sequence[str]) -> list[str]:
    """Rewrite the words of all texts in one go: marks are gone, so one can part the texts; the
    spaces keep `lower` local.
    """
    if not texts:
        return []
    words = " ; ".join(texts).lower().split()
    kept = filter(None, map(_REWRITTEN.get, words, words))
    return [text.strip() for text in " ".join(kept).split(";")]


SIGNATURE = "vqa_accuracy|normalizer:official|agreement:leave-one-out|single:match|version:1"
RAW_SIGNATURE = "vqa_accuracy_raw|normalizer:none|agreement:leave-one-out|single:match|version:1"

FULL_AGREEMENT = 3
"""Matches among the other annotators that make an answer fully correct."""


def compute_vqa_accuracy(answers: pa.Array, references: pa.ListArray) -> Scores:
    """Score as the official evaluation code does, see `average_left_out` for one to three
    references.

    The official code normalises a question only where its references differ after trimming; where
    all are the same, the trimmed strings are compared. A single reference, for which the official
    code gives 0, is compared normalised.
    """
    raw = pair_answers(answers, references)
    stripped = raw.renumber(strip_official(raw.strings))
    normalised = stripped.renumber(normalise_official(stripped.strings))
    counts = raw.count_by_row()
    unanimous = ~_find_disagreement(stripped) & (counts > 1)
    hits = np.where(unanimous, count_matches(stripped), count_matches(normalised))
    return average_left_out(hits, counts)


def compute_vqa_accuracy_raw(answers: pa.Array, references: pa.ListArray) -> Scores:
    """Score the strings as they are, see `average_left_out`."""
    pairs = pair_answers(answers, references)
    return average_left_out(count_matches(pairs), pairs.count_by_row())


def count_matches(pairs: AnswerPairs) -> Ids:
    """References of a row that equal its answer."""
    return np.bincount(
        pairs.rows[pairs.answer_ids == pairs.reference_ids], minlength=pairs.row_count
    )


def average_left_out(matches: Ids, annotators: Ids) -> Scores:
    """Mean over the n annotators of min(1, matches among the others / 3), in closed form.

    With m matches: (m·min(3, m-1) + (n-m)·min(3, m)) / 3n, integers until the division, so the
    order of references does not show. As in the official code the best score of two references is
    1/3, of three 2/3. One reference leaves nobody: there the score is the match itself, which is
    this project's rule.
    """
    others_agree = matches * np.minimum(FULL_AGREEMENT, matches - 1)
    thirds = others_agree + (annotators - matches) * np.minimum(FULL_AGREEMENT, matches)
    return np.where(
        annotators == 1,
        matches,
        divide_by_row(thirds.astype(np.float64), FULL_AGREEMENT * annotators),
    )


def _find_disagreement(pairs: AnswerPairs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Rows whose references are not all the same."""
    first = np.zeros(pairs.row_count, dtype=np.int64)
    first[pairs.rows[::-1]] = pairs.reference_ids[::-1]
    differing = pairs.rows[pairs.reference_ids != first[pairs.rows]]
    return np.bincount(differing, minlength=pairs.row_count) > 0


SOFT_SIGNATURE = "soft_vqa_accuracy|normalizer:none|distance:cer|references:best-3-mean|version:1"

# of a score that is the mean over the references that fit best
BEST_REFERENCES = 3


def compute_soft_vqa_accuracy(answers: pa.Array, references: pa.ListArray) -> Scores:
    """Score the mean of max(0, 1 - CER) over the three references that fit best, or over those
    there are.
    """
    pairs = pair_answers(answers, references)
    sums = _sum_best(pairs, compare_characters(pairs))
    counts = np.minimum(pairs.count_by_row(), BEST_REFERENCES)
    return divide_by_row(sums, counts)


def compare_characters(pairs: AnswerPairs) -> Scores:
    """Similarity max(0, 1 - CER) of each pair; CER is the Levenshtein distance per character (code
    point) of the reference.

    An empty reference has no length to divide by: its CER is 0 beside an empty answer, else 1.
    """
    answer_ids, reference_ids, places = find_distinct(pairs)
    strings = np.array(pairs.strings, dtype=object)
    distances = cpdist(
        strings[answer_ids], strings[reference_ids], scorer=Levenshtein.distance, dtype=np.int64
    )
    lengths = np.fromiter(map(len, pairs.strings), dtype=np.int64, count=len(pairs.strings))[
        reference_ids
    ]
    return np.maximum(0.0, 1.0 - distances / np.maximum(lengths, 1))[places]


def _sum_best(pairs: AnswerPairs, similarities: Scores) -> Scores:
    """Sum of the best similarities of each row."""
    order = np.lexsort((-similarities, pairs.rows))
    rows = pairs.rows[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
    best = ranks < BEST_REFERENCES
    return np.bincount(rows[best], similarities[order][best], pairs.row_count).astype(np.float64)


METRIC_KINDS = (
    for_short_answers(SIGNATURE, compute_vqa_accuracy),
    for_short_answers(RAW_SIGNATURE, compute_vqa_accuracy_raw),
    for_short_answers(SOFT_SIGNATURE, compute_soft_vqa_accuracy),
)
