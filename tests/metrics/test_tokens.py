from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics import tokens
from judgelake.tasks.metrics.tokens import TokenRows, cut_pairs, tokenise_rows
from tests.metrics.captions import (
    CAPTIONS,
    Caption,
    caption_lists,
    few_examples,
    split_texts,
    tokenise,
)


def test_equal_strings_and_equal_tokens_share_their_numbers() -> None:
    rows = tokenise([("a cat", ["a dog", "a cat"]), ("a dog", ["a cat"])])
    assert rows.vocabulary == ["a", "cat", "dog"]
    assert rows.tokens.tolist() == [0, 1, 0, 2]
    assert rows.offsets.tolist() == [0, 2, 4]
    assert rows.answer_ids.tolist() == [0, 1]
    assert rows.reference_ids.tolist() == [1, 0, 0]
    assert rows.reference_offsets.tolist() == [0, 2, 3]
    assert [str(column.dtype) for column in rows[:5]] == ["int32", *["int64"] * 4]


def test_nulls_are_no_strings() -> None:
    rows = tokenise(
        [(None, ["a"]), ("b", None), ("b", [None, "c", None]), ("b", []), ("b", [None])]
    )
    assert rows.answer_ids.tolist()[0] == -1
    assert np.diff(rows.reference_offsets).tolist() == [1, 0, 1, 0, 0]
    assert [rows.vocabulary[i] for i in rows.tokens] == ["b", "a", "c"]
    assert rows.find_defined().tolist() == [False, False, True, False, False]


@few_examples
@given(caption_lists)
def test_the_texts_can_be_read_back(captions: list[Caption]) -> None:
    rows = tokenise(captions)
    assert [read_text(rows, i) for i in rows.answer_ids] == [
        answer.split() for answer, _ in captions
    ]
    assert [read_text(rows, i) for i in rows.reference_ids] == [
        text.split() for _, references in captions for text in references
    ]


def read_text(rows: TokenRows, string: int) -> list[str]:
    return [
        rows.vocabulary[i] for i in rows.tokens[rows.offsets[string] : rows.offsets[string + 1]]
    ]


def test_a_slice_of_a_column_and_large_types_are_read_alike() -> None:
    answers = pa.array([answer for answer, _ in CAPTIONS])
    references = pa.array([references for _, references in CAPTIONS])
    whole = tokenise(CAPTIONS[2:5])
    sliced = tokenise_rows(answers[2:5], references[2:5], split_texts)
    large = tokenise_rows(
        answers[2:5].cast(pa.large_string()),
        references[2:5].cast(pa.large_list(pa.large_string())),
        split_texts,
    )
    for rows in (sliced, large):
        assert_same(rows, whole)


def assert_same(rows: TokenRows, expected: TokenRows) -> None:
    for name in TokenRows._fields:
        np.testing.assert_array_equal(getattr(rows, name), getattr(expected, name))


def test_each_distinct_string_is_tokenised_once_in_calls_of_limited_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokens, "STRINGS_PER_CALL", 4)
    calls: list[Sequence[str]] = []

    def record(texts: Sequence[str]) -> list[list[str]]:
        calls.append(texts)
        return split_texts(texts)

    answers, references = zip(*CAPTIONS, strict=True)
    rows = tokenise_rows(pa.array(answers), pa.array(references), record)
    seen = [text for call in calls for text in call]
    assert sorted(seen) == sorted({*answers, *(text for texts in references for text in texts)})
    assert max(map(len, calls)) == 4
    monkeypatch.undo()
    assert_same(rows, tokenise(CAPTIONS))


def test_columns_of_different_length_and_a_tokenizer_that_loses_strings_are_refused() -> None:
    with pytest.raises(MetricError, match="2 answers and 1 reference lists"):
        tokenise_rows(pa.array(["a", "b"]), pa.array([["a"]]), split_texts)
    with pytest.raises(MetricError, match="gave 1 lists for 2 strings"):
        tokenise_rows(pa.array(["a"]), pa.array([["b"]]), lambda texts: split_texts(texts)[:1])


def test_pairs_name_the_distinct_ones_and_leave_out_undefined_rows() -> None:
    (pairs,) = cut_pairs(tokenise([("a", ["b", "b", "c"]), (None, ["b"]), ("a", ["b"]), ("a", [])]))
    assert pairs.rows.tolist() == [0, 0, 0, 2]
    assert pairs.find_starts().tolist() == [0, 3]
    assert (pairs.answer_ids.tolist(), pairs.reference_ids.tolist()) == ([0, 0], [1, 2])
    assert pairs.places.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("limit", [1, 7, 30])
def test_chunks_hold_every_pair_once_and_whole_rows(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    rows = tokenise([*CAPTIONS, (None, ["a"]), ("a", [])])
    (whole,) = cut_pairs(rows)
    monkeypatch.setattr(tokens, "TOKENS_PER_CHUNK", limit)
    chunks = list(cut_pairs(rows))
    assert len(chunks) > 1
    assert np.array_equal(np.concatenate([chunk.rows for chunk in chunks]), whole.rows)
    for side in ("answer_ids", "reference_ids"):
        parts = [getattr(chunk, side)[chunk.places] for chunk in chunks]
        assert np.array_equal(np.concatenate(parts), getattr(whole, side)[whole.places])
    assert all(last.rows[-1] < first.rows[0] for last, first in pairwise(chunks))
