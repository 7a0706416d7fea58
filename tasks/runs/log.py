"""The log of a run: the lines that it prints and keeps, and the leases that it waits for."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from judgelake.tasks.errors import LakeError, redact
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.leases import Held, SteadyClock, hold_leases
from judgelake.tasks.lake.stop_flag import LOST, StopFlag, set_stop
from judgelake.tasks.lake.storage import LakePath, read_file, write_whole

Fact = str | float | Sequence[str]
"""A value of a step: words that are printed as they are, a number with its name, several words."""
LogFormat = Literal["text", "json"]


@dataclass(frozen=True)
class RunOptions:
    """How long a run waits for leases (None: until they are free), and the format of its lines on
    standard error.
    """

    wait_s: float | None = None
    log_format: LogFormat = "text"


DEFAULT_OPTIONS = RunOptions()


def log_file(lake: Lake, run_id: str) -> LakePath:
    """The file of a run's lines as JSON; it exists after the first line."""
    return lake.root / "_logs" / f"{run_id}.jsonl"


def read_steps(lake: Lake, run_id: str) -> list[dict[str, Fact]]:
    """The steps of a run that have ended, in their order, each with its facts."""
    lines = (read_file(log_file(lake, run_id)) or b"").splitlines()
    return [
        {name: value for name, value in json.loads(line).items() if name not in ("at", "run_id")}
        for line in lines
    ]


def hold_for_run(
    lake: Lake, names: Sequence[str], suite: str, run_id: str, run_options: RunOptions
) -> AbstractContextManager[Held]:
    """Hold the leases `names` for a run. A run that loses a lease shuts down as it does on Ctrl-C,
    and its stop flag says why.
    """
    flag = StopFlag(lake, run_id)
    return hold_leases(
        lake, names, f"run {run_id} of {suite}", run_options.wait_s,
        lambda words: log_step(lake, run_id, run_options, "lease", {"says": words}),
        on_loss=lambda: set_stop(lake, run_id, LOST), should_stop=flag.is_set,
    )  # fmt: skip


@contextmanager
def logged_step(
    lake: Lake, run_id: str, run_options: RunOptions, step: str
) -> Iterator[dict[str, Fact]]:
    """Log a step when its block has ended: the values that the block puts into the mapping, and the
    seconds that it took.
    """
    facts: dict[str, Fact] = {}
    clock = SteadyClock()
    yield facts
    log_step(lake, run_id, run_options, step, {**facts, "seconds": round(clock.elapsed_s(), 1)})


def log_step(
    lake: Lake, run_id: str, run_options: RunOptions, step: str, facts: Mapping[str, Fact]
) -> None:
    """Print a line on standard error and add it to the run's log. Where the lake cannot be written,
    only the line in the log is missing.
    """
    line = print_step(run_id, run_options, step, facts)
    file = log_file(lake, run_id)
    try:
        write_whole(file, (read_file(file) or b"") + f"{line}\n".encode())
    except LakeError:
        return


def print_step(run_id: str, run_options: RunOptions, step: str, facts: Mapping[str, Fact]) -> str:
    """Print a line on standard error; returns it as JSON."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = redact(
        json.dumps({"at": at, "run_id": run_id, "step": step, **facts}, ensure_ascii=False)
    )
    sys.stderr.write(
        f"{line}\n"
        if run_options.log_format == "json"
        else redact(f"judgelake: {step}: {_say(facts)}\n")
    )
    return line


def _say(facts: Mapping[str, Fact]) -> str:
    """Facts as a person reads them: `40 items, 80 answers in 1.2 s`."""
    words = [_say_value(name, value) for name, value in facts.items() if name != "seconds"]
    seconds = f" in {facts['seconds']} s" if "seconds" in facts else ""
    return ", ".join(word for word in words if word) + seconds


def _say_value(name: str, value: Fact) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return f"{value:,} {name.replace('_', ' ')}"
    return ", ".join(value)
