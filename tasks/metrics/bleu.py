"""BLEU (Papineni et al. 2002) as two packages compute it: pycocoevalcap (`coco`, in [0, 1]) and
sacrebleu (in [0, 100]).

Both count alike and differ in smoothing. Tokenisation is `tasks.metrics.tokenizers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from judgelake.tasks.metrics.metric import Scored, Scores, Statistics
from judgelake.tasks.metrics.ngrams import count_ngrams
from judgelake.tasks.metrics.tokens import Ids, TokenPairs, TokenRows, cut_pairs

if TYPE_CHECKING:
    from judgelake.tasks.metrics.ngrams import Counts


Order = Literal[1, 2, 3, 4]
Style = Literal["coco", "sacrebleu"]
Floats = npt.NDArray[np.float64]

STATISTICS = (
    "answer_length",
    "reference_length",
    *(f"{name}_{n}" for n in (1, 2, 3, 4) for name in ("matches", "ngrams")),
)
"""Columns of the statistics; BLEU-n has the first 2 + 2n of them: lengths, then clipped matches and
n-grams of each order.
"""

COCO_TINY, COCO_SMALL = 1e-15, 1e-9
"""What pycocoevalcap adds to numerators and to denominators."""


def compute_bleu(rows: TokenRows, order: Order, style: Style) -> Scored:
    """Sentence BLEU with the statistics that the corpus score is a function of."""
    statistics = count_statistics(rows, order)
    scores = score_sentences(statistics, order, style)
    return Scored(np.where(rows.find_defined(), scores, np.nan), statistics)


def count_statistics(rows: TokenRows, order: Order) -> Statistics:
    """(n, 2 + 2 * order): the first columns of STATISTICS; zeros where a row has no answer or no
    reference.

    Matches of an n-gram are clipped at the most that one reference holds. The reference length is
    the closest to the answer's, the shorter of two equally close.
    """
    statistics = np.zeros((len(rows.answer_ids), 2 + 2 * order))
    lengths = rows.measure_strings()
    counts = [ngrams.counts for ngrams in count_ngrams(rows, order)]
    for pairs in cut_pairs(rows):
        numbers = pairs.rows[pairs.find_starts()]
        answer_lengths = lengths[rows.answer_ids[numbers]]
        statistics[numbers, 0] = answer_lengths
        statistics[numbers, 1] = _find_closest(lengths, pairs)
        for n, matrix in enumerate(counts):
            statistics[numbers, 2 + 2 * n] = _count_matches(matrix, pairs)[numbers - numbers[0]]
            statistics[numbers, 3 + 2 * n] = np.maximum(answer_lengths - n, 0)
    return statistics


def score_sentences(statistics: Statistics, order: Order, style: Style) -> Scores:
    """BLEU-`order` of each row from its statistics, which may hold higher orders, too."""
    return (
        _score_coco(statistics, order)
        if style == "coco"
        else _score_sacrebleu(statistics, order, effective=True)
    )


def compute_corpus_bleu(sums: Floats, order: Order, style: Style) -> Floats:
    """Corpus BLEU from statistics summed over rows: (..., k) gives (...), so that many resamples
    are one call.
    """
    return (
        _score_coco(sums, order)
        if style == "coco"
        else _score_sacrebleu(sums, order, effective=False)
    )


def _score_coco(statistics: Floats, order: int) -> Floats:
    answers, references, matches, ngrams = _take_columns(statistics, order)
    precisions = (matches + COCO_TINY) / (ngrams + COCO_SMALL)
    ratios = (answers + COCO_TINY) / (references + COCO_SMALL)
    penalties = np.exp(np.minimum(1 - 1 / ratios, 0))
    scores: Floats = np.prod(precisions, axis=-1) ** (1 / order) * penalties
    return scores


def _score_sacrebleu(statistics: Floats, order: int, *, effective: bool) -> Floats:
    """Exponential smoothing: the k-th order without a match has precision 1 / (2^k n-grams).

    An answer too short for an order scores 0, or, with the effective order, is scored by the orders
    it has.
    """
    answers, references, matches, ngrams = _take_columns(statistics, order)
    has_ngrams = ngrams > 0
    missed = has_ngrams & (matches == 0)
    smoothed = np.where(missed, 0.5 ** np.cumsum(missed, axis=-1), matches)
    logs = np.log(100 * np.where(has_ngrams, smoothed, 0.01) / np.where(has_ngrams, ngrams, 1))
    orders = np.maximum(has_ngrams.sum(axis=-1), 1) if effective else order
    penalties = np.exp(np.minimum(1 - references / np.maximum(answers, 1), 0))
    scored = (matches > 0).any(axis=-1) & (effective | has_ngrams.all(axis=-1))
    return np.where(scored, penalties * np.exp(logs.sum(axis=-1) / orders), 0.0)


def _take_columns(statistics: Floats, order: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Answer lengths, reference lengths, and by order matches and n-grams."""
    last = 2 + 2 * order
    return (
        statistics[..., 0],
        statistics[..., 1],
        statistics[..., 2:last:2],
        statistics[..., 3:last:2],
    )


def _find_closest(lengths: Ids, pairs: TokenPairs) -> Ids:
    """By row, the reference length closest to the answer's."""
    answers, references = lengths[pairs.answer_ids], lengths[pairs.reference_ids]
    width = int(lengths.max()) + 1
    ranks = np.abs(answers - references) * width + references
    closest: Ids = np.minimum.reduceat(ranks[pairs.places], pairs.find_starts()) % width
    return closest


def _count_matches(counts: Counts, pairs: TokenPairs) -> Floats:
    """By row from the first to the last of the pairs, the n-grams of the answer that stand in a
    reference, clipped.
    """
    shared = counts[pairs.answer_ids].minimum(counts[pairs.reference_ids])[pairs.places]
    rows = np.repeat(pairs.rows - pairs.rows[0], np.diff(shared.indptr))
    keys = rows * shared.shape[1] + shared.indices
    order = np.argsort(keys)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    most = np.maximum.reduceat(shared.data[order], starts) if len(starts) else shared.data
    return np.bincount(rows[order][starts], most, int(pairs.rows[-1] - pairs.rows[0]) + 1).astype(
        np.float64
    )
