"""How far a run's judges are, as a progress artifact of the flow run in Prefect. The line in the
terminal is `progress.py`.
"""

import contextvars
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.exceptions import PrefectException
from prefect.logging import get_run_logger

from judgelake.flows.progress import count_cases
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import plan_file

_LOCAL_S, _BUCKET_S = 2.0, 15.0
"""Seconds between two looks at the shards' progress files."""
_STEP = 10.0
"""Percent of more cases until the next update in Prefect: a run has at most 12 requests."""
_WAIT_S = 5.0


@contextmanager
def show_in_prefect(lake: Lake, run_id: str, suite_name: str) -> Iterator[None]:
    """While the block runs, show in Prefect how many of the cases are judged: in steps of 10
    percent, from a thread of its own. A run without cases has no artifact, and a server that does
    not take it costs no run.
    """
    shown, done = _Artifact(lake, run_id, suite_name), threading.Event()
    context = contextvars.copy_context()  # it says which flow run this is
    thread = threading.Thread(target=context.run, args=(shown.follow, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(_WAIT_S)


class _Artifact:
    """One progress artifact, made when the first cases are judged."""

    def __init__(self, lake: Lake, run_id: str, suite_name: str) -> None:
        self._plan = plan_file(lake, run_id)
        self._key = "progress-" + re.sub(r"[^a-z0-9]+", "-", suite_name.lower()).strip("-")
        self._words = f"Cases judged in run {run_id} of {suite_name}"
        self._id: UUID | None = None
        self._percent = 0.0
        self._is_refused = False

    def follow(self, done: threading.Event) -> None:
        """Show what has changed until `done`, and once more then."""
        every_s = _LOCAL_S if isinstance(self._plan, Path) else _BUCKET_S
        while not done.wait(every_s):
            self._show(_STEP)
        self._show(0.0)

    def _show(self, step: float) -> None:
        try:
            judged, total = count_cases(self._plan)
        except LakeError:  # a bucket that is slow to answer
            return
        percent = round(100 * min(judged / total, 1.0), 1) if total else 0.0
        if self._is_refused or percent <= self._percent or percent < self._percent + step:
            return
        words = f"{self._words}: {judged:,} of {total:,}"
        try:
            if self._id is None:
                made = create_progress_artifact(percent, self._key, words)
                self._id = cast("UUID", made)  # a coroutine only where a loop runs
            else:
                update_progress_artifact(self._id, percent, words)
        except (PrefectException, httpx.HTTPError) as error:
            self._is_refused = True
            get_run_logger().warning("the run's progress is not shown here: %s", error)
        self._percent = percent
