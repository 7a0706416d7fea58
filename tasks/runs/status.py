"""The status of a lake: who holds which lease, which runs are in progress and how far, how the last
ones ended. Writes nothing.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb

from judgelake.tasks.backends.openai.batch_book import count_open
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.leases import HERE, RUN, Lease, Surroundings, is_stale, list_leases
from judgelake.tasks.lake.storage import list_files, read_file
from judgelake.tasks.planning.cases import plan_file
from judgelake.tasks.runs.record import LOST_OUTCOME, UNDER_WAY, find_lost
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file, select_frame

if TYPE_CHECKING:
    import polars as pl

N_RUNS = 10


@dataclass(frozen=True)
class HeldLease:
    """A lease: who holds it, and whether it is stale."""

    name: str
    owner: str
    host: str
    pid: int
    command: str
    held_since: datetime
    seen_s_ago: float
    stale: bool


@dataclass(frozen=True)
class OpenRun:
    """A run that has not written its end: `alive` where it holds a lease that is not stale, `lost`
    where the run's own lease is stale.

    Neither: the run holds no lease; it starts, waits, or was killed.
    """

    run_id: str
    suite: str
    started_at: datetime
    alive: bool
    lost: bool
    n_judged: int
    n_to_judge: int


@dataclass(frozen=True)
class LakeStatus:
    """All that `judgelake status` shows; `runs` are the last ten, `suites` and the `batches` that
    are open at a provider have one row each.
    """

    leases: tuple[HeldLease, ...]
    under_way: tuple[OpenRun, ...]
    runs: tuple[dict[str, Any], ...]
    suites: tuple[dict[str, Any], ...]
    batches: tuple[dict[str, Any], ...] = ()

    def as_json(self) -> str:
        """The status as JSON."""
        return json.dumps(asdict(self), default=lambda value: value.isoformat(), ensure_ascii=False)


def read_status(lake: Lake, around: Surroundings = HERE) -> LakeStatus:
    """The state of a lake now."""
    connection = open_warehouse(lake, lazy=True)
    leases = list_leases(lake, released=True)
    last = (
        "select run_id, suite, stage, outcome, exit_code, started_at, n_calls, n_verdicts, "
        "cost_usd, "
    )
    last += (
        "round(epoch(ended_at) - epoch(started_at), 1) as seconds from stg_runs order by "
        "started_at desc limit $n"
    )
    runs = select_frame(connection, last, "last runs", {"n": N_RUNS}).to_dicts()
    suites = select_file(connection, "queries/suite_totals.sql").to_dicts()
    under_way = _find_open(lake, connection, leases, around)
    lost = {run.run_id for run in under_way if run.lost}
    return LakeStatus(
        tuple(
            _describe(lease, around)
            for lease in leases
            if not (lease.released or lease.name.startswith(RUN))
        ),
        under_way,
        tuple(row | {"outcome": LOST_OUTCOME} if row["run_id"] in lost else row for row in runs),
        tuple(
            row | {"last_outcome": LOST_OUTCOME} if row["last_run"] in lost else row
            for row in suites
        ),
        tuple(_name_judges(connection, count_open(connection)).to_dicts()),
    )


def _name_judges(connection: duckdb.DuckDBPyConnection, batches: "pl.DataFrame") -> "pl.DataFrame":
    """The batches with `aliases`, all that their judge has; null where it has none."""
    text = (
        "select judge_id, string_agg(distinct alias, ', ' order by alias) as aliases "
        "from stg_judges group by all"
    )
    named = select_frame(connection, text, "aliases")
    return batches.join(named, on="judge_id", how="left", maintain_order="left")


def _describe(lease: Lease, around: Surroundings) -> HeldLease:
    since = datetime.fromtimestamp(lease.since, UTC)
    seen_s_ago = round(max(0.0, around.wall() - lease.beaten_at), 1)
    stale = is_stale(lease, around)
    return HeldLease(
        lease.name, lease.owner, lease.host, lease.pid, lease.command, since, seen_s_ago, stale
    )


def _find_open(
    lake: Lake, connection: duckdb.DuckDBPyConnection, leases: Sequence[Lease], around: Surroundings
) -> tuple[OpenRun, ...]:
    lost = find_lost(leases, around)
    living = [lease.owner for lease in leases if not (lease.released or is_stale(lease, around))]
    text = (
        "select run_id, suite, started_at from stg_runs where list_contains($outcomes, "
        "outcome) order by started_at"
    )
    rows = select_frame(connection, text, "runs under way", {"outcomes": [*UNDER_WAY]}).iter_rows()
    return tuple(
        OpenRun(
            run_id,
            suite,
            started,
            any(run_id in owner for owner in living),
            run_id in lost,
            *_count(lake, run_id),
        )
        for run_id, suite, started in rows
    )


def _count(lake: Lake, run_id: str) -> tuple[int, int]:
    """The numbers of cases judged and to judge, from a run's progress files and its plan."""
    contents = [read_file(file) for file in list_files(lake.work_folder(run_id), ".progress.json")]
    judged = sum(json.loads(content)["cases"] for content in contents if content)
    plan = read_file(plan_file(lake, run_id))
    return judged, sum(json.loads(plan).values()) if plan else 0
