"""What several annotators of an answer say together: (answers, annotators), NaN where blank, into
one target an answer.

NaN where a rule gives no target. How well annotators agree with each other is the matter of the
agreement statistics; how well one of them predicts the rest, of `tasks.stats.combining`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def apply_lave_rule(ratings: Floats) -> Floats:
    """1.0 where at least 4 of 5 say correct (1), 0.5 where 2 or 3 do, else 0 (LAVE, "Collecting
    human judgments").

    Undefined without exactly five ratings; ValueError where a rating is neither 0 nor 1.
    """
    _check_ratings("apply_lave_rule", ratings)
    is_rated = ~np.isnan(ratings)
    wrong = ratings[is_rated & (ratings != 0) & (ratings != 1)]
    if wrong.size:
        raise ValueError(
            f"apply_lave_rule: a rating is {wrong[0]}; expected 0 or 1; use the mean or the "
            f"median of graded ratings"
        )
    n_correct = np.nansum(ratings, axis=1)
    scores = np.where(n_correct >= 4, 1.0, np.where(n_correct >= 2, 0.5, 0.0))
    return np.where(is_rated.sum(axis=1) == 5, scores, np.nan)


def take_mean(ratings: Floats) -> Floats:
    """The mean of those who rated."""
    _check_ratings("take_mean", ratings)
    counts = (~np.isnan(ratings)).sum(axis=1)
    mean: Floats = np.divide(
        np.nansum(ratings, axis=1), counts, out=np.full(len(ratings), np.nan), where=counts > 0
    )
    return mean


def take_median(ratings: Floats) -> Floats:
    """The median of those who rated: of an even number, the mean of the two in the middle."""
    _check_ratings("take_median", ratings)
    ordered = np.sort(ratings, axis=1)  # blanks last
    counts = (~np.isnan(ratings)).sum(axis=1)
    medians = np.full(len(ratings), np.nan)
    some = np.flatnonzero(counts)
    lower, upper = ordered[some, (counts[some] - 1) // 2], ordered[some, counts[some] // 2]
    medians[some] = (lower + upper) / 2
    return medians


def take_majority(ratings: Floats) -> Floats:
    """The rating that more than half of those who rated gave; undefined where none has that
    many.
    """
    _check_ratings("take_majority", ratings)
    counts = (~np.isnan(ratings)).sum(axis=1)
    # A value held by more than half sits in the middle of the sorted ratings.
    middle = np.sort(ratings, axis=1)[np.arange(len(ratings)), np.maximum(counts - 1, 0) // 2]
    held = (ratings == middle[:, None]).sum(axis=1)
    return np.where(2 * held > counts, middle, np.nan)


HUMAN_RULES: dict[str, Callable[[Floats], Floats]] = {
    "lave": apply_lave_rule,
    "mean": take_mean,
    "median": take_median,
    "majority": take_majority,
}


def _check_ratings(where: str, ratings: Floats) -> None:
    if ratings.ndim != 2 or ratings.shape[1] == 0:
        raise ValueError(
            f"{where}: ratings have shape {ratings.shape}; expected (answers, annotators); "
            f"pass a matrix, NaN where blank"
        )
    if np.isinf(ratings).any():
        raise ValueError(
            f"{where}: a rating is infinite; expected finite numbers, NaN where blank; mend "
            f"the ratings"
        )


def tabulate_scores(
    values: Floats, rows: Indices, columns: Indices, shape: tuple[int, int]
) -> Floats:
    """A matrix (answers x judges, systems x items, answers x annotators) from the codes of each
    score's row and column.

    NaN where there is no score; the mean where there are several (a judge's samples), missing ones
    (NaN) left out.
    """
    if rows.size and not (
        0 <= rows.min() <= rows.max() < shape[0] and 0 <= columns.min() <= columns.max() < shape[1]
    ):
        raise ValueError(
            f"tabulate_scores: rows {rows.min()} to {rows.max()}, columns {columns.min()} to "
            f"{columns.max()}; "
            f"expected codes from 0 within the shape {shape}; count the distinct rows and columns"
        )
    scored = ~np.isnan(values)
    cell, size = (rows * shape[1] + columns)[scored], shape[0] * shape[1]
    sums, counts = np.bincount(cell, values[scored], size), np.bincount(cell, minlength=size)
    table: Floats = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    return table.reshape(shape)
