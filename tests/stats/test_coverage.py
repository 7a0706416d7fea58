"""Intervals cover as often as they say, with several rows a cluster. Few clusters and skewed ones
are measured in `tests.bench.bench_coverage`.
"""

import numpy as np
import pytest

from tests.stats.coverage import LAYOUTS, SEVERAL_ROWS, measure_coverage


@pytest.mark.full
@pytest.mark.parametrize("n_clusters", [100, 250])
@pytest.mark.parametrize("population", SEVERAL_ROWS)
def test_95_percent_intervals_cover_93_to_97_percent(population: str, n_clusters: int) -> None:
    # The share of 1,500 samples has a standard deviation of 0.6 points.
    found = measure_coverage(
        SEVERAL_ROWS[population],
        LAYOUTS["equal"],
        n_clusters,
        1_500,
        800,
        np.random.default_rng(20),
    )
    assert {name: one for name, one in found.items() if not 0.93 <= one.held <= 0.97} == {}
