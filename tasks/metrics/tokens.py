"""Answers and reference lists as token ids: the shape that the n-gram metrics compute on.

How a text becomes tokens is `tasks.metrics.tokenizers`; metrics on whole strings use
`tasks.metrics.pairs`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from judgelake.tasks.errors import MetricError

Ids = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.int32]
Tokenise = Callable[[Sequence[str]], list[list[str]]]

STRINGS_PER_CALL = 2_048
"""More at a time are slower: the token texts no longer fit the cache."""
TOKENS_PER_CHUNK = 4_000_000
"""What the pairs of a chunk hold, each answer counted once a reference: bounds a metric's memory to
some hundred MB.
"""


class TokenRows(NamedTuple):
    """Answers and references of n rows as token ids; equal strings share one entry."""

    tokens: Tokens
    """All distinct strings' token ids, one string after another."""
    offsets: Ids
    """(strings + 1,): string s is tokens[offsets[s] : offsets[s + 1]]."""
    answer_ids: Ids
    """(n,): string of each row's answer, -1 for a null one."""
    reference_ids: Ids
    """Strings of the references, row after row, without nulls."""
    reference_offsets: Ids
    """(n + 1,): row i's references are reference_ids[reference_offsets[i] : reference_offsets[i +
    1]].
    """
    vocabulary: list[str]
    """Token texts."""

    def measure_strings(self) -> Ids:
        """Tokens of each string."""
        return np.diff(self.offsets)

    def find_defined(self) -> npt.NDArray[np.bool_]:
        """Rows that have an answer and a reference."""
        return (self.answer_ids >= 0) & (np.diff(self.reference_offsets) > 0)


class TokenPairs(NamedTuple):
    """The (answer, reference) pairs of some defined rows, and the distinct ones among them."""

    rows: Ids
    """Row of each pair, ascending."""
    answer_ids: Ids
    """Strings of the distinct pairs."""
    reference_ids: Ids
    places: Ids
    """Distinct pair of each pair."""

    def find_starts(self) -> Ids:
        """The first pair of each row."""
        return np.flatnonzero(np.diff(self.rows, prepend=-1))


def tokenise_rows(answers: pa.Array, references: pa.ListArray, tokenise: Tokenise) -> TokenRows:
    """Encode a column of answers and the column of their reference lists; `tokenise` gets the
    distinct strings, some thousand a call.
    """
    if len(answers) != len(references):
        where = f"metrics: {len(answers)} answers and {len(references)} reference lists"
        raise MetricError(f"{where}; expected one list per answer; pass both from one table")
    flat = pa.concat_arrays(
        [column.cast(pa.large_string()) for column in (answers, references.flatten())]
    )
    encoded = flat.dictionary_encode()
    ids = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    lengths = pc.fill_null(pc.list_value_length(references), 0).to_numpy(zero_copy_only=False)
    reference_ids = ids[len(answers) :]
    known = reference_ids >= 0
    before = np.concatenate([[0], np.cumsum(known)])
    reference_offsets = before[np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])]
    tokens, offsets, vocabulary = _tokenise_strings(encoded.dictionary, tokenise)
    return TokenRows(
        tokens, offsets, ids[: len(answers)], reference_ids[known], reference_offsets, vocabulary
    )


def cut_rows(rows: TokenRows, weights: Ids) -> Iterator[slice]:
    """Slices of neighbouring rows, about TOKENS_PER_CHUNK by their weights; a row is never cut."""
    chunks = np.cumsum(weights) // TOKENS_PER_CHUNK
    starts = np.flatnonzero(np.diff(chunks, prepend=-1))
    yield from (
        slice(int(start), int(end)) for start, end in pairwise([*starts, len(rows.answer_ids)])
    )


def cut_pairs(rows: TokenRows) -> Iterator[TokenPairs]:
    """Chunks of the defined rows' pairs; a pair is compared once a chunk, however many rows hold
    it.
    """
    lengths = rows.measure_strings()
    counts = np.where(rows.answer_ids >= 0, np.diff(rows.reference_offsets), 0)
    answer_tokens = lengths[rows.answer_ids] if len(lengths) else np.zeros(len(counts), np.int64)
    for part in cut_rows(rows, counts * (answer_tokens + 1) + sum_references(rows, lengths)):
        pairs = _pair_rows(rows, part)
        if len(pairs.rows):
            yield pairs


def sum_references(rows: TokenRows, values: Ids) -> Ids:
    """By row, the sum of a value of strings over its references."""
    totals = np.concatenate([[0], np.cumsum(values[rows.reference_ids])])
    return np.diff(totals[rows.reference_offsets])


def _pair_rows(rows: TokenRows, part: slice) -> TokenPairs:
    numbers = np.arange(part.start, part.stop)
    offsets = rows.reference_offsets[part.start : part.stop + 1]
    owners = np.repeat(numbers, np.diff(offsets))
    known = rows.answer_ids[owners] >= 0
    owners, references = owners[known], rows.reference_ids[offsets[0] : offsets[-1]][known]
    width = max(len(rows.offsets) - 1, 1)
    keys, places = np.unique(rows.answer_ids[owners] * width + references, return_inverse=True)
    return TokenPairs(owners, keys // width, keys % width, places)


def _tokenise_strings(strings: pa.Array, tokenise: Tokenise) -> tuple[Tokens, Ids, list[str]]:
    """Token ids of all strings, where each string begins, and the token texts."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    tokens, lengths = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    for start in range(0, len(strings), STRINGS_PER_CALL):
        texts = strings[start : start + STRINGS_PER_CALL].to_pylist()
        split = tokenise(texts)
        if len(split) != len(texts):
            where = f"metrics: the tokenizer gave {len(split)} lists for {len(texts)} strings"
            raise MetricError(
                f"{where}; expected a list of tokens for each string, in their order; mend the "
                f"tokenizer"
            )
        lengths.append(np.fromiter(map(len, split), np.int64, len(split)))
        tokens.append(np.fromiter(map(numbers.__getitem__, chain.from_iterable(split)), np.int32))
    return np.concatenate(tokens), np.cumsum(np.concatenate(lengths)), list(numbers)
