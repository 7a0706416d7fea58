"""`python -m tests.bench.bench_family`: how often six equal judges are taken for unlike ones.

Prints, in % of columns, how often some corrected p is up to .05 and how often 0 lies inside all
intervals of the leader's differences: 5 and 95 are what they promise.
"""

import numpy as np

from tests.stats.equal_judges import measure_family

SAMPLES, RESAMPLES = 600, 800


def main() -> None:
    print(f"% of {SAMPLES} columns of six equal judges: some p <= .05 / all intervals hold 0")
    for n_clusters, rows in ((8, 10), (20, 5), (60, 3), (200, 1)):
        rng = np.random.default_rng(n_clusters)
        found = measure_family(n_clusters, rows, SAMPLES, RESAMPLES, rng)
        cells = "  ".join(
            f"{name} {100 * rates.rejected:4.1f} / {100 * rates.held:5.1f}"
            for name, rates in found.items()
        )
        print(f"{n_clusters:4} clusters x {rows:2} rows  {cells}", flush=True)


if __name__ == "__main__":
    main()
