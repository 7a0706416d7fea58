"""`judgelake reread`: writes verdicts under a suite's changed reading from stored replies alone,
without a server, a worker or a call.
"""

import argparse
import dataclasses
import sys

from judgelake.tasks.errors import ExitCode, combine_codes
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.planning.cases import register_judges
from judgelake.tasks.planning.reread import Reread, reread_judges
from judgelake.tasks.reports.exports import is_fresh
from judgelake.tasks.runs.lease_names import name_judge_leases, name_report_leases
from judgelake.tasks.runs.log import RunOptions, hold_for_run, log_step, logged_step
from judgelake.tasks.runs.record import RunRecord, new_run_id, record_run
from judgelake.tasks.runs.summary import end_run
from judgelake.tasks.suite.suite import Scope, Suite, narrow, read_suite


def run_reread(options: argparse.Namespace) -> int:
    """Read stored replies again, build the report, print what is left; returns 3 where cases are
    left.
    """
    scope = Scope(options.limit, tuple(options.judge), tuple(options.benchmark))
    full = read_suite(options.suite)
    suite, lake, run_options = (
        narrow(full, scope),
        open_lake(options.lake),
        RunOptions(options.wait, options.log_format),
    )
    with record_run(lake, suite, new_run_id(), ("reread", "report")) as record:
        read = _read_again(lake, full, suite, scope, record, run_options)
        # cases that are left do not wait for a batch at a provider
        record.shards = [
            dataclasses.replace(shard, n_open=0) for judge in read for shard in judge.shards
        ]
        _report(lake, suite, record, run_options)
        end = end_run(lake, suite, record.stages, record)
        left = [judge for judge in read if judge.n_left]
        record.code = combine_codes([end.code, *([ExitCode.COVERAGE] if left else [])])
    left_lines = [
        f"left: {judge.alias} {judge.n_left:,} cases whose replies are not in the lake; `judgelake "
        f"run` asks for them"
        for judge in left
    ]
    sys.stdout.write("".join(f"{line}\n" for line in (*end.lines, *left_lines)))
    return record.code


def _read_again(
    lake: Lake, full: Suite, suite: Suite, scope: Scope, record: RunRecord, run_options: RunOptions
) -> list[Reread]:
    judges = dataclasses.replace(suite, metrics=())
    read = []
    with hold_for_run(lake, name_judge_leases(judges), suite.name, record.run_id, run_options):
        register_judges(lake, full)
        for judge in reread_judges(lake, judges, scope, record.run_id):
            read.append(judge)
            words = (
                f"{judge.alias} {judge.n_pending - judge.n_left:,} of {judge.n_pending:,} cases "
                f"from stored replies"
            )
            log_step(lake, record.run_id, run_options, "reread", {"says": words})
    return read


def _report(lake: Lake, suite: Suite, record: RunRecord, run_options: RunOptions) -> None:
    with hold_for_run(lake, name_report_leases(suite), suite.name, record.run_id, run_options):
        if is_fresh(lake, suite):
            return
        from judgelake.tasks.reports.build import build_report  # scipy and matplotlib

        with logged_step(lake, record.run_id, run_options, "report") as facts:
            facts["page"] = str(build_report(lake, suite))
