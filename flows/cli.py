"""The `judgelake` command: words in, flows or SQL out. Nothing heavy is imported before it is known to be needed."""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

EXIT_USAGE, EXIT_CRASH, EXIT_COVERAGE, EXIT_CHECK, EXIT_STOPPED = 1, 2, 3, 5, 130
STAGES = {"run": ("ingest", "judge", "report"), "ingest": ("ingest",), "judge": ("judge",), "report": ("report",)}
_HELP = {
    "run": "ingest, judge and report a suite; what is done already is left alone",
    "ingest": "read a suite's answers and ratings into the lake",
    "judge": "judge and score what is in the lake and not done yet",
    "report": "compute a suite's correlations and write its report",
}
_ENDING = """exit codes: 0 all there; 1 usage or configuration; 2 a crash; 3 finished with coverage below the suite's min_coverage;
5 finished, and a check found rows that are wrong; 130 stopped by Ctrl-C (what was paid for is kept)"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code."""
    options = make_parser().parse_args(arguments)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a report's matrices are small: more threads only wait for each other
    code = _guarded(options)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of prefect and dask outlive their work; waiting for them only prints what their packages left open


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = _Parser(prog="judgelake", description="Judges the judges of vision-language models.", epilog=_ENDING)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command", parser_class=_Parser)
    stages = {name: commands.add_parser(name, help=text, description=text) for name, text in _HELP.items()}
    for stage in stages.values():
        _add_stage(stage)
    preview = "show the first rows as they would land and what would be quarantined; write nothing"
    stages["ingest"].add_argument("--preview", action="store_true", help=preview)
    sql = commands.add_parser("sql", help="ask the lake in SQL; a prompt where no query is given")
    asked = sql.add_mutually_exclusive_group()
    asked.add_argument("query", nargs="?", help="one SELECT over the tables, core_* and rpt_* views")
    asked.add_argument("-f", "--file", type=Path, help="read the query from a file")
    asked.add_argument("--recipe", metavar="NAME", help="answer one of the questions that --list names")
    asked.add_argument("--list", action="store_true", help="list tables, views, checks and recipes; needs no lake")
    sql.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the recipe (repeatable)")
    sql.add_argument("--format", choices=["table", "csv", "json", "markdown", "parquet"], default="table")
    _add_lake(sql)
    return parser


def _add_stage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", type=Path, help="the suite file (YAML)")
    parser.add_argument("--limit", type=_positive, metavar="N", help="only the first N items by key of each benchmark")
    parser.add_argument("--judge", action="append", default=[], metavar="NAME", help="only this judge or metric (repeatable)")
    parser.add_argument("--benchmark", action="append", default=[], metavar="NAME", help="only this benchmark (repeatable)")
    retry = "also ask again what has this status; failed: also what failed before anything was asked (repeatable)"
    parser.add_argument("--retry", action="append", default=[], metavar="STATUS", help=retry,
                        choices=["unparsed", "refused", "truncated", "filtered", "failed"])  # fmt: skip
    _add_lake(parser)


def _add_lake(parser: argparse.ArgumentParser) -> None:
    default = Path(os.environ.get("JUDGELAKE_LAKE", "lake"))
    parser.add_argument("--lake", type=Path, default=default, help="the lake's folder (default: JUDGELAKE_LAKE, else ./lake)")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number from 1")
    return int(text)


def _guarded(options: argparse.Namespace) -> int:
    """Run the command; errors that a user can mend are told without a traceback."""
    from tasks.errors import JudgelakeError, LakeError

    try:
        if options.command == "sql":
            from flows.sql_command import run_query

            return run_query(options)
        if options.command == "ingest" and options.preview:
            from flows.preview_command import run_preview

            return run_preview(options)
        from flows.run_command import run_stages

        return run_stages(options, STAGES[options.command])
    except JudgelakeError as error:
        sys.stderr.write(f"judgelake: {error}\n")
        return EXIT_CRASH if isinstance(error, LakeError) and options.command != "sql" else EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write("judgelake: stopped; run the same command again to go on\n")
        return EXIT_STOPPED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:  # a bug: everything that a user can mend is a JudgelakeError
        traceback.print_exc()
        return EXIT_CRASH


if __name__ == "__main__":
    main()
