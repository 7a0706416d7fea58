"""What a person sees while judges work: one line with rate, statuses and tokens. The numbers come from the shards' progress files."""

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.lake import Lake
from tasks.planning import plan_file

_TERMINAL_S, _LOG_S = 1.0, 15.0


@contextmanager
def show_progress(lake: Lake, run_id: str) -> Iterator[None]:
    """Show a line on standard error while the block runs: rewritten on a terminal, one every 15 s in a log."""
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
    while not done.wait(_TERMINAL_S if terminal else _LOG_S):
        if not plan.exists():
            began = time.monotonic()
            continue
        line = describe_progress(plan, time.monotonic() - began)
        if line:
            sys.stderr.write(f"\r\x1b[2K{line}" if terminal else f"{line}\n")
            sys.stderr.flush()
    if terminal:
        sys.stderr.write("\r\x1b[2K")


def describe_progress(plan: Path, seconds: float) -> str:
    """One line on how far the judges of a run are; '' where there is nothing to judge."""
    try:
        total = sum(json.loads(plan.read_text()).values())
        told = [json.loads(file.read_text()) for file in plan.parent.glob("*.progress.json")]
    except (OSError, ValueError):  # the run is just removing its folder
        return ""
    if not total:
        return ""
    statuses: Counter[str] = Counter()
    for one in told:
        statuses.update(one["statuses"])
    judged, tokens = sum(one["cases"] for one in told), sum(one["tokens"] for one in told)
    words = ", ".join(f"{count:,} {status}" for status, count in statuses.most_common())
    return f"judging {judged:,}/{total:,}  {judged / max(seconds, 1e-9):,.0f}/s  {words or 'starting'}  {tokens:,} tokens"
