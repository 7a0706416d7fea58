"""Coefficients of one sample against hand arithmetic and scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from judgelake.tasks.stats.correlation import (
    COEFFICIENTS,
    kendall_tau_b,
    kendall_tau_c,
    pearson,
    spearman,
)

# x = 1 2 2 3, y = 1 1 2 2. Pairs: (1,2) tied in y, (1,3) concordant, (1,4) concordant, (2,3) tied
# in x, (2,4) concordant,
# (3,4) tied in y: C = 3, D = 0 of 6 pairs, one tied in x, two in y.
X = np.array([1.0, 2.0, 2.0, 3.0])
Y = np.array([1.0, 1.0, 2.0, 2.0])


def test_hand_arithmetic() -> None:
    # tau-b = 3 / sqrt((6 - 1) (6 - 2))
    assert kendall_tau_b(X, Y) == pytest.approx(3 / math.sqrt(20), abs=1e-15)
    # tau-c: 3 and 2 distinct values, so m = 2: 2 * 3 / (4^2 * 1/2) = 6/8
    assert kendall_tau_c(X, Y) == pytest.approx(0.75, abs=1e-15)
    # Deviations of x: -1 0 0 1, of y: -.5 -.5 .5 .5; products 0.5 + 0.5 = 1; squares 2 and 1
    assert pearson(X, Y) == pytest.approx(1 / math.sqrt(2), abs=1e-15)
    # Mid-ranks of x 1 2.5 2.5 4 (deviations -1.5 0 0 1.5), of y 1.5 1.5 3.5 3.5 (-1 -1 1 1): 3 /
    # sqrt(4.5 * 4)
    assert spearman(X, Y) == pytest.approx(3 / math.sqrt(18), abs=1e-15)


def scipy_values(x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, float]:
    return {
        "pearson": float(stats.pearsonr(x, y).statistic),
        "spearman": float(stats.spearmanr(x, y).statistic),
        "kendall_tau_b": float(stats.kendalltau(x, y, variant="b").statistic),
        "kendall_tau_c": float(stats.kendalltau(x, y, variant="c").statistic),
    }


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 2)), min_size=2, max_size=40))
def test_equals_scipy(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows, dtype=np.float64).T
    is_defined = np.unique(x).size > 1 and np.unique(y).size > 1
    expected = scipy_values(x, y) if is_defined else dict.fromkeys(COEFFICIENTS, math.nan)
    for name, coefficient in COEFFICIENTS.items():
        np.testing.assert_allclose(
            coefficient(x, y), expected[name], rtol=0, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize(
    ("x", "y"),
    [([], []), ([1.0], [2.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([0.1, 0.2], [0.3, 0.3])],
)
def test_undefined_is_nan(name: str, x: list[float], y: list[float]) -> None:
    assert math.isnan(COEFFICIENTS[name](np.array(x), np.array(y)))


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_bounds_are_reached_exactly_and_sides_are_exchangeable(name: str) -> None:
    x = np.arange(7.0) * 0.1
    assert COEFFICIENTS[name](x, 3 * x) == pytest.approx(1.0, abs=1e-15)
    assert COEFFICIENTS[name](x, -x) == pytest.approx(-1.0, abs=1e-15)
    y = np.array([3.0, 1.0, 1.0, 2.0, 5.0, 5.0, 0.0])
    assert COEFFICIENTS[name](x, y) == pytest.approx(COEFFICIENTS[name](y, x), abs=1e-15)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_pearson_survives_extreme_scales(scale: float) -> None:
    assert pearson(X * scale, Y / scale) == pytest.approx(1 / math.sqrt(2), abs=1e-14)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_wrong_input_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}: y\[1\] is nan; expected finite"):
        COEFFICIENTS[name](np.array([1.0, 2.0]), np.array([1.0, math.nan]))
    with pytest.raises(ValueError, match=rf"{name}: x has shape \(2,\) and y \(3,\)"):
        COEFFICIENTS[name](np.zeros(2), np.zeros(3))
