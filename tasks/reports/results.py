"""What each report said, kept in the table `results`, and what moved since: the view `changes`.

A report that says what the one before said is not kept again.
"""

import re
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake, append_rows, open_lake
from judgelake.tasks.suite.suite import Suite
from judgelake.tasks.warehouse.warehouse import open_warehouse, read_sql, select_frame

_STATED = ("figure", "benchmark", "judge", "model", "criterion", "value", "low", "high", "n")
LAST = "last"
"""The report before, whatever it was."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


def keep_results(lake: Lake, connection: duckdb.DuckDBPyConnection, suite: Suite) -> None:
    """Add what this connection's report views say of the suite to the lake, and to the results that
    the connection sees, where it is not what the suite's newest results say.

    `connection` is one of `build.open_for`, its report views computed.
    """
    stated = select_frame(
        connection,
        read_sql("queries/report_results.sql"),
        "report_results",
        {"benchmarks": list(suite.benchmarks)},
    )
    former = select_frame(
        connection,
        f"select {', '.join(_STATED)} from stg_results "
        "where reported_at = (select max(reported_at) from stg_results) order by all",
        "stg_results",
    )
    if stated.is_empty() or stated.sort(_STATED).equals(former.sort(_STATED)):
        return
    rows = stated.with_columns(
        pl.lit(suite.name).alias("suite"),
        pl.lit(find_newest_run(connection, suite), pl.String).alias("run_id"),
        pl.lit(datetime.now(UTC)).alias("reported_at"),
    )
    schema = TABLES["results"].polars_schema
    rows = rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    append_rows(lake, "results", rows)
    _show(connection, rows)


def find_newest_run(connection: duckdb.DuckDBPyConnection, suite: Suite) -> str | None:
    """The id of the suite's last run, whose report this is; None where it never ran."""
    newest = select_frame(
        connection,
        "select max_by(run_id, started_at) as run_id from core_runs where suite = $suite",
        "core_runs",
        {"suite": suite.name},
    )
    run: str | None = newest["run_id"][0]
    return run


def choose_base(
    connection: duckdb.DuckDBPyConnection, suite: Suite, wanted: str
) -> tuple[datetime, str] | None:
    """When the report that this one is compared with was made, and what to call it; None where
    there is no earlier one. `wanted`: `last`, a date (the last report of that day or before), the
    beginning of a run's id, or the folder of another lake, whose newest results are taken.

    Raises SuiteError where there is no such report.
    """
    if wanted != LAST and "/" in wanted:
        _show(connection, _read_results(suite, wanted).with_columns(reported_at=pl.lit(_FIRST)))
        return _FIRST, f"the lake {wanted}"
    earlier = _list_reports(connection, suite)[1:]
    if wanted == LAST:
        return earlier[0] if earlier else None
    return _find_report(earlier, suite, wanted)


def check_base(connection: duckdb.DuckDBPyConnection, suite: Suite, wanted: str) -> None:
    """Raise the SuiteError of `choose_base` where the lake, as it is before the report, shows that
    it will: a report takes long.
    """
    if wanted != LAST and "/" in wanted:
        _read_results(suite, wanted)
    elif wanted != LAST:
        _find_report(_list_reports(connection, suite), suite, wanted)


_Report = tuple[datetime, str]
"""When a report was made, and the id of its run."""


def _list_reports(connection: duckdb.DuckDBPyConnection, suite: Suite) -> list[_Report]:
    """The suite's reports that kept results, newest first."""
    listed = select_frame(
        connection,
        "select distinct reported_at, run_id from stg_results where suite = $suite "
        "order by reported_at desc",
        "stg_results",
        {"suite": suite.name},
    )
    return [(row["reported_at"], row["run_id"] or "") for row in listed.iter_rows(named=True)]


def _find_report(reports: list[_Report], suite: Suite, wanted: str) -> _Report:
    """The newest of these reports of a day or before, or of a run whose id begins so."""
    matching = [
        report
        for report in reports
        if (
            report[0].strftime("%Y-%m-%d") <= wanted
            if _DATE.fullmatch(wanted)
            else report[1].startswith(wanted)
        )
    ]
    if not matching:
        known = ", ".join(f"{run} of {at:%Y-%m-%d}" for at, run in reports[:5]) or "none yet"
        raise SuiteError(
            f"--compare {wanted}: no earlier report of suite {suite.name} is that; expected "
            f"`last`, a date, a run or another lake's folder; reports kept: {known}"
        )
    return matching[0]


def list_changes(
    connection: duckdb.DuckDBPyConnection, suite: Suite, base: datetime
) -> list[dict[str, Any]]:
    """The figures of the newest report beside those of `base`, what moved first."""
    return list(
        select_frame(
            connection,
            "select * from changes where suite = $suite and base_reported_at = $base "
            "order by has_moved desc nulls last, abs(difference) desc nulls last, figure, "
            "benchmark, judge, model, criterion",
            "changes",
            {"suite": suite.name, "base": base},
        ).iter_rows(named=True)
    )


def _read_results(suite: Suite, folder: str) -> pl.DataFrame:
    """The suite's newest results in another lake."""
    with open_warehouse(open_lake(folder), lazy=True) as other:
        rows = select_frame(
            other,
            "select * from stg_results where suite = $suite and reported_at = ("
            "select max(reported_at) from stg_results where suite = $suite)",
            "stg_results",
            {"suite": suite.name},
        )
    if rows.is_empty():
        raise SuiteError(
            f"--compare {folder}: this lake has no results of a suite {suite.name}; expected a "
            f"lake where `judgelake report` made its report"
        )
    return rows


def _show(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> None:
    """Let the connection's own results, those of one suite, hold these rows too."""
    connection.register("rows_of_results", rows.to_arrow())
    connection.execute("insert into stg_results by name from rows_of_results")
    connection.unregister("rows_of_results")
