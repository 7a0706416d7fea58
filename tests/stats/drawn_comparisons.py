"""Comparisons of models whose strengths are known, for tests of ratings."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from judgelake.tasks.stats.comparisons import Comparisons, select_comparisons

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def draw_comparisons(
    logits: Floats,
    n_clusters: int,
    rows_a_cluster: int,
    rng: np.random.Generator,
    *,
    dependence: float = 0.5,
    ties: float = 0.1,
) -> Comparisons:
    """Random pairs, as many a cluster, with the outcomes of `draw_outcomes`."""
    cluster = np.repeat(np.arange(n_clusters), rows_a_cluster)
    a = rng.integers(0, logits.size, cluster.size)
    b = (a + rng.integers(1, logits.size, cluster.size)) % logits.size
    return draw_outcomes(logits, cluster, a, b, rng, dependence=dependence, ties=ties)


def draw_outcomes(
    logits: Floats,
    cluster: Indices,
    a: Indices,
    b: Indices,
    rng: np.random.Generator,
    *,
    dependence: float = 0.5,
    ties: float = 0.1,
) -> Comparisons:
    """Comparisons whose mean share of the win follows `logits` exactly, and whose outcomes depend
    on each other in a cluster.

    A comparison's outcome is read from a normal variable that holds its cluster's own liking for
    either model, so it is uniform on its own whatever the dependence; a share `ties` of the rarer
    outcome, and as much of the other, are ties.
    """
    liking = rng.normal(size=(int(cluster.max()) + 1, logits.size))
    shared = (liking[cluster, a] - liking[cluster, b]) / np.sqrt(2)
    place = norm.cdf(
        np.sqrt(dependence) * shared + np.sqrt(1 - dependence) * rng.normal(size=cluster.size)
    )
    chance = expit(logits[a] - logits[b])
    band = ties * np.minimum(chance, 1 - chance)
    preference_b = np.where(
        place > 1 - chance + band, 0.0, np.where(place < 1 - chance - band, 1.0, 0.5)
    )
    return select_comparisons(a, b, preference_b, cluster, logits.size)
