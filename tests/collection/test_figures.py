"""Figures on rubrics beside hand arithmetic."""

import numpy as np
import pytest

from judgelake.tasks.collection.figures import count_overlaps, find_highest
from judgelake.tasks.collection.seeds import load_seeds
from judgelake.tasks.collection.sentiment import measure_sentiment


def test_each_pair_is_counted_once() -> None:
    # ROUGE-L: (a b, a b) 1, (a b, a c) 2 * 1 / 4 = .5, twice; .5 falls into the bin from .5 on
    counts, total = count_overlaps(["a b", "a b", "a c"], None)
    assert total == pytest.approx(1 + 0.5 + 0.5)
    assert counts.sum() == 3
    assert counts[10] == 2
    assert counts[19] == 1


def test_pairs_with_others_and_the_highest_of_each() -> None:
    counts, total = count_overlaps(["a b"], ["a c", "d"])
    assert (counts.sum(), total) == (2, 0.5)
    np.testing.assert_allclose(find_highest(["a b", "d e"], ["a c", "d e", "f"]), [0.5, 1, 0])


def test_blocks_join_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"word{n % 7} word{n % 5} word{n % 3}" for n in range(50)]
    whole = count_overlaps(texts, None)
    highest = find_highest(texts, texts[:9])
    monkeypatch.setattr("judgelake.tasks.collection.figures._BLOCK", 8)
    parts = count_overlaps(texts, None)
    np.testing.assert_array_equal(whole[0], parts[0])
    assert whole[1] == pytest.approx(parts[1])
    np.testing.assert_array_equal(highest, find_highest(texts, texts[:9]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The colours are right and clear.", 1.0),
        ("The colours are wrong.", -1.0),
        ("The colours are not right.", -1.0),
        ("It invents nothing that is clear.", -1 / 3),  # two bad words, one good
        ("It has a colour.", 0.0),
        ("It is mostly right.", 0.5),  # 1.5 good, .5 bad
    ],
)
def test_sentiment_of_a_description(text: str, expected: float) -> None:
    assert measure_sentiment(text) == pytest.approx(expected)


def test_the_seeds_rise_from_score_to_score() -> None:
    every = [one for kind in load_seeds(None).of_kind.values() for one in kind.values()]
    levels = np.array([[measure_sentiment(text) for text in one.rubric.levels] for one in every])
    means = levels.mean(axis=0)
    assert means[0] < 0 < means[4]
    assert means[0] == means.min()
    assert means[4] >= means[1:4].max() - 0.1
