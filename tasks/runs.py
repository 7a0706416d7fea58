"""The history of runs: one row in `runs` a run, however it ended. What a run does is the flows' matter."""

import json
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tasks.ingestion import IngestSummary
from tasks.judging.shard import ShardResult, stop_file
from tasks.lake import Lake, append_records
from tasks.suite import Suite

_PACKAGES = ("judgelake", "prefect", "dask", "duckdb", "pyarrow", "polars", "pandera", "openai")


@dataclass
class RunRecord:
    """What the stages of a run hand in as they finish; `stop_flag` is there once somebody asked the run to stop.

    `write` puts the row as it stands into the lake, with the outcome so far.
    """

    stop_flag: Path
    write: Callable[[str], None]
    ingests: Sequence[IngestSummary] = ()
    shards: Sequence[ShardResult] = ()
    page: Path | None = None

    @property
    def stopped(self) -> bool:
        """Whether the run was asked to stop before it was done."""
        return self.stop_flag.exists()


def new_run_id() -> str:
    """An id that sorts by time: UTC to the second and six random hex digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


@contextmanager
def record_run(lake: Lake, suite: Suite, run_id: str, stages: tuple[str, ...]) -> Iterator[RunRecord]:
    """Write the run's row at its start and again at its end, failed or not; remove its work folder."""
    started, outcome = datetime.now(UTC), "failed"

    def write(outcome: str) -> None:
        append_records(lake, "runs", [_row(suite, run_id, stages, record, started, outcome)])

    record = RunRecord(stop_file(lake, run_id), write)
    if stages:
        write("running")
    try:
        yield record
        outcome = "stopped" if record.stopped else "done" if stages else "nothing to do"
    finally:
        write(outcome)
        shutil.rmtree(lake.work_folder(run_id), ignore_errors=True)


def _row(
    suite: Suite, run_id: str, stages: tuple[str, ...], record: RunRecord, started: datetime, outcome: str
) -> dict[str, object]:
    shards = record.shards
    statuses = [pair for shard in shards for pair in shard.statuses]
    return {
        "run_id": run_id,
        "suite": suite.name,
        "suite_digest": suite.digest,
        "stage": "+".join(stages),
        "started_at": started,
        "ended_at": datetime.now(UTC),
        "outcome": outcome,
        "n_calls": sum(shard.n_calls for shard in shards),
        "n_replies_reused": sum(shard.n_replies_reused for shard in shards),
        "n_verdicts": sum(count for _, count in statuses),
        "n_failed": sum(count for status, count in statuses if status == "failed"),
        "prompt_tokens": sum(shard.prompt_tokens for shard in shards),
        "completion_tokens": sum(shard.completion_tokens for shard in shards),
        "seed": suite.report.seed,
        "versions": json.dumps({name: version(name) for name in _PACKAGES}),
    }
