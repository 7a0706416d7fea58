"""The views over a lake as text, in the order that they need, and as one DuckDB file that every
connection starts from; what a lake's part files hold is none of this file's subject.

Each file under `sql/` is one select; its name is the view's name. Files in `sql/queries` and
`sql/adhoc` are not views: they take parameters. Files in `sql/functions` are macros, which all
statements may call.

DuckDB binds a view when it is created, with all views below it: seconds for all of them. So they
are created once for each version of the SQL, over tables without rows, and copied from a file in
the cache, which takes a twentieth of a second.
"""

import contextlib
import functools
import graphlib
import itertools
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path

import duckdb

from judgelake.schemas.columns import describe_column
from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import digest_json, digest_packages
from judgelake.tasks.errors import QueryError
from judgelake.tasks.lake.mirror import cache_folder
from judgelake.tasks.lake.storage import replacement
from judgelake.tasks.warehouse.functions import add_functions, macro_texts
from judgelake.tasks.warehouse.staging import derive_grain, derive_views

# A view's name anywhere in SQL.
_REFERENCE = re.compile(r"\b(?:raw|stg|core|rpt|chk)_\w+")
_LAYERED = re.compile(r"(?:empty|raw|stg|core|rpt|chk)_")
_COMMENT = re.compile(r"--[^\n]*")
# `-- <key>: <text>` at the beginning of a SQL file; an option is `option <name> = <default>`.
_KEYED = re.compile(r"-- (grain|question|about|check|warning|option \w+(?: = [^:]+)?): (.+)")
_FOLDERS = ("staging", "core", "views", "reports")
_UNUSED_S = 30 * 86400.0
"""Seconds after which the file of another version of the SQL is removed; who still uses that
version makes it again.
"""


@functools.cache
def view_texts() -> Mapping[str, str]:
    """View name -> its SQL: those that follow from a table's declaration, and the files of `sql/`
    (which come before) but the checks.
    """
    files = {name: text for folder in _FOLDERS for name, text in read_folder(folder).items()}
    return {**derive_views(), **files}


@functools.cache
def check_texts() -> Mapping[str, str]:
    """Check name -> its SQL, by name; no check reads another."""
    return read_folder("checks")


@functools.cache
def function_texts() -> Mapping[str, str]:
    """Macro name -> the statement that creates it, by name: a macro may call those before it."""
    return read_folder("functions")


def read_folder(folder: str) -> dict[str, str]:
    """Name -> text of the SQL files in one folder of `sql/`, by name."""
    files = [
        file
        for file in resources.files("judgelake.sql").joinpath(folder).iterdir()
        if file.name.endswith(".sql")
    ]
    return {
        file.name.removesuffix(".sql"): file.read_text(encoding="utf-8")
        for file in sorted(files, key=lambda file: file.name)
    }


def read_header(text: str) -> dict[str, str]:
    """The keyed comments at a file's start; a comment without a key goes on with the one before
    it.
    """
    header: dict[str, str] = {}
    for line in text.splitlines():
        if not line.startswith("-- "):
            break
        if keyed := _KEYED.fullmatch(line):
            header[keyed[1]] = keyed[2]
        elif header:
            header[next(reversed(header))] += line.removeprefix("--")
    return header


@functools.cache
def view_order() -> tuple[str, ...]:
    """View names, each after those it reads."""
    texts = view_texts()
    # sorted: the same order in every process
    graph = {
        name: sorted((_find_named(texts[name]) - {name}) & set(texts)) for name in sorted(texts)
    }
    return tuple(graphlib.TopologicalSorter(graph).static_order())


def list_needed(statement: str) -> frozenset[str]:
    """The views that a statement names, in any case, plain table names too, and all views below
    them; all views where it may put a name together when it runs.
    """
    words = set(re.findall(r"\w+", _drop_comments(statement).lower()))
    raw = {f"raw_{name}" for name in TABLES}
    views = {*view_texts(), *check_texts(), *raw}
    named = views if "query_table" in words else views & words
    plain = {f"stg_{name}" for name in TABLES if name in words}
    return frozenset().union(*map(list_below, named | plain))


def _drop_comments(statement: str) -> str:
    """What looks like a comment inside of a string stays."""
    text = statement.encode()
    tokens = [*duckdb.tokenize(statement), (len(text), None)]  # places count bytes
    code = [
        text[place:end]
        for (place, kind), (end, _) in itertools.pairwise(tokens)
        if kind != duckdb.token_type.comment
    ]
    return b"".join(code).decode()


@functools.cache
def list_below(name: str) -> frozenset[str]:
    """A view and all views below it, `raw_` ones too."""
    text = view_texts().get(name) or check_texts().get(name, "")
    return frozenset({name}).union(*map(list_below, _find_named(text) - {name}))


def _find_named(text: str) -> set[str]:
    return set(_REFERENCE.findall(strip_comments(text)))


def strip_comments(statement: str) -> str:
    """A statement without its comments, which name views too."""
    return _COMMENT.sub("", statement)


def load_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Give an in-memory connection every view and check, over tables without rows."""
    file = template_file()
    with contextlib.suppress(duckdb.Error, OSError):  # no place to write: they are created here
        if not file.exists():
            _write_template(file)
        connection.execute(f"attach {quote_text(file)} as template (read_only)")
        try:
            connection.execute("copy from database template to memory")
        finally:
            connection.execute("detach template")
        return
    _create_all(connection)


@functools.cache
def template_file() -> Path:
    """The file of these views; one a process, so that a changed JUDGELAKE_CACHE does not make them
    again.
    """
    macros = {**macro_texts(), **function_texts()}
    texts = [duckdb.__version__, macros, view_texts(), check_texts()]
    texts.append(digest_packages("judgelake.schemas"))
    return cache_folder() / "views" / f"{digest_json(texts)[:32]}.duckdb"


def _write_template(file: Path) -> None:
    """Several processes may do it at once: whole or not at all."""
    with (
        replacement(file, synced=False) as beside,
        duckdb.connect(beside) as connection,
    ):
        connection.execute("begin")  # else each statement is written on its own
        _create_all(connection)
        connection.execute("commit")
    for other in file.parent.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removed it
            if other != file and time.time() - other.stat().st_mtime > _UNUSED_S:
                other.unlink()


def _create_all(connection: duckdb.DuckDBPyConnection) -> None:
    """The macros; `empty_<table>` and `raw_<table>` without rows; every view above them and the
    checks.
    """
    empty = {f"empty_{name}": select_nothing(connection, name) for name in TABLES}
    raw = {f"raw_{name}": f"select * from empty_{name}" for name in TABLES}
    ordered = {name: view_texts()[name] for name in view_order()}
    plain = {name: f"select * from stg_{name}" for name in TABLES if name not in ordered}
    views = {**empty, **raw, **ordered, **plain, **check_texts()}
    created = {name: f"create or replace view {name} as {text}" for name, text in views.items()}
    add_functions(connection)
    for name, text in {**macro_texts(), **function_texts(), **created}.items():
        try:
            connection.execute(text)
        except duckdb.Error as error:
            raise QueryError(f"{name}: {error}\n{text}") from None
    for comment in list(_list_comments(connection)):
        connection.execute(comment)


def select_nothing(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """A select without rows that has the columns of a table's contract."""
    import polars as pl

    frame = pl.DataFrame(schema=TABLES[name].polars_schema)
    connection.register("contract", frame.to_arrow())
    columns = connection.execute("describe select * from contract").fetchall()
    connection.unregister("contract")
    return select_typed((column, kind) for column, kind, *_ in columns)


def select_typed(columns: Iterable[tuple[str, str]]) -> str:
    """A select without rows that has these columns, each with its type."""
    casts = ", ".join(f'null::{kind} as "{column}"' for column, kind in columns)
    return f"select {casts} where false"


def _list_comments(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """The statements that say what a row of each table and view is, and what the columns of those
    with a plain name hold.
    """
    grains = {name: read_grain(name) for name in view_texts()}
    plain = {name: grains[f"stg_{name}"] for name in TABLES}
    for name, grain in {**plain, **grains}.items():
        yield f"comment on view {name} is {quote_text(grain)}"
    listing = "select table_name, column_name from duckdb_columns() where not internal"
    for name, column in connection.execute(listing).fetchall():
        says = None if _LAYERED.match(name) else describe_column(name, column)
        if says is not None:
            yield f'comment on column {name}."{column}" is {quote_text(says)}'


def read_grain(view: str) -> str:
    """What one row of a view is."""
    header = read_header(view_texts()[view])
    return header["grain"] if header else derive_grain(TABLES[view.removeprefix("stg_")])


def quote_text(text: object) -> str:
    """A text as a literal of SQL."""
    return "'" + str(text).replace("'", "''") + "'"
