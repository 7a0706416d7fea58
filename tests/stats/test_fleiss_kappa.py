"""Fleiss' kappa: hand arithmetic, statsmodels as oracle, repeated rows as resamples."""

import math

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as theirs

from judgelake.tasks.stats.cluster_sums import draw_once
from judgelake.tasks.stats.reliability import fleiss_kappa
from judgelake.tasks.stats.resampling import draw_cluster_weights


def test_kappa_by_hand() -> None:
    # Three raters, labels 0 and 1: units 111, 110, 000, 100. P = 1, 1/3, 1, 1/3: mean 2/3. Half of
    # 12 labels are 1: P_e = 1/2.
    # kappa = (2/3 - 1/2) / (1/2) = 1/3.
    labels = np.array([1.0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0])
    found = fleiss_kappa(
        np.repeat(np.arange(4), 3), labels, 3, np.repeat(np.arange(4), 3), draw_once(4)
    )
    assert found.kappa.value == pytest.approx(1 / 3)
    assert (found.kappa.n, found.kappa.n_clusters, found.n_left_out) == (4, 4, 0)


def test_value_and_resamples_are_statsmodels() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 60)
    ratings = np.clip(truth[:, None] + rng.integers(-1, 2, (60, 4)), 1, 5).astype(np.float64)
    units = clusters = np.repeat(np.arange(60), 4)  # so many that resamples are read
    for one in draw_cluster_weights(60, 20, rng):
        found = fleiss_kappa(units, ratings.ravel(), 4, clusters, one[None]).kappa
        assert found.value == pytest.approx(theirs(aggregate_raters(ratings)[0]), abs=1e-12)
        repeated = ratings[np.repeat(np.arange(60), one)]
        assert found.low == pytest.approx(theirs(aggregate_raters(repeated)[0]), abs=1e-12)


def test_two_raters_who_use_labels_alike_have_scotts_pi() -> None:
    # Rows 11, 11, 00, 10: P = 3/4; 5 of 8 labels are 1: P_e = (25 + 9) / 64; pi = (48/64 - 34/64) /
    # (30/64) = 7/15.
    labels = np.array([1.0, 1, 1, 1, 0, 0, 1, 0])
    found = fleiss_kappa(
        np.repeat(np.arange(4), 2), labels, 2, np.zeros(8, dtype=np.int64), draw_once(1)
    )
    assert found.kappa.value == pytest.approx(7 / 15)


def test_units_without_all_labels_are_left_out_and_counted() -> None:
    labels = np.array([1.0, 1, 0, 0, 1, math.nan, 1, 1, 1])
    units = np.array([5, 5, 8, 8, 9, 9, 11, 11, 11])
    whole = fleiss_kappa(units[:4], labels[:4], 2, np.arange(4) // 2, draw_once(2))
    found = fleiss_kappa(units, labels, 2, np.array([0, 0, 1, 1, 2, 2, 3, 3, 3]), draw_once(4))
    assert found.n_left_out == 2
    assert found.kappa.value == whole.kappa.value == 1


def test_one_label_throughout_is_undefined() -> None:
    weights = draw_cluster_weights(3, 5, np.random.default_rng(0))
    for labels in (np.ones(6), np.full(6, math.nan)):
        found = fleiss_kappa(
            np.repeat(np.arange(3), 2), labels, 2, np.repeat(np.arange(3), 2), weights
        ).kappa
        assert math.isnan(found.value)
        assert found.n_undefined == 5


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="1 raters"):
        fleiss_kappa(np.arange(2), np.ones(2), 1, np.arange(2), draw_once(2))
    with pytest.raises(ValueError, match="3 unit codes for 2 labels"):
        fleiss_kappa(np.arange(3), np.ones(2), 2, np.arange(2), draw_once(2))
