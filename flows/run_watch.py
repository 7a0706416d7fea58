"""`judgelake run SUITE --watch`: runs the suite, and again each time that its file or a file that
it reads has changed, until Ctrl-C.

Prefect's server and all that was imported stay from run to run, so that an edited answer is judged
and reported in half of the time.
"""

import argparse
import gc
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from judgelake.flows.run_left import handled_signals, run_left
from judgelake.flows.runners import RunServer
from judgelake.flows.suite_files import list_named
from judgelake.tasks.errors import (
    ClusterError,
    ExitCode,
    JudgelakeError,
    find_code,
    redact,
    show_controls,
)
from judgelake.tasks.file_cache import forget_files
from judgelake.tasks.runs.log import RunOptions, print_step
from judgelake.tasks.sources.registry import source_files
from judgelake.tasks.suite.suite import parse_suite

_LOOK_S = 0.15
"""Seconds between two looks at the files. What is written for longer is waited for."""
_MOST_IN_FOLDER = 1_000
"""Files of a folder that are looked at one by one; of a larger one, only which names it has."""

Stamps = Mapping[Path, tuple[int, int]]
"""File or folder -> when it was written, in nanoseconds, and its size."""


def watch_suite(options: argparse.Namespace, stages: tuple[str, ...], server: RunServer) -> int:
    """Run until Ctrl-C; returns the exit code of the last run. A run that ends with an error, as
    one of a suite that cannot be read, is followed by the next, too. Raises ClusterError where
    `server`, which stays, or the scheduler is gone.
    """
    come: list[int] = []  # signals: a KeyboardInterrupt gets lost where garbage is collected
    while True:
        look = make_look(options.suite, options.lake)
        before = look()
        code = _run_once(options, stages, server)
        if code == ExitCode.STOPPED or options.suite not in before:
            return code
        options.retry = []  # it was asked for once
        with handled_signals(lambda number, _: come.append(number)):
            _say(options, f"{len(before):,} files for changes; Ctrl-C ends")
            gc.collect()  # while nobody waits
            changed = wait_for_change(look, before, is_stopped=lambda: bool(come))
        if not changed:
            return code
        _say(options, _name_changed(changed))
        forget_files()


def _run_once(options: argparse.Namespace, stages: tuple[str, ...], server: RunServer) -> int:
    try:
        end = run_left(options, stages, server)
    except ClusterError:
        raise
    except JudgelakeError as error:
        sys.stderr.write(redact(f"judgelake: {error}\n"))
        return find_code(error)
    sys.stdout.write(f"{end}\n")
    sys.stdout.flush()
    return end.code


def wait_for_change(
    look: Callable[[], Stamps], before: Stamps, is_stopped: Callable[[], bool]
) -> list[Path]:
    """Wait until files are not as they were `before`, and have stayed so from one look to the next;
    returns those that were written, made or removed, or none once it is stopped.
    """
    now, then = before, before
    while now == before or now != then:
        time.sleep(_LOOK_S)
        if is_stopped():
            return []
        now, then = look(), now
    return sorted(path for path in {*before, *now} if before.get(path) != now.get(path))


def make_look(suite: Path, lake: str) -> Callable[[], Stamps]:
    """A function that stamps the suite's file, what its text names, and the files of its benchmarks
    where it can be read; nothing of the lake, which each run changes.
    """
    text, sources = "", []
    with suppress(OSError, ValueError):
        text = suite.read_text(encoding="utf-8")
    with suppress(JudgelakeError):
        sources = [benchmark.settings for benchmark in parse_suite(suite, text).benchmarks.values()]
    own = Path(os.path.abspath(lake))  # noqa: PTH100  # keeps links, as the suite's paths do

    def look() -> Stamps:
        named = [suite]
        with suppress(OSError, ValueError):
            named += list_named(suite.parent, text)
        for settings in sources:
            with suppress(JudgelakeError):  # one is missing: the run says so
                named += source_files(settings)
        return stamp_files(
            path for path in _open_folders(named) if not path.absolute().is_relative_to(own)
        )

    return look


def _open_folders(paths: Iterable[Path]) -> Iterator[Path]:
    """The paths, and what small folders among them hold."""
    for path in paths:
        yield path
        with suppress(OSError):
            inside = [*itertools.islice(path.iterdir(), _MOST_IN_FOLDER + 1)]
            yield from inside if len(inside) <= _MOST_IN_FOLDER else ()


def stamp_files(paths: Iterable[Path]) -> Stamps:
    """The stamps of those files and folders that are there."""
    stamps: dict[Path, tuple[int, int]] = {}
    for path in paths:
        with suppress(OSError):
            stat = path.stat()
            stamps[path] = stat.st_mtime_ns, stat.st_size
    return stamps


def _name_changed(changed: Sequence[Path]) -> str:
    more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
    return f"{show_controls(changed[0].name)}{more} changed"


def _say(options: argparse.Namespace, words: str) -> None:
    print_step("", RunOptions(options.wait, options.log_format), "watch", {"says": words})
