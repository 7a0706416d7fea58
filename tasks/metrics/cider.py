"""CIDEr and CIDEr-D (Vedantam, Zitnick & Parikh 2015) over document frequencies from outside.

The class that pycocoevalcap calls `Cider` computes CIDEr-D: it is the authors' `ciderD`, clipping
and length penalty included, and so is every figure reported as "CIDEr" with the COCO caption code.
`cider_d` equals it; `cider` is the paper's equations 1 to 3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from judgelake.tasks.metrics.metric import Scored, Scores, without_statistics
from judgelake.tasks.metrics.ngrams import NgramCounts, count_ngrams
from judgelake.tasks.metrics.tokens import (
    Ids,
    TokenPairs,
    TokenRows,
    cut_pairs,
    cut_rows,
    sum_references,
)

if TYPE_CHECKING:
    from judgelake.tasks.metrics.ngrams import Counts, Weights


Variant = Literal["cider", "cider_d"]
Digests = npt.NDArray[np.uint64]

# n-grams of 1 to 4 words, as in the paper
ORDER = 4
SIGMA = 6.0
"""Spread of CIDEr-D's length penalty, in bigrams."""
# CIDEr-D's factor of 10 in the paper
SCALE = 10.0


class DocumentFrequencies(NamedTuple):
    """In how many documents each n-gram stands; a document is a row's reference list."""

    digests: Digests
    """Names of the n-grams of all orders, ascending; made of their token texts, so equal in every
    process and for every vocabulary.
    """
    counts: Ids
    documents: int


def count_documents(rows: TokenRows) -> DocumentFrequencies:
    """Count n-grams by the rows whose references hold them; answers do not matter."""
    lengths = rows.measure_strings()
    weights = sum_references(rows, lengths + 1)
    documents = int((np.diff(rows.reference_offsets) > 0).sum())
    counted = []
    for ngrams, digests in _name_ngrams(rows):
        counts = np.zeros(len(digests), np.int64)
        for part in cut_rows(rows, weights):
            counts += _count_rows(rows, ngrams.counts, part)
        counted.append((digests[counts > 0], counts[counts > 0]))
    return DocumentFrequencies(*_sum_counts(counted), documents)


def compute_cider(rows: TokenRows, frequencies: DocumentFrequencies, variant: Variant) -> Scored:
    """Ten times the mean over references and orders 1 to 4 of the cosine of tf-idf vectors.

    tf is the count in the string, idf log(documents / max(1, frequency)). `cider_d` takes from the
    answer's weight of an n-gram at most the reference's, and multiplies by exp(-d² / 2 sigma²), d
    being the difference in length in bigrams. As in the authors' code the weights it clips are of
    counts, where the paper divides them by the number of n-grams; in `cider` that cancels out. The
    factor of ten, in the paper CIDEr-D's alone, the code has for both.
    """
    totals = np.zeros(len(rows.answer_ids))
    weights = _weigh_ngrams(rows, frequencies)
    norms = [np.sqrt(matrix.power(2).sum(axis=1)) for matrix in weights]
    bigrams = np.maximum(rows.measure_strings() - 1, 0)
    for pairs in cut_pairs(rows):
        cosines = [
            _compare_pairs(pairs, *vectors, variant) for vectors in zip(weights, norms, strict=True)
        ]
        similarities = np.sum(cosines, axis=0) / ORDER
        if variant == "cider_d":
            similarities *= np.exp(
                -((bigrams[pairs.answer_ids] - bigrams[pairs.reference_ids]) ** 2) / (2 * SIGMA**2)
            )
        starts = pairs.find_starts()
        totals[pairs.rows[starts]] = np.add.reduceat(similarities[pairs.places], starts)
    counts = np.diff(rows.reference_offsets)
    means = np.where(rows.find_defined(), totals / np.maximum(counts, 1), np.nan)
    return without_statistics(SCALE * means)


def _compare_pairs(pairs: TokenPairs, weights: Weights, norms: Scores, variant: Variant) -> Scores:
    """Cosine of each distinct pair, 0 where either has no n-gram of weight."""
    answers, references = weights[pairs.answer_ids], weights[pairs.reference_ids]
    shared = answers.minimum(references) if variant == "cider_d" else answers
    products: Scores = np.asarray(shared.multiply(references).sum(axis=1), np.float64)
    scales = norms[pairs.answer_ids] * norms[pairs.reference_ids]
    cosines: Scores = np.divide(products, scales, out=np.zeros_like(products), where=scales > 0)
    return cosines


def _weigh_ngrams(rows: TokenRows, frequencies: DocumentFrequencies) -> list[Weights]:
    """Count times idf, a matrix for each order."""
    counts, digests = zip(
        *((ngrams.counts, digests) for ngrams, digests in _name_ngrams(rows)), strict=True
    )
    ends = np.cumsum([len(part) for part in digests])
    weights = []
    for matrix, idf in zip(
        counts, np.split(_find_idf(np.concatenate(digests), frequencies), ends[:-1]), strict=True
    ):
        weighted = matrix.astype(np.float64)
        weighted.data *= idf[weighted.indices]
        weights.append(weighted)
    return weights


def _find_idf(digests: Digests, frequencies: DocumentFrequencies) -> Scores:
    """log(documents / max(1, frequency)) of each n-gram."""
    order = np.argsort(digests)  # in order they are found several times faster
    places = np.searchsorted(frequencies.digests, digests[order])
    known = np.append(frequencies.digests, np.uint64(0))[places] == digests[order]
    counts = np.ones(len(digests), np.int64)
    counts[order[known]] = frequencies.counts[places[known]]
    idf: Scores = np.log(max(frequencies.documents, 1)) - np.log(counts)
    return idf


def _count_rows(rows: TokenRows, counts: Counts, part: slice) -> Ids:
    """Rows of a slice that hold each n-gram in a reference."""
    from scipy.sparse import csr_array

    offsets = rows.reference_offsets[part.start : part.stop + 1]
    references = rows.reference_ids[offsets[0] : offsets[-1]]
    held = csr_array(
        (np.ones(len(references), np.int32), references, offsets - offsets[0]),
        (part.stop - part.start, counts.shape[0]),
    )
    return np.bincount((held @ counts).indices, minlength=counts.shape[1])


def _sum_counts(parts: Sequence[tuple[Digests, Ids]]) -> tuple[Digests, Ids]:
    """Each digest once, ascending, with the sum of its counts."""
    digests = np.concatenate([np.empty(0, np.uint64), *(digests for digests, _ in parts)])
    counts = np.concatenate([np.empty(0, np.int64), *(counts for _, counts in parts)])
    order = np.argsort(digests)
    ordered = digests[order]
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first], np.add.reduceat(counts[order], np.flatnonzero(first))


def _name_ngrams(rows: TokenRows) -> Iterator[tuple[NgramCounts, Digests]]:
    """The n-grams of orders 1 to 4, and a 64-bit digest of each; among 10 million the chance that
    any two share one is 3e-6.
    """
    tokens = _digest_texts(rows.vocabulary)
    digests = np.zeros(1, np.uint64)
    for ngrams in count_ngrams(rows, ORDER):
        digests = _mix_digests(digests[ngrams.prefixes], tokens[ngrams.last_tokens])
        yield ngrams, digests


def _digest_texts(texts: list[str]) -> Digests:
    joined = b"".join(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for text in texts
    )
    return np.frombuffer(joined, "<u8").astype(np.uint64)


def _mix_digests(prefixes: Digests, tokens: Digests) -> Digests:
    """A digest of prefix and token, in this order: the finaliser of SplitMix64 (Steele et al.
    2014).
    """
    mixed = prefixes * np.uint64(0x9E3779B97F4A7C15) + tokens
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
