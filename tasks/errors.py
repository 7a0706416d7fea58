"""The exceptions that users see; each message is `<where>: <what was wrong>; expected <what>; <what to do>`.

JudgelakeError
├── SuiteError     the suite file or the command line is wrong: nothing was done
├── SourceError    an input file cannot be read as what the suite says it is
├── LakeError      the lake cannot be read or written
├── QueryError     a SQL statement failed; the message shows its file and text
├── LeaseError     another run holds what this one needs
├── ClusterError   the Dask scheduler does not answer, or went away during a run, or a worker of the run's own does not start
├── RunError       the run came to its end, and not all is well; its code says what
├── MetricError    a metric cannot be computed here (a package is missing, say)
└── BackendError   a judge's endpoint or model cannot be used at all
"""

from collections.abc import Sequence


class JudgelakeError(Exception):
    """Base of all errors that a user can mend; the command prints the message without a traceback."""


class SuiteError(JudgelakeError):
    """The suite file or the command line is wrong."""


class SourceError(JudgelakeError):
    """An input file cannot be read as what the suite says it is."""


class LakeError(JudgelakeError):
    """The lake cannot be read or written."""


class LeaseError(JudgelakeError):
    """Another run holds what this one needs."""


class RunError(JudgelakeError):
    """The run came to its end, and not all is well: `code` is its exit code, `lines` tell it."""

    def __init__(self, code: int, lines: Sequence[str]) -> None:
        super().__init__(code, lines)
        self.code, self.lines = code, tuple(lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class ClusterError(JudgelakeError):
    """The Dask scheduler does not answer, or went away during a run, or a worker of the run's own does not start."""


class QueryError(JudgelakeError):
    """A SQL statement failed."""


class MetricError(JudgelakeError):
    """A metric cannot be computed here."""


class BackendError(JudgelakeError):
    """A judge's endpoint or model cannot be used at all."""
