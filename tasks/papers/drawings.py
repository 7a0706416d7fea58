"""A paper's figure as SVG: the numbers of a lake, drawn as the report's page draws its own."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from judgelake.tasks.errors import QueryError
from judgelake.tasks.papers.cells import Cell, FilledTable
from judgelake.tasks.papers.quartiles import Box, draw_quartiles
from judgelake.tasks.papers.registry import Line
from judgelake.tasks.reports.page.figures import (
    COLOURS,
    Dot,
    Point,
    draw_estimates,
    draw_grid,
    draw_lines,
)

_SIZE = re.compile(r'width="([\d.]+)pt" height="([\d.]+)pt"')
_TITLE_PT = 24.0
"""Above each panel."""


def draw_figure(filled: FilledTable) -> str:
    """The figure as its entry says (`drawing`). Raises QueryError where the lake has none of it."""
    if not filled.n_filled:
        raise QueryError(
            f"paper: {filled.table.name}: the lake has nothing to draw; expected scores of the "
            f"suite {filled.table.suite}; run it first"
        )
    return DRAWINGS[filled.table.drawing](filled)


def _draw_dots(filled: FilledTable) -> str:
    """A row for each of the figure's rows, its columns as series: many of them in panels, one a
    group of columns.
    """
    columns = filled.table.columns
    in_panels = len(columns) > len(COLOURS) and all(column.group for column in columns)
    panels: dict[str, list[Dot]] = {}
    for row, column, cell in _walk(filled):
        if cell.here is not None:
            series = column.label if in_panels else _name(column)
            dot = Dot(_name(row), series, cell.here, None, None)
            panels.setdefault(column.group if in_panels else "", []).append(dot)
    return _draw_panels(panels, filled)


def _draw_boxes(filled: FilledTable) -> str:
    """A row for each of the figure's rows, three columns (lower end, middle, upper end) a series;
    one without its middle is left out. Series called `panel, series` stand in panels.
    """
    panels: dict[str, list[Dot]] = {}
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        columns = filled.table.columns
        for place in range(0, len(columns), 3):
            low, middle, high = (cell.here for cell in cells[place : place + 3])
            panel, comma, series = columns[place].group.partition(", ")
            if middle is not None:
                dot = Dot(_name(row), series if comma else panel, middle, low, high)
                panels.setdefault(panel if comma else "", []).append(dot)
    return _draw_panels(panels, filled)


def _draw_quartiles(filled: FilledTable) -> str:
    """A row for each of the figure's rows, six columns (lower end, lower quartile, median, mean,
    upper quartile, upper end) a series called `panel, series`; one that lacks a number is left out.
    """
    panels: dict[str, list[Box]] = {}
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        columns = filled.table.columns
        for place in range(0, len(columns), 6):
            numbers = [cell.here for cell in cells[place : place + 6] if cell.here is not None]
            panel, _, series = columns[place].group.partition(", ")
            if len(numbers) == 6:
                panels.setdefault(panel, []).append(Box(_name(row), series, *numbers))
    axis = filled.table.axis
    drawn = {name: draw_quartiles(boxes, axis) for name, boxes in panels.items()}
    return _stack(drawn) if len(drawn) > 1 else "".join(drawn.values())


def _draw_panels(panels: Mapping[str, Sequence[Dot]], filled: FilledTable) -> str:
    drawn = {
        name: draw_estimates(dots, filled.table.axis, f"{_identify(filled)}-{place}")
        for place, (name, dots) in enumerate(panels.items())
    }
    return _stack(drawn) if len(drawn) > 1 else "".join(drawn.values())


def _stack(panels: Mapping[str, str]) -> str:
    """Drawings as one, two beside each other, each under its name."""
    sizes = {name: tuple(map(float, _SIZE.findall(svg)[0])) for name, svg in panels.items()}
    width = max(size[0] for size in sizes.values())
    height = max(size[1] for size in sizes.values()) + _TITLE_PT
    parts = []
    for place, (name, svg) in enumerate(panels.items()):
        x, y = width * (place % 2), height * (place // 2)
        parts.append(
            f'<text x="{x + 8:g}" y="{y + 16:g}" font-family="sans-serif" font-size="13" '
            f'fill="currentColor">{escape(name)}</text>'
        )
        inner = _SIZE.sub(r'width="\1" height="\2"', svg, count=1)  # in units of the whole's view
        parts.append(inner.replace("<svg ", f'<svg x="{x:g}" y="{y + _TITLE_PT:g}" ', 1))
    whole = 2 * width, height * -(-len(panels) // 2)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole[0]:g}pt" height="{whole[1]:g}pt" '
        f'viewBox="0 0 {whole[0]:g} {whole[1]:g}">'
    )
    return "\n".join([head, *parts, "</svg>\n"])


def _draw_grid(filled: FilledTable) -> str:
    """A cell for each of the figure's, shaded from the least to the most of its column."""
    cells = {
        (_name(row), _name(column)): cell.here
        for row, column, cell in _walk(filled)
        if cell.here is not None
    }
    table = filled.table
    rows, columns = [_name(row) for row in table.rows], [_name(column) for column in table.columns]
    return draw_grid(rows, columns, cells, table.axis, _identify(filled), table.decimals)


def _draw_curves(filled: FilledTable) -> str:
    """A line for each column through the figure's rows, at their `x`; both axes logarithmic."""
    curves: dict[str, list[Point]] = {}
    for row, column, cell in _walk(filled):
        if cell.here is not None:
            point = Point(row.label, filled.table.x[row.key], cell.here)
            curves.setdefault(_name(column), []).append(point)
    return draw_lines(curves, filled.table.stub, filled.table.axis, _identify(filled))


DRAWINGS: Mapping[str, Callable[[FilledTable], str]] = {
    "dots": _draw_dots,
    "boxes": _draw_boxes,
    "quartiles": _draw_quartiles,
    "grid": _draw_grid,
    "curves": _draw_curves,
}
"""What `drawing` of a figure may say."""


def _walk(filled: FilledTable) -> Iterator[tuple[Line, Line, Cell]]:
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        for column, cell in zip(filled.table.columns, cells, strict=True):
            yield row, column, cell


def _name(line: Line) -> str:
    return f"{line.group} {line.label}".strip()


def _identify(filled: FilledTable) -> str:
    return f"{filled.table.paper}-figure-{filled.table.number}"
