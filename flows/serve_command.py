"""`judgelake serve`: runs a suite on a schedule from one process, with Prefect's page beside it.
The flow that it runs is `flows.scheduled`.
"""

import argparse
import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from judgelake.flows.runners import quieten_prefect, refuse_open_scheduler, starting_server
from judgelake.tasks.errors import ExitCode, SuiteError
from judgelake.tasks.suite.suite import Scope, Suite, narrow, read_suite

if TYPE_CHECKING:
    from prefect.runner import Runner
    from prefect.schedules import Schedule


_SETTINGS = {"PREFECT_RUNNER_POLL_FREQUENCY": "5"}
"""Seconds between two looks for due runs; Prefect's default is 10."""
_BUCKET = "s3://"


def serve_suite(options: argparse.Namespace) -> int:
    """Run a suite on its schedule until a signal ends it; raises SuiteError for a wrong suite,
    option or schedule.
    """
    refuse_open_scheduler(options.scheduler, without_tls=options.without_tls)
    suite = read_suite(options.suite)
    narrow(suite, Scope(options.limit, tuple(options.judge), tuple(options.benchmark)))
    zone = _read_zone(options.timezone)
    configured = os.environ.get("PREFECT_API_URL")
    if configured:
        quieten_prefect(_SETTINGS)
        _serve(options, suite, _make_schedule(options, zone), configured, configured=True)
        return ExitCode.DONE
    with _hold_home(suite) as home, starting_server(home, settings=_SETTINGS) as wait:
        schedule = _make_schedule(options, zone)
        _serve(options, suite, schedule, wait(), configured=False)
    return ExitCode.DONE


def _serve(
    options: argparse.Namespace, suite: Suite, schedule: "Schedule", url: str, *, configured: bool
) -> None:
    """Register the deployment, print what runs when and where, run it until a signal ends it."""
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.deployments.runner import EntrypointType
    from prefect.runner import Runner

    from judgelake.flows.scheduled import evaluate_suite

    deployment: Any = evaluate_suite.to_deployment(
        suite.name,
        schedule=schedule,
        paused=False,
        parameters=_parameters(options),
        description=f"{suite.file} into {_lake_text(options)}",
        concurrency_limit=ConcurrencyLimitConfig(
            limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
        ),
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    runner = Runner(
        name=suite.name, pause_on_shutdown=True, limit=None
    )  # the limit is the deployment's: a run beyond it is skipped
    deployment_id = runner.add_deployment(deployment)
    _print_schedule(
        options,
        suite,
        schedule,
        f"{url.removesuffix('/api')}/deployments/deployment/{deployment_id}",
        None if configured else os.environ["PREFECT_API_AUTH_STRING"],
    )
    asyncio.run(_run_until_signal(runner))
    sys.stderr.write("judgelake serve: stopped; the schedule is paused until it is served again\n")


async def _run_until_signal(runner: "Runner") -> None:
    """Run what is due until Ctrl-C or SIGTERM. A run in progress gets the signal too and has half a
    minute to end.
    """
    running, stopped = asyncio.create_task(runner.start()), asyncio.Event()
    while (
        not runner.started and not running.done()
    ):  # the runner takes SIGTERM for itself when it starts
        await asyncio.sleep(0.05)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await asyncio.wait(
        {running, asyncio.create_task(stopped.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    if not running.done():
        await runner.astop()
    await running


def _make_schedule(options: argparse.Namespace, zone: str) -> "Schedule":
    from prefect.schedules import Cron, Interval

    if options.cron is None:
        return Interval(timedelta(seconds=options.interval), timezone=zone)
    try:
        from prefect.client.schemas.schedules import CronSchedule

        CronSchedule(cron=options.cron, timezone=zone)
    except ValueError:
        raise SuiteError(
            f"--cron {options.cron!r}: is no schedule; expected five fields (minute hour day "
            f"month weekday), such as '0 2 * * *'; correct it"
        ) from None
    return Cron(options.cron, timezone=zone)


def _read_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # an unknown name, a folder of zones, or a path
        raise SuiteError(
            f"--timezone {name!r}: is no time zone; expected a name such as UTC or "
            f"Europe/Berlin; correct it"
        ) from None
    return name


def _parameters(options: argparse.Namespace) -> dict[str, object]:
    return {
        "suite": str(options.suite.absolute()),
        "lake": _lake_text(options),
        "limit": options.limit,
        "judges": options.judge,
        "benchmarks": options.benchmark,
        "retry": options.retry,
        "scheduler": options.scheduler,
        "without_tls": options.without_tls,
    }


def _lake_text(options: argparse.Namespace) -> str:
    text = str(options.lake)
    return text if text.startswith(_BUCKET) else str(Path(text).absolute())


def _print_schedule(
    options: argparse.Namespace, suite: Suite, schedule: "Schedule", page: str, password: str | None
) -> None:
    when = (
        f"every {options.interval} s"
        if options.cron is None
        else f"at {options.cron!r} ({schedule.timezone})"
    )
    lines = [
        f"judgelake serve: {suite.name} {when}; one run at a time, a run that is due meanwhile "
        f"is skipped",
        f"  lake  {_lake_text(options)}",
        f"  page  {page}",
        *([f"        the page asks once for the password {password}"] if password else []),
        f"  now   {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        f"  stop  Ctrl-C, or SIGTERM to process {os.getpid()}; a run under way keeps what it "
        f"has paid for",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


@contextmanager
def _hold_home(suite: Suite) -> Iterator[Path]:
    """The folder of a suite's Prefect database, which one process at a time may use, and no other
    user may read.
    """
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    home = state / "judgelake" / "serve" / suite.name
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    with (home / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SuiteError(
                f"{suite.file}: another judgelake serves the suite {suite.name!r} already; "
                f"expected one; stop it, or set PREFECT_API_URL"
            ) from None
        yield home
