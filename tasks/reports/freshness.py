"""Where a suite's report lies, and whether it still tells what the lake holds. Building it is `tasks.reports.build`."""

from tasks.digests import digest_json
from tasks.lake import Lake, LakePath
from tasks.storage import has_file, read_file
from tasks.suite import Suite
from tasks.versions import digest_packages

_READ_BY_REPORTS = (
    "items",
    "answers",
    "human_ratings",
    "ingests",
    "quarantine",
    "judges",
    "cases",
    "verdicts",
    "duels",
    "metric_scores",
)
_MAKE_REPORTS = ("schemas", "sql", "tasks.reports", "tasks.stats", "tasks.failure_rules", "tasks.wordnet")
"""The packages and modules whose code, SQL, template and style a report follows from: a change of them makes every report anew."""


def page_path(lake: Lake, suite: Suite) -> LakePath:
    """Where the suite's report lies."""
    return lake.root / "reports" / suite.name / "report.html"


def marker_path(lake: Lake, suite: Suite) -> LakePath:
    """Where the report's inputs are named."""
    return page_path(lake, suite).with_name("made_from")


def is_fresh(lake: Lake, suite: Suite) -> bool:
    """Whether the report was built from the lake and suite as they are now."""
    said = read_file(marker_path(lake, suite))
    return said is not None and has_file(page_path(lake, suite)) and said.decode() == name_inputs(lake, suite)


def name_inputs(lake: Lake, suite: Suite) -> str:
    """Names everything a report is made from and by: part files hold their digest in their names."""
    parts = [part for parts in lake.list_parts(*_READ_BY_REPORTS).values() for part in parts]
    names = sorted([*(metric.alias for metric in suite.metrics), *suite.judges])
    return digest_json([digest_packages(*_MAKE_REPORTS), suite.digest, sorted(suite.benchmarks), names, parts])
