"""ROUGE-1 and ROUGE-L (Lin 2004) as pycocoevalcap (`coco`) and as rouge_score compute them.

Tokenisation, with or without a stemmer, is `tasks.metrics.tokenizers`.
"""

from array import array
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cpdist

from judgelake.tasks.metrics.metric import Scored, Scores, without_statistics
from judgelake.tasks.metrics.ngrams import count_ngrams
from judgelake.tasks.metrics.tokens import Ids, TokenPairs, TokenRows, cut_pairs

Style = Literal["coco", "rouge_score"]
Numbers = npt.NDArray[np.number[Any]]
Measure = Callable[[TokenPairs], Ids]
"""Tokens that answer and reference of each distinct pair have in common."""

# beta of ROUGE-L in COCO's caption evaluation
COCO_BETA = 1.2
CODE_POINTS = 0x110000
"""Characters there are."""


def compute_rouge_l(rows: TokenRows, style: Style) -> Scored:
    """ROUGE-L, from the longest common subsequence."""
    sequence = _spell_tokens(rows)
    return _score_rows(
        rows, style, lambda pairs: _measure_subsequences(sequence, rows.offsets, pairs)
    )


def compute_rouge_1(rows: TokenRows, style: Style) -> Scored:
    """ROUGE-1, from the words in common, each as often as both have it; the `coco` style applies
    pycocoevalcap's rule for ROUGE-L.
    """
    counts = next(count_ngrams(rows, 1)).counts

    def measure_words(pairs: TokenPairs) -> Ids:
        return np.asarray(counts[pairs.answer_ids].minimum(counts[pairs.reference_ids]).sum(axis=1))

    return _score_rows(rows, style, measure_words)


def _score_rows(rows: TokenRows, style: Style, measure: Measure) -> Scored:
    scores = np.full(len(rows.answer_ids), np.nan)
    lengths = rows.measure_strings()
    combine = _combine_coco if style == "coco" else _combine_rouge_score
    for pairs in cut_pairs(rows):
        starts = pairs.find_starts()
        scores[pairs.rows[starts]] = combine(measure(pairs), lengths, pairs, starts)
    return without_statistics(scores)


def _combine_coco(common: Ids, lengths: Ids, pairs: TokenPairs, starts: Ids) -> Scores:
    """(1 + b²) P R / (R + b² P) with b = 1.2, P the best precision and R the best recall over the
    references.

    Splitting at blanks makes of an empty text one empty word there, which equals the other text's.
    """
    answers, references = lengths[pairs.answer_ids], lengths[pairs.reference_ids]
    common = common + ((answers == 0) & (references == 0))
    precision = np.maximum.reduceat((common / np.maximum(answers, 1))[pairs.places], starts)
    recall = np.maximum.reduceat((common / np.maximum(references, 1))[pairs.places], starts)
    weight = COCO_BETA**2
    return _divide((1 + weight) * precision * recall, recall + weight * precision)


def _combine_rouge_score(common: Ids, lengths: Ids, pairs: TokenPairs, starts: Ids) -> Scores:
    """The best F1 over the references, 2 c / (a + r); 0 where answer or reference is empty."""
    f1 = _divide(2.0 * common, lengths[pairs.answer_ids] + lengths[pairs.reference_ids])
    best: Scores = np.maximum.reduceat(f1[pairs.places], starts)
    return best


def _spell_tokens(rows: TokenRows) -> "str | array[int]":
    """All strings' tokens as one sequence: a character a token where there are enough of them,
    which rapidfuzz compares fastest.
    """
    if len(rows.vocabulary) > CODE_POINTS:
        return array("i", rows.tokens.tobytes())
    return rows.tokens.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _measure_subsequences(sequence: "str | array[int]", offsets: Ids, pairs: TokenPairs) -> Ids:
    """Length of the longest common subsequence of each distinct pair, by rapidfuzz's bit-parallel
    kernel.
    """
    used, places = np.unique(
        np.concatenate([pairs.answer_ids, pairs.reference_ids]), return_inverse=True
    )
    texts = [
        sequence[start:end]
        for start, end in zip(offsets[used].tolist(), offsets[used + 1].tolist(), strict=True)
    ]
    answers, references = ([texts[i] for i in side] for side in np.split(places, 2))
    return cpdist(answers, references, scorer=LCSseq.similarity, dtype=np.int64)


def _divide(numerators: Numbers, denominators: Numbers) -> Scores:
    """Quotients, 0 where the denominator is."""
    quotients: Scores = np.divide(
        numerators, denominators, out=np.zeros(len(numerators)), where=denominators > 0
    )
    return quotients
