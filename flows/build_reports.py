"""Flow `build-reports`: correlations into the lake, the report page beside it."""

from pathlib import Path

from prefect import flow

from flows import steps
from tasks.lake import open_lake
from tasks.suite import Scope, narrow, read_suite


@flow(name="build-reports", validate_parameters=False)
def build_reports(suite_file: str, lake_root: str, scope: Scope = Scope()) -> Path:  # frozen
    """Build the suite's report; returns the page's path."""
    suite = narrow(read_suite(Path(suite_file)), scope)
    page: Path = steps.report(open_lake(Path(lake_root)), suite)
    return page
