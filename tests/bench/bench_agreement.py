"""`python -m tests.bench.bench_agreement`: the bootstrap of kappa beside a loop over scikit-learn
on the same resamples.

Asserts that both agree to 1e-12; speed is printed, never asserted. The loop runs on a few resamples
and is scaled. Processor seconds stand beside the wall clock's: they hold on a busy machine, too.
"""

import time
import warnings
from collections.abc import Callable

import krippendorff
import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from judgelake.tasks.stats.agreement import Weighting, agree_raters
from judgelake.tasks.stats.reliability import krippendorff_alpha
from judgelake.tasks.stats.resampling import draw_cluster_weights

ROWS, RESAMPLES, PEER_RESAMPLES = 22_000, 5_000, 20
Floats = NDArray[np.float64]


def measure(work: Callable[[], object], times: int) -> tuple[float, float]:
    """Least wall-clock and least processor seconds of several runs."""
    found = []
    for _ in range(times):
        start, processor = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - start, time.process_time() - processor))
    return min(wall for wall, _ in found), min(processor for _, processor in found)


def report(name: str, ours: tuple[float, float], peer: tuple[float, float], scale: float) -> None:
    print(
        f"{name:44} {ours[0]:7.3f} s ({ours[1]:.3f} of processors)  peer "
        f"{peer[0] * scale:7.1f} s, scaled  "
        f"{peer[0] * scale / ours[0]:6.0f} x  (of processors {peer[1] * scale / ours[1]:6.0f} x)"
    )


def compare_kappa(
    name: str,
    a: Floats,
    b: Floats,
    weighting: Weighting,
    theirs: str | None,
    weights: NDArray[np.uint16],
) -> None:
    clusters = np.arange(a.size)
    drawn = [np.repeat(clusters, one) for one in weights[:PEER_RESAMPLES]]

    def loop() -> list[float]:
        return [float(cohen_kappa_score(a[rows], b[rows], weights=theirs)) for rows in drawn]

    for one, expected in zip(weights[:PEER_RESAMPLES], loop(), strict=True):
        found = agree_raters(a, b, clusters, one[None], [weighting])[f"kappa_{weighting}"]
        alone = agree_raters(a, b, clusters, np.repeat(one[None], 2, axis=0), [weighting])[
            f"kappa_{weighting}"
        ]
        np.testing.assert_allclose([found.low, alone.high], expected, rtol=0, atol=1e-12)
    ours = measure(lambda: agree_raters(a, b, clusters, weights, [weighting]), 5)
    report(name, ours, measure(loop, 3), len(weights) / PEER_RESAMPLES)


def compare_alpha(ratings: Floats, weights: NDArray[np.uint16]) -> None:
    units, values = np.repeat(np.arange(len(ratings)), ratings.shape[1]), ratings.ravel()
    drawn = [ratings[np.repeat(np.arange(len(ratings)), one)].T for one in weights[:PEER_RESAMPLES]]

    def loop() -> list[float]:
        return [float(krippendorff.alpha(each, level_of_measurement="ordinal")) for each in drawn]

    for one, expected in zip(weights[:5], loop(), strict=False):
        found = krippendorff_alpha(units, values, "ordinal", units, one[None]).alpha
        np.testing.assert_allclose(found.low, expected, rtol=0, atol=1e-12)
    ours = measure(lambda: krippendorff_alpha(units, values, "ordinal", units, weights), 2)
    report(
        "ordinal alpha, 2,000 units x 3 raters",
        ours,
        measure(loop, 1),
        len(weights) / PEER_RESAMPLES,
    )


def main() -> None:
    warnings.simplefilter("error")
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    weights = draw_cluster_weights(ROWS, RESAMPLES, rng)
    print(f"{'drawing, once a benchmark':44} {time.perf_counter() - start:7.3f} s")
    two = rng.integers(0, 2, ROWS).astype(np.float64)
    five = rng.integers(1, 6, ROWS).astype(np.float64)
    noisy_two = np.where(rng.random(ROWS) < 0.8, two, 1 - two)
    noisy_five = np.clip(five + rng.integers(-1, 2, ROWS), 1, 5)
    compare_kappa("Cohen's kappa, 2 labels", two, noisy_two, "nominal", None, weights)
    compare_kappa("Cohen's kappa, 5 labels", five, noisy_five, "nominal", None, weights)
    compare_kappa("quadratic kappa, 5 labels", five, noisy_five, "quadratic", "quadratic", weights)
    ratings = np.clip(
        rng.integers(1, 6, 2_000)[:, None] + rng.integers(-1, 2, (2_000, 3)), 1, 5
    ).astype(np.float64)
    compare_alpha(ratings, draw_cluster_weights(2_000, 1_000, rng))


if __name__ == "__main__":
    main()
