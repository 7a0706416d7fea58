"""Runs that ended without a word (`kill -9`, a second Ctrl-C, a machine that went away): how a run shows that it lives, and who ended none.

A run holds the lease `run-<run_id>` from its first row to its last. A stale one is a lost run's; the next run writes its end. A run that
was taken for lost and is not (its machine slept) writes a later row at its own end, and that one counts. Rows are `tasks.runs`'.
"""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from tasks.errors import LakeError
from tasks.lake import Lake, append_records
from tasks.lease_names import RUN, name_lease_of_run
from tasks.leases import Lease, hold_leases, is_stale, list_leases, remove_lease
from tasks.processes import HERE, Surroundings

LOST = "lost"
"""The outcome of a run that ended without writing one."""
UNDER_WAY = ("running", "reporting")
"""The outcomes that a run's row has before it ends."""


@contextlib.contextmanager
def show_life(lake: Lake, run_id: str, suite: str) -> Iterator[None]:
    """Hold the run's own lease: nobody waits for it, so that nothing of it stays once the run has ended."""
    with hold_leases(lake, [name_lease_of_run(run_id)], f"run {run_id} of {suite}", 0.0, lambda _: None):
        yield
    with contextlib.suppress(LakeError):  # then it stays, and says that it was released
        forget_life(lake, run_id)


def forget_life(lake: Lake, run_id: str) -> None:
    """Take away the lease of a run that has written how it ended."""
    name = name_lease_of_run(run_id)
    if not list_leases(lake, name):  # else somebody holds it
        remove_lease(lake, name)


def find_lost(leases: Sequence[Lease], around: Surroundings = HERE) -> dict[str, Lease]:
    """Run id -> its lease, of the runs that gave no sign of life for too long, whose process is gone, or that could not write their end.

    The last ones released their lease and left it there.
    """
    stale = [lease for lease in leases if lease.name.startswith(RUN) and (lease.released or is_stale(lease, around))]
    return {lease.name.removeprefix(RUN): lease for lease in stale}


def end_lost_runs(lake: Lake, around: Surroundings = HERE) -> None:
    """Write the row that each lost run could not write: it ended when it was last seen."""
    lost = find_lost(list_leases(lake, RUN, released=True), around)
    if not lost:
        return
    from tasks.reports.warehouse import open_warehouse, select_frame

    text = "select * from stg_runs where list_contains($lost, run_id) and list_contains($under_way, outcome) order by run_id"
    parameters = {"lost": [*lost], "under_way": [*UNDER_WAY]}
    rows = select_frame(open_warehouse(lake, lazy=True), text, "lost runs", parameters).to_dicts()
    append_records(
        lake, "runs", [row | {"outcome": LOST, "ended_at": _last_seen(lost[row["run_id"]], row["ended_at"])} for row in rows]
    )
    for lease in lost.values():
        remove_lease(lake, lease.name)


def _last_seen(lease: Lease, told: datetime) -> datetime:
    """After the row that says `running`, before any that the run may yet write."""
    return max(datetime.fromtimestamp(lease.beaten_at, UTC), told + timedelta(milliseconds=1))
