"""The part of the suite's limits that one shard may use. Shards of a run that work at the same time
share the limits equally; the last ones have all of them.

Planning marks each shard as open with an empty file beside its cases; the shard removes the mark
when it asks nothing more. How a budget is divided is `tasks.engine.budget`.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import NamedTuple

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.storage import LakePath, list_files, remove_file, write_whole
from judgelake.tasks.suite.suite import LimitSettings

_SUFFIX = ".open"
# seconds between two looks at which shards are still open
_LOOK_S = 1.0


class Share(NamedTuple):
    """Requests under way, and requests a minute (None: no limit), of one shard."""

    concurrency: int
    requests_per_minute: float | None


def mark_open(cases_file: LakePath) -> None:
    """Mark a planned shard as open."""
    write_whole(cases_file.with_suffix(_SUFFIX), b"")


def mark_done(cases_file: LakePath) -> None:
    """Remove the mark of a shard that asks nothing more. Where that fails, the other shards only
    have smaller shares.
    """
    with contextlib.suppress(LakeError):
        remove_file(cases_file.with_suffix(_SUFFIX))


def find_share(limits: LimitSettings, slots: int, cases_file: LakePath) -> Share:
    """The share of a shard while at most `slots` are at work; the remainder of the division goes
    to the first of the open shards.

    With n shards left, the one of rank r has ⌈(concurrency - r) / n⌉: together all of it. n only
    falls, so a shard that has not seen a change yet uses less than its share.
    """
    own = cases_file.with_suffix(_SUFFIX)
    left = list_files(cases_file.parent, _SUFFIX) if slots > 1 else [own]
    n, rank = (
        (len(left), left.index(own)) if own in left and len(left) <= slots else (slots, slots - 1)
    )
    per_minute = None if limits.requests_per_minute is None else limits.requests_per_minute / n
    return Share(max(1, -((rank - limits.concurrency) // n)), per_minute)


async def follow_share(
    limits: LimitSettings,
    slots: int,
    cases_file: LakePath,
    apply: Callable[[int, float | None], None],
) -> None:
    """Apply the new share when other shards end, until cancelled."""
    while slots > 1:
        await asyncio.sleep(_LOOK_S)
        with contextlib.suppress(LakeError):  # a silent bucket: what holds is kept
            apply(*await asyncio.to_thread(find_share, limits, slots, cases_file))
