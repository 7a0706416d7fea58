"""The stop flag of a run: a person, a signal or a lost lease sets it to end the run; every process
of the run reads it. Who sets it is the flows' matter.
"""

import contextlib
import time
from pathlib import Path

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import LakePath, read_file, write_whole

STOP, HALT, LOST = b"", b"halt", b"lost"
"""What the flag says: send nothing new and finish what is in flight; end now; stop, since
another run took over a lease.

The first is nothing, because an empty file can be made on a full disk.
"""
# seconds between two looks on disk, and in a bucket, where each look is a request
_LOOK_S, _LOOK_BUCKET_S = 0.2, 2.0


def stop_file(lake: Lake, run_id: str) -> LakePath:
    """Where the flag of a run lies once it is set."""
    return lake.work_folder(run_id) / "stop"


def set_stop(lake: Lake, run_id: str, says: bytes) -> None:
    """Set a run's flag."""
    write_whole(stop_file(lake, run_id), says)


class StopFlag:
    """A run's flag, looked at often: read again only after a moment (on a disk 0.2 s, in a bucket 2
    s).
    """

    def __init__(self, lake: Lake, run_id: str) -> None:
        self._file = stop_file(lake, run_id)
        self._every_s = _LOOK_S if isinstance(self._file, Path) else _LOOK_BUCKET_S
        self._said: bytes | None = None
        self._next = time.monotonic()

    def read(self) -> bytes | None:
        """What the flag says; None where it is not set."""
        if time.monotonic() >= self._next:
            with contextlib.suppress(
                LakeError
            ):  # a bucket that does not answer now is no reason to end
                self._said = read_file(self._file)
            self._next = time.monotonic() + self._every_s
        return self._said

    def is_set(self) -> bool:
        """Whether no new request may be sent."""
        return self.read() is not None

    def is_halting(self) -> bool:
        """Whether the run does not wait for requests in flight either."""
        return self.read() == HALT
