"""Corpus scores of metrics, per model and pooled, with cluster-bootstrap intervals: sums of
additive statistics, never scored again.

What a row's statistics are, and the score of their sums, is each metric's own
(`tasks.metrics.registry`).
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.metrics.metric import Metric
from judgelake.tasks.planning.scores import name_ingests
from judgelake.tasks.stats.few_clusters import LeftOut, find_interval, is_few
from judgelake.tasks.stats.resampling import Keys, Weights, draw_keyed_weights
from judgelake.tasks.suite.suite import Suite
from judgelake.tasks.types import Identity
from judgelake.tasks.warehouse.warehouse import select_file, select_frame

Floats = npt.NDArray[np.float64]

# resamples summed at a time, which bounds memory
RESAMPLES_AT_ONCE = 64


class CorpusSums(NamedTuple):
    """One metric's sums on one benchmark: (models, clusters, k + 1), the last number being the
    answers that have a score.
    """

    metric: Metric
    identity: Identity
    models: list[str]
    sums: Floats
    n_missing: npt.NDArray[np.int64]
    """By model."""


def score_corpora(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `corpus_scores`; all metrics and models of a benchmark share the resamples
    of its clusters.
    """
    stamp = {
        "suite": suite.name,
        "resamples": suite.report.resamples,
        "seed": suite.report.seed,
        "reported_at": datetime.now(UTC),
    }
    ingests = name_ingests(connection)
    rows: list[dict[str, object]] = []
    for benchmark in sorted(suite.benchmarks):
        all_sums = list(_sum_benchmark(connection, suite, benchmark, ingests))
        keys = _read_keys(connection, benchmark)
        weights = draw_keyed_weights(keys, suite.report.resamples, suite.report.seed)
        resampled = resample_sums([metric_sums.sums for metric_sums in all_sums], weights)
        for metric_sums, drawn in zip(all_sums, resampled, strict=True):
            rows += [
                {**stamp, "benchmark": benchmark, **row} for row in _describe(metric_sums, drawn)
            ]
    return pl.DataFrame(rows, schema=TABLES["corpus_scores"].polars_schema)


def resample_sums(sums: list[Floats], weights: Weights) -> list[Floats]:
    """Of each (models, clusters, k) array the sums over drawn clusters, (resamples, models, k)."""
    resamples, n_clusters = weights.shape
    flat = [part.transpose(1, 0, 2).reshape(n_clusters, -1) for part in sums]
    drawn = [np.empty((resamples, part.shape[1])) for part in flat]
    for start in range(0, resamples if sums else 0, RESAMPLES_AT_ONCE):
        stop = min(start + RESAMPLES_AT_ONCE, resamples)
        some = weights[start:stop].astype(np.float64)
        for part, out in zip(flat, drawn, strict=True):
            out[start:stop] = some @ part
    return [
        out.reshape(resamples, *np.array(part.shape)[[0, 2]])
        for out, part in zip(drawn, sums, strict=True)
    ]


def score_sums(metric: Metric, sums: Floats) -> Floats:
    """Corpus score of each (..., k + 1) sum, the last number being the scored answers; NaN where
    there is none.
    """
    n = sums[..., -1]
    flat = sums.reshape(-1, sums.shape[-1])
    totals = (
        flat[:, 0] / np.maximum(flat[:, -1], 1)
        if metric.corpus is None
        else metric.corpus(flat[:, :-1])
    )
    return np.where(n > 0, totals.reshape(n.shape), np.nan)


def _sum_benchmark(
    connection: duckdb.DuckDBPyConnection, suite: Suite, benchmark: str, ingests: dict[str, str]
) -> Iterator[CorpusSums]:
    for settings in suite.metrics:
        metric = settings.resolve()
        for identity in settings.identify(tuple(suite.benchmarks), ingests):
            if benchmark in identity.benchmarks:
                parameters = {
                    "benchmark": benchmark,
                    "tasks": [*metric.tasks],
                    "judge_id": identity.judge_id,
                }
                frame = select_file(connection, "queries/corpus_sums.sql", parameters)
                if frame.height:
                    yield _arrange(frame, metric, identity, _read_keys(connection, benchmark).size)


def _arrange(
    frame: pl.DataFrame, metric: Metric, identity: Identity, n_clusters: int
) -> CorpusSums:
    models = frame["model"].unique().sort()
    places = (
        frame["model"]
        .replace_strict(models, np.arange(len(models)), return_dtype=pl.Int64)
        .to_numpy()
    )
    clusters, positions = frame["cluster_code"].to_numpy(), frame["position"].to_numpy() - 1
    sums = np.zeros((len(models), n_clusters, max(len(metric.statistics), 1) + 1))
    sums[places, clusters, positions] = frame["total"].to_numpy()
    first = positions == 0
    sums[places[first], clusters[first], -1] = frame["n"].to_numpy()[first]
    n_missing = np.bincount(
        places[first], frame["n_missing"].to_numpy()[first], len(models)
    ).astype(np.int64)
    return CorpusSums(metric, identity, models.to_list(), sums, n_missing)


def _read_keys(connection: duckdb.DuckDBPyConnection, benchmark: str) -> Keys:
    text = (
        "select cluster_key($benchmark, cluster) as key from core_answers "
        "where benchmark = $benchmark group by cluster order by key"
    )
    return select_frame(connection, text, "clusters", {"benchmark": benchmark})["key"].to_numpy()


def _describe(corpus: CorpusSums, drawn: Floats) -> Iterator[dict[str, object]]:
    """Rows of one metric: each model, and all pooled ('*'), whose sums are the models' together."""
    n_models = len(corpus.models)
    for name, chosen in [
        ("*", slice(0, n_models)),
        *((model, slice(k, k + 1)) for k, model in enumerate(corpus.models)),
    ]:
        by_cluster = corpus.sums[chosen].sum(axis=0)
        n_clusters = int((by_cluster[:, -1] > 0).sum())
        value = float(score_sums(corpus.metric, by_cluster.sum(axis=0)))
        held = by_cluster[by_cluster[:, -1] > 0]
        sizes = held[:, -1].astype(np.int64)
        left_out = LeftOut(
            np.arange(sizes.size), sizes, score_sums(corpus.metric, held.sum(axis=0) - held)
        )
        interval = find_interval(
            value,
            score_sums(corpus.metric, drawn[:, chosen].sum(axis=1)),
            left_out if is_few(sizes) else None,
            sizes,
            "number",
        )
        ends = {"value": value, "low": interval.low, "high": interval.high}
        yield {
            "judge": f"metric:{corpus.identity.call_signature}",
            "metric": corpus.identity.alias,
            "model": name,
            "n": int(by_cluster[:, -1].sum()),
            "n_missing": int(corpus.n_missing[chosen].sum()),
            "n_clusters": n_clusters,
            "n_undefined": interval.n_undefined,
            "reason": interval.reason,
            **{key: None if np.isnan(end) else end for key, end in ends.items()},
        }
