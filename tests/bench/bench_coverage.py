"""`python -m tests.bench.bench_coverage`: how often 95 % intervals of correlations hold the truth,
also with few clusters.

Prints, for the project's intervals and for plain percentiles, the share of samples whose interval
holds the population's value.
"""

import time

import numpy as np

from tests.stats.coverage import (
    SEVERAL_ROWS,
    log_normal_of_three_levels,
    measure_coverage,
    single_items_of_five_levels,
)

SAMPLES, RESAMPLES = 600, 800
POPULATIONS = {
    **SEVERAL_ROWS,
    "single items, five levels": single_items_of_five_levels,
    "log-normal, three levels": log_normal_of_three_levels,
}


def main() -> None:
    start = time.perf_counter()
    print(f"coverage in % of {SAMPLES} samples, expanded interval (plain percentiles)")
    for n_clusters in (15, 45, 100):
        for name, population in POPULATIONS.items():
            found = measure_coverage(
                population, n_clusters, SAMPLES, RESAMPLES, np.random.default_rng(n_clusters)
            )
            cells = "  ".join(
                f"{key} {100 * value.expanded:5.1f} ({100 * value.percentile:5.1f})"
                for key, value in found.items()
            )
            print(f"{n_clusters:4} clusters  {name:28} {cells}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
