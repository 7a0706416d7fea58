"""What is left to do: cases wanted minus verdicts present, as shard files. Asking is `tasks.judging.shard`, scoring `tasks.metrics.shard`."""

import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl

from tasks.judging.protocols import Identity
from tasks.lake import Lake, append_records, append_rows, write_whole
from tasks.reports.warehouse import keep_result, open_warehouse, run_sql, select_file, select_frame
from tasks.suite import Scope, Suite, identify_all

RETRIED = ("failed", "missing_image")
"""Statuses that are asked again in the next run without being told to."""
CASES_PER_SHARD = 10_000
SCORES_PER_SHARD = 250_000


@dataclass(frozen=True)
class Work:
    """What one judge or metric has left: `shards` are files of `n_pending` cases together, none before they were written."""

    identity: Identity
    n_wanted: int
    n_pending: int
    shards: tuple[Path, ...] = ()


def find_work(lake: Lake, suite: Suite, scope: Scope, retry: tuple[str, ...] = ()) -> list[Work]:
    """Count what each judge and metric of `suite` (already narrowed) has left, and write nothing."""
    connection = open_warehouse(lake)
    return [_count(connection, identity, suite, scope, retry) for identity in identify_all(suite)]


def write_work(lake: Lake, suite: Suite, scope: Scope, run_id: str, retry: tuple[str, ...] = ()) -> list[Work]:
    """Record the cases this run wants and write what is left of them as shard files of about equal cost."""
    connection = open_warehouse(lake)
    works = [_write(connection, lake, identity, suite, scope, run_id, retry) for identity in identify_all(suite)]
    pending = {work.identity.alias: work.n_pending for work in works if work.identity.kind == "judge"}
    write_whole(plan_file(lake, run_id), json.dumps(pending).encode())
    return works


def plan_file(lake: Lake, run_id: str) -> Path:
    """JSON of a run: judge alias -> cases it has to judge, for whoever shows progress."""
    return lake.work_folder(run_id) / "plan.json"


def register_judges(lake: Lake, suite: Suite) -> bool:
    """Make the suite's judges and metrics its current ones in the lake; True where that changed something."""
    connection = open_warehouse(lake)
    text = "select alias, judge_id, reading, benchmarks, tasks from stg_judges where suite = $suite order by alias"
    held = run_sql(connection, text, "current judges", {"suite": suite.name}).fetchall()
    wanted = sorted(identify_all(suite), key=lambda identity: identity.alias)
    if held == [(one.alias, one.judge_id, one.reading, [*one.benchmarks], [*one.tasks]) for one in wanted]:
        return False
    now = datetime.now(UTC)
    append_records(lake, "judges", [
        {
            "judge_id": one.judge_id, "reading": one.reading, "kind": one.kind, "alias": one.alias, "suite": suite.name,
            "call_signature": one.call_signature, "reading_signature": one.reading_signature, "tasks": [*one.tasks],
            "benchmarks": [*one.benchmarks], "registered_at": now,
        }
        for one in wanted
    ])  # fmt: skip
    return True


def _count(connection: duckdb.DuckDBPyConnection, identity: Identity, suite: Suite, scope: Scope, retry: tuple[str, ...]) -> Work:
    """Leave the tables `wanted_cases` and `pending` of one judge in the connection, and count them."""
    parameters = {
        "benchmarks": [name for name in identity.benchmarks if name in suite.benchmarks],
        "tasks": [*identity.tasks],
        "item_limit": scope.limit,
        "captioner": identity.captioner,
        "criterion": identity.criterion,
        "judge_id": identity.judge_id,
        "reading": identity.reading,
        "retry": [*RETRIED, *retry],
    }
    keep_result(connection, "queries/wanted_cases.sql", "wanted_cases", parameters)
    pending = "pending_scores" if identity.kind == "metric" else "pending_cases"
    keep_result(connection, f"queries/{pending}.sql", "pending", parameters)
    text = "select (select count(*) from wanted_cases) as n_wanted, (select count(*) from pending) as n_pending"
    n_wanted, n_pending = select_frame(connection, text, "counts").row(0)
    return Work(identity, n_wanted, n_pending)


def _write(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    identity: Identity,
    suite: Suite,
    scope: Scope,
    run_id: str,
    retry: tuple[str, ...],
) -> Work:
    work = _count(connection, identity, suite, scope, retry)
    if identity.kind == "judge":
        _record_cases(connection, lake, identity, run_id)
    frame = select_frame(connection, "select * from pending", "pending")
    rows = SCORES_PER_SHARD if identity.kind == "metric" else CASES_PER_SHARD
    folder = lake.work_folder(run_id)
    return replace(work, shards=tuple(_write_shards(folder, identity.alias, frame, rows)))


def _record_cases(connection: duckdb.DuckDBPyConnection, lake: Lake, identity: Identity, run_id: str) -> None:
    new = select_file(connection, "queries/new_cases.sql", {"judge_id": identity.judge_id})
    stamp = {"judge_id": pl.lit(identity.judge_id), "run_id": pl.lit(run_id), "planned_at": pl.lit(datetime.now(UTC))}
    append_rows(lake, "cases", new.with_columns(**stamp))


def _write_shards(folder: Path, alias: str, frame: pl.DataFrame, rows: int) -> Iterator[Path]:
    """Consecutive slices of about equal size."""
    for number, (start, end) in enumerate(itertools.pairwise(_cut(frame, rows))):
        path = folder / f"{alias}-{number:04d}.parquet"
        write_whole(path, _parquet(frame.slice(start, end - start)))
        yield path


def _cut(frame: pl.DataFrame, rows: int) -> list[int]:
    """Where slices begin, and the end; rows that make equal requests lie side by side and stay together, so each is asked once."""
    asked = pl.struct("prompt", "answer", pl.col("references").list.sort(), "caption")
    groups = frame.select(asked.rle_id()).to_series()
    shards = -(-frame.height // rows)
    cuts = {int(groups.search_sorted(groups[frame.height * number // shards])) for number in range(shards)}
    return sorted({*cuts, frame.height})


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
