"""Columns of equally good judges, and how often their differences are taken for real."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.judge_comparison import compare_correlations
from judgelake.tasks.stats.resampling import draw_cluster_weights

Floats = NDArray[np.float64]
JUDGES = 6
_SAMPLES_A_DRAW = 20


class Rates(NamedTuple):
    """Shares of columns: with some corrected p up to .05, and with 0 inside all intervals."""

    rejected: float
    held: float


def draw_column(
    n_clusters: int, rows: int, rng: np.random.Generator
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Judges, people and clusters: each judge correlates .6 with people, half of what judges err in
    is common to them, and half of every variance is the cluster's.
    """
    clusters = np.repeat(np.arange(n_clusters), rows)

    def draw(columns: int) -> Floats:
        shared, own = (
            rng.normal(size=(n_clusters, columns)),
            rng.normal(size=(clusters.size, columns)),
        )
        return np.asarray((shared[clusters] + own) / np.sqrt(2))

    people, common, own = draw(1), draw(1), draw(JUDGES)
    return 0.6 * people + 0.8 * (common + own) / np.sqrt(2), people[:, 0], clusters


def measure_family(
    n_clusters: int, rows: int, samples: int, resamples: int, rng: np.random.Generator
) -> dict[str, Rates]:
    """The rates over many columns, by coefficient."""
    found: dict[str, list[tuple[bool, bool]]] = {}
    for sample in range(samples):
        if sample % _SAMPLES_A_DRAW == 0:
            weights = draw_cluster_weights(n_clusters, resamples, rng)
        columns = compare_correlations(*draw_column(n_clusters, rows, rng), weights)
        for name, column in columns.items():
            shown = column.differences
            found.setdefault(name, []).append(
                (
                    min(difference.p_holm for difference in shown) <= 0.05,
                    all(difference.low <= 0 <= difference.high for difference in shown),
                )
            )
    return {name: Rates(*np.mean(rates, axis=0).tolist()) for name, rates in found.items()}
