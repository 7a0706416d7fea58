"""Bands and ranks read from draws of ratings."""

import math

import numpy as np
import pytest

from judgelake.tasks.stats.comparisons import rank_models, summarise_ratings
from judgelake.tasks.stats.resampling import expanded_interval

NAN, INF = math.nan, math.inf


def test_bands_by_hand() -> None:
    # 0, 1, ..., 100 shuffled: mean and median 50, ends 2.5 and 97.5; one draw has no rating.
    drawn = np.append(np.random.default_rng(0).permutation(101).astype(np.float64), NAN)[:, None]
    band = summarise_ratings(np.hstack([drawn, drawn * NAN]), None)
    assert [column[0] for column in band] == pytest.approx([50, 50, 2.5, 97.5, 1])
    assert np.isnan([column[1] for column in band[:4]]).all()
    assert band.n_undefined[1] == 102


def test_few_clusters_widen_the_ends() -> None:
    drawn = np.random.default_rng(0).normal(size=(4_000, 2))
    plain, many, few = (summarise_ratings(drawn, n) for n in (None, 100_000, 10))
    np.testing.assert_allclose(many.high, plain.high, atol=0.01)
    for model in range(2):
        assert (few.low[model], few.high[model]) == pytest.approx(
            expanded_interval(drawn[:, model], 10)[:2]
        )
    assert (few.high - few.low > 1.1 * (plain.high - plain.low)).all()
    assert np.isnan(summarise_ratings(drawn, 1).low).all()


def test_infinite_draws_are_ends_of_the_line() -> None:
    # Of 101 draws, 0 to 100, the upper end is 97.5: infinite where 98 is, too; where 99 is the
    # first such it is finite.
    drawn = np.repeat(np.arange(101.0)[:, None], 2, axis=1)
    drawn[-3:, 0] = drawn[-2:, 1] = INF
    band = summarise_ratings(drawn, None)
    assert band.high.tolist() == [INF, pytest.approx(97.5)]
    assert band.low.tolist() == pytest.approx([2.5, 2.5])
    assert band.median.tolist() == [50, 50]
    assert np.isnan(band.mean).all()


def test_ranks_by_hand() -> None:
    # Models 1 and 2 swap places in half of the draws, both far above 0; model 3 has no rating.
    drawn = np.tile([100.0, 0.0, 0.0, NAN], (40, 1))
    drawn[:20, 1:3], drawn[20:, 1:3] = (210, 200), (200, 210)
    ranking = rank_models(np.array([100.0, 206.0, 205.0, NAN]), drawn, None)
    assert ranking.order.tolist() == [1, 2, 0]
    assert ranking.rank.tolist() == [3, 1, 2, 0]
    assert ranking.low.tolist() == [3, 1, 1, 0]
    assert ranking.high.tolist() == [3, 2, 2, 0]
    assert ranking.neighbour_is_separable.tolist() == [False, True]


def test_differences_are_taken_draw_by_draw() -> None:
    # The bands overlap almost wholly, but in each draw model 1 is one above.
    shared = np.random.default_rng(0).normal(0, 100, 500)
    drawn = np.stack([shared, shared + 1], axis=1)
    assert rank_models(np.array([0.0, 1.0]), drawn, None).neighbour_is_separable.tolist() == [True]
    apart = np.stack([shared, np.random.default_rng(1).permutation(shared) + 1], axis=1)
    assert rank_models(np.array([0.0, 1.0]), apart, None).neighbour_is_separable.tolist() == [False]


def test_equal_ratings_share_the_better_rank() -> None:
    ranking = rank_models(np.array([5.0, 7.0, 5.0]), np.zeros((10, 3)), None)
    assert ranking.rank.tolist() == [2, 1, 2]
    assert (ranking.low == 1).all()
    assert (ranking.high == 3).all()


def test_draws_belong_to_the_ratings() -> None:
    with pytest.raises(ValueError, match=r"draws of shape \(5, 2\) for 3 models"):
        rank_models(np.zeros(3), np.zeros((5, 2)), None)
