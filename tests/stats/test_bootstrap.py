"""Lockstep resamples against coefficients of the explicitly repeated rows, and what is known of the
truth.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from judgelake.tasks.stats import bootstrap
from judgelake.tasks.stats.bootstrap import bootstrap_correlations, correlate
from judgelake.tasks.stats.cluster_sums import AnyWeights
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.stats.resampling import draw_cluster_weights

Floats = NDArray[np.float64]


def repeat_and_ask_scipy(
    x: Floats, y: Floats, clusters: NDArray[np.int64], weights: AnyWeights
) -> dict[str, Floats]:
    found: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
    for drawn in weights:
        rows = np.repeat(np.arange(x.size), drawn[clusters])
        a, b = x[rows], y[rows]
        is_defined = np.unique(a).size > 1 and np.unique(b).size > 1
        found["pearson"].append(float(stats.pearsonr(a, b).statistic) if is_defined else math.nan)
        found["spearman"].append(float(stats.spearmanr(a, b).statistic) if is_defined else math.nan)
        found["kendall_tau_b"].append(
            float(stats.kendalltau(a, b, variant="b").statistic) if is_defined else math.nan
        )
        found["kendall_tau_c"].append(
            float(stats.kendalltau(a, b, variant="c").statistic) if is_defined else math.nan
        )
    return {name: np.array(values) for name, values in found.items()}


def assert_same(found: dict[str, Floats], expected: dict[str, Floats]) -> None:
    assert found.keys() == expected.keys() == COEFFICIENTS.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-12, err_msg=name)


def test_hand_arithmetic() -> None:
    # Rows (1, 1), (2, 1), (2, 2), (3, 2), each a cluster of its own.
    # Resample 1, each once: C = 3, D = 0, one pair tied in x and two in y: tau-b 3/sqrt(5*4), tau-c
    # 2*3/(16*1/2) = 0.75.
    # Resample 2, the first twice and the third twice: (1,1) (1,1) (2,2) (2,2): four concordant
    # pairs, one tied on both sides in
    # each half: tau-b 4/sqrt(4*4) = 1, tau-c 2*4/(16*1/2) = 1. Resample 3, the second four times:
    # undefined.
    x, y = np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0, 2.0])
    found = bootstrap_correlations(
        x, y, np.arange(4), np.array([[1, 1, 1, 1], [2, 0, 2, 0], [0, 4, 0, 0]])
    )
    np.testing.assert_allclose(found["kendall_tau_b"], [3 / math.sqrt(20), 1, math.nan], atol=1e-15)
    np.testing.assert_allclose(found["kendall_tau_c"], [0.75, 1, math.nan], atol=1e-15)
    np.testing.assert_allclose(found["pearson"], [1 / math.sqrt(2), 1, math.nan], atol=1e-15)
    np.testing.assert_allclose(found["spearman"], [3 / math.sqrt(18), 1, math.nan], atol=1e-15)


ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(-2, 2), st.integers(0, 5)), min_size=1, max_size=60
)
WEIGHTS = st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=5)


@given(rows=ROWS, drawn=WEIGHTS)
@settings(max_examples=100)
def test_equals_scipy_on_repeated_rows(
    rows: list[tuple[int, int, int]], drawn: list[list[int]]
) -> None:
    x, y, clusters = np.array(rows).T
    scores = x.astype(np.float64), y.astype(np.float64), clusters
    assert_same(
        bootstrap_correlations(*scores, np.array(drawn)),
        repeat_and_ask_scipy(*scores, np.array(drawn)),
    )


def test_tau_c_counts_the_levels_that_were_drawn() -> None:
    # x has five values and y three, but the resample holds (1,0) (1,1) (2,1) (2,2): m = 2, and of
    # six pairs two are tied in x, one
    # in y, three concordant: 2 * 3 / (4^2 * 1/2) = 0.75. With m = 3 it would be 6 / (16 * 2/3) =
    # 0.5625.
    x, y = (
        np.array([1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0]),
        np.array([0.0, 1.0, 1.0, 2.0, 0.0, 1.0, 2.0]),
    )
    found = bootstrap_correlations(x, y, np.arange(7), np.array([[1, 1, 1, 1, 0, 0, 0]]))
    assert found["kendall_tau_c"] == pytest.approx([0.75], abs=1e-15)


def draw_scores(kind: str, n: int, rng: np.random.Generator) -> Floats:
    if kind == "continuous":
        return rng.normal(size=n)
    return rng.integers(0, int(kind), n).astype(np.float64)


# Runs of equal x of many lengths, sides changing places, few and many levels.
@pytest.mark.parametrize(
    ("x_kind", "y_kind"),
    [
        *[
            ("3", "3"),
            ("21", "5"),
            ("3", "continuous"),
            ("continuous", "21"),
            ("900", "4"),
            ("50", "60"),
            ("700", "800"),
        ],
        *[("continuous", "continuous"), ("continuous", "300"), ("2000", "25"), ("2000", "33")],
    ],
)
@pytest.mark.parametrize("many", [2, 10_000])
def test_equals_scipy_on_larger_tables(
    x_kind: str, y_kind: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "_MANY_LEVELS", many)  # from there on, levels are merged
    rng = np.random.default_rng(5)
    x, y = draw_scores(x_kind, 3_000, rng), draw_scores(y_kind, 3_000, rng)
    x[:1_000].sort()
    y[:1_000].sort()
    clusters = rng.integers(0, 400, 3_000)
    weights = draw_cluster_weights(400, 4, rng)
    assert_same(
        bootstrap_correlations(x, y, clusters, weights),
        repeat_and_ask_scipy(x, y, clusters, weights),
    )


def test_a_judge_of_some_rows_shares_the_draws() -> None:
    rng = np.random.default_rng(8)
    x, y, clusters = (
        rng.normal(size=300),
        rng.integers(0, 3, 300).astype(np.float64),
        rng.integers(0, 90, 300),
    )
    weights, scored = draw_cluster_weights(90, 6, rng), rng.random(300) < 0.3
    found = bootstrap_correlations(x[scored], y[scored], clusters[scored], weights)
    left_out = np.where(scored[:, None], weights[:, clusters].T, 0).T
    expected = repeat_and_ask_scipy(x, y, np.arange(300), left_out)
    assert_same(found, expected)


def test_rows_of_a_cluster_move_together() -> None:
    # Every row four times in its cluster: no coefficient changes (C - D and n^2 both grow 16
    # times).
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=80), rng.integers(0, 3, 80).astype(np.float64)
    weights = draw_cluster_weights(80, 25, rng)
    once = bootstrap_correlations(x, y, np.arange(80), weights)
    four = bootstrap_correlations(
        np.repeat(x, 4), np.repeat(y, 4), np.repeat(np.arange(80), 4), weights
    )
    assert_same(four, once)


def test_clusters_widen_the_interval() -> None:
    # 40 pictures with 25 near-copies each hold about 40 independent rows, not 1,000: the interval
    # is some sqrt(25) times wider.
    rng = np.random.default_rng(4)
    truth = rng.normal(size=40)
    x, y = (
        np.repeat(truth, 25),
        np.repeat(truth + rng.normal(size=40), 25) + rng.normal(scale=0.01, size=1_000),
    )
    together = correlate(x, y, np.repeat(np.arange(40), 25), 400, rng)["pearson"]
    apart = correlate(x, y, np.arange(1_000), 400, rng)["pearson"]
    assert 3 < (together.high - together.low) / (apart.high - apart.low) < 7
    assert (together.n, together.n_clusters, apart.n_clusters) == (1_000, 40, 1_000)


def test_planted_correlation_is_recovered() -> None:
    # Bivariate normal with rho 0.6: Spearman 6/pi asin(rho/2) = 0.582, tau 2/pi asin(rho) = 0.410
    # (both variants: no ties).
    rng = np.random.default_rng(9)
    x, noise = rng.normal(size=(2, 4_000))
    found = correlate(x, 0.6 * x + 0.8 * noise, np.arange(4_000), 200, rng)
    tau = 2 / math.pi * math.asin(0.6)
    truth = {
        "pearson": 0.6,
        "spearman": 6 / math.pi * math.asin(0.3),
        "kendall_tau_b": tau,
        "kendall_tau_c": tau,
    }
    for name, value in truth.items():
        assert found[name].low < value < found[name].high, name
    # The standard error of r is (1 - rho^2) / sqrt(n) = 0.0101, so the 95 % interval is about
    # 0.0397 wide.
    assert found["pearson"].high - found["pearson"].low == pytest.approx(0.0397, rel=0.2)


def test_intervals_cover_as_often_as_they_say() -> None:
    # 150 samples of 120 rows with rho 0.5: 95 % intervals hold it in 142 of 150 on average
    # (standard deviation 2.7).
    rng = np.random.default_rng(21)
    weights = draw_cluster_weights(120, 300, rng)
    held = 0
    for _ in range(150):
        x, noise = rng.normal(size=(2, 120))
        interval = correlate(x, 0.5 * x + math.sqrt(0.75) * noise, np.arange(120), 300, weights)[
            "pearson"
        ]
        held += interval.low < 0.5 < interval.high
    assert 131 <= held <= 150


def test_seeds_are_honoured_zero_too() -> None:
    rng = np.random.default_rng(1)
    x, y, clusters = rng.normal(size=60), rng.normal(size=60), np.arange(60)
    by_seed = [correlate(x, y, clusters, 50, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert by_seed[0] == by_seed[1]
    assert by_seed[0]["pearson"].low != by_seed[2]["pearson"].low
    assert by_seed[0] == correlate(
        x, y, clusters, 50, draw_cluster_weights(60, 50, np.random.default_rng(0))
    )


def test_undefined_resamples_are_counted_not_scored() -> None:
    # Two rows, two clusters: half of the draws take one row twice and have no correlation; the
    # others have exactly 1.
    found = correlate(
        np.array([0.0, 1.0]),
        np.array([5.0, 7.0]),
        np.arange(2),
        4,
        np.array([[1, 1], [2, 0], [0, 2], [1, 1]]),
    )
    for correlation in found.values():
        assert correlation.value == pytest.approx(1.0, abs=1e-15)
        assert correlation[3:7] == (2, 2, 2, "fewer than 5 clusters")


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_are_nan(rows: int) -> None:
    found = correlate(
        np.zeros(rows), np.zeros(rows), np.zeros(rows, dtype=np.int64), 3, np.random.default_rng(0)
    )
    for correlation in found.values():
        assert math.isnan(correlation.value)
        assert math.isnan(correlation.low)
        assert correlation[3:7] == (rows, rows, 3, "undefined on the sample")


def test_an_outlier_that_was_not_drawn_costs_no_digits() -> None:
    rng = np.random.default_rng(6)
    x, y = (
        np.append(rng.normal(size=50), 1e9),
        np.append(rng.integers(0, 3, 50), 1e7).astype(np.float64),
    )
    weights = np.ones((2, 51), dtype=np.int64)
    weights[1, 50] = 0
    assert_same(
        bootstrap_correlations(x, y, np.arange(51), weights),
        repeat_and_ask_scipy(x, y, np.arange(51), weights),
    )


def test_rows_of_more_levels_than_are_merged_fall_back_to_the_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    x, y, clusters = rng.normal(size=300), rng.normal(size=300), rng.integers(0, 50, 300)
    weights = draw_cluster_weights(50, 9, rng)
    monkeypatch.setattr(bootstrap, "_MANY_LEVELS", 300)
    merged = bootstrap_correlations(x, y, clusters, weights)
    monkeypatch.setattr(bootstrap, "_MERGES_BYTES", 9 * 4 * 300 - 1)
    assert_same(bootstrap_correlations(x, y, clusters, weights), merged)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    x, y, clusters = (
        rng.normal(size=200),
        rng.integers(0, 4, 200).astype(np.float64),
        rng.integers(0, 50, 200),
    )
    weights = draw_cluster_weights(50, 23, rng)
    whole = bootstrap_correlations(x, y, clusters, weights)
    monkeypatch.setattr(bootstrap, "_LARGEST_CHUNK", 5)
    assert_same(bootstrap_correlations(x, y, clusters, np.ascontiguousarray(weights)), whole)


def test_no_warning_escapes_where_all_is_undefined() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bootstrap_correlations(
            np.ones(5), np.arange(5.0), np.arange(5), np.zeros((2, 5), dtype=np.int64)
        )
    assert all(np.isnan(values).all() for values in found.values())


def test_wrong_input_is_refused() -> None:
    rows, weights = np.arange(3.0), np.ones((2, 3), dtype=np.int64)
    with pytest.raises(ValueError, match="2 cluster codes for 3 rows"):
        bootstrap_correlations(rows, rows, np.arange(2), weights)
    with pytest.raises(ValueError, match="cluster codes 1 to 3; expected 0 to 2"):
        bootstrap_correlations(rows, rows, np.arange(1, 4), weights)
    with pytest.raises(ValueError, match=r"weights have shape \(3,\)"):
        bootstrap_correlations(rows, rows, np.arange(3), weights[0])
    with pytest.raises(ValueError, match=r"x\[0\] is inf"):
        bootstrap_correlations(rows + math.inf, rows, np.arange(3), weights)
    with pytest.raises(ValueError, match="the weights hold 2 resamples; expected 5"):
        correlate(rows, rows, np.arange(3), 5, weights)


@pytest.mark.parametrize("most", [9, 3_000, 40_000])
@pytest.mark.parametrize("levels", [2, 4])
@pytest.mark.parametrize("many", [2, 10_000])
def test_clusters_drawn_very_often_are_counted_exactly(
    most: int, levels: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of the latest rows are kept in 32 bits: of 65,535 // most rows, which here are all 60,
    21 and one. Pairs of merged levels are kept in 32 bits too.
    """
    monkeypatch.setattr(bootstrap, "_MANY_LEVELS", many)
    rng = np.random.default_rng(levels)
    y = rng.integers(0, levels, 60).astype(np.float64)
    x = (
        np.where(np.arange(60) < 40, rng.random(60), rng.integers(0, 3, 60) / 2) + y / 9
    )  # with ties and without
    clusters = rng.integers(0, 9, 60)
    weights = rng.integers(0, 12, (3, 9)).astype(np.uint16)
    weights[:, rng.integers(9)] = most
    found = bootstrap_correlations(x, y, clusters, weights)
    for resample, counts in enumerate(weights):
        rows = np.repeat(np.arange(60), counts[clusters])
        for name, coefficient in COEFFICIENTS.items():
            assert found[name][resample] == pytest.approx(
                coefficient(x[rows], y[rows]), abs=1e-9
            ), name
