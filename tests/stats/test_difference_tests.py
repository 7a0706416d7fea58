"""Tests of two judges against published examples, other implementations' figures, and all
permutations written out.
"""

import itertools
import math
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from judgelake.tasks.stats.bootstrap import bootstrap_correlations
from judgelake.tasks.stats.difference_tests import permute_both, replicate_t_test, williams_test
from judgelake.tasks.stats.resampling import draw_cluster_weights

Floats = NDArray[np.float64]


def test_williams_test_agrees_with_psych() -> None:
    # R package psych, help of r.test: n 103, r12 0.4, r13 0.5, r23 0.1 give t -0.89 and p 0.37.
    found = williams_test(0.4, 0.5, 0.1, 103)
    assert (round(found.t, 2), round(found.p, 2), found.degrees) == (-0.89, 0.37, 100)
    # nlpstats' test of the same package: |r| of its 45 seeded rows, two-sided p 0.5433956.
    assert williams_test(0.28582915107, 0.15950937603, 0.02655585689, 45).p == pytest.approx(
        0.5433956, abs=5e-8
    )


def test_williams_test_is_antisymmetric_and_undefined_for_copies() -> None:
    forth, back = williams_test(0.6, 0.4, 0.5, 30), williams_test(0.4, 0.6, 0.5, 30)
    assert (forth.t, forth.p) == (-back.t, back.p)
    assert math.isnan(williams_test(1.0, 1.0, 1.0, 30).p)
    with pytest.raises(ValueError, match="3 rows; expected 4 or more"):
        williams_test(0.6, 0.4, 0.5, 3)


def test_williams_test_keeps_its_level() -> None:
    # Two judges equally near a normal target, 2,000 samples of 40 independent rows: p < 0.05 in 5 %
    # (standard deviation 0.5 %).
    rng = np.random.default_rng(1)
    y = rng.normal(size=(2_000, 40))
    x = y[None] + rng.normal(size=(2, 2_000, 40))

    def correlate(a: Floats, b: Floats) -> Floats:
        return np.asarray((stats.zscore(a, axis=1) * stats.zscore(b, axis=1)).mean(axis=1))

    r = zip(correlate(x[0], y), correlate(x[1], y), correlate(x[0], x[1]), strict=True)
    rejected = np.mean(
        [williams_test(float(a), float(b), float(ab), 40).p < 0.05 for a, b, ab in r]
    )
    assert 0.035 < rejected < 0.065


def test_replicate_t_test_rejects_whatever_is_resampled_often_enough() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=100)
    x = y[:, None] + rng.normal(size=(100, 2)) * [1.0, 0.8]
    p = []
    for resamples in (20, 2_000):
        weights = draw_cluster_weights(100, resamples, np.random.default_rng(0))
        a, b = (
            bootstrap_correlations(x[:, judge], y, np.arange(100), weights)["spearman"]
            for judge in (0, 1)
        )
        found = replicate_t_test(np.append(a, math.nan), b)
        expected = stats.ttest_ind(a, b, equal_var=False)
        assert found == pytest.approx((expected.statistic, expected.df, expected.pvalue), rel=1e-12)
        p.append(found.p)
    assert p[1] < 1e-6 * p[0]


def permute_all(x: Floats, other: Floats, y: Floats) -> float:
    """The p-value over all swaps of items (columns), the sample's own among them."""
    a, b = (x - x.mean()) / x.std(), (other - other.mean()) / other.std()
    differences = []
    for items in itertools.product([False, True], repeat=x.shape[1]):
        swap = np.broadcast_to(np.array(items), x.shape)
        first, second = np.where(swap, b, a), np.where(swap, a, b)
        differences.append(
            stats.pearsonr(first.ravel(), y.ravel())[0]
            - stats.pearsonr(second.ravel(), y.ravel())[0]
        )
    return float((np.abs(differences) >= abs(differences[0]) - 1e-12).mean())


def test_permutations_agree_with_all_of_them() -> None:
    rng = np.random.default_rng(3)
    x, other, y = rng.normal(size=(3, 3, 6))
    y, (system, item) = y + x, np.indices((3, 6))
    found = permute_both(
        x.ravel(), other.ravel(), y.ravel(), system.ravel(), item.ravel(), 4_000, rng
    )["pearson"]
    assert found.p == pytest.approx(permute_all(x, other, y), abs=0.03)
    assert found.difference == pytest.approx(
        stats.pearsonr(x.ravel(), y.ravel())[0] - stats.pearsonr(other.ravel(), y.ravel())[0]
    )
    assert (found.n_permutations, found.n_undefined) == (4_000, 0)


def test_permutations_of_clusters_keep_their_level() -> None:
    # 30 images with an answer of each of four systems; both judges err by image. Of 200 pairs of
    # equal judges 5 % have a standard deviation of 1.5 points; swaps of systems and images, not
    # both, rejected 12 %.
    rng, rejected = np.random.default_rng(7), 0
    image, system = (codes.ravel() for codes in np.indices((30, 4)))
    for _ in range(200):
        y, x, other = (rng.normal(size=(3, 30))[:, image] + rng.normal(size=(3, 120))) / math.sqrt(
            2
        )
        found = permute_both(0.6 * y + 0.8 * x, 0.6 * y + 0.8 * other, y, system, image, 60, rng)
        rejected += found["pearson"].p <= 0.05
    assert rejected <= 20


def test_system_level_swaps_change_the_means() -> None:
    # Two systems of one item: y 0 1, x 0 2, other 5 1. Means as scores; swapping both or none gives
    # 1 - (-1) = 2 in size, swapping one
    # gives (standardised x -1 1, other 1 -1) first judge 1 1: undefined. So every permutation
    # counts against the difference.
    scores = np.array([0.0, 2.0]), np.array([5.0, 1.0]), np.array([0.0, 1.0])
    found = permute_both(
        *scores,
        np.arange(2),
        np.zeros(2, dtype=np.int64),
        400,
        np.random.default_rng(4),
        level="system",
    )["pearson"]
    assert (found.difference, found.p) == pytest.approx((2.0, 1.0))
    assert 150 < found.n_undefined < 250


LEVELS: tuple[Literal["global", "system"], ...] = ("global", "system")


@pytest.mark.parametrize("level", LEVELS)
def test_a_much_better_judge_is_found_and_an_equal_one_is_not(
    level: Literal["global", "system"],
) -> None:
    rng = np.random.default_rng(5)
    systems, items = (codes.ravel() for codes in np.indices((12, 40)))
    y = rng.normal(size=480) + np.linspace(-2, 2, 12)[systems]
    good, same, poor = y + rng.normal(size=480), y + rng.normal(size=480), rng.normal(size=480)
    against_poor = permute_both(good, poor, y, systems, items, 300, rng, level)
    against_same = permute_both(good, same, y, systems, items, 300, rng, level)
    for name in against_poor:
        assert against_poor[name].p <= 0.05, name
        assert against_same[name].p > 0.01, name


def test_a_constant_judge_is_undefined_not_a_warning() -> None:
    rng = np.random.default_rng(6)
    y = rng.normal(size=12)
    codes = np.arange(12)
    found = permute_both(np.ones(12), y, y, codes % 3, codes // 3, 20, rng)["kendall_tau_b"]
    assert math.isnan(found.difference)
    assert math.isnan(found.p)
