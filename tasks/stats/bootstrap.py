"""Correlations on cluster-bootstrap resamples, many resamples in lockstep.

A resample is a count for each cluster, never a list of rows. The loops live in
`tasks.stats.kernels.correlation`, drawing and intervals in `tasks.stats.resampling`, one sample in
`tasks.stats.correlation`; what is made of several such results in `tasks.stats.combining` and
`tasks.stats.judge_comparison`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgelake.tasks.stats.cluster_sums import (
    AnyWeights,
    Floats,
    Indices,
    check_clusters,
    draw_once,
)
from judgelake.tasks.stats.correlation import COEFFICIENTS, check_pair
from judgelake.tasks.stats.few_clusters import (
    LeftOut,
    Scale,
    Unit,
    add_left_out,
    find_interval,
    find_reach,
    is_at_end,
    mark_rarer,
    split_left_out,
)
from judgelake.tasks.stats.kernel_choice import use_kernels
from judgelake.tasks.stats.ordered_rows import OrderedRows, order_rows, recentre
from judgelake.tasks.stats.resampling import draw_cluster_weights

# which few clusters may carry: those far from the mean, those of a rare level
_CARRIED = "pearson", "kendall_tau_c"
# above this ratio sums of squares lose digits, and Pearson's is computed from rows
_WORST_CONDITION = 100.0


class Moments(NamedTuple):
    """Sums of the centred and scaled values; each of shape (resamples,)."""

    x: Floats
    y: Floats
    xx: Floats
    yy: Floats
    xy: Floats


class Sums(NamedTuple):
    """What the coefficients need to know of resamples; each of shape (resamples,). Sums of counts
    are exact below 2^53.

    `x_squares` sums the squares of the counts of equal x (ordered pairs tied in x, a row with
    itself included), and so on; `rank_product` sums over rows the products of twice their
    mid-ranks, less the mean.
    """

    n: Floats
    x_squares: Floats
    y_squares: Floats
    cell_squares: Floats
    x_cubes: Floats
    y_cubes: Floats
    fewest_levels: Floats
    concordant: Floats
    rank_product: Floats
    moments: Moments

    @property
    def is_defined(self) -> NDArray[np.bool_]:
        """Where neither side is constant, which takes two rows."""
        defined: NDArray[np.bool_] = (self.x_squares < self.n**2) & (self.y_squares < self.n**2)
        return defined

    @property
    def has_digits(self) -> NDArray[np.bool_]:
        """Where `moments` are sound: not where a resample's mean lies far from the sample's (an
        outlier was not drawn).
        """
        x, y, xx, yy, _ = self.moments
        with np.errstate(divide="ignore", invalid="ignore"):
            spread_x, spread_y = xx - x**2 / self.n, yy - y**2 / self.n
        sound: NDArray[np.bool_] = (xx < _WORST_CONDITION * spread_x) & (
            yy < _WORST_CONDITION * spread_y
        )
        return sound


def correlate_sums(sums: Sums) -> dict[str, Floats]:
    """Each coefficient on each resample, NaN where undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        coefficients = {
            "pearson": _pearson(sums),
            "spearman": _spearman(sums),
            "kendall_tau_b": _tau_b(sums),
            "kendall_tau_c": _tau_c(sums),
        }
    return {
        name: np.where(sums.is_defined, np.clip(values, -1.0, 1.0), np.nan)
        for name, values in coefficients.items()
    }


def pearson_of_counts(x: Floats, y: Floats, counts: Floats) -> float:
    """Pearson's coefficient of rows that count so often, centred on its own means; NaN where a side
    is constant.
    """
    drawn = counts > 0
    x, y, weight = x[drawn], y[drawn], counts[drawn]
    if not x.size or (x == x[0]).all() or (y == y[0]).all():
        return float("nan")
    x_unit, y_unit = recentre(x, weight), recentre(y, weight)
    r = weight @ (x_unit * y_unit) / np.sqrt(weight @ x_unit**2) / np.sqrt(weight @ y_unit**2)
    return float(np.clip(r, -1.0, 1.0))


def _pearson(sums: Sums) -> Floats:
    n, (x, y, xx, yy, xy) = sums.n, sums.moments
    r: Floats = (xy - x * y / n) / np.sqrt(xx - x**2 / n) / np.sqrt(yy - y**2 / n)
    return r


def _spearman(sums: Sums) -> Floats:
    # The variance of mid-ranks needs the tie sizes only: sum n_g (r_g - mean)^2 = (n^3 - sum n_g^3)
    # / 12.
    rho: Floats = (
        3 * sums.rank_product / np.sqrt((sums.n**3 - sums.x_cubes) * (sums.n**3 - sums.y_cubes))
    )
    return rho


def _concordant_minus_discordant(sums: Sums) -> Floats:
    # Pairs tied on neither side by inclusion and exclusion, each counted twice; a row's pair with
    # itself cancels.
    untied = sums.n**2 - sums.x_squares - sums.y_squares + sums.cell_squares
    excess: Floats = 2 * sums.concordant - untied / 2
    return excess


def _tau_b(sums: Sums) -> Floats:
    pairs = sums.n**2  # one root of the product: where both sides rank alike, it is exact
    tau: Floats = (
        2
        * _concordant_minus_discordant(sums)
        / np.sqrt((pairs - sums.x_squares) * (pairs - sums.y_squares))
    )
    return tau


def _tau_c(sums: Sums) -> Floats:
    tau: Floats = (
        2
        * _concordant_minus_discordant(sums)
        / sums.n**2
        * sums.fewest_levels
        / (sums.fewest_levels - 1)
    )
    return tau


# memory for resamples that are summed together
_CHUNK_BYTES = 150 << 20
_LARGEST_CHUNK = 128
"""Resamples at a time: enough to keep the processor's vectors busy, few enough for its cache."""
_MANY_LEVELS = 8_000
"""From here on levels are merged in pairs: counts of all of them would not fit the cache."""
_MERGES_BYTES = 300 << 20
_NS_A_ROW = 50
"""What a row of a resample takes in numpy; a pair of cells takes one. Which cell of a pair has the
larger x and y takes as long as 50 resamples.
"""


class Correlation(NamedTuple):
    """A coefficient, its 95 % interval, its rows and clusters, the resamples on which it was
    undefined, why it has no interval (NaN ends), and how that was found.
    """

    value: float
    low: float
    high: float
    n: int
    n_clusters: int
    n_undefined: int
    reason: str | None = None
    method: str | None = None


class Resampled(NamedTuple):
    """A coefficient of a sample and, (resamples,), of each resample (NaN where undefined), with its
    rows and clusters; where clusters are few, also without each of them.

    `sizes` are the clusters' rows, one each where they are not given. `unit`: at the level of
    systems the units that are left out are models. `reach`: see `few_clusters.find_reach`.
    """

    value: float
    drawn: Floats
    n: int
    n_clusters: int
    sizes: Indices | None = None
    left_out: LeftOut | None = None
    unit: Unit = "clusters"
    scale: Scale = "coefficient"
    reach: float | None = None

    def summarise(self) -> Correlation:
        """The coefficient with its interval."""
        sizes = np.ones(self.n_clusters, dtype=np.int64) if self.sizes is None else self.sizes
        how = sizes, self.scale, self.unit, self.reach
        interval = find_interval(self.value, self.drawn, self.left_out, *how)
        ends = interval.low, interval.high
        counts = self.n, self.n_clusters, interval.n_undefined
        return Correlation(self.value, *ends, *counts, interval.reason, interval.method)


def correlate(
    x: Floats,
    y: Floats,
    clusters: Indices,
    resamples: int,
    rng_or_weights: np.random.Generator | AnyWeights,
) -> dict[str, Correlation]:
    """All four coefficients with intervals; weights drawn once per benchmark make judges comparable
    resample by resample.
    """
    if isinstance(rng_or_weights, np.random.Generator):
        weights: AnyWeights = draw_cluster_weights(
            int(clusters.max(initial=-1)) + 1, resamples, rng_or_weights
        )
    else:
        weights = rng_or_weights
    if len(weights) != resamples:
        raise ValueError(
            f"correlate: the weights hold {len(weights)} resamples; expected {resamples}; pass "
            f"as many as are asked for"
        )
    return {
        name: resampled.summarise()
        for name, resampled in resample_correlations(x, y, clusters, weights).items()
    }


def resample_correlations(
    x: Floats, y: Floats, clusters: Indices, weights: AnyWeights
) -> dict[str, Resampled]:
    """All four coefficients of the sample and of its resamples, for what is made of several of
    them.
    """
    _check_rows("resample_correlations", x, y, clusters, weights)
    sizes = np.bincount(clusters)
    n_clusters = int(np.count_nonzero(sizes))
    if x.size == 0:
        return {
            name: Resampled(float("nan"), np.full(len(weights), np.nan), 0, n_clusters)
            for name in COEFFICIENTS
        }
    numbers, more = add_left_out(clusters, weights)
    rows = order_rows(x, y, numbers)
    whole, resampled = _correlate_whole(rows), _correlate_resamples(rows, more)
    at_end = {name for name, value in whole.items() if is_at_end(value)}
    reach = find_reach(mark_rarer(y), clusters) if at_end else None
    return {
        name: Resampled(
            whole[name],
            drawn,
            x.size,
            n_clusters,
            sizes[sizes > 0],
            left_out,
            scale="carried" if name in _CARRIED else "coefficient",
            reach=reach if name in at_end else None,
        )
        for name in COEFFICIENTS
        for drawn, left_out in [split_left_out(resampled[name], clusters, len(weights))]
    }


def bootstrap_correlations(
    x: Floats, y: Floats, clusters: Indices, weights: AnyWeights
) -> dict[str, Floats]:
    """Each coefficient on each resample, which repeats a row as often as its cluster was drawn; NaN
    where undefined.

    `clusters` holds each row's column in `weights`, (resamples, clusters). Clusters without a row
    here contribute nothing, so judges that scored different rows share the draws.
    """
    _check_rows("bootstrap_correlations", x, y, clusters, weights)
    if x.size == 0:
        return {name: np.full(len(weights), np.nan) for name in COEFFICIENTS}
    return _correlate_resamples(order_rows(x, y, clusters), weights)


def correlate_rows(x: Floats, y: Floats) -> dict[str, float]:
    """All four coefficients of one sample, equal to those of `tasks.stats.correlation` and sorted
    once for all of them.
    """
    check_pair("correlate_rows", x, y)
    if x.size == 0:
        return dict.fromkeys(COEFFICIENTS, float("nan"))
    return _correlate_whole(order_rows(x, y, np.zeros(x.size, dtype=np.int64)))


def sum_resamples(rows: OrderedRows, weights: AnyWeights) -> Sums:
    """Sums for each resample of the weights, (resamples, clusters)."""
    ns_each = rows.cell_levels.size**2 + _NS_A_ROW * rows.clusters_by_x.size
    is_large = use_kernels(ns_each * (len(weights) + 50))
    sums = _sum_compiled(rows, weights) if is_large else _sum_plainly(rows, weights)
    (
        n,
        y_squares,
        y_cubes,
        y_levels,
        x_squares,
        x_cubes,
        x_levels,
        cell_squares,
        concordant,
        rank_product,
    ) = sums[:10]
    return Sums(
        n=n,
        x_squares=x_squares,
        y_squares=y_squares,
        cell_squares=cell_squares,
        x_cubes=x_cubes,
        y_cubes=y_cubes,
        fewest_levels=np.minimum(x_levels, y_levels),
        concordant=concordant,
        rank_product=rank_product,
        moments=Moments(*sums[10:]),
    )


def _sum_plainly(rows: OrderedRows, weights: AnyWeights) -> Floats:
    """The fifteen sums of `tasks.stats.kernels.correlation.sum_all`, (15, resamples)."""
    drawn = weights.T[rows.present].astype(np.float64)
    by_x, by_y = (
        drawn[clusters] * times[:, None]
        for clusters, times in (
            (rows.clusters_by_x, rows.times_by_x),
            (rows.clusters_by_y, rows.times_by_y),
        )
    )
    cells = np.add.reduceat(by_x, rows.cell_starts[:-1])
    x = np.add.reduceat(cells, rows.group_starts[:-1])
    y = np.add.reduceat(by_y, rows.level_starts[:-1])
    x_levels = np.repeat(np.arange(len(x)), np.diff(rows.group_starts))
    y_levels, n = rows.cell_levels, x.sum(axis=0)
    is_below = (x_levels[:, None] > x_levels) & (y_levels[:, None] > y_levels)
    # twice the mid-rank less the mean one
    x_places, y_places = (2 * side.cumsum(axis=0) - side - n for side in (x, y))
    moments = np.zeros((5, len(weights)))
    for counts, of_cluster in zip(drawn, rows.sum_moments(), strict=True):
        moments += of_cluster[:, None] * counts
    powers = [power for side in (y, x) for power in (side**2, side**3, side > 0)]
    products = [
        cells**2,
        cells * (is_below.astype(np.float64) @ cells),
        cells * x_places[x_levels] * y_places[y_levels],
    ]
    return np.vstack([n, *(terms.sum(axis=0) for terms in powers + products), moments])


def _sum_compiled(rows: OrderedRows, weights: AnyWeights) -> Floats:
    from judgelake.tasks.stats.kernels.correlation import sum_all
    from judgelake.tasks.stats.kernels.merging import order_merges

    by_cluster = weights.T
    if (
        by_cluster.dtype != np.uint16 or not by_cluster.flags.c_contiguous
    ):  # one layout, so that the loops are compiled once
        by_cluster = by_cluster.astype(np.uint16, order="C")
    bytes_each = 16 * rows.n_levels + 4 * rows.widest_group + 2 * rows.present.size
    step = int(np.clip(_CHUNK_BYTES // bytes_each, 1, _LARGEST_CHUNK))
    by_y = rows.clusters_by_y, rows.times_by_y, rows.level_starts
    by_x = (
        rows.clusters_by_x,
        rows.times_by_x,
        rows.cell_starts,
        rows.cell_levels,
        rows.group_starts,
    )
    levels, merges = rows.row_levels.astype(np.int32), np.empty((0, 0), dtype=np.int32)
    n_merges = (rows.n_levels - 1).bit_length()
    if rows.n_levels >= _MANY_LEVELS and 4 * n_merges * levels.size <= _MERGES_BYTES:
        merges = order_merges(levels, rows.order_by_x, n_merges)
    sums = np.empty((15, len(weights)))
    sum_all(
        by_cluster,
        rows.present,
        step,
        by_y,
        by_x,
        rows.widest_group,
        (rows.alone_by_y, rows.alone_by_x),
        (rows.clusters_by_x.astype(np.int32), levels, merges),
        rows.sum_moments(),
        sums,
    )
    return sums


def _check_rows(where: str, x: Floats, y: Floats, clusters: Indices, weights: AnyWeights) -> None:
    check_pair(where, x, y)
    check_clusters(where, clusters, x.size, weights)
    if (
        weights.dtype != np.uint16
        and weights.size
        and not 0 <= weights.min() <= weights.max() < 1 << 16
    ):
        raise ValueError(
            f"{where}: weights {weights.min()} to {weights.max()}; expected 0 to 65535; use "
            f"draw_cluster_weights"
        )


def _correlate_whole(rows: OrderedRows) -> dict[str, float]:
    """The sample as a resample that draws each cluster once."""
    coefficients = correlate_sums(sum_resamples(rows, draw_once(int(rows.present[-1]) + 1)))
    return {name: float(values[0]) for name, values in coefficients.items()} | {
        "pearson": pearson_of_counts(rows.x, rows.y, rows.times_by_x.astype(np.float64))
    }


def _correlate_resamples(rows: OrderedRows, weights: AnyWeights) -> dict[str, Floats]:
    sums = sum_resamples(rows, weights)
    coefficients = correlate_sums(sums)
    for column in np.flatnonzero(sums.is_defined & ~sums.has_digits):
        drawn = weights[column, rows.present][rows.clusters_by_x].astype(np.float64)
        coefficients["pearson"][column] = pearson_of_counts(rows.x, rows.y, drawn * rows.times_by_x)
    return coefficients
