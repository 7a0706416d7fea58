"""Bands and ranks read from draws of ratings."""

import math

import numpy as np
import pytest

from judgelake.tasks.stats.comparisons import compare_draws, rank_models, summarise_ratings

NAN, INF = math.nan, math.inf


def test_bands_by_hand() -> None:
    # 0, 1, ..., 100 shuffled: mean and median 50, ends 2.5 and 97.5; one draw has no rating.
    drawn = np.append(np.random.default_rng(0).permutation(101).astype(np.float64), NAN)[:, None]
    band = summarise_ratings(np.hstack([drawn, drawn * NAN]))
    assert [column[0] for column in band[:5]] == pytest.approx([50, 50, 2.5, 97.5, 1])
    assert np.isnan([column[1] for column in band[:4]]).all()
    assert band.n_undefined[1] == 102


def test_infinite_draws_are_ends_of_the_line() -> None:
    # Of 101 draws, 0 to 100, the upper end is 97.5: infinite where 98 is, too; where 99 is the
    # first such it is finite.
    drawn = np.repeat(np.arange(101.0)[:, None], 2, axis=1)
    drawn[-3:, 0] = drawn[-2:, 1] = INF
    band = summarise_ratings(drawn)
    assert band.high.tolist() == [INF, pytest.approx(97.5)]
    assert band.low.tolist() == pytest.approx([2.5, 2.5])
    assert band.median.tolist() == [50, 50]
    assert np.isnan(band.mean).all()


def test_ranks_by_hand() -> None:
    # Models 1 and 2 swap places in half of the draws, both far above 0; model 3 has no rating.
    drawn = np.tile([100.0, 0.0, 0.0, NAN], (40, 1))
    drawn[:20, 1:3], drawn[20:, 1:3] = (210, 200), (200, 210)
    ranking = rank_models(np.array([100.0, 206.0, 205.0, NAN]), compare_draws(drawn))
    assert ranking.order.tolist() == [1, 2, 0]
    assert ranking.rank.tolist() == [3, 1, 2, 0]
    assert ranking.low.tolist() == [3, 1, 1, 0]
    assert ranking.high.tolist() == [3, 2, 2, 0]
    assert ranking.neighbour_is_separable.tolist() == [False, True]


def test_differences_are_taken_draw_by_draw() -> None:
    # The bands overlap almost wholly, but in each draw model 1 is one above.
    shared = np.random.default_rng(0).normal(0, 100, 500)
    drawn = np.stack([shared, shared + 1], axis=1)
    assert compare_draws(drawn).tolist() == [[False, False], [True, False]]
    apart = np.stack([shared, np.random.default_rng(1).permutation(shared) + 1], axis=1)
    assert not compare_draws(apart).any()


def test_equal_ratings_share_the_better_rank() -> None:
    ranking = rank_models(np.array([5.0, 7.0, 5.0]), np.zeros((3, 3), dtype=np.bool_))
    assert ranking.rank.tolist() == [2, 1, 2]
    assert (ranking.low == 1).all()
    assert (ranking.high == 3).all()
    # two models of one record, as a fit on OwlEval gave them
    close = np.array([1112.8542860877126, 1112.8542860877124, 904.5])
    assert rank_models(close, np.zeros((3, 3), dtype=np.bool_)).rank.tolist() == [1, 1, 3]


def test_who_is_above_whom_belongs_to_the_ratings() -> None:
    with pytest.raises(ValueError, match=r"is_above has shape \(5, 2\) for 3 models"):
        rank_models(np.zeros(3), np.zeros((5, 2), dtype=np.bool_))


def test_percentiles_are_numpy_s_and_null_without_draws() -> None:
    drawn = np.random.default_rng(4).normal(1000, 20, (500, 2))
    band = summarise_ratings(np.column_stack([drawn, np.full(500, NAN)]))
    assert band.percentiles.shape == (101, 3)
    assert band.percentiles[:, :2] == pytest.approx(np.percentile(drawn, np.arange(101), axis=0))
    assert np.isnan(band.percentiles[:, 2]).all()
    assert band.percentiles[50, :2] == pytest.approx(band.median[:2])
