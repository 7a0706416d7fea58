"""A benchmark's resamples, drawn once and shared by all its judges. What is resampled lives elsewhere."""

from typing import NamedTuple

import numpy as np

from tasks.digests import digest_json
from tasks.stats.cluster_sums import AnyWeights
from tasks.stats.resampling import draw_cluster_weights
from tasks.suite import ReportSettings


class Draws(NamedTuple):
    """Resamples of the clusters and of the models; `seed` is for what draws by itself, the same for each judge."""

    clusters: AnyWeights
    models: AnyWeights
    seed: list[int]


def draw_resamples(benchmark: str, n_clusters: int, n_models: int, report: ReportSettings) -> Draws:
    """Draw the clusters, and apart from them the models, of a benchmark; its draws are its own."""
    seed = [report.seed, int(digest_json(benchmark)[:8], 16)]
    rng = np.random.default_rng(seed)
    clusters = draw_cluster_weights(n_clusters, report.resamples, rng)
    return Draws(clusters, draw_cluster_weights(n_models, report.resamples, rng), seed)


def draw_side_by_side(n_clusters: dict[str, int], report: ReportSettings) -> AnyWeights:
    """The same draws of several benchmarks' clusters, (resamples, all clusters): resampled within each benchmark."""
    block = np.empty((sum(n_clusters.values()), report.resamples), dtype=np.uint16)
    start = 0
    for benchmark, size in n_clusters.items():
        block[start : start + size] = draw_resamples(benchmark, size, 0, report).clusters.T
        start += size
    return block.T
