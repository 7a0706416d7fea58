"""Several correlations made one: repeated samples of a judge, and cells (a model, a benchmark x model) averaged."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from tasks.stats.bootstrap import Correlation, Resampled, resample_correlations
from tasks.stats.cluster_sums import AnyWeights, Floats, Indices
from tasks.stats.correlation import COEFFICIENTS
from tasks.stats.human_rules import take_mean

SampleRule = Literal["mean_then_correlate", "correlate_then_mean", "pooled"]


class MeanCorrelation(NamedTuple):
    """The mean of a coefficient over cells, resample by resample; a resample is undefined where that of any cell is.

    Cells in which the coefficient is undefined are left out and counted. `mean.n` sums the cells' rows, `mean.n_clusters` is
    that of the largest cell (cells may share clusters).
    """

    mean: Resampled
    n_cells: int
    n_left_out: int

    def summarise(self) -> Correlation:
        """The mean with its interval."""
        return self.mean.summarise()


def average_correlations(cells: Sequence[dict[str, Resampled]]) -> dict[str, MeanCorrelation]:
    """The mean of cells of equal weight: models of one benchmark (within-model), or cells benchmark x model.

    All cells need equally many resamples. Cells of one benchmark share its draws; those of different benchmarks are independent.
    """
    if not cells:
        raise ValueError("average_correlations: no cells; expected one or more; check what was selected")
    return {name: _average([cell[name] for cell in cells]) for name in COEFFICIENTS}


def correlate_cells(
    x: Floats, y: Floats, cells: Indices, clusters: Indices, weights: AnyWeights
) -> dict[int, dict[str, Resampled]]:
    """The coefficients inside each cell, by the cell's code (that of a model, say), in rising order; no rows are an undefined cell 0."""
    order = np.argsort(cells, kind="stable")
    codes, starts = np.unique(cells[order], return_index=True)
    parts = zip(codes.tolist() or [0], np.split(order, starts[1:]), strict=True)
    return {code: resample_correlations(x[rows], y[rows], clusters[rows], weights) for code, rows in parts}


class SamplePairs(NamedTuple):
    """Every sample of the judges beside every sample of the target: `pair` codes which two, `row` is the answer's row."""

    x: Floats
    y: Floats
    row: Indices
    pair: Indices


def pair_samples(x: Floats, y: Floats) -> SamplePairs:
    """Rows for all pairs of samples, of `x`, (answers, judges, samples), and `y`, (answers, samples): (pairs x answers, judges).

    For `compare_correlations`: with `pair` as its cells it takes the mean of the pairs' coefficients, without cells all pairs pooled.
    """
    n_answers, n_samples = y.shape
    pairs = [(a, b) for a in range(x.shape[2]) for b in range(n_samples)]
    return SamplePairs(
        np.concatenate([x[:, :, a] for a, _ in pairs]),
        np.concatenate([y[:, b] for _, b in pairs]),
        np.tile(np.arange(n_answers), len(pairs)),
        np.repeat(np.arange(len(pairs)), n_answers),
    )


def combine_samples(x: Floats, y: Floats, clusters: Indices, weights: AnyWeights, rule: SampleRule) -> dict[str, MeanCorrelation]:
    """Correlate a judge's samples, (answers, samples), with a target, (answers,) or samples of its own; NaN where one is missing.

    `mean_then_correlate`: the mean of each answer's samples, on both sides. `correlate_then_mean`: every sample of one side with
    every sample of the other, then the mean of the coefficients. `pooled`: all those pairs of scores in one coefficient.
    """
    if rule not in get_args(SampleRule):
        raise ValueError(f"combine_samples: rule is {rule!r}; expected one of {', '.join(get_args(SampleRule))}; name one")
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
    """The `chosen` columns of a reference judge's samples, (rows, samples), as the target, the others for its self-consistency row.

    Without a choice the first half: of six samples three are the target of all judges and three its own row (Prometheus-Vision,
    caption of Table 1).
    """
    if not chosen and (x.ndim != 2 or x.shape[1] < 2 or x.shape[1] % 2):
        raise ValueError(
            f"split_samples: scores have shape {x.shape}; expected (rows, an even number of samples); ask for one more, or choose some"
        )
    is_target = np.isin(np.arange(x.shape[1]), chosen or np.arange(x.shape[1] // 2))
    return x[:, is_target], x[:, ~is_target]


def _average(cells: list[Resampled]) -> MeanCorrelation:
    held = [cell for cell in cells if not np.isnan(cell.value)]
    if not held:
        return MeanCorrelation(Resampled(float("nan"), np.full_like(cells[0].drawn, np.nan), 0, 0), 0, len(cells))
    value = float(np.mean([cell.value for cell in held]))
    drawn = np.mean([cell.drawn for cell in held], axis=0)
    mean = Resampled(value, drawn, sum(cell.n for cell in held), max(cell.n_clusters for cell in held))
    return MeanCorrelation(mean, len(held), len(cells) - len(held))
