"""DuckDB over a lake: the views of `sql/` over a snapshot's part files; the one place that runs SQL
files.

A version names all that a view's rows follow from, its SQL and the part files below it, so files of
another version are never read for today's.
"""

import contextlib
import functools
import itertools
import math
import os
import shutil
import time
import uuid
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import LakeError, QueryError
from judgelake.tasks.lake.cleanup import find_oldest_holder
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.processes import name_own_folder
from judgelake.tasks.lake.snapshot import Snapshot, list_snapshot
from judgelake.tasks.lake.storage import move_folder
from judgelake.tasks.warehouse.database import SHARED, open_database
from judgelake.tasks.warehouse.functions import add_functions, calls_functions
from judgelake.tasks.warehouse.views import (
    function_texts,
    list_below,
    list_needed,
    view_order,
    view_texts,
)

if TYPE_CHECKING:
    import polars as pl

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


def find_kept(mirror: Path, name: str, version: str) -> list[Path]:
    """The files that hold a view's rows; none where this version was not kept."""
    return sorted((mirror / FOLDER / name / version).glob("*.parquet"))


def keep_rows(
    connection: duckdb.DuckDBPyConnection, lake: Lake, view: str, version: str, name: str = ""
) -> list[Path]:
    """Write the rows of `view` as they are now, whole or not at all, for `find_kept` under `name`
    (none: the view's); returns the files. Two processes may do it at once.
    """
    mirror = lake.mirror
    folder = mirror / FOLDER / (name or view)
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
    return find_kept(mirror, name or view, version)


def _copy(connection: duckdb.DuckDBPyConnection, view: str, folder: Path) -> None:
    keys = (
        [key for (key,) in connection.execute(_PARTED[view]).fetchall()] if view in _PARTED else []
    )
    options = "(format parquet, compression lz4_raw)"
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
    aged = sorted(_list_aged(folder))
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


def _list_aged(folder: Path) -> Iterator[tuple[float, str]]:
    """When each folder in `folder` was written, and its name."""
    with os.scandir(folder) as entries:
        for entry in entries:
            # another process gives what it has written its name, or removes it, at any time
            with contextlib.suppress(FileNotFoundError):
                if entry.is_dir():
                    yield entry.stat().st_mtime, entry.name


_BY_SUITE = ("judges", "rule_labels")
"""Tables below core views that have rows of several suites: a report knows only its own suite's."""


def open_warehouse(
    lake: Lake | Snapshot, *, sealed: bool = False, lazy: bool = False, alone: bool = False
) -> duckdb.DuckDBPyConnection:
    """A connection with every view and check over a snapshot, one taken now where a lake is given;
    `sealed`: nothing outside the lake can be reached.

    `lazy`: a table's part files are opened when a statement that this module runs, or that is given
    to `make_views`, first needs it, so that a statement over a small table opens no file of a large
    one. Lazy connections share the process's database, which takes a thirtieth of the time: what
    one creates is temporary, and none changes a setting of the database, unless it is `alone`, in a
    database of its own, as those that are sealed or not lazy are.
    """
    snapshot = lake.take_snapshot() if isinstance(lake, Lake) else lake
    is_shared = lazy and not sealed and not alone
    connection = SHARED.connect() if is_shared else open_database()
    made = _Made(snapshot, set(), {}, is_lazy=lazy, is_shared=is_shared)
    _MADE[connection] = made
    if not lazy:
        add_functions(connection)
        _point_views(connection, made, {*_kept_views(), *(f"raw_{name}" for name in TABLES)})
    if sealed:
        seal(connection, snapshot.mirror)
    return connection


class _Made(NamedTuple):
    """A connection's snapshot, the views that have their files by now, and a digest of the part
    files that each raw view reads.
    """

    snapshot: Snapshot
    names: set[str]
    parts: dict[str, str]
    is_lazy: bool
    is_shared: bool


_FUNCTIONS = "the statistics"
"""Stands among the names of what a connection has."""
_MADE: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, _Made] = weakref.WeakKeyDictionary()


def make_views(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """In a lazy connection, give the views that a statement needs their files, without which they
    show no rows, and add the statistics where it calls one.
    """
    made = _MADE.get(connection)
    if made is not None and made.is_lazy:
        _point_views(connection, made, list_needed(text) - made.names)
        if calls_functions(text) and _FUNCTIONS not in made.names:
            SHARED.add_functions() if made.is_shared else add_functions(connection)
            made.names.add(_FUNCTIONS)


def _point_views(
    connection: duckdb.DuckDBPyConnection, made: _Made, wanted: AbstractSet[str]
) -> None:
    """Let raw views read the snapshot's part files, and core views the rows that were kept of
    exactly these files, where they were.
    """
    _point_raw_views(connection, made, [name for name in TABLES if f"raw_{name}" in wanted])
    for name in [name for name in _kept_views() if name in wanted]:
        kept = find_kept(made.snapshot.mirror, name, _name_version(made, name, ()))
        if kept or name in made.names:
            text = _read_kept(connection, name, kept) if kept else view_texts()[name]
            replace_view(connection, name, text)
    made.names.update(wanted)


def seal(connection: duckdb.DuckDBPyConnection, *folders: Path) -> None:
    """Let SQL reach files in `folders` only, and lock that setting; of a connection with a database
    of its own. What does not fit into memory goes into a folder that DuckDB makes then and removes:
    SQL reaches that one, too, which else is `.tmp` of the working directory.
    """
    connection.execute("set temp_directory = $spill", {"spill": str(name_own_folder("sql"))})
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
    make_views(connection, " ".join(_kept_views()))
    scope = _find_scope(connection)
    for name in _kept_views():
        version = _name_version(made, name, scope)
        kept = find_kept(made.snapshot.mirror, name, version)
        if not kept:
            replace_view(connection, name, view_texts()[name])
            try:
                kept = keep_rows(connection, Lake(made.snapshot.root), name, version)
            except duckdb.Error as error:
                raise QueryError(f"{name}: {error}\n{view_texts()[name]}") from None
        replace_view(connection, name, _read_kept(connection, name, kept))


_WRITTEN_AT = {
    "judges": "registered_at",
    "cases": "planned_at",
    "verdicts": "judged_at",
    "duels": "judged_at",
    "metric_scores": "scored_at",
}
"""Tables that scores follow from and to which runs only add -> when a row was written."""


_ANSWERS_THEN = """
create temp view stg_answers as
with former as (
    select benchmark, item_id, answer_id, arg_min(content_digest, replaced_at) as content_digest
    from memory.main.raw_replaced_answers where replaced_at > '{moment}' group by all
)
select answers.* replace (
    coalesce(former.content_digest, answers.content_digest) as content_digest
)
from memory.main.stg_answers as answers
left join former using (benchmark, item_id, answer_id)
"""


def go_back(connection: duckdb.DuckDBPyConnection, moment: datetime) -> None:
    """Let the views show the scores of today's answers as they were at `moment`: of the contents
    that they had, without the judges, cases, verdicts and metric scores that were written after it.
    Texts are today's: those that were replaced are not in the lake.

    Of a lazy connection that is `alone`, before anything else is asked of it: its core views are
    not those that were kept, which are of today.
    """
    made = _MADE[connection]
    needed = list_needed(" ".join(["raw_replaced_answers", *_kept_views()]))
    _point_raw_views(connection, made, [name for name in TABLES if f"raw_{name}" in needed])
    made.names.update(needed)
    for table, column in _WRITTEN_AT.items():
        chosen = f"select * from memory.main.raw_{table} where {column} <= '{moment.isoformat()}'"
        _run(connection, f"create temp view raw_{table} as {chosen}", table)
    _run(connection, _ANSWERS_THEN.format(moment=moment.isoformat()), "stg_answers")


def show_newer(
    connection: duckdb.DuckDBPyConnection, snapshot: Snapshot, tables: Collection[str]
) -> None:
    """Let the views show these tables as they are in a newer snapshot; where core views rest on
    them, `materialise` must follow.
    """
    _MADE[connection] = made = _MADE[connection]._replace(snapshot=snapshot)
    _point_raw_views(connection, made, tables)


def compute_reports(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the report views show tables with their rows, so that a report computes each once, for
    files and page. Cursors of this connection see them, too.
    """
    connection.execute("create schema computed")
    for name in view_order():
        if name.startswith("rpt_"):
            _run(connection, f"create table computed.{name} as select * from {name}", name)
            _run(
                connection, f"create or replace view {name} as select * from computed.{name}", name
            )


def bound_memory(connection: duckdb.DuckDBPyConnection, spill: Path) -> None:
    """Let statements of a connection that is `alone` hold at most 2 GB and what is more in the
    folder `spill`.
    """
    connection.execute("set memory_limit = '2000MB'")
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


def _name_version(made: _Made, name: str, scope: tuple[str, ...]) -> str:
    below = list_below(name)
    views = {view: view_texts()[view] for view in below if view in view_texts()}
    texts = {**function_texts(), **views}
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
    _point_views(connection, now, set(made.names))
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
        make_views(connection, text)
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
) -> "pl.DataFrame":
    """The rows of one select; raises QueryError that shows its file and text."""
    import polars as pl

    try:
        make_views(connection, text)
        return pl.DataFrame(
            connection.sql(text, params=dict(parameters) if parameters else None).to_arrow_table()
        )
    except duckdb.Error as error:
        raise _explain(connection, error, name, text) from None


def replace_view(connection: duckdb.DuckDBPyConnection, name: str, text: str) -> None:
    """Let a view of this connection, and of no other, be the select `text`."""
    _run(connection, _write_view(connection, name, text), name)


def _write_view(connection: duckdb.DuckDBPyConnection, name: str, text: str) -> str:
    kind = "temp view" if _MADE[connection].is_shared else "view"
    return f"create or replace {kind} {name} as {text}"


def view_rows(connection: duckdb.DuckDBPyConnection, name: str) -> duckdb.DuckDBPyRelation:
    """The rows of a table or view, read when they are asked for."""
    make_views(connection, name)
    return connection.view(name)


def select_file(
    connection: duckdb.DuckDBPyConnection, file: str, parameters: Mapping[str, object] | None = None
) -> "pl.DataFrame":
    """The rows of `sql/<file>`, a select."""
    return select_frame(connection, read_sql(file), file, parameters)


def read_sql(file: str) -> str:
    """The text of `sql/<file>`."""
    return resources.files("judgelake.sql").joinpath(file).read_text(encoding="utf-8")


def _point_raw_views(
    connection: duckdb.DuckDBPyConnection, made: _Made, names: Collection[str]
) -> None:
    """`raw_<table>`: the table's part files in the snapshot, with every column of today's contract,
    whatever older files lack.
    """
    mirror = made.snapshot.mirror
    options = "hive_partitioning = true, hive_types_autocast = false, union_by_name = true"
    for name, files in made.snapshot.find_parts(*names).items():
        made.parts[name] = digest_json([str(file.relative_to(mirror)) for file in files])
        read = f"select * from empty_{name}"  # names come from TABLES
        if files:
            connection.execute(
                f"set variable parts_{name} = $files", {"files": list(map(str, files))}
            )
            read += (
                f" union all by name select * from "
                f"read_parquet(getvariable('parts_{name}'), {options})"
            )
        if files or f"raw_{name}" in made.names:
            connection.execute(_write_view(connection, f"raw_{name}", read))
