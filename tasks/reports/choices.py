"""How often judges put people's best of several answers above one that lost (HarmonicEval, Table 2). Statistics: `tasks.stats.pair_accuracy`."""

from collections.abc import Iterator

import duckdb
import numpy as np
import polars as pl

from tasks.reports.resampled import Resamples, Row, build_rows, group_rows, write_ends
from tasks.stats.pair_accuracy import choice_accuracy
from tasks.suite import Suite


def score_choices(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `choice_accuracies`."""
    return build_rows(connection, suite, "choice_accuracies", ("queries/choice_pairs.sql", {}), _score_benchmark)


def _score_benchmark(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    for key, rows in group_rows(frame, ("judge", "judge_criterion", "human_criterion")):
        winners, losers = (rows[name].fill_null(np.nan).to_numpy() for name in ("winner_score", "loser_score"))
        found = choice_accuracy(winners, losers, rows["cluster_code"].to_numpy(), resamples.weights)
        yield {
            **key, "n_choices": rows["choice_code"].n_unique(), "n": found.accuracy.n, "n_ties": found.n_ties,
            "n_missing": found.n_missing, "n_clusters": found.accuracy.n_clusters, **write_ends(found.accuracy, "accuracy"),
            "n_undefined": found.accuracy.n_undefined,
        }  # fmt: skip
