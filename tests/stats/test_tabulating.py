"""Long columns into matrices, by hand."""

import math

import numpy as np
import pytest

from judgelake.tasks.stats.human_rules import tabulate_scores


def test_scores_are_tabulated() -> None:
    # Two samples of (0, 2), 1 and 3, one of (1, 0), a missing one at (1, 1), and a missing one
    # beside 4 at (1, 2).
    values = np.array([1.0, 3.0, 5.0, math.nan, math.nan, 4.0])
    table = tabulate_scores(
        values, np.array([0, 0, 1, 1, 1, 1]), np.array([2, 2, 0, 1, 2, 2]), (3, 3)
    )
    np.testing.assert_array_equal(
        table, [[math.nan, math.nan, 2], [5, math.nan, 4], [math.nan] * 3]
    )


def test_codes_beyond_the_shape_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"columns 0 to 2; expected codes from 0 within the shape \(2, 2\)"
    ):
        tabulate_scores(np.zeros(2), np.array([0, 1]), np.array([0, 2]), (2, 2))


def test_no_scores_make_an_empty_table() -> None:
    none = np.empty(0, dtype=np.int64)
    assert np.isnan(tabulate_scores(np.empty(0), none, none, (2, 3))).all()
