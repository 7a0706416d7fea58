"""Weights of a jury's members, learnt on people's labels with cross-fitting. What a jury is lives
in `tasks.judging.jury`.
"""

from typing import NamedTuple

import numpy as np

from judgelake.tasks.stats.cluster_sums import Floats, Indices


class CrossFitted(NamedTuple):
    """Weights by fold, learnt on all other folds, and those learnt on everything; None where there
    are too few labels.
    """

    by_fold: list[Floats | None]
    overall: Floats | None


def cross_fit(
    scores: Floats, labels: Floats, folds: Indices, n_folds: int, least: int
) -> CrossFitted:
    """Weights from `scores` (labelled answers, members), `labels` (answers) and each answer's fold;
    at least `least` answers for each of the fits.
    """

    def fit(rows: np.ndarray) -> Floats | None:
        return fit_weights(scores[rows], labels[rows]) if rows.sum() >= least else None

    return CrossFitted(
        [fit(folds != fold) for fold in range(n_folds)], fit(np.ones(len(labels), dtype=bool))
    )


def fit_weights(scores: Floats, labels: Floats) -> Floats:
    """The weights (members,), none negative and of sum 1, with which the weighted mean of `scores`
    (answers, members) has the least squared distance from `labels` (stacked regressions with the
    constraints of Breiman 1996).

    Where the weights w sum to 1, the distance of answer i is `sum_j w_j (s_ij - y_i)`: a quadratic
    form without a constant. One more row that asks for a sum of 1 makes it a problem for `nnls`;
    its solution has the right direction whatever that row weighs, and is scaled to the sum.
    """
    from scipy.optimize import nnls  # slow to import, and few suites have a jury that learns

    rows = np.vstack([scores - labels[:, None], np.ones(scores.shape[1])])
    target = np.zeros(len(rows))
    target[-1] = 1.0
    weights, _ = nnls(rows, target)
    return np.asarray(weights / weights.sum())
