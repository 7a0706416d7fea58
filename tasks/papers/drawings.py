"""A paper's figure as SVG: the numbers of a lake, drawn as the report's page draws its own."""

from collections.abc import Callable, Iterator, Mapping

from judgelake.tasks.errors import QueryError
from judgelake.tasks.papers.cells import Cell, FilledTable
from judgelake.tasks.papers.registry import Line
from judgelake.tasks.reports.page.figures import (
    Dot,
    Point,
    draw_estimates,
    draw_grid,
    draw_lines,
)


def draw_figure(filled: FilledTable) -> str:
    """The figure as its entry says (`drawing`). Raises QueryError where the lake has none of it."""
    if not filled.n_filled:
        raise QueryError(
            f"paper: {filled.table.name}: the lake has nothing to draw; expected scores of the "
            f"suite {filled.table.suite}; run it first"
        )
    return DRAWINGS[filled.table.drawing](filled)


def _draw_dots(filled: FilledTable) -> str:
    """A row for each of the figure's rows, its columns as series."""
    dots = [
        Dot(row.label, _name(column), cell.here, None, None)
        for row, column, cell in _walk(filled)
        if cell.here is not None
    ]
    return draw_estimates(dots, filled.table.axis, _identify(filled))


def _draw_boxes(filled: FilledTable) -> str:
    """A row for each of the figure's rows, three columns (lower end, middle, upper end) a series;
    one without its middle is left out.
    """
    dots = []
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        columns = filled.table.columns
        for place in range(0, len(columns), 3):
            low, middle, high = (cell.here for cell in cells[place : place + 3])
            if middle is not None:
                dots.append(Dot(_name(row), columns[place].group, middle, low, high))
    return draw_estimates(dots, filled.table.axis, _identify(filled))


def _draw_grid(filled: FilledTable) -> str:
    """A cell for each of the figure's, shaded from the least to the most of its column."""
    cells = {
        (_name(row), _name(column)): cell.here
        for row, column, cell in _walk(filled)
        if cell.here is not None
    }
    table = filled.table
    rows, columns = [_name(row) for row in table.rows], [_name(one) for one in table.columns]
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
