"""Soft pairwise accuracy against all sign patterns written out, and the properties that the
docstring promises.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from judgelake.tasks.stats.pair_accuracy import soft_pairwise_accuracy

Floats = NDArray[np.float64]


def exact_p(a: Floats, b: Floats) -> float:
    """The p-value over all sign patterns, equal differences counting half."""
    differences = [
        float(np.dot(signs, a - b)) for signs in itertools.product([1, -1], repeat=a.size)
    ]
    whole = float((a - b).sum())
    return float(np.mean([(d > whole + 1e-9) + (abs(d - whole) <= 1e-9) / 2 for d in differences]))


def test_agrees_with_all_sign_patterns() -> None:
    rng = np.random.default_rng(0)
    x, y = np.round(rng.normal(size=(3, 6)), 1), rng.integers(0, 3, (3, 6)).astype(np.float64)
    found = soft_pairwise_accuracy(x, y, np.arange(6), 40_000, rng)
    expected = 1 - np.mean(
        [
            abs(exact_p(x[i], x[j]) - exact_p(y[i], y[j]))
            for i, j in itertools.combinations(range(3), 2)
        ]
    )
    assert found.value == pytest.approx(expected, abs=0.01)
    assert (found.n_pairs, found.n_left_out) == (3, 0)


def test_the_example_of_the_authors_code() -> None:
    # A leads B by 0.6 on each of five items: only one of 32 sign patterns gives as much as +3.0,
    # the sample itself, counted half.
    a, b = np.array([0.8, 0.9, 0.7, 1.0, 0.6]), np.array([0.2, 0.3, 0.1, 0.4, 0.0])
    judge, level = np.stack([a, b]), np.zeros((2, 5))
    found = soft_pairwise_accuracy(judge, level, np.arange(5), 50_000, np.random.default_rng(1))
    assert found.value == pytest.approx(
        1 - (0.5 - 1 / 64), abs=0.003
    )  # against people who tie the two: p = 1/2


def test_a_judge_like_people_is_perfect_and_a_reversed_one_is_not() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=(4, 50)) + np.arange(4)[:, None]
    assert soft_pairwise_accuracy(3 * y + 1, y, np.arange(50), 200, rng).value == pytest.approx(1.0)
    assert soft_pairwise_accuracy(-y, y, np.arange(50), 200, rng).value < 0.05


def test_the_order_of_systems_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    x, y = (
        rng.integers(0, 2, (5, 8)).astype(np.float64),
        rng.integers(0, 3, (5, 8)).astype(np.float64),
    )
    x[1] = x[0]
    first, turned = (
        soft_pairwise_accuracy(a, b, np.arange(8), 100, np.random.default_rng(0)).value
        for a, b in ((x, y), (x[::-1], y[::-1]))
    )
    assert first == pytest.approx(turned, abs=1e-12)


def test_a_cluster_of_items_is_one_draw() -> None:
    # Ten copies of an item in one cluster say no more than one: with a single cluster p is 1/4 (a
    # lead of all or of none), not 2^-11.
    judge, level = np.stack([np.ones(10), np.zeros(10)]), np.zeros((2, 10))
    found = soft_pairwise_accuracy(
        judge, level, np.zeros(10, dtype=np.int64), 20_000, np.random.default_rng(4)
    )
    assert found.value == pytest.approx(0.75, abs=0.01)


def test_pairs_without_a_common_item_are_left_out() -> None:
    x = np.array([[1.0, math.nan], [math.nan, 1.0], [0.0, 0.0]])
    found = soft_pairwise_accuracy(x, np.zeros((3, 2)), np.arange(2), 10, np.random.default_rng(0))
    assert (found.n_pairs, found.n_left_out) == (2, 1)
    none = soft_pairwise_accuracy(x[:1], x[:1], np.arange(2), 10, np.random.default_rng(0))
    assert math.isnan(none.value)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"x has shape \(2, 3\)"):
        soft_pairwise_accuracy(
            np.zeros((2, 3)), np.zeros((3, 3)), np.arange(3), 10, np.random.default_rng(0)
        )
    with pytest.raises(ValueError, match="0 permutations"):
        soft_pairwise_accuracy(
            np.zeros((2, 3)), np.zeros((2, 3)), np.arange(3), 0, np.random.default_rng(0)
        )


@pytest.mark.parametrize("permutations", [0, -1])
def test_no_permutation_is_refused_and_one_is_taken(permutations: int) -> None:
    rng = np.random.default_rng(4)
    y = rng.normal(size=(2, 5))
    assert 0 <= soft_pairwise_accuracy(y, y, np.arange(5), 1, rng).value <= 1
    with pytest.raises(ValueError, match="expected 1 or more"):
        soft_pairwise_accuracy(y, y, np.arange(5), permutations, rng)
