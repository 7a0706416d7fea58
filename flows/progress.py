"""The progress line while judges work: rate, statuses, tokens and money. The numbers come from the
shards' progress files.
"""

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import LakePath, list_files, read_file
from judgelake.tasks.planning.cases import plan_file

_TERMINAL_S, _BUCKET_S, _LOG_S = 1.0, 5.0, 15.0
"""Seconds between two lines: on a terminal, on a terminal with the lake in a bucket, in a log."""
_QUIET_S, _TROUBLE_CHARS = 15.0, 100
"""Seconds without a reply after which the line says why, in at most so many characters."""


@contextmanager
def show_progress(lake: Lake, run_id: str) -> Iterator[None]:
    """Show a line on standard error while the block runs: rewritten in place on a terminal, a
    new line every 15 s in a log.
    """
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(lake, run_id, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=5)


def _show(lake: Lake, run_id: str, done: threading.Event) -> None:
    terminal = sys.stderr.isatty()
    plan, began = plan_file(lake, run_id), time.monotonic()
    every_s = _LOG_S if not terminal else _TERMINAL_S if isinstance(plan, Path) else _BUCKET_S
    while not done.wait(every_s):
        try:
            line = describe_progress(plan, time.monotonic() - began)
        except LakeError:  # a bucket that is slow to answer
            continue
        if not line:
            began = time.monotonic()
        else:
            sys.stderr.write(f"\r\x1b[2K{line}" if terminal else f"{line}\n")
            sys.stderr.flush()
    if terminal:
        sys.stderr.write("\r\x1b[2K")


def describe_progress(plan: LakePath, seconds: float) -> str:
    """The progress of a run's judges as one line; '' where there is nothing to judge, nothing is
    planned yet, or the run is over.
    """
    total, shards = _read_shards(plan)
    if not total:
        return ""
    statuses: Counter[str] = Counter()
    for shard in shards:
        statuses.update(shard["statuses"])
    judged, tokens = (
        sum(shard["cases"] for shard in shards),
        sum(shard["tokens"] for shard in shards),
    )
    cost, unpriced = (
        sum(shard["cost_usd"] for shard in shards),
        sum(shard["unpriced"] for shard in shards),
    )
    money = (f"  {cost:,.2f} USD" if cost else "") + (
        f"  {unpriced:,} calls of unknown price" if unpriced else ""
    )
    words = ", ".join(f"{count:,} {status}" for status, count in statuses.most_common())
    troubles = _read_troubles(plan, time.time())
    return (
        f"judging {judged:,}/{total:,}  {judged / max(seconds, 1e-9):,.0f}/s  "
        f"{words or ('waiting' if troubles else 'starting')}  {tokens:,} tokens{money}{troubles}"
    )


def _read_troubles(plan: LakePath, now_s: float) -> str:
    """What keeps endpoints from replying, where one has given none for a while."""
    contents = map(read_file, list_files(plan.parent, ".health"))
    states = [json.loads(content) for content in contents if content]
    return "".join(
        f"  no reply for {now_s - state['reply_s']:.0f} s: {state['trouble'][:_TROUBLE_CHARS]}"
        for state in states
        if state["trouble"] and now_s - state["reply_s"] >= _QUIET_S
    )


def count_cases(plan: LakePath) -> tuple[int, int]:
    """How many of a run's cases are judged, and how many it has; (0, 0) where there is nothing to
    judge, nothing is planned yet, or the run is over.
    """
    total, shards = _read_shards(plan)
    return sum(shard["cases"] for shard in shards) if total else 0, total


def _read_shards(plan: LakePath) -> tuple[int, list[dict[str, Any]]]:
    """The cases planned, 0 where nothing can be read, and what each shard says of itself."""
    try:
        total = sum(json.loads(read_file(plan) or b"{}").values())
        contents = map(read_file, list_files(plan.parent, ".progress.json"))
        return total, [json.loads(content) for content in contents if content is not None]
    except ValueError:
        return 0, []
