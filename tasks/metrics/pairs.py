"""Answers and reference lists as integers: the shape that every reference metric computes on.

Equal strings share one id, so a metric looks at each distinct string once. What is done with the
strings belongs to the metrics.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from judgelake.tasks.errors import MetricError

Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


class AnswerPairs(NamedTuple):
    """Every reference beside its answer, row after row; a null answer, a null list and a null
    reference give no pair.
    """

    strings: list[str]
    """The distinct strings; ids point into it."""
    rows: Ids
    """Row of each pair, ascending."""
    answer_ids: Ids
    reference_ids: Ids
    row_count: int

    def count_by_row(self) -> Ids:
        """Pairs a row has; a score is undefined where there are none."""
        return np.bincount(self.rows, minlength=self.row_count)

    def renumber(self, strings: list[str]) -> "AnswerPairs":
        """Put `strings[i]` in the place of string i; strings that became equal share one id."""
        encoded = pa.array(strings, pa.large_string()).dictionary_encode()
        ids = encoded.indices.to_numpy().astype(np.int64)
        return self._replace(
            strings=_to_list(encoded.dictionary),
            answer_ids=ids[self.answer_ids],
            reference_ids=ids[self.reference_ids],
        )


def pair_answers(answers: pa.Array, references: pa.ListArray) -> AnswerPairs:
    """Encode a column of answers and the column of their reference lists."""
    if len(answers) != len(references):
        where = f"metrics: {len(answers)} answers and {len(references)} reference lists"
        raise MetricError(f"{where}; expected one list per answer; pass both from one table")
    counts = pc.fill_null(pc.list_value_length(references), 0).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(answers), dtype=np.int64), counts)
    flat = pa.concat_arrays([_plain(answers), _plain(references.flatten())])
    encoded = flat.dictionary_encode()
    ids = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    answer_ids, reference_ids = ids[: len(answers)][rows], ids[len(answers) :]
    known = (answer_ids >= 0) & (reference_ids >= 0)
    return AnswerPairs(
        _to_list(encoded.dictionary),
        rows[known],
        answer_ids[known],
        reference_ids[known],
        len(answers),
    )


def find_distinct(pairs: AnswerPairs) -> tuple[Ids, Ids, Ids]:
    """Answer ids and reference ids of the distinct pairs, and for each pair the place of its
    distinct one.
    """
    width = max(len(pairs.strings), 1)
    keys, places = np.unique(pairs.answer_ids * width + pairs.reference_ids, return_inverse=True)
    return keys // width, keys % width, places


def divide_by_row(sums: Scores, counts: Ids) -> Scores:
    """Means by row, NaN where a row has no pair."""
    means = np.full(len(counts), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _plain(column: pa.Array) -> pa.Array:
    """One array of 64-bit offsets, whatever string type a reader chose."""
    return column.cast(pa.large_string())


def _to_list(strings: pa.Array) -> list[str]:
    values: list[str] = strings.to_numpy(zero_copy_only=False).tolist()
    return values
