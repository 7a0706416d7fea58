"""Graders that say right or wrong, against people's grading (CHIRP, Table 7). The statistics are `tasks.stats.kappa_bootstrap`."""

from collections.abc import Iterator

import duckdb
import numpy as np
import polars as pl

from tasks.reports.resampled import Resamples, Row, build_rows, group_rows, write_ends
from tasks.stats.agreement import count_confusion
from tasks.stats.kappa_bootstrap import grade_grader
from tasks.suite import Suite

_KEY = ("judge", "judge_criterion", "human_criterion")


def grade_graders(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `grader_accuracy`."""
    return build_rows(connection, suite, "grader_accuracy", ("queries/binary_grades.sql", {}), _grade_benchmark)


def _grade_benchmark(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    for key, rows in group_rows(frame, _KEY):
        graded, clusters = rows["judge_score"].to_numpy(), rows["cluster_code"].to_numpy()
        human = rows["human_score"].fill_null(np.nan).to_numpy()
        found = grade_grader(graded, human, clusters, resamples.weights)
        accuracy = found["accuracy"]
        yield {
            **key, "n": accuracy.n, "n_left_out": int(np.isnan(human).sum()), "n_clusters": accuracy.n_clusters,
            **_count(graded, human), **write_ends(accuracy, "accuracy", "accuracy_"),
            **write_ends(found["false_positive_rate"], "false_positive_rate", "false_positive_"),
            **write_ends(found["false_negative_rate"], "false_negative_rate", "false_negative_"),
            "n_undefined": accuracy.n_undefined,
        }  # fmt: skip


def _count(graded: np.ndarray, human: np.ndarray) -> Row:
    levels, counts = count_confusion(graded, human)
    of = {(given, true): int(counts[i, j]) for i, given in enumerate(levels) for j, true in enumerate(levels)}
    return {
        "true_positives": of.get((1, 1), 0), "false_positives": of.get((1, 0), 0),
        "true_negatives": of.get((0, 0), 0), "false_negatives": of.get((0, 1), 0),
    }  # fmt: skip
