"""Rules from annotators to one target: hand-made rows and numpy as the other implementation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from judgelake.tasks.stats.human_rules import (
    HUMAN_RULES,
    apply_lave_rule,
    take_majority,
    take_mean,
    take_median,
)

NAN = math.nan


def test_lave_counts_the_five_who_say_correct() -> None:
    # 5 and 4 of 5: 1.0; 3 and 2: 0.5; 1 and 0: 0; four ratings, or six, are not five.
    ratings = np.array(
        [[1.0] * k + [0.0] * (5 - k) + [NAN] for k in range(5, -1, -1)]
        + [[1, 1, 1, 1, NAN, NAN], [1] * 6]
    )
    np.testing.assert_array_equal(apply_lave_rule(ratings), [1, 1, 0.5, 0.5, 0, 0, NAN, NAN])


def test_lave_takes_only_correct_and_incorrect() -> None:
    with pytest.raises(ValueError, match="expected 0 or 1; use the mean"):
        apply_lave_rule(np.array([[1.0, 0, 0.5, 1, 1]]))


def test_median_and_majority_by_hand() -> None:
    ratings = np.array([[1.0, 3, 3], [1, 2, NAN], [2, NAN, NAN], [1, 2, 3], [NAN] * 3])
    np.testing.assert_array_equal(take_median(ratings), [3, 1.5, 2, 2, NAN])
    np.testing.assert_array_equal(take_majority(ratings), [3, NAN, 2, NAN, NAN])
    np.testing.assert_array_equal(take_mean(ratings), [7 / 3, 1.5, 2, 2, NAN])


RATINGS = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, NAN]), min_size=4, max_size=4), min_size=1, max_size=8
)


@given(RATINGS)
def test_rules_agree_with_numpy(rows: list[list[float]]) -> None:
    ratings = np.array(rows)
    for row, mean, median, majority in zip(
        ratings, take_mean(ratings), take_median(ratings), take_majority(ratings), strict=True
    ):
        held = row[~np.isnan(row)]
        values, counts = np.unique(held, return_counts=True)
        most = values[2 * counts > held.size]
        expected = [held.mean(), np.median(held)] if held.size else [NAN, NAN]
        np.testing.assert_allclose(
            [mean, median, majority], [*expected, most[0] if most.size else NAN]
        )


@pytest.mark.parametrize("rule", HUMAN_RULES)
@pytest.mark.parametrize(
    ("ratings", "message"), [(np.zeros(3), r"shape \(3,\)"), (np.array([[math.inf]]), "infinite")]
)
def test_wrong_ratings_are_refused(rule: str, ratings: NDArray[np.float64], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HUMAN_RULES[rule](ratings)


@pytest.mark.parametrize("rule", HUMAN_RULES)
def test_no_answers_give_no_targets(rule: str) -> None:
    assert HUMAN_RULES[rule](np.empty((0, 5))).size == 0
