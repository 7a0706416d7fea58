import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocoevalcap.cider.cider import Cider

from judgelake.tasks.metrics import tokens
from judgelake.tasks.metrics.cider import (
    DocumentFrequencies,
    Variant,
    compute_cider,
    count_documents,
)
from judgelake.tasks.metrics.pairs import Scores
from tests.metrics.captions import CAPTIONS, Caption, caption_lists, few_examples, to_coco, tokenise

VARIANTS: tuple[Variant, ...] = get_args(Variant)


def score(
    captions: Sequence[Caption], variant: Variant, documents: Sequence[Caption] | None = None
) -> Scores:
    """Scores with the frequencies of the captions themselves, or of other documents."""
    frequencies = count_documents(tokenise(captions if documents is None else documents))
    return compute_cider(tokenise(captions), frequencies, variant).scores


def test_hand_arithmetic() -> None:
    # two documents, every n-gram in one of them or in none: all idf are log 2, which cancels out
    # row 1: cosine 1 for words and bigrams, no longer n-grams: 10 * (1 + 1) / 4; row 2: one of two
    # words: 10 * 1/2 / 4
    captions = [("cat sits", ["cat sits"]), ("dog runs", ["dog barks"])]
    for variant in VARIANTS:
        assert score(captions, variant) == pytest.approx([5.0, 1.25], abs=1e-14)
    # an n-gram that all documents hold has no weight
    assert score([("a cat", ["a cat"]), ("a cat", ["a dog"])], "cider")[1] == 0.0


def test_clipping_and_length_penalty_are_what_sets_cider_d_apart() -> None:
    # (dog, 2 times) and (dog, once) point the same way: cosine 1; clipped 1 * 1 / (2 * 1); one
    # bigram and none: exp(-1 / 72)
    captions = [("dog dog", ["dog"]), ("cat", ["cat"])]
    assert score(captions, "cider") == pytest.approx([10 / 4, 10 / 4], abs=1e-14)
    assert score(captions, "cider_d") == pytest.approx(
        [10 / 4 / 2 * math.exp(-1 / 72), 10 / 4], abs=1e-14
    )


@few_examples
@given(caption_lists)
def test_cider_d_equals_pycocoevalcap(captions: list[Caption]) -> None:
    check_cider_d(captions)


def test_cider_d_equals_pycocoevalcap_on_captions() -> None:
    check_cider_d(CAPTIONS)


def check_cider_d(captions: Sequence[Caption]) -> None:
    padded = [*captions, ("one", ["one"])]  # pycocoevalcap fails where no reference has a word
    _, expected = Cider().compute_score(*to_coco(padded))
    np.testing.assert_allclose(score(padded, "cider_d"), expected, rtol=0, atol=1e-12)


@few_examples
@given(caption_lists)
def test_cider_equals_the_papers_equations(captions: list[Caption]) -> None:
    np.testing.assert_allclose(
        score(captions, "cider"), score_by_paper(captions), rtol=0, atol=1e-12
    )


def score_by_paper(captions: Sequence[Caption]) -> list[float]:
    """Equations 1 to 3, the term frequency divided by the number of n-grams as there, times ten."""
    documents = [
        {gram for text in references for n in (1, 2, 3, 4) for gram in count_grams(text, n)}
        for _, references in captions
    ]
    held = Counter(gram for document in documents for gram in document)

    def weigh(text: str, n: int) -> dict[tuple[str, ...], float]:
        grams = count_grams(text, n)
        return {
            gram: count / sum(grams.values()) * math.log(len(captions) / max(1, held[gram]))
            for gram, count in grams.items()
        }

    return [
        10
        * float(
            np.mean(
                [
                    cosine(weigh(answer, n), weigh(text, n))
                    for n in (1, 2, 3, 4)
                    for text in references
                ]
            )
        )
        for answer, references in captions
    ]


def count_grams(text: str, n: int) -> Counter[tuple[str, ...]]:
    words = text.split()
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def cosine(left: dict[tuple[str, ...], float], right: dict[tuple[str, ...], float]) -> float:
    scale = math.hypot(*left.values()) * math.hypot(*right.values())
    return (
        sum(weight * right.get(gram, 0) for gram, weight in left.items()) / scale if scale else 0.0
    )


@few_examples
@given(st.lists(st.permutations("abcdef"), min_size=2, max_size=6))
def test_both_variants_agree_where_lengths_are_the_same_and_nothing_repeats(
    drawn: list[list[str]],
) -> None:
    captions = [(" ".join(answer), [" ".join(text)]) for answer, text in pairwise(drawn)]
    np.testing.assert_allclose(
        score(captions, "cider_d"), score(captions, "cider"), rtol=0, atol=1e-12
    )


@few_examples
@given(caption_lists, st.integers(0, 6))
def test_shards_scored_by_the_whole_corpus_have_its_scores(
    captions: list[Caption], cut: int
) -> None:
    whole = count_documents(tokenise(captions))
    assert whole.documents == len(captions)
    assert read_counts(whole) == read_counts(
        count_documents(tokenise(captions[cut:] + captions[:cut]))
    )  # another vocabulary's order
    for variant in VARIANTS:
        scores = [
            compute_cider(tokenise(shard), whole, variant).scores
            for shard in (captions[:cut], captions[cut:])
        ]
        np.testing.assert_allclose(
            np.concatenate(scores), score(captions, variant), rtol=0, atol=1e-12
        )


def read_counts(frequencies: DocumentFrequencies) -> dict[int, int]:
    counts = dict(zip(frequencies.digests.tolist(), frequencies.counts.tolist(), strict=True))
    assert len(counts) == len(frequencies.digests)
    return counts


def test_documents_are_counted_by_hand() -> None:
    rows = tokenise(
        [("z", ["a b", "a"]), (None, ["b b"]), ("a b", []), ("a b", None), ("a b", [None])]
    )
    frequencies = count_documents(rows)
    assert (
        frequencies.documents == 2
    )  # a row is one by its references, whether it has an answer or not
    assert sorted(frequencies.counts.tolist()) == [1, 1, 1, 2]  # a, "a b", "b b"; b
    assert frequencies.digests.dtype == np.uint64


def test_digests_name_the_text_and_the_order_of_an_ngram() -> None:
    def name(*texts: str) -> set[int]:
        return set(count_documents(tokenise([("", [text]) for text in texts])).digests.tolist())

    assert name("a b") == name("b c", "a b") - name("b c") | name("b")
    assert len(name("a b", "b a", "ab", "a b")) == 5  # a, b, "a b", "b a", ab


def test_frequencies_of_another_corpus() -> None:
    # 8 documents, 2 of them with "cat", none with "dog": idf log 4 and log 8
    documents = [("", ["cat"])] * 2 + [("", ["bird"])] * 6
    cat, dog = math.log(4), math.log(8)
    expected = 10 / 4 * cat * cat / (math.hypot(cat, dog) * cat)
    assert score([("dog cat", ["cat"])], "cider", documents) == pytest.approx([expected], abs=1e-14)
    assert score([("cat", ["cat"])], "cider", []) == [0.0]  # no documents, no weight


@pytest.mark.parametrize("variant", VARIANTS)
def test_undefined_rows_have_no_score_and_chunks_do_not_show(
    monkeypatch: pytest.MonkeyPatch, variant: Variant
) -> None:
    rows = tokenise([*CAPTIONS, (None, ["a"]), ("a", []), ("a", None), ("a", [None]), *CAPTIONS])
    whole = compute_cider(rows, count_documents(rows), variant)
    assert np.flatnonzero(np.isnan(whole.scores)).tolist() == [len(CAPTIONS) + i for i in range(4)]
    assert whole.statistics.shape == (len(whole.scores), 0)
    monkeypatch.setattr(tokens, "TOKENS_PER_CHUNK", 25)
    np.testing.assert_array_equal(
        compute_cider(rows, count_documents(rows), variant).scores, whole.scores
    )
