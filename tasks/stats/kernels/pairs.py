"""The compiled inner loop of `tasks.stats.pair_accuracy`. Imports numba, so import it inside
functions.
"""

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.kernels.compiled import compile_loop

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Drawn = NDArray[np.uint16]
Counts = NDArray[np.int32]


@compile_loop
def count_right_pairs(
    drawn: Drawn,
    x: Floats,
    epsilon: float,
    levels: Places,
    clusters: Places,
    counts: Counts,
    sums: Floats,
) -> None:
    """Count pairs of different rows that both rank alike or both tie, the judge where its scores
    lie at most epsilon apart.

    Rows come by rising score `x` of the judge, with the levels of people's scores and their
    clusters; `drawn` is (clusters, resamples). `counts`, (2, levels + 1, resamples), begin at 0; to
    `sums` are added the right pairs and all pairs.
    """
    lanes = drawn.shape[1]
    entered = 0
    for row in range(x.size):
        while x[row] - x[entered] > epsilon:
            _enter(counts, levels[entered], drawn, clusters[entered])
            entered += 1
        node = levels[row]
        # rows farther below than epsilon with a smaller level: a binary indexed tree (Fenwick 1994)
        while node > 0:
            for b in range(lanes):
                sums[0, b] += np.float64(drawn[clusters[row], b]) * counts[0, node, b]
            node &= node - 1
        for b in range(lanes):  # tied by people alone: taken from all pairs that people tie, below
            sums[0, b] -= np.float64(drawn[clusters[row], b]) * counts[1, levels[row], b]
    for row in range(entered, x.size):
        _enter(counts, levels[row], drawn, clusters[row])
    _add_tied(drawn, clusters, counts, sums)


@compile_loop
def _enter(counts: Counts, level: int, drawn: Drawn, cluster: int) -> None:
    node = level + 1
    while node < counts.shape[1]:
        for b in range(drawn.shape[1]):
            counts[0, node, b] += drawn[cluster, b]
        node += node & -node
    for b in range(drawn.shape[1]):
        counts[1, level, b] += drawn[cluster, b]


@compile_loop
def _add_tied(drawn: Drawn, clusters: Places, counts: Counts, sums: Floats) -> None:
    """Add the pairs of one level to the right pairs, and all pairs; a row drawn twice is no
    pair.
    """
    for b in range(drawn.shape[1]):
        n = 0.0
        for level in range(counts.shape[1] - 1):
            held = np.float64(counts[1, level, b])
            sums[0, b] += held * held / 2
            n += held
        sums[1, b] += n * n / 2
        for row in range(clusters.size):
            held = np.float64(drawn[clusters[row], b])
            sums[0, b] -= held * held / 2
            sums[1, b] -= held * held / 2
