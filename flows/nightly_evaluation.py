"""Flow `nightly-evaluation`: ingest, judge, report, on workers of its own; what a schedule runs and what `judgelake run` runs."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect_dask import DaskTaskRunner

from flows.build_reports import build_reports
from flows.ingest_answers import ingest_answers
from flows.judge_answers import judge_answers
from flows.runners import local_cluster
from tasks.errors import MetricError
from tasks.lake import open_lake
from tasks.runs import new_run_id, record_run
from tasks.suite import Scope, read_suite


@flow(name="nightly-evaluation", validate_parameters=False)
def nightly_evaluation(
    suite_file: str,
    lake_root: str,
    run_id: str | None = None,
    scope: Scope = Scope(),  # frozen
    retry: tuple[str, ...] = (),
    stages: tuple[str, ...] = ("ingest", "judge", "report"),
) -> None:
    """Run the stages of a suite; what is done already is left alone. Raises MetricError at its end for metrics that could not run."""
    suite = read_suite(Path(suite_file))
    lake = open_lake(Path(lake_root), create=True)
    run_id = run_id or new_run_id()
    with local_cluster() as address, record_run(lake, suite, run_id, stages) as record:
        runner: Any = DaskTaskRunner(address=address)
        failures: list[str] = []
        if "ingest" in stages:
            record.ingests = ingest_answers.with_options(task_runner=runner)(suite_file, lake_root, scope)
        if "judge" in stages:
            judged = judge_answers.with_options(task_runner=runner)(suite_file, lake_root, run_id, scope, retry)
            record.shards, failures = judged.shards, judged.failures
        if "report" in stages and not record.stopped:
            record.write("reporting")  # so that the report tells of this run, too
            record.page = build_reports(suite_file, lake_root, scope)
        if failures:
            raise MetricError("\n".join(failures))
