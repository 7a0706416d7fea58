"""What report tables of raters share: one set of resamples a benchmark, and how their rows are written."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl

from schemas.tables import TABLES
from tasks.digests import digest_json
from tasks.reports.warehouse import select_file
from tasks.stats.estimates import Estimate
from tasks.stats.resampling import Weights, draw_cluster_weights
from tasks.suite import Suite

Row = dict[str, object]


class Resamples(NamedTuple):
    """A benchmark's resamples of its clusters, (resamples, clusters), which all raters share, and what seeds other draws."""

    weights: Weights
    seeds: tuple[int, ...]

    def seed_rng(self, *names: str) -> np.random.Generator:
        """A generator that depends on the suite's seed, the benchmark and these names alone."""
        return np.random.default_rng([*self.seeds, *map(_hash_name, names)])


Describe = Callable[[pl.DataFrame, Resamples], Iterable[Row]]


def build_rows(
    connection: duckdb.DuckDBPyConnection,
    suite: Suite,
    table: str,
    query: tuple[str, Mapping[str, object]],
    describe: Describe,
) -> pl.DataFrame:
    """Rows of a report table: what `describe` makes of each benchmark's rows of `query`, a file and its parameters."""
    return build_tables(connection, suite, query, {table: describe})[table]


def build_tables(
    connection: duckdb.DuckDBPyConnection, suite: Suite, query: tuple[str, Mapping[str, object]], describe: Mapping[str, Describe]
) -> dict[str, pl.DataFrame]:
    """`build_rows` of several tables made of the same rows, which are read, and their resamples drawn, once."""
    stamp: Row = {
        "suite": suite.name,
        "resamples": suite.report.resamples,
        "seed": suite.report.seed,
        "reported_at": datetime.now(UTC),
    }
    rows: dict[str, list[Row]] = {table: [] for table in describe}
    for benchmark in sorted(suite.benchmarks):
        frame = select_file(connection, query[0], {"benchmark": benchmark, **query[1]})
        if frame.height:
            n_clusters = frame["cluster_code"].n_unique()  # codes are dense
            seeds = (suite.report.seed, _hash_name(benchmark))  # a benchmark's draws are its own
            weights = draw_cluster_weights(n_clusters, suite.report.resamples, np.random.default_rng(seeds))
            resamples = Resamples(weights, seeds)
            for table, own in rows.items():
                own += [_drop_open({**stamp, "benchmark": benchmark, **row}) for row in describe[table](frame, resamples)]
    return {table: pl.DataFrame(own, schema=TABLES[table].polars_schema) for table, own in rows.items()}


def group_rows(frame: pl.DataFrame, names: tuple[str, ...]) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
    """Rows that have the same values of these text columns, and the values, in the order in which they first stand."""
    for key, group in frame.group_by(names, maintain_order=True):
        yield dict(zip(names, map(str, key), strict=True)), group


def write_ends(estimate: Estimate, value: str, prefix: str = "") -> Row:
    """An estimate's value and ends as columns `value`, `<prefix>low`, `<prefix>high`."""
    return {value: estimate.value, f"{prefix}low": estimate.low, f"{prefix}high": estimate.high}


def _drop_open(row: Row) -> Row:
    """A number that is not finite is null: there is none, or it lies beyond all."""
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}


def _hash_name(name: str) -> int:
    return int(digest_json(name)[:8], 16)
