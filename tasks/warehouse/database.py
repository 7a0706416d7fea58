"""DuckDB databases in memory that hold the views of `sql/`: one of a connection's own, and the one
that a process's short-lived connections share, since making one takes longer than most statements.
"""

import atexit
import contextlib
import threading

import duckdb

from judgelake.tasks.warehouse.functions import add_functions
from judgelake.tasks.warehouse.views import load_views


def open_database() -> duckdb.DuckDBPyConnection:
    """The first connection to a new database with all views, over tables without rows."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    load_views(connection)
    return _set_up(connection)


def _set_up(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Settings of a connection, not of its database."""
    connection.execute("set time zone 'UTC'")
    return connection


class SharedDatabase:
    """Made when the first connection is opened, and again where it answers no more.

    A connection creates nothing in it but what is temporary, and changes none of its settings.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: duckdb.DuckDBPyConnection | None = None
        self._has_functions = False

    def connect(self) -> duckdb.DuckDBPyConnection:
        """One more connection; it is closed as any other."""
        with self._lock:
            if self._first is not None:
                with contextlib.suppress(duckdb.Error):
                    return _set_up(self._first.cursor())
            self._first, self._has_functions = open_database(), False
            return _set_up(self._first.cursor())

    def add_functions(self) -> None:
        """Give all its connections the statistics."""
        with self._lock:
            if self._first is not None and not self._has_functions:
                add_functions(self._first)
                self._has_functions = True

    def close(self) -> None:
        """Let the database go with its last connection."""
        self._first = None


SHARED = SharedDatabase()
atexit.register(SHARED.close)  # duckdb complains of connections that outlive the interpreter
