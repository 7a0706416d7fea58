"""DuckDB over a lake: raw views from the contracts, then `sql/` in dependency order; the one place that runs SQL files.

Each file under `sql/` is one select; its name is the view's name. Files in `sql/queries` and `sql/adhoc` are not views: they take
parameters. The views of `sql/checks` are made where somebody asks for them.
"""

import functools
import glob
import graphlib
import re
import weakref
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from schemas.tables import TABLES
from tasks.errors import QueryError
from tasks.lake import Lake

_REFERENCE = re.compile(r"\b(?:raw|stg|core|rpt)_\w+")
_COMMENT = re.compile(r"--[^\n]*")
_FOLDERS = ("staging", "core", "reports")


def open_warehouse(lake: Lake, *, sealed: bool = False, lazy: bool = False) -> duckdb.DuckDBPyConnection:
    """A connection with every view over the lake as it is now; `sealed`: nothing outside the lake can be reached.

    `lazy`: a view is made when a statement that this module runs first names it, since making all of them takes half a second.
    """
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    connection.execute("set time zone 'UTC'")
    if lazy:
        _LAZY[connection] = _Made(lake, set())
        return connection
    for name in TABLES:
        _create_raw_view(connection, lake, name)
    for name in view_order():
        run_sql(connection, f"create view {name} as {view_texts()[name]}", name)
    for name in TABLES:
        connection.execute(f"create view {name} as select * from stg_{name}")
    if sealed:
        create_checks(connection)
        seal(connection, lake.root, Path(glob.escape(str(lake.root))))  # as views name it, and as it is
    return connection


class _Made(NamedTuple):
    """A lazy connection's lake, and the names that it has by now."""

    lake: Lake
    names: set[str]


_LAZY: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, _Made] = weakref.WeakKeyDictionary()


def _make_views(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """In a lazy connection, make the views that a statement names, and those that they read."""
    made = _LAZY.get(connection)
    if made is None:
        return
    wanted = _list_needed(text) - made.names
    for name in TABLES:
        if f"raw_{name}" in wanted:
            _create_raw_view(connection, made.lake, name)
    for name in [name for name in view_order() if name in wanted]:
        connection.execute(f"create view {name} as {view_texts()[name]}")
    for name in [name for name in TABLES if name in wanted]:
        connection.execute(f"create view {name} as select * from stg_{name}")
    made.names.update(wanted)


def _list_needed(text: str) -> set[str]:
    """The views that a statement needs: `raw_`, `stg_`, `core_`, `rpt_`, and plain table names."""
    said = _COMMENT.sub("", text)
    needed = {name for name in TABLES if re.search(rf"\b{name}\b", said)}
    left = {*_REFERENCE.findall(said), *(f"stg_{name}" for name in needed)}
    while left:
        name = left.pop()
        if name not in needed and (name in view_texts() or name.removeprefix("raw_") in TABLES):
            needed.add(name)
            left.update(_REFERENCE.findall(_COMMENT.sub("", view_texts().get(name, ""))))
    return needed


def create_checks(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the views of `sql/checks`, the rows that are wrong; a sealed warehouse has them."""
    for name, text in check_texts().items():
        run_sql(connection, f"create view {name} as {text}", name)


def seal(connection: duckdb.DuckDBPyConnection, *folders: Path) -> None:
    """Let SQL reach files in `folders` only, and lock that setting."""
    connection.execute("set allowed_directories = $folders", {"folders": [f"{folder}/" for folder in folders]})
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


def materialise(connection: duckdb.DuckDBPyConnection) -> None:
    """Turn the core views of this connection into tables, so that a report computes each once."""
    for name in view_order():
        if name.startswith("core_"):
            connection.execute(f"create temp table {name} as select * from {name}")


def run_sql(
    connection: duckdb.DuckDBPyConnection, text: str, name: str, parameters: Mapping[str, object] | None = None
) -> duckdb.DuckDBPyConnection:
    """Run one statement; raises QueryError that shows its file and text."""
    try:
        _make_views(connection, text)
        return connection.execute(text, dict(parameters)) if parameters else connection.execute(text)
    except duckdb.Error as error:
        raise QueryError(f"{name}: {error}\n{text}") from None


def keep_result(connection: duckdb.DuckDBPyConnection, file: str, table: str, parameters: Mapping[str, object]) -> None:
    """Run `sql/<file>`, a select, into the temporary table `table`; of `parameters` only those that it names are passed."""
    text = read_sql(file)
    used = {key: value for key, value in parameters.items() if f"${key}" in text}
    run_sql(connection, f"create or replace temp table {table} as {text}", file, used)


def select_frame(
    connection: duckdb.DuckDBPyConnection, text: str, name: str, parameters: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """The rows of one select; raises QueryError that shows its file and text."""
    try:
        _make_views(connection, text)
        return pl.DataFrame(connection.sql(text, params=dict(parameters) if parameters else None).to_arrow_table())
    except duckdb.Error as error:
        raise QueryError(f"{name}: {error}\n{text}") from None


def select_file(connection: duckdb.DuckDBPyConnection, file: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
    """The rows of `sql/<file>`, a select."""
    return select_frame(connection, read_sql(file), file, parameters)


def read_sql(file: str) -> str:
    """The text of `sql/<file>`."""
    return resources.files("sql").joinpath(file).read_text(encoding="utf-8")


@functools.cache
def view_texts() -> Mapping[str, str]:
    """View name -> its SQL, of all view files but the checks."""
    return {name: text for folder in _FOLDERS for name, text in read_folder(folder).items()}


@functools.cache
def check_texts() -> Mapping[str, str]:
    """Check name -> its SQL, by name; no check reads another."""
    return read_folder("checks")


def read_folder(folder: str) -> dict[str, str]:
    """Name -> text of the files of `sql/<folder>`, by name."""
    files = [file for file in resources.files("sql").joinpath(folder).iterdir() if file.name.endswith(".sql")]
    return {
        file.name.removesuffix(".sql"): file.read_text(encoding="utf-8") for file in sorted(files, key=lambda file: file.name)
    }


@functools.cache
def view_order() -> tuple[str, ...]:
    """View names, each after those it reads."""
    texts = view_texts()
    named = {name: set(_REFERENCE.findall(_COMMENT.sub("", text))) - {name} for name, text in texts.items()}
    graph = {name: sorted(found & set(texts)) for name, found in sorted(named.items())}  # sorted: the same order in every process
    return tuple(graphlib.TopologicalSorter(graph).static_order())


def _create_raw_view(connection: duckdb.DuckDBPyConnection, lake: Lake, name: str) -> None:
    """`raw_<table>`: all part files, with every column of today's contract, whatever older files lack; empty where there is no file."""
    connection.register(f"arrow_{name}", _empty(name))
    connection.execute(f"create temp table empty_{name} as select * from arrow_{name}")
    connection.unregister(f"arrow_{name}")
    if not lake.part_files(name):
        connection.execute(f"create view raw_{name} as select * from empty_{name}")
        return
    pattern = f"{glob.escape(str(lake.table_folder(name)))}/**/*.parquet".replace("'", "''")
    connection.execute(
        f"create view raw_{name} as select * from empty_{name} union all by name "  # names come from TABLES
        f"select * from read_parquet('{pattern}', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)"
    )


def _empty(name: str) -> object:
    return pl.DataFrame(schema=TABLES[name].polars_schema).to_arrow()
