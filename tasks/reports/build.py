"""A suite's report: correlations with people into the lake, the page beside them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.failures.labels import label_failures
from judgelake.tasks.lake.lake import Lake, append_rows, retire
from judgelake.tasks.lake.processes import own_folder
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.storage import LakePath, filled_folder, write_whole
from judgelake.tasks.reports.corpus import score_corpora
from judgelake.tasks.reports.correlations import correlate_judges
from judgelake.tasks.reports.exports import export_tables, marker_path, name_inputs, page_path
from judgelake.tasks.reports.kappas import measure_agreement
from judgelake.tasks.reports.page.render import render_report
from judgelake.tasks.reports.rankings import (
    compare_with_attributes,
    count_contradictions,
    overlap_raters,
    rank_by_raters,
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
"""The view of runs is not limited to one suite: every page shows the runs of all suites."""


def keep_suite(connection: duckdb.DuckDBPyConnection, suite: Suite) -> None:
    """Limit this connection's views to the judges, metrics and report tables of the suite,
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
    "attribute_agreement": compare_with_attributes,
    "rule_labels": label_failures,
}


def build_report(lake: Lake, suite: Suite) -> LakePath:
    """Compute the report tables, write them to the lake in place of the former ones, and render the
    page; returns its path.
    """
    snapshot = lake.take_snapshot()
    with _open_for(snapshot, suite, lazy=True) as connection:
        computed = _compute_tables(connection, suite)
    _replace_rows(lake, snapshot, suite, computed)
    # the page shows the tables computed from the snapshot, and nothing else that is newer than it
    shown = snapshot.with_newer(*computed)
    page = page_path(lake, suite)
    least = suite.report.min_coverage
    benchmarks = list(suite.benchmarks)
    with _open_for(shown, suite, lazy=False) as connection, filled_folder(page.parent) as folder:
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
    write_whole(marker_path(lake, suite), name_inputs(snapshot, suite).encode())
    return page


@contextmanager
def _open_for(
    snapshot: Snapshot, suite: Suite, *, lazy: bool
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to what the suite's report shows of a snapshot, its core tables computed."""
    with (
        own_folder("report") as spill,
        open_warehouse(snapshot, lazy=lazy) as connection,
    ):
        bound_memory(connection, Path(spill))
        keep_suite(connection, suite)
        materialise(connection)
        yield connection


def _compute_tables(connection: duckdb.DuckDBPyConnection, suite: Suite) -> dict[str, pl.DataFrame]:
    """Report table -> its rows of this suite."""
    agreements = correlate_judges(connection, suite)
    rankings = rank_by_raters(connection, suite)
    return {
        "correlations": agreements.correlations,
        "judge_comparisons": agreements.comparisons,
        "difference_tests": agreements.tests,
        "corpus_scores": score_corpora(connection, suite),
        "rankings": rankings,
        "ranking_overlaps": overlap_raters(rankings),
        **measure_agreement(connection, suite),
        **{table: describe(connection, suite) for table, describe in _ABOUT_RATERS.items()},
    }


def _replace_rows(
    lake: Lake, snapshot: Snapshot, suite: Suite, computed: Mapping[str, pl.DataFrame]
) -> None:
    """Write the rows in place of the snapshot's: the report's lease keeps other writers away."""
    for table, frame in computed.items():
        folder = f"{table}/suite={suite.name}/"
        former = snapshot.list_parts(table)[table]
        replaced = [lake.root / name for name in former if name.startswith(folder)]
        written = append_rows(lake, table, frame)
        if gone := [part for part in replaced if part not in written]:
            retire(lake, gone, [part for part in written if part not in replaced])
