"""Deleting what is not read any more: part files that were replaced long ago, and what writers
that were killed left behind.

Which part files are replaced is `tasks.lake.snapshot`.
"""

import contextlib
import math
import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from judgelake.tasks.lake.lake import Lake, name_part, read_recorded, record_parts
from judgelake.tasks.lake.leases import is_stale, list_leases
from judgelake.tasks.lake.snapshot import Retired, list_sidecars
from judgelake.tasks.lake.storage import list_files, remove_file

GRACE_S = 3600.0
"""Replaced parts stay this long for readers that hold no lease: a query, `judgelake plan`."""
KILLED_AFTER_S = 86_400.0
"""A compaction whose new files are not all there after a day is taken for a killed one, a temporary
file for a dead writer's.
"""
_CLOCKS_S = 600.0
"""The clocks of two machines at one lake may differ by this much."""


def remove_retired(
    lake: Lake, older_than_s: float = GRACE_S, killed_after_s: float = KILLED_AFTER_S
) -> int:
    """Delete what was retired longer ago than `older_than_s`, and what killed compactions and
    writers left; returns how many part files.

    What was retired since somebody who still holds a lease took it stays: a snapshot of theirs may
    name it. A sidecar goes only when its files have been gone for as long again, for a reader may
    have listed them before. The names of the parts that stay are kept, so that none of them can go
    missing unseen; those that are missing already stay among them.
    """
    there = {name_part(lake, path) for path in list_files(lake.root, ".parquet")}
    sidecars = sorted(list_sidecars(lake.root), key=lambda retirement: retirement.retired_at)
    retired = {name for retirement in sidecars for name in retirement.files}
    lost = (read_recorded(lake.root) or frozenset()) - there - retired
    hidden = {name for retirement in sidecars for name in retirement.hides(there)}
    record_parts(lake.root, lost | there - hidden)
    held_since = find_oldest_holder(lake)
    n_removed = 0
    for retirement in sidecars:
        least_s = older_than_s if retirement.replacements <= there else killed_after_s
        age_s = (datetime.now(UTC) - retirement.retired_at).total_seconds()
        is_due = age_s >= least_s and retirement.retired_at.timestamp() < held_since
        left = retirement.hides(there) & there
        if left and is_due and not _is_awaited(retirement, sidecars, there):
            for name in left:
                remove_file(lake.root / name)
            n_removed += len(left)
            there -= left
        elif not left and age_s >= 2 * least_s:
            remove_file(retirement.sidecar)
    _remove_temporary(lake, killed_after_s)
    return n_removed


def find_oldest_holder(lake: Lake) -> float:
    """No living holder of a lease reads what was replaced before this time (seconds since 1970);
    infinite where there is no living holder.
    """
    held = [lease.since - _CLOCKS_S for lease in list_leases(lake) if not is_stale(lease)]
    return min(held, default=math.inf)


def _is_awaited(retirement: Retired, sidecars: Collection[Retired], there: Collection[str]) -> bool:
    """Whether a file that `retirement` retires replaces older files that are still there: without
    it those would count again.
    """
    return any(
        other is not retirement
        and other.replacements & retirement.files
        and other.files.intersection(there)
        for other in sidecars
    )


def _remove_temporary(lake: Lake, older_than_s: float) -> None:
    """Delete what writers on this machine left half written; a bucket has no such files."""
    if not isinstance(lake.root, Path):
        return
    for file in list_files(lake.root, ".tmp"):
        with contextlib.suppress(OSError):  # renamed meanwhile: its writer lives; or another user's
            if file.name.startswith(".") and time.time() - file.stat().st_mtime >= older_than_s:
                file.unlink()
