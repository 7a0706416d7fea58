"""HarmonicEval's equations 1 to 4 by hand, against numpy, and at their ends."""

import itertools
import math
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging.harmonic_reading import (
    combine_scores,
    expect_score,
    measure_spread,
    weigh_criteria,
)

DISTRIBUTIONS = st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(lambda p: sum(p) > 0.01).map(
    lambda p: [share / math.fsum(p) for share in p]
)  # fmt: skip
SPREADS = st.lists(st.floats(1e-3, 2), min_size=1, max_size=5)
GAMMAS = st.floats(0, 1)


@pytest.mark.parametrize(
    ("probabilities", "mean", "variance"),
    [
        ((0, 0, 0.25, 0.5, 0.25), 4, 0.5),  # 0.75 + 2 + 1.25 = 4; 0.25 x 1 + 0.25 x 1 = 0.5
        ((0.5, 0, 0, 0, 0.5), 3, 4),  # 0.5 + 2.5 = 3; 0.5 x 4 + 0.5 x 4 = 4
        ((0, 0, 0, 0, 1), 5, 0),
        ((0.2, 0.2, 0.2, 0.2, 0.2), 3, 2),  # (4 + 1 + 0 + 1 + 4) / 5 = 2
    ],
)
def test_expected_score_and_spread_by_hand(
    probabilities: Sequence[float], mean: float, variance: float
) -> None:
    assert expect_score(probabilities) == pytest.approx(mean)
    assert measure_spread(probabilities) == pytest.approx(math.sqrt(variance))


@given(DISTRIBUTIONS)
def test_expected_score_and_spread_are_numpy_s(probabilities: list[float]) -> None:
    levels = np.arange(1, 6)
    mean = np.average(levels, weights=probabilities)
    assert expect_score(probabilities) == pytest.approx(float(mean), abs=1e-12)
    variance = float(np.average((levels - mean) ** 2, weights=probabilities))
    assert measure_spread(probabilities) == pytest.approx(math.sqrt(variance), abs=1e-7)
    assert 1 <= expect_score(probabilities) <= 5


@pytest.mark.parametrize(
    ("gamma", "weights"),
    [
        (1.0, (1 / 2, 1 / 2)),
        (
            0.75,
            (0.613512, 0.386488),
        ),  # spread^(-2 x 0.25 / 0.75) = spread^(-2/3): 1 to 2^(-2/3) = 0.629961
        (0.5, (0.8, 0.2)),  # spread^-2: 1 to 1/4
        (0.01, (1 / (1 + 2**-198), 2**-198)),  # spread^(-2 x 0.99 / 0.01) = spread^-198
        (0.0, (1.0, 0.0)),
    ],
)
def test_weights_of_spreads_1_and_2_by_hand(gamma: float, weights: tuple[float, float]) -> None:
    assert weigh_criteria([1, 2], gamma) == pytest.approx(weights, abs=5e-7)


@pytest.mark.parametrize(
    ("spreads", "gamma", "weights"),
    [
        # a spread of 0: the limit, shared equally among those without spread
        ((0, 1, 2), 0.75, (1, 0, 0)),
        ((0, 1, 0), 0.5, (0.5, 0, 0.5)),
        ((0, 0, 0), 0.75, (1 / 3, 1 / 3, 1 / 3)),
        ((0, 1, 2), 0.0, (1, 0, 0)),
        ((0, 1, 3), 1.0, (1 / 3, 1 / 3, 1 / 3)),  # uniform weighting looks at no spread
        ((2, 1, 1), 0.0, (0, 0.5, 0.5)),  # the smallest one counts, equally small ones share
        # nothing overflows: (1e-199 / 1e-200)^2 = 100
        ((1e-200, 1e-199), 0.5, (100 / 101, 1 / 101)),
        ((1e-200, 1e200), 0.01, (1, 0)),
        ((5e-324, 2.0), 5e-324, (1, 0)),
        ((1e200, 1e200), 5e-324, (0.5, 0.5)),
        ((0.7,), 0.75, (1,)),
    ],
)
def test_weights_at_the_ends(
    spreads: Sequence[float], gamma: float, weights: Sequence[float]
) -> None:
    assert weigh_criteria(spreads, gamma) == pytest.approx(weights)


@given(SPREADS, GAMMAS)
def test_weights_sum_to_1_and_less_spread_never_weighs_less(
    spreads: list[float], gamma: float
) -> None:
    weights = weigh_criteria(spreads, gamma)
    assert math.fsum(weights) == pytest.approx(1, abs=1e-12)
    assert all(0 <= weight <= 1 for weight in weights)
    for (spread, weight), (other, other_weight) in itertools.permutations(
        zip(spreads, weights, strict=True), 2
    ):
        assert spread >= other or weight >= other_weight


@given(SPREADS, st.floats(0.05, 1))
def test_weights_are_equation_3_in_numpy(spreads: list[float], gamma: float) -> None:
    powers = np.array(spreads, dtype=np.longdouble) ** (-2 * (1 - gamma) / gamma)
    assert weigh_criteria(spreads, gamma) == pytest.approx(
        (powers / powers.sum()).astype(float), rel=1e-9, abs=1e-12
    )


@given(SPREADS, GAMMAS, st.randoms())
def test_weights_go_with_their_criteria(spreads: list[float], gamma: float, random: Random) -> None:
    order = list(range(len(spreads)))
    random.shuffle(order)
    weights = weigh_criteria(spreads, gamma)
    assert weigh_criteria([spreads[place] for place in order], gamma) == pytest.approx(
        [weights[place] for place in order]
    )


@given(SPREADS)
def test_gamma_1_is_the_mean_and_one_half_inverse_variance(spreads: list[float]) -> None:
    assert weigh_criteria(spreads, 1) == pytest.approx([1 / len(spreads)] * len(spreads))
    inverse = np.array(spreads) ** -2.0
    assert weigh_criteria(spreads, 0.5) == pytest.approx(inverse / inverse.sum())


@given(SPREADS, GAMMAS, GAMMAS)
def test_the_smaller_gamma_the_more_the_surest_criterion_weighs(
    spreads: list[float], one: float, other: float
) -> None:
    surest = spreads.index(min(spreads))
    low, high = sorted((one, other))
    assert weigh_criteria(spreads, low)[surest] >= weigh_criteria(spreads, high)[surest] - 1e-12


def test_gamma_near_0_is_selective() -> None:
    spreads = [0.9, 0.5, 0.6, 0.5000001, 2.0]
    assert weigh_criteria(spreads, 1e-12) == pytest.approx(weigh_criteria(spreads, 0), abs=1e-9)


# Appendix A, eq. 13 put into eq. 8: spread^(2 (1 - 2 gamma) / gamma), uniform at 0.5 and inverse
# variance at 1. Eq. 3 governs.
def test_the_appendix_s_own_formula_is_not_what_counts() -> None:
    powers = [spread ** (2 * (1 - 2 * 0.75) / 0.75) for spread in (1.0, 2.0)]
    assert weigh_criteria([1, 2], 0.75) != pytest.approx(
        [power / sum(powers) for power in powers], abs=0.05
    )


@pytest.mark.parametrize(
    ("spreads", "gamma", "message"),
    [
        ((1,), -0.1, r"gamma: -0\.1; expected"), ((1,), 1.1, r"gamma: 1\.1; expected"), ((1,), math.nan, "gamma: nan; expected"),
        ((), 0.5, r"spreads: \[\]; expected"), ((-1, 1), 0.5, r"spreads: \[-1, 1\]; expected"), ((math.nan,), 0.5, "spreads: "),
    ],
)  # fmt: skip
def test_what_cannot_be_weighed_is_refused(
    spreads: Sequence[float], gamma: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        weigh_criteria(spreads, gamma)


def test_the_overall_score_is_the_weighted_sum() -> None:
    assert combine_scores([4, 3], [0.8, 0.2]) == pytest.approx(3.8)  # 3.2 + 0.6


@given(SPREADS, GAMMAS, st.lists(st.floats(1, 5), min_size=5, max_size=5))
def test_the_overall_score_lies_between_the_criteria_s(
    spreads: list[float], gamma: float, scores: list[float]
) -> None:
    some = scores[: len(spreads)]
    assert min(some) <= combine_scores(some, weigh_criteria(spreads, gamma)) <= max(some)
