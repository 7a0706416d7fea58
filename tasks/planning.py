"""What is left to judge: cases wanted minus verdicts present, as shard files.

Asking is `tasks.judging.shard`; what metrics have left is `tasks.metrics.planning`.
"""

import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl

from tasks.casework import keep_wanted
from tasks.judging.protocols import Identity
from tasks.lake import Lake, append_records, append_rows, write_whole
from tasks.metrics.planning import find_pending, name_ingests
from tasks.reports.warehouse import keep_result, open_warehouse, run_sql, select_file, select_frame
from tasks.suite import Scope, Suite, identify_all

RETRIED = ("failed", "missing_image")
"""Statuses that are asked again in the next run without being told to."""
_ASKED = ("prompt", "answer", "other_answer", "caption", "images")
CASES_PER_SHARD = 10_000


@dataclass(frozen=True)
class Work:
    """What one judge or metric has left: `shards` are files of `n_pending` cases together, none before they were written.

    `matchups` are pairs drawn for it that the lake does not hold yet.
    """

    identity: Identity
    n_wanted: int
    n_pending: int
    shards: tuple[Path, ...] = ()
    matchups: pl.DataFrame | None = None


def find_work(lake: Lake, suite: Suite, scope: Scope, retry: tuple[str, ...] = ()) -> list[Work]:
    """Count what each judge and metric of `suite` (already narrowed) has left, and write nothing."""
    connection = open_warehouse(lake, lazy=True)
    scores = [Work(one.identity, one.n_wanted, len(one.row_ids)) for one in find_pending(connection, suite, scope)]
    return scores + [_count(connection, identity, suite, scope, retry) for identity in _identify_judges(suite)]


def write_work(lake: Lake, suite: Suite, scope: Scope, run_id: str, retry: tuple[str, ...] = ()) -> list[Work]:
    """Record the cases that judges want in this run and write what is left of them as shard files of about equal cost."""
    connection = open_warehouse(lake, lazy=True)
    works = [_write(connection, lake, identity, suite, scope, run_id, retry) for identity in _identify_judges(suite)]
    pending = {work.identity.alias: work.n_pending for work in works}
    file = plan_file(lake, run_id)
    before = json.loads(file.read_bytes()) if file.exists() else {}  # of the run's earlier stages
    write_whole(file, json.dumps(before | pending).encode())
    return works


def plan_file(lake: Lake, run_id: str) -> Path:
    """JSON of a run: judge alias -> cases it has to judge, for whoever shows progress."""
    return lake.work_folder(run_id) / "plan.json"


def register_judges(lake: Lake, suite: Suite) -> bool:
    """Make the suite's judges and metrics its current ones in the lake; True where that changed something."""
    connection = open_warehouse(lake, lazy=True)
    text = "select alias, judge_id, reading, benchmarks, tasks from stg_judges where suite = $suite order by alias, judge_id"
    held = run_sql(connection, text, "current judges", {"suite": suite.name}).fetchall()
    wanted = sorted(identify_all(suite, name_ingests(connection)), key=lambda identity: (identity.alias, identity.judge_id))
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


def _identify_judges(suite: Suite) -> list[Identity]:
    return [identity for identity in identify_all(suite) if identity.kind != "metric"]


def _count(connection: duckdb.DuckDBPyConnection, identity: Identity, suite: Suite, scope: Scope, retry: tuple[str, ...]) -> Work:
    """Leave the tables `wanted_cases` and `pending` of one judge in the connection, and count them."""
    benchmarks = [name for name in identity.benchmarks if name in suite.benchmarks]
    matchups = keep_wanted(connection, identity, suite.name, benchmarks, scope.limit)
    keep_result(connection, "queries/pending_cases.sql", "pending", {
        "judge_id": identity.judge_id, "reading": identity.reading, "retry": [*RETRIED, *retry], "insist": "failed" in retry,
        "run_id": None,
    })  # fmt: skip
    text = "select (select count(*) from wanted_cases) as n_wanted, (select count(*) from pending) as n_pending"
    n_wanted, n_pending = select_frame(connection, text, "counts").row(0)
    return Work(identity, n_wanted, n_pending, matchups=matchups)


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
    _record_cases(connection, lake, work, run_id)
    frame = select_frame(connection, "select * from pending", "pending")
    folder = lake.work_folder(run_id)
    return replace(work, shards=tuple(_write_shards(folder, identity.alias, frame, CASES_PER_SHARD)), matchups=None)


def _record_cases(connection: duckdb.DuckDBPyConnection, lake: Lake, work: Work, run_id: str) -> None:
    """Keep the matchups that were drawn, then the cases that rest on them."""
    now, run = pl.lit(datetime.now(UTC)), pl.lit(run_id)
    if work.matchups is not None:
        append_rows(lake, "matchups", work.matchups.with_columns(run_id=run, drawn_at=now))
    judge_id = work.identity.judge_id
    new = select_file(connection, "queries/new_cases.sql", {"judge_id": judge_id})
    append_rows(lake, "cases", new.with_columns(judge_id=pl.lit(judge_id), run_id=run, planned_at=now))


def _write_shards(folder: Path, alias: str, frame: pl.DataFrame, rows: int) -> Iterator[Path]:
    """Consecutive slices of about equal size."""
    for number, (start, end) in enumerate(itertools.pairwise(_cut(frame, rows))):
        path = folder / f"{alias}-{number:04d}.parquet"
        write_whole(path, _parquet(frame.slice(start, end - start)))
        yield path


def _cut(frame: pl.DataFrame, rows: int) -> list[int]:
    """Where slices begin, and the end; rows that make equal requests lie side by side and stay together, so each is asked once."""
    asked = pl.struct(*(name for name in _ASKED if name in frame.columns), pl.col("references").list.sort())
    groups = frame.select(asked.rle_id()).to_series()
    shards = -(-frame.height // rows)
    cuts = {int(groups.search_sorted(groups[frame.height * number // shards])) for number in range(shards)}
    return sorted({*cuts, frame.height})


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
