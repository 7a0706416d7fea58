"""A suite's report: correlations with people into the lake, the page beside them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl

from tasks.lake import Lake, LakePath, append_rows, write_whole
from tasks.reports.attributes import compare_with_attributes
from tasks.reports.choices import score_choices
from tasks.reports.contradictions import count_contradictions
from tasks.reports.corpus import score_corpora
from tasks.reports.correlating import correlate_judges
from tasks.reports.exports import export_tables
from tasks.reports.failures import label_failures
from tasks.reports.freshness import marker_path, name_inputs, page_path
from tasks.reports.graders import grade_graders
from tasks.reports.item_labels import share_labels
from tasks.reports.overlaps import overlap_raters
from tasks.reports.page import render_report
from tasks.reports.rankings import rank_by_raters
from tasks.reports.rater_agreement import measure_agreement
from tasks.reports.suite_rows import keep_suite
from tasks.reports.superscores import score_forms
from tasks.reports.warehouse import bound_memory, compute_reports, materialise, open_warehouse
from tasks.retiring import retire
from tasks.storage import filled_folder
from tasks.suite import Suite

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
    """Compute the report tables, write them to the lake in place of the former ones, and render the page; returns its path."""
    made_from = name_inputs(lake, suite)
    with _open_for(lake, suite, lazy=True) as connection:
        _compute_tables(connection, lake, suite)
    page = page_path(lake, suite)
    least = suite.report.min_coverage
    benchmarks = list(suite.benchmarks)
    with _open_for(lake, suite, lazy=False) as connection, filled_folder(page.parent) as folder:
        compute_reports(connection)
        exports = export_tables(connection, folder / "tables", benchmarks)
        render_report(connection, suite.name, folder / page.name, suite.notice, datetime.now(UTC), benchmarks, least, exports)
    write_whole(marker_path(lake, suite), made_from.encode())
    return page


@contextmanager
def _open_for(lake: Lake, suite: Suite, *, lazy: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """The lake as it is now, of which the suite's report knows, its core tables computed, in bounded memory."""
    with tempfile.TemporaryDirectory(prefix="judgelake-") as spill, open_warehouse(lake, lazy=lazy) as connection:
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
