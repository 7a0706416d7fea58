"""Flow `ingest-answers`: every benchmark of a suite into the lake."""

from pathlib import Path

from prefect import flow

from flows import steps
from tasks.ingestion import IngestSummary
from tasks.lake import open_lake
from tasks.suite import Scope, narrow, read_suite


@flow(name="ingest-answers", validate_parameters=False)
def ingest_answers(suite_file: str, lake_root: str, scope: Scope = Scope()) -> list[IngestSummary]:  # frozen
    """Ingest each benchmark as one task; a source that has not changed is left alone."""
    suite = narrow(read_suite(Path(suite_file)), Scope(benchmarks=scope.benchmarks))
    lake = open_lake(Path(lake_root), create=True)
    images = suite.image_root(lake.root)
    ingests = [
        steps.ingest_source.submit(lake, benchmark, images, scope.limit, suite.limits.images)
        for benchmark in suite.benchmarks.values()
    ]
    return [ingest.result() for ingest in ingests]
