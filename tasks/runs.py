"""The history of runs: one row in `runs` a run, however it ended. What a run does is the flows' matter, how it is told `tasks.run_end`'s."""

import contextlib
import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version

from tasks.clock import SteadyClock
from tasks.errors import LakeError, RunError
from tasks.exit_codes import ExitCode, find_code
from tasks.ingestion import IngestSummary
from tasks.judging.shard import ShardResult
from tasks.judging.stopping import LOST, stop_file
from tasks.lake import Lake, LakePath, append_records
from tasks.lost_runs import UNDER_WAY, end_lost_runs, forget_life, show_life
from tasks.retiring import remove_retired
from tasks.storage import read_file, remove_folder
from tasks.suite import Suite

_PACKAGES = ("judgelake", "prefect", "dask", "duckdb", "pyarrow", "polars", "pandera", "openai")
_COLUMNS = {"calls": "n_calls", "replies_reused": "n_replies_reused", "verdicts": "n_verdicts", "failed": "n_failed"}

OVER_BUDGET = "over budget"
"""The outcome of a run that `limits.budget_usd` ended before all was judged."""


@dataclass
class RunRecord:
    """What the stages of a run hand in as they finish; `stop_flag` is there once somebody asked the run to stop.

    `write` puts the row as it stands into the lake, with the outcome so far. `failures`: why some judge or metric could not run.
    `code`: the exit code, once it is known.
    """

    run_id: str
    stages: tuple[str, ...]
    stop_flag: LakePath
    write: Callable[[str], None]
    ingests: Sequence[IngestSummary] = ()
    shards: Sequence[ShardResult] = ()
    failures: Sequence[str] = ()
    code: ExitCode | None = None
    clock: SteadyClock = field(default_factory=SteadyClock)

    @property
    def stopped(self) -> bool:
        """Whether the run was asked to stop before it was done."""
        return read_file(self.stop_flag) is not None

    @property
    def lost(self) -> bool:
        """Whether it was asked to because another run took over a lease."""
        return read_file(self.stop_flag) == LOST

    @property
    def over_budget(self) -> bool:
        """Whether requests were left because the suite's budget was reached."""
        return any(shard.over_budget for shard in self.shards)

    @property
    def n_open(self) -> int:
        """Cases that wait for a batch at the provider."""
        return sum(shard.n_open for shard in self.shards)

    @property
    def outcome(self) -> str:
        """How the run ended, if it ends now."""
        if self.stopped:
            return "stopped"
        if self.failures:
            return "failed"
        return OVER_BUDGET if self.over_budget else "done" if self.stages else "nothing to do"

    @property
    def cost_usd(self) -> float | None:
        """What the calls cost; None where the price of some is not known."""
        return None if any(shard.n_unpriced for shard in self.shards) else sum(shard.cost_usd for shard in self.shards)


def count_shards(shards: Sequence[ShardResult]) -> dict[str, int]:
    """What shards did together: calls, verdicts and tokens."""
    statuses: Counter[str] = Counter()
    for shard in shards:
        statuses.update(dict(shard.statuses))
    return {
        "calls": sum(shard.n_calls for shard in shards),
        "replies_reused": sum(shard.n_replies_reused for shard in shards),
        "verdicts": statuses.total(),
        "failed": statuses["failed"],
        "prompt_tokens": sum(shard.prompt_tokens for shard in shards),
        "completion_tokens": sum(shard.completion_tokens for shard in shards),
    }


def new_run_id() -> str:
    """An id that sorts by time: UTC to the second and six random hex digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


@contextmanager
def record_run(lake: Lake, suite: Suite, run_id: str, stages: tuple[str, ...]) -> Iterator[RunRecord]:
    """Write the run's row at its start and again at its end, failed or not; remove its work folder and what was retired long ago.

    The rows of earlier runs that ended without one are written, too.
    """
    clock = SteadyClock()
    started = clock.now()

    def write(outcome: str) -> None:
        append_records(lake, "runs", [_row(suite, record, started, outcome)])

    record = RunRecord(run_id, stages, stop_file(lake, run_id), write, clock=clock)
    end_lost_runs(lake)
    try:
        with show_life(lake, run_id, suite.name) if stages else contextlib.nullcontext():
            if stages:
                write(UNDER_WAY[0])
            yield record
            write(record.outcome)
    except BaseException as error:
        record.code = find_code(error)
        with contextlib.suppress(LakeError):  # where nothing can be written, the error says so, and the next run writes the row
            outcome = _name_outcome(record, error)
            remove_folder(lake.work_folder(run_id))  # room for the row on a full disk
            write(outcome)
            forget_life(lake, run_id)
        raise
    finally:
        with contextlib.suppress(LakeError):
            remove_folder(lake.work_folder(run_id))
            if stages:
                remove_retired(lake)


def _name_outcome(record: RunRecord, error: BaseException) -> str:
    """A RunError is how a run that came to its end tells its exit code."""
    if isinstance(error, RunError):
        return record.outcome
    return "stopped" if record.code == ExitCode.STOPPED else "failed"


def _row(suite: Suite, record: RunRecord, started: datetime, outcome: str) -> dict[str, object]:
    return {
        "run_id": record.run_id,
        "suite": suite.name,
        "suite_digest": suite.digest,
        "stage": "+".join(record.stages),
        "started_at": started,
        "ended_at": record.clock.now(),
        "outcome": outcome,
        "exit_code": record.code,
        **{_COLUMNS.get(name, name): count for name, count in count_shards(record.shards).items()},
        "cost_usd": record.cost_usd,
        "seed": suite.report.seed,
        "versions": json.dumps({name: version(name) for name in _PACKAGES}),
    }
