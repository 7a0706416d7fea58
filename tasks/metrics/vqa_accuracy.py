"""VQA accuracy (Antol et al. 2015): agreement with all annotators but one, averaged over who is left out.

The string rules live in `tasks.metrics.official_normalizer`.
"""

import numpy as np
import pyarrow as pa

from tasks.metrics.official_normalizer import normalise_official, strip_official
from tasks.metrics.pairs import AnswerPairs, Ids, Scores, divide_by_row, pair_answers

SIGNATURE = "vqa_accuracy|normalizer:official|agreement:leave-one-out|single:match|version:1"
RAW_SIGNATURE = "vqa_accuracy_raw|normalizer:none|agreement:leave-one-out|single:match|version:1"

FULL_AGREEMENT = 3
"""Matches among the other annotators that make an answer fully correct."""


def compute_vqa_accuracy(answers: pa.Array, references: pa.ListArray) -> Scores:
    """Score as the official evaluation code does, see `average_left_out` for one to three references.

    The official code normalises a question only where its references differ after trimming; where all are the same, the trimmed
    strings are compared. A single reference, for which the official code gives 0, is compared normalised.
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
    return np.bincount(pairs.rows[pairs.answer_ids == pairs.reference_ids], minlength=pairs.row_count)


def average_left_out(matches: Ids, annotators: Ids) -> Scores:
    """Mean over the n annotators of min(1, matches among the others / 3), in closed form.

    With m matches: (m·min(3, m-1) + (n-m)·min(3, m)) / 3n, integers until the division, so the order of references does not show.
    As in the official code the best score of two references is 1/3, of three 2/3. One reference leaves nobody: there the score
    is the match itself, which is this project's rule.
    """
    others_agree = matches * np.minimum(FULL_AGREEMENT, matches - 1)
    thirds = others_agree + (annotators - matches) * np.minimum(FULL_AGREEMENT, matches)
    return np.where(annotators == 1, matches, divide_by_row(thirds.astype(np.float64), FULL_AGREEMENT * annotators))


def _find_disagreement(pairs: AnswerPairs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Rows whose references are not all the same."""
    first = np.zeros(pairs.row_count, dtype=np.int64)
    first[pairs.rows[::-1]] = pairs.reference_ids[::-1]
    differing = pairs.rows[pairs.reference_ids != first[pairs.rows]]
    return np.bincount(differing, minlength=pairs.row_count) > 0
