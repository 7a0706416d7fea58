"""What each report said, kept in the table `results`, and what moved since: the view `changes`.

A report that says what the one before said is not kept again.
"""

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

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


class Base(NamedTuple):
    """The report that another is compared with: when it was made (of another lake's, 1970 stands in
    `changes`), its run or what to call it, and the other lake's folder with its own time.
    """

    reported_at: datetime
    name: str
    folder: str | None = None
    made_at: datetime | None = None


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
    show_rows(connection, "results", rows)


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


def choose_base(connection: duckdb.DuckDBPyConnection, suite: Suite, wanted: str) -> Base | None:
    """The report that this one is compared with; None where there is no earlier one.

    `wanted`: `last`, a date (the last report of that day or before), the beginning of a run's id,
    or the folder of another lake, whose newest results are taken.

    Raises SuiteError where there is no such report.
    """
    if wanted != LAST and "/" in wanted:
        rows = _read_results(suite, wanted)
        show_rows(connection, "results", rows.with_columns(reported_at=pl.lit(_FIRST)))
        return Base(_FIRST, f"the lake {wanted}", wanted, rows["reported_at"][0])
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


def find_newest_report(connection: duckdb.DuckDBPyConnection, suite: Suite) -> datetime:
    """When the newest results of the suite were kept; there must be some."""
    return _list_reports(connection, suite)[0].reported_at


def _list_reports(connection: duckdb.DuckDBPyConnection, suite: Suite) -> list[Base]:
    """The suite's reports that kept results, newest first."""
    listed = select_frame(
        connection,
        "select distinct reported_at, run_id from stg_results where suite = $suite "
        "order by reported_at desc",
        "stg_results",
        {"suite": suite.name},
    )
    return [Base(row["reported_at"], row["run_id"] or "") for row in listed.iter_rows(named=True)]


def _find_report(reports: list[Base], suite: Suite, wanted: str) -> Base:
    """The newest of these reports of a day or before, or of a run whose id begins so."""
    matching = [
        report
        for report in reports
        if (
            report.reported_at.strftime("%Y-%m-%d") <= wanted
            if _DATE.fullmatch(wanted)
            else report.name.startswith(wanted)
        )
    ]
    if not matching:
        known = ", ".join(f"{r.name} of {r.reported_at:%Y-%m-%d}" for r in reports[:5])
        raise SuiteError(
            f"--compare {wanted}: no earlier report of suite {suite.name} is that; expected "
            f"`last`, a date, a run or another lake's folder; reports kept: {known or 'none yet'}"
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


def list_come_and_gone(
    connection: duckdb.DuckDBPyConnection, suite: Suite, base: datetime
) -> list[dict[str, Any]]:
    """The judges and models that either the newest report has or that of `base`, not both."""
    return list(
        select_frame(
            connection,
            read_sql("queries/come_and_gone.sql"),
            "come_and_gone",
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


def show_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    """Let the connection's own rows of a table, those of one suite, hold these too."""
    connection.register("more_rows", rows.to_arrow())
    connection.execute(f"insert into stg_{table} by name from more_rows")  # a name of TABLES
    connection.unregister("more_rows")
