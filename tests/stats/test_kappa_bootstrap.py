"""Intervals of agreement: equal to the same statistic on repeated rows, and they cover what they
should.
"""

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from judgelake.tasks.stats.agreement import Weighting, agree_on_matchups, agree_raters
from judgelake.tasks.stats.resampling import draw_cluster_weights, expanded_interval
from tests.stats.plain_kappas import cohen_kappa, matchup_kappa, observed_agreement

WEIGHTINGS: tuple[Weighting, ...] = ("nominal", "linear", "quadratic")


def draw_raters(rng: np.random.Generator, n: int = 90) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels 1 to 4 of two raters, some missing, three rows a cluster."""
    a = rng.integers(1, 5, n).astype(np.float64)
    b = np.clip(a + rng.integers(-1, 2, n), 1, 4)
    a[rng.random(n) < 0.1] = math.nan
    b[rng.random(n) < 0.1] = math.nan
    return a, b, np.arange(n) // 3


def test_each_resample_is_the_statistic_of_its_rows() -> None:
    rng = np.random.default_rng(0)
    a, b, clusters = draw_raters(rng, 240)  # so many clusters that resamples are read
    matchups = rng.integers(0, 4, a.size)
    weights = draw_cluster_weights(80, 25, rng)
    for one in weights:
        rows = np.repeat(np.arange(a.size), one[clusters])
        alone = agree_raters(a, b, clusters, one[None], WEIGHTINGS)
        assert alone["agreement"].low == pytest.approx(
            observed_agreement(a[rows], b[rows]), abs=1e-12
        )
        for weighting in WEIGHTINGS:
            expected = cohen_kappa(a[rows], b[rows], weighting)
            assert alone[f"kappa_{weighting}"].low == pytest.approx(expected, abs=1e-12)
        by_matchup = agree_on_matchups(a, b, matchups, clusters, one[None])
        assert by_matchup["kappa_matchups"].low == pytest.approx(
            matchup_kappa(a[rows], b[rows], matchups[rows]), abs=1e-12
        )


def test_the_chance_term_is_recomputed_in_each_resample() -> None:
    # With the chance term held fixed the interval would be (p_o - p_e) / (1 - p_e) of the ends of
    # agreement.
    rng = np.random.default_rng(1)
    a = (rng.random(60) < 0.9).astype(np.float64)
    b = np.where(rng.random(60) < 0.9, a, 1 - a)
    weights = draw_cluster_weights(60, 150, rng)
    drawn = [
        cohen_kappa_score(a[rows], b[rows])
        for rows in (np.repeat(np.arange(60), one) for one in weights)
    ]
    found = agree_raters(a, b, np.arange(60), weights)["kappa_nominal"]
    assert (found.low, found.high) == pytest.approx(
        expanded_interval(np.array(drawn), 60)[:2], abs=1e-12
    )


def test_only_rows_of_both_count() -> None:
    rng = np.random.default_rng(2)
    a, b, clusters = draw_raters(rng)
    found = agree_raters(a, b, clusters, draw_cluster_weights(30, 10, rng))["agreement"]
    both = ~np.isnan(a) & ~np.isnan(b)
    assert (found.n, found.n_clusters) == (both.sum(), np.unique(clusters[both]).size)
    assert found.value == (a == b)[both].mean()


def test_undefined_resamples_are_counted() -> None:
    # Both raters say 1 but for one row: a resample without it has no kappa, but agreement 1.
    a = np.array([1.0, 1, 1, 0])
    weights = np.array([[2, 1, 1, 0], [1, 1, 1, 1], [4, 0, 0, 0]], dtype=np.uint16)
    found = agree_raters(a, a, np.arange(4), weights, WEIGHTINGS)
    assert found["agreement"].n_undefined == 0
    for weighting in WEIGHTINGS:
        kappa = found[f"kappa_{weighting}"]
        assert (kappa.value, kappa.n_undefined) == (1.0, 2)
        assert kappa.reason == "fewer than 5 clusters"


def test_no_common_rows() -> None:
    nothing = np.full(3, math.nan)
    found = agree_raters(
        nothing, np.ones(3), np.arange(3), draw_cluster_weights(3, 7, np.random.default_rng(0))
    )
    for estimate in found.values():
        assert math.isnan(estimate.value)
        assert (estimate.n, estimate.n_clusters, estimate.n_undefined) == (0, 0, 7)


def test_weights_of_any_size_and_layout_give_the_same() -> None:
    rng = np.random.default_rng(4)
    a, b, clusters = draw_raters(rng, 600)
    weights = draw_cluster_weights(200, 40, rng)
    expected = agree_raters(a, b, clusters, weights)
    assert agree_raters(a, b, clusters, np.ascontiguousarray(weights).astype(np.int64)) == expected
    # Drawing each cluster 9,000 times as often changes no share; sums of 16 bits would overflow.
    many = weights[:1] * np.uint16(9_000)
    for name, found in agree_raters(a, b, clusters, many).items():
        assert found == pytest.approx(agree_raters(a, b, clusters, weights[:1])[name], abs=1e-12)


def test_two_threads_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    a, b, clusters = draw_raters(rng)
    weights = draw_cluster_weights(30, 101, rng)
    expected = agree_raters(a, b, clusters, weights)
    monkeypatch.setattr("judgelake.tasks.stats.cluster_sums._WORTH_TWO_THREADS", 1)
    assert agree_raters(a, b, clusters, weights) == expected


def test_resamples_in_slices_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    a, b, clusters = draw_raters(rng)
    weights = draw_cluster_weights(30, 101, rng)
    expected = agree_raters(a, b, clusters, weights, WEIGHTINGS)
    monkeypatch.setattr("judgelake.tasks.stats.cluster_sums._CHUNK_BYTES", 3_000)
    assert agree_raters(a, b, clusters, weights, WEIGHTINGS) == expected


@pytest.mark.parametrize(
    ("clusters", "weights", "message"),
    [
        (np.arange(2), np.ones((4, 3), dtype=np.uint16), "2 cluster codes for 3 rows"),
        (np.array([0, 1, 3]), np.ones((4, 3), dtype=np.uint16), "cluster codes 0 to 3"),
        (np.arange(3), np.ones(3, dtype=np.uint16), r"weights have shape \(3,\)"),
    ],
)
def test_wrong_clusters_are_refused(
    clusters: np.ndarray, weights: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        agree_raters(np.ones(3), np.ones(3), clusters, weights)


@pytest.mark.full
def test_intervals_cover_the_planted_kappa() -> None:
    # Two raters see the truth through noise of their own; kappa of the population by 2,000,000
    # rows. 60 clusters of 4 rows that
    # share a difficulty: 93 to 97 % of 600 intervals must hold it (binomial error 0.9 %).
    rng = np.random.default_rng(11)

    def draw(n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
        error = np.repeat(rng.beta(2, 6, n_clusters), 4)
        truth = rng.random(error.size) < 0.6
        a, b = (
            np.where(rng.random(error.size) < error, ~truth, truth).astype(np.float64)
            for _ in range(2)
        )
        return a, b

    planted = cohen_kappa(*draw(500_000))
    held = 0
    for _ in range(600):
        a, b = draw(60)
        found = agree_raters(a, b, np.arange(240) // 4, draw_cluster_weights(60, 500, rng))[
            "kappa_nominal"
        ]
        held += found.low <= planted <= found.high
    assert 0.92 <= held / 600 <= 0.98


@pytest.mark.parametrize("n", [5, 20, 100, 1000])
def test_a_rater_with_one_label_has_a_kappa_without_interval(n: int) -> None:
    # kappa is 0 whatever the other rater says; [0, 0] held the truth never
    ones, others = np.ones(n), np.append(np.zeros(3), np.ones(n - 3))
    weights = draw_cluster_weights(n, 200, np.random.default_rng(0))
    for a, b in ((ones, others), (others, ones)):
        found = agree_raters(a, b, np.arange(n), weights, WEIGHTINGS)
        assert found.pop("agreement").reason is None
        for kappa in found.values():
            assert kappa.value == pytest.approx(0, abs=1e-12)
            assert math.isnan(kappa.low)
            assert math.isnan(kappa.high)
            assert kappa.reason == "one of the raters gave one label only"
    alike = agree_raters(ones, ones, np.arange(n), weights)["kappa_nominal"]
    assert alike.reason == "undefined on the sample"


def test_a_rater_with_one_label_a_matchup_has_no_interval() -> None:
    matchups = np.arange(60) % 3
    a, b = (matchups == 1) * 1.0, (np.arange(60) % 4 == 0) * 1.0
    weights = draw_cluster_weights(60, 50, np.random.default_rng(0))
    found = agree_on_matchups(a, b, matchups, np.arange(60), weights)["kappa_matchups"]
    assert (found.value, found.reason) == (0, "one of the raters gave one label only")
