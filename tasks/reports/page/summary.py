"""The report in a few lines of Markdown, for a pull request or a chat: whom to trust, who leads,
what changed or is wrong.

Pure: what the page's first screen shows in, text out. Names come from models and data, so they
stand as code and without what Markdown would take for markup, with control characters shown.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from judgelake.tasks.errors import show_controls
from judgelake.tasks.reports.page.concerns import Changes
from judgelake.tasks.reports.page.parts import BenchmarkPart, keep_finite
from judgelake.tasks.reports.page.trust import Trust

_JUDGES_SHOWN = 8
_CHANGES_SHOWN = 8
_MARKS = {"good": "✓ ", "bad": "✗ "}


def write_summary(
    suite_name: str,
    made_at: datetime,
    notice: str | None,
    parts: Sequence[BenchmarkPart],
    concerns: Sequence[str],
    changes: Changes | None,
) -> str:
    """The text; what has no content is not in it."""
    lines = [f"# {_code(suite_name)}, {made_at:%Y-%m-%d %H:%M} UTC", ""]
    if notice:
        lines += [f"> {_plain(notice)}", ""]
    for part in parts:
        lines += _describe(part)
    said = [*map(_plain_but_code, concerns), *_say_changes(changes)]
    if said:
        lines += ["## What changed, or is wrong", "", *(f"- {line}" for line in said), ""]
    return show_controls("\n".join(lines))


def _describe(part: BenchmarkPart) -> Iterator[str]:
    yield from (f"## {_code(part.name)}", "")
    if part.trust:
        yield from ("| Judge | Agrees with people | What that means |", "|---|---|---|")
        yield from map(_write_trust, part.trust[:_JUDGES_SHOWN])
        if left := len(part.trust) - _JUDGES_SHOWN:
            yield from ([f"| {left} more | | |"] if left > 0 else [])
        yield ""
    if part.duels:
        first = part.duels[0]
        placed = sorted(first.ratings.values(), key=lambda row: (row["rank"], row["model"]))
        yield f"Models by the choices of {_code(first.rater)}: " + ", ".join(
            f"{_code(row['model'])} (place {_write_places(row['rank_low'], row['rank_high'])})"
            for row in placed
        )
        yield ""
    elif part.ranking:
        yield f"Models by the mean of {_code(part.ranked_by)}: " + ", ".join(
            f"{_code(line.model or 'not named')} {100 * line.cell['mean']:.1f} "
            f"(place {_write_places(line.first_place, line.last_place)})"
            for line in part.ranking
        )
        yield ""


def _write_trust(line: Trust) -> str:
    value, low, high = map(keep_finite, (line.value, line.low, line.high))
    shown = "undefined" if value is None else f"{value:.2f}"
    if low is not None and high is not None:
        shown += f" ({low:.2f} to {high:.2f})"
    words = _plain("; ".join(line.verdicts))
    return f"| {_code(line.judge)} | {shown}, n = {line.n:,} | {_MARKS.get(line.mark, '')}{words} |"


def _write_places(first: int | None, last: int | None) -> str:
    return f"{first}" if first == last else f"{first}–{last}"


def _say_changes(changes: Changes | None) -> Iterator[str]:
    if changes is None:
        return
    yield from map(_plain_but_code, changes.come_and_gone)
    moved = changes.moved
    if not changes.rows:
        return
    yield (
        f"{len(moved) or 'None'} of {len(changes.rows):,} figures moved by more than chance "
        f"since {_code(changes.base) or 'the report before'}."
    )
    for row in moved[:_CHANGES_SHOWN]:
        yield (
            f"{row['figure']} of {_code(row['judge'])} on {_code(row['benchmark'])}"
            f"{'' if row['model'] == '*' else ', ' + _code(row['model'])}: "
            f"{row['base_value']:.3f} → {row['value']:.3f}"
            f"{' (paired test)' if row['tested'] == 'paired' else ''}"
        )


def _plain(text: str) -> str:
    """A sentence on one line in which nothing is markup."""
    return " ".join(re.sub(r"[<>\[\]`|]", "'", text).split())


def _plain_but_code(sentence: str) -> str:
    """A sentence on one line in which nothing but names between backticks is markup."""
    return " ".join(re.sub(r"[<>\[\]|]", "'", sentence).split())


def _code(text: str) -> str:
    """A name as code on one line, without what would end it."""
    line = " ".join(str(text).replace("`", "'").replace("|", "/").split())
    return f"`{line}`" if line else ""
