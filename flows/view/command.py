"""`judgelake view` serves a lake and its reports on loopback; `judgelake open` shows a suite's last
report from disk.
"""

import argparse
import asyncio
import os
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from judgelake.tasks.errors import ExitCode, LakeError, SuiteError
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.lake.processes import own_folder, remove_abandoned_folders
from judgelake.tasks.lake.storage import has_file, list_folders

if TYPE_CHECKING:
    from aiohttp import web

LOOPBACK = "127.0.0.1"


def run_view(options: argparse.Namespace) -> int:
    """Serve the lake until a signal ends it; the address printed holds the token that a browser
    needs. Raises LakeError where the lake or the port cannot be had.
    """
    from judgelake.flows.view.server import make_app

    remove_abandoned_folders()
    lake, token = open_lake(options.lake), secrets.token_urlsafe(24)
    with _listen(options.port) as listener:
        port = listener.getsockname()[1]
        address = f"http://{LOOPBACK}:{port}/#token={token}"
        sys.stdout.write(
            f"judgelake view: {lake.root}\n"
            f"  page  {address}\n"
            f"        whoever has this address can read the lake; other machines cannot reach it\n"
            f"  stop  Ctrl-C\n"
        )
        sys.stdout.flush()
        with _address_file(address) as file:
            if sys.stdout.isatty() and not options.no_browser:
                webbrowser.open(file.as_uri())
            asyncio.run(_serve(make_app(lake, token), listener))
    return ExitCode.DONE


@contextmanager
def _address_file(address: str) -> Iterator[Path]:
    """A page that leads to the address and that this user alone can read: other users see the
    command line of a browser, which therefore names the file.
    """
    with own_folder("view") as folder:
        file = Path(folder) / "open.html"
        file.write_text(f'<meta http-equiv="refresh" content="0; url={address}">\n')
        yield file


def run_open(options: argparse.Namespace) -> int:
    """Show the report of a suite, of the lake's only or newest one if none is named, in the
    browser, and print its path.
    """
    page, others = _find_page(open_lake(options.lake), options.suite)
    sys.stdout.write(f"{page}\n")
    if others:
        sys.stderr.write(f"judgelake open: the newest report; others: {', '.join(others)}\n")
    if not options.no_browser:
        webbrowser.open(page.as_uri())
    return ExitCode.DONE


def _find_page(lake: Lake, suite: str | None) -> tuple[Path, list[str]]:
    """The report's page, and the suites that have others."""
    root = lake.root
    if not isinstance(root, Path):
        raise LakeError(
            f"{root}: a report in a bucket cannot be opened from disk; expected a folder; use "
            f"`judgelake view --lake {root}`"
        )
    names = [
        name
        for name in list_folders(root / "reports")
        if has_file(root / "reports" / name / "report.html")
    ]
    if suite is not None and suite not in names:
        raise SuiteError(
            f"{suite}: the lake {root} has no report of it; expected one of "
            f"{', '.join(names) or 'none yet'}; make one with `judgelake report`"
        )
    if not names:
        raise LakeError(
            f"{root}: has no report yet; expected one of a suite; make it with `judgelake run` or "
            f"`judgelake report`"
        )
    pages = {name: root / "reports" / name / "report.html" for name in names}
    chosen = suite or max(names, key=lambda name: pages[name].stat().st_mtime)
    others = [] if suite else [name for name in names if name != chosen]
    return pages[chosen].absolute(), others


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise LakeError(
            f"--port {port}: cannot be listened on ({os.strerror(error.errno or 0)}); expected a "
            f"free port; name another, or none"
        ) from None


async def _serve(app: "web.Application", listener: socket.socket) -> None:
    """Answer requests until SIGINT or SIGTERM; a query that somebody no longer waits for ends."""
    from aiohttp import web

    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()
    await runner.cleanup()
