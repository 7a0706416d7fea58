"""How often a rater's preferences run in a circle within a question, beside coin-flips. The statistics are `tasks.stats`."""

from collections.abc import Iterator

import duckdb
import numpy as np
import polars as pl

from tasks.reports.rankings import MOST_ANNOTATORS
from tasks.reports.resampled import Resamples, Row, build_rows, group_rows, write_ends
from tasks.stats.coin_flips import flip_coins
from tasks.stats.contradictions import build_graphs, find_contradictions
from tasks.stats.estimates import estimate_mean
from tasks.suite import Suite

FLIPS = 200
"""Simulated coin-flips of one question, where its models are too many to count: their share is a mean over all questions."""


def count_contradictions(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `contradictions`."""
    query = ("queries/comparisons.sql", {"most_annotators": MOST_ANNOTATORS})
    return build_rows(connection, suite, "contradictions", query, _describe_benchmark)


def _describe_benchmark(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    names, codes = np.unique(np.concatenate([frame["model_a"], frame["model_b"]]).astype(str), return_inverse=True)
    if names.size < 3:
        return
    coded = frame.with_columns(a=codes[: frame.height], b=codes[frame.height :])
    cluster_of = np.zeros(int(frame["question_code"].to_numpy().max()) + 1, dtype=np.int64)
    cluster_of[frame["question_code"].to_numpy()] = frame["cluster_code"].to_numpy()
    for key, rows in group_rows(coded, ("rater", "criterion")):
        side = rows["side"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        graphs = build_graphs(rows["question_code"].to_numpy(), rows["a"].to_numpy(), rows["b"].to_numpy(), side)
        if graphs.n_models.max(initial=0) < 3:
            continue
        found = find_contradictions(graphs)
        share = estimate_mean(found.has_cycle.astype(np.float64), cluster_of[found.questions], resamples.weights)
        flips = flip_coins(graphs, FLIPS, resamples.seed_rng(*key.values()))
        yield {
            **key, "n_questions": share.n, "n_clusters": share.n_clusters, "n_contradictory": int(found.has_cycle.sum()),
            **write_ends(share, "share"), "coin_flip_share": flips.rate, "n_simulated": flips.n_simulated,
            "n_undefined": share.n_undefined,
        }  # fmt: skip
