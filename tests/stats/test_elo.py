"""Elo: the plain loop over the same orders as oracle, orders that are fair, absent models, and
seeds.
"""

import itertools

import numpy as np
import pytest

from judgelake.tasks.stats.comparisons import Comparisons, select_comparisons
from judgelake.tasks.stats.elo import EloScale, bootstrap_elo, permute_elo
from judgelake.tasks.stats.kernels import elo as elo_kernel
from judgelake.tasks.stats.resampling import draw_cluster_weights
from tests.stats.drawn_comparisons import draw_comparisons

SCALE = EloScale(1000, 4, 400)
STRENGTHS = np.array([-0.9, -0.3, 0.0, 0.4, 0.8])


def rate_plainly(rows: np.ndarray, drawn: Comparisons, scale: EloScale) -> np.ndarray:
    """Elo's own definition, one update after the other."""
    ratings = np.full(drawn.n_models, float(scale.initial))
    for row in rows:
        a, b, share = drawn.model_a[row], drawn.model_b[row], 1 - drawn.preference_b[row]
        with np.errstate(over="ignore"):
            moved = scale.k * (share - 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / scale.scale)))
        ratings[a] += moved
        ratings[b] -= moved
    return ratings


@pytest.mark.parametrize(
    "scale", [SCALE, EloScale(1500, 32, 400), EloScale(0, 1000, 10), EloScale(0, 1e6, 1)]
)
def test_one_comparison_a_cluster_drawn_alone_is_the_plain_loop(scale: EloScale) -> None:
    # A resample that holds one cluster 7 times has one order only.
    drawn = draw_comparisons(STRENGTHS, 6, 1, np.random.default_rng(0))
    drawn = drawn._replace(preference_b=np.array([0.0, 1.0, 0.5, 0.25, 0.9, 1.0]))
    weights = (7 * np.eye(6)).astype(np.uint16)
    ratings = bootstrap_elo(drawn, scale, weights, np.random.default_rng(0)).ratings
    for row in range(6):
        expected = rate_plainly(np.full(7, row), drawn, scale)
        met = [drawn.model_a[row], drawn.model_b[row]]
        np.testing.assert_allclose(ratings[row, met], expected[met], rtol=1e-13)


def test_passes_are_the_plain_loop_over_the_shuffled_orders() -> None:
    # The kernel's orders are replayed: kinds of comparison, sixteen lanes of different lengths.
    rng = np.random.default_rng(3)
    kinds, lengths = (
        rng.integers(0, 40, (elo_kernel.LANES, 300)).astype(np.uint16),
        rng.integers(0, 301, elo_kernel.LANES),
    )
    model_a = np.append(rng.integers(0, 5, 40), 5).astype(np.uint32)
    model_b = np.append((model_a[:40] + rng.integers(1, 5, 40)) % 5, 6).astype(np.uint32)
    share_a = np.append(rng.random(40), 0.5)
    for lane, length in enumerate(lengths):
        kinds[lane, length:] = 40
    ratings = np.full(7 * elo_kernel.LANES, 1000.0)
    lanes = np.uint32(elo_kernel.LANES)
    elo_kernel.update_ratings(
        kinds, 300, model_a * lanes, model_b * lanes, share_a, 16.0, np.log(10) / 400, ratings
    )
    drawn = Comparisons(
        model_a.astype(np.int64),
        model_b.astype(np.int64),
        1 - share_a,
        np.zeros(41, dtype=np.int64),
        7,
        0,
    )
    for lane, length in enumerate(lengths):
        expected = rate_plainly(kinds[lane, :length], drawn, EloScale(1000, 16, 400))
        np.testing.assert_allclose(ratings.reshape(7, -1)[:5, lane], expected[:5], rtol=1e-12)


def test_ratings_of_permutations_are_those_of_some_order() -> None:
    # Four different comparisons have 24 orders; each rating of 400 permutations is that of one, and
    # all orders come up.
    drawn = select_comparisons(
        np.array([0, 0, 1, 2]),
        np.array([1, 2, 2, 0]),
        np.array([0.0, 1.0, 0.5, 0.0]),
        np.arange(4),
        3,
    )
    scale = EloScale(1000, 100, 400)
    possible = np.array(
        [rate_plainly(np.array(order), drawn, scale) for order in itertools.permutations(range(4))]
    )
    ratings = permute_elo(drawn, scale, 400, np.random.default_rng(1)).ratings
    gaps = np.abs(ratings[:, None] - possible).max(axis=2)
    np.testing.assert_allclose(gaps.min(axis=1), 0, atol=1e-9)
    assert np.unique(gaps.argmin(axis=1)).size == np.unique(possible.round(6), axis=0).shape[0]


def test_shuffles_are_fair() -> None:
    # Every value stands at each of 6 places in 1/6 of 12,000 shuffles: 2,000, standard deviation
    # 41.
    counts = np.zeros((6, 6))
    for seed in np.random.default_rng(0).integers(2**64, size=12_000, dtype=np.uint64):
        order = np.arange(6, dtype=np.uint16)
        elo_kernel.shuffle_matches(order, 6, seed)
        counts[np.arange(6), order] += 1
    assert np.abs(counts - 2_000).max() < 5 * 41


def test_resamples_hold_their_clusters_as_often_as_drawn() -> None:
    kinds, starts = np.array([3, 4, 5, 6], dtype=np.uint16), np.array([0, 2, 2, 4])
    order = np.zeros(12, dtype=np.uint16)
    n = elo_kernel.repeat_matches(kinds, starts, np.array([2, 5, 1], dtype=np.uint16), order)
    assert order[:n].tolist() == [3, 4, 3, 4, 5, 6]


def test_planted_strengths_come_out_in_order() -> None:
    drawn = draw_comparisons(STRENGTHS, 300, 5, np.random.default_rng(5))
    found = bootstrap_elo(
        drawn,
        SCALE,
        draw_cluster_weights(300, 200, np.random.default_rng(6)),
        np.random.default_rng(7),
    )
    assert found.band.median.argsort().tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(
        found.ratings.mean(axis=1), 1000, atol=1e-9
    )  # what one model gains the other loses
    assert (found.band.low < found.band.median).all()
    assert found.band_name == "order-and-resampling spread"


def test_order_alone_spreads_less_than_order_and_resampling() -> None:
    drawn = draw_comparisons(STRENGTHS, 100, 5, np.random.default_rng(5))
    weights = draw_cluster_weights(100, 300, np.random.default_rng(6))
    alone = permute_elo(drawn, SCALE, 300, np.random.default_rng(7))
    both = bootstrap_elo(drawn, SCALE, weights, np.random.default_rng(7))
    assert alone.band_name == "order spread"
    assert ((alone.band.high - alone.band.low) < (both.band.high - both.band.low)).all()


def test_seeds_are_honoured_whatever_the_number_of_passes() -> None:
    drawn = draw_comparisons(STRENGTHS, 30, 3, np.random.default_rng(0))
    weights = draw_cluster_weights(30, 70, np.random.default_rng(0))
    first = bootstrap_elo(drawn, SCALE, weights, np.random.default_rng(0)).ratings
    np.testing.assert_array_equal(
        first, bootstrap_elo(drawn, SCALE, weights, np.random.default_rng(0)).ratings
    )
    np.testing.assert_array_equal(
        first[:21], bootstrap_elo(drawn, SCALE, weights[:21], np.random.default_rng(0)).ratings
    )
    assert (first != bootstrap_elo(drawn, SCALE, weights, np.random.default_rng(1)).ratings).any()


def test_models_absent_from_a_resample_have_no_rating_there() -> None:
    # Model 3 meets nobody; model 2 only in cluster 1. A tie of equals leaves a rating where it
    # started, and that is a rating.
    drawn = select_comparisons(
        np.array([0, 0]), np.array([1, 2]), np.array([0.5, 1.0]), np.array([0, 1]), 4
    )
    weights = np.array([[1, 1], [2, 0], [0, 2]], dtype=np.uint16)
    found = bootstrap_elo(drawn, SCALE, weights, np.random.default_rng(0))
    assert found.band.n_undefined.tolist() == [0, 1, 1, 3]
    assert found.ratings[1, 0] == found.ratings[1, 1] == 1000


def test_more_kinds_than_sixteen_bits_hold() -> None:
    # 70,000 shares of their own, each a cluster. One comparison of equals moves a by K (share -
    # 1/2).
    n = 70_000
    preference_b = np.random.default_rng(0).random(n)
    codes = np.zeros(n, dtype=np.int64)
    drawn = select_comparisons(codes, codes + 1, preference_b, np.arange(n), 2)
    rows = preference_b.argsort()[[0, 65_534, 65_536, 69_999]]
    weights = np.zeros((4, n), dtype=np.uint16)
    weights[np.arange(4), rows] = 1
    found = bootstrap_elo(drawn, SCALE, weights, np.random.default_rng(0))
    np.testing.assert_allclose(
        found.ratings[:, 0], 1000 + 4 * (0.5 - preference_b[rows]), rtol=1e-14
    )


def test_no_comparisons_and_no_passes() -> None:
    rng, codes = np.random.default_rng(0), np.zeros(0, dtype=np.int64)
    nothing = select_comparisons(codes, codes, np.zeros(0), codes, 2)
    assert np.isnan(
        bootstrap_elo(nothing, SCALE, draw_cluster_weights(0, 3, rng), rng).ratings
    ).all()
    assert permute_elo(draw_comparisons(STRENGTHS, 3, 2, rng), SCALE, 0, rng).ratings.shape == (
        0,
        5,
    )


def test_wrong_scales_are_refused() -> None:
    drawn = draw_comparisons(STRENGTHS, 3, 2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="K and scale above 0"):
        permute_elo(drawn, EloScale(1000, 0, 400), 3, np.random.default_rng(0))
