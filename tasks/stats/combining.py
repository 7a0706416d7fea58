"""Several correlations made one: repeated samples of a judge, and cells (a model, a benchmark x
model) averaged.

Soft pairwise accuracy, a statistic of the same means, lives in `tasks.stats.pair_accuracy`.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from judgelake.tasks.stats.bootstrap import Correlation, Resampled, resample_correlations
from judgelake.tasks.stats.cluster_sums import (
    AnyWeights,
    Floats,
    Indices,
    check_clusters,
    sum_columns,
)
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.stats.estimates import divide
from judgelake.tasks.stats.few_clusters import LeftOut
from judgelake.tasks.stats.human_rules import take_mean

SampleRule = Literal["mean_then_correlate", "correlate_then_mean", "pooled"]


class MeanCorrelation(NamedTuple):
    """The mean of a coefficient over cells, resample by resample; a resample is undefined where
    that of any cell is.

    Cells in which the coefficient is undefined are left out and counted. `mean.n` sums the cells'
    rows, `mean.n_clusters` is that of the largest cell (cells may share clusters).
    """

    mean: Resampled
    n_cells: int
    n_left_out: int

    def summarise(self) -> Correlation:
        """The mean with its interval."""
        return self.mean.summarise()


def average_correlations(cells: Sequence[dict[str, Resampled]]) -> dict[str, MeanCorrelation]:
    """The mean of cells of equal weight: models of one benchmark (within-model), or cells benchmark
    x model.

    All cells need equally many resamples. Cells of one benchmark share its draws; those of
    different benchmarks are independent.
    """
    if not cells:
        raise ValueError(
            "average_correlations: no cells; expected one or more; check what was selected"
        )
    return {name: _average([cell[name] for cell in cells]) for name in COEFFICIENTS}


def correlate_cells(
    x: Floats, y: Floats, cells: Indices, clusters: Indices, weights: AnyWeights
) -> dict[int, dict[str, Resampled]]:
    """The coefficients inside each cell, by the cell's code (that of a model, say), in rising
    order; no rows are an undefined cell 0.
    """
    order = np.argsort(cells, kind="stable")
    codes, starts = np.unique(cells[order], return_index=True)
    parts = zip(codes.tolist() or [0], np.split(order, starts[1:]), strict=True)
    return {
        code: resample_correlations(x[rows], y[rows], clusters[rows], weights)
        for code, rows in parts
    }


class SamplePairs(NamedTuple):
    """Every sample of the judges beside every sample of the target: `pair` codes which two, `row`
    is the answer's row.
    """

    x: Floats
    y: Floats
    row: Indices
    pair: Indices


def pair_samples(x: Floats, y: Floats) -> SamplePairs:
    """Rows for all pairs of samples, of `x`, (answers, judges, samples), and `y`, (answers,
    samples): (pairs x answers, judges).

    For `compare_correlations`: with `pair` as its cells it takes the mean of the pairs'
    coefficients, without cells all pairs pooled.
    """
    n_answers, n_samples = y.shape
    pairs = [(a, b) for a in range(x.shape[2]) for b in range(n_samples)]
    return SamplePairs(
        np.concatenate([x[:, :, a] for a, _ in pairs]),
        np.concatenate([y[:, b] for _, b in pairs]),
        np.tile(np.arange(n_answers), len(pairs)),
        np.repeat(np.arange(len(pairs)), n_answers),
    )


def combine_samples(
    x: Floats, y: Floats, clusters: Indices, weights: AnyWeights, rule: SampleRule
) -> dict[str, MeanCorrelation]:
    """Correlate a judge's samples, (answers, samples), with a target, (answers,) or samples of its
    own; NaN where one is missing.

    `mean_then_correlate`: the mean of each answer's samples, on both sides. `correlate_then_mean`:
    every sample of one side with every sample of the other, then the mean of the coefficients.
    `pooled`: all those pairs of scores in one coefficient.
    """
    if rule not in get_args(SampleRule):
        raise ValueError(
            f"combine_samples: rule is {rule!r}; expected one of "
            f"{', '.join(get_args(SampleRule))}; name one"
        )
    samples, targets = x.reshape(len(x), 1, -1), y.reshape(len(y), -1)
    if rule == "mean_then_correlate":
        samples, targets = (take_mean(side.reshape(len(side), -1)) for side in (x, y))
        samples, targets = samples[:, None, None], targets[:, None]
    pairs = pair_samples(samples, targets)
    scored = ~np.isnan(pairs.x[:, 0]) & ~np.isnan(pairs.y)
    cells = pairs.pair if rule == "correlate_then_mean" else np.zeros_like(pairs.pair)
    rows = pairs.x[scored, 0], pairs.y[scored], cells[scored], clusters[pairs.row[scored]]
    return average_correlations(list(correlate_cells(*rows, weights).values()))


def split_samples(x: Floats, chosen: Sequence[int] = ()) -> tuple[Floats, Floats]:
    """The `chosen` columns of a reference judge's samples, (rows, samples), as the target, the
    others for its self-consistency row.

    Without a choice the first half: of six samples three are the target of all judges and three its
    own row (Prometheus-Vision, caption of Table 1).
    """
    if not chosen and (x.ndim != 2 or x.shape[1] < 2 or x.shape[1] % 2):
        raise ValueError(
            f"split_samples: scores have shape {x.shape}; expected (rows, an even number of "
            f"samples); ask for one more, or choose some"
        )
    is_target = np.isin(np.arange(x.shape[1]), chosen or np.arange(x.shape[1] // 2))
    return x[:, is_target], x[:, ~is_target]


def _average(cells: list[Resampled]) -> MeanCorrelation:
    held = [cell for cell in cells if not np.isnan(cell.value)]
    if not held:
        return MeanCorrelation(
            Resampled(float("nan"), np.full_like(cells[0].drawn, np.nan), 0, 0), 0, len(cells)
        )
    total = ClusterTotal()
    for cell in held:
        total.add(cell, "")
    value, drawn = (np.mean([getattr(cell, name) for cell in held], axis=0) for name in _AVERAGED)
    n_clusters = max(cell.n_clusters for cell in held)
    sizes, left_out = total.average(float(value), len(held))
    mean = Resampled(
        float(value),
        drawn,
        sum(cell.n for cell in held),
        n_clusters,
        sizes,
        left_out,
        reach=total.reach / len(held),
    )
    return MeanCorrelation(mean, len(held), len(cells) - len(held))


_AVERAGED = "value", "drawn"


class ClusterTotal:
    """What leaving out each cluster changes in a sum of cells' coefficients, cell by cell; cells of
    one `block` (a benchmark) share clusters.
    """

    def __init__(self) -> None:
        self._changes: dict[tuple[str, int], float] = {}
        self._sizes: dict[tuple[str, int], int] = {}
        self._is_known = True
        self.reach = 0.0

    def add(self, cell: Resampled, block: str) -> None:
        """Count a cell; one without such values leaves the sum without them. `reach` is
        the sum of the cells', which counts where each coefficient is 1.
        """
        self.reach += cell.reach or 0.0
        if cell.left_out is None:
            self._is_known = False
            return
        for cluster, size, value in zip(*(part.tolist() for part in cell.left_out), strict=True):
            key = block, cluster
            self._changes[key] = self._changes.get(key, 0.0) + value - cell.value
            self._sizes[key] = self._sizes.get(key, 0) + size

    def average(self, mean: float, n_cells: int) -> tuple[Indices | None, LeftOut | None]:
        """The clusters' rows and the mean of the cells without each of them, where known."""
        if not self._is_known or not self._sizes:
            return None, None
        sizes = np.array(list(self._sizes.values()), dtype=np.int64)
        values = mean + np.array(list(self._changes.values())) / n_cells
        return sizes, LeftOut(np.arange(sizes.size), sizes, values)


class Ceiling(NamedTuple):
    """The mean over annotators of the annotator's coefficient against the others' target, and of
    each judge's.
    """

    human: dict[str, MeanCorrelation]
    judges: list[dict[str, MeanCorrelation]]


def leave_one_out_ceiling(
    ratings: Floats,
    x: Floats,
    rule: Callable[[Floats], Floats],
    clusters: Indices,
    weights: AnyWeights,
) -> Ceiling:
    """Leave out each annotator in turn: the target is the `rule` of the others, on the answers that
    the annotator rated.

    `ratings` is (rows, annotators), `x` (rows, judges), NaN where there is none. Judges are held to
    the same targets, so that a judge above the ceiling predicts people better than one of them
    does. A rule that needs all five (LAVE's) has no such target.
    """
    if ratings.shape[1] < 2:
        raise ValueError(
            f"leave_one_out_ceiling: {ratings.shape[1]} annotators; expected 2 or more; one "
            f"annotator's ceiling cannot be known"
        )
    human: list[dict[str, Resampled]] = []
    judges: list[list[dict[str, Resampled]]] = [[] for _ in range(x.shape[1])]
    for left_out in range(ratings.shape[1]):
        target = rule(np.delete(ratings, left_out, axis=1))
        rated = ~np.isnan(ratings[:, left_out]) & ~np.isnan(target)
        human.append(
            resample_correlations(ratings[rated, left_out], target[rated], clusters[rated], weights)
        )
        for judge, correlations in enumerate(judges):
            rows = rated & ~np.isnan(x[:, judge])
            correlations.append(
                resample_correlations(x[rows, judge], target[rows], clusters[rows], weights)
            )
    return Ceiling(
        average_correlations(human), [average_correlations(correlations) for correlations in judges]
    )


# memory for the pairs of systems of resamples that are computed together
_CHUNK_BYTES = 32 << 20
# Models' means that differ by less than this part of the largest are a tie: sums of the same scores
# differ by the order of their terms.
_SAME = 1e-10


def correlate_systems(
    x: Floats,
    y: Floats,
    systems: Indices,
    clusters: Indices,
    weights: AnyWeights,
    system_weights: AnyWeights,
) -> dict[str, Resampled]:
    """Correlate the models' mean scores by a judge, `x`, with their mean targets, `y`, over the
    rows that have both.

    `weights`, (resamples, clusters), resample the rows and `system_weights`, (resamples, systems),
    the models: both come from `draw_cluster_weights` and are shared by the judges (Boot-Both of
    Deutsch et al. 2021, TACL 9). System weights of 1 hold the models fixed; the interval then
    speaks of these models only. A resample is undefined where a model was drawn and none of its
    rows. `n` counts models, `n_clusters` the fewer of models and clusters. The interval is made of
    the values without each model in turn, and of fewer than six models there is none.
    """
    check_clusters("correlate_systems", clusters, x.size, weights)
    check_clusters("correlate_systems, systems", systems, x.size, system_weights)
    scored = ~np.isnan(x) & ~np.isnan(y)
    held, codes = np.unique(systems[scored], return_inverse=True)
    table = codes, clusters[scored], (held.size, weights.shape[1])
    x_drawn, y_drawn = (_draw_means(values[scored], *table, weights) for values in (x, y))
    resampled = correlate_weighted(x_drawn, y_drawn, system_weights[:, held].astype(np.float64))
    x_whole, y_whole = (
        (np.bincount(codes, values[scored]) / np.bincount(codes))[None] for values in (x, y)
    )
    whole = correlate_weighted(x_whole, y_whole, np.ones(x_whole.shape))
    n_units = min(held.size, np.unique(clusters[scored]).size)
    without = 1.0 - np.eye(held.size)
    x_left, y_left = (np.repeat(side, held.size, axis=0) for side in (x_whole, y_whole))
    left = correlate_weighted(x_left, y_left, without)
    ones = np.ones(held.size, dtype=np.int64)
    return {
        name: Resampled(
            float(whole[name][0]),
            resampled[name],
            held.size,
            n_units,
            ones,
            LeftOut(np.arange(held.size), ones, left[name]),
            "models",
        )
        for name in COEFFICIENTS
    }


def correlate_weighted(x: Floats, y: Floats, weights: Floats) -> dict[str, Floats]:
    """The four coefficients of each row of `x` and `y`, (resamples, systems), in which system s
    counts weights[:, s] times.

    Every pair is looked at: for tens of systems whose scores change with the resample. NaN where
    undefined.
    """
    coefficients = {name: np.full(len(x), np.nan) for name in COEFFICIENTS}
    step = max(_CHUNK_BYTES // (32 * max(x.shape[1], 1) ** 2), 1)
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        for name, values in _correlate_part(x[part], y[part], weights[part]).items():
            coefficients[name][part] = values
    return coefficients


def _correlate_part(x: Floats, y: Floats, weights: Floats) -> dict[str, Floats]:
    drawn = weights > 0
    is_known = ~(drawn & (np.isnan(x) | np.isnan(y))).any(axis=1)
    x, y = (_scale_means(np.where(drawn & ~np.isnan(side), side, 0.0)) for side in (x, y))
    x_step, y_step = (side[:, :, None] - side[:, None, :] for side in (x, y))
    x_sign, y_sign = (np.sign(step) * (np.abs(step) > _SAME) for step in (x_step, y_step))
    excess, x_untied, y_untied = (
        np.einsum("bij,bij,bi,bj->b", a, b, weights, weights)
        for a, b in ((x_sign, y_sign), (x_sign, x_sign), (y_sign, y_sign))
    )
    x_rank, y_rank = (np.einsum("bij,bj->bi", sign, weights) for sign in (x_sign, y_sign))
    fewest = np.minimum(_count_levels(x, drawn), _count_levels(y, drawn))
    with np.errstate(divide="ignore", invalid="ignore"):
        coefficients = {
            "pearson": _pearson(x, y, weights),
            "spearman": _pearson(x_rank, y_rank, weights),
            "kendall_tau_b": excess / np.sqrt(x_untied * y_untied),
            "kendall_tau_c": excess / weights.sum(axis=1) ** 2 * fewest / (fewest - 1),
        }
    is_defined = is_known & (x_untied > 0) & (y_untied > 0)
    return {
        name: np.where(is_defined, np.clip(values, -1.0, 1.0), np.nan)
        for name, values in coefficients.items()
    }


def _pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    x, y = (side - ((side * weights).sum(axis=1) / total)[:, None] for side in (x, y))
    xy, xx, yy = ((a * b * weights).sum(axis=1) for a, b in ((x, y), (x, x), (y, y)))
    r: Floats = xy / np.sqrt(xx) / np.sqrt(yy)
    return r


def _count_levels(values: Floats, drawn: NDArray[np.bool_]) -> Floats:
    levels = np.sort(np.where(drawn, values, np.inf), axis=1)
    is_new = (levels[:, 1:] > levels[:, :-1] + _SAME) & np.isfinite(levels[:, 1:])
    return np.asarray(1.0 + is_new.sum(axis=1))


def _draw_means(
    values: Floats, codes: Indices, clusters: Indices, shape: tuple[int, int], weights: AnyWeights
) -> Floats:
    """(resamples, systems): NaN where no row of a system was drawn."""
    sums, counts = (
        sum_columns(csr_array((terms, (codes, clusters)), shape=shape), weights)
        for terms in (values, np.ones(values.size))
    )
    return divide(sums, counts).T


def _scale_means(means: Floats) -> Floats:
    """Means in units of the largest."""
    largest = np.abs(means).max(initial=0.0)
    return means / largest if largest > 0 else means
