"""Rank-biased overlap: hand arithmetic and its endless sum."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.stats.scaling import overlap_rankings


def endless_overlap(one: list[int], other: list[int], p: float) -> float:
    """(1 - p) sum of p^(d-1) A_d, where beyond a list's end agreement stays what it was (Webber et
    al., section 4.4).
    """
    short, long = sorted((one, other), key=len)
    s, n = len(short), len(long)
    shared = [len(set(short[:d]) & set(long[:d])) for d in range(1, n + 1)]
    total = 0.0
    for d in range(1, 3_000):
        if d <= s:
            agreement = shared[d - 1] / d
        elif d <= n:
            # The short list goes on as it did at its end: s.A_s / s of what it would hold is
            # shared.
            agreement = (shared[d - 1] + shared[s - 1] * (d - s) / s) / d
        else:
            agreement = (shared[n - 1] - shared[s - 1]) / n + shared[s - 1] / s
        total += (1 - p) * p ** (d - 1) * agreement
    return total


def test_by_hand() -> None:
    # 1 2 3 against 2 1 3 at p = 1/2: shared 0, 2, 3, agreement 0, 1, 1 and 1 ever after: 1 - (1 -
    # p) = 1/2.
    assert overlap_rankings(np.array([1, 2, 3]), np.array([2, 1, 3]), 0.5) == pytest.approx(0.5)
    # 1 2 against 1 3: agreement 1, then 1/2 ever after: 1/2 + 1/2 * 1/2 = 3/4.
    assert overlap_rankings(np.array([1, 2]), np.array([1, 3]), 0.5) == pytest.approx(0.75)


def test_ends_of_the_scale() -> None:
    for p in (0.1, 0.9, 0.99):
        assert overlap_rankings(np.arange(7), np.arange(7), p) == pytest.approx(1)
        assert overlap_rankings(np.arange(7), np.arange(7, 14), p) == pytest.approx(0)
        assert overlap_rankings(np.arange(7), np.arange(4), p) == pytest.approx(1)


@given(
    st.permutations(range(8)),
    st.permutations(range(8)),
    st.integers(1, 8),
    st.integers(1, 8),
    st.sampled_from([0.3, 0.8, 0.95]),
)
def test_the_sum_without_end(one: list[int], other: list[int], n: int, m: int, p: float) -> None:
    found = overlap_rankings(np.array(one[:n]), np.array(other[:m]), p)
    assert found == pytest.approx(endless_overlap(one[:n], other[:m], p), abs=1e-9)
    assert found == pytest.approx(
        overlap_rankings(np.array(other[:m]), np.array(one[:n]), p), abs=1e-12
    )
    assert -1e-12 <= found <= 1 + 1e-12


def test_the_top_counts_most() -> None:
    best = np.arange(20)
    swapped_above, swapped_below = best.copy(), best.copy()
    swapped_above[[0, 1]], swapped_below[[18, 19]] = [1, 0], [19, 18]
    assert (
        overlap_rankings(best, swapped_above, 0.9) < overlap_rankings(best, swapped_below, 0.9) < 1
    )


def test_empty_and_wrong_rankings() -> None:
    assert math.isnan(overlap_rankings(np.zeros(0, dtype=np.int64), np.arange(3), 0.9))
    with pytest.raises(ValueError, match="stands twice"):
        overlap_rankings(np.array([1, 1]), np.arange(3), 0.9)
    for p in (0.0, 1.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            overlap_rankings(np.arange(3), np.arange(3), p)
