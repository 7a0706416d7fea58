"""One page of tables and figures of the papers: what a lake gives of each beside the paper's own
layout and numbers. The page is one file that loads nothing.

Lists of single cases (examples) are shown as the query gives them. How a cell is filled is
`tasks.papers.cells`, how a figure is drawn `tasks.papers.drawings`.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib.resources import files
from typing import NamedTuple

import jinja2

from judgelake.tasks.papers.cells import Cell, FilledTable, ListedCases
from judgelake.tasks.papers.drawings import draw_figure
from judgelake.tasks.papers.registry import Line, Paper, PaperTable, find_paper
from judgelake.tasks.reports.page.environment import make_environment
from judgelake.tasks.warehouse.catalog import plain_cell

_MOST_ROWS = 20
_MOST_CHARACTERS = 400
_PRINTED = {"table": "in the paper", "figure": "what the paper draws"}
_BROAD_PT = 640.0
"""A wider drawing has a line of its own."""
_WIDTH = re.compile(r'width="([\d.]+)pt"')
_SPREADS = {"boxes": slice(1, None, 3), "quartiles": slice(2, None, 6)}
"""Drawings of which several columns are one thing that the paper draws: where its middle stands."""


Shown = FilledTable | ListedCases


class _Row(NamedTuple):
    """A row of a drawn table; `group` is the heading above it, empty where it has none or the row
    before has the same.
    """

    group: str
    label: str
    cells: Sequence[Cell]


class _Entry(NamedTuple):
    """A table or figure as the template shows it."""

    table: PaperTable
    identifier: str
    state: str
    counted: str
    suites: Sequence[str]
    command: str
    gaps: Sequence[str]
    svg: str
    is_broad: bool
    heads: Sequence[tuple[str, int]]
    columns: Sequence[str]
    rows: Sequence[_Row]
    names: Sequence[str]
    cases: Sequence[Sequence[str]]
    n_left_out: int


class _Chapter(NamedTuple):
    """A paper with its entries."""

    paper: Paper
    entries: Sequence[_Entry]


def render_page(shown: Sequence[Shown], made_at: datetime) -> str:
    """The page as HTML, in the order given; `made_at` is in UTC."""
    by_paper = itertools.groupby(shown, lambda one: one.table.paper)
    chapters = [_Chapter(find_paper(name), [*map(_describe, some)]) for name, some in by_paper]
    return _template().render(chapters=chapters, made_at=made_at, printed=_PRINTED)


def _describe(shown: Shown) -> _Entry:
    table = shown.table
    is_spread = table.drawing in _SPREADS
    columns = table.columns[_SPREADS.get(table.drawing, slice(None))]
    filled = None if isinstance(shown, ListedCases) else shown
    listed = shown if isinstance(shown, ListedCases) else None
    svg = draw_figure(filled) if filled and table.kind == "figure" and filled.n_filled else ""
    return _Entry(
        table=table,
        identifier=f"{table.paper}-{table.kind}-{table.number}",
        state=_judge_state(shown),
        counted=_count(shown),
        suites=table.suite.replace(" and ", ", ").split(", "),
        command=f"judgelake paper {table.paper} --{table.kind} {table.number}",
        gaps=filled.gaps if filled and filled.n_filled else (),
        svg=svg,
        is_broad=_is_broad(svg),
        heads=[] if is_spread else [*_span(columns)],
        columns=[column.group if is_spread else column.label for column in columns],
        rows=[*_list_rows(filled)] if filled else (),
        names=listed.names if listed else (),
        cases=[*map(_say_row, listed.rows[:_MOST_ROWS])] if listed else (),
        n_left_out=max(0, listed.n_filled - _MOST_ROWS) if listed else 0,
    )


def _judge_state(shown: Shown) -> str:
    """The word for how much of it the lake has."""
    if not shown.n_filled:
        return "none"
    if isinstance(shown, FilledTable) and shown.n_filled < shown.n_cells:
        return "part"
    return "all"


def _count(shown: Shown) -> str:
    if isinstance(shown, ListedCases):
        return f"{shown.n_filled} rows are from this lake"
    return f"{shown.n_filled} of {shown.n_cells} cells are from this lake"


def _is_broad(svg: str) -> bool:
    width = _WIDTH.search(svg)
    return width is not None and float(width.group(1)) > _BROAD_PT


def _span(columns: Sequence[Line]) -> Iterator[tuple[str, int]]:
    """The headings above columns and how many of these each covers; none where all are empty."""
    if any(column.group for column in columns):
        for group, some in itertools.groupby(columns, lambda column: column.group):
            yield group, len(list(some))


def _list_rows(filled: FilledTable) -> Iterator[_Row]:
    above = ""
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        shown = cells[_SPREADS.get(filled.table.drawing, slice(None))]
        yield _Row(row.group if row.group != above else "", row.label, shown)
        above = row.group


def _say_row(row: Sequence[object]) -> list[str]:
    return [_say(value) for value in row]


def _say(value: object) -> str:
    """A value as text of bounded length; a list of texts without its brackets."""
    parts = value if isinstance(value, list | tuple) else [value]
    text = "; ".join(_round(part) for part in parts)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _round(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(plain_cell(value))


def _format_number(value: float | None, decimals: int) -> str:
    return "" if value is None else f"{value:.{decimals}f}"


def _format_difference(value: float | None, decimals: int) -> str:
    """With its sign; what rounds to nothing has none."""
    text = "" if value is None else f"{value:+.{decimals}f}"
    return text[1:].replace("-", "") if text and float(text) == 0 else text.replace("-", "−")


def _template() -> jinja2.Template:
    environment = make_environment(_read_part)
    environment.filters |= {"number": _format_number, "difference": _format_difference}
    report = files("judgelake.tasks.reports.page").joinpath("report.css").read_text("utf-8")
    environment.globals |= {"css": report + _read_part("papers.css")}
    return environment.get_template("papers.html")


def _read_part(name: str) -> str:
    return files("judgelake.tasks.papers").joinpath(name).read_text("utf-8")
