"""`judgelake catalog`: writes a DuckDB file with views over a lake, for other tools to open."""

import argparse
import shlex
import sys

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import ExitCode
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.warehouse.lake_file import FILE, write_catalog, write_lake_file


def run_catalog(options: argparse.Namespace) -> int:
    """Write the file that the options name, else the lake's own; say how to open it."""
    lake = open_lake(options.lake)
    if options.output is None:
        snapshot, file = write_lake_file(lake), lake.root / FILE
        opening = f"cd {shlex.quote(str(lake.root))} && duckdb -readonly {FILE}"
    else:
        snapshot, file = write_catalog(lake, options.output), options.output
        opening = f"duckdb -readonly {shlex.quote(str(file))}"
    n_files = sum(map(len, snapshot.list_parts(*TABLES).values()))
    sys.stdout.write(f"{file}: views over {n_files:,} part files\nopen: {opening}\n")
    return ExitCode.DONE
