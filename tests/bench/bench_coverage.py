"""`python -m tests.bench.bench_coverage [samples]`: how often 95 % intervals hold the truth, by
numbers of clusters and how rows are spread over them.

Prints for each statistic the percentage of samples whose interval holds the population's value, of
those that have one, and in brackets the percentage that have none, with its reason in the result.
Within 93 to 97 is the goal; above it stand what is discrete (shares near 0 and 1, rank coefficients
of few rows) and what most rows of one cluster leave open.
"""

import sys
import time

import numpy as np

from tests.stats.coverage import (
    CLUSTERS,
    LAYOUTS,
    SEVERAL_ROWS,
    Coverage,
    list_views,
    measure_coverage,
    measure_kappas,
    measure_systems,
)

SAMPLES, RESAMPLES, ITEMS = 60, 400, 50
MODELS = (3, 5, 6, 8, 10, 15, 30)


def main() -> None:
    """Print the grid; of means and shares ten times as many samples."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    start = time.perf_counter()
    for name, layout in LAYOUTS.items():
        for n_clusters in CLUSTERS:
            rng = np.random.default_rng(n_clusters)
            where = f"{n_clusters:4} clusters, {name:12}"
            for what, found in list_views(layout, n_clusters, 10 * samples, rng):
                print(f"{where} {what:18} {show(found)}", flush=True)
            kappas = measure_kappas(layout, n_clusters, samples, RESAMPLES, rng)
            print(f"{where} {'raters':28} {show_all(kappas)}", flush=True)
            for population, draw in SEVERAL_ROWS.items():
                found_all = measure_coverage(draw, layout, n_clusters, samples, RESAMPLES, rng)
                print(f"{where} {population:28} {show_all(found_all)}", flush=True)
    for n_models in MODELS:
        systems = measure_systems(n_models, ITEMS, 5 * samples, np.random.default_rng(n_models))
        print(f"{n_models:4} models {show_all(systems)}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


def show(found: Coverage) -> str:
    """`95.1`, with `(3)` where so many of 100 samples have no interval; `-` where none has."""
    held = "    -" if np.isnan(found.held) else f"{100 * found.held:5.1f}"
    return held + (f" ({100 * found.without:.0f})" if found.without else "")


def show_all(found: dict[str, Coverage]) -> str:
    """Several of them with their names."""
    return "  ".join(f"{name} {show(one)}" for name, one in found.items())


if __name__ == "__main__":
    main()
