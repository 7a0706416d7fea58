"""Whether an endpoint still answers, judged by what all requests of a run have met there.

The shards of a run hand it on in a small file, so that none begins to wait anew for an endpoint
that hangs or fails everything. The next run starts with a clean sheet.
"""

import json
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.storage import LakePath, read_file, write_whole

# in a row and in the same words: by then the cause is not the single request
EQUAL_REFUSALS = 20
OUTAGE_S = 60.0
"""Seconds: an endpoint that restarts answers again by then. After a longer time without a reply the
requests that are left fail unsent.
"""
SILENCE_S = 180.0
"""Seconds without any answer, be it an error, after which an endpoint hangs; at least as long as
one request may take.
"""
_UNANSWERED = 3
"""So many attempts must have ended without an answer meanwhile."""
_SAVE_S = 5.0
"""The pause between two writes of the file."""


class _Streak(NamedTuple):
    """Failures in a row in the same words, and when the first of them was."""

    words: str
    n: int
    since_s: float


class Health:
    """What requests to one endpoint met; `faults` maps a model to the reason why nothing more is
    sent to it. Times are those of the wall clock, which a run's processes share.
    """

    def __init__(self, file: LakePath | None, timeout_s: float, outage_s: float = OUTAGE_S) -> None:
        self._file, self._outage_s = file, outage_s
        self._silence_s = max(SILENCE_S, timeout_s)
        self._n_out = self._n_unanswered = 0
        self._sign_s = time.time()
        self._saved_s = 0.0
        self.faults: dict[str, str] = {}
        self._streaks: dict[str, _Streak] = {}
        self._go_on()

    def note_sent(self) -> None:
        """A request goes out; silence is counted while some are out."""
        if self._n_out == 0 and self._n_unanswered == 0:
            self._sign_s = max(self._sign_s, time.time())
        self._n_out += 1

    def note_end(self, answered: bool) -> None:
        """A request is over; `answered`: with an answer, whatever its status."""
        self._n_out -= 1
        if answered:
            self._n_unanswered, self._sign_s = 0, time.time()
        else:
            self._n_unanswered += 1
        self.save(self._saved_s + _SAVE_S)

    def note_reply(self, model: str) -> None:
        """The model answered a request."""
        self._streaks.pop(model, None)

    def find_silence(self) -> str | None:
        """Why the endpoint is given up, where it answers nobody in this run."""
        silent_s = time.time() - self._sign_s
        if self._n_unanswered < _UNANSWERED or silent_s < self._silence_s:
            return None
        self._take_in()  # another shard may have heard of it
        silent_s = time.time() - self._sign_s
        if silent_s < self._silence_s:
            return None
        return f"not asked, as it has answered nothing for {silent_s:.0f} s"

    def fails_all(self, model: str, reason: str, passes: bool) -> bool:
        """Count a request that used all its attempts; whether it is the twentieth in a row in the
        same words, numbers and ids apart; of what `passes` with time, for long enough.
        """
        words, now_s = re.sub(r"\w*[0-9]\w*", "", reason), time.time()
        streak = self._streaks.get(model)
        streak = (
            streak._replace(n=streak.n + 1)
            if streak and streak.words == words
            else _Streak(words, 1, now_s)
        )
        self._streaks[model] = streak
        return streak.n >= EQUAL_REFUSALS and now_s - streak.since_s >= (
            self._outage_s if passes else 0
        )

    def give_up(self, model: str, reason: str) -> None:
        """Send nothing more to the model, here and in the run's later shards."""
        self.faults.setdefault(model, reason)
        self.save()

    def save(self, due_s: float = 0.0) -> None:
        """Write what the run's other shards read, if it is time to. A bucket is too slow to be
        written to in between.
        """
        if self._file is None or time.time() < due_s:
            return
        if due_s > 0 and not isinstance(self._file, Path):
            return
        self._saved_s = time.time()
        self._take_in()
        state = {
            "sign_s": self._sign_s,
            "n_unanswered": self._n_unanswered,
            "faults": self.faults,
            "streaks": self._streaks,
        }
        with suppress(LakeError):  # a full disk: storing the replies reports it
            write_whole(self._file, json.dumps(state).encode())

    def _take_in(self) -> None:
        """Add what the run's other shards have written."""
        content = None if self._file is None else read_file(self._file)
        if content is None:
            return
        state = json.loads(content)
        self._sign_s = max(self._sign_s, state["sign_s"])
        self.faults = state["faults"] | self.faults

    def _go_on(self) -> None:
        """Begin where the run's earlier shards ended: their silence and failures count."""
        content = None if self._file is None else read_file(self._file)
        if content is None:
            return
        state = json.loads(content)
        self.faults = state["faults"]
        self._streaks = {model: _Streak(*streak) for model, streak in state["streaks"].items()}
        if state["n_unanswered"]:
            self._sign_s, self._n_unanswered = state["sign_s"], state["n_unanswered"]
