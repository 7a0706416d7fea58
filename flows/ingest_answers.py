"""Flow `ingest-answers`: reads every benchmark of a suite into the lake."""

from prefect import flow

from judgelake.flows import steps
from judgelake.flows.run_suite import RunSuite
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.runs.lease_names import name_ingest_leases
from judgelake.tasks.runs.log import DEFAULT_OPTIONS, RunOptions, hold_for_run, logged_step
from judgelake.tasks.runs.record import new_run_id
from judgelake.tasks.sources.ingestion import IngestSummary
from judgelake.tasks.suite.kept import record_suite
from judgelake.tasks.suite.suite import Scope, narrow


@flow(name="ingest-answers", validate_parameters=False)
def ingest_answers(
    suite: RunSuite,
    lake_root: str,
    scope: Scope = Scope(),  # frozen
    run_id: str | None = None,
    run_options: RunOptions = DEFAULT_OPTIONS,
) -> list[IngestSummary]:
    """Ingest each benchmark as one task, under the leases of the benchmarks; a source that has not
    changed is skipped.
    """
    wanted = narrow(suite.value, Scope(benchmarks=scope.benchmarks))
    lake = open_lake(lake_root, create=True)
    images = wanted.image_root(lake.root)
    run_id = run_id or new_run_id()
    with (
        hold_for_run(lake, name_ingest_leases(wanted), wanted.name, run_id, run_options),
        logged_step(lake, run_id, run_options, "ingest") as facts,
    ):
        record_suite(lake, suite.value)
        ingests = [
            steps.ingest_source.submit(lake, benchmark, images, scope.limit, wanted.limits.images)
            for benchmark in wanted.benchmarks.values()
        ]
        summaries: list[IngestSummary] = [ingest.result() for ingest in ingests]
        facts |= {
            "benchmarks": len(summaries),
            "unchanged": sum(summary.skipped for summary in summaries),
        }
        facts |= {
            name: sum(getattr(summary, f"n_{name}") for summary in summaries)
            for name in ("items", "answers", "quarantined")
        }
        notes = [f"{made.benchmark}: {note}" for made in summaries for note in made.notes]
        facts |= {"notes": notes} if notes else {}
    return summaries
