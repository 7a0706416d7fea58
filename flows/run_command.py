"""`judgelake run | ingest | judge | report`: find out what is left, start servers only for that, tell how it ended."""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import duckdb

from flows.cli import EXIT_CHECK, EXIT_COVERAGE, EXIT_STOPPED
from tasks.ingestion import find_current
from tasks.judging.shard import stop_file
from tasks.lake import Lake, open_lake
from tasks.metrics.planning import name_ingests
from tasks.planning import find_work
from tasks.reports.checks import check_lake
from tasks.reports.freshness import is_fresh, page_path
from tasks.reports.warehouse import open_warehouse, run_sql, select_file, select_frame
from tasks.runs import new_run_id, record_run
from tasks.suite import Scope, Suite, identify_all, narrow, read_suite

_TRY = (
    "select model, metric, n, round(100 * mean, 2) as mean from rpt_metrics where benchmark = '{benchmark}'",
    "select judge, status, n from rpt_coverage where benchmark = '{benchmark}'",
)


def run_stages(options: argparse.Namespace, stages: tuple[str, ...]) -> int:
    """Run `stages` of a suite and return the exit code."""
    scope = Scope(options.limit, tuple(options.judge), tuple(options.benchmark))
    full = read_suite(options.suite)
    suite = narrow(full, scope)
    lake = open_lake(options.lake, create=True)
    left = find_left(lake, full, suite, scope, stages, tuple(options.retry))
    run_id = new_run_id()
    if left in ((), ("report",)):
        _finish_here(lake, suite, run_id, left)
    else:
        _run_flow(options.suite, lake, run_id, scope, tuple(options.retry), left)
    return _tell_end(lake, suite, run_id, stages)


def find_left(
    lake: Lake, full: Suite, suite: Suite, scope: Scope, stages: tuple[str, ...], retry: tuple[str, ...]
) -> tuple[str, ...]:
    """Which of `stages` have something to do; found without a server, without prefect and without dask."""
    images, limits = suite.image_root(lake.root), suite.limits.images
    if "ingest" in stages and not all(find_current(lake, one, scope.limit, images, limits) for one in suite.benchmarks.values()):
        return stages
    left = ["judge"] if "judge" in stages and _is_judging_left(lake, full, suite, scope, retry) else []
    if "report" in stages and (left or not is_fresh(lake, suite)):
        left.append("report")
    return tuple(left)


def _is_judging_left(lake: Lake, full: Suite, suite: Suite, scope: Scope, retry: tuple[str, ...]) -> bool:
    text = "select count(*) from stg_judges where suite = $suite and list_contains($ids, judge_id || reading)"
    connection = open_warehouse(lake, lazy=True)
    identities = identify_all(full, name_ingests(connection))
    ids = [one.judge_id + one.reading for one in identities]
    held = run_sql(connection, text, "registered judges", {"suite": suite.name, "ids": ids}).fetchone()
    return (held or (0,))[0] != len(identities) or any(work.n_pending for work in find_work(lake, suite, scope, retry))


def _finish_here(lake: Lake, suite: Suite, run_id: str, left: tuple[str, ...]) -> None:
    """What needs no worker: nothing, or only the report."""
    with record_run(lake, suite, run_id, left):
        if left:
            from tasks.reports.build import build_report  # scipy and matplotlib, which "nothing to do" does not need

            build_report(lake, suite)


def _run_flow(suite_file: Path, lake: Lake, run_id: str, scope: Scope, retry: tuple[str, ...], stages: tuple[str, ...]) -> None:
    from flows.progress import show_progress
    from flows.runners import prefect_server

    sys.stderr.write(f"judgelake: {' + '.join(stages)}; starting workers\n")
    with prefect_server(), _stop_on_signal(lake, run_id), show_progress(lake, run_id):
        from flows.nightly_evaluation import nightly_evaluation  # prefect reads its settings at import

        nightly_evaluation(str(suite_file), str(lake.root), run_id, scope, retry, stages)


@contextmanager
def _stop_on_signal(lake: Lake, run_id: str) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) lets what is in flight finish and be kept; the second ends at once."""
    flag = stop_file(lake, run_id)

    def stop(number: int, _frame: FrameType | None) -> None:
        if flag.exists():
            raise KeyboardInterrupt
        flag.parent.mkdir(parents=True, exist_ok=True)
        flag.touch()
        sys.stderr.write(
            f"\njudgelake: {signal.Signals(number).name}: finishing what is in flight (30 s at most); again to end now\n"
        )

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell_end(lake: Lake, suite: Suite, run_id: str, stages: tuple[str, ...]) -> int:
    """Tell what the run did and where to look; returns the exit code."""
    connection = open_warehouse(lake, lazy=True)
    text = "select outcome, n_calls, n_replies_reused, n_verdicts, n_failed, prompt_tokens + completion_tokens, "
    text += "round(epoch(ended_at) - epoch(started_at), 1) from stg_runs where run_id = $run_id"
    outcome, calls, reused, verdicts, failed, tokens, seconds = select_frame(
        connection, text, "this run", {"run_id": run_id}
    ).row(0)
    out = sys.stdout.write
    out(f"run {run_id}: {outcome} in {seconds} s; {calls:,} calls, {reused:,} replies reused, {verdicts:,} verdicts, ")
    out(f"{failed:,} failed, {tokens:,} tokens\n")
    if outcome == "stopped":
        out("stopped before the end: what came in is kept; run the same command again to go on\n")
        return EXIT_STOPPED
    checked = _tell_checks(lake, connection)
    if "report" not in stages:
        return checked
    out(f"report: {page_path(lake, suite)}\n")
    first = next(iter(suite.benchmarks))
    for query in _TRY:
        out(f'try: judgelake sql --lake {lake.root} "{query.format(benchmark=first)}"\n')
    return max(checked, _check_coverage(connection, suite))


def _tell_checks(lake: Lake, connection: duckdb.DuckDBPyConnection) -> int:
    """5 where a check finds rows that are wrong, 0 where none or only warnings do, and say which and how to see them."""
    findings = check_lake(lake, connection)
    for finding in findings:
        kind = "warning" if finding.warns else "check"
        rows = "1 row" if finding.n == 1 else f"{finding.n:,} rows"
        sys.stdout.write(f"{kind}: {rows} against: {finding.says}\n")
        sys.stdout.write(f'see: judgelake sql --lake {lake.root} "select * from {finding.view}"\n')
    return EXIT_CHECK if any(not finding.warns for finding in findings) else 0


def _check_coverage(connection: duckdb.DuckDBPyConnection, suite: Suite) -> int:
    """3 where a judge or metric of the suite has fewer scores than `min_coverage` of those wanted, and say which."""
    least = suite.report.min_coverage
    parameters = {
        "benchmarks": list(suite.benchmarks),
        "ids": [one.judge_id + one.reading for one in identify_all(suite, name_ingests(connection))],
        "least": least,
    }
    thin = select_file(connection, "queries/thin_coverage.sql", parameters)
    for benchmark, judge, share in thin.iter_rows():
        sys.stdout.write(
            f"coverage: {judge} has {100 * share:.1f} % of its scores on {benchmark}; expected {100 * least:.1f} %\n"
        )
    return EXIT_COVERAGE if thin.height else 0
