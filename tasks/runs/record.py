"""The history of runs: one row in `runs` for each run, however it ended. What a run does is in the
flows; the lines about its end are `tasks.runs.summary`.

A run holds the lease `run-<run_id>` from its first row to its last. A stale one
belongs to a lost run; the next run writes the end of the lost one. A run that was wrongly taken for
lost (its machine slept) writes a later row at its own end, and that row counts.
"""

import contextlib
import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from judgelake.tasks.engine.shard import ShardResult
from judgelake.tasks.errors import ExitCode, LakeError, RunError, find_code
from judgelake.tasks.lake.cleanup import remove_retired
from judgelake.tasks.lake.lake import Lake, append_records
from judgelake.tasks.lake.leases import (
    HERE,
    RUN,
    Lease,
    SteadyClock,
    Surroundings,
    hold_leases,
    is_stale,
    list_leases,
    name_lease_of_run,
    remove_lease,
)
from judgelake.tasks.lake.processes import remove_abandoned_folders
from judgelake.tasks.lake.stop_flag import LOST, stop_file
from judgelake.tasks.lake.storage import LakePath, read_file, remove_folder
from judgelake.tasks.sources.ingestion import IngestSummary
from judgelake.tasks.suite.suite import Suite

LOST_OUTCOME = "lost"
"""The outcome of a run that ended without writing one."""
UNDER_WAY = ("running", "reporting")
"""The outcomes that a run's row has before it ends."""


@contextlib.contextmanager
def show_life(lake: Lake, run_id: str, suite: str) -> Iterator[None]:
    """Hold the run's own lease. No other run waits for it, so it can be removed when the run has
    ended.
    """
    with hold_leases(
        lake, [name_lease_of_run(run_id)], f"run {run_id} of {suite}", 0.0, lambda _: None
    ):
        yield
    with contextlib.suppress(LakeError):  # then the lease stays, marked as released
        forget_life(lake, run_id)


def forget_life(lake: Lake, run_id: str) -> None:
    """Remove the lease of a run that has written how it ended."""
    name = name_lease_of_run(run_id)
    if not list_leases(lake, name):  # else another process holds it
        remove_lease(lake, name)


def find_lost(leases: Sequence[Lease], around: Surroundings = HERE) -> dict[str, Lease]:
    """Run id -> its lease, of the runs that gave no sign of life for too long, whose process is
    gone, or that could not write their end.

    The last ones released their lease and left it there.
    """
    stale = [
        lease
        for lease in leases
        if lease.name.startswith(RUN) and (lease.released or is_stale(lease, around))
    ]
    return {lease.name.removeprefix(RUN): lease for lease in stale}


def end_lost_runs(lake: Lake, around: Surroundings = HERE) -> None:
    """Write the row that each lost run could not write: it ended when it was last seen."""
    lost = find_lost(list_leases(lake, RUN, released=True), around)
    if not lost:
        return
    from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame

    text = (
        "select * from stg_runs where list_contains($lost, run_id) and "
        "list_contains($under_way, outcome) order by run_id"
    )
    parameters = {"lost": [*lost], "under_way": [*UNDER_WAY]}
    rows = select_frame(open_warehouse(lake, lazy=True), text, "lost runs", parameters).to_dicts()
    append_records(
        lake,
        "runs",
        [
            row
            | {
                "outcome": LOST_OUTCOME,
                "ended_at": _last_seen(lost[row["run_id"]], row["ended_at"]),
            }
            for row in rows
        ],
    )
    for lease in lost.values():
        remove_lease(lake, lease.name)


def _last_seen(lease: Lease, written_at: datetime) -> datetime:
    """A time after the row that says `running` and before any row that the run may still write."""
    return max(datetime.fromtimestamp(lease.beaten_at, UTC), written_at + timedelta(milliseconds=1))


_PACKAGES = ("judgelake", "prefect", "dask", "duckdb", "pyarrow", "polars", "pandera", "openai")
_COLUMNS = {
    "calls": "n_calls",
    "replies_reused": "n_replies_reused",
    "verdicts": "n_verdicts",
    "failed": "n_failed",
}

OVER_BUDGET = "over budget"
"""The outcome of a run that `limits.budget_usd` ended before all was judged."""


@dataclass
class RunRecord:
    """The results of a run's stages as they finish. The file `stop_flag` exists once the run was
    asked to stop.

    `write` writes the present row into the lake, with the outcome so far. `failures`: why some
    judge or metric could not run. `code`: the exit code, once it is known.
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
        """Whether it was asked to stop because another run took over a lease."""
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
        """The outcome of the run if it ends now."""
        if self.stopped:
            return "stopped"
        if self.failures:
            return "failed"
        return OVER_BUDGET if self.over_budget else "done" if self.stages else "nothing to do"

    @property
    def cost_usd(self) -> float | None:
        """What the calls cost; None where the price of some is not known."""
        return (
            None
            if any(shard.n_unpriced for shard in self.shards)
            else sum(shard.cost_usd for shard in self.shards)
        )


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
def record_run(
    lake: Lake, suite: Suite, run_id: str, stages: tuple[str, ...]
) -> Iterator[RunRecord]:
    """Write the run's row at its start and again at its end, failed or not; write `lake.duckdb`
    again, and remove its work folder and part files that were replaced long ago.

    Also writes the last row of each lost run, and removes temporary folders of killed processes.
    """
    clock = SteadyClock()
    started = clock.now()

    def write(outcome: str) -> None:
        append_records(lake, "runs", [_row(suite, record, started, outcome)])

    record = RunRecord(run_id, stages, stop_file(lake, run_id), write, clock=clock)
    end_lost_runs(lake)
    remove_abandoned_folders()
    try:
        with show_life(lake, run_id, suite.name) if stages else contextlib.nullcontext():
            if stages:
                write(UNDER_WAY[0])
            yield record
            write(record.outcome)
    except BaseException as error:
        record.code = find_code(error)
        with contextlib.suppress(
            LakeError
        ):  # where nothing can be written, the error says so, and the next run writes the row
            outcome = _name_outcome(record, error)
            remove_folder(lake.work_folder(run_id))  # room for the row on a full disk
            write(outcome)
            forget_life(lake, run_id)
        raise
    finally:
        from judgelake.tasks.warehouse.lake_file import keep_lake_file

        with contextlib.suppress(LakeError):
            remove_folder(lake.work_folder(run_id))
            keep_lake_file(lake)
            if stages:
                remove_retired(lake)


def _name_outcome(record: RunRecord, error: BaseException) -> str:
    """The outcome of a run that ended with `error`; a RunError carries the exit code of a run that
    came to its end.
    """
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
