"""The cells of a paper's table: what a lake has for each, beside the paper's number, and why a
cell is empty.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judgelake.tasks.papers.registry import Line, PaperTable


class Found(NamedTuple):
    """A row that a query of `sql/papers` gives: the keys of a cell, its value (None: undefined,
    `reason` says why), and from how many answers or pairs it is.
    """

    row_key: str
    column_key: str
    value: float | None
    n: int
    reason: str | None


class Cell(NamedTuple):
    """A cell in the paper's unit. `here` is what the lake gives, None where there is nothing."""

    here: float | None
    paper: float | None
    n: int

    @property
    def difference(self) -> float | None:
        """What the lake gives less what the paper says."""
        return None if self.here is None or self.paper is None else self.here - self.paper


class FilledTable(NamedTuple):
    """A table with its cells, row by row; `gaps` say why cells are empty."""

    table: PaperTable
    cells: tuple[tuple[Cell, ...], ...]
    gaps: tuple[str, ...]

    @property
    def n_filled(self) -> int:
        """How many cells the lake fills."""
        return sum(cell.here is not None for row in self.cells for cell in row)

    @property
    def n_cells(self) -> int:
        """How many cells the table has."""
        return sum(map(len, self.cells))


class ListedCases(NamedTuple):
    """A table of single cases: the columns and the rows that its query found."""

    table: PaperTable
    names: Sequence[str]
    rows: Sequence[Sequence[object]]

    @property
    def n_filled(self) -> int:
        """How many rows the lake gives."""
        return len(self.rows)


def fill_table(table: PaperTable, found: Iterable[Found]) -> FilledTable:
    """The table with what a query found of it."""
    by_key = {(cell.row_key, cell.column_key): cell for cell in found}
    cells = tuple(
        tuple(
            _fill_cell(table, by_key.get((row.key, column.key)), _printed(table, row, place))
            for place, column in enumerate(table.columns)
        )
        for row in table.rows
    )
    return FilledTable(table, cells, tuple(_list_gaps(table, by_key)))


def _printed(table: PaperTable, row: Line, place: int) -> float | None:
    return table.numbers[row.key][place] if row.key in table.numbers else None


def _fill_cell(table: PaperTable, found: Found | None, paper: float | None) -> Cell:
    if found is None or found.value is None:
        return Cell(None, paper, found.n if found else 0)
    return Cell(found.value * table.factor, paper, found.n)


def _list_gaps(table: PaperTable, by_key: dict[tuple[str, str], Found]) -> list[str]:
    """Why cells are empty: rows and columns of which the lake has nothing, in a line each, then
    the single cells.
    """
    rows = {row_key for row_key, _ in by_key}
    columns = {column_key for _, column_key in by_key}
    bare_rows = [row for row in table.rows if row.key not in rows]
    bare_columns = [column for column in table.columns if column.key not in columns]
    if len(bare_rows) == len(table.rows):
        return ["the lake has nothing of this table"]
    gaps: list[str] = []
    if bare_rows:
        plain = [row._replace(group="") for row in bare_rows]
        gaps.append(f"no scores in the lake: {_name_lines(plain)}")
    if bare_columns:
        gaps.append(f"no rated answers in the lake: {_name_lines(bare_columns)}")
    single: dict[str, list[str]] = {}
    for row in table.rows:
        for column in table.columns:
            if row in bare_rows or column in bare_columns:
                continue
            cell = by_key.get((row.key, column.key))
            if cell is None or cell.value is None:
                why = (cell.reason or "undefined") if cell else "no scores of these answers"
                single.setdefault(why, []).append(f"{row.label} × {_name(column)}")
    return gaps + [f"{why}: {'; '.join(where)}" for why, where in single.items()]


def _name_lines(lines: Sequence[Line]) -> str:
    return "; ".join(
        name if name == line.key else f"{name} ({line.key})"
        for line in lines
        for name in [_name(line)]
    )


def _name(line: Line) -> str:
    return f"{line.group} {line.label}".strip()
