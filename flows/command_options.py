"""The options of each command, by its name. The commands are in `flows.cli`."""

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from judgelake.tasks.suite.examples import find_suite

RETRIED = ("unparsed", "refused", "truncated", "filtered", "failed")
"""The statuses that `--retry` takes."""


def _add_ingest(parser: argparse.ArgumentParser) -> None:
    _add_staged_run(parser)
    preview = "show the first rows to be stored and the rows to be quarantined; write nothing"
    parser.add_argument("--preview", action="store_true", help=preview)


def _add_plan(parser: argparse.ArgumentParser) -> None:
    _add_stage(parser)
    what = parser.add_mutually_exclusive_group()
    words = "what `judgelake collect` has left, in place of what the judges have"
    what.add_argument("--collection", action="store_true", help=words)
    words = "what `judgelake answer` has left, in place of what the judges have"
    what.add_argument("--answers", action="store_true", help=words)
    parser.add_argument("--format", choices=["table", "json"], default="table")


def _add_sql(parser: argparse.ArgumentParser) -> None:
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument(
        "query", nargs="?", help="one SELECT over the tables, core_* and rpt_* views"
    )
    asked.add_argument("-f", "--file", type=Path, help="read the query from a file")
    asked.add_argument(
        "--recipe", metavar="NAME", help="answer one of the questions that --list names"
    )
    asked.add_argument(
        "--list", action="store_true", help="list tables, views, checks and recipes; needs no lake"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the recipe (repeatable)",
    )
    parser.add_argument(
        "--format",
        choices=["table", "records", "csv", "csv-raw", "json", "markdown", "parquet"],
        default="table",
        help="table and records (a line for each value) round numbers; csv puts an apostrophe "
        "before text that a spreadsheet takes for a formula and shows control characters; csv-raw "
        "leaves text as it is",
    )
    parser.add_argument(
        "--watch",
        type=_positive,
        metavar="SECONDS",
        help="answer again in this many seconds, from the lake as it is then, until Ctrl-C",
    )
    _add_lake(parser)


def _add_paper(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", nargs="?", help="a paper, as --list names it")
    which = parser.add_mutually_exclusive_group()
    words = "only this table (default: all tables and figures of the paper)"
    which.add_argument("--table", type=_positive, metavar="N", help=words)
    which.add_argument("--figure", type=_positive, metavar="N", help="only this figure")
    words = "list tables and figures, their suites, and how many of their cells the lake has"
    which.add_argument("--list", action="store_true", help=words)
    which.add_argument("--all", action="store_true", help="all tables and figures of all papers")
    words = "svg draws a figure; html is a page; csv has a line for each cell"
    forms = ["text", "markdown", "latex", "csv", "svg", "html"]
    parser.add_argument("--format", choices=forms, default="text", help=words)
    words = "write it there (default: print it)"
    parser.add_argument("--output", type=Path, metavar="FILE", help=words)
    _add_lake(parser)


def _add_names(parser: argparse.ArgumentParser) -> None:
    for name, what in (("judge", "judge or metric"), ("benchmark", "benchmark")):
        words = f"only this {what} (repeatable)"
        parser.add_argument(f"--{name}", action="append", default=[], metavar="NAME", help=words)


def _add_scope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", type=find_suite, help="the suite file (YAML), or an example")
    parser.add_argument(
        "--limit",
        type=_positive,
        metavar="N",
        help="only the first N items by key of each benchmark",
    )
    _add_names(parser)
    _add_lake(parser)


def _add_reread(parser: argparse.ArgumentParser) -> None:
    _add_scope(parser)
    _add_run_options(parser)


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", type=Path, help="the suite file (YAML), with a `training` block")
    words = "processes that train together, each on a GPU if there are some (default: 1)"
    parser.add_argument("--devices", type=_positive, default=1, metavar="N", help=words)
    _add_lake(parser)
    _add_run_options(parser)


def _add_stage(parser: argparse.ArgumentParser) -> None:
    _add_scope(parser)
    retry = (
        "also ask again for verdicts with this status; failed: also cases that failed before "
        "any request was sent (repeatable)"
    )
    parser.add_argument(
        "--retry",
        action="append",
        default=[],
        metavar="STATUS",
        help=retry,
        choices=RETRIED,
    )
    parser.set_defaults(scheduler=None, without_tls=False, wait_for_workers=False)


def _add_judging(parser: argparse.ArgumentParser) -> None:
    _add_staged_run(parser)
    _add_scheduler(parser)
    waiting = "with --scheduler: wait for workers with the slots that the run needs; else an error"
    parser.add_argument("--wait-for-workers", action="store_true", help=waiting)


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_judging(parser)
    words = "run again when the suite or a file that it reads has changed, until Ctrl-C"
    parser.add_argument("--watch", action="store_true", help=words)


def _add_scheduler(parser: argparse.ArgumentParser) -> None:
    text = (
        "a Dask scheduler whose workers judge (default: JUDGELAKE_SCHEDULER, else workers "
        "that this command starts)"
    )
    default = os.environ.get("JUDGELAKE_SCHEDULER")
    parser.add_argument("--scheduler", metavar="tls://HOST:PORT", default=default, help=text)
    text = "with --scheduler: let whoever reaches it run code there (tcp:// addresses)"
    parser.add_argument("--without-tls", action="store_true", help=text)


def _add_certificate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="where it is written, or kept if it is there")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_stage(parser)
    _add_scheduler(parser)
    when = parser.add_mutually_exclusive_group(required=True)
    when.add_argument(
        "--cron",
        metavar="'M H D M W'",
        help="run at these times: minute, hour, day, month, weekday",
    )
    when.add_argument(
        "--interval", type=_positive, metavar="SECONDS", help="run once in this many seconds"
    )
    parser.add_argument(
        "--timezone",
        default="UTC",
        metavar="NAME",
        help="time zone of --cron, such as Europe/Berlin (default: UTC)",
    )


def _add_worker(parser: argparse.ArgumentParser) -> None:
    _add_scheduler(parser)
    parser.add_argument(
        "--endpoint",
        type=_count,
        default=1,
        metavar="N",
        help="number of shards that ask endpoints at the same time (default: 1)",
    )
    parser.add_argument(
        "--metric",
        type=_count,
        default=0,
        metavar="N",
        help="number of metric shards computed at the same time (default: 0)",
    )
    gpus = "number of processes that run local models, each on a GPU if there are some (default: 0)"
    parser.add_argument("--gpu", type=_count, nargs="?", const=1, default=0, metavar="N", help=gpus)
    parser.add_argument(
        "--name", help="the worker's name at the scheduler (default: the host's name and the slots)"
    )


def _add_staged_run(parser: argparse.ArgumentParser) -> None:
    _add_stage(parser)
    _add_run_options(parser)


def _add_report(parser: argparse.ArgumentParser) -> None:
    _add_staged_run(parser)
    words = "name what changed since: last, a date, a run, or another lake's folder (default: last)"
    parser.add_argument("--compare", metavar="BASE", default="last", help=words)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    waits = parser.add_mutually_exclusive_group()
    words = (
        "wait at most this long for another run that does the same work, then exit 6 "
        "(default: until that run has ended)"
    )
    waits.add_argument("--wait", type=_seconds, metavar="SECONDS", help=words)
    waits.add_argument(
        "--no-wait", dest="wait", action="store_const", const=0.0, help="the same as --wait 0"
    )
    lines = "format of the lines about each step (on stderr)"
    parser.add_argument("--log-format", choices=["text", "json"], default="text", help=lines)


def _add_lake(parser: argparse.ArgumentParser) -> None:
    default = os.environ.get("JUDGELAKE_LAKE", "lake")
    words = "the lake's folder, or s3://bucket/prefix (default: JUDGELAKE_LAKE, else ./lake)"
    parser.add_argument("--lake", default=default, help=words)


def _add_compact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--table", action="append", default=[], metavar="NAME", help="only this table (repeatable)"
    )
    _add_names(parser)
    _add_lake(parser)


def _add_catalog(parser: argparse.ArgumentParser) -> None:
    words = "write it here, with absolute paths or s3:// ones; default: lake.duckdb in the lake"
    parser.add_argument("--output", type=Path, metavar="FILE", help=words)
    _add_lake(parser)


def _add_export(parser: argparse.ArgumentParser) -> None:
    words = "a new or empty folder, for Hugging Face datasets: Parquet files and a data card"
    parser.add_argument("--hf", type=Path, required=True, metavar="FOLDER", help=words)
    parser.add_argument(
        "--license",
        action="append",
        default=[],
        metavar="[BENCHMARK=]ID",
        help="licence of a benchmark, or of all, such as cc-by-4.0 (repeatable; default: unknown)",
    )
    _add_lake(parser)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick",
        action="store_true",
        help="read footers and rows, but not every byte and value of every file",
    )
    _add_lake(parser)


def _add_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=["text", "json"], default="text")
    _add_lake(parser)


def _add_view(parser: argparse.ArgumentParser) -> None:
    words = "listen on this port of 127.0.0.1 (default: a free one)"
    parser.add_argument("--port", type=_count, default=0, metavar="N", help=words)
    _add_no_browser(parser)
    _add_lake(parser)


def _add_open(parser: argparse.ArgumentParser) -> None:
    words = "the suite's name (default: the one with the newest report)"
    parser.add_argument("suite", nargs="?", metavar="SUITE", help=words)
    _add_no_browser(parser)
    _add_lake(parser)


def _add_no_browser(parser: argparse.ArgumentParser) -> None:
    words = "print the address, and start no browser"
    parser.add_argument("--no-browser", action="store_true", help=words)


def _add_forget(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--judge",
        metavar="NAME|ID",
        help="all rows of this judge or metric: replies, verdicts, cases, scores",
    )
    what.add_argument(
        "--benchmark",
        metavar="NAME",
        help="all rows of this benchmark, of every judge too",
    )
    parser.add_argument(
        "--yes", action="store_true", help="remove them; without --yes, only list what would go"
    )
    _add_lake(parser)


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])


def _add_schema(_parser: argparse.ArgumentParser) -> None:
    """The command has no options."""


def _add_init(parser: argparse.ArgumentParser) -> None:
    words = "the suite to write (default: suite.yaml)"
    parser.add_argument("file", nargs="?", type=Path, default=Path("suite.yaml"), help=words)
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="a CSV, TSV, JSON, JSONL or Parquet of answers"
    )
    parser.add_argument("--protocol", metavar="NAME", help="the judge's protocol (default: lave)")
    parser.add_argument("--name", help="the suite's name (default: the answers' file name)")
    parser.add_argument(
        "--model",
        metavar="PROVIDER/MODEL",
        help="the judge (default: a stand-in that costs nothing)",
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument("--list", action="store_true", help="list the ready examples")
    parser.add_argument("--example", metavar="NAME", help="write this ready example")


def _count(text: str) -> int:
    return 0 if text == "0" else _positive(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number from 1")
    return int(text)


def _seconds(text: str) -> float:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number of seconds from 0")
    return float(text)


OPTIONS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "run": _add_run,
    "ingest": _add_ingest,
    "judge": _add_judging,
    "report": _add_report,
    "reread": _add_reread,
    "train": _add_train,
    "answer": _add_judging,
    "collect": _add_judging,
    "serve": _add_serve,
    "worker": _add_worker,
    "certificate": _add_certificate,
    "init": _add_init,
    "schema": _add_schema,
    "plan": _add_plan,
    "status": _add_status,
    "forget": _add_forget,
    "catalog": _add_catalog,
    "export": _add_export,
    "compact": _add_compact,
    "check": _add_check,
    "completion": _add_completion,
    "sql": _add_sql,
    "paper": _add_paper,
    "view": _add_view,
    "open": _add_open,
}
"""Command -> a function that adds its options to its parser."""
