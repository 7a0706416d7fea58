"""`judgelake paper`: a table or figure of one of the papers from a lake, beside the paper's
numbers.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from judgelake.flows.sql_formats import terminal_width
from judgelake.flows.sql_table import show_records
from judgelake.tasks.errors import ExitCode, LakeError, QueryError
from judgelake.tasks.papers.cells import FilledTable, Found, fill_table
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
        for place, table in enumerate(tables):
            sys.stdout.write("\n" if place else "")
            sys.stdout.write(_write(connection, table, options.format))
    return ExitCode.DONE


def ask_table(connection: "duckdb.DuckDBPyConnection", table: PaperTable) -> FilledTable:
    """The table with what the lake of the connection gives."""
    rows = _ask(connection, table).fetchall()
    return fill_table(table, (Found(*row) for row in rows))


def _choose(options: argparse.Namespace) -> tuple[PaperTable, ...]:
    if options.paper is None:
        papers = list_papers()
        raise QueryError(
            f"paper: no paper is named; expected one of {', '.join(papers)}, or --list; write "
            f"judgelake paper {next(iter(papers))}"
        )
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
        answer = _ask(connection, table)
        names = [column[0] for column in answer.description or ()]
        rows = answer.fetchall()
        if form == "text":
            shown = show_records(names, rows, terminal_width()) if rows else "nothing in the lake\n"
            return f"{say_above(table, terminal_width())}\n\n{shown}"
        return write_list(table, names, rows, form)
    filled = ask_table(connection, table)
    if form == "svg":
        from judgelake.tasks.papers.drawings import draw_figure  # imports matplotlib

        return draw_figure(filled)
    return write_text(filled, terminal_width()) if form == "text" else LAYOUTS[form](filled)


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
