"""Agreement of two raters on what both labelled, from the counts of cells: confusion matrix, raw
agreement, Cohen's kappa, its relatives.

Labels are numbers (codes or scores); NaN is a missing label and never a class. More than two
raters are `tasks.stats.reliability`'s.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.cluster_sums import (
    AnyWeights,
    Floats,
    Indices,
    check_clusters,
    count_cells,
    draw_once,
    slice_resamples,
    sum_groups,
)
from judgelake.tasks.stats.correlation import find_levels
from judgelake.tasks.stats.estimates import Estimate, divide, summarise_draws
from judgelake.tasks.stats.few_clusters import Scale, add_left_out

Weighting = Literal["nominal", "linear", "quadratic"]
"""How far apart two labels are: 1 if they differ; |difference of their values|; its square (Cohen
1968).
"""

# highest kappa of each grade (Landis & Koch 1977, Biometrics 33)
_LANDIS_KOCH = ((0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


_ONE_LABEL = "one of the raters gave one label only"


class Confusion(NamedTuple):
    """The labels in order and how often rater a gave the row's label and rater b the column's."""

    levels: Floats
    counts: Indices


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """What two raters both labelled, folded into the occupied cells of their table, one table a
    matchup.

    `rows` are the places of those labels in the raters' vectors, `cell` the cell of each; `group_a`
    and `group_b` give each cell's place among matchup x level for either rater, `matchup` its
    matchup.
    """

    levels: Floats
    rows: Indices
    cell: Indices
    group_a: Indices
    group_b: Indices
    matchup: Indices
    n_matchups: int

    @property
    def n_cells(self) -> int:
        """The number of occupied cells."""
        return self.group_a.size

    @property
    def n_groups(self) -> int:
        """The number of matchups times levels."""
        return self.n_matchups * self.levels.size

    @property
    def has_one_label_rater(self) -> bool:
        """Whether a rater gave one label only (each matchup), so that kappa is 0 whatever the other
        gave.
        """
        return self.n_matchups in (np.unique(self.group_a).size, np.unique(self.group_b).size)

    def mark_rarer(self) -> NDArray[np.bool_]:
        """Which rows have another label of rater a than the most frequent one of their matchup."""
        if not self.rows.size:
            return np.zeros(0, dtype=np.bool_)
        counts = np.bincount(self.group_a[self.cell], minlength=self.n_groups)
        by_matchup = counts.reshape(self.n_matchups, self.levels.size)
        frequent = by_matchup.argmax(axis=1) + np.arange(self.n_matchups) * self.levels.size
        is_rarer: NDArray[np.bool_] = (self.group_a != frequent[self.matchup])[self.cell]
        return is_rarer


def fold_labels(a: Floats, b: Floats, matchups: Indices | None = None) -> LabelPairs:
    """Fold the rows that both raters labelled; without matchups all rows share one table."""
    _check_labels(a, b, matchups)
    rows = np.flatnonzero(~np.isnan(a) & ~np.isnan(b))
    levels, level = find_levels(np.concatenate([a[rows], b[rows]]))  # labels may be means
    names, matchup = np.unique(
        np.zeros_like(rows) if matchups is None else matchups[rows], return_inverse=True
    )
    k = max(levels.size, 1)
    occupied, cell = np.unique(
        (matchup * k + level[: rows.size]) * k + level[rows.size :], return_inverse=True
    )
    of_cell = occupied // (k * k)
    return LabelPairs(
        levels, rows, cell, occupied // k, of_cell * k + occupied % k, of_cell, names.size
    )


def count_confusion(a: Floats, b: Floats) -> Confusion:
    """Confusion matrix of the rows that both raters labelled."""
    pairs = fold_labels(a, b)
    counts = np.zeros((pairs.levels.size, pairs.levels.size), dtype=np.int64)
    counts[pairs.group_a, pairs.group_b] = np.bincount(pairs.cell, minlength=pairs.n_cells)
    return Confusion(pairs.levels, counts)


def landis_koch(kappa: float) -> str:
    """The word for a kappa: poor below 0, slight to 0.2, fair to 0.4, moderate, substantial, almost
    perfect (Landis & Koch 1977).
    """
    if np.isnan(kappa):
        return "undefined"
    if kappa < 0:
        return "poor"
    return next((word for highest, word in _LANDIS_KOCH if kappa <= highest), "almost perfect")


def agree_cells(pairs: LabelPairs, counts: Floats) -> Floats:
    """Raw agreement for each column of counts, (cells, resamples) -> (resamples,)."""
    return divide(counts[pairs.group_a == pairs.group_b].sum(axis=0), counts.sum(axis=0))


def kappa_of_cells(pairs: LabelPairs, counts: Floats, weighting: Weighting) -> Floats:
    """1 - D_o / D_e, the disagreement found over the one expected by chance, for each column of
    counts: (cells, resamples) -> (resamples,).

    Cohen 1960; weighted, Cohen 1968. Of several matchups the chance term is taken per matchup and
    weighted by their frequency (CHIRP, appendix C.2.5): labels then say which model of the matchup
    is preferred, so both orders of two models must be one matchup
    (`tasks.stats.comparisons.orient_matchups`). NaN where chance alone would agree always, that is
    where both raters gave one and the same label throughout (each matchup), and without rows; a
    rater who is constant while the other is not has kappa 0.
    """
    side_a, side_b = (
        sum_groups(counts, group, pairs.n_groups) for group in (pairs.group_a, pairs.group_b)
    )
    if weighting == "nominal":
        observed = counts[pairs.group_a != pairs.group_b].sum(axis=0)
        expected = _differ_by_chance(pairs, counts, side_a, side_b)
    else:
        values = pairs.levels - pairs.levels.mean() if pairs.levels.size else pairs.levels
        power = 1 if weighting == "linear" else 2
        observed = (np.abs(values[pairs.group_a] - values[pairs.group_b]) ** power) @ counts
        expected = (_linear_by_chance if weighting == "linear" else _quadratic_by_chance)(
            values, side_a, side_b
        )
        # Rounding must not hide that both raters gave one label throughout.
        total = counts.sum(axis=0)
        expected[((side_a == total) & (side_b == total)).any(axis=0)] = 0
    return 1 - divide(observed, expected)


def _differ_by_chance(pairs: LabelPairs, counts: Floats, side_a: Floats, side_b: Floats) -> Floats:
    """Rows expected to differ: sum over matchups of n - sum of (rows of a) (rows of b) / n."""
    matchup_of_group = np.repeat(np.arange(pairs.n_matchups), pairs.levels.size)
    total = sum_groups(counts, pairs.matchup, pairs.n_matchups)
    alike = sum_groups(side_a * side_b, matchup_of_group, pairs.n_matchups)
    differ: Floats = (total - alike / np.maximum(total, 1)).sum(axis=0)
    return differ


def _linear_by_chance(values: Floats, side_a: Floats, side_b: Floats) -> Floats:
    """Sum of |v_i - v_j| a_i b_j / n, from the gaps between neighbouring values that lie between i
    and j.
    """
    total = side_a.sum(axis=0)
    below_a, below_b = np.cumsum(side_a, axis=0)[:-1], np.cumsum(side_b, axis=0)[:-1]
    crossing = below_a * (total - below_b) + below_b * (total - below_a)
    expected: Floats = np.diff(values) @ crossing / np.maximum(total, 1)
    return expected


def _quadratic_by_chance(values: Floats, side_a: Floats, side_b: Floats) -> Floats:
    """Sum of (v_i - v_j)^2 a_i b_j / n."""
    total = np.maximum(side_a.sum(axis=0), 1)
    expected: Floats = (values**2) @ (side_a + side_b) - 2 * (values @ side_a) * (
        values @ side_b
    ) / total
    return expected


def _check_labels(a: Floats, b: Floats, matchups: Indices | None) -> None:
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            f"fold_labels: labels have shapes {a.shape} and {b.shape}; expected two vectors of "
            f"one length; pair them"
        )
    if np.isinf(a).any() or np.isinf(b).any():
        raise ValueError(
            "fold_labels: a label is infinite; expected finite numbers or NaN for a missing "
            "label; check the scores"
        )
    if matchups is not None and matchups.shape != a.shape:
        raise ValueError(
            f"fold_labels: {matchups.size} matchups for {a.size} rows; expected one a row; "
            f"pass them together"
        )


_Statistic = Callable[[Floats], Floats]


def agree_raters(
    a: Floats,
    b: Floats,
    clusters: Indices,
    weights: AnyWeights,
    weightings: Sequence[Weighting] = ("nominal",),
) -> dict[str, Estimate]:
    """Raw `agreement` and one kappa a weighting (`kappa_nominal`, ...) on the rows that both raters
    labelled (NaN is missing).
    """
    pairs = fold_labels(a, b)
    statistics: dict[str, _Statistic] = {"agreement": partial(agree_cells, pairs)}
    for weighting in weightings:
        statistics[f"kappa_{weighting}"] = partial(kappa_of_cells, pairs, weighting=weighting)
    return _estimate("agree_raters", pairs, statistics, clusters, a.size, weights)


def agree_on_matchups(
    a: Floats, b: Floats, matchups: Indices, clusters: Indices, weights: AnyWeights
) -> dict[str, Estimate]:
    """Raw `agreement` and CHIRP's kappa (`kappa_matchups`; appendix C.2.5, Table 1), its chance
    term per matchup.
    """
    pairs = fold_labels(a, b, matchups)
    statistics: dict[str, _Statistic] = {
        "agreement": partial(agree_cells, pairs),
        "kappa_matchups": partial(kappa_of_cells, pairs, weighting="nominal"),
    }
    return _estimate("agree_on_matchups", pairs, statistics, clusters, a.size, weights)


def _estimate(
    where: str,
    pairs: LabelPairs,
    statistics: dict[str, _Statistic],
    clusters: Indices,
    n_rows: int,
    weights: AnyWeights,
) -> dict[str, Estimate]:
    check_clusters(where, clusters, n_rows, weights)
    cluster = clusters[pairs.rows]
    whole = count_cells(pairs.cell, pairs.n_cells, cluster, draw_once(weights.shape[1]))
    numbers, more = add_left_out(cluster, weights)
    drawn = {name: np.full(len(more), np.nan) for name in statistics}
    for part in slice_resamples(8 * (2 * pairs.n_cells + 4 * pairs.n_groups + 1), more):
        counts = count_cells(pairs.cell, pairs.n_cells, numbers, more[part])
        for name, statistic in statistics.items():
            drawn[name][part] = statistic(counts)
    scales: dict[str, Scale] = {
        name: "coefficient" if name.startswith("kappa") else "share" for name in statistics
    }
    about = cluster.size, cluster, len(weights)
    mark = {name: pairs.mark_rarer for name, scale in scales.items() if scale == "coefficient"}
    found = {
        name: summarise_draws(
            statistic(whole)[0], drawn[name], *about, scales[name], mark.get(name)
        )
        for name, statistic in statistics.items()
    }
    if not pairs.has_one_label_rater:
        return found
    return {
        name: one
        if scales[name] == "share" or np.isnan(one.value)
        else one.without_interval(_ONE_LABEL)
        for name, one in found.items()
    }


class RaterLabels(NamedTuple):
    """`labels` are (raters, units), NaN where a rater has none; `units` their codes, `first_row`
    the row where each first stood.

    What else is known of a unit (its cluster, its matchup) is that row's:
    `matchups[found.first_row]`.
    """

    labels: Floats
    units: Indices
    first_row: Indices


def spread_labels(raters: Indices, units: Indices, labels: Floats, n_raters: int) -> RaterLabels:
    """Lay out rows of rater code, unit code and label; any two rows of the result are what two
    raters gave the same units.
    """
    if not raters.shape == units.shape == labels.shape:
        raise ValueError(
            f"spread_labels: {raters.size} raters, {units.size} units, {labels.size} labels; "
            f"expected one of each a row; pass one query's"
        )
    if raters.size and not 0 <= raters.min() <= raters.max() < n_raters:
        raise ValueError(
            f"spread_labels: rater codes {raters.min()} to {raters.max()}; expected 0 to "
            f"{n_raters - 1}; number them"
        )
    names, first_row, unit = np.unique(units, return_index=True, return_inverse=True)
    place = raters * names.size + unit
    held = np.bincount(place, minlength=n_raters * names.size)
    if held.max(initial=0) > 1:
        rater, at = divmod(int(held.argmax()), names.size)
        raise ValueError(
            f"spread_labels: rater {rater} labels unit {names[at]} {held.max()} times; "
            f"expected once; keep one sample, or number samples apart"
        )
    table = np.full(n_raters * names.size, np.nan)
    table[place] = labels
    return RaterLabels(table.reshape(n_raters, names.size), names, first_row)
