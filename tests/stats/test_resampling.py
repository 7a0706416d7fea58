"""How clusters are drawn and how intervals are read."""

import math

import numpy as np
import pytest
from scipy import stats

from judgelake.tasks.stats.resampling import (
    draw_cluster_weights,
    draw_keyed_weights,
    expanded_interval,
    key_clusters,
    percentile_interval,
)


def test_each_resample_draws_as_many_clusters_as_there_are() -> None:
    weights = draw_cluster_weights(37, 130, np.random.default_rng(3))
    assert weights.shape == (130, 37)
    assert (weights.sum(axis=1) == 37).all()


def test_draws_follow_the_multinomial() -> None:
    # Each count is binomial(50, 1/50): mean 1, variance 1 - 1/50 = 0.98; two clusters have
    # covariance -1/50.
    weights = draw_cluster_weights(50, 20_000, np.random.default_rng(11)).astype(np.float64)
    covariance = np.cov(weights.T)
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=0.04)
    np.testing.assert_allclose(np.diag(covariance), 0.98, atol=0.06)
    assert covariance[~np.eye(50, dtype=bool)].mean() == pytest.approx(-0.02, abs=0.001)


def test_seeds_are_honoured_zero_too() -> None:
    drawn = [draw_cluster_weights(40, 70, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_nothing_to_draw(shape: tuple[int, int]) -> None:
    assert draw_cluster_weights(*shape, np.random.default_rng(0)).shape == shape[::-1]


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="-1 clusters"):
        draw_cluster_weights(-1, 5, np.random.default_rng(0))


def test_percentiles() -> None:
    # 0, 1, ..., 100 shuffled: the 2.5 % and 97.5 % points are 2.5 and 97.5; at level 0.5 they are
    # 25 and 75.
    values = np.random.default_rng(0).permutation(101).astype(np.float64)
    assert percentile_interval(values)[:3] == pytest.approx((2.5, 97.5, 0))
    assert percentile_interval(values, level=0.5)[:3] == pytest.approx((25.0, 75.0, 0))


def test_undefined_values_lie_beyond_both_ends() -> None:
    # 0 to 98 and two without a value: the lower point 2.5 counts both below 0, the upper both above
    # 98
    values = np.append(np.arange(99.0), [math.nan, math.nan])
    assert percentile_interval(values)[:3] == pytest.approx((0.5, 97.5, 2))
    values[:2] = math.nan  # now four of 101 are beyond each end, more than 2.5 %
    assert percentile_interval(values)[2:4] == (4, "undefined on 4 of 101 resamples")


def test_no_defined_value_has_no_interval() -> None:
    interval = percentile_interval(np.full(4, math.nan))
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.n_undefined == 4


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_level_is_a_fraction(level: float) -> None:
    with pytest.raises(ValueError, match=f"level is {level}"):
        percentile_interval(np.zeros(3), level)


def test_few_clusters_widen_the_percentiles() -> None:
    # 15 clusters: t(14) at 97.5 % is 2.1448, times sqrt(15/14) 2.2201; Phi(-2.2201) = 0.013207, so
    # the 1.32 % and 98.68 % points.
    values = np.random.default_rng(0).permutation(10_001) / 10_000
    assert expanded_interval(values, 15)[:2] == pytest.approx((0.013207, 1 - 0.013207), abs=2e-6)
    assert expanded_interval(values, 10**9)[:2] == pytest.approx((0.025, 0.975), abs=1e-6)
    widths = [
        interval.high - interval.low
        for interval in (expanded_interval(values, n) for n in (2, 3, 10, 100))
    ]
    assert widths == sorted(widths, reverse=True)


def test_one_cluster_has_no_interval() -> None:
    interval = expanded_interval(np.array([0.5, 0.5, math.nan]), 1)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.n_undefined == 1


@pytest.mark.parametrize("n_clusters", [30, 300], ids=["numpy", "compiled"])
def test_keyed_draws_are_poisson_and_independent(n_clusters: int) -> None:
    drawn = draw_keyed_weights(key_clusters(map(str, range(n_clusters))), 4000, 7)
    assert drawn.shape == (4000, n_clusters)
    shares = np.bincount(drawn.ravel(), minlength=6)[:6] / drawn.size
    np.testing.assert_allclose(shares, stats.poisson.pmf(range(6), 1), atol=4 / drawn.size**0.5)
    between = np.corrcoef(drawn.T) - np.eye(n_clusters)
    assert np.abs(between).max() < 6 / 4000**0.5
    after = np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]
    assert abs(after) < 5 / 4000**0.5


def test_keyed_draws_follow_from_key_resample_and_seed_alone() -> None:
    keys = key_clusters(map(str, range(300)))
    all_drawn = draw_keyed_weights(keys, 50, 7)
    some = [200, 3, 77]
    np.testing.assert_array_equal(draw_keyed_weights(keys[some], 50, 7), all_drawn[:, some])
    np.testing.assert_array_equal(draw_keyed_weights(keys[some], 20, 7), all_drawn[:20, some])
    assert (draw_keyed_weights(keys[some], 50, 8) != all_drawn[:, some]).any()
    with pytest.raises(ValueError, match="-1 resamples; expected 0 or more"):
        draw_keyed_weights(keys, -1, 7)
