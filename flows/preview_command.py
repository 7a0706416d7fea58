"""`judgelake ingest --preview`: prints the rows that an ingest would store and those that it would
quarantine. The lake is neither read nor written.
"""

import argparse
import shutil
import sys
from pathlib import Path

import polars as pl

from judgelake.flows.sql_table import show_records, show_table
from judgelake.tasks.errors import show_controls
from judgelake.tasks.lake.processes import own_folder
from judgelake.tasks.lake.storage import LakePath, open_place
from judgelake.tasks.sources.ingestion import check_source
from judgelake.tasks.sources.registry import BenchmarkSettings
from judgelake.tasks.sources.sampling import describe_sample
from judgelake.tasks.suite.suite import Scope, Suite, narrow, read_suite

# rows of a preview
_ROWS = 5
_HIDDEN = ("benchmark", "ingest_id", "content_digest")
"""Columns that are the same in every row or mean nothing to a person."""
_CELL = 60
"""The most characters of a cell that are shown."""


def run_preview(options: argparse.Namespace) -> int:
    """Show every benchmark of the suite (or those of `--benchmark`); returns the exit code."""
    suite = narrow(read_suite(options.suite), Scope(options.limit, (), tuple(options.benchmark)))
    for benchmark in suite.benchmarks.values():
        _preview(suite, benchmark, options.limit, open_place(options.lake) / "images")
    return 0


def _preview(
    suite: Suite, benchmark: BenchmarkSettings, limit: int | None, images: LakePath
) -> None:
    with own_folder("preview") as drawn:  # for a source that draws its own images
        root = Path(drawn) if benchmark.source == "demo" else suite.images or images
        tables, _, sample, notes = check_source(benchmark, root, limit, suite.limits.images)
    counts = ", ".join(f"{name} {frame.height:,}" for name, frame in tables.items() if frame.height)
    sys.stdout.write(
        f"{benchmark.name} ({benchmark.source}): {counts or 'no rows'}; nothing was written\n"
    )
    sys.stdout.writelines(f"note: {note}\n" for note in notes)
    if sample is not None and benchmark.sample is not None:
        line = describe_sample(benchmark.name, len(sample.items), sample.n_source, benchmark.sample)
        sys.stdout.write(f"{line}\n")
    for name, frame in tables.items():
        if frame.height:
            _show(name, frame)


def _show(name: str, frame: pl.DataFrame) -> None:
    """Print the first rows of a table without the columns that have no value."""
    title = "would be quarantined" if name == "quarantine" else name
    sys.stdout.write(f"\n{title}: {min(_ROWS, frame.height)} of {frame.height:,} rows\n")
    filled = [
        column
        for column in frame.columns
        if column not in _HIDDEN and frame[column].null_count() < frame.height
    ]
    rows = [[_text(value) for value in row] for row in frame.select(filled).head(_ROWS).iter_rows()]
    if sys.stdout.isatty():
        show = show_records if name == "quarantine" else show_table
        sys.stdout.write(show(filled, rows, shutil.get_terminal_size().columns))
        return
    sys.stdout.write(f"| {' | '.join(filled)} |\n|{'---|' * len(filled)}\n")
    for row in rows:
        sys.stdout.write(f"| {' | '.join(map(_cell, row))} |\n")


def _text(value: object) -> str:
    if isinstance(value, list):
        value = ", ".join(
            str(part["uri"]) if isinstance(part, dict) and "uri" in part else str(part)
            for part in value
        )
    return "" if value is None else show_controls(str(value)).replace("\n", " ")


def _cell(text: str) -> str:
    text = text.replace("|", "\\|")
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"
