"""How a shard tells how far it is: a small file in the run's work folder, and what was spent of the budget. Reading it is the flows' matter."""

import contextlib
import json
import threading
import time
from pathlib import Path

from tasks.errors import LakeError
from tasks.judging.budget import Budget
from tasks.judging.ledger import Tally
from tasks.storage import LakePath, write_whole

_BUCKET_S = 5.0


class Teller:
    """Writes a shard's progress to `file`: on a disk at every tick, in a bucket every 5 s and from a thread, so that judging never waits."""

    def __init__(self, file: LakePath, budget: Budget | None) -> None:
        self._file, self._budget = file, budget
        self._thread: threading.Thread | None = None
        self._next = time.monotonic()

    def tick(self, tally: Tally) -> None:
        """Tell, where it is time to."""
        if isinstance(self._file, Path):
            self._write(_encode(tally))
        elif time.monotonic() >= self._next and not (self._thread and self._thread.is_alive()):
            self._next = time.monotonic() + _BUCKET_S
            self._thread = threading.Thread(target=self._write, args=(_encode(tally),), daemon=True)
            self._thread.start()

    def tell(self, tally: Tally) -> None:
        """Tell now: the last word."""
        if self._thread:
            self._thread.join()
        self._write(_encode(tally))

    def _write(self, told: bytes) -> None:
        with contextlib.suppress(LakeError):  # a full disk, a silent bucket: the ledger tells of it
            if self._budget is not None:
                self._budget.save()
            write_whole(self._file, told)


def _encode(tally: Tally) -> bytes:
    told = {"calls": tally.n_calls, "reused": tally.n_replies_reused, "cases": tally.n_cases, "statuses": dict(tally.statuses)}
    told |= {"tokens": tally.prompt_tokens + tally.completion_tokens, "cost_usd": tally.cost_usd, "unpriced": tally.n_unpriced}
    return json.dumps(told).encode()
