"""`judgelake paper`: a table of one of the papers from a lake, beside the paper's numbers."""

import argparse
import sys
from typing import TYPE_CHECKING

from judgelake.flows.sql_formats import terminal_width
from judgelake.tasks.errors import ExitCode, QueryError
from judgelake.tasks.papers.cells import FilledTable, Found, fill_table
from judgelake.tasks.papers.layouts import LAYOUTS, write_text
from judgelake.tasks.papers.registry import PaperTable, find_paper, find_table, list_papers

if TYPE_CHECKING:
    import duckdb


def run_paper(options: argparse.Namespace) -> int:
    """Print the table that the options name, or list what there is; returns the exit code."""
    if options.list:
        _list_tables(options)
        return ExitCode.DONE
    if options.paper is None:
        raise QueryError(
            f"paper: no paper is named; expected one of {', '.join(list_papers())}, or --list; "
            f"write judgelake paper {next(iter(list_papers()))}"
        )
    paper = find_paper(options.paper)
    tables = (
        list(paper.tables.values()) if options.table is None else [find_table(paper, options.table)]
    )
    with _open(options.lake) as connection:
        for place, table in enumerate(tables):
            sys.stdout.write("\n" if place else "")
            sys.stdout.write(_write(ask_table(connection, table), options.format))
    return ExitCode.DONE


def ask_table(connection: "duckdb.DuckDBPyConnection", table: PaperTable) -> FilledTable:
    """The table with what the lake of the connection gives."""
    from judgelake.tasks.reports.live import make_figures
    from judgelake.tasks.warehouse.warehouse import run_sql

    make_figures(connection, table.text, _say)
    rows = run_sql(connection, table.text, f"papers/{table.query}.sql").fetchall()
    return fill_table(table, (Found(*row) for row in rows))


def _open(lake: str) -> "duckdb.DuckDBPyConnection":
    from judgelake.tasks.lake.lake import open_lake
    from judgelake.tasks.warehouse.warehouse import open_warehouse

    return open_warehouse(open_lake(lake), sealed=True, lazy=True)


def _write(filled: FilledTable, form: str) -> str:
    return write_text(filled, terminal_width()) if form == "text" else LAYOUTS[form](filled)


def _list_tables(options: argparse.Namespace) -> None:
    """A line a table: what it shows, its suite, and how many of its cells the lake has; without a
    lake, the last is left out.
    """
    from judgelake.tasks.errors import LakeError

    papers = [find_paper(options.paper)] if options.paper else list_papers().values()
    try:
        connection = _open(options.lake)
    except LakeError:
        connection = None
    for paper in papers:
        sys.stdout.write(f"{paper.name}: {paper.title}\n")
        for table in paper.tables.values():
            held = ""
            if connection is not None:
                filled = ask_table(connection, table)
                held = f"{filled.n_filled} of {filled.n_cells} cells"
            sys.stdout.write(f"  table {table.number:<3} {table.caption}\n")
            sys.stdout.write(f"{'':12}{table.suite}  {held}".rstrip() + "\n")


def _say(line: str) -> None:
    sys.stderr.write(f"judgelake: {line}\n")
