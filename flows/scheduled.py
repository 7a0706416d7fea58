"""Flow `evaluate-suite`: `judgelake run` for schedules; its parameters are a form in Prefect's UI,
its end is the state of the flow run.

Who puts it on a schedule is `flows.serve_command` or infra/prefect.yaml.
"""

import atexit
import contextlib
import io
import os
import sys
from typing import Any, Literal

from prefect import flow
from prefect.states import Cancelled, Completed, Failed
from pydantic import PositiveInt

from judgelake.flows.cli import guard_imports, make_parser
from judgelake.flows.run_command import run_stages
from judgelake.tasks.errors import MEANINGS, ExitCode

Status = Literal["unparsed", "refused", "truncated", "filtered", "failed"]
FLOW_NAME = "evaluate-suite"


@flow(name=FLOW_NAME)
def evaluate_suite(
    suite: str,
    lake: str = "lake",
    limit: PositiveInt | None = None,
    judges: tuple[str, ...] = (),
    benchmarks: tuple[str, ...] = (),
    retry: tuple[Status, ...] = (),
    scheduler: str | None = None,
) -> Any:
    """Ingest, judge and report a suite; what is done already is left alone.

    Args:
        suite: The suite file (YAML), as the machine that runs this finds it. lake: The lake's
        folder, or s3://bucket/prefix. limit: Only the first N items by key of each benchmark; empty
        for all. judges: Only these judges and metrics; empty for all. benchmarks: Only these
        benchmarks; empty for all. retry: Also ask again what ended in one of these statuses.
        scheduler: A Dask scheduler whose workers judge (tcp://HOST:PORT); empty for workers of the
        run's own.
    """
    atexit.register(_leave_quietly)
    guard_imports()
    words = ["run", suite, "--lake", lake]
    words += ["--limit", str(limit)] if limit else []
    words += ["--scheduler", scheduler] if scheduler else []
    for option, values in (("--judge", judges), ("--benchmark", benchmarks), ("--retry", retry)):
        words += [word for value in values for word in (option, value)]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        code = run_stages(
            make_parser().parse_args(words)
        )  # its errors fail the flow run in their own words
    sys.stdout.write(told.getvalue())
    return _as_state(ExitCode(code), told.getvalue())


def _leave_quietly() -> None:
    """What packages print while they are torn down is no part of a schedule's log."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _as_state(code: ExitCode, told: str) -> Any:
    """Completed where all is there, else failed with the command's exit code and what it said."""
    if code is ExitCode.DONE:
        return Completed(message=told)
    ended = Cancelled if code is ExitCode.STOPPED else Failed
    return ended(message=f"exit code {code}, {MEANINGS[code]}\n{told}")
