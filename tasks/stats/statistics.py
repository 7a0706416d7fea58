"""The statistics by name, of columns of one table: what SQL, reports and Python call alike.

Rows with a missing number are left out and counted. Rows are put in one order first, so that a
figure does not depend on theirs; clusters are drawn by name
(`tasks.stats.resampling.draw_keyed_weights`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np

from judgelake.tasks.stats.agreement import Weighting, agree_on_matchups, agree_raters
from judgelake.tasks.stats.bootstrap import correlate_rows, resample_correlations
from judgelake.tasks.stats.cluster_sums import AnyWeights, Floats, Indices, draw_once
from judgelake.tasks.stats.comparisons import Preference, orient_matchups
from judgelake.tasks.stats.correlation import COEFFICIENTS
from judgelake.tasks.stats.estimates import Estimate, MeanScale, estimate_mean
from judgelake.tasks.stats.human_rules import tabulate_scores
from judgelake.tasks.stats.model_ratings import (
    estimate_bradley_terry,
    estimate_elo,
    rate_bradley_terry,
    rate_elo,
)
from judgelake.tasks.stats.pair_accuracy import soft_pairwise_accuracy, tie_calibrated_accuracy
from judgelake.tasks.stats.reliability import (
    Metric,
    fleiss_kappa,
    krippendorff_alpha,
    most_frequent_size,
)
from judgelake.tasks.stats.resampling import Keys, draw_keyed_weights, key_clusters
from judgelake.tasks.stats.scaling import correlate_distances
from judgelake.tasks.stats.signatures import SIGNATURES, Kind
from judgelake.tasks.stats.texts import (
    Column,
    Columns,
    Options,
    Texts,
    code_texts,
    pick_texts,
    place_texts,
)


class Measured(NamedTuple):
    """A statistic, its 95 % interval, the rows and clusters behind it, the resamples on which it
    was undefined, the rows left out for a missing number, how the interval was found, and why
    there is no value or no interval.
    """

    value: float
    low: float
    high: float
    n: int
    n_clusters: int
    n_undefined: int
    n_missing: int
    method: str | None
    reason: str | None


@dataclass(frozen=True)
class _Form:
    """How a statistic is computed: `measure` the value alone, `estimate` with an interval from
    clusters.
    """

    measure: Callable[[Columns, Options], Any]
    estimate: Callable[[Columns, Indices, AnyWeights, Options], Any]
    takes_any_order: bool = False
    """Whether the kernel itself puts the rows in one order."""
    is_drawn: bool = True
    """Whether its interval rests on resamples."""


def measure(name: str, columns: Columns, options: Options | None = None) -> Any:
    """The value, NaN where it is undefined; of ratings, model -> rating.

    Raises ValueError for an option outside its choices.
    """
    chosen = {**SIGNATURES[name].options, **(options or {})}
    kept, _, _ = _prepare(name, columns, None)
    return _FORMS[name].measure(kept, chosen)


_MOST_RESAMPLES, _MOST_DRAWS = 1_000_000, 2_000_000_000
"""More resamples hardly change an interval; a draw takes two bytes of memory."""


def estimate(
    name: str,
    columns: Columns,
    clusters: Texts,
    resamples: int = 1000,
    seed: int = 0,
    options: Options | None = None,
) -> Any:
    """The value with its interval: `Measured`, of ratings a list of `Rated`.

    `clusters` names each row's cluster; rows without one are one cluster together. Raises
    ValueError for more than a million resamples, or two billion draws of clusters.
    """
    chosen = {**SIGNATURES[name].options, **(options or {}), "seed": seed}
    kept, codes, keys = _prepare(name, columns, clusters)
    form = _FORMS[name]
    most = min(_MOST_RESAMPLES, _MOST_DRAWS // max(keys.size, 1))
    if form.is_drawn and resamples > most:
        raise ValueError(
            f"{name}: resamples := {resamples}; expected at most {most:,} with so many clusters; "
            f"write fewer"
        )
    weights = draw_keyed_weights(keys if form.is_drawn else keys[:0], resamples, seed)
    estimated = form.estimate(kept, codes, weights, chosen)
    n_missing = clusters.codes.size - codes.size
    if SIGNATURES[name].rates_models:
        return [rated._replace(n_missing=n_missing) for rated in estimated]
    reason = estimated.reason if codes.size else "no rows"
    counts = estimated.n, estimated.n_clusters, estimated.n_undefined, n_missing
    return Measured(
        estimated.value, estimated.low, estimated.high, *counts, estimated.method, reason
    )


def _prepare(
    name: str, columns: Columns, clusters: Texts | None
) -> tuple[dict[str, Any], Indices, Keys]:
    """The rows with nothing missing, in one order whatever theirs was, and the clusters' codes and
    keys.
    """
    kinds = SIGNATURES[name].columns
    read = {column: _READ[kind](columns[column]) for column, kind in kinds.items()}
    codes = {column: c.codes if isinstance(c, Texts) else c for column, c in read.items()}
    is_there = np.logical_and.reduce(
        [c >= 0 if c.dtype.kind == "i" else ~np.isnan(c) for c in codes.values()]
    )
    if clusters is None:
        cluster, keys = np.zeros(is_there.size, dtype=np.int64), np.zeros(1, dtype=np.uint64)
    else:
        keys, rank = np.unique(key_clusters([*clusters.names, ""]), return_inverse=True)
        cluster = rank[clusters.codes]
    rows = np.flatnonzero(is_there)
    if not _FORMS[name].takes_any_order:
        rows = rows[np.lexsort((cluster[rows], *(c[rows] for c in reversed(codes.values()))))]
    kept = {
        column: pick_texts(c, rows) if isinstance(c, Texts) else c[rows]
        for column, c in read.items()
    }
    return kept, cluster[rows], keys


def _read_numbers(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _read_labels(labels: Texts) -> Column:
    try:
        numbers = np.array([*map(float, labels.names), np.nan])
    except ValueError:
        return labels
    return numbers[labels.codes] if np.isfinite(numbers[:-1]).all() else labels


_READ: Mapping[Kind, Callable[[Any], Column]] = {
    "number": _read_numbers,
    "label": _read_labels,
    "name": lambda names: names,
}


# Correlations of a judge's scores `x` with people's `y`.


def _correlate(columns: Columns, _: Options, name: str) -> float:
    return correlate_rows(columns["x"], columns["y"])[name]


def _correlate_clusters(
    columns: Columns, clusters: Indices, weights: AnyWeights, _: Options, name: str
) -> Any:
    return resample_correlations(columns["x"], columns["y"], clusters, weights)[name].summarise()


# Agreement of two raters' labels, and of several raters'.


def _label_codes(columns: Columns) -> tuple[Floats, Floats]:
    """Both columns as numbers; where one of them is text, labels are their places among all."""
    a, b = columns["a"], columns["b"]
    if not isinstance(a, Texts) and not isinstance(b, Texts):
        return a, b
    return _merge(*(_as_texts(side) for side in (a, b)))


def _as_texts(labels: Column) -> Texts:
    return labels if isinstance(labels, Texts) else code_texts(f"{label:g}" for label in labels)


def _merge(a: Texts, b: Texts) -> tuple[Floats, Floats]:
    names = sorted({*a.names, *b.names})
    return place_texts(a, names).astype(np.float64), place_texts(b, names).astype(np.float64)


def _agree(columns: Columns, clusters: Indices, weights: AnyWeights, options: Options) -> Estimate:
    weighting = _choose({"weights": "nominal", **options}, "weights", Weighting)
    agreement = agree_raters(*_label_codes(columns), clusters, weights, [weighting])
    return agreement[f"kappa_{weighting}"]


_CHOICES = {"a": Preference.A, "b": Preference.B, "tie": Preference.TIE}


def _agree_on_matchups(
    columns: Columns, clusters: Indices, weights: AnyWeights, _: Options
) -> Estimate:
    """Rows of one model against itself and choices other than a, b and tie are left out."""
    models = sorted({*columns["model_a"].names, *columns["model_b"].names})
    first, second = (place_texts(columns[name], models) for name in ("model_a", "model_b"))
    between = first != second
    oriented = [
        orient_matchups(first[between], second[between], _read_choices(columns[name])[between])
        for name in ("a", "b")
    ]
    (matchups, a), (_same, b) = oriented
    agreement = agree_on_matchups(a, b, matchups, clusters[between], weights)
    return agreement["kappa_matchups"]


def _read_choices(labels: Column) -> Floats:
    if not isinstance(labels, Texts):
        if labels.size:
            raise ValueError(
                f"matchup_kappa: a choice is {labels[0]:g}; expected a, b or tie; "
                f"give each rater's choice"
            )
        return labels
    numbers = [float(_CHOICES.get(name, np.nan)) for name in labels.names]
    return np.array(numbers)[labels.codes]


def _agree_plainly(
    columns: Columns, clusters: Indices, weights: AnyWeights, _: Options
) -> Estimate:
    return agree_raters(*_label_codes(columns), clusters, weights)["agreement"]


def _choose(options: Options, name: str, choices: Any) -> Any:
    allowed = get_args(choices)
    if options[name] not in allowed:
        raise ValueError(
            f"{name} := {options[name]!r}; expected one of {', '.join(map(repr, allowed))}; "
            f"write one of them"
        )
    return options[name]


def _units(columns: Columns) -> tuple[Indices, Floats]:
    labels = columns["label"]
    numbers = labels.codes.astype(np.float64) if isinstance(labels, Texts) else labels
    return columns["unit"].codes, numbers


def _fleiss(columns: Columns, clusters: Indices, weights: AnyWeights, _: Options) -> Estimate:
    """Of the units that have as many labels as most have."""
    units, labels = _units(columns)
    per_unit = most_frequent_size(units)
    if per_unit < 2:
        return _nothing(units, clusters, "no unit has two labels")
    return fleiss_kappa(units, labels, per_unit, clusters, weights).kappa


def _alpha(columns: Columns, clusters: Indices, weights: AnyWeights, options: Options) -> Estimate:
    units, labels = _units(columns)
    metric = _choose(options, "metric", Metric)
    if most_frequent_size(units) < 2:
        return _nothing(units, clusters, "no unit has two labels")
    return krippendorff_alpha(units, labels, metric, clusters, weights).alpha


def _nothing(rows: Floats | Indices, clusters: Indices, reason: str) -> Estimate:
    n_clusters = int(np.unique(clusters).size)
    return Estimate(np.nan, np.nan, np.nan, rows.size, n_clusters, 0, reason)


# Accuracy over pairs of answers to one item, or of models.


def _accuracy(
    columns: Columns, clusters: Indices, weights: AnyWeights, options: Options, calibrates: bool
) -> Estimate:
    x, y = columns["x"], columns["y"]
    rng = np.random.default_rng(options.get("seed", 0))
    items = columns["item"].codes
    _need_one_cluster(columns["item"], clusters)
    accuracy = tie_calibrated_accuracy(x, y, items, clusters, weights, rng, calibrates=calibrates)
    return accuracy.accuracy


def _need_one_cluster(items: Texts, clusters: Indices) -> None:
    """Items of two benchmarks may have one id: their answers are no pairs."""
    _, first = np.unique(items.codes, return_index=True)
    astray = np.flatnonzero(clusters != clusters[first][items.codes])
    if astray.size:
        raise ValueError(
            f"accuracy: the item {items.names[items.codes[astray[0]]]!r} has rows in several "
            f"clusters; expected one cluster an item; ask one benchmark, or write "
            f"benchmark || '/' || item_id for the item"
        )


def _soften(columns: Columns, clusters: Indices, _: AnyWeights, options: Options) -> Estimate:
    models, item = columns["model"], columns["item"].codes
    _, first = np.unique(item, return_index=True)
    if len(models.names) < 2:
        return _nothing(item, clusters, "fewer than two models")
    x, y = (
        tabulate_scores(columns[side], models.codes, item, (len(models.names), first.size))
        for side in "xy"
    )
    rng = np.random.default_rng(options.get("seed", 0))
    _, cluster = np.unique(clusters[first], return_inverse=True)
    soft = soft_pairwise_accuracy(x, y, cluster, options["permutations"], rng)
    return _nothing(item, clusters, "has no interval")._replace(value=soft.value)


# Means and shares.


def _average(
    columns: Columns, clusters: Indices, _: AnyWeights, __: Options, scale: MeanScale
) -> Estimate:
    x = columns["x"]
    if scale == "share" and x.size and not 0 <= x.min() <= x.max() <= 1:
        raise ValueError(
            f"win_rate: a preference of {x.min():g} to {x.max():g}; expected 0 to 1; "
            f"give the share of the win"
        )
    return estimate_mean(x, clusters, scale)


def _soften_items(columns: Columns, options: Options) -> float:
    items = columns["item"]
    _, rank = np.unique(key_clusters(items.names), return_inverse=True)  # as `estimate` codes them
    return float(_soften(columns, rank[items.codes], draw_once(1), options).value)


# Scaling analyses.


def _relate(columns: Columns, _: Options) -> float:
    return correlate_distances(columns["x"], columns["y"], 0, np.random.default_rng(0)).plain


def _relate_clusters(
    columns: Columns, clusters: Indices, _: AnyWeights, options: Options
) -> Estimate:
    value = _relate(columns, options)
    return _nothing(columns["x"], clusters, "has no interval")._replace(value=value)


def _value_of(
    form: Callable[[Columns, Indices, AnyWeights, Options], Any],
) -> Callable[[Columns, Options], float]:
    """The value of a statistic that is computed with its interval: without any resample."""

    def find(columns: Columns, options: Options) -> float:
        first = next(iter(columns.values()))
        rows = first.codes.size if isinstance(first, Texts) else first.size
        clusters = np.zeros(rows, dtype=np.int64)
        return float(form(columns, clusters, draw_once(1)[:0], options).value)

    return find


def _of_estimate(
    form: Callable[[Columns, Indices, AnyWeights, Options], Any], *, is_drawn: bool = True
) -> _Form:
    return _Form(_value_of(form), form, is_drawn=is_drawn)


_FORMS: Mapping[str, _Form] = {
    **{
        name: _Form(partial(_correlate, name=name), partial(_correlate_clusters, name=name), True)
        for name in COEFFICIENTS
    },
    "agreement": _of_estimate(_agree_plainly),
    "cohen_kappa": _of_estimate(_agree),
    "weighted_kappa": _of_estimate(_agree),
    "matchup_kappa": _of_estimate(_agree_on_matchups),
    "fleiss_kappa": _of_estimate(_fleiss),
    "krippendorff_alpha": _of_estimate(_alpha),
    "pair_accuracy": _of_estimate(partial(_accuracy, calibrates=False)),
    "tie_calibrated_accuracy": _of_estimate(partial(_accuracy, calibrates=True)),
    "soft_pairwise_accuracy": _Form(_soften_items, _soften, is_drawn=False),
    "cluster_mean": _of_estimate(partial(_average, scale="number"), is_drawn=False),
    "win_rate": _of_estimate(partial(_average, scale="share"), is_drawn=False),
    "elo": _Form(rate_elo, estimate_elo),
    "bradley_terry": _Form(rate_bradley_terry, estimate_bradley_terry, is_drawn=False),
    "distance_correlation": _Form(_relate, _relate_clusters, is_drawn=False),
}
