"""Who can be rated against whom: paths of wins between models, for many resamples at once.

Ratings have a finite maximum of their likelihood where each model has a path of wins (or ties) to each other one (Ford 1957,
"Solution of a ranking problem from binary comparisons"); else some are infinitely far apart, or cannot be compared.
"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tasks.stats.cluster_sums import Floats, Indices

Flags = NDArray[np.bool_]


class RatingReason(StrEnum):
    """What a model's rating is, and why where it is no finite number."""

    FINITE = "finite"
    ALWAYS_WINS = "never beaten by those that the rating is measured against: infinitely above"
    ALWAYS_LOSES = "never beat those that the rating is measured against: infinitely below"
    NOT_COMPARABLE = "linked to the others by no path of wins either way: no rating"
    DISCONNECTED = "not linked to the others by any comparison: no rating"
    NO_COMPARISONS = "no comparisons: no rating"
    ANCHOR_SPLIT = "the models of the anchor cannot be rated against each other: no rating"


def find_paths(edges: Flags) -> Flags:
    """Whether a path leads from the row's model to the column's, itself included: (..., models, models)."""
    paths = edges | np.eye(edges.shape[-1], dtype=bool)
    for _ in range(max(edges.shape[-1] - 1, 1).bit_length()):
        steps = paths.astype(np.float32)
        paths = steps @ steps > 0
    return paths


def choose_anchor(paths: Flags, meetings: Floats) -> Indices:
    """The largest set of models that can all be rated against each other; of equal ones that with most comparisons."""
    mutual = paths & paths.T
    sizes, met = mutual.sum(axis=1), (meetings * mutual).sum(axis=1)
    first = np.lexsort((-met, -sizes))[0]
    return np.flatnonzero(mutual[first])


def place_models(paths: Flags, anchor: Indices) -> Floats:
    """0 for models rated against the anchor, inf or -inf beyond it, NaN without a path: (..., models); NaN if the anchor is split."""
    upwards, downwards = paths[..., :, anchor].all(axis=-1), paths[..., anchor, :].all(axis=-2)
    placed = np.where(upwards & downwards, 0.0, np.where(upwards, np.inf, np.where(downwards, -np.inf, np.nan)))
    is_whole = (placed[..., anchor] == 0).all(axis=-1, keepdims=True)
    return np.where(is_whole, placed, np.nan)


def explain_places(placed: Floats, meetings: Floats, anchor: Indices) -> tuple[RatingReason, ...]:
    """The reason of each model of one sample, from `place_models` and the (models, models) comparisons."""
    linked = find_paths(meetings > 0)[anchor[0]]
    cases = (
        (meetings.sum(axis=1) == 0, RatingReason.NO_COMPARISONS),
        (np.full(placed.shape, np.isnan(placed[anchor]).any()), RatingReason.ANCHOR_SPLIT),
        (placed == 0, RatingReason.FINITE),
        (placed == np.inf, RatingReason.ALWAYS_WINS),
        (placed == -np.inf, RatingReason.ALWAYS_LOSES),
        (linked, RatingReason.NOT_COMPARABLE),
        (~linked, RatingReason.DISCONNECTED),
    )
    return tuple(next(reason for flags, reason in cases if flags[model]) for model in range(placed.size))
