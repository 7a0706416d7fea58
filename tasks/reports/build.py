"""A suite's report: correlations with people into the lake, the page beside them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.backends.image_encoding import ImageEncoder
from judgelake.tasks.failures.labels import label_failures
from judgelake.tasks.lake.lake import Lake, append_rows, open_lake, retire
from judgelake.tasks.lake.processes import own_folder
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.storage import LakePath, filled_folder, remove_file, write_whole
from judgelake.tasks.reports.corpus import score_corpora
from judgelake.tasks.reports.correlations import correlate_judges
from judgelake.tasks.reports.exports import (
    drop_former,
    marker_path,
    name_inputs,
    page_path,
    report_views,
    write_tables,
)
from judgelake.tasks.reports.kappas import measure_agreement
from judgelake.tasks.reports.kept_pages import RUNS, keep_page, list_pages
from judgelake.tasks.reports.page.concerns import Changes, name_come_and_gone
from judgelake.tasks.reports.page.render import render_report
from judgelake.tasks.reports.page.thumbnails import THUMBNAIL_SIDE
from judgelake.tasks.reports.paired_changes import is_paired, pair_changes
from judgelake.tasks.reports.rankings import (
    compare_with_attributes,
    count_contradictions,
    overlap_raters,
    rank_by_raters,
)
from judgelake.tasks.reports.rebuilding import rebuild_prompts
from judgelake.tasks.reports.results import (
    LAST,
    Base,
    check_base,
    choose_base,
    find_newest_report,
    find_newest_run,
    keep_results,
    list_changes,
    list_come_and_gone,
    show_rows,
)
from judgelake.tasks.suite.suite import Suite, name_collection
from judgelake.tasks.types import Image
from judgelake.tasks.warehouse.warehouse import (
    bound_memory,
    compute_reports,
    go_back,
    materialise,
    open_warehouse,
    run_sql,
    show_newer,
)

_HISTORY = "runs"
"""The view of runs is not limited to one suite: every page shows the runs of all suites."""


_OF_COLLECTION = "collection_figures"


def keep_suite(
    connection: duckdb.DuckDBPyConnection, suite: Suite, tables: Collection[str] = tuple(TABLES)
) -> None:
    """Limit this connection's views of `tables` to the judges, metrics and report tables of the
    suite, as it last ran; recorded raters stay.

    Judges then have their alias for a name even where another suite gives it to another judge.
    Before anything is materialised.
    """
    listing = "select distinct table_name from duckdb_columns() where column_name = 'suite'"
    having = {name for (name,) in connection.execute(listing).fetchall()}
    for name in [name for name in tables if f"stg_{name}" in having and name != _HISTORY]:
        # names come from TABLES
        text = (
            f"create or replace temp table stg_{name} as "
            f"select * from memory.main.stg_{name} where suite = $suite"
        )
        of = name_collection(suite.name) if name == _OF_COLLECTION else suite.name
        run_sql(connection, text, f"stg_{name}", {"suite": of})


Frames = Mapping[str, pl.DataFrame]
"""Report table -> its rows of one suite."""


def _compare_with_people(connection: duckdb.DuckDBPyConnection, suite: Suite) -> Frames:
    names = "correlations", "judge_comparisons", "difference_tests"
    return dict(zip(names, correlate_judges(connection, suite), strict=True))


def _rank_models(connection: duckdb.DuckDBPyConnection, suite: Suite) -> Frames:
    rankings = rank_by_raters(connection, suite)
    return {"rankings": rankings, "ranking_overlaps": overlap_raters(rankings)}


class Figures(NamedTuple):
    """Report tables that are computed together, from a connection of `open_for` and the suite."""

    tables: tuple[str, ...]
    compute: Callable[[duckdb.DuckDBPyConnection, Suite], Frames]


def _one_table(name: str, compute: Callable[..., pl.DataFrame]) -> Figures:
    return Figures((name,), lambda connection, suite: {name: compute(connection, suite)})


FIGURES: tuple[Figures, ...] = (
    Figures(("correlations", "judge_comparisons", "difference_tests"), _compare_with_people),
    _one_table("corpus_scores", score_corpora),
    Figures(("rankings", "ranking_overlaps"), _rank_models),
    Figures(("kappas", "reliabilities"), measure_agreement),
    _one_table("contradictions", count_contradictions),
    _one_table("attribute_agreement", compare_with_attributes),
    _one_table("rule_labels", label_failures),
)
"""All report tables."""


def build_report(lake: Lake, suite: Suite, compare: str = LAST) -> LakePath:
    """Compute the report tables, write them to the lake in place of the former ones, and render the
    page; returns its path. `compare`: the earlier report that the page names changes against
    (`results.choose_base`); raises SuiteError where there is none such.
    """
    snapshot = lake.take_snapshot()
    if compare != LAST:
        with open_warehouse(snapshot, lazy=True) as connection:
            check_base(connection, suite, compare)
    tables = [table for figures in FIGURES for table in figures.tables]
    page = page_path(lake, suite)
    least = suite.report.min_coverage
    benchmarks = list(suite.benchmarks)
    encoder = ImageEncoder(suite.image_root(lake.root), THUMBNAIL_SIDE, kept_bytes=0)
    with (
        open_for(snapshot, suite, lazy=False) as connection,
        filled_folder(page.parent, spared=RUNS) as folder,
        ExitStack() as whole,
        ThreadPoolExecutor(1) as beside,
    ):
        computed = compute_figures(connection, suite, tables)
        _replace_rows(lake, snapshot, suite, computed)
        # the page shows the tables computed from the snapshot, and nothing else that is newer
        shown = snapshot.with_newer(*computed)
        show_newer(connection, shown, tables)
        keep_suite(connection, suite, tables)
        materialise(connection)
        compute_reports(connection)
        exported = folder / "tables"
        exports = beside.submit(write_tables, connection.cursor(), exported, benchmarks, whole)
        keep_results(lake, connection, suite)
        base, run = choose_base(connection, suite, compare), find_newest_run(connection, suite)
        changes = None
        if base is not None:
            keep_paired_changes(lake, connection, shown, suite, base)
            rows = list_changes(connection, suite, base.reported_at)
            others = list_come_and_gone(connection, suite, base.reported_at)
            said = name_come_and_gone(others, {})
            changes = Changes(base.reported_at, base.name, rows, said)
        render_report(
            connection,
            suite.name,
            folder / page.name,
            suite.notice,
            datetime.now(UTC),
            benchmarks,
            least,
            report_views(),
            suite.report.good_enough,
            lambda uri, sha256: encoder.encode(Image(uri, sha256)),
            changes,
            list_pages(page, run),
            partial(rebuild_prompts, shown, suite),
        )
        exports.result()
        whole.close()
        drop_former(exported)
        if run is not None:
            keep_page(page, folder, run)
    if compare != LAST:
        remove_file(marker_path(lake, suite))  # the next report without a wish is built again
        return page
    write_whole(marker_path(lake, suite), name_inputs(snapshot, suite).encode())
    return page


@contextmanager
def open_for(
    snapshot: Snapshot, suite: Suite, *, lazy: bool, keeps_core: bool = True
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to what the suite's report shows of a snapshot, its core tables computed and
    kept, unless the lake cannot be written.
    """
    with (
        own_folder("report") as spill,
        open_warehouse(snapshot, lazy=lazy, alone=True) as connection,
    ):
        bound_memory(connection, Path(spill))
        keep_suite(connection, suite)
        if keeps_core:
            materialise(connection)
        yield connection


def keep_paired_changes(
    lake: Lake,
    connection: duckdb.DuckDBPyConnection,
    snapshot: Snapshot,
    suite: Suite,
    base: Base,
) -> None:
    """Test what is not as the report `base` said on the answers that were scored both times; the
    rows go into the lake, where the base is of it, and to those that the connection sees.
    """
    reported_at = find_newest_report(connection, suite)
    if is_paired(connection, base.reported_at, reported_at):
        return
    of_base = snapshot if base.folder is None else open_lake(base.folder).take_snapshot()
    with own_folder("report") as spill, open_warehouse(of_base, lazy=True, alone=True) as then:
        bound_memory(then, Path(spill))
        go_back(then, base.made_at or base.reported_at)
        keep_suite(then, suite)
        rows = pair_changes(connection, then, suite, base.reported_at, reported_at)
    show_rows(connection, "paired_changes", rows)
    if base.folder is None and not rows.is_empty():
        append_rows(lake, "paired_changes", rows)


def compute_figures(
    connection: duckdb.DuckDBPyConnection, suite: Suite, tables: Collection[str]
) -> dict[str, pl.DataFrame]:
    """Report table -> its rows of this suite: these tables, and what is computed with them."""
    return {
        table: frame
        for figures in FIGURES
        if not {*tables}.isdisjoint(figures.tables)
        for table, frame in figures.compute(connection, suite).items()
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
