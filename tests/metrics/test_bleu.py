import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from pycocoevalcap.bleu.bleu import Bleu

from judgelake.tasks.metrics import tokens
from judgelake.tasks.metrics.bleu import (
    STATISTICS,
    Order,
    Style,
    compute_bleu,
    compute_corpus_bleu,
    count_statistics,
    score_sentences,
)
from tests.metrics.captions import (
    CAPTIONS,
    Caption,
    caption_lists,
    few_examples,
    join_tokens,
    to_coco,
    tokenise,
)

ORDERS: tuple[Order, ...] = get_args(Order)
STYLES: tuple[Style, ...] = get_args(Style)


def test_hand_arithmetic() -> None:
    # the: 4 in the answer, 2 in the first reference, so clipped to 2; with cat 3 of 5 words; "the
    # cat" is 1 of 4 bigrams
    # "there is a cat on the mat" has 7 words, the other 6: the answer's 5 are closest to 6
    rows = tokenise(
        [("the the the the cat", ["the cat is on the mat", "there is a cat on the mat"])]
    )
    statistics = count_statistics(rows, 2)
    assert dict(zip(STATISTICS, statistics[0].tolist(), strict=False)) == {
        "answer_length": 5, "reference_length": 6, "matches_1": 3, "ngrams_1": 5, "matches_2": 1, "ngrams_2": 4,
    }  # fmt: skip
    expected = math.sqrt(3 / 5 * 1 / 4) * math.exp(1 - 6 / 5)
    assert compute_bleu(rows, 2, "coco").scores == pytest.approx(
        [expected], abs=1e-8
    )  # the smoothing is about 1e-9
    assert compute_bleu(rows, 2, "sacrebleu").scores == pytest.approx([100 * expected], abs=1e-12)


def test_of_two_equally_close_reference_lengths_the_shorter_counts() -> None:
    rows = tokenise([("a b c", ["a b c d", "a b"]), ("a b c", ["a b", "a b c d"])])
    assert count_statistics(rows, 1)[:, 1].tolist() == [2, 2]


@few_examples
@given(caption_lists)
def test_coco_equals_pycocoevalcap(captions: list[Caption]) -> None:
    check_coco(captions)


def test_coco_equals_pycocoevalcap_on_captions() -> None:
    check_coco(CAPTIONS)


def check_coco(captions: Sequence[Caption]) -> None:
    corpus, sentences = Bleu(4).compute_score(*to_coco(captions), verbose=0)
    for order in ORDERS:
        scored = compute_bleu(tokenise(captions), order, "coco")
        np.testing.assert_allclose(scored.scores, sentences[order - 1], rtol=0, atol=1e-12)
        total = compute_corpus_bleu(scored.statistics.sum(axis=0), order, "coco")
        np.testing.assert_allclose(total, corpus[order - 1], rtol=0, atol=1e-12)


@few_examples
@given(caption_lists)
def test_sacrebleu_equals_sacrebleu(captions: list[Caption]) -> None:
    check_sacrebleu(captions)


def test_sacrebleu_equals_sacrebleu_on_captions() -> None:
    check_sacrebleu(CAPTIONS)


def check_sacrebleu(captions: Sequence[Caption]) -> None:
    taken = join_tokens(captions)
    width = max(len(references) for _, references in taken)
    streams: list[list[Any]] = [
        [references[i] if i < len(references) else None for _, references in taken]
        for i in range(width)
    ]
    for order in ORDERS:
        scored = compute_bleu(tokenise(taken), order, "sacrebleu")
        sentence = sacrebleu.BLEU(tokenize="none", max_ngram_order=order, effective_order=True)
        expected = [
            sentence.sentence_score(answer, references).score for answer, references in taken
        ]
        np.testing.assert_allclose(scored.scores, expected, rtol=0, atol=1e-9)
        corpus = sacrebleu.BLEU(tokenize="none", max_ngram_order=order).corpus_score(
            [answer for answer, _ in taken], streams
        )
        total = compute_corpus_bleu(scored.statistics.sum(axis=0), order, "sacrebleu")
        np.testing.assert_allclose(total, corpus.score, rtol=0, atol=1e-9)


@pytest.mark.parametrize("style", STYLES)
def test_undefined_rows_have_no_score_and_add_nothing(style: Style) -> None:
    rows = tokenise(
        [*CAPTIONS, (None, ["a cat"]), ("a cat", []), ("a cat", None), ("a cat", [None])]
    )
    scored = compute_bleu(rows, 4, style)
    assert np.isnan(scored.scores).tolist() == [False] * len(CAPTIONS) + [True] * 4
    assert not scored.statistics[len(CAPTIONS) :].any()
    np.testing.assert_array_equal(
        scored.statistics[: len(CAPTIONS)], compute_bleu(tokenise(CAPTIONS), 4, style).statistics
    )


@pytest.mark.parametrize("style", STYLES)
def test_one_count_gives_every_order_and_many_resamples(style: Style) -> None:
    rows = tokenise(CAPTIONS)
    statistics = count_statistics(rows, 4)
    assert statistics.shape == (len(CAPTIONS), len(STATISTICS))
    weights = np.random.default_rng(0).integers(0, 3, (6, len(CAPTIONS)))
    for order in ORDERS:
        alone = compute_bleu(rows, order, style)
        np.testing.assert_array_equal(alone.statistics, statistics[:, : 2 + 2 * order])
        np.testing.assert_array_equal(alone.scores, score_sentences(statistics, order, style))
        resampled = compute_corpus_bleu(weights @ statistics, order, style)
        one_by_one = [
            compute_corpus_bleu(statistics.repeat(drawn, axis=0).sum(axis=0), order, style)
            for drawn in weights
        ]
        np.testing.assert_allclose(resampled, one_by_one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("limit", [1, 40])
def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch, style: Style, limit: int) -> None:
    rows = tokenise([*CAPTIONS, (None, ["a cat"]), *CAPTIONS])
    whole = compute_bleu(rows, 4, style)
    monkeypatch.setattr(tokens, "TOKENS_PER_CHUNK", limit)
    np.testing.assert_array_equal(compute_bleu(rows, 4, style).statistics, whole.statistics)


@few_examples
@given(caption_lists)
def test_order_and_repeats_of_references_do_not_matter(captions: list[Caption]) -> None:
    turned = [(answer, [*references[::-1], references[0]]) for answer, references in captions]
    for style in STYLES:
        scores = compute_bleu(tokenise(captions), 4, style).scores
        np.testing.assert_array_equal(compute_bleu(tokenise(turned), 4, style).scores, scores)
