"""Finds which stages of a suite are left, and runs them. The commands that do so are
`flows.run_command`.
"""

import argparse
import contextvars
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from types import FrameType
from typing import TypeVar

from judgelake.flows.process_start import without_collections
from judgelake.flows.runners import RunServer, without_heartbeats
from judgelake.tasks.errors import LakeError, RunError, find_code
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.lake.stop_flag import HALT, STOP, set_stop, stop_file
from judgelake.tasks.lake.storage import LakePath, has_file
from judgelake.tasks.reports.exports import is_fresh, page_path
from judgelake.tasks.runs.lease_names import name_leases, name_report_leases
from judgelake.tasks.runs.left import expect_ingested, find_left
from judgelake.tasks.runs.log import (
    DEFAULT_OPTIONS,
    RunOptions,
    hold_for_run,
    logged_step,
    print_step,
)
from judgelake.tasks.runs.record import new_run_id, record_run
from judgelake.tasks.runs.summary import RunEnd, end_run
from judgelake.tasks.suite.judges import list_clients
from judgelake.tasks.suite.suite import (
    Scope,
    Suite,
    narrow,
    read_suite,
    suite_of_answerers,
    suite_of_collection,
)

_Result = TypeVar("_Result")
_FINISHING = "finishing what is in flight (30 s at most); again to end now"
_HALT_S = 5
"""How long shards may write what they have after a second Ctrl-C."""


def run_left(options: argparse.Namespace, stages: tuple[str, ...], server: RunServer) -> RunEnd:
    """Run the command's stages of a suite, which is read here, once for all of them; `server` is
    started where that was not done and a stage needs it.
    """
    retry = tuple(options.retry)
    scope = Scope(options.limit, tuple(options.judge), tuple(options.benchmark))
    full = read_suite(options.suite)
    if options.command == "collect":
        full = suite_of_collection(full)
    elif options.command == "answer":
        full = suite_of_answerers(full)
    for alias, lacks in full.left_out.items():
        names = ", ".join(lacks)
        sys.stderr.write(
            f"judgelake: judge {alias} is left out: the packages {names} are not installed\n"
        )
    suite = narrow(full, scope)
    lake, run_id, run_options = (
        open_lake(options.lake, create=True),
        new_run_id(),
        RunOptions(options.wait, options.log_format),
    )
    if stages == ("judge",):
        expect_ingested(lake, suite)
    compare = getattr(options, "compare", "last")
    if compare != "last":
        return _finish_here(lake, suite, run_id, stages, ("report",), run_options, compare)
    left = find_left(lake, full, scope, stages, retry)
    if left not in ((), ("report",)):
        leases = name_leases(suite, left)
        with hold_for_run(lake, leases, suite.name, run_id, run_options) as held:
            # another run at the same work ends first; after it there may be nothing left to
            # start servers for
            pass
        if held.waited:
            left = find_left(lake, full, scope, stages, retry)
    if left not in ((), ("report",)):
        return _run_flow(options, full, lake, run_id, scope, left, run_options, server)
    server.close()
    return _finish_here(lake, suite, run_id, stages, left, run_options)


def _finish_here(
    lake: Lake,
    suite: Suite,
    run_id: str,
    stages: tuple[str, ...],
    left: tuple[str, ...],
    run_options: RunOptions,
    compare: str = "last",
) -> RunEnd:
    """Finish a run that needs no worker: nothing is left, or only the report."""
    with record_run(lake, suite, run_id, left) as record:
        if left:
            with hold_for_run(lake, name_report_leases(suite), suite.name, run_id, run_options):
                _report_here(lake, suite, run_id, run_options, compare)
        return end_run(lake, suite, stages, record)


def report_here(lake: Lake, suite: Suite) -> LakePath:
    """The page of a suite's report, built in this process where it is stale."""
    if not is_fresh(lake, suite):
        _finish_here(lake, suite, new_run_id(), ("report",), ("report",), DEFAULT_OPTIONS)
    return page_path(lake, suite)


def _report_here(
    lake: Lake, suite: Suite, run_id: str, run_options: RunOptions, compare: str
) -> None:
    if compare == "last" and is_fresh(
        lake, suite
    ):  # the run that held the lease before has built it
        return
    from judgelake.tasks.reports.build import (
        build_report,
    )  # scipy and matplotlib, which "nothing to do" does not need

    with logged_step(lake, run_id, run_options, "report") as facts:
        facts["page"] = str(build_report(lake, suite, compare))


def _run_flow(
    options: argparse.Namespace,
    full: Suite,
    lake: Lake,
    run_id: str,
    scope: Scope,
    stages: tuple[str, ...],
    run_options: RunOptions,
    server: RunServer,
) -> RunEnd:
    from judgelake.flows.progress import show_progress

    where = f"workers of {options.scheduler}" if options.scheduler else "starting workers"
    is_text = run_options.log_format == "text"
    if is_text:
        sys.stderr.write(f"judgelake: {' + '.join(stages)}; {where}\n")
    progress = show_progress(lake, run_id) if is_text else nullcontext()
    suite = narrow(full, scope)
    wait = server.start()
    with without_collections():
        # prefect reads its settings at import
        from judgelake.flows.cluster import is_small
        from judgelake.flows.nightly_evaluation import nightly_evaluation
        from judgelake.flows.run_suite import RunSuite

        late = _list_late(suite, stages)
        while late and not server.answers():
            import_module(late.pop(0))
    wait()
    is_short = options.scheduler is None and is_small(suite, scope.limit)
    life = without_heartbeats() if is_short else nullcontext()
    with stop_on_signal(lake, run_id, run_options), progress, life:
        retry, cluster = tuple(options.retry), (options.scheduler, options.wait_for_workers)
        given = (
            RunSuite(full),
            str(lake.root),
            run_id,
            scope,
            retry,
            stages,
            *cluster,
            run_options.wait_s,
            run_options.log_format,
        )
        try:
            return call_in_thread(
                lambda: nightly_evaluation(*given), beside=lambda: _import_rest(late)
            )
        except RunError as error:
            return RunEnd(find_code(error), error.lines, run_id)


def _list_late(suite: Suite, stages: tuple[str, ...]) -> list[str]:
    """What the stages import when they begin, in their order: contracts, prefect's encoders,
    clients, the report.
    """
    clients = list_clients(suite.judges) if "judge" in stages else []
    report = ["judgelake.tasks.reports.build", "matplotlib.figure"] if "report" in stages else []
    return ["judgelake.schemas.inputs", "fastapi.encoders", *clients, *report]


def _import_rest(modules: Iterable[str]) -> None:
    """Import while a flow waits for its server. What is missing is said by the stage that needs
    it.
    """
    for module in modules:
        with suppress(ImportError):
            import_module(module)


def call_in_thread(
    call: Callable[[], _Result], beside: Callable[[], None] = lambda: None
) -> _Result:
    """Call outside the main thread: there prefect would handle SIGTERM itself and end at once,
    although a run can keep the requests in flight. `beside`: what this thread does meanwhile.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="flow")
    try:
        result = thread.submit(contextvars.copy_context().run, call)
        beside()
        return result.result()
    finally:
        thread.shutdown(wait=False)


@contextmanager
def stop_on_signal(
    lake: Lake, run_id: str, run_options: RunOptions, first: str = _FINISHING
) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) lets requests in flight finish and keeps their replies; the
    second ends the run as soon as the replies that have come are kept. `first`: what is printed
    at the first.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        again = has_file(stop_file(lake, run_id))
        try:
            set_stop(lake, run_id, HALT if again else STOP)
        except LakeError:  # no shard can read a stop flag
            raise KeyboardInterrupt from None
        if again:
            signal.signal(number, end)
            signal.signal(signal.SIGALRM, end)
            signal.alarm(_HALT_S)
        words = f"keeping what has come ({_HALT_S} s at most)" if again else first
        print_step(run_id, run_options, "stop", {"says": f"{signal.Signals(number).name}: {words}"})

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals
        return
    with handled_signals(stop):
        try:
            yield
        finally:
            signal.alarm(0)


@contextmanager
def handled_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call `handler` inside; of the main thread."""
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
