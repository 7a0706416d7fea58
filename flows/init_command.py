"""The command `judgelake init`: writes a suite and its JSON Schema beside it. The text of the suite
is `tasks.suite.draft`; the examples are `tasks.suite.examples`.
"""

import argparse
import sys
from pathlib import Path

from judgelake.tasks.errors import ExitCode, SuiteError
from judgelake.tasks.suite.draft import SCHEMA_FILE, SCHEMA_LINE, Wishes, draft_suite


def run_init(options: argparse.Namespace) -> int:
    """Write the suite, or list the examples."""
    if options.list:
        return _list_examples()

    _expect_free(options.file, force=options.force)
    if options.example:
        text = _read_example(options.example)
    else:
        text = draft_suite(options.file, _collect_wishes(options))
    _write(options.file, text)
    sys.stdout.write(
        f"{options.file} is written; next: judgelake plan {options.file}, then judgelake run "
        f"{options.file}\n"
    )
    return ExitCode.DONE


def _list_examples() -> int:
    from judgelake.tasks.suite.examples import list_examples

    examples = list_examples()
    width = max(len(example.name) for example in examples)
    for example in examples:
        sys.stdout.write(f"{example.name:<{width}}  {example.says}\n")
    return ExitCode.DONE


def _read_example(name: str) -> str:
    from judgelake.tasks.suite.examples import read_example

    return SCHEMA_LINE + read_example(name)


def _expect_free(file: Path, *, force: bool) -> None:
    if file.exists() and not force:
        raise SuiteError(
            f"{file}: is there already; expected a new file; name another, or add --force to "
            "replace it"
        )
    if not file.parent.is_dir():
        raise SuiteError(
            f"{file}: its folder is not there; expected one; make {file.parent} or name another"
        )


def _collect_wishes(options: argparse.Namespace) -> Wishes:
    """The values of the flags; on a terminal, the user is asked for those that are missing."""
    answers, protocol = options.answers, options.protocol
    name, model = options.name, options.model
    if answers is None and sys.stdin.isatty():
        given = _ask("A file of answers (CSV, TSV, JSONL, JSON, Parquet)", "the drawn demo")
        answers = Path(given).expanduser() if given else None
        name = name or _ask("The suite's name", "after the file") or None
        protocol = protocol or _ask("The judge's protocol", "after the columns") or None
        model = model or _ask("The judge's model, as provider/model", "a free stand-in") or None
    return Wishes(answers, protocol, name, model)


def _ask(question: str, default: str) -> str:
    try:
        return input(f"{question} [{default}]: ").strip()
    except EOFError:
        return ""


def _write(file: Path, text: str) -> None:
    from judgelake.flows.schema_command import format_schema

    try:
        (file.parent / SCHEMA_FILE).write_text(format_schema(), encoding="utf-8")
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SuiteError(
            f"{file}: cannot be written ({error.strerror}); expected a folder that takes files; "
            "name another"
        ) from None
