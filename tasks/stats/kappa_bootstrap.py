"""Agreement of two raters with intervals; the chance term is computed anew in each resample.

The statistics of one sample live in `tasks.stats.agreement`, drawing in `tasks.stats.resampling`.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tasks.stats.agreement import LabelPairs, Weighting, agree_cells, fold_labels, kappa_of_cells
from tasks.stats.cluster_sums import AnyWeights, Floats, Indices, check_clusters, count_cells, draw_once, slice_resamples
from tasks.stats.estimates import Estimate, divide, summarise_draws

_Statistic = Callable[[Floats], Floats]


def agree_raters(
    a: Floats, b: Floats, clusters: Indices, weights: AnyWeights, weightings: Sequence[Weighting] = ("nominal",)
) -> dict[str, Estimate]:
    """Raw `agreement` and one kappa a weighting (`kappa_nominal`, ...) on the rows that both raters labelled (NaN is missing)."""
    pairs = fold_labels(a, b)
    statistics: dict[str, _Statistic] = {"agreement": partial(agree_cells, pairs)}
    for weighting in weightings:
        statistics[f"kappa_{weighting}"] = partial(kappa_of_cells, pairs, weighting=weighting)
    return _estimate("agree_raters", pairs, statistics, clusters, a.size, weights)


def agree_on_matchups(a: Floats, b: Floats, matchups: Indices, clusters: Indices, weights: AnyWeights) -> dict[str, Estimate]:
    """Raw `agreement` and CHIRP's kappa (`kappa_matchups`; appendix C.2.5, Table 1), its chance term per matchup."""
    pairs = fold_labels(a, b, matchups)
    statistics: dict[str, _Statistic] = {
        "agreement": partial(agree_cells, pairs),
        "kappa_matchups": partial(kappa_of_cells, pairs, weighting="nominal"),
    }
    return _estimate("agree_on_matchups", pairs, statistics, clusters, a.size, weights)


def grade_grader(graded: Floats, human: Floats, clusters: Indices, weights: AnyWeights) -> dict[str, Estimate]:
    """A grader against human grading, 1 correct and 0 not: `accuracy`, `false_positive_rate`, `false_negative_rate`.

    CHIRP, Table 7 and Figure 13. The rates are shares of what people marked incorrect, and correct.
    """
    pairs = fold_labels(graded, human)
    if not np.isin(pairs.levels, (0.0, 1.0)).all():
        strange = pairs.levels[~np.isin(pairs.levels, (0.0, 1.0))][0]
        raise ValueError(
            f"grade_grader: a label is {strange}; expected 0 or 1; count partly correct as 0, as CHIRP does, or as 1"
        )
    by_grader, by_human = pairs.levels[pairs.group_a], pairs.levels[pairs.group_b]
    statistics: dict[str, _Statistic] = {
        "accuracy": partial(agree_cells, pairs),
        "false_positive_rate": lambda counts: _share(counts, by_human == 0, by_grader == 1),
        "false_negative_rate": lambda counts: _share(counts, by_human == 1, by_grader == 0),
    }
    return _estimate("grade_grader", pairs, statistics, clusters, graded.size, weights)


def _share(counts: Floats, among: np.ndarray, those: np.ndarray) -> Floats:
    return divide(counts[among & those].sum(axis=0), counts[among].sum(axis=0))


def _estimate(
    where: str, pairs: LabelPairs, statistics: dict[str, _Statistic], clusters: Indices, n_rows: int, weights: AnyWeights
) -> dict[str, Estimate]:
    check_clusters(where, clusters, n_rows, weights)
    cluster = clusters[pairs.rows]
    whole = count_cells(pairs.cell, pairs.n_cells, cluster, draw_once(weights.shape[1]))
    drawn = {name: np.full(len(weights), np.nan) for name in statistics}
    for part in slice_resamples(8 * (2 * pairs.n_cells + 4 * pairs.n_groups + 1), weights):
        counts = count_cells(pairs.cell, pairs.n_cells, cluster, weights[part])
        for name, statistic in statistics.items():
            drawn[name][part] = statistic(counts)
    return {
        name: summarise_draws(statistic(whole)[0], drawn[name], cluster.size, cluster) for name, statistic in statistics.items()
    }
