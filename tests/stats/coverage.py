"""Populations of clustered scores, and how often intervals from samples of them hold the
population's coefficient.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from judgelake.tasks.stats.bootstrap import resample_correlations
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.stats.resampling import (
    draw_cluster_weights,
    expanded_interval,
    percentile_interval,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Population = Callable[[int, np.random.Generator], tuple[Floats, Floats, Codes]]
"""(clusters, generator) -> judge, people, cluster of each row."""

_CLUSTERS_OF_TRUTH = 200_000
_SAMPLES_A_DRAW = 50


class Coverage(NamedTuple):
    """Shares of samples whose interval holds the truth: the project's intervals and plain
    percentiles.
    """

    expanded: float
    percentile: float


def draw_normal(sizes: Codes, rho: float, rng: np.random.Generator) -> tuple[Floats, Floats, Codes]:
    """Two normals of correlation rho; half of each one's variance is the cluster's."""
    clusters = np.repeat(np.arange(sizes.size), sizes)
    shared, own = rng.normal(size=(2, sizes.size)), rng.normal(size=(2, clusters.size))
    x, other = (shared[:, clusters] + own) / np.sqrt(2)
    return x, rho * x + np.sqrt(1 - rho**2) * other, clusters


def cut(values: Floats, shares: list[float]) -> Floats:
    """Levels 0, 1, ... of a standard normal, cut where these shares lie below."""
    return np.digitize(values, stats.norm.ppf(shares)).astype(np.float64)


def two_normals(n_clusters: int, rng: np.random.Generator) -> tuple[Floats, Floats, Codes]:
    return draw_normal(np.full(n_clusters, 5), 0.6, rng)


def binary_judge_of_three_levels(
    n_clusters: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Codes]:
    x, y, clusters = draw_normal(1 + rng.poisson(3, n_clusters), 0.7, rng)
    return cut(x, [0.3]), cut(y, [0.25, 0.35]), clusters


def probability_of_three_levels(
    n_clusters: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Codes]:
    x, y, clusters = draw_normal(1 + rng.poisson(3, n_clusters), 0.5, rng)
    return stats.norm.cdf(x), cut(y, [0.25, 0.35]), clusters


def rubric_of_five_levels(
    n_clusters: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Codes]:
    x, y, clusters = draw_normal(rng.geometric(0.2, n_clusters), 0.8, rng)
    return cut(x, [0.03, 0.12, 0.35, 0.75]), cut(y, [0.03, 0.12, 0.35, 0.75]), clusters


def log_normal_of_three_levels(
    n_clusters: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Codes]:
    x, y, clusters = draw_normal(1 + rng.poisson(3, n_clusters), 0.5, rng)
    return np.exp(x), cut(y, [0.25, 0.35]), clusters


def single_items_of_five_levels(
    n_clusters: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Codes]:
    x, y, clusters = draw_normal(np.ones(n_clusters, dtype=np.int64), 0.8, rng)
    return cut(x, [0.03, 0.12, 0.35, 0.75]), cut(y, [0.03, 0.12, 0.35, 0.75]), clusters


SEVERAL_ROWS: dict[str, Population] = {
    "two normals": two_normals,
    "binary judge, three levels": binary_judge_of_three_levels,
    "probability, three levels": probability_of_three_levels,
    "rubric, five levels": rubric_of_five_levels,
}


def measure_coverage(
    population: Population, n_clusters: int, samples: int, resamples: int, rng: np.random.Generator
) -> dict[str, Coverage]:
    """Coverage of 95 % intervals of each coefficient over many samples; the truth comes from one
    very large sample.
    """
    x, y, _ = population(_CLUSTERS_OF_TRUTH, rng)
    truth = {name: coefficient(x, y) for name, coefficient in COEFFICIENTS.items()}
    held = {name: np.zeros(2) for name in COEFFICIENTS}
    for sample in range(samples):
        if sample % _SAMPLES_A_DRAW == 0:
            weights = draw_cluster_weights(n_clusters, resamples, rng)
        for name, found in resample_correlations(*population(n_clusters, rng), weights).items():
            intervals = expanded_interval(found.drawn, n_clusters), percentile_interval(found.drawn)
            held[name] += [interval.low <= truth[name] <= interval.high for interval in intervals]
    return {name: Coverage(*(counts / samples)) for name, counts in held.items()}
