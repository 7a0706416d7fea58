"""Answers of `judgelake sql`: statements and recipes asked of a lake, each refused unless it only
reads.
"""

import contextlib
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import duckdb

from judgelake.flows.sql_formats import write_rows
from judgelake.tasks.errors import QueryError
from judgelake.tasks.reports.live import Say, make_figures
from judgelake.tasks.warehouse.catalog import find_recipe
from judgelake.tasks.warehouse.reading import refuse_writing
from judgelake.tasks.warehouse.warehouse import renew

if TYPE_CHECKING:
    import pyarrow as pa

_INTERRUPTED = "Query interrupted"
"""What duckdb says in a RuntimeError where Ctrl-C ended a query."""


def answer(
    connection: duckdb.DuckDBPyConnection, query: str, form: str, out: TextIO | None = None
) -> None:
    """Write the result of each statement in `query` to `out` (None: standard output); raises
    QueryError for one that fails or would write.
    """
    with _explained("sql"):
        for statement in connection.extract_statements(query):
            refuse_writing(connection, statement)
            text = _bare(statement.query)
            _write_answer(connection, text, {}, form, out or sys.stdout, shown=text)


def answer_recipe(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    given: Sequence[str],
    form: str,
    out: TextIO | None = None,
) -> None:
    """Write the rows of a recipe; `given` are its options as `name=value`."""
    recipe = find_recipe(name)
    options = recipe.fill_options(given)
    with _explained(f"sql: the recipe {name}"):
        about = " ".join(recipe.about)
        _write_answer(connection, recipe.text, options, form, out or sys.stdout, shown=about)


def select_table(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, object]
) -> "pa.Table":
    """The rows of one statement; raises QueryError where it fails, would write, or is not one."""
    with _explained("sql"):
        return _select(connection, query, parameters).to_arrow_table()


class FirstRows(NamedTuple):
    """The first rows of an answer; `notes`: what was said meanwhile."""

    columns: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]
    notes: list[str]


def select_first(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, object], most: int
) -> FirstRows:
    """At most `most` rows of one statement; raises QueryError as `select_table` does."""
    notes: list[str] = []
    with _explained("sql"):
        relation = _select(connection, query, parameters, notes.append)
        rows = list(itertools.islice(relation.iter_rows(most), most))
        return FirstRows(relation.columns, list(map(str, relation.types)), rows, notes)


def write_answer(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Mapping[str, object],
    form: str,
    out: TextIO,
) -> None:
    """Write all rows of one statement; raises QueryError as `select_table` does."""
    with _explained("sql"):
        write_rows(_select(connection, query, parameters), form, out)


def _select(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Mapping[str, object],
    say: Say = lambda _: None,
) -> duckdb.DuckDBPyRelation:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise QueryError(
            f"sql: {len(statements)} statements; expected one; ask them one after the other"
        )
    refuse_writing(connection, statements[0])
    make_figures(connection, query, say)
    return connection.sql(_bare(query), params=dict(parameters) or None)


@contextlib.contextmanager
def _explained(where: str) -> Iterator[None]:
    """Errors of duckdb as QueryError, Ctrl-C as what it is."""
    try:
        yield
    except duckdb.Error as error:
        from judgelake.tasks.warehouse.functions import explain  # imports numpy

        raise QueryError(f"{where}: {explain(error)}") from None
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from None
        raise


def _write_answer(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    options: Mapping[str, object],
    form: str,
    out: TextIO,
    *,
    shown: str,
) -> None:
    """Write the answer; a table has the columns that `shown` names. Where part files of the
    snapshot are gone, query the lake as it is now: a prompt may stay open for long.
    """
    try:
        _try_writing(connection, text, options, form, out, shown=shown)
    except duckdb.IOException:
        if not renew(connection):
            raise
        _say("part files were replaced since the lake was opened: it is read anew")
        _try_writing(connection, text, options, form, out, shown=shown)


def _try_writing(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    options: Mapping[str, object],
    form: str,
    out: TextIO,
    *,
    shown: str,
) -> None:
    make_figures(connection, text, _say)
    relation = connection.sql(text, params=dict(options) if options else None)
    if relation is not None:
        write_rows(relation, form, out, shown)


def _say(line: str) -> None:
    sys.stderr.write(f"judgelake: {line}\n")


def _bare(query: str) -> str:
    """A statement without its semicolon and what follows: duckdb shows a relation as a subquery,
    where a semicolon is an error.
    """
    text = query.encode()
    code = [
        place for place, kind in duckdb.tokenize(query) if kind != duckdb.token_type.comment
    ]  # places count bytes
    return text[: code[-1]].decode() if code and text[code[-1] :].startswith(b";") else query
