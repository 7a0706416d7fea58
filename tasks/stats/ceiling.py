"""The human ceiling: how well one annotator predicts the others, beside judges on the very same targets."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tasks.stats.bootstrap import Resampled, resample_correlations
from tasks.stats.cluster_sums import AnyWeights, Floats, Indices
from tasks.stats.combining import MeanCorrelation, average_correlations


class Ceiling(NamedTuple):
    """The mean over annotators of the annotator's coefficient against the others' target, and of each judge's."""

    human: dict[str, MeanCorrelation]
    judges: list[dict[str, MeanCorrelation]]


def leave_one_out_ceiling(
    ratings: Floats, x: Floats, rule: Callable[[Floats], Floats], clusters: Indices, weights: AnyWeights
) -> Ceiling:
    """Leave out each annotator in turn: the target is the `rule` of the others, on the answers that the annotator rated.

    `ratings` is (rows, annotators), `x` (rows, judges), NaN where there is none. Judges are held to the same targets, so that a
    judge above the ceiling predicts people better than one of them does. A rule that needs all five (LAVE's) has no such target.
    """
    if ratings.shape[1] < 2:
        raise ValueError(
            f"leave_one_out_ceiling: {ratings.shape[1]} annotators; expected 2 or more; one annotator's ceiling cannot be known"
        )
    human: list[dict[str, Resampled]] = []
    judges: list[list[dict[str, Resampled]]] = [[] for _ in range(x.shape[1])]
    for left_out in range(ratings.shape[1]):
        target = rule(np.delete(ratings, left_out, axis=1))
        rated = ~np.isnan(ratings[:, left_out]) & ~np.isnan(target)
        human.append(resample_correlations(ratings[rated, left_out], target[rated], clusters[rated], weights))
        for judge, found in enumerate(judges):
            rows = rated & ~np.isnan(x[:, judge])
            found.append(resample_correlations(x[rows, judge], target[rows], clusters[rows], weights))
    return Ceiling(average_correlations(human), [average_correlations(found) for found in judges])
