"""The `judgelake` command: parses the arguments and calls the function of the command. A heavy
module is imported only when a command needs it.

A command is a line of `_COMMANDS` (its words, and `module:function` that takes the parsed options
and returns the exit code).
"""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from judgelake.flows.command_groups import describe_commands
from judgelake.flows.command_parser import (
    Parser,
    PrintVersion,
    read_count,
    read_positive,
    read_seconds,
)
from judgelake.flows.process_start import prepare_process
from judgelake.tasks.errors import ExitCode, describe_codes, find_code
from judgelake.tasks.suite.examples import find_suite

RETRIED = ("unparsed", "refused", "truncated", "filtered", "failed")
"""The statuses that `--retry` takes."""


class _Overview(Parser):
    """The parser of all commands: its help lists them by group."""

    def format_help(self) -> str:
        return describe_commands(_COMMANDS)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code."""
    prepare_process()
    options = make_parser().parse_args(arguments)
    code = _guarded(options)
    sys.stdout.flush()
    sys.stderr.flush()
    # threads of prefect and dask are still alive; waiting for them only prints warnings about
    # what these packages left open
    os._exit(code)


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = _Overview(prog="judgelake")
    parser.add_argument("--version", action=PrintVersion, help="print the version and exit")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )
    for name, (summary, add, _) in _COMMANDS.items():
        add(commands.add_parser(name, description=summary, epilog=describe_codes()))
    return parser


def _add_ingest(parser: argparse.ArgumentParser) -> None:
    _add_staged_run(parser)
    preview = "show the first rows to be stored and the rows to be quarantined; write nothing"
    parser.add_argument("--preview", action="store_true", help=preview)


def _add_plan(parser: argparse.ArgumentParser) -> None:
    _add_stage(parser)
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
        type=read_positive,
        metavar="SECONDS",
        help="answer again in this many seconds, from the lake as it is then, until Ctrl-C",
    )
    _add_lake(parser)


def _add_paper(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", nargs="?", help="a paper, as --list names it")
    one = parser.add_mutually_exclusive_group()
    words = "only this table (default: all tables and figures of the paper)"
    one.add_argument("--table", type=read_positive, metavar="N", help=words)
    one.add_argument("--figure", type=read_positive, metavar="N", help="only this figure")
    words = "list tables and figures, their suites, and how many of their cells the lake has"
    one.add_argument("--list", action="store_true", help=words)
    words = "svg draws a figure; csv has a line for each cell, unrounded"
    forms = ["text", "markdown", "latex", "csv", "svg"]
    parser.add_argument("--format", choices=forms, default="text", help=words)
    _add_lake(parser)


def _add_names(parser: argparse.ArgumentParser) -> None:
    for name, what in (("judge", "judge or metric"), ("benchmark", "benchmark")):
        words = f"only this {what} (repeatable)"
        parser.add_argument(f"--{name}", action="append", default=[], metavar="NAME", help=words)


def _add_scope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", type=find_suite, help="the suite file (YAML), or an example")
    parser.add_argument(
        "--limit",
        type=read_positive,
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
        "--interval", type=read_positive, metavar="SECONDS", help="run once in this many seconds"
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
        type=read_count,
        default=1,
        metavar="N",
        help="number of shards that ask endpoints at the same time (default: 1)",
    )
    parser.add_argument(
        "--metric",
        type=read_count,
        default=0,
        metavar="N",
        help="number of metric shards computed at the same time (default: 0)",
    )
    gpus = "number of processes that run local models, each on a GPU if there are some (default: 0)"
    parser.add_argument(
        "--gpu", type=read_count, nargs="?", const=1, default=0, metavar="N", help=gpus
    )
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
    waits.add_argument("--wait", type=read_seconds, metavar="SECONDS", help=words)
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


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None], str]] = {
    "run": (
        "ingest, judge and report a suite; work that is already done is not repeated",
        _add_judging,
        "judgelake.flows.run_command:run_stages",
    ),
    "ingest": (
        "read a suite's answers and ratings into the lake",
        _add_ingest,
        "judgelake.flows.run_command:run_ingest",
    ),
    "judge": (
        "judge and score the answers in the lake that have no verdict or score yet",
        _add_judging,
        "judgelake.flows.run_command:run_stages",
    ),
    "report": (
        "compute a suite's correlations and write its report",
        _add_report,
        "judgelake.flows.run_command:run_stages",
    ),
    "reread": (
        "read stored replies again after the suite's reading changed; sends no request",
        _add_reread,
        "judgelake.flows.reread_command:run_reread",
    ),
    "train": (
        "fine-tune a local model into a judge on another judge's verdicts",
        _add_train,
        "judgelake.flows.train_command:run_train",
    ),
    "serve": (
        "run a suite on a schedule, with Prefect's page beside it",
        _add_serve,
        "judgelake.flows.serve_command:serve_suite",
    ),
    "worker": (
        "start a Dask worker with slots for a scheduler that runs elsewhere",
        _add_worker,
        "judgelake.flows.worker_command:run_worker",
    ),
    "certificate": (
        "make the certificate with which a cluster's scheduler, workers and runs know each other",
        _add_certificate,
        "judgelake.flows.certificate_command:make_certificate",
    ),
    "init": (
        "write a suite from a file of answers, from a few questions, or from an example",
        _add_init,
        "judgelake.flows.init_command:run_init",
    ),
    "schema": (
        "print the JSON Schema of a suite, for editors",
        _add_schema,
        "judgelake.flows.schema_command:run_schema",
    ),
    "plan": (
        "show the calls, tokens, money and time of a run; sends no request, writes nothing",
        _add_plan,
        "judgelake.flows.plan_command:run_plan",
    ),
    "status": (
        "show the runs in progress on the lake, stale leases, and how the last runs ended",
        _add_status,
        "judgelake.flows.status_command:run_status",
    ),
    "forget": (
        "remove a judge or a benchmark from the lake",
        _add_forget,
        "judgelake.flows.forget_command:run_forget",
    ),
    "catalog": (
        "write a DuckDB file of views over the lake, for other tools to open",
        _add_catalog,
        "judgelake.flows.catalog_command:run_catalog",
    ),
    "export": (
        "write the lake's current rows as a folder that Hugging Face datasets loads",
        _add_export,
        "judgelake.flows.export_command:run_export",
    ),
    "compact": (
        "merge the lake's small files into few large ones; safe while others read",
        _add_compact,
        "judgelake.flows.compact_command:run_compact",
    ),
    "check": (
        "look for damage in the lake's files and rows, and name the damaged files",
        _add_check,
        "judgelake.flows.check_command:run_check",
    ),
    "completion": (
        "print a script that completes commands, options and suite files in a shell",
        _add_completion,
        "judgelake.flows.completion_command:run_completion",
    ),
    "paper": (
        "print tables of the papers from a lake, beside the papers' numbers",
        _add_paper,
        "judgelake.flows.paper_command:run_paper",
    ),
    "sql": (
        "query the lake in SQL; opens a prompt where no query is given",
        _add_sql,
        "judgelake.flows.sql_command:run_query",
    ),
}


def _guarded(options: argparse.Namespace) -> int:
    """Run the command; an error that a user can repair is printed without a traceback."""
    from judgelake.tasks.errors import JudgelakeError, LakeError, redact

    module, function = _COMMANDS[options.command][2].split(":")
    try:
        run: Any = getattr(importlib.import_module(module), function)
        return int(run(options))
    except JudgelakeError as error:
        sys.stderr.write(redact(f"judgelake: {error}\n"))
        return (
            ExitCode.USAGE
            if isinstance(error, LakeError) and options.command == "sql"
            else find_code(error)
        )
    except KeyboardInterrupt as error:
        sys.stderr.write("judgelake: stopped; run the same command again to go on\n")
        return find_code(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception:  # a bug: every error that a user can repair is a JudgelakeError
        sys.stderr.write(redact(traceback.format_exc()))
        return ExitCode.CRASH


if __name__ == "__main__":
    main()
