"""The report's summary in Markdown."""

from datetime import UTC, datetime
from pathlib import Path

import duckdb

from judgelake.tasks.reports.page.concerns import Changes
from judgelake.tasks.reports.page.summary import write_summary
from tests.reports.page.test_render import (
    FEW,
    add_answer,
    add_human,
    insert_named,
    insert_row,
    lake,  # noqa: F401  # fixtures
    render,
    section_views,  # noqa: F401
)

DAY = datetime(2026, 11, 20, 3, tzinfo=UTC)
COMPARED = {
    "benchmark": "vqa", "model": "*", "coefficient": "spearman", "against": "human",
    "human_rule": "mean", "judge_criterion": "c", "human_criterion": "c", "n": 300,
}  # fmt: skip


def test_a_summary_says_whom_to_trust_who_leads_and_names_are_no_markup(
    lake: duckdb.DuckDBPyConnection,  # noqa: F811
    tmp_path: Path,
) -> None:
    add_answer(lake, "1")
    add_human(lake, "1", 1.0)
    hostile = "[x](http://a) `b` | c"
    for judge, value, other in (("lave", 0.5, hostile), (hostile, 0.02, "lave")):
        row = COMPARED | {"judge": judge, "value": value, "low": value - 0.1, "high": value + 0.1}
        insert_named(lake, "rpt_judge_comparison", row | {"other": other, "is_best": False})
    for model, mean in (("m1", 0.4), ("m2", 0.8)):
        insert_row(
            lake,
            "rpt_metrics",
            "vqa",
            model,
            "lave",
            9,
            0,
            0,
            mean,
            mean - 0.1,
            mean + 0.1,
            "s",
            FEW,
        )
    render(lake, tmp_path, notice="A <b>trial</b>")
    assert (tmp_path / "report.md").read_text().splitlines() == [
        "# `nightly`, 2026-11-20 03:04 UTC",
        "",
        "> A 'b'trial'/b'",
        "",
        "## `vqa`",
        "",
        "| Judge | Agrees with people | What that means |",
        "|---|---|---|",
        "| `lave` | 0.50 (0.40 to 0.60), n = 300 | the highest, but not surely above 'x'(http://a) 'b' ' c |",
        "| `[x](http://a) 'b' / c` | 0.02 (-0.08 to 0.12), n = 300 | ✗ may be chance: the interval holds 0 |",
        "",
        "Models by the mean of `lave`: `m2` 80.0 (place 1), `m1` 40.0 (place 2)",
    ]


def test_a_summary_gives_a_terminal_no_command() -> None:
    row = {"figure": "mean", "judge": "j\x1b[2J", "benchmark": "b", "model": "m", "has_moved": True,
           "base_value": 0.25, "value": 0.75, "difference": 0.5, "tested": "paired"}  # fmt: skip
    changes = Changes(DAY, "run1", [row])
    text = write_summary("s", DAY, "\x9b31m", [], ["`j\x1b[2J` lacks scores."], changes)
    assert text.count(r"`j\x1b") == 2
    assert not {"\x1b", "\x9b"} & {*text}


def test_a_summary_names_what_moved() -> None:
    row = {"figure": "mean", "judge": "j", "benchmark": "b", "model": "m", "has_moved": True,
           "base_value": 0.25, "value": 0.75, "difference": 0.5, "tested": "paired"}  # fmt: skip
    changes = Changes(DAY, "run1", [row, row | {"has_moved": None}])
    text = write_summary("s", DAY, None, [], ["`j` lacks scores."], changes)
    assert text.splitlines()[2:] == [
        "## What changed, or is wrong",
        "",
        "- `j` lacks scores.",
        "- 1 of 2 figures moved by more than chance since `run1`.",
        "- mean of `j` on `b`, `m`: 0.250 → 0.750 (paired test)",
    ]
