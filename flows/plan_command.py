"""`judgelake plan`: prints the calls, tokens, money and time of a run, without a call, a server or
a row written to the lake.
"""

import argparse
import dataclasses
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from judgelake.tasks.backends.prices import read_table
from judgelake.tasks.errors import show_controls
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import open_place
from judgelake.tasks.planning.cases import find_work
from judgelake.tasks.planning.collection_estimate import estimate_collection
from judgelake.tasks.planning.dry_lake import lake_to_plan
from judgelake.tasks.planning.estimate import CostEstimate, JudgeEstimate, estimate_suite
from judgelake.tasks.sources.sampling import list_samples
from judgelake.tasks.suite.suite import (
    Scope,
    Suite,
    narrow,
    read_suite,
    suite_of_answerers,
    suite_of_collection,
)
from judgelake.tasks.warehouse.catalog import show_json

Planned = Literal["judges", "answers", "collection"]
_ANY_WIDTH = 10_000
"""Columns where the output is no terminal."""
_HEAD = (
    "judge",
    "model",
    "items",
    "answers",
    "cases",
    "present",
    "to judge",
    "held",
    "calls",
    "input tokens",
    "output tokens",
    "cost",
    "time",
)
_LEGEND = (
    "present: verdicts that the lake has; held: requests that the lake has replies to. In "
    "brackets the highest value: prompts longer by "
    "their error, every reply of the greatest length."
)


def run_plan(options: argparse.Namespace) -> int:
    """Print the cost estimate of a suite; returns the exit code."""
    scope = Scope(options.limit, tuple(options.judge), tuple(options.benchmark))
    of: Planned = "collection" if options.collection else "answers" if options.answers else "judges"
    suite, estimate = plan_suite(options.suite, options.lake, scope, tuple(options.retry), of)
    text = (
        show_json(as_plain(estimate, suite), indent=2)
        if options.format == "json"
        else as_text(estimate, suite, shutil.get_terminal_size((_ANY_WIDTH, 40)).columns)
    )
    sys.stdout.write(f"{text}\n")
    return 0


def plan_suite(
    file: Path,
    lake: str,
    scope: Scope,
    retry: tuple[str, ...] = (),
    of: Planned = "judges",
) -> tuple[Suite, CostEstimate]:
    """The suite of a file within `scope`, and the estimate of what is left to ask: of its judges,
    its answerers or its collection. Of a suite without judges, what it has in their place.
    """
    full = read_suite(file)
    if of == "judges" and not full.judges:
        of = "answers" if full.answerers else "collection" if full.collection else of
    whole = {
        "judges": lambda one: one,
        "answers": suite_of_answerers,
        "collection": suite_of_collection,
    }[of](full)
    suite = narrow(whole, scope)
    with lake_to_plan(open_place(lake), suite, scope.limit) as planned:
        makes = estimate_collection if of == "collection" else estimate_suite
        estimate = makes(planned, suite, scope, retry)
        drawn = {benchmark.name: benchmark.sample for benchmark in suite.benchmarks.values()}
        estimate = dataclasses.replace(
            estimate, samples=tuple(list_samples(planned.take_snapshot("ingests"), drawn))
        )
        if of == "judges" and full.answerers:
            left = _count_unanswered(planned, full, scope, suite)
            estimate = dataclasses.replace(estimate, n_unanswered=left)
        return suite, estimate


def _count_unanswered(lake: Lake, full: Suite, scope: Scope, narrowed: Suite) -> int:
    """How many answers the suite's answerers have left on the benchmarks of the narrowed suite."""
    answering = narrow(suite_of_answerers(full), Scope(benchmarks=tuple(narrowed.benchmarks)))
    return sum(work.n_pending for work in find_work(lake, answering, Scope(scope.limit)))


def as_plain(estimate: CostEstimate, suite: Suite) -> dict[str, Any]:
    """An estimate as the values of a JSON document."""
    return {
        "suite": suite.name,
        "judges": [dataclasses.asdict(judge) for judge in estimate.judges],
        "total": _total(estimate.judges),
        "n_scores": estimate.n_scores,
        "unscored": [*estimate.unscored],
        "n_unanswered": estimate.n_unanswered,
        "samples": [*estimate.samples],
        "budget_usd": suite.limits.budget_usd,
        "prices_as_of": read_table().as_of,
    }


def _total(judges: Sequence[JudgeEstimate]) -> dict[str, float | None]:
    """Sums over the judges; money only where every price is known."""
    names = (
        "n_wanted",
        "n_present",
        "n_pending",
        "n_held",
        "n_calls",
        "input_tokens",
        "output_tokens",
        "output_tokens_worst",
        "seconds",
    )
    total: dict[str, float | None] = {
        name: sum(getattr(judge, name) for judge in judges) for name in names
    }
    for name in ("cost_usd", "cost_usd_worst"):
        costs = [getattr(judge, name) for judge in judges]
        total[name] = None if None in costs else sum(costs)
    return total


def as_text(estimate: CostEstimate, suite: Suite, width: int = _ANY_WIDTH) -> str:
    """An estimate as text no wider than `width`: a table (a block of lines for each judge where it
    does not fit), its legend, and notes on what is not known.
    """
    rows = [_row(judge) for judge in estimate.judges]
    if len(rows) > 1:
        rows.append(_total_row(estimate.judges))
    lines = (
        [*_fit(rows, width), "", _LEGEND]
        if rows
        else ["the suite has no judge: no request is sent"]
    )
    if estimate.n_scores:
        lines.append(f"metrics: {estimate.n_scores:,} scores to compute here; they send no request")
    lines += [*estimate.unscored, *estimate.samples]
    if estimate.n_unanswered:
        lines.append(
            f"answers: {estimate.n_unanswered:,} are still to be generated by `judgelake answer "
            f"{suite.file.name}`; what judging them takes is not counted"
        )
    lines += _describe_notes(estimate.judges)
    wrapped = (
        textwrap.fill(line, width, subsequent_indent="  ") if len(line) > width else line
        for line in map(show_controls, [*lines, *_describe_money(estimate, suite)])
    )
    return "\n".join(wrapped)


def _describe_notes(judges: Sequence[JudgeEstimate]) -> list[str]:
    """The notes on what is not known, each once with the judges that it is about."""
    about: dict[str, list[str]] = {}
    for estimate in judges:
        for note in estimate.notes:
            # a note names items, whose ids may hold line breaks
            about.setdefault(" ".join(note.split()), []).append(estimate.judge)
    return [
        note if len(names) == len(judges) else f"{note} ({', '.join(names)})"
        for note, names in about.items()
    ]


def _row(judge: JudgeEstimate) -> tuple[str, ...]:
    counts = (
        judge.n_items,
        judge.n_answers,
        judge.n_wanted,
        judge.n_present,
        judge.n_pending,
        judge.n_held,
        judge.n_calls,
    )
    inputs = (
        f"{judge.input_tokens:,} ±{100 * judge.input_error:.0f} %" if judge.input_tokens else "0"
    )
    outputs = _with_worst(f"{judge.output_tokens:,}", f"{judge.output_tokens_worst:,}")
    cost = _with_worst(_money(judge.cost_usd), _money(judge.cost_usd_worst))
    return (
        judge.judge,
        judge.model,
        *(f"{count:,}" for count in counts),
        inputs,
        outputs,
        cost,
        _duration(judge.seconds),
    )


def _total_row(judges: Sequence[JudgeEstimate]) -> tuple[str, ...]:
    total = _total(judges)
    counts = tuple(
        f"{total[name]:,}"
        for name in ("n_wanted", "n_present", "n_pending", "n_held", "n_calls", "input_tokens")
    )
    outputs = _with_worst(f"{total['output_tokens']:,}", f"{total['output_tokens_worst']:,}")
    cost = _with_worst(_money(total["cost_usd"]), _money(total["cost_usd_worst"]))
    return ("total", "", "", "", *counts, outputs, cost, _duration(total["seconds"] or 0.0))


def _describe_money(estimate: CostEstimate, suite: Suite) -> list[str]:
    """The date of the prices, and whether the budget is enough."""
    total, budget = _total(estimate.judges), suite.limits.budget_usd
    lines = [
        f"prices: the suite's own, else list prices as of {read_table().as_of}; check them "
        f"before you rely on them"
    ]
    cost, worst = total["cost_usd"], total["cost_usd_worst"]
    if budget is not None and cost is not None and worst is not None:
        verdict = (
            "is enough"
            if worst <= budget
            else "should be enough"
            if cost <= budget
            else "is not enough; the run stops there with exit code 4"
        )
        lines.append(f"budget: {_money(budget)} a run, which {verdict}")
    return lines if cost is None or cost > 0 or worst else []


def _with_worst(expected: str, worst: str) -> str:
    return expected if expected == worst else f"{expected} ({worst})"


def _money(cost_usd: float | None) -> str:
    if cost_usd is None:
        return "not known"
    return f"${cost_usd:,.2f}" if cost_usd >= 1 or cost_usd == 0 else f"${cost_usd:.2g}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 or seconds == 0 else "1 s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _fit(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The rows under their heads, or each row as lines of a head and a cell where they are too
    wide.
    """
    table = _align([_HEAD, *rows])
    if len(table[0]) <= width:
        return table
    room = max(map(len, _HEAD)) + 2
    return [
        f"{head:{room}}{cell}"
        for row in rows
        for head, cell in zip(_HEAD, row, strict=True)
        if cell
    ]


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows with columns of equal width, the first two aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
