"""A suite's report: correlations with people into the lake, the page beside them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.failures.labels import label_failures
from judgelake.tasks.lake.lake import Lake, append_rows, retire
from judgelake.tasks.lake.storage import LakePath, filled_folder, write_whole
from judgelake.tasks.reports.corpus import score_corpora
from judgelake.tasks.reports.correlations import correlate_judges
from judgelake.tasks.reports.exports import export_tables, marker_path, name_inputs, page_path
from judgelake.tasks.reports.kappas import grade_graders, measure_agreement
from judgelake.tasks.reports.page.render import render_report
from judgelake.tasks.reports.rankings import (
    compare_with_attributes,
    count_contradictions,
    overlap_raters,
    rank_by_raters,
    score_choices,
    score_forms,
    share_labels,
)
from judgelake.tasks.suite.suite import Suite
from judgelake.tasks.warehouse.warehouse import (
    bound_memory,
    compute_reports,
    materialise,
    open_warehouse,
    run_sql,
)

_HISTORY = "runs"
"""Tells of all suites, on every page."""


def keep_suite(connection: duckdb.DuckDBPyConnection, suite: Suite) -> None:
    """Let this connection's views know of judges, metrics and report tables only the suite's own,
    as it last ran; recorded raters stay.

    Judges then have their alias for a name even where another suite gives it to another judge.
    Before anything is materialised.
    """
    for name in [
        name
        for name, table in TABLES.items()
        if "suite" in table.polars_schema and name != _HISTORY
    ]:
        # names come from TABLES
        text = f"create temp table stg_{name} as select * from stg_{name} where suite = $suite"
        run_sql(connection, text, f"stg_{name}", {"suite": suite.name})


_ABOUT_RATERS = {
    "contradictions": count_contradictions,
    "grader_accuracy": grade_graders,
    "choice_accuracies": score_choices,
    "superscores": score_forms,
    "item_label_shares": share_labels,
    "attribute_agreement": compare_with_attributes,
    "rule_labels": label_failures,
}


def build_report(lake: Lake, suite: Suite) -> LakePath:
    """Compute the report tables, write them to the lake in place of the former ones, and render the
    page; returns its path.
    """
    made_from = name_inputs(lake, suite)
    with _open_for(lake, suite, lazy=True) as connection:
        _compute_tables(connection, lake, suite)
    page = page_path(lake, suite)
    least = suite.report.min_coverage
    benchmarks = list(suite.benchmarks)
    with _open_for(lake, suite, lazy=False) as connection, filled_folder(page.parent) as folder:
        compute_reports(connection)
        exports = export_tables(connection, folder / "tables", benchmarks)
        render_report(
            connection,
            suite.name,
            folder / page.name,
            suite.notice,
            datetime.now(UTC),
            benchmarks,
            least,
            exports,
        )
    write_whole(marker_path(lake, suite), made_from.encode())
    return page


@contextmanager
def _open_for(lake: Lake, suite: Suite, *, lazy: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """The lake as it is now, of which the suite's report knows, its core tables computed, in
    bounded memory.
    """
    with (
        tempfile.TemporaryDirectory(prefix="judgelake-") as spill,
        open_warehouse(lake, lazy=lazy) as connection,
    ):
        bound_memory(connection, Path(spill))
        keep_suite(connection, suite)
        materialise(connection)
        yield connection


def _compute_tables(connection: duckdb.DuckDBPyConnection, lake: Lake, suite: Suite) -> None:
    agreements = correlate_judges(connection, suite)
    _replace_rows(lake, suite, "correlations", agreements.correlations)
    _replace_rows(lake, suite, "judge_comparisons", agreements.comparisons)
    _replace_rows(lake, suite, "difference_tests", agreements.tests)
    _replace_rows(lake, suite, "corpus_scores", score_corpora(connection, suite))
    rankings = rank_by_raters(connection, suite)
    _replace_rows(lake, suite, "rankings", rankings)
    _replace_rows(lake, suite, "ranking_overlaps", overlap_raters(rankings))
    for table, frame in measure_agreement(connection, suite).items():
        _replace_rows(lake, suite, table, frame)
    for table, describe in _ABOUT_RATERS.items():
        _replace_rows(lake, suite, table, describe(connection, suite))


def _replace_rows(lake: Lake, suite: Suite, table: str, frame: pl.DataFrame) -> None:
    place = f"{table}/suite={suite.name}"
    replaced = [lake.root / name for name in lake.list_parts(place)[place]]
    written = append_rows(lake, table, frame)
    gone = [part for part in replaced if part not in written]
    if gone:
        retire(lake, gone)
