"""Rows of labels, one a rater and unit, laid out as one vector a rater over the same units. Agreement itself lives elsewhere."""

from typing import NamedTuple

import numpy as np

from tasks.stats.cluster_sums import Floats, Indices


class RaterLabels(NamedTuple):
    """`labels` are (raters, units), NaN where a rater has none; `units` their codes, `first_row` the row where each first stood.

    What else is known of a unit (its cluster, its matchup) is that row's: `matchups[found.first_row]`.
    """

    labels: Floats
    units: Indices
    first_row: Indices


def spread_labels(raters: Indices, units: Indices, labels: Floats, n_raters: int) -> RaterLabels:
    """Lay out rows of rater code, unit code and label; any two rows of the result are what two raters gave the same units."""
    if not raters.shape == units.shape == labels.shape:
        raise ValueError(
            f"spread_labels: {raters.size} raters, {units.size} units, {labels.size} labels; expected one of each a row; pass one query's"
        )
    if raters.size and not 0 <= raters.min() <= raters.max() < n_raters:
        raise ValueError(
            f"spread_labels: rater codes {raters.min()} to {raters.max()}; expected 0 to {n_raters - 1}; number them"
        )
    names, first_row, unit = np.unique(units, return_index=True, return_inverse=True)
    place = raters * names.size + unit
    held = np.bincount(place, minlength=n_raters * names.size)
    if held.max(initial=0) > 1:
        rater, at = divmod(int(held.argmax()), names.size)
        raise ValueError(
            f"spread_labels: rater {rater} labels unit {names[at]} {held.max()} times; expected once; keep one sample, or number samples apart"
        )
    table = np.full(n_raters * names.size, np.nan)
    table[place] = labels
    return RaterLabels(table.reshape(n_raters, names.size), names, first_row)
