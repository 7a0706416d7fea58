"""The compiled inner loop of `tasks.stats.cluster_sums`. Imports numba, so import it inside
functions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.kernels.compiled import compile_loop

Drawn = NDArray[np.integer[Any]]
Places = NDArray[np.int64]
Counts = NDArray[np.uint32]
Floats = NDArray[np.float64]

_RESAMPLES_AT_ONCE = 1024


@compile_loop
def add_rows(drawn: Drawn, rows: Places, start: int, stop: int, counts: Counts) -> None:
    """Add drawn[row], (clusters, resamples), of each of the rows to `counts`, for the resamples
    from start to stop.
    """
    # Eight at a time, so that a sum is written once for them; rows cut alone, which stay known as
    # contiguous, so vectors are used.
    sums = counts[start:stop]
    whole = rows.size // 8 * 8
    for e in range(0, whole, 8):
        a, b = drawn[rows[e], start:stop], drawn[rows[e + 1], start:stop]
        c, d = drawn[rows[e + 2], start:stop], drawn[rows[e + 3], start:stop]
        f, g = drawn[rows[e + 4], start:stop], drawn[rows[e + 5], start:stop]
        h, i = drawn[rows[e + 6], start:stop], drawn[rows[e + 7], start:stop]
        for r in range(sums.size):
            sums[r] += np.uint32(a[r] + b[r] + c[r] + d[r] + f[r] + g[r] + h[r] + i[r])
    for e in range(whole, rows.size):
        row = drawn[rows[e], start:stop]
        for r in range(sums.size):
            sums[r] += np.uint32(row[r])


@compile_loop
def add_columns(
    drawn: Drawn,
    starts: Places,
    columns: Places,
    values: Floats,
    start: int,
    stop: int,
    sums: Floats,
) -> None:
    """Add to each row of `sums`, (quantities, resamples), values[k] * drawn[columns[k]] for its k,
    for the resamples from start to stop.

    Row q has the k from starts[q] to starts[q + 1]: the table is a sparse one by rows.
    """
    for first in range(start, stop, _RESAMPLES_AT_ONCE):  # so many that a row of sums stays at hand
        last = min(first + _RESAMPLES_AT_ONCE, stop)
        for q in range(sums.shape[0]):
            own = sums[q, first:last]
            for k in range(starts[q], starts[q + 1]):
                column, value = drawn[columns[k], first:last], values[k]
                for b in range(own.size):
                    own[b] += value * np.float64(column[b])


@compile_loop
def count_draws(clusters: NDArray[np.uint32], counts: NDArray[np.integer[Any]]) -> None:
    """Count in (clusters, resamples) how often each resample drew each cluster, from (resamples,
    draws).
    """
    for b in range(clusters.shape[0]):
        for i in range(clusters.shape[1]):
            counts[clusters[b, i], b] += 1


@compile_loop
def draw_poisson(
    starts: NDArray[np.uint64],
    step: np.uint64,
    reached: Floats,
    places: NDArray[np.uint8],
    counts: NDArray[np.uint16],
) -> None:
    """Fill (clusters, resamples) with the places of uniform numbers in a distribution function,
    `reached`, which ends with 1; cluster c's stream of SplitMix64 begins at starts[c]. `places`
    are those known from the first 12 bits, 255 where more are needed.
    """
    for c in range(starts.size):
        state = starts[c]
        for b in range(counts.shape[1]):
            state += step
            bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            bits ^= bits >> np.uint64(31)
            place = np.int64(places[bits >> np.uint64(52)])
            if place == 255:
                uniform = np.float64(bits >> np.uint64(11)) * 2.0**-53
                place = np.int64(0)
                while uniform >= reached[place]:
                    place += 1
            counts[c, b] = place
