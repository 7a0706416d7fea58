"""`python -m tests.bench.bench_correlation`: the bootstrap beside a loop over scipy on the same
resamples.

Asserts that both agree to 1e-12; speed is printed, never asserted. The loop runs on a few resamples
and is scaled.
"""

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from judgelake.tasks.stats.bootstrap import bootstrap_correlations
from judgelake.tasks.stats.judge_comparison import compare_correlations
from judgelake.tasks.stats.resampling import draw_cluster_weights

ROWS, RESAMPLES, PEER_RESAMPLES = 22_000, 5_000, 10
Weights = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]


def loop_over_scipy(
    x: Floats, y: Floats, clusters: NDArray[np.int64], weights: Weights
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {
        "pearson": [],
        "spearman": [],
        "kendall_tau_b": [],
        "kendall_tau_c": [],
    }
    for drawn in weights:
        rows = np.repeat(np.arange(x.size), drawn[clusters])
        found["pearson"].append(float(stats.pearsonr(x[rows], y[rows]).statistic))
        found["spearman"].append(float(stats.spearmanr(x[rows], y[rows]).statistic))
        for variant in ("b", "c"):
            found[f"kendall_tau_{variant}"].append(
                float(stats.kendalltau(x[rows], y[rows], variant=variant).statistic)
            )
    return found


def compare(name: str, x: Floats, y: Floats, clusters: NDArray[np.int64], weights: Weights) -> None:
    start = time.perf_counter()
    ours = bootstrap_correlations(x, y, clusters, weights)
    ours_s = time.perf_counter() - start
    start = time.perf_counter()
    peers = loop_over_scipy(x, y, clusters, weights[:PEER_RESAMPLES])
    peer_s = (time.perf_counter() - start) * len(weights) / PEER_RESAMPLES
    for coefficient, values in peers.items():
        np.testing.assert_allclose(
            ours[coefficient][:PEER_RESAMPLES],
            values,
            rtol=0,
            atol=1e-12,
            err_msg=f"{name}: {coefficient}",
        )
    a_row_ns = ours_s / x.size / len(weights) * 1e9
    print(
        f"{name:34} {ours_s:7.2f} s  scipy {peer_s:7.1f} s (scaled)  {peer_s / ours_s:6.0f} x  "
        f"{a_row_ns:6.2f} ns a row"
    )


def compare_column(
    human: Floats, clusters: NDArray[np.int64], weights: Weights, rng: np.random.Generator
) -> None:
    """Ten judges, each missing 1 % of the rows: four coefficients each, and the leader's
    differences from the nine others.
    """
    x = human[:, None] + rng.normal(size=(human.size, 10)) * np.linspace(1, 2, 10)
    x[rng.random(x.shape) < 0.01] = np.nan
    start = time.perf_counter()
    compare_correlations(x, human, clusters, weights)
    ours_s = time.perf_counter() - start
    start = time.perf_counter()
    scored = ~np.isnan(x[:, 0])
    loop_over_scipy(x[scored, 0], human[scored], clusters[scored], weights[:PEER_RESAMPLES])
    peer_s = 28 * (time.perf_counter() - start) * len(weights) / PEER_RESAMPLES
    print(
        f"{'10 judges and their differences':34} {ours_s:7.2f} s  scipy {peer_s:7.1f} s "
        f"(scaled)  {peer_s / ours_s:6.0f} x"
    )


def main() -> None:
    warnings.simplefilter("error")
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    bootstrap_correlations(
        np.arange(4.0), np.arange(4.0), np.arange(4), draw_cluster_weights(4, 2, rng)
    )
    print(f"{'compiling, or loading what was':34} {time.perf_counter() - start:7.2f} s")
    human = rng.integers(0, 3, ROWS).astype(np.float64)
    noisy = human + rng.normal(size=ROWS)
    alone, grouped = np.arange(ROWS), rng.integers(0, 5_000, ROWS)
    start = time.perf_counter()
    weights = draw_cluster_weights(ROWS, RESAMPLES, rng)
    print(f"{'drawing, once a benchmark':34} {time.perf_counter() - start:7.2f} s")
    levels = {3: np.clip(np.round(noisy), 0, 2), 21: np.clip(np.round(noisy * 5), -5, 15)}
    compare("3 x 3 levels", levels[3], human, alone, weights)
    compare("21 x 3 levels", levels[21], human, alone, weights)
    compare("continuous x 3 levels", noisy, human, alone, weights)
    compare("continuous x 21 levels", noisy + rng.normal(size=ROWS), levels[21], alone, weights)
    compare("continuous x continuous", noisy, noisy + rng.normal(size=ROWS), alone, weights)
    few = draw_cluster_weights(5_000, RESAMPLES, rng)
    compare("3 x 3 levels, 5,000 clusters", levels[3], human, grouped, few)
    compare("continuous x 3, 5,000 clusters", noisy, human, grouped, few)
    compare_column(human, alone, weights, rng)


if __name__ == "__main__":
    main()
