"""The exceptions that users see; each message is `<where>: <what was wrong>; expected <what>; <what
to do>`.

JudgelakeError
├── SuiteError     the suite file or the command line is wrong: nothing was done
├── SourceError    an input file cannot be read as what the suite says it is
├── LakeError      the lake cannot be read or written
├── QueryError     a SQL statement failed; the message shows its file and text
├── LeaseError     another run holds what this one needs
├── ClusterError   the Dask scheduler does not answer or went away, or a worker does not start
├── RunError       the run came to its end with problems; its code says which
├── MetricError    a metric cannot be computed here (a package is missing, say)
└── BackendError   a judge's endpoint or model cannot be used at all
"""

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from enum import IntEnum


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint that names the closest of `valid`, else all of them."""
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(names)}"


class JudgelakeError(Exception):
    """Base of all errors that a user can repair; the command prints the message without a
    traceback.
    """


class SuiteError(JudgelakeError):
    """The suite file or the command line is wrong."""


class SourceError(JudgelakeError):
    """An input file cannot be read as what the suite says it is."""


class LakeError(JudgelakeError):
    """The lake cannot be read or written."""


class LeaseError(JudgelakeError):
    """Another run holds what this one needs."""


class RunError(JudgelakeError):
    """The run came to its end with problems: `code` is its exit code, `lines` describe them."""

    def __init__(self, code: int, lines: Sequence[str]) -> None:
        super().__init__(code, lines)
        self.code, self.lines = code, tuple(lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class ClusterError(JudgelakeError):
    """The Dask scheduler does not answer, or went away during a run, or a worker of the run's own
    does not start.
    """


class QueryError(JudgelakeError):
    """A SQL statement failed."""


class MetricError(JudgelakeError):
    """A metric cannot be computed here."""


class BackendError(JudgelakeError):
    """A judge's endpoint or model cannot be used at all."""


class ExitCode(IntEnum):
    """The codes; a scheduler may try 2, 3, 6 and 7 again as they are, 1, 4 and 5 need a person."""

    DONE = 0
    USAGE = 1
    CRASH = 2
    COVERAGE = 3
    BUDGET = 4
    CHECK = 5
    LEASED = 6
    OPEN = 7
    STOPPED = 130


MEANINGS = {
    ExitCode.DONE: "all there",
    ExitCode.USAGE: "usage, configuration or input",
    ExitCode.CRASH: "a crash",
    ExitCode.COVERAGE: "finished with coverage below the suite's min_coverage, or a judge paused",
    ExitCode.BUDGET: "budget reached",
    ExitCode.CHECK: "a check found rows that are wrong",
    ExitCode.LEASED: "another run holds the lake",
    ExitCode.OPEN: "all asked, a batch at the provider is still open",
    ExitCode.STOPPED: "stopped by Ctrl-C or SIGTERM (what was paid for is kept)",
}


def combine_codes(codes: Iterable[ExitCode]) -> ExitCode:
    """The code of a run that earned several: 1 and 2 win over the rest, else the highest stands."""
    earned = set(codes)
    return max(earned & {ExitCode.USAGE, ExitCode.CRASH} or earned, default=ExitCode.DONE)


def find_code(error: BaseException) -> ExitCode:
    """The code of a command that ended with an error. An error that a user cannot repair is a
    crash, and so is a lake or cluster that is gone.
    """
    if isinstance(error, RunError):
        return ExitCode(error.code)
    if isinstance(error, LeaseError):
        return ExitCode.LEASED
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.STOPPED
    is_usage = isinstance(error, JudgelakeError) and not isinstance(error, LakeError | ClusterError)
    return ExitCode.USAGE if is_usage else ExitCode.CRASH


def describe_codes() -> str:
    """All codes in a line, for `--help`."""
    return "exit codes: " + "; ".join(
        f"{code.value} {meaning}" for code, meaning in MEANINGS.items()
    )


# ends of the names of environment variables that hold a secret
_NAMES = re.compile(r"(KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$")
# keys of OpenAI and similar services, access keys of AWS, bearer tokens
_SHAPES = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}|\bAKIA[A-Z0-9]{16}\b|(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}"
)
# characters: a shorter value is too common a text to be taken for a secret
_SHORTEST = 8
_MARK = "[key]"
# signs that change the order in which the text around them is shown
BIDI = "\u202a-\u202e\u2066-\u2069"
# these, and what a terminal takes for a command: ESC and its like, but no tab and no end of a line
CONTROLS = rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{BIDI}]"


def redact(text: str) -> str:
    """`text` fit to be printed: without what looks like a key, without the value of any environment
    variable that is named like one, and with control characters shown.
    """
    for value in sorted(_list_secrets(), key=len, reverse=True):
        text = text.replace(value, _MARK)
    return show_controls(_SHAPES.sub(_MARK, text))


def show_controls(text: str) -> str:
    """`text` with control characters as `\\x1b` or `\\u202e`, so that it changes nothing else in a
    terminal.
    """
    return re.sub(CONTROLS, lambda control: _show_control(ord(control[0])), text)


def _show_control(number: int) -> str:
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def _list_secrets() -> set[str]:
    """The values to remove. Values shorter than eight characters are not among them: `x` or `test`
    would remove words from every sentence.
    """
    return {
        value
        for name, value in os.environ.items()
        if _NAMES.search(name) and len(value) >= _SHORTEST
    }
