"""`python -m tests.dying_compaction LAKE N`: compacts a lake's verdicts and kills itself before its
step N (from 0), else exits with 0.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from judgelake.tasks.lake import compaction
from judgelake.tasks.lake.compaction import compact_lake
from judgelake.tasks.lake.lake import open_lake

STEPS = ("fsync", "replace", "rename", "link", "unlink")
"""What changes files for good; between two of these a kill leaves what the first of them left."""
Replace = Callable[[object, str, Any], None]


def watch_steps(replace: Replace, before: Callable[[], None]) -> None:
    """Call `before` before each step on files; `replace` is `setattr`, or pytest's."""
    for name in STEPS:
        real = getattr(os, name)

        def step(*given: Any, _real: Callable[..., Any] = real, **named: Any) -> Any:
            before()
            return _real(*given, **named)

        replace(os, name, step)


def shrink_files(replace: Replace, n_rows: int) -> None:
    """Make merged files of `n_rows` rows."""
    for name in ("_BATCH_ROWS", "_GROUP_ROWS"):
        replace(compaction, name, n_rows // 2)
    replace(compaction, "TARGET_ROWS", n_rows)


def main() -> None:
    left = [int(sys.argv[2])]

    def count() -> None:
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1

    shrink_files(setattr, 8)
    watch_steps(setattr, count)
    list(compact_lake(open_lake(Path(sys.argv[1])), "dying", lambda _: None, ["verdicts"]))


if __name__ == "__main__":
    main()
