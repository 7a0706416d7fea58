"""Comparisons are checked once and counted; means have cluster intervals."""

import math

import numpy as np
import pytest

from judgelake.tasks.stats.comparisons import count_meetings, count_wins, select_comparisons
from judgelake.tasks.stats.estimates import estimate_mean
from tests.intervals import fit_share, odds_ends

NAN = math.nan
# Rows of three models (code 2 meets nobody but 1): 0 beats 1 twice, loses once, one tie; 1 beats 2;
# one row is missing.
A = np.array([0, 0, 1, 1, 1, 2])
B = np.array([1, 1, 0, 0, 2, 1])
PREFERENCE_B = np.array([0.0, 0.0, 0.0, 0.5, 0.0, NAN])
CLUSTERS = np.array([0, 1, 2, 3, 4, 5])


def test_missing_preferences_are_no_losses() -> None:
    found = select_comparisons(A, B, PREFERENCE_B, CLUSTERS, 4)
    assert found.n_missing == 1
    assert found.clusters.tolist() == [0, 1, 2, 3, 4]


def test_wins_by_hand() -> None:
    found = select_comparisons(A, B, PREFERENCE_B, CLUSTERS, 4)
    expected = np.zeros((4, 4))
    expected[0, 1], expected[1, 0], expected[1, 2] = 2.5, 1.5, 1
    np.testing.assert_array_equal(count_wins(found), expected)
    np.testing.assert_array_equal(count_meetings(found), expected + expected.T)


def test_a_share_has_the_interval_of_the_views() -> None:
    rng = np.random.default_rng(0)
    values, clusters = rng.random(60), rng.integers(0, 12, 60)
    values[::7] = NAN
    held = ~np.isnan(values)
    found = estimate_mean(values, clusters)
    fit = fit_share(values[held], clusters[held])
    assert (found.low, found.high) == pytest.approx(odds_ends(fit), abs=1e-12)
    assert found.value == pytest.approx(fit.value, abs=1e-12)
    assert (found.n, found.n_undefined, found.reason) == (held.sum(), 0, None)


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        # Clopper & Pearson 1934: all or none of ten
        (np.ones(10), (0.025**0.1, 1.0)),
        (np.zeros(10), (0.0, 1 - 0.025**0.1)),
        # all clusters alike: Wilson's interval of ten rows with t of 9 degrees, 2.262157
        (np.full(10, 0.5), (0.209093, 0.790907)),
    ],
)
def test_shares_without_spread(values: np.ndarray, ends: tuple[float, float]) -> None:
    found = estimate_mean(values, np.arange(10))
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-6)


def test_a_share_of_one_large_cluster_has_no_interval() -> None:
    clusters = np.append(np.zeros(97, dtype=np.int64), [1, 2, 3])
    found = estimate_mean(np.tile([0.0, 1.0], 50), clusters)
    assert (found.value, found.reason) == (0.5, "almost all rows are in one cluster")
    assert math.isnan(found.low)


@pytest.mark.parametrize(
    ("a", "b", "preference", "message"),
    [
        ([0], [0], [1.0], "compares model 0 with itself"),
        ([0], [5], [1.0], "model codes 0 to 5; expected 0 to 3"),
        ([0], [1], [1.5], r"preference_b\[0\] is 1.5"),
        ([0, 1], [1, 2], [1.0], "shapes"),
    ],
)
def test_wrong_rows_are_refused(
    a: list[int], b: list[int], preference: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        select_comparisons(
            np.array(a), np.array(b), np.array(preference), np.zeros(len(a), dtype=np.int64), 4
        )
