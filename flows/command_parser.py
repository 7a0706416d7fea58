"""argparse as `judgelake` uses it: wrong arguments end with the exit code of wrong usage, and
options that are numbers are read here.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from judgelake.tasks.errors import ExitCode


class Parser(argparse.ArgumentParser):
    """The parser of one command; wrong arguments end with the exit code of wrong usage."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and exit."""
        self.print_usage(sys.stderr)
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}\n")


class PrintVersion(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **more)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version and exit."""
        from importlib.metadata import version

        sys.stdout.write(f"judgelake {version('judgelake')}\n")
        parser.exit(0)


def read_count(text: str) -> int:
    """A whole number from 0."""
    return 0 if text == "0" else read_positive(text)


def read_positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number from 1")
    return int(text)


def read_seconds(text: str) -> float:
    """A whole number of seconds from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number of seconds from 0")
    return float(text)
