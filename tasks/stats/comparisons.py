"""Comparisons of models as arrays, checked once for all rating methods, and their counts. Win rates are SQL."""

from typing import NamedTuple

import numpy as np

from tasks.stats.cluster_sums import Floats, Indices


class Comparisons(NamedTuple):
    """Rows that have a preference: codes of two models, the share of the win that b got, the question's cluster.

    `n_missing` rows without a preference were left out.
    """

    model_a: Indices
    model_b: Indices
    preference_b: Floats
    clusters: Indices
    n_models: int
    n_missing: int


def select_comparisons(model_a: Indices, model_b: Indices, preference_b: Floats, clusters: Indices, n_models: int) -> Comparisons:
    """Check codes and preferences and leave out the rows without a preference (NaN): never a loss."""
    _check_rows(model_a, model_b, preference_b, clusters, n_models)
    is_there = ~np.isnan(preference_b)
    codes = (model_a[is_there], model_b[is_there])
    n_missing = int(preference_b.size - is_there.sum())
    return Comparisons(*codes, preference_b[is_there].astype(np.float64), clusters[is_there], n_models, n_missing)


def count_wins(comparisons: Comparisons) -> Floats:
    """(models, models): wins of the row over the column, a tie half a win to each."""
    m = comparisons.n_models
    wins = np.zeros(m * m)
    wins += np.bincount(comparisons.model_a * m + comparisons.model_b, 1 - comparisons.preference_b, minlength=m * m)
    wins += np.bincount(comparisons.model_b * m + comparisons.model_a, comparisons.preference_b, minlength=m * m)
    return wins.reshape(m, m)


def count_meetings(comparisons: Comparisons) -> Indices:
    """(models, models): how often two models were compared."""
    m = comparisons.n_models
    n = np.bincount(comparisons.model_a * m + comparisons.model_b, minlength=m * m).reshape(m, m)
    return n + n.T


def _check_rows(model_a: Indices, model_b: Indices, preference_b: Floats, clusters: Indices, n_models: int) -> None:
    where = "select_comparisons"
    sizes = {column.shape for column in (model_a, model_b, preference_b, clusters)}
    if len(sizes) > 1 or preference_b.ndim != 1:
        raise ValueError(
            f"{where}: columns have shapes {sorted(sizes)}; expected vectors of one length; pass one query's columns"
        )
    codes = np.concatenate([model_a, model_b])
    if codes.size and not 0 <= codes.min() <= codes.max() < n_models:
        raise ValueError(f"{where}: model codes {codes.min()} to {codes.max()}; expected 0 to {n_models - 1}; number the models")
    same = np.flatnonzero(model_a == model_b)
    if same.size:
        raise ValueError(
            f"{where}: row {same[0]} compares model {model_a[same[0]]} with itself; expected two models; leave out pairs within a model"
        )
    wrong = np.flatnonzero((preference_b < 0) | (preference_b > 1))
    if wrong.size:
        raise ValueError(
            f"{where}: preference_b[{wrong[0]}] is {preference_b[wrong[0]]}; expected 0 to 1, or NaN for a missing one; "
            "give the share of the win that b got"
        )
