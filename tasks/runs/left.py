"""Finds which stages of a suite have something to do, without a server, prefect or dask."""

import shlex

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.planning.cases import find_work
from judgelake.tasks.planning.scores import name_ingests
from judgelake.tasks.reports.exports import is_fresh
from judgelake.tasks.sources.ingestion import find_current
from judgelake.tasks.suite.suite import Scope, Suite, identify_all, narrow
from judgelake.tasks.warehouse.warehouse import open_warehouse, run_sql


def find_left(
    lake: Lake, full: Suite, scope: Scope, stages: tuple[str, ...], retry: tuple[str, ...]
) -> tuple[str, ...]:
    """The stages that have something to do. Where an ingest is left, the work of later stages is
    not known, and they count as left.
    """
    suite, snapshot = narrow(full, scope), lake.take_snapshot()
    if "ingest" in stages and is_ingest_left(snapshot, suite, scope):
        return stages
    left = (
        ["judge"]
        if "judge" in stages and is_judging_left(snapshot, full, suite, scope, retry)
        else []
    )
    if "report" in stages and (left or not is_fresh(lake, suite, snapshot)):
        left.append("report")
    return tuple(left)


def expect_ingested(lake: Lake, suite: Suite) -> None:
    """Raise a SuiteError where `suite` (already narrowed) has a benchmark that was never ingested:
    there is nothing to judge.
    """
    text = "select distinct benchmark from stg_ingests"
    held = run_sql(open_warehouse(lake, lazy=True), text, "ingested benchmarks").fetchall()
    missing = [name for name in suite.benchmarks if (name,) not in held]
    if missing:
        raise SuiteError(
            f"{lake.root}: has no answers of {', '.join(missing)}; expected an ingested "
            f"benchmark; run ingest first: judgelake ingest {shlex.quote(str(suite.file))} "
            f"--lake {lake.argument}"
        )


def is_ingest_left(snapshot: Snapshot, suite: Suite, scope: Scope) -> bool:
    """Whether a source of `suite` (already narrowed) has changed since the lake ingested it."""
    images, limits = suite.image_root(snapshot.root), suite.limits.images
    return not all(
        find_current(snapshot, benchmark, scope.limit, images, limits)
        for benchmark in suite.benchmarks.values()
    )


def is_judging_left(
    snapshot: Snapshot,
    full: Suite,
    suite: Suite,
    scope: Scope,
    retry: tuple[str, ...],
) -> bool:
    """Whether judges or metrics of `suite` (`full`, narrowed) have cases left, or the lake does not
    know them yet.
    """
    text = (
        "select count(*) from stg_judges where suite = $suite and list_contains($ids, "
        "judge_id || reading)"
    )
    connection = open_warehouse(snapshot, lazy=True)
    identities = identify_all(full, name_ingests(connection))
    ids = [identity.judge_id + identity.reading for identity in identities]
    held = run_sql(
        connection, text, "registered judges", {"suite": suite.name, "ids": ids}
    ).fetchone()
    return (held or (0,))[0] != len(identities) or any(
        work.n_pending for work in find_work(snapshot, suite, scope, retry)
    )
