"""`judgelake compact`: merges small part files and prints the result of each table."""

import argparse
import sys
from collections.abc import Sequence

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import ExitCode, SuiteError
from judgelake.tasks.lake.compaction import PartsSize, compact_lake
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.runs.record import new_run_id
from judgelake.tasks.warehouse.lake_file import keep_lake_file
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame


def run_compact(options: argparse.Namespace) -> int:
    """Merge the part files of the tables that the options name; returns the exit code."""
    for name in options.table:
        if name not in TABLES:
            raise SuiteError(
                f"--table: {name!r} is no table; expected one of {', '.join(TABLES)}; correct it"
            )
    open_lake(options.lake)  # raises where there is no lake
    lake = open_lake(options.lake, create=True)
    values = (*options.benchmark, *_find_judges(lake, options.judge))
    left_alone = changed = 0
    for done in compact_lake(
        lake, f"compact-{new_run_id()}", _print_line, tuple(options.table), values
    ):
        if done.before != done.after:
            changed += 1
            sys.stdout.write(f"{done.table}: {_describe(done.before)} -> {_describe(done.after)}\n")
        left_alone += len(done.left_alone)
        sys.stdout.writelines(f"{reason}\n" for reason in done.left_alone)
    keep_lake_file(lake)
    if changed:
        sys.stdout.write(
            "the files that were replaced are deleted by the next compact or run an hour from now\n"
        )
    elif not left_alone:
        sys.stdout.write("nothing to merge: no partition has two small files\n")
    return ExitCode.DONE


def _find_judges(lake: Lake, names: Sequence[str]) -> list[str]:
    """The ids of judges and metrics given by id, or by the name that a suite gives them; raises
    SuiteError for one that is unknown.
    """
    if not names:
        return []
    with open_warehouse(lake, lazy=True) as connection:
        known = select_frame(
            connection,
            "select distinct judge_id, alias from raw_judges order by alias, judge_id",
            "judges",
        ).rows()
    for name in names:
        if not any(name in pair for pair in known):
            listed = ", ".join(sorted({alias for _, alias in known})) or "none"
            raise SuiteError(
                f"--judge: no judge or metric {name!r} in {lake.root}; expected one of {listed}, "
                f"or an id; correct it"
            )
    return [judge_id for judge_id, alias in known if judge_id in names or alias in names]


def _describe(size: PartsSize) -> str:
    files = "1 file" if size.n_files == 1 else f"{size.n_files:,} files"
    return f"{files}, {size.n_bytes / 1e6:,.2f} MB"


def _print_line(line: str) -> None:
    sys.stderr.write(f"judgelake: {line}\n")
