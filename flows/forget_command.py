"""`judgelake forget`: tell what goes with a judge or a benchmark, and with `--yes` take it out of
the lake.
"""

import argparse
import sys

from judgelake.tasks.errors import ExitCode
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.runs.log import USUAL, hold_for_run
from judgelake.tasks.runs.record import new_run_id
from judgelake.tasks.warehouse.removal import (
    Forgetting,
    describe_tables,
    forget,
    plan_benchmark,
    plan_judge,
)


def run_forget(options: argparse.Namespace) -> int:
    """Tell, or with `--yes` forget, under the leases of all who write such rows; returns the exit
    code.
    """
    lake = open_lake(options.lake)  # there must be one
    if options.yes:
        lake = open_lake(options.lake, create=True)
    plan = _plan(lake, options)
    if options.yes and plan.removals:
        with hold_for_run(lake, plan.leases, "forget", new_run_id(), USUAL):
            plan = _plan(lake, options)
            forget(lake, plan)
    sys.stdout.write("\n".join(_describe(plan, options)) + "\n")
    return ExitCode.DONE


def _plan(lake: Lake, options: argparse.Namespace) -> Forgetting:
    return (
        plan_judge(lake, options.judge)
        if options.judge
        else plan_benchmark(lake, options.benchmark)
    )


def _describe(plan: Forgetting, options: argparse.Namespace) -> list[str]:
    what = f"judge {options.judge}" if options.judge else f"benchmark {options.benchmark}"
    if not plan.removals:
        return [f"{what}: the lake has no rows of it"]
    rows = sum(n_rows for n_rows, _ in plan.tables.values())
    said = "forgotten" if options.yes else "would be forgotten"
    after = (
        "its files are deleted by `judgelake compact` in an hour"
        if options.yes
        else "add --yes to do it"
    )
    cost = (
        f"; its replies have cost {plan.cost_usd:.2f} USD, and asking again costs that again"
        if plan.cost_usd
        else ""
    )
    return [
        f"{what}: {rows:,} rows {said}{cost}",
        *describe_tables(plan.tables),
        f"records of runs stay; {after}",
    ]
