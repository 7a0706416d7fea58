"""The compiled inner loop of `tasks.stats.resampling`. Imports numba, so import it inside functions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.stats.compiled import compile_loop


@compile_loop
def count_draws(clusters: NDArray[np.uint32], counts: NDArray[np.integer[Any]]) -> None:
    """Count in (clusters, resamples) how often each resample drew each cluster, from (resamples, draws)."""
    for b in range(clusters.shape[0]):
        for i in range(clusters.shape[1]):
            counts[clusters[b, i], b] += 1
