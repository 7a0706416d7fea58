"""`judgelake paper`: tables and figures of the papers from a lake, beside the papers' numbers."""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from judgelake.flows.sql_formats import terminal_width
from judgelake.flows.sql_table import show_records
from judgelake.tasks.errors import ExitCode, LakeError, QueryError
from judgelake.tasks.papers.cells import FilledTable, Found, ListedCases, fill_table
from judgelake.tasks.papers.layouts import LAYOUTS, say_above, write_list, write_text
from judgelake.tasks.papers.registry import PaperTable, find_paper, find_table, list_papers

if TYPE_CHECKING:
    import duckdb


def run_paper(options: argparse.Namespace) -> int:
    """Print what the options name, or list what there is; returns the exit code."""
    if options.list:
        _list_all(options)
        return ExitCode.DONE
    tables = _choose(options)
    with _open(options.lake) as connection:
        if options.format == "html":
            text = write_page(connection, tables)
        else:
            text = "\n".join(_write(connection, table, options.format) for table in tables)
    if options.output is None:
        sys.stdout.write(text)
    else:
        _save(options.output, text)
    return ExitCode.DONE


def write_page(connection: "duckdb.DuckDBPyConnection", tables: Sequence[PaperTable]) -> str:
    """The tables and figures as one page of HTML, from the lake of the connection."""
    from judgelake.tasks.papers.page import render_page  # imports jinja2

    shown = [
        list_cases(connection, table) if table.is_list else ask_table(connection, table)
        for table in tables
    ]
    return render_page(shown, datetime.now(UTC))


def list_cases(connection: "duckdb.DuckDBPyConnection", table: PaperTable) -> ListedCases:
    """The rows of a table of single cases that the lake of the connection gives."""
    answer = _ask(connection, table)
    names = [column[0] for column in answer.description or ()]
    return ListedCases(table, names, answer.fetchall())


def ask_table(connection: "duckdb.DuckDBPyConnection", table: PaperTable) -> FilledTable:
    """The table with what the lake of the connection gives."""
    rows = _ask(connection, table).fetchall()
    return fill_table(table, (Found(*row) for row in rows))


def _choose(options: argparse.Namespace) -> tuple[PaperTable, ...]:
    papers = list_papers()
    if options.paper is None and not options.all:
        raise QueryError(
            f"paper: no paper is named; expected one of {', '.join(papers)}, or --list or --all; "
            f"write judgelake paper {next(iter(papers))}"
        )
    if options.all and (options.paper is not None or options.format == "svg"):
        given = repr(options.paper) if options.paper else "--format svg"
        raise QueryError(
            f"paper: --all and {given}; expected all papers in a format for many tables, or one "
            f"paper; leave one of them out"
        )
    if options.all:
        return tuple(table for paper in papers.values() for table in paper.contents)
    paper = find_paper(options.paper)
    chosen = (
        tuple(
            find_table(paper, kind, number)
            for kind, number in (("table", options.table), ("figure", options.figure))
            if number is not None
        )
        or paper.contents
    )
    if options.format == "svg" and (len(chosen) != 1 or chosen[0].kind != "figure"):
        raise QueryError(
            f"paper: svg is a drawing of one figure; expected --figure N "
            f"({', '.join(map(str, paper.figures)) or 'none here'}); add it, or take another format"
        )
    return chosen


def _ask(connection: "duckdb.DuckDBPyConnection", table: PaperTable) -> "duckdb.DuckDBPyConnection":
    from judgelake.tasks.reports.live import make_figures
    from judgelake.tasks.warehouse.warehouse import run_sql

    make_figures(connection, table.text, _say)
    return run_sql(connection, table.text, f"papers/{table.query}.sql")


def _open(lake: str) -> "duckdb.DuckDBPyConnection":
    from judgelake.tasks.lake.lake import open_lake
    from judgelake.tasks.warehouse.warehouse import open_warehouse

    return open_warehouse(open_lake(lake), sealed=True, lazy=True)


def _write(connection: "duckdb.DuckDBPyConnection", table: PaperTable, form: str) -> str:
    if table.is_list:
        _, names, rows = list_cases(connection, table)
        if form == "text":
            shown = show_records(names, rows, terminal_width()) if rows else "nothing in the lake\n"
            return f"{say_above(table, terminal_width())}\n\n{shown}"
        return write_list(table, names, rows, form)
    filled = ask_table(connection, table)
    if form == "svg":
        from judgelake.tasks.papers.drawings import draw_figure  # imports matplotlib

        return draw_figure(filled)
    return write_text(filled, terminal_width()) if form == "text" else LAYOUTS[form](filled)


def _save(file: Path, text: str) -> None:
    from judgelake.tasks.lake.storage import replacement

    try:
        with replacement(file) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise QueryError(
            f"paper: {file} cannot be written ({error.strerror}); expected a file in a writable "
            f"folder; name another"
        ) from error


def _list_all(options: argparse.Namespace) -> None:
    """A line or two for each table and figure: what it shows, its suite, and how many of its cells
    the lake has; the last is left out without a lake.
    """
    papers = [find_paper(options.paper)] if options.paper else list_papers().values()
    connection: duckdb.DuckDBPyConnection | None
    try:
        connection = _open(options.lake)
    except LakeError:
        connection = None
    for paper in papers:
        sys.stdout.write(f"{paper.name}: {paper.title}\n")
        sys.stdout.write("".join(_describe(connection, table) for table in paper.contents))


def _describe(connection: "duckdb.DuckDBPyConnection | None", table: PaperTable) -> str:
    held = "" if connection is None else _count(connection, table)
    return (
        f"  {table.kind:<6} {table.number:<3} {table.caption}\n"
        + f"{'':13}{table.suite}  {held}".rstrip()
        + "\n"
    )


def _count(connection: "duckdb.DuckDBPyConnection", table: PaperTable) -> str:
    if table.is_list:
        return f"{len(_ask(connection, table).fetchall())} rows"
    filled = ask_table(connection, table)
    return f"{filled.n_filled} of {filled.n_cells} cells"


def _say(line: str) -> None:
    sys.stderr.write(f"judgelake: {line}\n")
