"""`judgelake sql`: read-only SQL over a lake: one query, a recipe, or a prompt. The list of tables,
views and recipes is `tasks.warehouse.catalog`.
"""

import argparse
import csv
import functools
import io
import itertools
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from judgelake.tasks.errors import QueryError, show_controls
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.warehouse.catalog import (
    CatalogLine,
    find_recipe,
    list_all,
    markdown_line,
    plain_cell,
    quote_formula,
    show_json,
)
from judgelake.tasks.warehouse.reading import refuse_writing
from judgelake.tasks.warehouse.warehouse import open_warehouse, renew

_TABLE_ROWS = 1000
"""The most rows that the format `table` shows."""
_NAME_WIDTH = 30
"""Columns for a name in the list."""
_HIDDEN = re.compile(r"columns \(\d+ shown\)\s*$")
"""How duckdb ends a table of which it left out columns."""
_TABLES = (
    "select table_name from information_schema.tables where not "
    "regexp_matches(table_name, '^(empty|raw)_') order by 1;"
)
# rows fetched at a time, which bounds memory
_BATCH_ROWS = 10_000


def run_query(options: argparse.Namespace) -> int:
    """Answer one query or recipe, or queries at a prompt, or list tables, views and recipes;
    returns the exit code.
    """
    if options.set and options.recipe is None:
        raise QueryError(
            f"sql: --set {options.set[0]!r} has no recipe; expected --recipe NAME beside it; "
            f"see judgelake sql --list"
        )
    if options.list:
        _list_all(options.format)
        return 0
    connection = open_warehouse(open_lake(options.lake), sealed=True)
    if options.recipe is not None:
        answer_recipe(connection, options.recipe, options.set, options.format)
        return 0
    query = _read_file(options.file) if options.file else options.query
    if query is None:
        return _prompt(connection, options.format)
    answer(connection, query, options.format)
    return 0


def answer(connection: duckdb.DuckDBPyConnection, query: str, form: str) -> None:
    """Print the result of each statement in `query`; raises QueryError for one that fails or would
    write.
    """
    try:
        for statement in connection.extract_statements(query):
            refuse_writing(connection, statement)
            _print_answer(connection, _bare(statement.query), None, form)
    except duckdb.Error as error:
        raise QueryError(f"sql: {error}") from None


def select_table(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, object]
) -> pa.Table:
    """The rows of one statement; raises QueryError where it fails, would write, or is not one."""
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1:
            raise QueryError(
                f"sql: {len(statements)} statements; expected one; ask them one after the other"
            )
        refuse_writing(connection, statements[0])
        relation = connection.sql(_bare(query), params=dict(parameters) or None)
        return relation.to_arrow_table()
    except duckdb.Error as error:
        raise QueryError(f"sql: {error}") from None


def answer_recipe(
    connection: duckdb.DuckDBPyConnection, name: str, given: Sequence[str], form: str
) -> None:
    """Print the rows of a recipe; `given` are its options as `name=value`."""
    recipe = find_recipe(name)
    try:
        _print_answer(connection, recipe.text, recipe.fill_options(given), form)
    except duckdb.Error as error:
        raise QueryError(f"sql: the recipe {name}: {error}") from None


def _print_answer(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    options: Mapping[str, object] | None,
    form: str,
) -> None:
    """Print the answer. Where part files of the snapshot are gone, query the lake as it is now: a
    prompt may stay open for long.
    """
    try:
        _try_printing(connection, text, options, form)
    except duckdb.IOException:
        if not renew(connection):
            raise
        sys.stderr.write(
            "judgelake: part files were replaced since the lake was opened: it is read anew\n"
        )
        _try_printing(connection, text, options, form)


def _try_printing(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    options: Mapping[str, object] | None,
    form: str,
) -> None:
    relation = connection.sql(text, params=dict(options) if options else None)
    if relation is not None:
        _FORMATS[form](relation)


def _list_all(form: str) -> None:
    """Print tables, views and recipes; this needs no lake."""
    if form == "table":
        sys.stdout.writelines(_describe(line) for line in list_all())
        return
    rows = pl.DataFrame(list_all(), schema=CatalogLine._fields, orient="row")
    with duckdb.connect() as connection:
        _FORMATS[form](connection.from_arrow(rows.to_arrow()))


def _describe(line: CatalogLine) -> str:
    """One line of the list as text as wide as the terminal, with room for every name."""
    options = f" ({line.options})" if line.options else ""
    indent = " " * (len("recipe ") + _NAME_WIDTH)
    width = max(shutil.get_terminal_size((160, 40)).columns, len(indent) + _NAME_WIDTH)
    head = f"{line.kind:7}{line.name:{_NAME_WIDTH}}"
    return textwrap.fill(f"{head}{line.says}{options}", width, subsequent_indent=indent) + "\n"


def _bare(query: str) -> str:
    """A statement without its semicolon and what follows: duckdb shows a relation as a subquery,
    where a semicolon is an error.
    """
    text = query.encode()
    code = [
        place for place, kind in duckdb.tokenize(query) if kind != duckdb.token_type.comment
    ]  # places count bytes
    return text[: code[-1]].decode() if code and text[code[-1] :].startswith(b";") else query


def _read_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(
            f"{file}: cannot be read ({error}); expected a file of SQL; check the path"
        ) from None


def _prompt(connection: duckdb.DuckDBPyConnection, form: str) -> int:
    """Read statements up to a semicolon until end of input; `.tables` lists tables and views.
    Piped input gets no prompt.
    """
    import readline  # noqa: F401  # line editing and history for input()

    lines: list[str] = []
    while True:
        try:
            line = _ask("   ...> " if lines else "judgelake> ")
        except EOFError:
            if lines:
                _answer_kindly(connection, "\n".join(lines), form)
            return 0
        except KeyboardInterrupt:
            lines.clear()
            sys.stdout.write("\n")
            continue
        if not lines and line.strip() in (".quit", ".exit"):
            return 0
        lines.append(_TABLES if not lines and line.strip() == ".tables" else line)
        if lines[-1].rstrip().endswith(";"):
            _answer_kindly(connection, "\n".join(lines), form)
            lines.clear()


def _ask(prompt: str) -> str:
    if not sys.stdin.isatty():
        return input()
    try:
        return input(prompt)
    except EOFError:
        sys.stdout.write("\n")
        raise


def _answer_kindly(connection: duckdb.DuckDBPyConnection, query: str, form: str) -> None:
    try:
        answer(connection, query, form)
    except QueryError as error:
        sys.stderr.write(f"{error}\n")


def _print_table(relation: duckdb.DuckDBPyRelation) -> None:
    """A table where all columns fit into the terminal, if need be with rounded numbers; else each
    row as lines of a name and a value. No column is left out.
    """
    width = shutil.get_terminal_size((160, 40)).columns
    text = _draw_table(relation, width)
    if _HIDDEN.search(text) and len(set(relation.columns)) == len(relation.columns):
        text = _draw_table(relation.project(", ".join(map(_rounded, relation.columns))), width)
    if _HIDDEN.search(text):
        _print_records(relation, width)
    else:
        sys.stdout.write(text)


def _draw_table(relation: duckdb.DuckDBPyRelation, width: int) -> str:
    shown = io.StringIO()
    with redirect_stdout(shown):
        relation.show(max_rows=_TABLE_ROWS, max_width=width)
    # duckdb shows those below U+0020 itself, in the width of the cell
    return show_controls(shown.getvalue())


def _rounded(name: str) -> str:
    """A column for display, numbers with a fraction to four digits."""
    quoted = '"' + name.replace('"', '""') + '"'
    is_fraction = f"typeof({quoted}) in ('DOUBLE', 'FLOAT')"
    short = f"printf('%.4g', try_cast({quoted} as double))"
    return f"case when {is_fraction} then {short} else {quoted}::varchar end as {quoted}"


def _print_records(relation: duckdb.DuckDBPyRelation, width: int) -> None:
    room = max(map(len, relation.columns)) + 2
    rows = relation.limit(_TABLE_ROWS + 1).fetchall()
    for number, row in enumerate(rows[:_TABLE_ROWS], 1):
        sys.stdout.write(f"-- row {number}\n")
        for name, value in zip(relation.columns, row, strict=True):
            cell = "NULL" if value is None else str(plain_cell(value)) or "''"
            line = textwrap.fill(
                f"{name:{room}}{cell}", max(width, 2 * room), subsequent_indent=" " * room
            )
            sys.stdout.write(f"{line}\n")
    more = f", the first {_TABLE_ROWS:,} shown" if len(rows) > _TABLE_ROWS else ""
    sys.stdout.write(f"{len(rows[:_TABLE_ROWS]):,} rows{more}\n")


class _UnixLines:
    """Writes the lines of csv to standard output with a line feed at the end. The csv writer itself
    ends them in CR LF, because then it also quotes cells with a lone carriage return; Python before
    3.13 does not do so otherwise.
    """

    def write(self, line: str) -> int:
        return sys.stdout.write(line.removesuffix("\r\n") + "\n")


def _print_csv(relation: duckdb.DuckDBPyRelation, *, is_raw: bool = False) -> None:
    """Text that a spreadsheet takes for a formula gets an apostrophe before it, and control
    characters are shown, unless `is_raw`.
    """
    writer = csv.writer(_UnixLines(), lineterminator="\r\n")
    rows = iter(relation.iter_rows(_BATCH_ROWS))
    first = next(
        rows, None
    )  # an error here comes before the first printed line, so it can be retried
    writer.writerow(relation.columns)
    try:
        for row in itertools.chain([] if first is None else [first], rows):
            cells = (
                value if is_raw and isinstance(value, str) else quote_formula(plain_cell(value))
                for value in row
            )
            writer.writerow(cells)
    except duckdb.IOException as error:
        raise QueryError(f"sql: only a part of the rows is printed: {error}; run again") from None


def _print_json(relation: duckdb.DuckDBPyRelation) -> None:
    names = _distinct_names(relation)
    rows = [dict(zip(names, row, strict=True)) for row in relation.fetchall()]
    sys.stdout.write(f"{show_json(rows, indent=1)}\n")


def _print_markdown(relation: duckdb.DuckDBPyRelation) -> None:
    sys.stdout.write(
        markdown_line(relation.columns) + markdown_line(["---"] * len(relation.columns))
    )
    for row in relation.fetchall():
        sys.stdout.write(markdown_line([plain_cell(value) for value in row]))


def _print_parquet(relation: duckdb.DuckDBPyRelation) -> None:
    _distinct_names(relation)
    pq.write_table(relation.to_arrow_table(), sys.stdout.buffer, compression="zstd")


def _distinct_names(relation: duckdb.DuckDBPyRelation) -> list[str]:
    """The columns' names, for formats in which a name stands for one column."""
    names = list(relation.columns)
    for name in names:
        if names.count(name) > 1:
            raise QueryError(
                f"sql: two columns are named {name!r}; expected distinct names; write `as` "
                f"with another name"
            )
    return names


_FORMATS: Mapping[str, Callable[[duckdb.DuckDBPyRelation], None]] = {
    "table": _print_table,
    "csv": _print_csv,
    "csv-raw": functools.partial(_print_csv, is_raw=True),
    "json": _print_json,
    "markdown": _print_markdown,
    "parquet": _print_parquet,
}
