"""How a run ended: its exit code, and lines on what it did, what is wrong and where to look.
Commands and schedules show the same lines.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import duckdb
import polars as pl

from judgelake.tasks.backends.openai.batch_book import count_open
from judgelake.tasks.errors import ExitCode, combine_codes
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import has_file
from judgelake.tasks.planning.cases import count_work
from judgelake.tasks.planning.scores import name_ingests
from judgelake.tasks.planning.trials import describe_pause, is_paused
from judgelake.tasks.reports.exports import page_path
from judgelake.tasks.runs.log import log_file
from judgelake.tasks.runs.record import RunRecord, count_shards
from judgelake.tasks.suite.suite import Scope, Suite, identify_all
from judgelake.tasks.warehouse.checks import check_lake
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file, select_frame

_MOST_NAMES = 5
"""The most names of batches in a line."""
_LACKS = "the item has no "
"""How the reason of a verdict begins that no further call can change."""
_TRY = (
    "select model, metric, n, round(100 * mean, 2) as mean from rpt_metrics where benchmark = "
    "'{benchmark}'",
    "select judge, status, n from rpt_coverage where benchmark = '{benchmark}'",
)
"""Queries to try after a report."""
_TRY_RECORDED = (
    "select judge_a, judge_b, n, agreement, kappa from rpt_agreement where benchmark = "
    "'{benchmark}'",
    "select judge, model_a, model_b, n, wins, ties, losses from rpt_win_rate where benchmark = "
    "'{benchmark}'",
    "select model, count(*) as n from answers where benchmark = '{benchmark}' group by model",
    "select * from items where benchmark = '{benchmark}' limit 5",
)
"""Those of a suite that has neither metrics nor judges of its own: the first two with rows."""


@dataclass(frozen=True)
class RunEnd:
    """The exit code of a run, the lines on how it ended, and its id in the table `runs`."""

    code: ExitCode
    lines: tuple[str, ...]
    run_id: str

    def __str__(self) -> str:
        return "\n".join(self.lines)


class _EndSection(NamedTuple):
    code: ExitCode
    lines: Sequence[str]


def end_run(lake: Lake, suite: Suite, stages: tuple[str, ...], record: RunRecord) -> RunEnd:
    """The end of a run of `stages` (`suite` is narrowed as it was run); writes the exit code into
    `record`. A run that was stopped is not checked.
    """
    parts = [_EndSection(ExitCode.DONE, [_sum_up(record)]), *_describe_record(record)]
    if not record.stopped:
        connection = open_warehouse(lake, lazy=True)
        parts.append(_describe_quarantine(lake, connection, suite))
        parts.append(_describe_batches(connection, suite))
        if "judge" in stages:
            parts.append(_describe_pauses(connection, suite))
        parts.append(_describe_checks(lake, connection))
        if "report" in stages:
            parts.append(_EndSection(ExitCode.DONE, _name_places(lake, connection, suite)))
        if {"judge", "report"} & {*stages}:
            parts.append(_describe_coverage(connection, suite))
            parts.append(_describe_answers(lake, connection, suite))
    log = log_file(lake, record.run_id)
    parts.append(_EndSection(ExitCode.DONE, [f"log: {log}"] if has_file(log) else []))
    record.code = combine_codes(part.code for part in parts)
    return RunEnd(record.code, tuple(line for part in parts for line in part.lines), record.run_id)


def _sum_up(record: RunRecord) -> str:
    counts = count_shards(record.shards)
    tokens = counts.pop("prompt_tokens") + counts.pop("completion_tokens")
    work = ", ".join(
        f"{count:,} {name.replace('_', ' ')}"
        for name, count in {**counts, "tokens": tokens}.items()
    )
    cost = (
        ""
        if record.cost_usd == 0
        else ", cost not known"
        if record.cost_usd is None
        else f", {record.cost_usd:.2f} USD"
    )
    return (
        f"run {record.run_id}: {record.outcome} in {record.clock.elapsed_s():.1f} s; {work}{cost}"
    )


def _describe_record(record: RunRecord) -> list[_EndSection]:
    """The lines from the run's own record: stopped, lost, a metric that could not run, budget
    reached, batches open.
    """
    parts = []
    if record.lost:
        line = (
            "stopped: another run has taken over a lease of this one; what came in is kept; "
            "run again when it has ended"
        )
        parts.append(_EndSection(ExitCode.LEASED, [line]))
    elif record.stopped:
        line = "stopped before the end: what came in is kept; run the same command again to go on"
        parts.append(_EndSection(ExitCode.STOPPED, [line]))
    if record.failures:
        parts.append(
            _EndSection(ExitCode.USAGE, [f"judgelake: {line}" for line in record.failures])
        )
    if record.over_budget:
        line = (
            "budget: reached, and what was in flight is kept; raise limits.budget_usd and "
            "run again to go on"
        )
        parts.append(_EndSection(ExitCode.BUDGET, [line]))
    if record.n_open:
        line = (
            f"open: {record.n_open:,} cases wait for a batch at the provider; run the same "
            f"command again to collect it"
        )
        parts.append(_EndSection(ExitCode.OPEN, [line]))
    return parts


def _describe_quarantine(
    lake: Lake, connection: duckdb.DuckDBPyConnection, suite: Suite
) -> _EndSection:
    """How many rows of which benchmarks were rejected at their current ingest, and where to read
    why.
    """
    rows = select_frame(
        connection,
        "select benchmark, n_quarantined from stg_ingests where n_quarantined > 0 "
        "and list_contains($benchmarks, benchmark) order by benchmark",
        "quarantined rows",
        {"benchmarks": list(suite.benchmarks)},
    ).rows()
    if not rows:
        return _EndSection(ExitCode.DONE, [])
    counts = ", ".join(f"{n:,} rows of {benchmark}" for benchmark, n in rows)
    see = f'judgelake sql --lake {lake.argument} "from rpt_quarantine"'
    line = f"quarantined: {counts}; see: {see} (`strict: true` in the suite refuses such files)"
    return _EndSection(ExitCode.DONE, [line])


def _describe_batches(connection: duckdb.DuckDBPyConnection, suite: Suite) -> _EndSection:
    """The batches that wait at the provider, by the names that the provider uses."""
    rows = count_open(
        connection,
        [identity.judge_id for identity in identify_all(suite) if identity.kind != "metric"],
    )
    if rows.is_empty():
        return _EndSection(ExitCode.DONE, [])
    names = ", ".join(rows["name"][:_MOST_NAMES]) + (
        f", and {rows.height - _MOST_NAMES:,} more" if rows.height > _MOST_NAMES else ""
    )
    return _EndSection(
        ExitCode.DONE, [f"batches: {rows['n_requests'].sum():,} requests in {names}"]
    )


def _describe_pauses(connection: duckdb.DuckDBPyConnection, suite: Suite) -> _EndSection:
    """Code 3 where a judge with cases left is paused; the lines show a reply that could not be
    read.
    """
    lines = [
        line
        for identity in identify_all(suite)
        if identity.kind != "metric"
        and is_paused(connection, suite.judges[identity.alias], identity)
        and count_work(connection, identity, suite, Scope(), ()).is_paused
        for line in describe_pause(connection, identity)
    ]
    return _EndSection(ExitCode.COVERAGE if lines else ExitCode.DONE, lines)


def _describe_checks(lake: Lake, connection: duckdb.DuckDBPyConnection) -> _EndSection:
    """Code 5 where a check finds wrong rows, 0 where there are none or only warnings; the lines
    name the checks and a query that shows the rows.
    """
    findings, lines = check_lake(lake, connection), []
    for finding in findings:
        kind = "warning" if finding.warns else "check"
        rows = "1 row" if finding.n == 1 else f"{finding.n:,} rows"
        lines.append(f"{kind}: {rows} against: {finding.says}")
        lines.append(f'see: judgelake sql --lake {lake.argument} "select * from {finding.view}"')
    return _EndSection(
        ExitCode.CHECK if any(not finding.warns for finding in findings) else ExitCode.DONE, lines
    )


def _name_places(lake: Lake, connection: duckdb.DuckDBPyConnection, suite: Suite) -> list[str]:
    """The page, and two queries that have rows."""
    first = next(iter(suite.benchmarks))
    start = f"try: judgelake sql --lake {lake.argument}"
    queries = [query.format(benchmark=first) for query in _TRY]
    if not (suite.metrics or suite.judges):
        queries = [query.format(benchmark=first) for query in _TRY_RECORDED]
        queries = [query for query in queries if _has_rows(connection, query)][:2]
    return [
        f"report: {page_path(lake, suite)}",
        *(f'{start} "{query}"' for query in queries),
    ]


def _has_rows(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    text = f"select count(*) from (select 1 from ({query}) limit 1)"
    return bool(select_frame(connection, text, "query to try").item())


def _describe_coverage(connection: duckdb.DuckDBPyConnection, suite: Suite) -> _EndSection:
    """Code 3 where a judge or metric of the suite has less than `min_coverage` of the wanted
    scores; the lines name them.
    """
    least = suite.report.min_coverage
    parameters = {
        "benchmarks": list(suite.benchmarks),
        "ids": [
            identity.judge_id + identity.reading
            for identity in identify_all(suite, name_ingests(connection))
        ],
        "least": least,
    }
    thin = select_file(connection, "queries/thin_coverage.sql", parameters)
    lines = [
        f"coverage: {judge} has {100 * share:.1f} % of its scores on {benchmark}; expected "
        f"{100 * least:.1f} %" + _describe_reason(connection, benchmark, judge)
        for benchmark, judge, share in thin.iter_rows()
    ]
    return _EndSection(ExitCode.COVERAGE if lines else ExitCode.DONE, lines)


def _describe_answers(
    lake: Lake, connection: duckdb.DuckDBPyConnection, suite: Suite
) -> _EndSection:
    """How many answers each answerer has, and why others are missing; code 3 where it has less than
    `min_coverage` of them. Nothing where the suite runs judges.
    """
    lines, code = [], ExitCode.DONE
    for identity in identify_all(suite):
        if identity.kind != "answerer":
            continue
        benchmarks = [name for name in identity.benchmarks if name in suite.benchmarks]
        key = {"judge_id": identity.judge_id, "reading": identity.reading}
        given = {**key, "benchmarks": benchmarks}
        counts = select_file(connection, "queries/answered_counts.sql", given)
        total, n_ok = (int(part["n"].sum()) for part in (counts, counts.filter(status="ok")))
        missing = ", ".join(
            f"{n:,} {status}" + (f": {reason}" if reason else "")
            for status, n, reason in counts.filter(pl.col("status") != "ok").iter_rows()
        )
        tail = f" ({missing})" if missing else ""
        lines.append(f"answers: {identity.alias} has {n_ok:,} of {total:,}{tail}")
        if n_ok < suite.report.min_coverage * total:
            code = ExitCode.COVERAGE
    if lines:
        lines.append(
            f"judge them: judgelake run {shlex.quote(str(suite.file))} --lake {lake.argument}"
        )
    return _EndSection(code, lines)


def _describe_reason(connection: duckdb.DuckDBPyConnection, benchmark: str, judge: str) -> str:
    """The most frequent reason of a judge's failed verdicts, and what to do; '' where none
    failed.
    """
    asked = {"benchmark": benchmark, "judge": judge}
    n, reason = select_file(connection, "queries/failure_reason.sql", asked).row(0)
    what_to_do = "run again to ask for them"
    if n and reason.startswith(_LACKS):
        what_to_do = "add what is missing to the files and ingest again"
    return f"; {n:,} failed, most with: {reason}; {what_to_do}" if n else ""
