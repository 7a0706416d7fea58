"""Intervals of shares: CHIRP's figures, statsmodels as oracle."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from judgelake.tasks.stats.estimates import normal_interval, wilson_interval


def test_the_papers_wrong_ground_truths() -> None:
    # Section 5.2.3: 9 of 100 in GQA, 3.4 to 14.6 %, of 22,669,678 questions 770,769 to 3,309,773; 5
    # of 100 in TextVQA.
    gqa = normal_interval(9, 100)
    assert [round(100 * end, 1) for end in gqa] == [9.0, 3.4, 14.6]
    assert [round(22_669_678 * round(end, 3)) for end in gqa[1:]] == [770_769, 3_309_773]
    textvqa = normal_interval(5, 100)
    assert [round(100 * end, 2) for end in textvqa] == [5.0, 0.73, 9.27]


def test_wilson_by_hand() -> None:
    # 0 of 10: z^2 / (n + z^2) = 3.8415 / 13.8415; 9 of 100 lies above the normal interval at both
    # ends.
    assert wilson_interval(0, 10) == pytest.approx((0, 0, 0.277533), abs=1e-6)
    assert wilson_interval(10, 10) == pytest.approx((1, 1 - 0.277533, 1), abs=1e-6)
    assert wilson_interval(9, 100).low > normal_interval(9, 100).low
    assert wilson_interval(9, 100).high > normal_interval(9, 100).high


@given(
    st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_both_are_statsmodels(sample: tuple[int, int], level: float) -> None:
    for ours, method in ((normal_interval, "normal"), (wilson_interval, "wilson")):
        expected = proportion_confint(*sample, alpha=1 - level, method=method)
        assert ours(*sample, level)[1:] == pytest.approx(expected, abs=1e-12)


def test_no_sample_and_wrong_samples() -> None:
    for interval in (normal_interval, wilson_interval):
        assert all(map(math.isnan, interval(0, 0)))
        with pytest.raises(ValueError, match="3 of 2"):
            interval(3, 2)
        with pytest.raises(ValueError, match=r"at level 95"):
            interval(1, 2, 95)
