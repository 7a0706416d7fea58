"""Whether a run is so small that its workers and its Prefect server stay in the run's own process.

Asked before prefect is imported, which reads its settings then: nothing here imports it.
"""

import os

from judgelake.tasks.sources.registry import source_size
from judgelake.tasks.suite.suite import Suite

_SMALL, _FEW = 2**20, 500
"""Bytes of input files, which is about 4,000 answers, and items of each benchmark."""


def is_small(suite: Suite, limit: int | None) -> bool:
    """Whether starting processes would take longer than the work: few items, or small files. Not so
    where JUDGELAKE_WORKERS is `processes`.
    """
    if os.environ.get("JUDGELAKE_WORKERS") == "processes":
        return False
    if limit is not None and limit <= _FEW:
        return True
    sizes = [source_size(benchmark.settings) for benchmark in suite.benchmarks.values()]
    return all(sizes) and sum(sizes) <= _SMALL
