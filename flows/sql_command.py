"""`judgelake sql`: read-only SQL over a lake, once or at a prompt. What views there are is `sql/`."""

import argparse
import csv
import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from tasks.errors import QueryError
from tasks.lake import open_lake
from tasks.reports.warehouse import open_warehouse

_TABLE_ROWS = 1000
_READING = ("SELECT", "EXPLAIN", "RELATION", "PRAGMA")


def run_query(options: argparse.Namespace) -> int:
    """Answer one query, or many at a prompt; returns the exit code."""
    connection = open_warehouse(open_lake(options.lake), sealed=True)
    query = _read_file(options.file) if options.file else options.query
    if query is None:
        return _prompt(connection, options.format)
    answer(connection, query, options.format)
    return 0


def answer(connection: duckdb.DuckDBPyConnection, query: str, form: str) -> None:
    """Print the result of each statement in `query`; raises QueryError for one that fails or would write."""
    try:
        for statement in connection.extract_statements(query):
            if statement.type.name not in _READING:
                raise QueryError(
                    f"sql: {statement.type.name.lower()} statements are not allowed; expected SELECT; the lake is read-only"
                )
            relation = connection.sql(statement.query)
            if relation is not None:
                _FORMATS[form](relation)
    except duckdb.Error as error:
        raise QueryError(f"sql: {error}") from None


def _read_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{file}: cannot be read ({error}); expected a file of SQL; check the path") from None


def _prompt(connection: duckdb.DuckDBPyConnection, form: str) -> int:
    """Read statements up to a semicolon until end of input; `.tables` lists what there is."""
    import readline  # noqa: F401  # line editing and history for input()

    lines: list[str] = []
    while True:
        try:
            line = input("   ...> " if lines else "judgelake> ")
        except EOFError:
            sys.stdout.write("\n")
            return 0
        except KeyboardInterrupt:
            lines.clear()
            sys.stdout.write("\n")
            continue
        if not lines and line.strip() in (".quit", ".exit"):
            return 0
        query = "select table_name from information_schema.tables order by 1;" if line.strip() == ".tables" else line
        lines.append(query)
        if query.rstrip().endswith(";"):
            _answer_kindly(connection, "\n".join(lines), form)
            lines.clear()


def _answer_kindly(connection: duckdb.DuckDBPyConnection, query: str, form: str) -> None:
    try:
        answer(connection, query, form)
    except QueryError as error:
        sys.stderr.write(f"{error}\n")


def _print_table(relation: duckdb.DuckDBPyRelation) -> None:
    relation.show(max_rows=_TABLE_ROWS, max_width=shutil.get_terminal_size((160, 40)).columns)


def _print_csv(relation: duckdb.DuckDBPyRelation) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(relation.columns)
    while rows := relation.fetchmany(10_000):
        writer.writerows([["" if value is None else _plain(value) for value in row] for row in rows])


def _print_json(relation: duckdb.DuckDBPyRelation) -> None:
    names = relation.columns
    rows = [dict(zip(names, row, strict=True)) for row in relation.fetchall()]
    json.dump(rows, sys.stdout, ensure_ascii=False, indent=1, default=str)
    sys.stdout.write("\n")


def _print_markdown(relation: duckdb.DuckDBPyRelation) -> None:
    _markdown_line(relation.columns)
    _markdown_line(["---"] * len(relation.columns))
    for row in relation.fetchall():
        _markdown_line(["" if value is None else _plain(value) for value in row])


def _markdown_line(cells: Sequence[object]) -> None:
    escaped = [str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells]
    sys.stdout.write(f"| {' | '.join(escaped)} |\n")


def _print_parquet(relation: duckdb.DuckDBPyRelation) -> None:
    pq.write_table(relation.to_arrow_table(), sys.stdout.buffer, compression="zstd")


def _plain(value: object) -> object:
    """A cell as text a spreadsheet can hold: nested values as JSON."""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict | tuple) else value


_FORMATS: Mapping[str, Callable[[duckdb.DuckDBPyRelation], None]] = {
    "table": _print_table,
    "csv": _print_csv,
    "json": _print_json,
    "markdown": _print_markdown,
    "parquet": _print_parquet,
}
