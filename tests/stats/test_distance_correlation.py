"""Distance correlation: hand arithmetic, its definition in loops, exact permutations, and planted
associations.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.stats.scaling import correlate_distances

NAN = math.nan
RNG = np.random.default_rng


def plain_by_definition(x: np.ndarray, y: np.ndarray) -> float:
    """Covariances of distances, term by term (Szekely, Rizzo & Bakirov 2007, equations 2.9 and
    2.10).
    """
    n = len(x)

    def covariance(u: np.ndarray, v: np.ndarray) -> float:
        products = single_u = single_v = mixed = 0.0
        for k, m in itertools.product(range(n), repeat=2):
            products += abs(u[k] - u[m]) * abs(v[k] - v[m])
            single_u += abs(u[k] - u[m])
            single_v += abs(v[k] - v[m])
            mixed += sum(abs(u[k] - u[m]) * abs(v[k] - v[j]) for j in range(n))
        return products / n**2 + single_u * single_v / n**4 - 2 * mixed / n**3

    return math.sqrt(covariance(x, y) / math.sqrt(covariance(x, x) * covariance(y, y)))


def test_three_points_by_hand() -> None:
    # x = 0, 1, 2: distances 0 1 2 / 1 0 1 / 2 1 0, means 1, 2/3, 1 and 8/9: centred -10/9 2/9 8/9 /
    # 2/9 -4/9 2/9 / 8/9 2/9 -10/9.
    # y = 0, 0, 1: means 1/3, 1/3, 2/3 and 4/9: centred -2/9 -2/9 4/9 / -2/9 -2/9 4/9 / 4/9 4/9
    # -8/9.
    # Products, in 81sts: xy 20 - 4 + 32 - 4 + 8 + 8 + 32 + 8 + 80 = 180; xx 100 + 4 + 64 + 4 + 16 +
    # 4 + 64 + 4 + 100 = 360;
    # yy 4 + 4 + 16 + 4 + 4 + 16 + 16 + 16 + 64 = 144. R = sqrt(180 / sqrt(360 * 144)).
    found = correlate_distances(np.array([0.0, 1, 2]), np.array([0.0, 0, 1]), 10, RNG(0))
    assert found.plain == pytest.approx(math.sqrt(180 / math.sqrt(360 * 144)))
    assert math.isnan(found.bias_corrected)
    assert found.n == 3


def test_plain_is_its_definition() -> None:
    rng = RNG(1)
    for n in (5, 12):
        x = rng.normal(size=n)
        y = x**2 + rng.normal(size=n)
        assert correlate_distances(x, y, 0, rng).plain == pytest.approx(
            plain_by_definition(x, y), abs=1e-12
        )


def test_bias_corrected_is_its_definition() -> None:
    # Szekely & Rizzo 2013: A* = n/(n-1) (A - a/n) off the diagonal and n/(n-1) (row mean - mean) on
    # it;
    # U(A, B) = sum of products off the diagonal - 2/(n-2) of those on it.
    rng = RNG(2)
    x = rng.normal(size=9)
    y = np.abs(x) + rng.normal(size=9)
    n = 9

    def modified(values: np.ndarray) -> np.ndarray:
        gaps = np.abs(values[:, None] - values)
        means = gaps.mean(axis=0)
        centred: np.ndarray = n / (n - 1) * (gaps - means - means[:, None] + gaps.mean() - gaps / n)
        np.fill_diagonal(centred, n / (n - 1) * (means - gaps.mean()))
        return centred

    def product(a: np.ndarray, b: np.ndarray) -> float:
        off = ~np.eye(n, dtype=bool)
        return float((a * b)[off].sum() - 2 / (n - 2) * (a * b)[~off].sum())

    a, b = modified(x), modified(y)
    expected = product(a, b) / math.sqrt(product(a, a) * product(b, b))
    assert correlate_distances(x, y, 0, rng).bias_corrected == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(st.floats(-100, 100), min_size=5, max_size=12, unique=True),
    st.floats(0.01, 50),
    st.booleans(),
)
def test_lines_have_one(values: list[float], slope: float, falls: bool) -> None:
    x = np.round(np.array(values), 3)
    if np.unique(x).size < 4:
        return
    found = correlate_distances(x, (-slope if falls else slope) * x + 7, 5, RNG(0))
    assert found.plain == pytest.approx(1, abs=1e-9)
    assert found.bias_corrected == pytest.approx(1, abs=1e-9)


def test_p_is_that_of_all_orders() -> None:
    rng = RNG(3)
    x, y = rng.normal(size=(2, 5))
    y += x
    observed = correlate_distances(x, y, 0, rng).bias_corrected
    every = [
        correlate_distances(x, y[list(order)], 0, rng).bias_corrected
        for order in itertools.permutations(range(5))
    ]
    exact = np.mean(np.array(every) >= observed - 1e-12)
    assert correlate_distances(x, y, 4_000, RNG(0)).p_value == pytest.approx(
        exact, abs=5 * math.sqrt(exact * (1 - exact) / 4_000)
    )


def test_curves_are_found_and_noise_is_not() -> None:
    rng = RNG(4)
    x = np.linspace(-1, 1, 61)
    curve = correlate_distances(x, x**2, 199, rng)
    assert abs(np.corrcoef(x, x**2)[0, 1]) < 1e-9
    assert curve.p_value == 1 / 200  # no permutation comes near, and p is never 0
    noise = [
        correlate_distances(rng.normal(size=20), rng.normal(size=20), 0, rng) for _ in range(200)
    ]
    assert (
        np.mean([each.plain for each in noise]) > 0.3
    )  # the plain form is far from 0 for 20 models
    assert np.mean([each.bias_corrected for each in noise]) == pytest.approx(0, abs=0.03)


def test_p_is_uniform_without_association() -> None:
    rng = RNG(5)
    values = [
        correlate_distances(rng.normal(size=12), rng.normal(size=12), 39, rng).p_value
        for _ in range(400)
    ]
    assert np.mean(np.array(values) <= 0.25) == pytest.approx(
        0.25, abs=4 * math.sqrt(0.25 * 0.75 / 400)
    )


def test_missing_and_constant_values() -> None:
    x, y = np.array([1.0, 2, NAN, 4, 5, 9]), np.array([2.0, 4, 7, 7, NAN, 8])
    found = correlate_distances(x, y, 10, RNG(0))
    assert found.n == 4
    assert found.plain == correlate_distances(x[[0, 1, 3, 5]], y[[0, 1, 3, 5]], 10, RNG(0)).plain
    for constant in (np.ones(6), np.full(6, NAN)):
        assert np.isnan(correlate_distances(constant, np.arange(6.0), 10, RNG(0))[:3]).all()
    # Of four values three are equal: every U-centred distance is 0.
    assert math.isnan(
        correlate_distances(np.array([0.1, 0.1, 0.1, 1]), np.arange(4.0), 10, RNG(0)).bias_corrected
    )
    assert math.isnan(
        correlate_distances(np.array([0.1, 0.1, 0.1, 1]), np.arange(4.0), 10, RNG(0)).p_value
    )


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="pair them"):
        correlate_distances(np.zeros(3), np.zeros(4), 10, RNG(0))
