import math
from collections.abc import Sequence
from itertools import combinations
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from pycocoevalcap.rouge.rouge import Rouge
from rouge_score.rouge_scorer import RougeScorer

from judgelake.tasks.metrics import rouge, tokens
from judgelake.tasks.metrics.rouge import Style, compute_rouge_1, compute_rouge_l
from tests.metrics.captions import CAPTIONS, Caption, caption_lists, few_examples, to_coco, tokenise

STYLES: tuple[Style, ...] = get_args(Style)


class SplitTokenizer:
    def tokenize(self, text: str) -> list[str]:
        return text.split()


def test_hand_arithmetic() -> None:
    # "a cat sat" in 5 and 4 words: P = 3/5, R = 3/4; the other reference: "a" of 1 word gives R =
    # 1, P = 1/5
    rows = tokenise([("a b cat sat c", ["a cat sat down", "a"])])
    assert compute_rouge_l(rows, "rouge_score").scores == pytest.approx([2 * 3 / 9], abs=1e-15)
    precision, recall = 3 / 5, 1.0
    expected = (1 + 1.44) * precision * recall / (recall + 1.44 * precision)
    assert compute_rouge_l(rows, "coco").scores == pytest.approx([expected], abs=1e-15)
    # words in another order: all three in common, but a common subsequence of two
    turned = tokenise([("x y z", ["z x y"])])
    assert (
        compute_rouge_1(turned, "coco").scores.tolist()
        == compute_rouge_1(turned, "rouge_score").scores.tolist()
        == [1]
    )
    assert compute_rouge_l(turned, "rouge_score").scores == pytest.approx([2 / 3], abs=1e-15)
    # a word counts as often as both have it: 2 of 4 and 2 of 3
    repeated = tokenise([("x x x y", ["x x z"])])
    assert compute_rouge_1(repeated, "rouge_score").scores == pytest.approx([2 * 2 / 7], abs=1e-15)
    expected = (1 + 1.44) * (2 / 4) * (2 / 3) / (2 / 3 + 1.44 * (2 / 4))
    assert compute_rouge_1(repeated, "coco").scores == pytest.approx([expected], abs=1e-15)


@few_examples
@given(caption_lists)
def test_coco_equals_pycocoevalcap(captions: list[Caption]) -> None:
    check_coco(captions)


def test_coco_equals_pycocoevalcap_on_captions() -> None:
    check_coco(CAPTIONS)


def check_coco(captions: Sequence[Caption]) -> None:
    _, expected = Rouge().compute_score(*to_coco(captions))
    np.testing.assert_allclose(
        compute_rouge_l(tokenise(captions), "coco").scores, expected, rtol=0, atol=1e-12
    )


@few_examples
@given(caption_lists)
def test_rouge_score_equals_rouge_score(captions: list[Caption]) -> None:
    check_rouge_score(captions)


def test_rouge_score_equals_rouge_score_on_captions() -> None:
    check_rouge_score(CAPTIONS)


def check_rouge_score(captions: Sequence[Caption]) -> None:
    scorer = RougeScorer(["rouge1", "rougeL"], tokenizer=SplitTokenizer())
    expected = [scorer.score_multi(references, answer) for answer, references in captions]
    for name, compute in (("rouge1", compute_rouge_1), ("rougeL", compute_rouge_l)):
        scores = compute(tokenise(captions), "rouge_score").scores
        np.testing.assert_allclose(
            scores, [row[name].fmeasure for row in expected], rtol=0, atol=1e-9
        )


def test_texts_longer_than_a_machine_word() -> None:
    drawn = np.random.default_rng(3).integers(0, 5, (2, 300))
    answer, reference = (" ".join(map(str, side)) for side in drawn)
    check_coco([(answer, [reference])])


@few_examples
@given(caption_lists)
def test_coco_rouge_1_is_rouge_l_where_all_words_stand_in_one_order(
    captions: list[Caption],
) -> None:
    ordered = [
        (sort_words(answer), [sort_words(text) for text in references])
        for answer, references in captions
    ]
    rows = tokenise(ordered)
    np.testing.assert_array_equal(
        compute_rouge_1(rows, "coco").scores, compute_rouge_l(rows, "coco").scores
    )


def sort_words(text: str) -> str:
    return " ".join(sorted(text.split()))


def test_a_vocabulary_larger_than_the_code_points_is_compared_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = tokenise(
        [*CAPTIONS, *((answer, [other]) for (answer, _), (other, _) in combinations(CAPTIONS, 2))]
    )
    expected = compute_rouge_l(rows, "coco").scores
    monkeypatch.setattr(rouge, "CODE_POINTS", 5)
    np.testing.assert_array_equal(compute_rouge_l(rows, "coco").scores, expected)


def test_words_numbered_like_halves_of_a_surrogate_pair_are_words() -> None:
    many = " ".join(
        f"w{i}" for i in range(0xD7FF)
    )  # the next words have the numbers d7ff, d800, d801 ... dc00 ...
    rest = [f"v{i}" for i in range(0x900)]
    rows = tokenise(
        [(many, ["w1"]), (" ".join(rest), [" ".join(rest[1::2]), " ".join(rest[::-1])])]
    )
    assert compute_rouge_l(rows, "rouge_score").scores[1] == pytest.approx(
        2 / 3, abs=1e-15
    )  # half of the words: P = 1/2, R = 1


@pytest.mark.parametrize("style", STYLES)
def test_undefined_rows_have_no_score(style: Style) -> None:
    rows = tokenise([(None, ["a"]), ("a", []), ("a", None), ("a", [None]), ("a", [None, "a"])])
    for compute in (compute_rouge_1, compute_rouge_l):
        scored = compute(rows, style)
        assert scored.scores == pytest.approx([math.nan] * 4 + [1.0], nan_ok=True)
        assert scored.statistics.shape == (5, 0)


@pytest.mark.parametrize("style", STYLES)
def test_chunks_and_order_do_not_show(monkeypatch: pytest.MonkeyPatch, style: Style) -> None:
    turned = [(answer, references[::-1]) for answer, references in CAPTIONS]
    for compute in (compute_rouge_1, compute_rouge_l):
        expected = compute(tokenise(CAPTIONS), style).scores
        np.testing.assert_array_equal(compute(tokenise(turned), style).scores, expected)
        with monkeypatch.context() as patch:
            patch.setattr(tokens, "TOKENS_PER_CHUNK", 25)
            np.testing.assert_array_equal(compute(tokenise(CAPTIONS), style).scores, expected)
