"""Pairs of models turned one way: matchups do not know which model came first."""

import math

import numpy as np
import pytest

from judgelake.tasks.stats.comparisons import orient_matchups
from tests.stats.plain_kappas import matchup_kappa

NAN = math.nan


def test_matchups_do_not_know_which_model_came_first() -> None:
    a, b = np.array([4, 2, 7, 2, 4]), np.array([2, 4, 2, 7, 2])
    labels = np.array([0.0, 0.0, 1.0, 3.0, NAN])
    found = orient_matchups(a, b, labels)
    assert found.matchup.tolist() == [2 * 8 + 4, 2 * 8 + 4, 2 * 8 + 7, 2 * 8 + 7, 2 * 8 + 4]
    np.testing.assert_array_equal(found.preference, [1, 0, 0, 3, NAN])


def test_matchup_kappa_after_turning_pairs_about() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 200)
    b = (a + rng.integers(1, 4, 200)) % 4
    one, other = rng.integers(0, 2, (2, 200)).astype(np.float64)
    turned = rng.random(200) < 0.5
    straight = [orient_matchups(a, b, rater) for rater in (one, other)]
    about = [
        orient_matchups(
            np.where(turned, b, a), np.where(turned, a, b), np.where(turned, 1 - rater, rater)
        )
        for rater in (one, other)
    ]
    kappas = [matchup_kappa(x.preference, y.preference, x.matchup) for x, y in (straight, about)]
    assert kappas[0] == pytest.approx(kappas[1], abs=1e-12)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="1 pairs of one model with itself"):
        orient_matchups(np.array([0, 1]), np.array([1, 1]), np.zeros(2))
