"""A suite's report: correlations with people into the lake, the page beside them."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from tasks.lake import Lake, append_rows, remove_parts, write_whole
from tasks.reports.attributes import compare_with_attributes
from tasks.reports.contradictions import count_contradictions
from tasks.reports.corpus import score_corpora
from tasks.reports.correlating import correlate_judges
from tasks.reports.exports import export_tables
from tasks.reports.failures import label_failures
from tasks.reports.freshness import marker_path, name_inputs, page_path
from tasks.reports.graders import grade_graders
from tasks.reports.kappas import measure_kappas
from tasks.reports.page import render_report
from tasks.reports.rankings import rank_by_raters
from tasks.reports.warehouse import materialise, open_warehouse
from tasks.suite import Suite

_ABOUT_RATERS = {
    "rankings": rank_by_raters,
    "kappas": measure_kappas,
    "contradictions": count_contradictions,
    "grader_accuracy": grade_graders,
    "attribute_agreement": compare_with_attributes,
    "rule_labels": label_failures,
}


def build_report(lake: Lake, suite: Suite) -> Path:
    """Compute the report tables, write them to the lake in place of the former ones, and render the page; returns its path."""
    made_from = name_inputs(lake, suite)
    connection = open_warehouse(lake)
    materialise(connection)
    agreements = correlate_judges(connection, suite)
    _replace_rows(lake, suite, "correlations", agreements.correlations)
    _replace_rows(lake, suite, "judge_comparisons", agreements.comparisons)
    _replace_rows(lake, suite, "corpus_scores", score_corpora(connection, suite))
    for table, describe in _ABOUT_RATERS.items():
        _replace_rows(lake, suite, table, describe(connection, suite))
    page = page_path(lake, suite)
    page.parent.mkdir(parents=True, exist_ok=True)
    fresh = open_warehouse(lake)
    materialise(fresh)
    least = suite.report.min_coverage
    benchmarks = list(suite.benchmarks)
    exports = export_tables(fresh, page.parent / "tables", benchmarks)
    render_report(fresh, suite.name, page, suite.notice, datetime.now(UTC), benchmarks, least, exports)
    write_whole(marker_path(lake, suite), made_from.encode())
    return page


def _replace_rows(lake: Lake, suite: Suite, table: str, frame: pl.DataFrame) -> None:
    replaced = sorted((lake.table_folder(table) / f"suite={suite.name}").glob("*.parquet"))
    written = append_rows(lake, table, frame)
    remove_parts(set(replaced) - set(written))
