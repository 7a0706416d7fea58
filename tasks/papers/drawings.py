"""A paper's figure as SVG: the numbers of a lake, drawn as the report's page draws its own."""

from judgelake.tasks.errors import QueryError
from judgelake.tasks.papers.cells import FilledTable
from judgelake.tasks.reports.page.figures import Dot, draw_estimates


def draw_figure(filled: FilledTable) -> str:
    """A row for each of the figure's rows, its columns as series. Raises QueryError where the lake
    has none of it.
    """
    table = filled.table
    dots = [
        Dot(row.label, f"{column.group} {column.label}".strip(), cell.here, None, None)
        for row, cells in zip(table.rows, filled.cells, strict=True)
        for column, cell in zip(table.columns, cells, strict=True)
        if cell.here is not None
    ]
    if not dots:
        raise QueryError(
            f"paper: {table.name}: the lake has nothing to draw; expected scores of the suite "
            f"{table.suite}; run it first"
        )
    return draw_estimates(dots, table.axis, f"{table.paper}-figure-{table.number}")
