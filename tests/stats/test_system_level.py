"""System-level correlations against means and scipy on the explicitly repeated rows and models."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from judgelake.tasks.stats.combining import correlate_systems, correlate_weighted
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.stats.resampling import draw_cluster_weights

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def average(values: Floats, systems: Codes, rows: Codes, drawn: Codes) -> Floats:
    return np.array([values[rows][systems[rows] == system].mean() for system in drawn])


def test_equals_scipy_on_repeated_rows_and_models() -> None:
    rng = np.random.default_rng(1)
    n, n_systems, n_clusters = 400, 6, 30
    systems, clusters = rng.integers(0, n_systems, n), rng.integers(0, n_clusters, n)
    quality = rng.normal(size=n_systems)[systems]
    x, y = quality + rng.normal(size=n), quality + rng.integers(0, 3, n)
    x[:5], y[5:9] = math.nan, math.nan
    weights, system_weights = (
        draw_cluster_weights(n_clusters, 12, rng),
        draw_cluster_weights(n_systems, 12, rng),
    )
    found = correlate_systems(x, y, systems, clusters, weights, system_weights)
    for b in range(12):
        rows = np.repeat(np.arange(9, n), weights[b][clusters[9:]])
        models = np.repeat(np.arange(n_systems), system_weights[b])
        means = average(x, systems, rows, models), average(y, systems, rows, models)
        assert found["pearson"].drawn[b] == pytest.approx(
            stats.pearsonr(*means).statistic, abs=1e-10
        )
        assert found["spearman"].drawn[b] == pytest.approx(
            stats.spearmanr(*means).statistic, abs=1e-12
        )
        assert found["kendall_tau_b"].drawn[b] == pytest.approx(
            stats.kendalltau(*means).statistic, abs=1e-12
        )
        assert found["kendall_tau_c"].drawn[b] == pytest.approx(
            stats.kendalltau(*means, variant="c").statistic, abs=1e-12
        )
    whole = np.arange(9, n)
    means = (
        average(x, systems, whole, np.arange(n_systems)),
        average(y, systems, whole, np.arange(n_systems)),
    )
    assert found["pearson"].value == pytest.approx(stats.pearsonr(*means).statistic, abs=1e-10)
    assert (found["pearson"].n, found["pearson"].n_clusters) == (6, 6)


def test_weights_count_like_repetition_with_ties() -> None:
    # Systems of x 1 1 2 3 and y 1 2 2 3 counted 1, 2, 0, 1 times: x 1 1 1 3, y 1 2 2 3. C = 3, D =
    # 0, three pairs tied in x, one in y
    # (and x), so 3 of 6 untied in x, 5 in y: tau-b 3/sqrt(15); two and three values, m = 2: tau-c 2
    # * 3 / (16 / 2) = 0.75.
    found = correlate_weighted(
        np.array([[1.0, 1, 2, 3]]), np.array([[1.0, 2, 2, 3]]), np.array([[1.0, 2, 0, 1]])
    )
    assert found["kendall_tau_b"] == pytest.approx([3 / math.sqrt(15)], abs=1e-12)
    assert found["kendall_tau_c"] == pytest.approx([0.75], abs=1e-12)
    repeated = np.array([1.0, 1, 1, 3]), np.array([1.0, 2, 2, 3])
    for name, coefficient in COEFFICIENTS.items():
        assert found[name] == pytest.approx([coefficient(*repeated)], abs=1e-12), name


def test_equal_scores_in_another_order_are_a_tie() -> None:
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last digit; the models are tied all the
    # same.
    scores = np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0.9, 0.9, 0.9])
    systems, clusters, ones = (
        np.repeat(np.arange(3), 3),
        np.arange(9),
        np.ones((1, 9), dtype=np.int64),
    )
    found = correlate_systems(
        scores, np.array([0.0] * 3 + [1.0] * 3 + [2.0] * 3), systems, clusters, ones, ones[:, :3]
    )
    # Models of 0.2 0.2 0.9 against 0 1 2: two concordant pairs of three, one tied in x.
    assert found["kendall_tau_b"].value == pytest.approx(2 / math.sqrt(6), abs=1e-12)
    assert found["kendall_tau_b"].drawn == pytest.approx([2 / math.sqrt(6)], abs=1e-12)


def test_a_model_drawn_without_its_rows_makes_the_resample_undefined() -> None:
    x = np.array([1.0, 2.0, 3.0])
    weights, system_weights = (
        np.array([[1, 1, 1], [2, 1, 0], [2, 1, 0]]),
        np.array([[1, 1, 1], [1, 1, 1], [2, 1, 0]]),
    )
    found = correlate_systems(x, x, np.arange(3), np.arange(3), weights, system_weights)
    np.testing.assert_allclose(found["spearman"].drawn, [1, math.nan, 1])


def test_models_held_fixed_vary_less() -> None:
    rng = np.random.default_rng(2)
    systems, clusters = np.tile(np.arange(8), 100), np.repeat(np.arange(100), 8)
    quality = np.linspace(0, 1, 8)[systems]
    x, y = quality + rng.normal(size=800), quality + rng.normal(size=800)
    weights = draw_cluster_weights(100, 300, rng)
    fixed, drawn = (
        correlate_systems(x, y, systems, clusters, weights, system_weights)["pearson"]
        for system_weights in (np.ones((300, 8), dtype=np.int64), draw_cluster_weights(8, 300, rng))
    )
    assert fixed.value == drawn.value
    assert fixed.drawn.std() < drawn.drawn.std()


def test_no_rows_are_undefined_and_wrong_codes_refused() -> None:
    none, codes = np.empty(0), np.empty(0, dtype=np.int64)
    found = correlate_systems(
        none, none, codes, codes, np.ones((2, 3), dtype=np.int64), np.ones((2, 2), dtype=np.int64)
    )
    assert math.isnan(found["pearson"].value)
    assert found["pearson"].summarise().n_undefined == 2
    one, rows, scores = np.ones((2, 3), dtype=np.int64), np.arange(3), np.arange(3.0)
    with pytest.raises(ValueError, match="systems: cluster codes 0 to 2; expected 0 to 1"):
        correlate_systems(scores, scores, rows, rows, one, one[:, :2])
