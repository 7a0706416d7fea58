"""Sums of rows over bootstrap resamples of their clusters. What is counted, and which statistic
follows, lives elsewhere.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.kernel_choice import use_kernels

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
AnyWeights = NDArray[np.integer[Any]]
"""(resamples, clusters): how often each resample draws each cluster
(`tasks.stats.resampling.draw_cluster_weights`).
"""

# memory for resamples that are summed together
_CHUNK_BYTES = 32 << 20
# rows x resamples from which on a second thread saves time
_WORTH_TWO_THREADS = 1 << 22
_NS_A_ROW = 10
"""What adding a row to a resample takes in numpy, and more than the bytes that it holds."""
_Part = TypeVar("_Part")


def check_clusters(where: str, clusters: Indices, n_rows: int, weights: AnyWeights) -> None:
    """Raise ValueError unless there is one cluster code a row and each is a column of the
    weights.
    """
    if weights.ndim != 2:
        raise ValueError(
            f"{where}: weights have shape {weights.shape}; expected (resamples, clusters); use "
            f"draw_cluster_weights"
        )
    if clusters.shape != (n_rows,):
        raise ValueError(
            f"{where}: {clusters.size} cluster codes for {n_rows} rows; expected one a row; "
            f"pass them together"
        )
    if clusters.size and not 0 <= clusters.min() <= clusters.max() < weights.shape[1]:
        raise ValueError(
            f"{where}: cluster codes {clusters.min()} to {clusters.max()}; expected 0 to "
            f"{weights.shape[1] - 1}, "
            "the columns of the weights; number the clusters as they were drawn"
        )


def slice_resamples(bytes_each: int, weights: AnyWeights) -> list[slice]:
    """Cut the resamples so that arrays of `bytes_each` a resample stay within 32 MB."""
    step = max(_CHUNK_BYTES // max(bytes_each, 1), 1)
    return [slice(start, start + step) for start in range(0, len(weights), step)]


def count_cells(cells: Indices, n_cells: int, clusters: Indices, weights: AnyWeights) -> Floats:
    """How many rows of each cell a resample holds: (cells, resamples). `cells` and `clusters` have
    one code a row.
    """
    if not use_kernels(_NS_A_ROW * cells.size * len(weights)):
        return sum_groups(weights.T[clusters].astype(np.float64), cells, n_cells)
    from judgelake.tasks.stats.kernels.counts import add_rows

    by_cluster = np.ascontiguousarray(weights.T)
    codes = (
        cells.astype(np.uint16) if n_cells <= 1 << 16 else cells
    )  # those of 16 bits are sorted by counting
    of_rows = clusters[np.argsort(codes, kind="stable")]
    ends = np.cumsum(np.bincount(cells, minlength=n_cells)).tolist()
    counted = np.zeros((n_cells, len(weights)), dtype=np.uint32)

    def count_part(part: tuple[int, int]) -> None:
        for start, end, counts in zip([0, *ends], ends, counted, strict=False):
            add_rows(by_cluster, of_rows[start:end], *part, counts)

    run_in_threads(count_part, _halve_resamples(cells.size, weights))
    return counted.astype(np.float64)


def run_in_threads(work: Callable[[_Part], None], parts: Sequence[_Part]) -> None:
    """Do the parts in two threads; the compiled loops inside them run without the interpreter's
    lock.
    """
    if len(parts) == 1:
        work(parts[0])
        return
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, parts))


def sum_columns(table: "csr_array", weights: AnyWeights) -> Floats:
    """Weighted sums of the columns of `table`, (quantities, clusters): (quantities, resamples)."""
    starts, columns, values = (
        table.indptr.astype(np.int64),
        table.indices.astype(np.int64),
        table.data.astype(np.float64),
    )
    if not use_kernels(_NS_A_ROW * values.size * len(weights)):
        quantities = np.repeat(np.arange(table.shape[0]), np.diff(starts))
        return sum_groups(values[:, None] * weights.T[columns], quantities, table.shape[0])
    from judgelake.tasks.stats.kernels.counts import add_columns

    by_cluster = np.ascontiguousarray(weights.T)
    summed = np.zeros((table.shape[0], len(weights)))

    def add_part(part: tuple[int, int]) -> None:
        add_columns(by_cluster, starts, columns, values, *part, summed)

    run_in_threads(add_part, _halve_resamples(values.size, weights))
    return summed


def _halve_resamples(n_rows: int, weights: AnyWeights) -> list[tuple[int, int]]:
    """The resamples in two parts, one a thread, where so many rows are worth it."""
    middle = len(weights) // 2 if n_rows * len(weights) >= _WORTH_TWO_THREADS else 0
    return [(0, middle), (middle, len(weights))] if middle else [(0, len(weights))]


# making a sparse matrix takes longer than so many sums
_FEW_MEMBERS = 100


def sum_groups(values: Floats, groups: Indices, n_groups: int) -> Floats:
    """Sum the rows of `values`, (members, resamples), by group: (groups, resamples)."""
    if groups.size <= _FEW_MEMBERS:
        added = np.zeros((n_groups, values.shape[1]))
        for group, row in zip(groups.tolist(), values, strict=True):
            added[group] += row
        return added
    from scipy.sparse import csr_array  # slow to import; readers of plans need only types here

    membership: csr_array = csr_array(
        (np.ones(groups.size), (groups, np.arange(groups.size))), shape=(n_groups, groups.size)
    )
    return np.asarray(membership @ values)


def draw_once(n_clusters: int) -> AnyWeights:
    """The sample itself as a resample: every cluster once, shape (1, clusters)."""
    return np.ones((1, n_clusters), dtype=np.uint16)
