"""`judgelake reread`: verdicts under a suite's changed reading, from the lake's replies alone; no
server, no worker, no call.
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
from judgelake.tasks.runs.log import Conduct, hold_for_run, log_step, logged_step
from judgelake.tasks.runs.record import RunRecord, new_run_id, record_run
from judgelake.tasks.runs.summary import end_run
from judgelake.tasks.suite.suite import Scope, Suite, narrow, read_suite


def run_reread(options: argparse.Namespace) -> int:
    """Read stored replies again, build the report, tell what is left; 3 where that is something."""
    scope = Scope(options.limit, tuple(options.judge), tuple(options.benchmark))
    full = read_suite(options.suite)
    suite, lake, conduct = (
        narrow(full, scope),
        open_lake(options.lake),
        Conduct(options.wait, options.log_format),
    )
    with record_run(lake, suite, new_run_id(), ("reread", "report")) as record:
        read = _read_again(lake, full, suite, scope, record, conduct)
        # what is left waits for no batch at a provider
        record.shards = [
            dataclasses.replace(shard, n_open=0) for one in read for shard in one.shards
        ]
        _report(lake, suite, record, conduct)
        end = end_run(lake, suite, record.stages, record)
        left = [one for one in read if one.n_left]
        record.code = combine_codes([end.code, *([ExitCode.COVERAGE] if left else [])])
    told = [
        f"left: {one.alias} {one.n_left:,} cases whose replies are not in the lake; `judgelake "
        f"run` asks for them"
        for one in left
    ]
    sys.stdout.write("".join(f"{line}\n" for line in (*end.lines, *told)))
    return record.code


def _read_again(
    lake: Lake, full: Suite, suite: Suite, scope: Scope, record: RunRecord, conduct: Conduct
) -> list[Reread]:
    judges = dataclasses.replace(suite, metrics=())
    read = []
    with hold_for_run(lake, name_judge_leases(judges), suite.name, record.run_id, conduct):
        register_judges(lake, full)
        for one in reread_judges(lake, judges, scope, record.run_id):
            read.append(one)
            said = (
                f"{one.alias} {one.n_pending - one.n_left:,} of {one.n_pending:,} cases "
                f"from stored replies"
            )
            log_step(lake, record.run_id, conduct, "reread", {"says": said})
    return read


def _report(lake: Lake, suite: Suite, record: RunRecord, conduct: Conduct) -> None:
    with hold_for_run(lake, name_report_leases(suite), suite.name, record.run_id, conduct):
        if is_fresh(lake, suite):
            return
        from judgelake.tasks.reports.build import build_report  # scipy and matplotlib

        with logged_step(lake, record.run_id, conduct, "report") as facts:
            facts["page"] = str(build_report(lake, suite))
