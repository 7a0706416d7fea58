"""Flow `evaluate-suite`: `judgelake run` for schedules. Prefect's UI shows its parameters as a
form; its exit code becomes the state of the flow run.

`flows.serve_command` or infra/prefect.yaml puts it on a schedule.
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

from judgelake.flows.cli import make_parser
from judgelake.flows.process_start import guard_imports
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
    without_tls: bool = False,
) -> Any:
    """Ingest, judge and report a suite; work that is already done is not repeated.

    Args:
        suite: The suite file (YAML), as the machine that runs this finds it.
        lake: The lake's folder, or s3://bucket/prefix.
        limit: Only the first N items by key of each benchmark; empty for all.
        judges: Only these judges and metrics; empty for all.
        benchmarks: Only these benchmarks; empty for all.
        retry: Also ask again what ended in one of these statuses.
        scheduler: A Dask scheduler whose workers judge (tls://HOST:PORT); empty for workers of the
            run's own.
        without_tls: Whoever reaches the scheduler may run code there (tcp://HOST:PORT).
    """
    atexit.register(_leave_quietly)
    guard_imports()
    words = ["run", suite, "--lake", lake]
    words += ["--limit", str(limit)] if limit else []
    words += ["--scheduler", scheduler] if scheduler else []
    words += ["--without-tls"] if without_tls else []
    for option, values in (("--judge", judges), ("--benchmark", benchmarks), ("--retry", retry)):
        words += [word for value in values for word in (option, value)]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run_stages(
            make_parser().parse_args(words)
        )  # an error that it raises fails the flow run with its message
    sys.stdout.write(printed.getvalue())
    return _as_state(ExitCode(code), printed.getvalue())


def _leave_quietly() -> None:
    """Keep out of a schedule's log what packages print while the process ends."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _as_state(code: ExitCode, printed: str) -> Any:
    """Completed for exit code 0, else failed or cancelled, with the code and the printed lines."""
    if code is ExitCode.DONE:
        return Completed(message=printed)
    ended = Cancelled if code is ExitCode.STOPPED else Failed
    return ended(message=f"exit code {code}, {MEANINGS[code]}\n{printed}")
