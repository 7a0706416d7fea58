"""What the exit code of a command means, for schedulers. Which code a run earned is `tasks.run_end`'s matter."""

from collections.abc import Iterable
from enum import IntEnum

from tasks.errors import ClusterError, JudgelakeError, LakeError, LeaseError, RunError


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
    ExitCode.COVERAGE: "finished with coverage below the suite's min_coverage",
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
    """The code of a command that ended with an error; what a user cannot mend is a crash, and so is a lake or cluster that is gone."""
    if isinstance(error, RunError):
        return ExitCode(error.code)
    if isinstance(error, LeaseError):
        return ExitCode.LEASED
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.STOPPED
    mendable = isinstance(error, JudgelakeError) and not isinstance(error, LakeError | ClusterError)
    return ExitCode.USAGE if mendable else ExitCode.CRASH


def describe_codes() -> str:
    """All codes in a line, for `--help`."""
    return "exit codes: " + "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items())
