"""DuckDB over a lake: raw views from the contracts, then `sql/` in dependency order; the one place that runs SQL files.

Each file under `sql/` is one select; its name is the view's name. Files in `sql/queries` are not views: they take parameters.
"""

import functools
import glob
import graphlib
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import duckdb
import polars as pl

from schemas.tables import TABLES
from tasks.errors import QueryError
from tasks.lake import Lake

_REFERENCE = re.compile(r"\b(?:stg|core|rpt)_\w+")
_COMMENT = re.compile(r"--[^\n]*")
_FOLDERS = ("staging", "core", "reports")


def open_warehouse(lake: Lake, *, sealed: bool = False) -> duckdb.DuckDBPyConnection:
    """A connection with every view over the lake as it is now; `sealed`: nothing outside the lake can be reached."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    connection.execute("set time zone 'UTC'")
    for name in TABLES:
        _create_raw_view(connection, lake, name)
    for name in view_order():
        run_sql(connection, f"create view {name} as {view_texts()[name]}", name)
    for name in TABLES:
        connection.execute(f"create view {name} as select * from stg_{name}")
    if sealed:
        seal(connection, lake.root, Path(glob.escape(str(lake.root))))  # as views name it, and as it is
    return connection


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
    """View name -> its SQL, of all view files."""
    folders = [resources.files("sql").joinpath(folder) for folder in _FOLDERS]
    files = [file for folder in folders for file in folder.iterdir() if file.name.endswith(".sql")]
    return {file.name.removesuffix(".sql"): file.read_text(encoding="utf-8") for file in files}


@functools.cache
def view_order() -> tuple[str, ...]:
    """View names, each after those it reads."""
    texts = view_texts()
    graph = {name: {found for found in _REFERENCE.findall(_COMMENT.sub("", text)) if found in texts and found != name}
             for name, text in sorted(texts.items())}  # fmt: skip
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
