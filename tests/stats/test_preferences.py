"""Two orders become one preference, and what it counts as."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.stats.agreement import cohen_kappa, matchup_kappa
from tasks.stats.preferences import (
    Preference,
    join_orders,
    label_preferences,
    orient_matchups,
    rate_preferences,
    share_inconsistent,
)
from tasks.stats.resampling import draw_cluster_weights

NAN = math.nan
orders = st.lists(st.tuples(*[st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0, NAN])] * 2), min_size=1)


def test_what_two_orders_say_together() -> None:
    first = np.array([0.0, 1.0, 0.5, 0.0, 1.0, 0.5, NAN, 1.0, 0.3, 0.3])
    second = np.array([0.0, 1.0, 0.5, 1.0, 0.5, 0.0, 1.0, NAN, 0.1, 0.6])
    joined = join_orders(first, second)
    a, b, tie, inconsistent, missing = Preference.A, Preference.B, Preference.TIE, Preference.INCONSISTENT, Preference.MISSING
    assert joined.tolist() == [a, b, tie, inconsistent, inconsistent, inconsistent, missing, missing, a, inconsistent]
    np.testing.assert_array_equal(rate_preferences(joined), [0, 1, 0.5, 0.5, 0.5, 0.5, NAN, NAN, 0, 0.5])
    np.testing.assert_array_equal(label_preferences(joined), [0, 1, 2, 3, 3, 3, NAN, NAN, 0, 3])


@settings(deadline=None)
@given(orders)
def test_neither_order_is_first_and_sides_mirror(rows: list[tuple[float, float]]) -> None:
    first, second = np.array(rows).T
    joined = join_orders(first, second)
    np.testing.assert_array_equal(joined, join_orders(second, first))
    np.testing.assert_array_equal(rate_preferences(join_orders(1 - first, 1 - second)), 1 - rate_preferences(joined))


def test_share_of_inconsistent_pairs_is_of_those_with_both_orders() -> None:
    joined = join_orders(np.array([0.0, 0.0, 1.0, NAN]), np.array([0.0, 1.0, 1.0, 1.0]))
    found = share_inconsistent(joined, np.arange(4), draw_cluster_weights(4, 200, np.random.default_rng(0)))
    assert found.value == pytest.approx(1 / 3)
    assert found.n == 3
    assert found.low == 0
    assert found.high == 1


def test_inconsistent_is_a_class_of_its_own_in_kappa() -> None:
    # Judge a, b, inconsistent, inconsistent; person a, b, a, b: p_o = 1/2, p_e = (1 * 2 + 1 * 2) / 16 = 1/4, kappa = 1/3.
    judge = label_preferences(join_orders(np.array([0.0, 1, 0, 1]), np.array([0.0, 1, 1, 0])))
    assert cohen_kappa(judge, np.array([0.0, 1, 0, 1])) == pytest.approx(1 / 3)


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
        orient_matchups(np.where(turned, b, a), np.where(turned, a, b), np.where(turned, 1 - rater, rater))
        for rater in (one, other)
    ]
    kappas = [matchup_kappa(x.preference, y.preference, x.matchup) for x, y in (straight, about)]
    assert kappas[0] == pytest.approx(kappas[1], abs=1e-12)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="2 and 3 preferences"):
        join_orders(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="1 pairs of one model with itself"):
        orient_matchups(np.array([0, 1]), np.array([1, 1]), np.zeros(2))
