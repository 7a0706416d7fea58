"""`judgelake sql`: read-only SQL over a lake: one query, a recipe, or a prompt. The list of tables,
views and recipes is `tasks.warehouse.catalog`.
"""

import argparse
import sys
import time
from pathlib import Path

import duckdb

from judgelake.flows.sql_answers import answer, answer_recipe
from judgelake.flows.sql_formats import FOR_PEOPLE, terminal_width, write_rows
from judgelake.flows.sql_shell import Shell
from judgelake.flows.sql_table import show_terms
from judgelake.tasks.errors import QueryError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.warehouse.catalog import CatalogLine, list_all
from judgelake.tasks.warehouse.warehouse import open_warehouse

_NAME_WIDTH = 38
"""Columns for a kind and a name in the list."""
_CLEAR = "\x1b[H\x1b[2J"
"""Empties a terminal."""


def run_query(options: argparse.Namespace) -> int:
    """Answer one query or recipe, once or again and again, or queries at a prompt, or list tables,
    views and recipes; returns the exit code.
    """
    _check_options(options)
    if options.list:
        _list_all(options.format)
        return 0
    query = _read_file(options.file) if options.file else options.query
    if query is None and options.recipe is None:
        lake = open_lake(options.lake)
        return Shell(open_warehouse(lake, sealed=True, lazy=True), lake.root, options.format).run()
    if options.watch is None:
        _answer_once(options, query)
        return 0
    return _watch(options, query)


def _check_options(options: argparse.Namespace) -> None:
    if options.set and options.recipe is None:
        raise QueryError(
            f"sql: --set {options.set[0]!r} has no recipe; expected --recipe NAME beside it; "
            f"see judgelake sql --list"
        )
    if options.watch is not None and not (options.query or options.file or options.recipe):
        raise QueryError(
            "sql: --watch has nothing to repeat; expected a query, -f FILE or --recipe NAME beside "
            "it; add one"
        )


def _answer_once(options: argparse.Namespace, query: str | None) -> None:
    """Ask the lake as it is now."""
    lake = open_lake(options.lake)
    with open_warehouse(lake, sealed=True, lazy=True) as connection:
        if query is None:
            answer_recipe(connection, options.recipe, options.set, options.format)
        elif query.lstrip().startswith("."):
            Shell(connection, lake.root, options.format).run_command(query.strip())
        else:
            answer(connection, query, options.format)


def _watch(options: argparse.Namespace, query: str | None) -> int:
    """Ask every `--watch` seconds until Ctrl-C; a terminal shows the last answer alone."""
    try:
        while True:
            if sys.stdout.isatty():
                sys.stdout.write(f"{_CLEAR}every {options.watch:g} s; Ctrl-C ends\n")
            _answer_once(options, query)
            sys.stdout.flush()
            time.sleep(options.watch)
    except KeyboardInterrupt:
        return 0


def _list_all(form: str) -> None:
    """Print recipes, tables, views and checks; this needs no lake."""
    if form in FOR_PEOPLE:
        terms = ((f"{line.kind:7}{line.name}", _say(line)) for line in list_all())
        sys.stdout.write(show_terms(terms, terminal_width(), _NAME_WIDTH))
        return
    columns = dict(zip(CatalogLine._fields, map(list, zip(*list_all(), strict=True)), strict=True))
    text = ", ".join(f"unnest(${name}) as {name}" for name in columns)
    with duckdb.connect() as connection:
        write_rows(connection.sql(f"select {text}", params=columns), form, sys.stdout)


def _say(line: CatalogLine) -> str:
    return f"{line.says} ({line.options})" if line.options else line.says


def _read_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(
            f"{file}: cannot be read ({error}); expected a file of SQL; check the path"
        ) from None
