"""Whom a report holds judges to: is there such a rater? How its samples become a target is `tasks.reports.scored_rows`."""

import duckdb

from tasks.errors import SuiteError
from tasks.lake import Lake
from tasks.reports.warehouse import open_warehouse, select_frame
from tasks.settings import nearest
from tasks.suite import Suite

HUMAN = "human"


def check_against(lake: Lake, suite: Suite) -> None:
    """Raise SuiteError where the lake knows no rater of the name that `report.against` gives: neither a judge nor a recorded one.

    Recorded judges are known once their benchmark is ingested, the suite's own once they are registered: check then, before a call is paid.
    """
    if suite.report.against != HUMAN:
        check_rater(open_warehouse(lake, lazy=True), suite.report.against)


def check_rater(connection: duckdb.DuckDBPyConnection, against: str) -> None:
    """The same of an open lake."""
    known = {HUMAN, *select_frame(connection, "select unnest([alias, judge]) as name from core_judges", "raters")["name"]}
    if against not in known:
        raise SuiteError(
            f"report: against: {against!r} is no rater of this lake; {nearest(against, known)}; name `human` or a judge's alias"
        )


def name_target(suite: Suite) -> str:
    """The column `against` of report tables: the rater, with the numbers of its samples where the suite chooses them."""
    chosen = "+".join(map(str, suite.report.against_samples))
    return f"{suite.report.against}:{chosen}" if chosen else suite.report.against
