"""Agreement with an attribute."""

import math

import numpy as np
import pytest

from judgelake.tasks.stats.comparisons import select_comparisons
from judgelake.tasks.stats.scaling import agree_with_attribute

NAN = math.nan


def test_agreement_with_size_by_hand() -> None:
    # Sizes 1, 2, 2 and unknown. Larger model wins, loses, ties, wins; equal and unknown sizes are
    # left out: 2.5 of 4.
    sizes = np.array([1.0, 2, 2, NAN])
    a, b = np.array([0, 1, 0, 2, 1, 0]), np.array([1, 0, 2, 0, 2, 3])
    drawn = select_comparisons(a, b, np.array([1.0, 1.0, 0.5, 0.0, 1.0, 0.0]), np.arange(6), 4)
    larger = agree_with_attribute(drawn, sizes, prefers_more=True)
    assert larger.agreement.value == 2.5 / 4
    assert (larger.agreement.n, larger.n_left_out, larger.n_ties) == (4, 2, 1)
    smaller = agree_with_attribute(drawn, sizes, prefers_more=False)
    assert smaller.agreement.value == 1.5 / 4
    assert smaller.agreement.low == pytest.approx(1 - larger.agreement.high)


def test_agreement_with_an_attribute_of_fractions() -> None:
    # Losses 0.2, 0.5 and 0.9: the lower one wins against both others, the middle one loses.
    losses = np.array([0.2, 0.5, 0.9])
    a, b = np.array([0, 2, 1]), np.array([1, 0, 2])
    drawn = select_comparisons(a, b, np.array([0.0, 1.0, 1.0]), np.arange(3), 3)
    assert agree_with_attribute(drawn, losses, prefers_more=False).agreement.value == 2 / 3
    assert agree_with_attribute(drawn, losses, prefers_more=True).agreement.value == 1 / 3
