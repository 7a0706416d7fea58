"""The tables on raters' agreement, two at a time and all together, of the same labels. What they hold: `kappas`, `reliabilities`."""

import duckdb
import polars as pl

from tasks.reports.kappas import measure_kappas
from tasks.reports.reliabilities import measure_reliabilities
from tasks.reports.resampled import build_tables
from tasks.suite import Suite


def measure_agreement(connection: duckdb.DuckDBPyConnection, suite: Suite) -> dict[str, pl.DataFrame]:
    """Rows of the tables `kappas` and `reliabilities`."""
    describe = {"kappas": measure_kappas, "reliabilities": measure_reliabilities}
    return build_tables(connection, suite, ("queries/rater_labels.sql", {}), describe)
