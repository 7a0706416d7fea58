"""Intervals of few clusters: a jackknife by hand, what has no interval and why, coverage that plain
percentiles do not reach.
"""

import math

import numpy as np
import pytest
from scipy import stats

from judgelake.tasks.stats.agreement import agree_on_matchups, agree_raters
from judgelake.tasks.stats.bootstrap import Correlation, resample_correlations
from judgelake.tasks.stats.combining import average_correlations, correlate_systems
from judgelake.tasks.stats.estimates import Estimate
from judgelake.tasks.stats.few_clusters import (
    LeftOut,
    add_left_out,
    count_effective,
    find_interval,
    split_left_out,
)
from judgelake.tasks.stats.reliability import fleiss_kappa, krippendorff_alpha
from judgelake.tasks.stats.resampling import draw_cluster_weights
from tests.intervals import left_out_ends
from tests.stats.coverage import (
    LAYOUTS,
    Tally,
    binary_judge_of_three_levels,
    cut,
    draw_by_name,
    draw_normal,
    measure_coverage,
    measure_kappas,
    measure_systems,
    rubric_of_five_levels,
)


def test_clusters_in_effect() -> None:
    assert count_effective(np.array([3, 3, 3, 0])) == pytest.approx(3)
    assert count_effective(np.array([97, 1, 1, 1])) == pytest.approx(100**2 / (97**2 + 3))
    assert count_effective(np.array([], dtype=np.int64)) == 0


def test_raters_that_never_agree_have_an_interval_that_begins_at_minus_1() -> None:
    """Each of eight units has both labels, the same one first: no row has a rarer label."""
    units, labels = np.repeat(np.arange(8), 2), np.tile([0.0, 1.0], 8)
    weights = draw_cluster_weights(8, 50, np.random.default_rng(0))
    found = fleiss_kappa(units, labels, 2, units, weights).kappa
    assert (found.value, found.low, found.high) == (-1, -1, 0)


def test_each_cluster_is_left_out_once() -> None:
    clusters = np.array([4, 4, 7, 9, 9, 2, 0])
    weights = draw_cluster_weights(12, 3, np.random.default_rng(0))
    numbers, more = add_left_out(clusters, weights)
    np.testing.assert_array_equal(numbers, [2, 2, 3, 4, 4, 1, 0])
    np.testing.assert_array_equal(more[:3], weights[:, [0, 2, 4, 7, 9]])
    np.testing.assert_array_equal(more[3:], 1 - np.eye(5))
    drawn, left_out = split_left_out(np.arange(8.0), clusters, 3)
    assert drawn.tolist() == [0, 1, 2]
    assert left_out is not None
    assert left_out.clusters.tolist() == [0, 2, 4, 7, 9]
    assert left_out.sizes.tolist() == [1, 1, 2, 1, 2]


def test_clusters_are_resampled_from_40_in_effect() -> None:
    clusters = np.arange(40)
    weights = draw_cluster_weights(40, 3, np.random.default_rng(0))
    assert add_left_out(clusters, weights) == (clusters, weights)
    more = np.array([*range(40), 0])  # 41 rows, as many as 39.1 equal clusters have
    assert len(add_left_out(more, weights)[1]) == 3 + 40


def test_the_interval_is_a_jackknife_in_fisher_s_z() -> None:
    rng = np.random.default_rng(3)
    x, y, clusters = draw_normal(np.arange(2, 10), 0.6, rng)
    found = resample_correlations(x, y, clusters, draw_cluster_weights(8, 20, rng))
    others = [
        stats.spearmanr(x[clusters != left], y[clusters != left]).statistic for left in range(8)
    ]
    spearman = found["spearman"].summarise()
    ends = left_out_ends(spearman.value, others, range(2, 10))
    assert (spearman.low, spearman.high) == pytest.approx(ends, abs=1e-12)


def test_a_coefficient_that_few_clusters_carry_has_a_wider_interval() -> None:
    """By hand: steps of .1, .1, 0, ... in Fisher's z are two clusters' of ten, (2 * 1.5) degrees;
    equal steps leave all nine.
    """
    sizes, value = np.full(10, 4), 0.3
    for steps, degrees in (([0.1, -0.1] + 8 * [0.0], 3.0), (10 * [0.1], 9.0)):
        others = np.tanh(np.arctanh(value) + np.array(steps))
        left_out = LeftOut(np.arange(10), sizes, others)
        found = find_interval(value, np.array([]), left_out, sizes, "carried")
        reach = stats.t.ppf(0.975, degrees) * np.sqrt(0.9 * np.square(steps).sum())
        ends = np.tanh(np.arctanh(value) + np.array([-reach, reach]))
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-12)


def test_a_value_beside_all_of_its_resamples_lies_in_its_interval() -> None:
    """Resamples that lose a rare level have a larger tau-c, all of them."""
    sizes = np.full(100, 5)
    for drawn in (np.linspace(0.6, 0.7, 50), np.linspace(0.3, 0.4, 50)):
        found = find_interval(0.5, drawn, None, sizes, "carried")
        assert found.low <= 0.5 <= found.high
        assert found.reason is None


def test_a_perfect_judge_has_an_interval_that_goes_down() -> None:
    # ten clusters all agree; of which a share of 1 - .025^(1/10) may disagree in the population:
    # rows that say the opposite take 2 from the coefficient
    x = np.arange(20.0)
    weights = draw_cluster_weights(10, 20, np.random.default_rng(0))
    for sign in (1, -1):
        for one in resample_correlations(x, sign * x, np.arange(20) // 2, weights).values():
            found = one.summarise()
            assert found.value == pytest.approx(sign, abs=1e-12)
            inner = sign * (1 - 2 * (1 - 0.025**0.1))
            assert sorted((found.low, found.high)) == pytest.approx(sorted((sign, inner)))


def test_where_all_agree_the_interval_knows_how_few_rows_have_the_rarer_label() -> None:
    """By hand: of 40 rows in clusters of their own two say no. Two clusters can miss a share of
    1 - .025^(1/2) = .842; so many of the two said yes by one side: 1 - .842 / (1 + .158 * .9).
    """
    labels, rows = np.append(np.ones(38), [0.0, 0.0]), np.arange(40)
    weights = draw_cluster_weights(40, 20, np.random.default_rng(0))
    units, both = np.tile(rows, 2), np.tile(labels, 2)
    found: list[Estimate | Correlation] = [
        agree_raters(labels, labels, rows, weights)["kappa_nominal"],
        krippendorff_alpha(units, both, "nominal", units, weights).alpha,
        fleiss_kappa(units, both, 2, units, weights).kappa,
        resample_correlations(labels, labels, rows, weights)["pearson"].summarise(),
        average_correlations([resample_correlations(labels, labels, rows, weights)] * 2)[
            "kendall_tau_b"
        ].mean.summarise(),
    ]
    missed = 1 - 0.025**0.5
    for one in found:
        assert (one.low, one.high) == pytest.approx((1 - missed / (1 + (1 - missed) * 0.9), 1))
    agreement = agree_raters(labels, labels, rows, weights)["agreement"]
    assert agreement.low == pytest.approx(0.025 ** (1 / 40))


def test_matchups_have_rarer_labels_of_their_own() -> None:
    """One model of each matchup wins 18 of 20 rows: each matchup's other two rows are the rarer."""
    matchups = np.arange(40) % 2
    labels = (matchups ^ (np.arange(40) >= 36)).astype(np.float64)
    weights = draw_cluster_weights(40, 20, np.random.default_rng(0))
    found = agree_on_matchups(labels, labels, matchups, np.arange(40), weights)["kappa_matchups"]
    missed = 1 - 0.025**0.25
    assert found.low == pytest.approx(1 - missed / (1 + (1 - missed) * 0.8))


def test_kappas_of_rare_labels_cover() -> None:
    # of raters who differ on 1 of 100 rows and say no to 3 of 100; the interval from the number of
    # all rows held the truth, .86, in 24 of 100 samples
    rng, tally = np.random.default_rng(6), Tally()
    for sample in range(200):
        first = (rng.random(60) < 0.97).astype(np.float64)
        second = np.where(rng.random(60) < 0.01, 1 - first, first)
        weights = draw_by_name(60, 100, sample)
        found = agree_raters(first, second, np.arange(60), weights)["kappa_nominal"]
        tally.add(found.low, found.high, 0.857)
    assert tally.close().held >= 0.93
    assert tally.close().without < 0.6


def test_pearson_of_ratings_with_a_ceiling_covers() -> None:
    # 82 of 100 ratings are the highest; with one degree less than clusters it held .42, the
    # population's, in 88 of 100 samples of 20 rows
    rng, tally = np.random.default_rng(7), Tally()
    for sample in range(300):
        x, y, rows = draw_normal(np.ones(25, dtype=np.int64), 0.6, rng)
        ceiling = [stats.norm.cdf(end) for end in (-2, -1.5, -1.2, -0.9)]
        weights = draw_by_name(25, 20, sample)
        found = resample_correlations(cut(x, ceiling), cut(y, ceiling), rows, weights)["pearson"]
        interval = found.summarise()
        tally.add(interval.low, interval.high, 0.422)
    assert tally.close().held >= 0.9


SEVEN = np.full(7, 3)
NOTHING = np.array([0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("value", "sizes", "others", "reason"),
    [
        (math.nan, SEVEN, None, "undefined on the sample"),
        (0.5, np.full(4, 9), None, "fewer than 5 clusters"),
        (0.5, np.array([97, 1, 1, 1, 1]), np.full(5, 0.5), "almost all rows are in one or two clusters"),
        (0.5, SEVEN, np.append(np.full(6, 0.5), math.nan), "undefined without one of the clusters"),
    ],
)  # fmt: skip
def test_without_an_interval_there_is_a_reason(
    value: float, sizes: np.ndarray, others: np.ndarray | None, reason: str
) -> None:
    left_out = None if others is None else LeftOut(np.arange(others.size), sizes, others)
    found = find_interval(value, NOTHING, left_out, sizes, "coefficient")
    assert found.reason == reason
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("n_models", [3, 5])
def test_few_models_have_no_interval(n_models: int) -> None:
    rng = np.random.default_rng(n_models)
    models, items = (part.ravel() for part in np.indices((n_models, 40)))
    x, y = models + rng.normal(size=(2, models.size))
    weights = draw_cluster_weights(40, 20, rng), draw_cluster_weights(n_models, 20, rng)
    for one in correlate_systems(x, y, models, items, *weights).values():
        assert one.summarise().reason == "fewer than 6 models"


@pytest.mark.parametrize("layout", ["equal", "uneven"])
@pytest.mark.parametrize("population", [binary_judge_of_three_levels, rubric_of_five_levels])
def test_correlations_of_few_clusters_cover(population: object, layout: str) -> None:
    # plain percentiles held the truth in 82 to 90 of 100 samples of 5 clusters
    rng = np.random.default_rng(2)
    found = measure_coverage(population, LAYOUTS[layout], 10, 150, 20, rng)  # type: ignore[arg-type]
    for name in ("pearson", "spearman", "kendall_tau_b"):
        assert found[name].held >= 0.9, (name, found[name])


def test_kappas_and_systems_of_few_cover() -> None:
    kappas = measure_kappas(LAYOUTS["equal"], 10, 200, 20, np.random.default_rng(4))
    systems = measure_systems(8, 20, 200, np.random.default_rng(5))
    for name, found in (*kappas.items(), *systems.items()):
        assert found.held >= 0.9, (name, found)
