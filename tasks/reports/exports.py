"""Every report view as files beside the page: `tables/<view>.parquet`, `.csv` and `.md`, the rows
of the suite's benchmarks.

The page shows a choice of these tables (`tasks.reports.page.sections`). A view is computed once,
into Parquet; the other files are made of that. Rows stream from file to file, so that a view larger
than memory can be exported.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from judgelake.tasks.digests import digest_json, digest_packages
from judgelake.tasks.errors import CONTROLS, QueryError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.storage import LakePath, has_file, read_file, whole_file
from judgelake.tasks.suite.kept import KeptSuite
from judgelake.tasks.warehouse.catalog import FORMULA_SIGNS, markdown_line, plain_cell
from judgelake.tasks.warehouse.views import quote_text, read_header, view_texts

if TYPE_CHECKING:
    from judgelake.tasks.suite.suite import Suite

FORMATS = ("parquet", "csv", "md")
# rows of a Markdown table; a longer one is no longer read by people
MARKDOWN_ROWS = 1000
_INSTANT = "%Y-%m-%dT%H:%M:%S.%fZ"
# the first sign of what a spreadsheet takes for a formula
_FORMULA = f"^([{re.escape(''.join(FORMULA_SIGNS))}])"
_QUOTED = r"'\1"
_NESTED = ("STRUCT", "MAP")
# letter by letter, for `regexp_replace` computes nothing, where a text has a control character
_WIDE = r"\u{:04x}"
_SHOWN = """
    case
        when regexp_matches({text}, {controls}) then list_aggregate(
            list_transform(
                string_split({text}, ''),
                lambda sign: case
                    when regexp_full_match(sign, {controls})
                        then format(if(unicode(sign) < 256, {form}, {wide}), unicode(sign))
                    else sign
                end
            ),
            'string_agg', ''
        )
        else {text}
    end
"""


def report_views() -> list[str]:
    """The views that are exported, by name."""
    return sorted(name for name in view_texts() if name.startswith("rpt_"))


def write_tables(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    benchmarks: Sequence[str],
    whole: contextlib.ExitStack,
) -> None:
    """Write each report view's rows of `benchmarks` beside their files in `folder`, which they
    replace, each whole, when `whole` is closed; none where it ends with an error.
    """
    names = report_views()
    columns = _list_columns(connection, names)
    with duckdb.connect() as files:
        parquet, csv, markdown = (
            {name: whole.enter_context(whole_file(folder / f"{name}.{form}")) for name in names}
            for form in FORMATS
        )
        # all at once: the page is made meanwhile, and a thread that comes back to Python from
        # each statement waits for its turn there
        copies = {
            name: f"copy (select * from {name} {_choose(columns[name], benchmarks)} order by all) "
            f"to {quote_text(parquet[name])} (format parquet, compression zstd)"
            for name in names
        }
        _execute_all(connection, copies)
        # a connection of its own keeps the order of a file's rows
        files.execute("set time zone 'UTC'")
        rows = {name: f"from read_parquet({quote_text(parquet[name])})" for name in names}
        copies = {
            name: f"copy (select {_as_text(columns[name], for_spreadsheets=True)} {rows[name]}) "
            f"to {quote_text(csv[name])} (format csv, header)"
            for name in names
        }
        _execute_all(files, copies)
        counts = _count_rows(files, parquet)
        for name in names:
            select = f"select {_as_text(columns[name])} {rows[name]}"
            with markdown[name].open("w", encoding="utf-8") as file:
                file.writelines(
                    _write_markdown(name, files, [*columns[name]], select, counts[name])
                )


def drop_former(folder: Path) -> None:
    """Delete the files of views that no longer exist."""
    kept = {f"{name}.{form}" for name in report_views() for form in FORMATS}
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()


def _list_columns(
    connection: duckdb.DuckDBPyConnection, views: Sequence[str]
) -> dict[str, dict[str, str]]:
    """View -> its columns, in their order -> their types."""
    found: dict[str, dict[str, str]] = {name: {} for name in views}
    listing = (
        "select table_name, column_name, data_type from duckdb_columns() "
        "where schema_name = 'main' and list_contains($views, table_name) order by column_index"
    )
    for view, column, kind in connection.execute(listing, {"views": list(views)}).fetchall():
        found[view][column] = kind
    return found


def _execute_all(connection: duckdb.DuckDBPyConnection, statements: Mapping[str, str]) -> None:
    """View -> the statement that exports it; raises QueryError that names the view that cannot."""
    try:
        connection.execute(";".join(statements.values()))
    except duckdb.Error:
        for name, statement in statements.items():  # which one it was
            try:
                connection.execute(statement)
            except duckdb.Error as error:
                raise QueryError(f"{name}: cannot be exported: {error}") from None


def _count_rows(
    connection: duckdb.DuckDBPyConnection, parquet: Mapping[str, Path]
) -> dict[str, int]:
    files = {"files": [str(file) for file in parquet.values()]}
    text = "select file_name, num_rows from parquet_file_metadata($files)"
    counts = dict(connection.execute(text, files).fetchall())
    return {name: counts[str(file)] for name, file in parquet.items()}


def _choose(types: Mapping[str, str], benchmarks: Sequence[str]) -> str:
    """The rows of these benchmarks and of all together (`*`); all rows of a view without
    benchmarks.
    """
    if "benchmark" not in types:
        return ""
    return f"where benchmark in ({', '.join(map(quote_text, (*benchmarks, '*')))})"


def _as_text(types: Mapping[str, str], *, for_spreadsheets: bool = False) -> str:
    """The columns, with nested values as JSON and instants in ISO 8601, UTC; for spreadsheets, text
    that they take for a formula has an apostrophe before it, and control characters are shown.
    """
    return ", ".join(
        f'{_text_of(name, kind, for_spreadsheets=for_spreadsheets)} as "{name}"'
        for name, kind in types.items()
    )


def _text_of(name: str, kind: str, *, for_spreadsheets: bool) -> str:
    if kind.endswith("]") or kind.startswith(_NESTED):
        text = f'to_json("{name}")'
        return _show_controls(f"{text}::varchar", _WIDE) if for_spreadsheets else text
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"strftime(\"{name}\", '{_INSTANT}')"
    if for_spreadsheets and kind == "VARCHAR":
        quoted = f'regexp_replace("{name}", {quote_text(_FORMULA)}, {quote_text(_QUOTED)})'
        return _show_controls(quoted, r"\x{:02x}")
    return f'"{name}"'


def _show_controls(text: str, form: str) -> str:
    """The SQL of `text` in which each control character is written in a `form` of its number."""
    return _SHOWN.format(
        text=text, controls=quote_text(CONTROLS), form=quote_text(form), wide=quote_text(_WIDE)
    )


def _write_markdown(
    name: str,
    connection: duckdb.DuckDBPyConnection,
    columns: Sequence[str],
    select: str,
    n_rows: int,
) -> Iterator[str]:
    """A heading with the view's grain, the first rows, and how many there are where that is not
    all.
    """
    text = f"{select} limit {MARKDOWN_ROWS}"
    rows = connection.execute(text).fetchall() if n_rows else []
    yield f"# {name}\n\n{read_header(view_texts()[name])['grain']}\n\n"
    if n_rows > MARKDOWN_ROWS:
        yield (
            f"The first {MARKDOWN_ROWS:,} of {n_rows:,} rows; all of them are in `{name}.csv` "
            f"and `{name}.parquet`.\n\n"
        )
    yield markdown_line(columns)
    yield markdown_line(["---"] * len(columns))
    for row in rows:
        yield markdown_line(
            [f"{cell:.6g}" if isinstance(cell, float) else plain_cell(cell) for cell in row]
        )


_READ_BY_REPORTS = (
    "items",
    "answers",
    "human_ratings",
    "ingests",
    "quarantine",
    "judges",
    "trainings",
    "cases",
    "verdicts",
    "duels",
    "metric_scores",
)
_MAKE_REPORTS = (
    "judgelake.schemas",
    "judgelake.sql",
    "judgelake.tasks.reports",
    "judgelake.tasks.stats",
    "judgelake.tasks.failures.rules",
    "judgelake.tasks.failures.wordnet",
)
"""The packages and modules whose code, SQL, template and style a report follows from: a change of
them makes every report anew.
"""


def page_path(lake: Lake, suite: "Suite | KeptSuite") -> LakePath:
    """The folder of the suite's report."""
    return lake.root / "reports" / suite.name / "report.html"


def marker_path(lake: Lake, suite: "Suite | KeptSuite") -> LakePath:
    """The file that names the report's inputs."""
    return page_path(lake, suite).with_name("made_from")


def is_fresh(lake: Lake, suite: "Suite", snapshot: Snapshot | None = None) -> bool:
    """Whether the report was built from this suite and this snapshot (none: the lake as it is)."""
    inputs = name_inputs(snapshot or lake.take_snapshot(*_READ_BY_REPORTS), suite)
    return has_file(page_path(lake, suite)) and has_figures(lake, suite, inputs)


def has_figures(lake: Lake, suite: "Suite | KeptSuite", inputs: str) -> bool:
    """Whether the suite's last report was made from what `name_inputs` named so."""
    return read_file(marker_path(lake, suite)) == inputs.encode()


def name_inputs(snapshot: Snapshot, suite: "Suite | KeptSuite") -> str:
    """A digest of all that a report is made from and by: the names of part files hold their digest
    in their names.
    """
    parts = [part for parts in snapshot.list_parts(*_READ_BY_REPORTS).values() for part in parts]
    code = digest_packages(*_MAKE_REPORTS)
    return digest_json([code, suite.digest, sorted(suite.benchmarks), suite.raters, parts])
