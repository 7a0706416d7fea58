"""A paper's table as text, Markdown, LaTeX or CSV: the paper's rows and columns, each number of the
lake with the paper's and the difference beside it.
"""

import csv
import io
import itertools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from judgelake.tasks.errors import show_controls
from judgelake.tasks.papers.cells import Cell, FilledTable
from judgelake.tasks.papers.registry import Line, PaperTable
from judgelake.tasks.warehouse.catalog import markdown_line, plain_cell, quote_formula

_NARROWEST = 60
_INDENT = "  "
_PAPER, _DIFFERENCE = "paper", "difference"
_TEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "–": "--",
        "γ": "$\\gamma$",
        "\\": "\\textbackslash{}",
    }
)


def write_text(filled: FilledTable, width: int) -> str:
    """For a terminal `width` wide. Each column is three where they fit: what the lake gives, what
    the paper says, the difference. Else these are lines below each other, a row of which the lake
    has nothing is the paper's alone, and columns that do not fit stand below, a group of them
    unbroken where it fits.
    """
    table = filled.table
    width = max(width, _NARROWEST)
    lines = [say_above(table, width), ""]
    if _stub_width(filled) + 3 * _narrow_width(filled) * len(table.columns) <= width:
        lines += _draw_beside(filled)
    else:
        parts = (_draw_part(filled, part) for part in _cut(filled, width))
        lines += itertools.chain.from_iterable(parts)
    lines += _wrap(_say_below(filled), width)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def say_above(table: PaperTable, width: int) -> str:
    """What stands above a table: its name, where it stands in the paper, what it shows."""
    title = f"{table.name} ({table.place}): {table.caption}"
    return "\n".join(textwrap.wrap(title, width))


def write_list(
    table: PaperTable, names: Sequence[str], rows: Sequence[Sequence[object]], form: str
) -> str:
    """A table whose rows are whatever a query found, as Markdown, LaTeX or CSV."""
    names = [show_controls(name) for name in names]
    cells = [[str(plain_cell(value)) for value in row] for row in rows]
    if form == "markdown":
        lines = [markdown_line(names), markdown_line(["---"] * len(names))]
        title = f"**{table.name}** ({table.place}): {table.caption}\n\n"
        return title + "".join([*lines, *map(markdown_line, cells)])
    if form == "csv":
        out = io.StringIO()
        quoted = ([quote_formula(cell) for cell in row] for row in [names, *cells])
        csv.writer(out, lineterminator="\n").writerows(quoted)
        return out.getvalue()
    body = [f"{' & '.join(map(_tex, row))} \\\\" for row in [names, *cells]]
    return _frame_latex(f"{len(names) * 'l'}", [body[0], "\\midrule", *body[1:]], table.caption)


def write_markdown(filled: FilledTable) -> str:
    """A cell is `here (paper, difference)`; what the lake lacks is empty but for the paper's."""
    table = filled.table
    names = [_full_label(column) for column in table.columns]
    out = f"**{table.name}** ({table.place}): {table.caption}\n\n"
    out += markdown_line([table.stub, *names]) + markdown_line(
        ["---", *["---:"] * len(table.columns)]
    )
    for row, cells in zip(table.rows, filled.cells, strict=True):
        label = f"{row.group}: {row.label}" if row.group else row.label
        out += markdown_line([label, *(_beside(filled, cell) for cell in cells)])
    below = "".join(f"- {line}\n" for line in _say_below(filled))
    return f"{out}\nNumbers in brackets: the paper's, and the difference.\n\n{below}"


def write_latex(filled: FilledTable) -> str:
    """A `table` for booktabs. Each row of the lake's numbers has the paper's below it in grey."""
    table = filled.table
    n_columns = len(table.columns)
    groups = [(name, len(list(some))) for name, some in itertools.groupby(table.columns, _group)]
    lines: list[str] = []
    if any(name for name, _ in groups):
        heads = (f"\\multicolumn{{{size}}}{{c}}{{{_tex(name)}}}" for name, size in groups)
        lines.append(f" & {' & '.join(heads)} \\\\")
    lines += [
        f"{_tex(table.stub)} & {' & '.join(_tex(column.label) for column in table.columns)} \\\\",
        "\\midrule",
    ]
    group = ""
    for row, cells in zip(table.rows, filled.cells, strict=True):
        if row.group != group:
            lines.append(
                f"\\multicolumn{{{n_columns + 1}}}{{l}}{{\\textit{{{_tex(row.group)}}}}} \\\\"
            )
            group = row.group
        here = (_number(cell.here, table.decimals) for cell in cells)
        paper = (f"\\textcolor{{gray}}{{{_number(cell.paper, table.decimals)}}}" for cell in cells)
        lines += [f"{_tex(row.label)} & {' & '.join(here)} \\\\"]
        lines += [f"\\quad\\textcolor{{gray}}{{paper}} & {' & '.join(paper)} \\\\"]
    below = "".join(f"% {line}\n" for line in _say_below(filled))
    return _frame_latex(f"l{'r' * n_columns}", lines, table.caption) + below


def _frame_latex(columns: str, body: Sequence[str], caption: str) -> str:
    lines = [
        "% needs \\usepackage{booktabs,xcolor}",
        "\\begin{table}",
        "\\centering",
        f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule",
        *body,
        "\\bottomrule",
        "\\end{tabular}",
        f"\\caption{{{_tex(caption)}}}",
        "\\end{table}",
    ]
    return "".join(f"{line}\n" for line in lines)


def write_csv(filled: FilledTable) -> str:
    """A line a cell, numbers unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = ("row_group", "row", "column_group", "column", "here", "paper", "difference", "n")
    writer.writerow(heads)
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        for column, cell in zip(filled.table.columns, cells, strict=True):
            names = map(quote_formula, (row.group, row.label, column.group, column.label))
            writer.writerow([*names, cell.here, cell.paper, cell.difference, cell.n])
    return out.getvalue()


LAYOUTS: Mapping[str, Callable[[FilledTable], str]] = {
    "markdown": write_markdown,
    "latex": write_latex,
    "csv": write_csv,
}
"""The formats that need no width."""


class _Part(NamedTuple):
    """Columns that stand side by side: from, to."""

    start: int
    end: int


def _cut(filled: FilledTable, width: int) -> list[_Part]:
    """The columns in parts that fit the width; a group is broken only where it is wider."""
    room = width - _stub_width(filled)
    cell = _cell_width(filled)
    most = max(1, room // cell)
    parts: list[_Part] = []
    start = 0
    for _, some in itertools.groupby(filled.table.columns, _group):
        for size in _halve(len(list(some)), most):
            is_whole = bool(parts) and start + size - parts[-1].start <= most
            begin = parts.pop().start if is_whole else start
            start += size
            parts.append(_Part(begin, start))
    return parts


def _halve(size: int, most: int) -> list[int]:
    """A group's size in pieces of at most `most`; columns without a group are single pieces."""
    return [min(most, size - at) for at in range(0, size, most)]


def _group(line: Line) -> str:
    return line.group


def _draw_beside(filled: FilledTable) -> list[str]:
    """The table with three columns for each of the paper's."""
    table, wide, cell_width = filled.table, _stub_width(filled), _narrow_width(filled)
    columns = [_full_label(column) for column in table.columns]
    heads = "".join(label.rjust(3 * cell_width) for label in columns)
    names = "".join(name.rjust(cell_width) for name in ("here", _PAPER, "diff"))
    rule = "─" * (wide + 3 * cell_width * len(columns))
    lines = [" " * wide + heads, table.stub.ljust(wide) + names * len(columns), rule]
    group = ""
    for row, cells in zip(table.rows, filled.cells, strict=True):
        if row.group != group:
            lines.append(row.group)
            group = row.group
        numbers = (
            number
            for cell in cells
            for number in (
                _number(cell.here, table.decimals),
                _number(cell.paper, table.decimals),
                _signed(cell.difference, table.decimals),
            )
        )
        label = (_INDENT if row.group else "") + row.label
        lines.append(label.ljust(wide) + "".join(number.rjust(cell_width) for number in numbers))
    return [*lines, ""]


def _draw_part(filled: FilledTable, part: _Part) -> list[str]:
    table, wide, cell_width = filled.table, _stub_width(filled), _cell_width(filled)
    columns = table.columns[part.start : part.end]
    lines = []
    if any(column.group for column in columns):
        heads = (
            group[: cell_width * size - 1].rjust(cell_width).ljust(cell_width * size)
            for group, some in itertools.groupby(columns, _group)
            for size in [len(list(some))]
        )
        lines.append(" " * wide + "".join(heads))
    lines.append(table.stub.ljust(wide) + "".join(c.label.rjust(cell_width) for c in columns))
    lines.append("─" * (wide + cell_width * len(columns)))
    group = ""
    for row, cells in zip(table.rows, filled.cells, strict=True):
        if row.group != group:
            lines.append(row.group)
            group = row.group
        shown = cells[part.start : part.end]
        label = (_INDENT if row.group else "") + row.label
        lines += _draw_row(label, shown, wide, cell_width, table.decimals)
    return [*lines, ""]


def _draw_row(
    label: str, cells: Sequence[Cell], wide: int, cell_width: int, decimals: int
) -> list[str]:
    indent = len(label) - len(label.lstrip()) + len(_INDENT)

    def draw(name: str, numbers: Sequence[str]) -> str:
        return name.ljust(wide) + "".join(number.rjust(cell_width) for number in numbers)

    below = [
        draw(" " * indent + _PAPER, [_number(cell.paper, decimals) for cell in cells]),
        draw(" " * indent + _DIFFERENCE, [_signed(cell.difference, decimals) for cell in cells]),
    ]
    is_bare = all(cell.here is None for cell in cells)
    has_paper = any(cell.paper is not None for cell in cells)
    own = draw(label, [_number(cell.here, decimals) for cell in cells])
    return [own, *(below[: 1 if is_bare else 2] if has_paper else ())]


def _say_below(filled: FilledTable) -> list[str]:
    """What stands below a table: how much of it there is, why the rest is not, notes."""
    table = filled.table
    said = [f"{filled.n_filled} of {filled.n_cells} cells are from this lake"]
    said += filled.gaps
    if filled.n_filled < filled.n_cells:
        suites = table.suite.replace(" and ", ", ").split(", ")
        runs = "; ".join(f"judgelake run {suite}" for suite in suites)
        said.append(f"what makes them (`plan` in place of `run` shows the price): {runs}")
    return said + ([table.notes] if table.notes else [])


def _wrap(lines: Sequence[str], width: int) -> list[str]:
    return [
        part
        for line in lines
        for part in textwrap.wrap(line, width, subsequent_indent=_INDENT, break_on_hyphens=False)
    ]


def _stub_width(filled: FilledTable) -> int:
    labels = [len(row.label) + (len(_INDENT) if row.group else 0) for row in filled.table.rows]
    below = 2 * len(_INDENT) + len(_DIFFERENCE)
    return max(*labels, len(filled.table.stub), below) + 1


def _cell_width(filled: FilledTable) -> int:
    labels = max(len(column.label) for column in filled.table.columns)
    return max(labels + 2, _number_width(filled))


def _narrow_width(filled: FilledTable) -> int:
    """A third of what a column takes whose three numbers stand beside each other."""
    labels = max(len(_full_label(column)) for column in filled.table.columns)
    return max(-(-(labels + 2) // 3), len(_PAPER) + 2, _number_width(filled))


def _number_width(filled: FilledTable) -> int:
    decimals = filled.table.decimals
    numbers = [
        len(_number(value, decimals))
        for row in filled.cells
        for cell in row
        for value in (cell.here, cell.paper)
    ]
    return max(*numbers, len("+0.") + decimals) + 2


def _full_label(line: Line) -> str:
    return f"{line.group} {line.label}".strip()


def _beside(filled: FilledTable, cell: Cell) -> str:
    decimals = filled.table.decimals
    here = _number(cell.here, decimals)
    said = [_number(cell.paper, decimals), _signed(cell.difference, decimals)]
    beside = ", ".join(filter(None, said))
    return f"{here} ({beside})".strip() if beside else here


def _number(value: float | None, decimals: int) -> str:
    return "" if value is None else f"{value:.{decimals}f}"


def _signed(value: float | None, decimals: int) -> str:
    """A difference; what rounds to nothing has no sign."""
    if value is None:
        return ""
    text = f"{value:+.{decimals}f}"
    return text[1:] if float(text) == 0 else text


def _tex(text: str) -> str:
    return text.translate(_TEX)
