"""DuckDB over a lake: raw views from the contracts, then `sql/` in dependency order; the one place
that runs SQL files.

Each file under `sql/` is one select; its name is the view's name. Files in `sql/queries` and
`sql/adhoc` are not views: they take parameters. The views of `sql/checks` are made on request.

A version names all that a view's rows follow from, its SQL and the part files below it, so files of
another version are never read for today's.
"""

import contextlib
import functools
import graphlib
import itertools
import math
import os
import re
import shutil
import time
import uuid
import weakref
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import LakeError, QueryError
from judgelake.tasks.lake.cleanup import find_oldest_holder
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.snapshot import Snapshot, list_snapshot
from judgelake.tasks.lake.storage import move_folder
from judgelake.tasks.warehouse.staging import derive_views

FOLDER = "_core"
UNKEPT = frozenset({"core_runs", "core_labels"})
"""Every run writes a row of runs, also one that changes nothing; labels are the kept scores and
choices under other names.
"""
_KEPT_S = 3600.0
"""Seconds that files stay after newer ones came: a reader may have opened the lake before."""
_PARTED = {"core_scores": "select distinct judge_id from core_judges order by judge_id"}
"""Views that are written one judge after the other, so that no more than a judge's rows are sorted
and joined at once.
"""


def name_version(texts: Mapping[str, str], parts: Mapping[str, str], scope: Sequence[str]) -> str:
    """A digest that names a view's rows by the SQL of it and all views below, the digests of the
    tables below, and the suites whose judges it knows.
    """
    return digest_json([duckdb.__version__, texts, parts, list(scope)])[:32]


def find_kept(mirror: Path, view: str, version: str) -> list[Path]:
    """The files that hold a view's rows; none where this version was not kept."""
    return sorted((mirror / FOLDER / view / version).glob("*.parquet"))


def keep_rows(
    connection: duckdb.DuckDBPyConnection, lake: Lake, view: str, version: str
) -> list[Path]:
    """Write the rows of `view` as they are now, whole or not at all; returns the files. Two
    processes may do it at once.
    """
    mirror = lake.mirror
    folder = mirror / FOLDER / view
    beside, whole = folder / f".{uuid.uuid4().hex}.tmp", folder / version
    try:
        beside.mkdir(parents=True)
        _copy(connection, view, beside)
        with contextlib.suppress(FileExistsError):  # another process was first, with the same rows
            move_folder(beside, whole)
        _drop_older(lake, folder, version)
    except OSError as error:
        raise LakeError(
            f"{folder}: cannot be written ({error.strerror}); expected a writable place with "
            f"room; free it and run again"
        ) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return find_kept(mirror, view, version)


def _copy(connection: duckdb.DuckDBPyConnection, view: str, folder: Path) -> None:
    keys = (
        [key for (key,) in connection.execute(_PARTED[view]).fetchall()] if view in _PARTED else []
    )
    options = "(format parquet, compression zstd, compression_level 1)"
    if not keys:
        connection.execute(
            f"copy (select * from {view}) to '{_quote(folder / 'all.parquet')}' {options}"
        )
    for key in keys:  # 16 hex digits
        chosen = f"select * from {view} where judge_id = '{key}'"
        connection.execute(f"copy ({chosen}) to '{_quote(folder / f'{key}.parquet')}' {options}")


def _quote(path: Path) -> str:
    return str(path).replace("'", "''")


def _drop_older(lake: Lake, folder: Path, version: str) -> None:
    """Remove versions, and what a killed process left, once something newer has stood for an hour
    and no run that began before that is alive.
    """
    with os.scandir(folder) as entries:
        aged = sorted((entry.stat().st_mtime, entry.name) for entry in entries if entry.is_dir())
    now = time.time()
    due = {
        name: superseded_at
        for (_, name), (superseded_at, _) in itertools.pairwise(aged)
        if name != version and now - superseded_at > _KEPT_S
    }
    held_since = find_oldest_holder(lake) if due else math.inf  # in a bucket, several requests
    for name, superseded_at in due.items():
        if superseded_at < held_since:
            shutil.rmtree(folder / name, ignore_errors=True)


# A view's name anywhere in SQL; comments are taken out first, since they name views too.
_REFERENCE = re.compile(r"\b(?:raw|stg|core|rpt)_\w+")
# a comment to the end of its line
_COMMENT = re.compile(r"--[^\n]*")
_FOLDERS = ("staging", "core", "reports")
_BY_SUITE = ("judges", "rule_labels")
"""Tables below core views that have rows of several suites: a report knows only its own suite's."""


def open_warehouse(
    lake: Lake | Snapshot, *, sealed: bool = False, lazy: bool = False
) -> duckdb.DuckDBPyConnection:
    """A connection with every view over a snapshot, one taken now where a lake is given; `sealed`:
    nothing outside the lake can be reached.

    `lazy`: a view is made when a statement that this module runs first names it, since making all
    of them takes half a second.
    """
    snapshot = lake.take_snapshot() if isinstance(lake, Lake) else lake
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    connection.execute("set time zone 'UTC'")
    _MADE[connection] = made = _Made(snapshot, set(), {}, is_lazy=lazy)
    if lazy:
        return connection
    _create_views(connection, made, {*view_texts(), *TABLES, *(f"raw_{name}" for name in TABLES)})
    if sealed:
        create_checks(connection)
        seal(connection, snapshot.mirror)
    return connection


class _Made(NamedTuple):
    """A connection's snapshot, the names that it has by now, and a digest of the part files that
    each raw view reads.
    """

    snapshot: Snapshot
    names: set[str]
    parts: dict[str, str]
    is_lazy: bool


_MADE: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, _Made] = weakref.WeakKeyDictionary()


def _make_views(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """In a lazy connection, make the views that a statement names, and those that they read."""
    made = _MADE.get(connection)
    if made is not None and made.is_lazy:
        _create_views(connection, made, _list_needed(text) - made.names)


def _create_views(connection: duckdb.DuckDBPyConnection, made: _Made, wanted: set[str]) -> None:
    """Views by name, each after those it reads; core views read the rows that were kept of today's
    part files, where they were.
    """
    _create_raw_views(connection, made, [name for name in TABLES if f"raw_{name}" in wanted])
    for name in [name for name in view_order() if name in wanted]:
        kept = (
            find_kept(made.snapshot.mirror, name, _name_version(made, name, ()))
            if name in _kept_views()
            else []
        )
        text = _read_kept(connection, name, kept) if kept else view_texts()[name]
        _run(connection, f"create or replace view {name} as {text}", name)
    for name in [name for name in TABLES if name in wanted]:
        connection.execute(f"create or replace view {name} as select * from stg_{name}")
    made.names.update(wanted)


def _list_needed(text: str) -> set[str]:
    """The views that a statement needs: `raw_`, `stg_`, `core_`, `rpt_`, and plain table names."""
    statement = _COMMENT.sub("", text)
    needed = {name for name in TABLES if re.search(rf"\b{name}\b", statement)}
    left = {*_REFERENCE.findall(statement), *(f"stg_{name}" for name in needed)}
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
    connection.execute(
        "set allowed_directories = $folders", {"folders": [f"{folder}/" for folder in folders]}
    )
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


def materialise(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the core views read files with their rows, which are written first where they are
    missing, so that each view is computed once.
    """
    made = _MADE[connection]
    _make_views(connection, " ".join(_kept_views()))
    scope = _find_scope(connection)
    for name in _kept_views():
        _run(connection, f"create or replace view {name} as {view_texts()[name]}", name)
        version = _name_version(made, name, scope)
        kept = find_kept(made.snapshot.mirror, name, version)
        if not kept:
            try:
                kept = keep_rows(connection, Lake(made.snapshot.root), name, version)
            except duckdb.Error as error:
                raise QueryError(f"{name}: {error}\n{view_texts()[name]}") from None
        _run(
            connection,
            f"create or replace view {name} as {_read_kept(connection, name, kept)}",
            name,
        )


def compute_reports(connection: duckdb.DuckDBPyConnection) -> None:
    """Turn the report views of this connection into tables, so that a report computes each once,
    for files and page.
    """
    for name in view_order():
        if name.startswith("rpt_"):
            _run(connection, f"create temp table {name} as select * from {name}", name)


def bound_memory(connection: duckdb.DuckDBPyConnection, spill: Path) -> None:
    """Let statements hold at most 1.5 GB and what is more in the folder `spill`."""
    connection.execute("set memory_limit = '1500MB'")
    connection.execute("set temp_directory = $spill", {"spill": str(spill)})


def _find_scope(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """The suites whose rows this connection's core views read; none where they read all suites'."""
    seen: list[str] = []
    for name in _BY_SUITE:
        text = "select list(distinct suite order by suite) from "
        stg, raw = (
            connection.execute(text + f"{layer}_{name}").fetchall()[0][0]
            for layer in ("stg", "raw")
        )
        seen += [] if stg == raw else [name, *(stg or ())]
    return tuple(seen)


@functools.cache
def _kept_views() -> tuple[str, ...]:
    return tuple(name for name in view_order() if name.startswith("core_") and name not in UNKEPT)


@functools.cache
def _list_below(name: str) -> frozenset[str]:
    """A view and all views below it, `raw_` ones too."""
    named = frozenset(_REFERENCE.findall(_COMMENT.sub("", view_texts().get(name, "")))) - {name}
    return frozenset({name}).union(*map(_list_below, named))


def _name_version(made: _Made, name: str, scope: tuple[str, ...]) -> str:
    below = _list_below(name)
    texts = {view: view_texts()[view] for view in below if view in view_texts()}
    parts = {table: made.parts[table] for table in TABLES if f"raw_{table}" in below}
    return name_version(texts, parts, scope)


def _read_kept(connection: duckdb.DuckDBPyConnection, name: str, kept: Sequence[Path]) -> str:
    connection.execute(f"set variable kept_{name} = $files", {"files": list(map(str, kept))})
    return f"select * from read_parquet(getvariable('kept_{name}'), hive_partitioning = false)"


def _explain(
    connection: duckdb.DuckDBPyConnection, error: duckdb.Error, name: str, text: str
) -> LakeError | QueryError:
    """The error with its statement; the snapshot's own error where part files of it are gone."""
    made = _MADE.get(connection)
    if isinstance(error, duckdb.IOException) and made and made.snapshot.find_gone():
        return made.snapshot.explain_gone()
    return QueryError(f"{name}: {error}\n{text}")


def renew(connection: duckdb.DuckDBPyConnection) -> bool:
    """Where part files of their snapshot are gone, let the views show the lake as it is now, and
    return True. Not for a connection whose tables rest on the snapshot.
    """
    made = _MADE.get(connection)
    if made is None or not made.snapshot.find_gone():
        return False
    _MADE[connection] = now = made._replace(snapshot=list_snapshot(made.snapshot.root), parts={})
    _create_views(connection, now, set(made.names))
    return True


def snapshot_of(connection: duckdb.DuckDBPyConnection) -> Snapshot:
    """The snapshot that a warehouse was opened over."""
    return _MADE[connection].snapshot


def _run(connection: duckdb.DuckDBPyConnection, text: str, name: str) -> None:
    try:
        connection.execute(text)
    except duckdb.Error as error:
        raise _explain(connection, error, name, text) from None


def run_sql(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    name: str,
    parameters: Mapping[str, object] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Run one statement; raises QueryError that shows its file and text."""
    try:
        _make_views(connection, text)
        return (
            connection.execute(text, dict(parameters)) if parameters else connection.execute(text)
        )
    except duckdb.Error as error:
        raise _explain(connection, error, name, text) from None


def keep_result(
    connection: duckdb.DuckDBPyConnection, file: str, table: str, parameters: Mapping[str, object]
) -> None:
    """Run `sql/<file>`, a select, into the temporary table `table`; of `parameters` only those that
    it names are passed.
    """
    text = read_sql(file)
    used = {key: value for key, value in parameters.items() if f"${key}" in text}
    run_sql(connection, f"create or replace temp table {table} as {text}", file, used)


def select_frame(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    name: str,
    parameters: Mapping[str, object] | None = None,
) -> pl.DataFrame:
    """The rows of one select; raises QueryError that shows its file and text."""
    try:
        _make_views(connection, text)
        return pl.DataFrame(
            connection.sql(text, params=dict(parameters) if parameters else None).to_arrow_table()
        )
    except duckdb.Error as error:
        raise _explain(connection, error, name, text) from None


def select_file(
    connection: duckdb.DuckDBPyConnection, file: str, parameters: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """The rows of `sql/<file>`, a select."""
    return select_frame(connection, read_sql(file), file, parameters)


def read_sql(file: str) -> str:
    """The text of `sql/<file>`."""
    return resources.files("judgelake.sql").joinpath(file).read_text(encoding="utf-8")


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


def read_folder(folder: str) -> dict[str, str]:
    """Name -> text of the files of `sql/<folder>`, by name."""
    files = [
        file
        for file in resources.files("judgelake.sql").joinpath(folder).iterdir()
        if file.name.endswith(".sql")
    ]
    return {
        file.name.removesuffix(".sql"): file.read_text(encoding="utf-8")
        for file in sorted(files, key=lambda file: file.name)
    }


@functools.cache
def view_order() -> tuple[str, ...]:
    """View names, each after those it reads."""
    texts = view_texts()
    named = {
        name: set(_REFERENCE.findall(_COMMENT.sub("", text))) - {name}
        for name, text in texts.items()
    }
    graph = {
        name: sorted(named_views & set(texts)) for name, named_views in sorted(named.items())
    }  # sorted: the same order in every process
    return tuple(graphlib.TopologicalSorter(graph).static_order())


def _create_raw_views(
    connection: duckdb.DuckDBPyConnection, made: _Made, names: Sequence[str]
) -> None:
    """`raw_<table>`: the table's part files in the snapshot, with every column of today's contract,
    whatever older files lack.
    """
    mirror = made.snapshot.mirror
    for name, files in made.snapshot.find_parts(*names).items():
        made.parts[name] = digest_json([str(file.relative_to(mirror)) for file in files])
        if f"raw_{name}" not in made.names:
            connection.register(f"arrow_{name}", _empty(name))
            connection.execute(f"create temp table empty_{name} as select * from arrow_{name}")
            connection.unregister(f"arrow_{name}")
        read = f"select * from empty_{name}"  # names come from TABLES
        if files:
            connection.execute(
                f"set variable parts_{name} = $files", {"files": list(map(str, files))}
            )
            options = "hive_partitioning = true, hive_types_autocast = false, union_by_name = true"
            read += (
                f" union all by name select * from "
                f"read_parquet(getvariable('parts_{name}'), {options})"
            )
        connection.execute(f"create or replace view raw_{name} as {read}")


def _empty(name: str) -> object:
    return pl.DataFrame(schema=TABLES[name].polars_schema).to_arrow()
