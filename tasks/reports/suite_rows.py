"""Which of a lake's rows a suite's report is about, where several suites share the lake: its own judges and reports, and what was recorded."""

import duckdb

from schemas.tables import TABLES
from tasks.reports.warehouse import run_sql
from tasks.suite import Suite

_HISTORY = "runs"
"""Tells of all suites, on every page."""


def keep_suite(connection: duckdb.DuckDBPyConnection, suite: Suite) -> None:
    """Let this connection's views know of judges, metrics and report tables only the suite's own, as it last ran; recorded raters stay.

    Judges then have their alias for a name even where another suite gives it to another judge. Before anything is materialised.
    """
    for name in [name for name, table in TABLES.items() if "suite" in table.polars_schema and name != _HISTORY]:
        text = f"create temp table stg_{name} as select * from stg_{name} where suite = $suite"  # names come from TABLES
        run_sql(connection, text, f"stg_{name}", {"suite": suite.name})
