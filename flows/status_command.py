"""`judgelake status`: prints runs in progress, leases, stale ones, and how the last runs ended."""

import argparse
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from judgelake.tasks.errors import ExitCode, show_controls
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.runs.status import HeldLease, LakeStatus, OpenRun, read_status


def run_status(options: argparse.Namespace) -> int:
    """Print the status of the lake; returns the exit code."""
    status = read_status(open_lake(options.lake))
    text = (
        status.as_json()
        if options.format == "json"
        else show_controls("\n".join(describe_status(status)))
    )
    sys.stdout.write(f"{text}\n")
    return ExitCode.DONE


def describe_status(status: LakeStatus) -> list[str]:
    """The status as lines of text."""
    lines = (
        ["under way:", *(f"  {_describe_open(run)}" for run in status.under_way)]
        if status.under_way
        else ["nothing is under way"]
    )
    if status.leases:
        lines += ["leases:", *(f"  {_describe_lease(lease)}" for lease in status.leases)]
    lines += (
        [f"last {len(status.runs)} runs:", *(f"  {_describe_run(row)}" for row in status.runs)]
        if status.runs
        else ["no run yet"]
    )
    if status.batches:
        lines += ["batches at providers:", *(f"  {_describe_batch(row)}" for row in status.batches)]
    if status.suites:
        lines += ["suites:", *(f"  {_describe_suite(row)}" for row in status.suites)]
    return lines


def _describe_open(run: OpenRun) -> str:
    far = (
        f"judged {run.n_judged:,} of {run.n_to_judge:,} cases"
        if run.n_to_judge
        else "nothing judged yet"
    )
    return f"{run.run_id}  {run.suite}  since {_utc(run.started_at)}  {far}{_describe_life(run)}"


def _describe_life(run: OpenRun) -> str:
    if run.lost:
        return "; LOST: it ended without writing its end (run the suite again to go on)"
    return (
        ""
        if run.alive
        else "; it holds no lease: it starts, waits or was killed (run the suite again to go on)"
    )


def _describe_lease(lease: HeldLease) -> str:
    stale = "  STALE: the next run takes it over" if lease.stale else ""
    held = f"since {_utc(lease.held_since)}, seen {lease.seen_s_ago:.0f} s ago"
    return f"{lease.name}  {lease.owner}  host {lease.host}, process {lease.pid}, {held}{stale}"


def _describe_run(row: Mapping[str, Any]) -> str:
    code = "-" if row["exit_code"] is None else row["exit_code"]
    counts = (
        f"{row['n_calls']:,} calls, {row['n_verdicts']:,} verdicts, "
        f"{_describe_cost(row['cost_usd'])}, {row['seconds']:,} s"
    )
    return f"{row['run_id']}  {row['suite']}  {row['outcome']}  exit {code}  {counts}"


def _describe_batch(row: Mapping[str, Any]) -> str:
    judge = f"{row['aliases']} ({row['judge_id']})" if row["aliases"] else row["judge_id"]
    return (
        f"{row['name']}  {row['n_requests']:,} requests of judge {judge} since "
        f"{_utc(row['planned_at'])}"
    )


def _describe_suite(row: Mapping[str, Any]) -> str:
    runs = "1 run" if row["n_runs"] == 1 else f"{row['n_runs']:,} runs"
    last = f"last {row['last_outcome']} at {_utc(row['last_started_at'])}"
    return (
        f"{row['suite']}  {runs}, {last}; {row['n_calls']:,} calls, {row['n_verdicts']:,} "
        f"verdicts, {_describe_cost(row['cost_usd'])}"
    )


def _describe_cost(cost_usd: float | None) -> str:
    return "cost not known" if cost_usd is None else f"{cost_usd:.2f} USD"


def _utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
