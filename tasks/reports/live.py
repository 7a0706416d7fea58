"""Figures of report views where the last report is older than what the lake holds, or there was
none: they are computed when a statement asks for them, as a report computes them, and kept on disk
until something that they follow from changes.
"""

import os
import weakref
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.reports.exports import has_figures, name_inputs
from judgelake.tasks.suite.kept import KeptSuite, list_suites
from judgelake.tasks.warehouse.views import list_needed, quote_text, view_texts
from judgelake.tasks.warehouse.warehouse import (
    find_kept,
    keep_rows,
    make_views,
    replace_view,
    snapshot_of,
)

if TYPE_CHECKING:
    from judgelake.tasks.suite.suite import Suite

_REPORTED = frozenset(name for name, table in TABLES.items() if table.origin == "report")
Say = Callable[[str], None]


def make_figures(
    connection: duckdb.DuckDBPyConnection, statement: str, say: Say = lambda _: None
) -> None:
    """In a lazy connection, give a statement the views that it needs, and those over report tables
    the rows that a report of the snapshot would have. `say` gets a line where that takes time, or
    cannot be done.
    """
    make_views(connection, statement)
    tables = {name for name in _REPORTED if f"raw_{name}" in list_needed(statement)}
    if not tables:
        return
    snapshot = snapshot_of(connection)
    live = _LIVE.get(connection)
    if live is None or live.snapshot is not snapshot:
        if live is not None:
            live.withdraw(connection)
        live = _LIVE[connection] = _Live(snapshot)
    live.show(connection, tables, say)


class _Live:
    """What a connection shows of one snapshot in place of report tables' rows."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._lake = Lake(snapshot.root)
        self._shown: set[str] = set()
        self._replaced: set[str] = set()

    @cached_property
    def _outdated(self) -> list[tuple[KeptSuite, str]]:
        """The suites whose last report was of something else, with the name of their inputs."""
        named = [(suite, name_inputs(self.snapshot, suite)) for suite in list_suites(self._lake)]
        return [
            (suite, inputs) for suite, inputs in named if not has_figures(self._lake, suite, inputs)
        ]

    def show(
        self, connection: duckdb.DuckDBPyConnection, tables: Collection[str], say: Say
    ) -> None:
        """Let `stg_` views show, of outdated suites, figures of the snapshot."""
        tables = {*tables} - self._shown
        rows: dict[str, list[str]] = {table: [] for table in tables}
        names: list[str] = []
        for suite, inputs in self._outdated if tables else ():
            try:
                selects = self._find(connection, suite, inputs, tables, say)
            except SuiteError as error:
                say(f"{suite.name}: figures of its last report are shown: {error}")
                continue
            names.append(suite.name)
            for table in tables:
                rows[table].append(selects[table])
        if names:
            for table in tables:
                replace_view(connection, f"stg_{table}", _write_view(table, names, rows[table]))
            self._replaced |= tables
        self._shown |= tables

    def withdraw(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let the views show what reports wrote."""
        for table in self._replaced:
            replace_view(connection, f"stg_{table}", view_texts()[f"stg_{table}"])

    def _find(
        self,
        connection: duckdb.DuckDBPyConnection,
        suite: KeptSuite,
        inputs: str,
        tables: Collection[str],
        say: Say,
    ) -> dict[str, str]:
        """Table -> a select of the suite's rows, which are computed where none were kept."""
        mirror = self.snapshot.mirror
        kept = {table: find_kept(mirror, f"{table}/{suite.name}", inputs) for table in tables}
        selects = {table: _select_files(files) for table, files in kept.items() if files}
        missing = {*tables} - {*selects}
        if missing:
            whole, named = suite.parse(), ", ".join(sorted(missing))
            say(f"{suite.name}: computing {named}: the lake has no report of what it holds now")
            selects |= self._compute(connection, whole, inputs, missing)
        return selects

    def _compute(
        self,
        connection: duckdb.DuckDBPyConnection,
        suite: "Suite",
        inputs: str,
        tables: Collection[str],
    ) -> dict[str, str]:
        """The same of tables without kept rows, which are kept on disk where that can be written,
        else in the connection.
        """
        from judgelake.tasks.reports.build import compute_figures, open_for  # imports scipy

        found: dict[str, str] = {}
        keeps = os.access(self.snapshot.mirror, os.W_OK)
        with open_for(self.snapshot, suite, lazy=True, keeps_core=keeps) as own:
            for table, frame in compute_figures(own, suite, tables).items():
                name = f"live {table} {suite.name}"
                (own if keeps else connection).register(name, frame.to_arrow())
                found[table] = f'select * from "{name}"'
                if keeps:
                    kept_as = f"{table}/{suite.name}"
                    files = keep_rows(own, self._lake, f'"{name}"', inputs, kept_as)
                    found[table] = _select_files(files)
        return found


def _select_files(files: Collection[Path]) -> str:
    listed = ", ".join(map(quote_text, files))
    return f"select * from read_parquet([{listed}], hive_partitioning = false)"


def _write_view(table: str, suites: Collection[str], rows: Collection[str]) -> str:
    listed = ", ".join(map(quote_text, suites))
    others = f"select * from ({view_texts()[f'stg_{table}']}) where suite not in ({listed})"
    return " union all by name ".join([others, *rows])


_LIVE: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, _Live] = weakref.WeakKeyDictionary()
