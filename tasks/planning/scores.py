"""Plans what reference metrics have left to score (answers minus scores that the lake has) and
writes it as shard files.

The scoring itself is `tasks.metrics.shard`. Metrics with the same rows left share shards, so that
each row is read and tokenised once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from judgelake.tasks.digests import digest_json
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.parquet import write_frame
from judgelake.tasks.lake.storage import LakePath, has_file
from judgelake.tasks.metrics.pairs import Ids
from judgelake.tasks.metrics.settings import MetricSettings
from judgelake.tasks.metrics.shard import CountOrder, MetricPart, ScoreOrder
from judgelake.tasks.suite.suite import Scope, Suite
from judgelake.tasks.types import Identity
from judgelake.tasks.warehouse.warehouse import (
    keep_result,
    open_warehouse,
    select_file,
    select_frame,
)

# rows of a shard file at most, which bounds a worker's memory
ROWS_PER_SHARD = 200_000


class PendingScores(NamedTuple):
    """Rows that one metric has left: `row_ids` of the connection's table `wanted_scores`,
    ascending.
    """

    settings: MetricSettings
    identity: Identity
    n_wanted: int
    row_ids: Ids


def name_ingests(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Benchmark -> 16 hex digits of a digest of what the lake currently holds of it."""
    text = "select benchmark, source, source_digest, item_limit from stg_ingests order by all"
    held: dict[str, list[object]] = {}
    for benchmark, *of_source in select_frame(connection, text, "current ingests").iter_rows():
        held.setdefault(benchmark, []).append(of_source)
    return {
        benchmark: digest_json([benchmark, sources])[:16] for benchmark, sources in held.items()
    }


def find_pending(
    connection: duckdb.DuckDBPyConnection, suite: Suite, scope: Scope
) -> list[PendingScores]:
    """Rows that each metric of `suite` (already narrowed) has left; creates the table
    `wanted_scores` in the connection.
    """
    if not suite.metrics:
        return []
    keep_result(
        connection,
        "queries/wanted_scores.sql",
        "wanted_scores",
        {"benchmarks": [*suite.benchmarks]},
    )
    ingests, every = name_ingests(connection), tuple(suite.benchmarks)
    return [
        _find_one(connection, settings, identity, scope.limit)
        for settings in suite.metrics
        for identity in settings.identify(every, ingests)
    ]


def write_scores(lake: Lake, suite: Suite, scope: Scope, run_id: str) -> list[ScoreOrder]:
    """Write the rows left to score as shard files, and beside them the documents in which metrics
    count n-grams.
    """
    connection = open_warehouse(lake, lazy=True)
    folder = lake.work_folder(run_id)
    pending = [metric for metric in find_pending(connection, suite, scope) if len(metric.row_ids)]
    parts = {
        metric.identity.judge_id: MetricPart(
            metric.settings, metric.identity, _order_counting(connection, metric, folder)
        )
        for metric in pending
    }
    images = suite.image_root(lake.root)
    return [
        ScoreOrder(lake, run_id, tuple(parts[key] for key in keys), file, images)
        for keys, file in _write_shards(connection, pending, folder)
    ]


def _find_one(
    connection: duckdb.DuckDBPyConnection,
    settings: MetricSettings,
    identity: Identity,
    item_limit: int | None,
) -> PendingScores:
    parameters = {
        "judge_id": identity.judge_id,
        "benchmarks": [*identity.benchmarks],
        "tasks": [*identity.tasks],
        "item_limit": item_limit,
        "sees_image": settings.resolve().sees_image,
    }
    wanted = select_file(connection, "queries/pending_scores.sql", parameters)
    row_ids = wanted.filter("is_pending")["row_id"].sort().to_numpy()
    return PendingScores(settings, identity, wanted.height, row_ids)


def _order_counting(
    connection: duckdb.DuckDBPyConnection, pending: PendingScores, folder: LakePath
) -> CountOrder | None:
    """The documents in which a metric counts n-grams; where these are the benchmark's references,
    they are written first. None for a metric that counts nothing.
    """
    counting = pending.settings.resolve().counting
    if counting is None:
        return None
    parameters = {"benchmark": pending.identity.benchmarks[0], "tasks": [*pending.identity.tasks]}
    documents = (
        counting.documents.file or folder / f"documents-{digest_json(parameters)[:16]}.parquet"
    )
    if not has_file(documents):
        write_frame(
            documents, select_file(connection, "queries/reference_documents.sql", parameters)
        )
    return CountOrder(documents, folder / f"counts-{pending.identity.judge_id}")


def _write_shards(
    connection: duckdb.DuckDBPyConnection, pending: Sequence[PendingScores], folder: LakePath
) -> Iterator[tuple[tuple[str, ...], LakePath]]:
    """Write the shards, each of one benchmark; yields the judge_ids that share a shard, and its
    file.
    """
    for benchmark, group in _share_rows(connection, pending):
        for number, (keys, row_ids) in enumerate(group.items()):
            pieces = np.array_split(
                np.frombuffer(row_ids, np.int64), -(-len(row_ids) // (8 * ROWS_PER_SHARD))
            )
            for at, piece in enumerate(pieces):
                path = folder / f"scores-{benchmark}-{number:02d}-{at:04d}.parquet"
                _write_rows(connection, piece, path)
                yield keys, path


def _share_rows(
    connection: duckdb.DuckDBPyConnection, pending: Sequence[PendingScores]
) -> Iterator[tuple[str, Mapping[tuple[str, ...], bytes]]]:
    """Each benchmark with judge_ids -> row ids, for metrics that have the same rows left."""
    text = (
        "select benchmark, min(row_id) as start, max(row_id) + 1 as stop from wanted_scores "
        "group by benchmark order by benchmark"
    )
    for benchmark, *ends in (
        select_frame(connection, text, "rows of benchmarks").iter_rows() if pending else ()
    ):
        sharing: dict[bytes, list[str]] = {}
        for metric in pending:
            start, stop = np.searchsorted(metric.row_ids, ends)
            if start < stop:
                sharing.setdefault(metric.row_ids[start:stop].tobytes(), []).append(
                    metric.identity.judge_id
                )
        yield benchmark, {tuple(keys): row_ids for row_ids, keys in sharing.items()}


def _write_rows(connection: duckdb.DuckDBPyConnection, row_ids: Ids, path: LakePath) -> None:
    connection.register("chosen_rows", pa.table({"row_id": row_ids}))
    rows: pl.DataFrame = select_file(connection, "queries/score_rows.sql")
    connection.unregister("chosen_rows")
    write_frame(path, rows)
