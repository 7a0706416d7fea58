"""Populations of clustered scores, and how often intervals from samples of them hold the
population's value; an interval that says why it is not there counts as neither.
"""

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from judgelake.tasks.stats.agreement import Weighting, agree_raters
from judgelake.tasks.stats.bootstrap import resample_correlations
from judgelake.tasks.stats.combining import correlate_systems
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.stats.resampling import (
    Weights,
    draw_cluster_weights,
    draw_keyed_weights,
    key_clusters,
)
from judgelake.tasks.warehouse.views import function_texts

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Layout = Callable[[int, np.random.Generator], Codes]
"""(clusters, generator) -> rows of each cluster."""
ClusterDraw = Callable[[Codes], tuple[Floats, Floats, float]]
"""Rows of each cluster -> each cluster's rows (or squares), its sum, and what is multiplied with the
variance.
"""
Population = Callable[[Codes, np.random.Generator], tuple[Floats, Floats, Codes]]
"""(rows of each cluster, generator) -> judge, people, cluster of each row."""

_CLUSTERS_OF_TRUTH = 100_000


class Coverage(NamedTuple):
    """Of the samples with an interval, the share whose interval holds the truth; and the share of
    samples without one.
    """

    held: float
    without: float


def draw_by_name(n_clusters: int, resamples: int, sample: int) -> Weights:
    """The product's own draws, (resamples, clusters): Poisson numbers by cluster name. Each sample
    has names of its own, as each benchmark has.
    """
    names = (f"benchmark{sample}/cluster{number}" for number in range(n_clusters))
    return draw_keyed_weights(key_clusters(names), resamples, seed=0)


class Tally:
    """Counts of one cell of a table of coverages."""

    def __init__(self) -> None:
        self.held = self.n = self.without = 0

    def add(self, low: float | None, high: float | None, truth: float) -> None:
        """Count one sample's interval."""
        if low is None or high is None or np.isnan(low) or np.isnan(high):
            self.without += 1
        else:
            self.n += 1
            self.held += low <= truth <= high

    def close(self) -> Coverage:
        """The shares."""
        held = self.held / self.n if self.n else float("nan")
        return Coverage(held, self.without / max(self.n + self.without, 1))


def _one_cluster_has(share: float) -> Layout:
    def lay_out(n_clusters: int, rng: np.random.Generator) -> Codes:
        sizes = 1 + rng.poisson(3, n_clusters)
        sizes[0] = max(int(np.round(share / (1 - share) * sizes[1:].sum())), 4)
        return sizes

    return lay_out


LAYOUTS: dict[str, Layout] = {
    "equal": lambda n_clusters, _: np.full(n_clusters, 5),
    "uneven": lambda n_clusters, rng: rng.geometric(0.2, n_clusters),
    "half in one": _one_cluster_has(0.5),
    "97 % in one": _one_cluster_has(0.97),
}
CLUSTERS = (3, 5, 10, 15, 30, 50, 100, 200)


def draw_normal(sizes: Codes, rho: float, rng: np.random.Generator) -> tuple[Floats, Floats, Codes]:
    """Two normals of correlation rho; half of each one's variance is the cluster's."""
    clusters = np.repeat(np.arange(sizes.size), sizes)
    shared, own = rng.normal(size=(2, sizes.size)), rng.normal(size=(2, clusters.size))
    x, other = (shared[:, clusters] + own) / np.sqrt(2)
    return x, rho * x + np.sqrt(1 - rho**2) * other, clusters


def cut(values: Floats, shares: list[float]) -> Floats:
    """Levels 0, 1, ... of a standard normal, cut where these shares lie below."""
    return np.digitize(values, stats.norm.ppf(shares)).astype(np.float64)


def two_normals(sizes: Codes, rng: np.random.Generator) -> tuple[Floats, Floats, Codes]:
    return draw_normal(sizes, 0.6, rng)


def binary_judge_of_three_levels(
    sizes: Codes, rng: np.random.Generator
) -> tuple[Floats, Floats, Codes]:
    x, y, clusters = draw_normal(sizes, 0.7, rng)
    return cut(x, [0.3]), cut(y, [0.25, 0.35]), clusters


def probability_of_three_levels(
    sizes: Codes, rng: np.random.Generator
) -> tuple[Floats, Floats, Codes]:
    x, y, clusters = draw_normal(sizes, 0.5, rng)
    return stats.norm.cdf(x), cut(y, [0.25, 0.35]), clusters


def rubric_of_five_levels(sizes: Codes, rng: np.random.Generator) -> tuple[Floats, Floats, Codes]:
    x, y, clusters = draw_normal(sizes, 0.8, rng)
    return cut(x, [0.03, 0.12, 0.35, 0.75]), cut(y, [0.03, 0.12, 0.35, 0.75]), clusters


def rubric_with_missing(sizes: Codes, rng: np.random.Generator) -> tuple[Floats, Floats, Codes]:
    """The judge's low ratings are missing half of the time: what is there has a population of its
    own, and clusters of low ratings have fewer rows.
    """
    x, y, clusters = rubric_of_five_levels(sizes, rng)
    kept = (x > 2) | (rng.random(x.size) < 0.5)
    return x[kept], y[kept], clusters[kept]


SEVERAL_ROWS: dict[str, Population] = {
    "two normals": two_normals,
    "binary judge, three levels": binary_judge_of_three_levels,
    "probability, three levels": probability_of_three_levels,
    "rubric, five levels": rubric_of_five_levels,
    "rubric, low ratings missing": rubric_with_missing,
}


@functools.cache
def find_truth(population: Population) -> dict[str, float]:
    """The population's coefficients, from one very large sample."""
    rng = np.random.default_rng(17)
    x, y, _ = population(LAYOUTS["equal"](_CLUSTERS_OF_TRUTH, rng), rng)
    return {name: coefficient(x, y) for name, coefficient in COEFFICIENTS.items()}


def measure_coverage(
    population: Population,
    layout: Layout,
    n_clusters: int,
    samples: int,
    resamples: int,
    rng: np.random.Generator,
) -> dict[str, Coverage]:
    """Coverage of 95 % intervals of each coefficient over many samples."""
    truth = find_truth(population)
    tallies = {name: Tally() for name in COEFFICIENTS}
    for sample in range(samples):
        weights = draw_by_name(n_clusters, resamples, sample)
        drawn = population(layout(n_clusters, rng), rng)
        for name, found in resample_correlations(*drawn, weights).items():
            interval = found.summarise()
            tallies[name].add(interval.low, interval.high, truth[name])
    return {name: tally.close() for name, tally in tallies.items()}


def measure_kappas(
    layout: Layout, n_clusters: int, samples: int, resamples: int, rng: np.random.Generator
) -> dict[str, Coverage]:
    """The same of raw agreement and of kappas of two raters on three levels."""
    weightings: tuple[Weighting, ...] = ("nominal", "quadratic")
    names = ("agreement", "kappa_nominal", "kappa_quadratic")

    def draw(sizes: Codes) -> tuple[Floats, Floats, Codes]:
        x, y, clusters = draw_normal(sizes, 0.8, rng)
        return cut(x, [0.3, 0.6]), cut(y, [0.3, 0.6]), clusters

    whole = draw(LAYOUTS["equal"](_CLUSTERS_OF_TRUTH, rng))
    once = np.ones((1, _CLUSTERS_OF_TRUTH), dtype=np.uint16)
    truth = {key: found.value for key, found in agree_raters(*whole, once, weightings).items()}
    tallies = {name: Tally() for name in names}
    for sample in range(samples):
        weights = draw_by_name(n_clusters, resamples, sample)
        for name, found in agree_raters(
            *draw(layout(n_clusters, rng)), weights, weightings
        ).items():
            tallies[name].add(found.low, found.high, truth[name])
    return {name: tally.close() for name, tally in tallies.items()}


def measure_systems(
    n_models: int, n_items: int, samples: int, rng: np.random.Generator
) -> dict[str, Coverage]:
    """The same of models' means correlated, .8 in the population of models; items are single."""

    def draw(models: int) -> tuple[Floats, Floats]:
        """Means of each model's items: people's and a judge's quality, and the items' noise."""
        quality = rng.normal(size=models)
        judged = 0.8 * quality + 0.6 * rng.normal(size=models)
        noise = rng.normal(size=(2, models)) * 2 / np.sqrt(n_items)
        return judged + noise[0], quality + noise[1]

    x, y = draw(_CLUSTERS_OF_TRUTH)
    truth = {name: coefficient(x, y) for name, coefficient in COEFFICIENTS.items()}
    tallies = {name: Tally() for name in COEFFICIENTS}
    models, items = (part.ravel() for part in np.indices((n_models, n_items)))
    weights = draw_by_name(n_items, 20, 0)
    of_models = draw_cluster_weights(n_models, 20, rng)
    for _ in range(samples):
        judge, people = (
            np.repeat(means, n_items) + _balance(rng.normal(size=(n_models, n_items)))
            for means in draw(n_models)
        )
        found = correlate_systems(judge, people, models, items, weights, of_models)
        for name, one in found.items():
            interval = one.summarise()
            tallies[name].add(interval.low, interval.high, truth[name])
    return {name: tally.close() for name, tally in tallies.items()}


def _balance(noise: Floats) -> Floats:
    """Noise of items that does not move a model's mean."""
    flat: Floats = (noise - noise.mean(axis=1, keepdims=True)).ravel()
    return flat


_ENDS = """
with summed as (
    select
        sample,
        cluster_spread(n, total, all_n) as spread,
        any_value(absorbed) as absorbed
    from (
        select *, sum(n) over (partition by sample) as all_n
        from drawn
    )
    where all_n > 0
    group by sample
),

ended as (
    select
        sample,
        case $kind
            when 'share' then share_ends(spread)
            when 'mean' then mean_ends(spread, -1, 1)
            else mean_ends(
                struct_update(spread, variance := spread.variance * absorbed),
                '-infinity'::double, 'infinity'::double
            )
        end as ends
    from summed
)

select ends.low as low, ends.high as high, ends.reason as reason from ended
"""


def measure_views(
    kind: str,
    draw: ClusterDraw,
    truth: float,
    layout: Layout,
    n_clusters: int,
    samples: int,
    rng: np.random.Generator,
) -> Coverage:
    """The same of what the views compute."""
    parts = [
        pl.DataFrame({"n": n, "total": total}).with_columns(sample=sample, absorbed=absorbed)
        for sample in range(samples)
        for n, total, absorbed in [draw(layout(n_clusters, rng))]
    ]
    tally = Tally()
    with duckdb.connect() as connection:
        for text in function_texts().values():
            connection.execute(text)
        connection.register("drawn", pl.concat(parts).to_arrow())
        for low, high, reason in connection.execute(_ENDS, {"kind": kind}).fetchall():
            tally.add(low, high, truth)
            assert (reason is None) == (low is not None)
            assert kind == "slope" or low is None or -1 <= low <= high <= 1
    return tally.close()


def draw_shares(p: float, rho: float, rng: np.random.Generator) -> ClusterDraw:
    """Of each cluster's rows those that hold: a share p, and rho the correlation within clusters."""

    def draw(sizes: Codes) -> tuple[Floats, Floats, float]:
        of_cluster = (
            rng.beta(p * (1 / rho - 1), (1 - p) * (1 / rho - 1), sizes.size)
            if rho and 0 < p < 1
            else np.full(sizes.size, p)
        )
        return sizes.astype(np.float64), rng.binomial(sizes, of_cluster).astype(np.float64), 1.0

    return draw


def draw_differences(rho: float, rng: np.random.Generator) -> ClusterDraw:
    """Means of differences of two scores, from -1 to 1, with mean .1."""

    def draw(sizes: Codes) -> tuple[Floats, Floats, float]:
        clusters = np.repeat(np.arange(sizes.size), sizes)
        noise = np.sqrt(rho) * rng.normal(size=sizes.size)[clusters]
        values = 0.1 + 0.2 * (noise + np.sqrt(1 - rho) * rng.normal(size=clusters.size))
        return sizes.astype(np.float64), np.bincount(clusters, values).astype(np.float64), 1.0

    return draw


def draw_slopes(rho: float, rng: np.random.Generator) -> ClusterDraw:
    """Scores on lengths: a slope of .3, which differs between clusters as much as rho says."""

    def draw(sizes: Codes) -> tuple[Floats, Floats, float]:
        clusters = np.repeat(np.arange(sizes.size), sizes)
        x = rng.normal(size=clusters.size)
        slope = 0.3 + np.sqrt(rho) * rng.normal(size=sizes.size)[clusters]
        y = slope * x + np.sqrt(1 - rho) * rng.normal(size=clusters.size)
        x, y = x - x.mean(), y - y.mean()
        absorbed = clusters.size / (clusters.size - 1)
        squares, products = (np.bincount(clusters, x * side) for side in (x, y))
        return squares.astype(np.float64), products.astype(np.float64), absorbed

    return draw


def list_views(
    layout: Layout, n_clusters: int, samples: int, rng: np.random.Generator
) -> Iterator[tuple[str, Coverage]]:
    """Every mean, share and slope of one cell of the grid."""
    settings = layout, n_clusters, samples, rng
    for rho in (0.0, 0.3):
        yield f"mean, {rho}", measure_views("mean", draw_differences(rho, rng), 0.1, *settings)
        yield f"slope, {rho}", measure_views("slope", draw_slopes(rho, rng), 0.3, *settings)
        for p in (0.03, 0.2, 0.5, 0.8, 0.97):
            drawn = draw_shares(p, rho, rng)
            yield f"share {p}, {rho}", measure_views("share", drawn, p, *settings)
    yield "share 1", measure_views("share", draw_shares(1.0, 0.0, rng), 1.0, *settings)
