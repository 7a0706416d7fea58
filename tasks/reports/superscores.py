"""Answers in a long and a short form: right in either, the superscore (CHIRP, section 5.2.1). The statistic is `tasks.stats.scaling`."""

from collections.abc import Iterator

import duckdb
import polars as pl

from tasks.reports.resampled import Resamples, Row, build_rows, group_rows, write_ends
from tasks.stats.scaling import superscore
from tasks.suite import Suite


def score_forms(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `superscores`."""
    return build_rows(connection, suite, "superscores", ("queries/answer_forms.sql", {}), _score_benchmark)


def _score_benchmark(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    for key, rows in group_rows(frame, ("judge", "criterion")):
        for model, own in (("*", rows), *((name["model"], part) for name, part in group_rows(rows, ("model",)))):
            long, short, clusters = (own[name].to_numpy() for name in ("long_form", "short_form", "cluster_code"))
            found = superscore(long, short, clusters, resamples.weights)
            yield {
                **key, "model": model, "n": found.either.n, "n_clusters": found.either.n_clusters,
                **write_ends(found.long, "long", "long_"), **write_ends(found.short, "short", "short_"),
                **write_ends(found.either, "either", "either_"), "n_undefined": found.either.n_undefined,
            }  # fmt: skip
