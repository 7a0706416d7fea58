"""How often each n-gram stands in each string, as sparse matrices. What a metric makes of the
counts is its own file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from judgelake.tasks.metrics.tokens import Ids, TokenRows, Tokens

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Counts = csr_array[np.int32, tuple[int, int]]
    Weights = csr_array[np.float64, tuple[int, int]]


class NgramCounts(NamedTuple):
    """The distinct n-grams of one order: n-gram g is n-gram `prefixes[g]` of the order below and
    then token `last_tokens[g]`.
    """

    counts: Counts
    """(strings, n-grams); n-grams ascending within a string, each once."""
    prefixes: Ids
    """Of order 1, all 0: the empty n-gram."""
    last_tokens: Ids


def count_ngrams(rows: TokenRows, order: int) -> Iterator[NgramCounts]:
    """Count n-grams of orders 1 to `order`."""
    lengths, positions, grams = rows.measure_strings(), np.arange(len(rows.tokens)), rows.tokens
    n_tokens = len(rows.vocabulary)
    yield NgramCounts(
        _build_counts(grams, lengths, n_tokens), np.zeros(n_tokens, np.int64), np.arange(n_tokens)
    )
    for n in range(2, order + 1):
        inner = np.ones(len(grams), np.bool_)
        inner[np.cumsum(lengths)[lengths > 0] - 1] = (
            False  # the last n-gram of a string goes on in no other
        )
        positions, lengths = positions[inner], np.maximum(lengths - 1, 0)
        keys = grams[inner].astype(np.int64) << 32 | rows.tokens[positions + n - 1]
        encoded = pa.array(keys).dictionary_encode()
        grams, distinct = encoded.indices.to_numpy(), encoded.dictionary.to_numpy()
        yield NgramCounts(
            _build_counts(grams, lengths, len(distinct)), distinct >> 32, distinct & 0xFFFFFFFF
        )


def _build_counts(grams: Tokens, lengths: Ids, n_grams: int) -> Counts:
    """Counts from the n-grams of all strings, one string after another."""
    from scipy.sparse import csr_array

    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ones = np.ones(len(grams), np.int32)
    counts = csr_array(
        (ones, grams.copy(), offsets), shape=(len(lengths), n_grams)
    )  # copied: they are sorted in place
    counts.sum_duplicates()
    return counts
