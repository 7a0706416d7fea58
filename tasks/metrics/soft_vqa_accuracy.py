"""Soft VQA accuracy (PromptCap, Hu et al. 2022): VQA accuracy with an edit distance in the place of equality."""

import numpy as np
import pyarrow as pa
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from tasks.metrics.pairs import AnswerPairs, Scores, divide_by_row, find_distinct, pair_answers

SIGNATURE = "soft_vqa_accuracy|normalizer:none|distance:cer|references:best-3-mean|version:1"

BEST_REFERENCES = 3


def compute_soft_vqa_accuracy(answers: pa.Array, references: pa.ListArray) -> Scores:
    """Score the mean of max(0, 1 - CER) over the three references that fit best, or over those there are."""
    pairs = pair_answers(answers, references)
    sums = _sum_best(pairs, compare_characters(pairs))
    counts = np.minimum(pairs.count_by_row(), BEST_REFERENCES)
    return divide_by_row(sums, counts)


def compare_characters(pairs: AnswerPairs) -> Scores:
    """Similarity max(0, 1 - CER) of each pair; CER is the Levenshtein distance per character (code point) of the reference.

    An empty reference has no length to divide by: its CER is 0 beside an empty answer, else 1.
    """
    answer_ids, reference_ids, places = find_distinct(pairs)
    strings = np.array(pairs.strings, dtype=object)
    distances = cpdist(strings[answer_ids], strings[reference_ids], scorer=Levenshtein.distance, dtype=np.int64)
    lengths = np.fromiter(map(len, pairs.strings), dtype=np.int64, count=len(pairs.strings))[reference_ids]
    return np.maximum(0.0, 1.0 - distances / np.maximum(lengths, 1))[places]


def _sum_best(pairs: AnswerPairs, similarities: Scores) -> Scores:
    """Sum of the best similarities of each row."""
    order = np.lexsort((-similarities, pairs.rows))
    rows = pairs.rows[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
    best = ranks < BEST_REFERENCES
    return np.bincount(rows[best], similarities[order][best], pairs.row_count).astype(np.float64)
