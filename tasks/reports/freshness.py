"""Where a suite's report lies, and whether it still tells what the lake holds. Building it is `tasks.reports.build`."""

from pathlib import Path

from tasks.digests import digest_json
from tasks.lake import Lake
from tasks.suite import Suite

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
_PAGE_VERSION = 5


def page_path(lake: Lake, suite: Suite) -> Path:
    """Where the suite's report lies."""
    return lake.root / "reports" / suite.name / "report.html"


def marker_path(lake: Lake, suite: Suite) -> Path:
    """Where the report's inputs are named."""
    return page_path(lake, suite).with_name("made_from")


def is_fresh(lake: Lake, suite: Suite) -> bool:
    """Whether the report was built from the lake and suite as they are now."""
    marker = marker_path(lake, suite)
    return page_path(lake, suite).exists() and marker.exists() and marker.read_text() == name_inputs(lake, suite)


def name_inputs(lake: Lake, suite: Suite) -> str:
    """Names everything a report is made from: part files hold their digest in their names."""
    parts = [str(path.relative_to(lake.root)) for name in _READ_BY_REPORTS for path in lake.part_files(name)]
    names = sorted([*(metric.alias for metric in suite.metrics), *suite.judges])
    return digest_json([_PAGE_VERSION, suite.digest, sorted(suite.benchmarks), names, parts])
