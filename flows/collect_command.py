"""`judgelake collect`: runs the collectors of a suite as judges are run, then writes what came
of it as a file of the released format.
"""

import argparse
import sys

from judgelake.flows.run_command import run_suite
from judgelake.tasks.collection.export import write_collection
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.suite.suite import identify_all, read_suite, suite_of_collection


def run_collect(options: argparse.Namespace) -> int:
    """Collect, continuing where an earlier command stopped; returns the exit code."""
    end = run_suite(options)
    lines = [*end.lines, *_write(options)]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return end.code


def _write(options: argparse.Namespace) -> list[str]:
    full = read_suite(options.suite)
    suite = suite_of_collection(full)
    file = full.collection.options.file if full.collection else None
    identities = {identity.alias: identity for identity in identify_all(suite)}
    collected = write_collection(open_lake(options.lake), identities, file)
    return [*collected.lines]
