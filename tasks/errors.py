"""The exceptions that users see; each message is `<where>: <what was wrong>; expected <what>; <what to do>`.

JudgelakeError
├── SuiteError     the suite file or the command line is wrong: nothing was done
├── SourceError    an input file cannot be read as what the suite says it is
├── LakeError      the lake cannot be read or written
├── QueryError     a SQL statement failed; the message shows its file and text
├── MetricError    a metric cannot be computed here (a package is missing, say)
└── BackendError   a judge's endpoint or model cannot be used at all
"""


class JudgelakeError(Exception):
    """Base of all errors that a user can mend; the command prints the message without a traceback."""


class SuiteError(JudgelakeError):
    """The suite file or the command line is wrong."""


class SourceError(JudgelakeError):
    """An input file cannot be read as what the suite says it is."""


class LakeError(JudgelakeError):
    """The lake cannot be read or written."""


class QueryError(JudgelakeError):
    """A SQL statement failed."""


class MetricError(JudgelakeError):
    """A metric cannot be computed here."""


class BackendError(JudgelakeError):
    """A judge's endpoint or model cannot be used at all."""
