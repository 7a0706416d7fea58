"""What is told of one judge beside its coefficients: accuracies that are fair to ties, and the other ways to combine samples."""

from collections.abc import Iterator

import numpy as np

from tasks.reports.comparing import LEAST_SYSTEMS, POOLED, SYSTEMS, Competition
from tasks.reports.draws import Draws
from tasks.reports.scored_rows import Floats, Indices, Scored
from tasks.stats.bootstrap import Correlation
from tasks.stats.combining import SampleRule, combine_samples
from tasks.stats.pair_accuracy import tie_calibrated_accuracy
from tasks.stats.soft_accuracy import soft_pairwise_accuracy
from tasks.stats.tabulating import tabulate_scores

_OTHER_SAMPLE_RULES: tuple[SampleRule, ...] = ("correlate_then_mean", "pooled")
Told = tuple[str, str, str, Correlation]
"""Model, sample rule, statistic and its value."""


def measure_accuracies(scored: Scored, competition: Competition, judge: int) -> Iterator[Told]:
    """Tie-calibrated accuracy over pairs of answers to one item; over three models and more, soft pairwise accuracy of their means."""
    target, draws = competition.target, competition.draws
    held = np.flatnonzero(~np.isnan(competition.x[:, judge]))
    x, y, clusters = competition.x[held, judge], target.values[held], competition.clusters[held]
    items = scored.item[target.answers[held]]
    if np.unique(items).size < items.size:
        found = tie_calibrated_accuracy(x, y, items, clusters, draws.clusters, np.random.default_rng(draws.seed))
        yield POOLED, "mean", "tie_calibrated_accuracy", Correlation(*found.accuracy)
    models = competition.models[held]
    named = models >= 0
    if np.unique(models[named]).size >= LEAST_SYSTEMS and target.rule == "mean":
        part_systems = _part_systems(x[named], y[named], models[named], clusters[named], items[named], draws)
        yield SYSTEMS, "mean", "soft_pairwise_accuracy", part_systems


def combine_otherwise(competition: Competition, judge: int) -> Iterator[Told]:
    """The coefficients of a judge or target of several samples under the rules beside `mean`."""
    target, samples = competition.target, competition.series[judge].samples
    if max(samples.shape[1], target.samples.shape[1]) == 1:
        return
    for rule in _OTHER_SAMPLE_RULES:
        sides = samples[target.answers], target.samples, competition.clusters
        for name, found in combine_samples(*sides, competition.draws.clusters, rule).items():
            yield POOLED, rule, name, found.summarise()


def _part_systems(x: Floats, y: Floats, models: Indices, clusters: Indices, items: Indices, draws: Draws) -> Correlation:
    """Soft pairwise accuracy, which has no interval."""
    _, first, item = np.unique(items, return_index=True, return_inverse=True)
    held, system = np.unique(models, return_inverse=True)
    rng = np.random.default_rng(draws.seed)
    x_table, y_table = (tabulate_scores(side, system, item, (held.size, first.size)) for side in (x, y))
    soft = soft_pairwise_accuracy(x_table, y_table, clusters[first], len(draws.clusters), rng)
    return Correlation(soft.value, float("nan"), float("nan"), held.size, np.unique(clusters).size, 0)
