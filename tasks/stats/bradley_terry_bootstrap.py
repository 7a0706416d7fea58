"""Bradley-Terry ratings on resampled clusters. One sample and its sandwich live in `tasks.stats.bradley_terry`."""

import numpy as np
from scipy.sparse import csr_array

from tasks.stats.bradley_terry import BradleyTerry, maximise_likelihood, rate_logits
from tasks.stats.cluster_sums import AnyWeights, Floats, check_clusters, slice_resamples, sum_columns
from tasks.stats.comparison_graph import RatingReason, find_paths, place_models
from tasks.stats.comparisons import Comparisons

_ARRAYS_A_TABLE = 12


def bootstrap_bradley_terry(comparisons: Comparisons, fitted: BradleyTerry, weights: AnyWeights) -> Floats:
    """Ratings on each resample, (resamples, models), held by the anchor of the fit.

    NaN where a model has no rating, or the anchor's models cannot all be rated against each other; inf and -inf where a model
    happens to win or lose all, which are ends of the line for `tasks.stats.rating_draws`. A model that is not finite in the fit
    is NaN throughout: who won every comparison wins every resample, and that says nothing of how sure it is.
    """
    check_clusters("bootstrap_bradley_terry", comparisons.clusters, comparisons.preference_b.size, weights)
    m = comparisons.n_models
    names, table = _tabulate(comparisons, weights.shape[1])
    is_finite = np.array([reason is RatingReason.FINITE for reason in fitted.reasons])
    drawn = np.full((len(weights), m), np.nan)
    for part in slice_resamples(8 * (_ARRAYS_A_TABLE * m * m + 1), weights):
        flat = np.zeros((len(weights[part]), m * m))
        flat[:, names] = sum_columns(table, weights[part]).T
        wins = flat.reshape(-1, m, m)
        placed = place_models(find_paths(wins > 0), fitted.anchor)
        drawn[part] = rate_logits(maximise_likelihood(wins, placed == 0), placed, fitted.anchor, fitted.anchor_rating)
    drawn[:, ~is_finite] = np.nan
    return drawn


def _tabulate(comparisons: Comparisons, n_clusters: int) -> tuple[np.ndarray, csr_array]:
    """Ordered pairs of models that have wins, and their wins in each cluster: (pairs, clusters)."""
    a, b, share = comparisons.model_a, comparisons.model_b, comparisons.preference_b
    names, pair = np.unique(np.concatenate([a, b]) * comparisons.n_models + np.concatenate([b, a]), return_inverse=True)
    at = (pair, np.concatenate([comparisons.clusters, comparisons.clusters]))
    return names, csr_array((np.concatenate([1 - share, share]), at), shape=(names.size, n_clusters))
