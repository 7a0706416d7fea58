"""Rows of labels become vectors over the same units."""

import math

import numpy as np
import pytest

from judgelake.tasks.stats.agreement import spread_labels
from tests.stats.plain_kappas import cohen_kappa, matchup_kappa

NAN = math.nan


def test_rows_in_any_order() -> None:
    raters = np.array([1, 0, 1, 0, 2])
    units = np.array([7, 9, 3, 7, 9])
    found = spread_labels(raters, units, np.array([1.0, 0.5, 0.0, 1.0, NAN]), 4)
    assert found.units.tolist() == [3, 7, 9]
    assert found.first_row.tolist() == [2, 0, 1]
    np.testing.assert_array_equal(found.labels, [[NAN, 1, 0.5], [0, 1, NAN], [NAN] * 3, [NAN] * 3])


def test_agreement_of_rows_laid_out_is_that_of_vectors() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, (2, 50)).astype(np.float64)
    labels[rng.random(labels.shape) < 0.2] = NAN
    matchups = rng.integers(0, 4, 50)
    rater, unit = np.nonzero(~np.isnan(labels))
    rows = rng.permutation(rater.size)
    found = spread_labels(rater[rows], unit[rows], labels[rater[rows], unit[rows]], 2)
    assert cohen_kappa(*found.labels) == cohen_kappa(*labels)
    kappa = matchup_kappa(found.labels[0], found.labels[1], matchups[unit[rows]][found.first_row])
    assert kappa == pytest.approx(matchup_kappa(labels[0], labels[1], matchups), abs=1e-12)


def test_no_rows() -> None:
    found = spread_labels(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0), 2)
    assert found.labels.shape == (2, 0)


def test_wrong_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="rater 1 labels unit 8 2 times"):
        spread_labels(np.array([0, 1, 1]), np.array([8, 8, 8]), np.ones(3), 2)
    with pytest.raises(ValueError, match="rater codes 0 to 2; expected 0 to 1"):
        spread_labels(np.array([0, 2]), np.array([8, 8]), np.ones(2), 2)
    with pytest.raises(ValueError, match="1 raters, 2 units, 2 labels"):
        spread_labels(np.array([0]), np.array([8, 8]), np.ones(2), 2)
