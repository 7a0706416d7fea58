"""Shares of items of which a label holds, wrong ground truths for one (CHIRP, section 5.2.3). The intervals are `tasks.stats.proportions`."""

from datetime import UTC, datetime

import duckdb
import polars as pl

from schemas.tables import TABLES
from tasks.reports.resampled import Row
from tasks.reports.warehouse import select_file
from tasks.stats.proportions import normal_interval, wilson_interval
from tasks.suite import Suite


def share_labels(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `item_label_shares`."""
    now = datetime.now(UTC)
    rows = [
        {"suite": suite.name, "benchmark": benchmark, **row, **_find_ends(row["n_holds"], row["n"]), "reported_at": now}
        for benchmark in sorted(suite.benchmarks)
        for row in select_file(connection, "queries/item_labels.sql", {"benchmark": benchmark}).iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=TABLES["item_label_shares"].polars_schema)


def _find_ends(n_holds: int, n: int) -> Row:
    normal, wilson = normal_interval(n_holds, n), wilson_interval(n_holds, n)
    return {
        "share": normal.share, "normal_low": normal.low, "normal_high": normal.high,
        "wilson_low": wilson.low, "wilson_high": wilson.high,
    }  # fmt: skip
