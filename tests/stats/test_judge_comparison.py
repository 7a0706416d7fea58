"""Judges of a column against explicitly repeated rows, statsmodels' Holm, and planted winners."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from judgelake.tasks.stats.bootstrap import Resampled, correlate
from judgelake.tasks.stats.judge_comparison import (
    Column,
    adjust_holm,
    compare_correlations,
    correct_pairs,
    mark_best,
)
from judgelake.tasks.stats.resampling import draw_cluster_weights
from tests.stats.equal_judges import measure_family

Floats = NDArray[np.float64]


def plant_judges(
    noise: list[float], n: int, rng: np.random.Generator
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Judges that see a three-level target through so much noise; three rows a cluster."""
    y = rng.integers(0, 3, n).astype(np.float64)
    x = y[:, None] + rng.normal(size=(n, len(noise))) * noise
    return x, y, np.arange(n) // 3


def test_the_best_judge_is_marked_and_only_where_it_is_surely_best() -> None:
    rng = np.random.default_rng(3)
    x, y, clusters = plant_judges([1.0, 0.3, 1.2], 600, rng)
    for column in compare_correlations(
        x, y, clusters, draw_cluster_weights(200, 400, rng)
    ).values():
        assert column.leader == 1
        assert mark_best(column) == 1
        assert [difference.other for difference in column.differences] == [0, 2]
        assert all(
            difference.low > 0 and difference.p_holm == 1 / 401 for difference in column.differences
        )
    x, y, clusters = plant_judges([1.0, 1.0, 1.0], 600, rng)
    assert all(
        mark_best(column) is None
        for column in compare_correlations(
            x, y, clusters, draw_cluster_weights(200, 400, rng)
        ).values()
    )


def test_differences_are_of_the_rows_both_scored() -> None:
    rng = np.random.default_rng(4)
    x, y, clusters = plant_judges([0.5, 0.8], 90, rng)
    x[:20, 0], x[60:, 1], y[30:33] = math.nan, math.nan, math.nan
    weights = draw_cluster_weights(30, 50, rng)
    column = compare_correlations(x, y, clusters, weights)["spearman"]
    assert [own.n for own in column.own] == [67, 57]
    alone = ~np.isnan(x[:, 1]) & ~np.isnan(y)
    assert (
        column.own[1] == correlate(x[alone, 1], y[alone], clusters[alone], 50, weights)["spearman"]
    )
    (difference,) = column.differences
    both = ~np.isnan(x).any(axis=1) & ~np.isnan(y)
    assert (
        (difference.n_common, difference.n_clusters)
        == (both.sum(), np.unique(clusters[both]).size)
        == (37, 13)
    )
    drawn = []
    for counts in weights:
        rows = np.repeat(np.flatnonzero(both), counts[clusters[both]])
        drawn.append(
            stats.spearmanr(x[rows, 0], y[rows]).statistic
            - stats.spearmanr(x[rows, 1], y[rows]).statistic
        )
    sign = 1 if column.leader == 0 else -1
    whole = (
        stats.spearmanr(x[both, 0], y[both]).statistic
        - stats.spearmanr(x[both, 1], y[both]).statistic
    )
    assert difference.difference == pytest.approx(sign * whole, abs=1e-12)
    # One pair: |draw - difference| over its standard deviation, widened by t of 12 degrees of
    # freedom (2.178813) over the normal quantile and by the root of 13 / 12.
    spread = np.std(drawn)
    distance = (
        np.abs(sign * np.array(drawn) - sign * whole) * math.sqrt(13 / 12) * 2.178813 / 1.959964
    )
    against = (distance / spread >= abs(whole) / spread).sum()
    assert difference.p_holm == pytest.approx((against + 1) / 51)
    assert (difference.high - difference.low) / 2 == pytest.approx(
        np.quantile(distance, 0.95), rel=1e-6
    )


def test_a_leader_by_its_own_rows_that_is_behind_on_the_common_ones_is_not_the_best() -> None:
    rng = np.random.default_rng(8)
    x, y, clusters = plant_judges([0.5, 0.1], 300, rng)
    x[100:, 0] = math.nan  # scored the rows only on which the other is good too
    x[100:, 1] = rng.normal(size=200)
    weights = draw_cluster_weights(100, 400, rng)
    for column in compare_correlations(x, y, clusters, weights).values():
        (difference,) = column.differences
        assert (column.leader, difference.n_common) == (0, 100)
        assert difference.high < 0
        assert difference.p_holm <= 0.05
        assert mark_best(column) is None


def test_two_copies_of_a_judge_never_differ() -> None:
    rng = np.random.default_rng(5)
    x, y, clusters = plant_judges([0.5], 60, rng)
    column = compare_correlations(
        np.repeat(x, 2, axis=1), y, clusters, draw_cluster_weights(20, 30, rng)
    )["pearson"]
    assert_no_error_known(column, 0.0)


def assert_no_error_known(column: Column, value: float) -> None:
    """The only difference is this, without an interval, which a p of 1 does not contradict."""
    (difference,) = column.differences
    assert difference.difference == pytest.approx(value, abs=1e-12)
    assert np.isnan([difference.low, difference.high]).all()
    assert difference.p_holm == 1
    assert difference.reason == "the same in all resamples, which say nothing of its error"
    assert mark_best(column) is None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_judges_at_the_ends_of_the_scale_have_a_difference_without_an_interval(
    sign: float,
) -> None:
    rng = np.random.default_rng(23)
    _, y, clusters = plant_judges([0.5], 60, rng)
    x = np.column_stack([y, sign * (0.1 + 3 * y)])
    weights = draw_cluster_weights(20, 100, rng)
    columns = compare_correlations(x, y, clusters, weights)
    for name in ("pearson", "spearman", "kendall_tau_b"):
        assert_no_error_known(columns[name], 1 - sign)


def test_a_difference_ends_where_differences_do() -> None:
    drawn = np.random.default_rng(24).normal(1.65, 0.3, 500)
    found = correct_pairs([Resampled(sign * 1.65, sign * drawn, 6, 6) for sign in (1, -1)])
    assert (found.high[0], found.low[1]) == (2.0, -2.0)
    assert found.low[0] == -found.high[1] > -2


def test_one_cluster_gives_a_reason_in_place_of_a_width() -> None:
    drawn = np.random.default_rng(25).normal(0.2, 0.1, 500)
    found = correct_pairs([Resampled(0.2, drawn, 8, 1)])
    assert found.reasons == ["fewer than 2 clusters"]
    assert found.p_holm.tolist() == [1.0]
    assert np.isnan([found.low, found.high]).all()


def test_judges_without_a_coefficient_are_not_compared() -> None:
    rng = np.random.default_rng(6)
    x, y, clusters = plant_judges([0.2, 5.0, 1.0, 1.0], 300, rng)
    x[:, 2], x[:, 3] = 0.5, math.nan  # always the same score; nothing scored
    column = compare_correlations(x, y, clusters, draw_cluster_weights(100, 100, rng))[
        "kendall_tau_b"
    ]
    assert [difference.other for difference in column.differences] == [1]
    assert mark_best(column) == 0
    assert math.isnan(column.own[2].value)
    assert column.own[3].n == 0


def test_a_column_of_one_judge_or_of_none_that_is_defined_has_no_best() -> None:
    rng = np.random.default_rng(7)
    x, y, clusters = plant_judges([0.2], 30, rng)
    weights = draw_cluster_weights(10, 20, rng)
    assert mark_best(compare_correlations(x, y, clusters, weights)["pearson"]) is None
    column = compare_correlations(np.ones_like(x), y, clusters, weights)["pearson"]
    assert (column.leader, column.differences, mark_best(column)) == (None, [], None)


def test_means_of_cells_are_compared_over_the_cells_of_both() -> None:
    rng = np.random.default_rng(9)
    x, y, clusters = plant_judges([0.6, 0.7], 90, rng)
    cells = np.arange(90) % 3
    x[cells == 2, 1] = 0.5  # the second judge has no coefficient there
    weights = draw_cluster_weights(30, 40, rng)
    column = compare_correlations(x, y, clusters, weights, cells)["spearman"]
    in_cells = [
        [
            stats.spearmanr(x[cells == code, judge], y[cells == code]).statistic
            for code in range(3 - judge)
        ]
        for judge in (0, 1)
    ]
    assert [own.value for own in column.own] == pytest.approx(
        [np.mean(values) for values in in_cells], abs=1e-12
    )
    assert (column.n_cells, [own.n for own in column.own]) == ([3, 2], [90, 60])
    (difference,) = column.differences
    gap = np.mean(in_cells[0][:2]) - np.mean(in_cells[1])
    assert difference.difference == pytest.approx(gap if column.leader == 0 else -gap, abs=1e-12)
    assert (difference.n_cells, difference.n_common) == (2, 60)


def test_judges_without_a_common_row_have_no_difference() -> None:
    rng = np.random.default_rng(10)
    x, y, clusters = plant_judges([0.3, 0.3], 30, rng)
    x[:15, 0], x[15:, 1] = math.nan, math.nan
    column = compare_correlations(x, y, clusters, draw_cluster_weights(10, 20, rng))["pearson"]
    (difference,) = column.differences
    assert math.isnan(difference.difference)
    assert (difference.n_common, difference.n_undefined, difference.p_holm) == (0, 20, 1.0)
    assert mark_best(column) is None


def test_undefined_resamples_count_against_a_difference() -> None:
    drawn = np.array([0.5, 0.6, 0.7, 0.55, 0.65, 0.6, math.nan, math.nan])
    defined = correct_pairs([Resampled(0.6, drawn, 30, 20)])
    assert defined.p_holm == pytest.approx(3 / 9)
    assert np.isnan([defined.low, defined.high]).all()  # two of eight may lie anywhere
    assert defined.reasons == [
        "the difference is undefined in more than 5 % of the resamples, which its p counts"
    ]


def test_differences_that_lack_other_resamples_have_no_common_width_and_say_so() -> None:
    drawn = np.random.default_rng(26).normal(0.6, 0.1, 1_000)
    places = np.arange(1_000)
    in_part = [np.where((places >= k) & (places < k + 40), math.nan, drawn) for k in (0, 40)]
    found = correct_pairs([Resampled(0.6, draws, 30, 20) for draws in in_part])
    assert np.isnan(found.low).all()
    assert set(found.reasons) == {
        "more than 5 % of the resamples lack one of the column's differences"
    }


def test_a_few_undefined_resamples_widen_an_interval() -> None:
    rng = np.random.default_rng(21)
    drawn = rng.normal(0.6, 0.1, 1_000)
    drawn_in_part = np.where(np.arange(1_000) < 40, math.nan, drawn)
    whole, part = (
        correct_pairs([Resampled(0.6, draws, 30, 20)]) for draws in (drawn, drawn_in_part)
    )
    assert part.high[0] - 0.6 > 1.1 * (whole.high[0] - 0.6)
    assert part.reasons == [None]


def test_a_pair_whose_values_have_no_interval_has_none_either() -> None:
    """Almost all rows in one cluster, and few models."""
    rng = np.random.default_rng(22)
    x, y, _ = plant_judges([0.1, 1.0, 3.0], 300, rng)
    clusters = np.minimum(np.arange(300), 290) // 290 + np.arange(300) // 291 * np.arange(300)
    clusters = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    weights = draw_cluster_weights(int(clusters.max()) + 1, 200, rng)
    column = compare_correlations(x, y, clusters, weights)["pearson"]
    assert {own.reason for own in column.own} == {"almost all rows are in one or two clusters"}
    for difference in column.differences:
        assert math.isnan(difference.low)
        assert math.isnan(difference.high)
        assert difference.reason == "almost all rows are in one or two clusters"
        assert difference.p_holm == 1.0


def test_pairs_are_corrected_together_step_by_step() -> None:
    # Two differences of 10,000 clusters, whose widening is next to nothing. Draws lie .2 or .087
    # away, of both never .2 at once; the standard deviation is .1.
    signs = np.tile([1.0, -1.0], 20)
    large = np.where(np.arange(40) < 8, 0.2, math.sqrt(0.0075)) * signs
    small = np.roll(large, 8)
    pairs = [
        Resampled(value, value + draws, 9_000, 10_000)
        for value, draws in ((0.15, large), (0.05, small))
    ]
    found = correct_pairs(pairs)
    # .15 is exceeded by draws of .2 of either pair, 16 of 40; .05 by all draws of its own alone.
    assert found.p_holm == pytest.approx([17 / 41, 1.0])
    assert found.high == pytest.approx([0.15 + 0.2, 0.05 + 0.2], rel=1e-3)


def test_few_clusters_give_no_interval_and_nobody_is_best() -> None:
    rng = np.random.default_rng(12)
    x, y, clusters = plant_judges([0.1, 3.0], 12, rng)
    column = compare_correlations(x, y, clusters, draw_cluster_weights(4, 200, rng))["pearson"]
    (difference,) = column.differences
    assert (difference.n_clusters, difference.p_holm) == (4, 1.0)
    assert math.isnan(difference.low)
    assert mark_best(column) is None


def test_holm_by_hand_and_statsmodels() -> None:
    # Sorted .01 .02 .02 .04 times 4 3 2 1: .04 .06 .04 .04, each at least the one before: .04 .06
    # .06 .06.
    np.testing.assert_allclose(
        adjust_holm(np.array([0.04, 0.02, 0.01, 0.02])), [0.06, 0.06, 0.04, 0.06], rtol=1e-12
    )
    for n in (1, 7):
        p = np.random.default_rng(n).random(n)
        np.testing.assert_allclose(adjust_holm(p), multipletests(p, method="holm")[1], rtol=1e-12)
    assert adjust_holm(np.empty(0)).size == 0
    # Two of six tests: .01 times 6, .02 times 5.
    np.testing.assert_allclose(adjust_holm(np.array([0.02, 0.01]), 6), [0.1, 0.06])


def test_mismatched_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"x has shape \(3,\)"):
        compare_correlations(
            np.zeros(3), np.zeros(3), np.zeros(3, dtype=np.int64), np.ones((2, 1), dtype=np.int64)
        )


def test_six_equal_judges_seldom_differ_and_all_intervals_hold_at_once() -> None:
    # 20 clusters of 3 rows, 120 samples: 5 % have a standard deviation of 2 points. With Holm over
    # the leader's pairs alone some p was below .05 in 11 %, and the intervals left out 0 in 40 %.
    found = measure_family(20, 3, 120, 150, np.random.default_rng(2))
    assert found["kendall_tau_b"].rejected <= 0.09
    assert found["pearson"].rejected <= 0.09
    assert all(rates.held >= 0.91 for rates in found.values())
