"""Weights of a jury: the best of all on a grid, planted ones recovered, and no fit that saw its own
fold.
"""

import itertools

import numpy as np
import pytest

from judgelake.tasks.stats.jury_weights import cross_fit, fit_weights


@pytest.mark.parametrize("seed", range(4))
def test_no_weights_on_a_grid_are_closer_to_the_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.0, 0.25, 0.5, 1.0], (30, 3))
    labels = rng.choice([0.0, 1.0], 30)
    weights = fit_weights(scores, labels)
    assert weights.sum() == pytest.approx(1.0)
    assert weights.min() >= 0
    steps = np.linspace(0, 1, 41)
    distances = [
        ((scores @ np.array([a, b, 1 - a - b]) - labels) ** 2).sum()
        for a, b in itertools.product(steps, steps)
        if a + b <= 1
    ]
    assert ((scores @ weights - labels) ** 2).sum() <= min(distances) + 1e-9


def test_planted_weights_are_recovered() -> None:
    scores = np.random.default_rng(1).random((200, 3))
    planted = np.array([0.6, 0.4, 0.0])
    assert fit_weights(scores, scores @ planted) == pytest.approx(planted, abs=1e-9)


def test_a_member_against_the_labels_weighs_nothing() -> None:
    labels = np.array([0.0, 1.0] * 20)
    found = fit_weights(np.column_stack([labels, 1 - labels]), labels)
    assert found == pytest.approx([1.0, 0.0])


def test_the_weights_of_a_fold_do_not_change_with_its_labels() -> None:
    rng = np.random.default_rng(2)
    scores, labels, folds = rng.random((60, 2)), rng.random(60), rng.integers(0, 3, 60)
    before = cross_fit(scores, labels, folds, 3, 20)
    after = cross_fit(scores, np.where(folds == 0, 1 - labels, labels), folds, 3, 20)
    own, others = (
        [
            np.allclose(np.asarray(one), np.asarray(other))
            for one, other in zip(before.by_fold, after.by_fold, strict=True)
        ][part]
        for part in (slice(1), slice(1, None))
    )
    assert (own, others) == ([True], [False, False])


def test_too_few_labels_give_no_weights() -> None:
    scores, labels = np.random.default_rng(3).random((20, 2)), np.zeros(20)
    found = cross_fit(scores, labels, np.arange(20) % 2, 2, 20)
    assert found.by_fold == [None, None]
    assert found.overall is not None
