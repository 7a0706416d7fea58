"""Flow `build-reports`: writes correlations into the lake and the report page beside it."""

import re
from pathlib import Path

from prefect import flow
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.exceptions import PrefectException, PrefectHTTPStatusError
from prefect.logging import get_run_logger

from judgelake.flows import steps
from judgelake.flows.run_suite import RunSuite
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.lake.storage import LakePath, read_file
from judgelake.tasks.runs.lease_names import name_report_leases
from judgelake.tasks.runs.log import DEFAULT_OPTIONS, RunOptions, hold_for_run, logged_step
from judgelake.tasks.runs.record import new_run_id
from judgelake.tasks.suite.kept import record_suite
from judgelake.tasks.suite.suite import Scope, narrow


@flow(name="build-reports", validate_parameters=False)
def build_reports(
    suite: RunSuite,
    lake_root: str,
    scope: Scope = Scope(),  # frozen
    run_id: str | None = None,
    run_options: RunOptions = DEFAULT_OPTIONS,
) -> LakePath:
    """Build the suite's report under its lease; returns the page's path."""
    wanted, lake = narrow(suite.value, scope), open_lake(lake_root)
    run_id = run_id or new_run_id()
    with (
        hold_for_run(lake, name_report_leases(wanted), wanted.name, run_id, run_options),
        logged_step(lake, run_id, run_options, "report") as facts,
    ):
        record_suite(lake, suite.value)
        page: LakePath = steps.report(lake, wanted)
        facts["page"] = str(page)
    _show_in_prefect(wanted.name, page)
    return page


def _show_in_prefect(suite_name: str, page: LakePath) -> None:
    """The report's summary as an artifact of the flow run, and a link to its page. A server that
    does not take them costs no report.
    """
    key = "report-" + re.sub(r"[^a-z0-9]+", "-", suite_name.lower()).strip("-")
    summary = read_file(page.with_suffix(".md"))
    address = page.as_uri() if isinstance(page, Path) else str(page)
    try:
        create_markdown_artifact((summary or b"").decode(), key, f"Report of {suite_name}")
        create_link_artifact(address, link_text="the page", key=f"{key}-page")
    except (PrefectHTTPStatusError, PrefectException) as error:
        get_run_logger().warning("the report's summary is not shown here: %s", error)
