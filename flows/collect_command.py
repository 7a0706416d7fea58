"""`judgelake collect`: runs the collectors of a suite as judges are run, then writes what came
of it as a file of the released format.
"""

import argparse
import sys

from judgelake.flows.run_command import run_suite
from judgelake.tasks.collection.export import write_collection
from judgelake.tasks.collection.figures import describe_figures, report_figures
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.suite.suite import identify_all, read_suite, suite_of_collection


def run_collect(options: argparse.Namespace) -> int:
    """Collect, continuing where an earlier command stopped; returns the exit code."""
    end = run_suite(options)
    lines = [*end.lines, *_write(options)]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return end.code


def _write(options: argparse.Namespace) -> list[str]:
    """Write the training rows and the figures; the lines say where they are."""
    full, lake = read_suite(options.suite), open_lake(options.lake)
    suite = suite_of_collection(full)
    given = full.collection.options.file if full.collection else None
    file = given or lake.root / "collections" / f"{full.name}.json"
    collectors = {identity.alias: identity for identity in identify_all(suite)}
    lines = [*write_collection(lake, collectors, file).lines]
    if "rubrics" in collectors:
        lines += describe_figures(report_figures(lake, suite.name, collectors))
    query = "from collection_figures" if "rubrics" in collectors else "from core_augmentations"
    return [*lines, f'try: judgelake sql --lake {lake.argument} "{query}"']
