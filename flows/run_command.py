"""`judgelake run | ingest | judge | report`: starts the run's Prefect server, then runs the stages
that are left (`flows.run_left`), and prints how the run ended.

The server takes seconds, on the machine's other core. So it starts first, before what a run needs
is imported, where the times of files say that there is something to do.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from judgelake.flows.process_start import without_collections
from judgelake.flows.runners import RunServer, refuse_open_scheduler
from judgelake.flows.suite_files import list_named

if TYPE_CHECKING:
    from judgelake.tasks.runs.summary import RunEnd

_STAGES = {
    "run": ("ingest", "judge", "report"),
    "ingest": ("ingest",),
    "judge": ("judge",),
    "report": ("report",),
    "collect": ("ingest", "judge"),
    "answer": ("ingest", "judge"),
}
# a suite's name
_NAME = re.compile(r"^name:\s*[\"']?([\w.-]+)", re.MULTILINE)


def run_ingest(options: argparse.Namespace) -> int:
    """`judgelake ingest`, or its preview, which writes nothing."""
    if options.preview:
        from judgelake.flows.preview_command import run_preview

        return run_preview(options)
    return run_stages(options)


def run_stages(options: argparse.Namespace) -> int:
    """Run the command's stages of a suite, with `--watch` again after each change, and return the
    exit code.
    """
    if getattr(options, "watch", False):
        return _watch(options)
    end = run_suite(options)
    sys.stdout.write(f"{end}\n")
    return end.code


def _watch(options: argparse.Namespace) -> int:
    refuse_open_scheduler(options.scheduler, without_tls=options.without_tls)
    with RunServer(options.scheduler, stays=True) as server:
        server.start()
        with without_collections():
            from judgelake.flows.run_watch import watch_suite
        return watch_suite(options, _STAGES[options.command], server)


def run_suite(options: argparse.Namespace) -> "RunEnd":
    """Run the command's stages of a suite."""
    refuse_open_scheduler(options.scheduler, without_tls=options.without_tls)
    stages = _STAGES[options.command]
    with RunServer(options.scheduler) as server:
        if stages != ("report",) and (options.retry or looks_left(options.suite, options.lake)):
            server.start()
        with without_collections():
            from judgelake.flows.run_left import run_left
        return run_left(options, stages, server)


def looks_left(suite: Path, lake: str) -> bool:
    """A quick guess, from the times of files, whether a run has something to do: its report is not
    there, or older than the suite or a file that the suite names. Nothing is guessed (False) of a
    lake in a bucket and of a suite that cannot be read.
    """
    try:
        text = suite.read_text(encoding="utf-8")
        name = _NAME.search(text)
        if "://" in lake or not name:
            return False
        page = Path(lake) / "reports" / name[1] / "report.html"
        if not page.exists():
            return True
        made = page.stat().st_mtime
        named = (file for file in list_named(suite.parent, text) if file.is_file())
        return any(file.stat().st_mtime > made for file in (suite, *named))
    except (OSError, ValueError):
        return False
