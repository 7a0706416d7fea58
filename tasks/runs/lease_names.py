"""The names of the leases that each stage of a suite must hold. Holding them is
`tasks.lake.leases`.
"""

from judgelake.tasks.lake.leases import name_lease_of_judge
from judgelake.tasks.suite.suite import Suite, identify_all


def name_ingest_leases(suite: Suite) -> list[str]:
    """One for each benchmark: an ingest replaces the benchmark's rows."""
    return [f"ingest-{benchmark}" for benchmark in suite.benchmarks]


def name_judge_leases(suite: Suite) -> list[str]:
    """One for each judge (its readings share its replies), one for a benchmark's metrics and one
    for the pairs that are drawn on it.

    Suites may share a metric or a plan of matchups, so these names do not contain the suite's.
    """
    judges = [identity for identity in identify_all(suite) if identity.kind != "metric"]
    names = [name_lease_of_judge(judge.judge_id) for judge in judges]
    names += [f"metrics-{benchmark}" for benchmark in suite.benchmarks if suite.metrics]
    drawing = [judge for judge in judges if isinstance(judge.wants.matchups, int)]
    names += [
        f"matchups-{name}"
        for judge in drawing
        for name in judge.benchmarks
        if name in suite.benchmarks
    ]
    return sorted(set(names))


def name_report_leases(suite: Suite) -> list[str]:
    """One for the suite: a report replaces the suite's rows and page."""
    return [f"report-{suite.name}"]


_NAMERS = {"ingest": name_ingest_leases, "judge": name_judge_leases, "report": name_report_leases}


def name_leases(suite: Suite, stages: tuple[str, ...]) -> list[str]:
    """All names that these stages hold, in the order of the stages."""
    return [name for stage in stages for name in _NAMERS[stage](suite)]
