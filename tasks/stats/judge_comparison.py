"""Which judge of a column agrees best with a target: paired cluster bootstrap on the rows both scored, corrected by Holm.

Other tests of two judges, each with assumptions of its own, live in `tasks.stats.difference_tests`.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.stats.bootstrap import Correlation, Resampled
from tasks.stats.cluster_sums import AnyWeights, Floats, Indices
from tasks.stats.combining import MeanCorrelation, average_correlations, correlate_cells
from tasks.stats.correlation import COEFFICIENTS
from tasks.stats.resampling import expanded_interval

Rows = NDArray[np.bool_]

_THREADS = 2


class PairedDifference(NamedTuple):
    """A coefficient of `judge` less that of `other`, on the rows both scored, with its 95 % interval.

    `p` is two-sided: 2 (c + 1) / (resamples + 1) for the c resamples whose difference has not the sign of the sample's, the
    undefined ones among them. `p_holm` is corrected for all judges that `judge` is compared with.
    """

    judge: int
    other: int
    value: float
    other_value: float
    difference: float
    low: float
    high: float
    n_common: int
    n_clusters: int
    n_cells: int
    n_undefined: int
    p: float
    p_holm: float


class Column(NamedTuple):
    """One coefficient of every judge on all rows that it scored, and the leader's differences from the other judges.

    The leader is the judge of the highest coefficient (None where none is defined); judges without one are not compared.
    `n_cells` counts each judge's cells in which the coefficient is defined.
    """

    own: list[Correlation]
    n_cells: list[int]
    leader: int | None
    differences: list[PairedDifference]


_Cells = dict[int, dict[str, Resampled]]
_Found = dict[tuple[int, bytes], _Cells]
"""By judge and the rows they are of."""


def compare_correlations(
    x: Floats, y: Floats, clusters: Indices, weights: AnyWeights, cells: Indices | None = None
) -> dict[str, Column]:
    """Compare the judges of a column for each coefficient: `x` is (rows, judges), NaN where a judge has no score.

    `y` is the target (NaN: no row), `clusters` each row's column in `weights`. All judges share the draws. A row is dropped only
    where a figure needs a score that is missing: `own` uses each judge's own rows, a difference the rows both scored.
    With `cells`, a code a row (of its model; of benchmark x model), the figures are means over cells of the coefficient inside
    each, a difference over the cells in which both are defined. Benchmarks with draws of their own stand side by side in the
    columns of `weights`.
    """
    if x.ndim != 2 or y.shape != x.shape[:1] or clusters.shape != y.shape:
        raise ValueError(
            f"compare_correlations: x has shape {x.shape}, y {y.shape}, clusters {clusters.shape}; "
            "expected (rows, judges), (rows,), (rows,); pass one row an answer"
        )
    scores = x, y, np.zeros_like(clusters) if cells is None else cells, clusters, weights
    scored = ~np.isnan(x) & ~np.isnan(y)[:, None]
    judges = range(x.shape[1])
    found: _Found = {}
    _resample_all(found, [(judge, scored[:, judge]) for judge in judges], *scores)
    own = [average_correlations(list(found[judge, scored[:, judge].tobytes()].values())) for judge in judges]
    leaders = {name: _find_leader([judge[name].mean.value for judge in own]) for name in COEFFICIENTS}
    ahead = {leader for leader in leaders.values() if leader is not None}
    _resample_all(found, [(judge, scored[:, a] & scored[:, b]) for a in ahead for b in judges for judge in (a, b)], *scores)
    return {name: _make_column(name, leader, [judge[name] for judge in own], scored, found) for name, leader in leaders.items()}


def mark_best(column: Column, level: float = 0.05) -> int | None:
    """The leader if it is better than every other judge at this level after Holm's correction, else None.

    Its 95 % intervals, which make up for few clusters where p-values do not, must lie above 0 as well.
    """
    ahead = [difference.low > 0 and difference.p_holm <= level for difference in column.differences]
    return column.leader if ahead and all(ahead) else None


def adjust_holm(p: Floats) -> Floats:
    """Holm's step-down correction (1979, Scandinavian Journal of Statistics 6): the family-wise error stays below the level."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _find_leader(values: list[float]) -> int | None:
    return None if np.isnan(values).all() else int(np.nanargmax(values))


def _resample_all(
    found: _Found, wanted: list[tuple[int, Rows]], x: Floats, y: Floats, cells: Indices, clusters: Indices, weights: AnyWeights
) -> None:
    """Add what is wanted and not yet found: each judge on each set of rows once."""
    missing = {(judge, rows.tobytes()): (judge, rows) for judge, rows in wanted if (judge, rows.tobytes()) not in found}

    def resample(job: tuple[int, Rows]) -> _Cells:
        judge, rows = job
        return correlate_cells(x[rows, judge], y[rows], cells[rows], clusters[rows], weights)

    with ThreadPoolExecutor(_THREADS) as pool:  # the loops run without the interpreter's lock
        found.update(zip(missing, pool.map(resample, missing.values()), strict=True))


def _make_column(name: str, leader: int | None, own: list[MeanCorrelation], scored: Rows, found: _Found) -> Column:
    differences = []
    for other, mean in enumerate(own):
        if leader is not None and other != leader and not np.isnan(mean.mean.value):
            rows = (scored[:, leader] & scored[:, other]).tobytes()
            differences.append(_subtract(name, leader, other, found[leader, rows], found[other, rows]))
    adjusted = adjust_holm(np.array([difference.p for difference in differences]))
    corrected = [difference._replace(p_holm=float(p)) for difference, p in zip(differences, adjusted, strict=True)]
    return Column([mean.summarise() for mean in own], [mean.n_cells for mean in own], leader, corrected)


def _subtract(name: str, judge: int, other: int, a: _Cells, b: _Cells) -> PairedDifference:
    """The difference over the cells in which both are defined; `p_holm` is not yet corrected."""
    both = [code for code in a if code in b and not np.isnan(a[code][name].value - b[code][name].value)]
    if not both:
        unknown, n_undefined = float("nan"), next(iter(a.values()))[name].drawn.size
        return PairedDifference(judge, other, unknown, unknown, unknown, unknown, unknown, 0, 0, 0, n_undefined, 1.0, 1.0)
    first, second = (average_correlations([side[code] for code in both])[name].mean for side in (a, b))
    drawn, difference = first.drawn - second.drawn, first.value - second.value
    interval = expanded_interval(drawn, first.n_clusters)
    against = drawn.size - int((drawn * np.sign(difference) > 0).sum())
    p = min(1.0, 2 * (against + 1) / (drawn.size + 1))
    values = first.value, second.value, difference, interval.low, interval.high
    return PairedDifference(judge, other, *values, first.n, first.n_clusters, len(both), interval.n_undefined, p, p)
