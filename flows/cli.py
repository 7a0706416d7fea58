"""The `judgelake` command: parses the arguments and calls the function of the command. A heavy
module is imported only when a command needs it.

A command is a line of `_COMMANDS` (its words, and `module:function` that takes the parsed options
and returns the exit code), with its options in `flows.command_options`.
"""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from judgelake.flows.command_groups import describe_commands
from judgelake.flows.command_options import OPTIONS
from judgelake.flows.process_start import prepare_process
from judgelake.tasks.errors import ExitCode, describe_codes, find_code


class _Parser(argparse.ArgumentParser):
    """The parser of one command; wrong arguments end with the exit code of wrong usage."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}\n")


class _Overview(_Parser):
    """The parser of all commands: its help lists them by group."""

    def format_help(self) -> str:
        return describe_commands(_COMMANDS)


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **more)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"judgelake {version('judgelake')}\n")
        parser.exit(0)


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
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_Parser
    )
    for name, (summary, _) in _COMMANDS.items():
        OPTIONS[name](commands.add_parser(name, description=summary, epilog=describe_codes()))
    return parser


_COMMANDS: dict[str, tuple[str, str]] = {
    "run": (
        "ingest, judge and report a suite; work that is already done is not repeated",
        "judgelake.flows.run_command:run_stages",
    ),
    "ingest": (
        "read a suite's answers and ratings into the lake",
        "judgelake.flows.run_command:run_ingest",
    ),
    "judge": (
        "judge and score the answers in the lake that have no verdict or score yet",
        "judgelake.flows.run_command:run_stages",
    ),
    "report": (
        "compute a suite's correlations and write its report",
        "judgelake.flows.run_command:run_stages",
    ),
    "reread": (
        "read stored replies again after the suite's reading changed; sends no request",
        "judgelake.flows.reread_command:run_reread",
    ),
    "train": (
        "fine-tune a local model into a judge on another judge's verdicts",
        "judgelake.flows.train_command:run_train",
    ),
    "answer": (
        "have a suite's answerers answer its items; the answers are then in the lake to be judged",
        "judgelake.flows.run_command:run_stages",
    ),
    "collect": (
        "generate rubrics, instructions, responses and feedback to train a judge on",
        "judgelake.flows.collect_command:run_collect",
    ),
    "serve": (
        "run a suite on a schedule, with Prefect's page beside it",
        "judgelake.flows.serve_command:serve_suite",
    ),
    "worker": (
        "start a Dask worker with slots for a scheduler that runs elsewhere",
        "judgelake.flows.worker_command:run_worker",
    ),
    "certificate": (
        "make the certificate with which a cluster's scheduler, workers and runs know each other",
        "judgelake.flows.certificate_command:make_certificate",
    ),
    "init": (
        "write a suite from a file of answers, from a few questions, or from an example",
        "judgelake.flows.init_command:run_init",
    ),
    "schema": (
        "print the JSON Schema of a suite, for editors",
        "judgelake.flows.schema_command:run_schema",
    ),
    "plan": (
        "show the calls, tokens, money and time of a run; sends no request, writes nothing",
        "judgelake.flows.plan_command:run_plan",
    ),
    "status": (
        "show the runs in progress on the lake, stale leases, and how the last runs ended",
        "judgelake.flows.status_command:run_status",
    ),
    "forget": (
        "remove a judge or a benchmark from the lake",
        "judgelake.flows.forget_command:run_forget",
    ),
    "catalog": (
        "write a DuckDB file of views over the lake, for other tools to open",
        "judgelake.flows.catalog_command:run_catalog",
    ),
    "export": (
        "write the lake's current rows as a folder that Hugging Face datasets loads",
        "judgelake.flows.export_command:run_export",
    ),
    "compact": (
        "merge the lake's small files into few large ones; safe while others read",
        "judgelake.flows.compact_command:run_compact",
    ),
    "check": (
        "look for damage in the lake's files and rows, and name the damaged files",
        "judgelake.flows.check_command:run_check",
    ),
    "completion": (
        "print a script that completes commands, options and suite files in a shell",
        "judgelake.flows.completion_command:run_completion",
    ),
    "paper": (
        "print tables of the papers from a lake, beside the papers' numbers",
        "judgelake.flows.paper_command:run_paper",
    ),
    "sql": (
        "query the lake in SQL; opens a prompt where no query is given",
        "judgelake.flows.sql_command:run_query",
    ),
    "view": (
        "show the lake in a browser: its reports, the run in progress, SQL; on loopback",
        "judgelake.flows.view.command:run_view",
    ),
    "open": (
        "show a suite's last report in a browser, from disk",
        "judgelake.flows.view.command:run_open",
    ),
}


def _guarded(options: argparse.Namespace) -> int:
    """Run the command; an error that a user can repair is printed without a traceback."""
    from judgelake.tasks.errors import JudgelakeError, LakeError, redact

    module, function = _COMMANDS[options.command][1].split(":")
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
