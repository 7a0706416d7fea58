"""`judgelake forget`: lists the rows of a judge or a benchmark, and with `--yes` removes them from
the lake.
"""

import argparse
import sys

from judgelake.tasks.errors import ExitCode
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.runs.log import DEFAULT_OPTIONS, hold_for_run
from judgelake.tasks.runs.record import new_run_id
from judgelake.tasks.warehouse.lake_file import keep_lake_file
from judgelake.tasks.warehouse.removal import (
    Forgetting,
    describe_tables,
    forget,
    plan_benchmark,
    plan_judge,
)


def run_forget(options: argparse.Namespace) -> int:
    """List the rows, or with `--yes` remove them under the leases of every run that writes such
    rows; returns the exit code.
    """
    lake = open_lake(options.lake)  # raises where there is no lake
    if options.yes:
        lake = open_lake(options.lake, create=True)
    plan = _plan(lake, options)
    if options.yes and plan.removals:
        with hold_for_run(lake, plan.leases, "forget", new_run_id(), DEFAULT_OPTIONS):
            plan = _plan(lake, options)
            forget(lake, plan)
            keep_lake_file(lake)
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
    done = "forgotten" if options.yes else "would be forgotten"
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
        f"{what}: {rows:,} rows {done}{cost}",
        *describe_tables(plan.tables),
        f"records of runs stay; {after}",
    ]
