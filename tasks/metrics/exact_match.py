"""Exact match with any reference under the normaliser of SQuAD (Rajpurkar et al. 2016)."""

import numpy as np
import pyarrow as pa

from judgelake.tasks.metrics.metric import for_short_answers
from judgelake.tasks.metrics.pairs import AnswerPairs, Ids, Scores, find_distinct, pair_answers
from judgelake.tasks.metrics.tokenizers import normalise_squad
from judgelake.tasks.metrics.vqa_accuracy import count_matches

SIGNATURE = "exact_match|normalizer:squad|references:any|version:1"


def compute_exact_match(answers: pa.Array, references: pa.ListArray) -> Scores:
    """Score 1 where the normalised answer equals a normalised reference, else 0."""
    raw = pair_answers(answers, references)
    pairs = raw.renumber([normalise_squad(text) for text in raw.strings])
    return np.where(pairs.count_by_row() > 0, count_matches(pairs) > 0, np.nan)


F1_SIGNATURE = "token_f1|normalizer:squad|empty:equal|references:max|version:1"

# pairs compared at a time, which bounds memory
PAIRS_PER_CHUNK = 1 << 18


def compute_token_f1(answers: pa.Array, references: pa.ListArray) -> Scores:
    """Score the highest F1 of the answer's words with a reference's; where either has none, 1 if
    neither has, else 0.
    """
    raw = pair_answers(answers, references)
    pairs = raw.renumber([normalise_squad(text) for text in raw.strings])
    scores = np.full(pairs.row_count, np.nan)
    if len(pairs.rows):
        starts = np.flatnonzero(np.diff(pairs.rows, prepend=-1))
        scores[pairs.rows[starts]] = np.maximum.reduceat(compare_words(pairs), starts)
    return scores


def compare_words(pairs: AnswerPairs) -> Scores:
    """F1 of each pair: 2 c / (a + r), with a and r words of answer and reference and c in common;
    repeated words count repeatedly.
    """
    answer_ids, reference_ids, places = find_distinct(pairs)
    bags = _Bags(pairs.strings)
    sizes = np.sort([bags.sizes[answer_ids], bags.sizes[reference_ids]], axis=0)
    f1: Scores = (answer_ids == reference_ids).astype(np.float64)
    open_pairs = np.flatnonzero(
        (f1 == 0) & (sizes[0] > 0) & (sizes[1] > 1)
    )  # two different single words have nothing in common
    for start in range(0, len(open_pairs), PAIRS_PER_CHUNK):
        part = open_pairs[start : start + PAIRS_PER_CHUNK]
        f1[part] = (
            2
            * bags.count_common(answer_ids[part], reference_ids[part])
            / sizes[:, part].sum(axis=0)
        )
    return f1[places]


class _Bags:
    """The words of each string, sorted; the k-th repeat of a word is a word of its own, so that
    bags are sets.
    """

    def __init__(self, strings: list[str]) -> None:
        split = [text.split() for text in strings]
        self.sizes = np.fromiter(map(len, split), np.int64, len(split))
        self._offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        words = pa.array(
            [word for text in split for word in text], pa.large_string()
        ).dictionary_encode()
        owners = np.repeat(np.arange(len(split)), self.sizes)
        ordered = np.sort(
            owners * len(words.dictionary) + words.indices.to_numpy().astype(np.int64)
        )
        repeats = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
        most = int(repeats.max(initial=0)) + 1
        self._keys = ordered * most + repeats  # ascending
        self._width = len(words.dictionary) * most

    def count_common(self, left: Ids, right: Ids) -> Ids:
        """Words that string left[i] shares with string right[i]; at least one string has words."""
        counts = self.sizes[left]
        pairs = np.repeat(np.arange(len(left)), counts)
        within = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
        keys = self._keys[self._offsets[left][pairs] + within]
        wanted = keys + (right - left)[pairs] * self._width
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.bincount(pairs[self._keys[at] == wanted], minlength=len(left))


METRIC_KINDS = (
    for_short_answers(SIGNATURE, compute_exact_match),
    for_short_answers(F1_SIGNATURE, compute_token_f1),
)
