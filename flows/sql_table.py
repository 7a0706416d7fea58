"""Rows as text for people: a table where it fits into the terminal, with columns of little use
folded away, or each row as lines of a name and a value. Numbers are rounded here and nowhere else.

Which rows these are, and formats for programs, are `flows.sql_formats`.
"""

import math
import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from judgelake.tasks.errors import show_controls
from judgelake.tasks.warehouse.catalog import plain_cell

_NARROWEST = 16
"""Columns that a text keeps when a table is too wide."""
_FEW_ROWS = 3
"""So few rows are shown whole, each as lines, before a column is folded."""
_DIGITS = 4
"""Significant digits of the largest number in a column."""
_MOST_DECIMALS = 6
_SAID_BELOW = 1
"""Columns of this use or less lose nothing when they are folded: their one value stands below."""
_CHOSEN = 9
_HEX = re.compile(r"[0-9a-f]{16,}")
_BREAKS = str.maketrans({"\n": "↵", "\r": "↵", "\t": " "})


@dataclass(frozen=True)
class _Column:
    """A column as it is shown: `head` and `cells` for a table, `is_number` aligns them to the
    right, and `is_figure` is one of the numbers with a fraction that differ.
    """

    name: str
    head: tuple[str, ...]
    cells: tuple[str, ...]
    is_number: bool
    is_figure: bool
    is_text: bool
    use: int

    @property
    def width(self) -> int:
        return max(map(measure, (*self.head, *self.cells)))


def show_table(
    names: Sequence[str],
    rows: Sequence[Sequence[object]],
    width: int,
    chosen: Collection[str] = (),
    *,
    is_cut: bool = False,
) -> str:
    """The rows as a table at most `width` wide, or as records where it cannot be.

    Texts are shortened and long names broken first; then columns are folded, those of least use
    first (without a value, the same in every row, digests, nested values and times, counts that
    hardly differ, mostly empty): never a `chosen` one; the last only where the chosen need its
    room, and the first where they do or it is the same in every row. `is_cut`: there are more rows
    than these.
    """
    columns = [
        _read_column(name, [row[at] for row in rows], chosen) for at, name in enumerate(names)
    ]
    kept = _fold(columns, width, few=len(rows) <= _FEW_ROWS)
    if kept is None:
        return show_records(names, rows, width, is_cut=is_cut)
    shown = [at for at, _ in kept]
    folded = [column for at, column in enumerate(columns) if at not in shown]
    lines = [
        *_draw([column for _, column in kept], width),
        *_describe(len(rows), is_cut, folded, width),
    ]
    return "".join(f"{line}\n" for line in lines)


def show_records(
    names: Sequence[str], rows: Sequence[Sequence[object]], width: int, *, is_cut: bool = False
) -> str:
    """Each row as lines of a name and a value, no value shortened."""
    names = [_show_name(name) for name in names]
    room = max(map(measure, names)) + 2
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"-- row {number}")
        for name, value in zip(names, row, strict=True):
            cell = round_numbers([value])[0].replace("\t", " ") or "''"
            lines += _wrap(f"{pad(name, room)}{cell}", max(width, 2 * room), room)
    return "".join(f"{line}\n" for line in [*lines, *_describe(len(rows), is_cut, [], width)])


def round_numbers(values: Sequence[object]) -> list[str]:
    """One column's values as text: numbers with a fraction all to the same decimals, as many as
    give the largest four digits; one that would become 0 keeps two digits.
    """
    fractions = [
        float(value)
        for value in values
        if isinstance(value, float | Decimal) and math.isfinite(value)
    ]
    decimals = _choose_decimals(fractions)
    return [_show_value(value, decimals) for value in values]


def _choose_decimals(numbers: Sequence[float]) -> int:
    largest = max(map(abs, numbers), default=0.0)
    whole_digits = math.floor(math.log10(largest)) + 1 if largest > 0 else 0
    room = max(0, min(_MOST_DECIMALS, _DIGITS - whole_digits))
    needed = (len(f"{number:.{room}f}".rstrip("0").partition(".")[2]) for number in numbers)
    return max(needed, default=0)


def _show_value(value: object, decimals: int) -> str:
    match value:
        case None:
            return "NULL"
        case float() | Decimal() if math.isfinite(value):
            shown = f"{value:.{decimals}f}"
            return f"{value:.2g}" if value and float(shown) == 0 else shown
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case list() | dict() | tuple():
            return str(plain_cell(_round_nested(value)))
    return str(plain_cell(value))


def _round_nested(value: object) -> object:
    match value:
        case float():
            return float(f"{value:.{_DIGITS}g}")
        case list() | tuple():
            return [_round_nested(part) for part in value]
        case dict():
            return {key: _round_nested(part) for key, part in value.items()}
    return value


def _read_column(name: str, values: Sequence[object], chosen: Collection[str]) -> _Column:
    given = [value for value in values if value is not None]
    is_number = bool(given) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in given
    )
    is_text = any(isinstance(value, str | list | dict | tuple) for value in given)
    cells = tuple(cell.translate(_BREAKS) for cell in round_numbers(values))
    use = _CHOSEN if name in chosen else _rate_use(values, given, cells)
    is_figure = use > _SAID_BELOW and any(isinstance(value, float) for value in given)
    name = _show_name(name)
    return _Column(name, (name,), cells, is_number, is_figure, is_text, use)


def _show_name(name: str) -> str:
    """A column's name on one line; a pivot makes names of values."""
    return show_controls(name).translate(_BREAKS)


def _rate_use(values: Sequence[object], given: Sequence[object], cells: Sequence[str]) -> int:
    """0 for a column of no use to a reader, up to 5."""
    if not given:
        return 0
    if len(values) > 1 and len(set(cells)) == 1:
        return 1
    if all(isinstance(value, str) and _HEX.fullmatch(value) for value in given):
        return 2
    if all(isinstance(value, list | dict | tuple | datetime) for value in given):
        return 3
    says_little = len(set(cells)) <= 2 and all(isinstance(value, int) for value in given)
    return 4 if says_little or 2 * len(given) <= len(values) else 5


def _fold(columns: Sequence[_Column], width: int, *, few: bool) -> list[tuple[int, _Column]] | None:
    """The columns that fit, with their places; None where records are better."""
    if 1 + sum(3 + column.width for column in columns) <= width:
        return list(enumerate(columns))
    if few:
        return None
    columns = [_break_head(column) for column in columns]
    last = len(columns) - 1
    chosen = {at for at, column in enumerate(columns) if column.use == _CHOSEN}
    kept = {*chosen, last, *([0] if columns[0].use > _SAID_BELOW else [])}
    if chosen and _least_width([columns[at] for at in kept]) > width:
        kept = chosen
    main = next((at for at, column in enumerate(columns) if column.is_figure), None)
    all_figures = True
    # of equal use the leftmost comes first: keys come first in a view
    for at in sorted(range(len(columns)), key=lambda at: (at != main, -columns[at].use, at)):
        if columns[at].is_figure and not all_figures:  # no upper end without its lower one
            continue
        if _least_width([columns[place] for place in kept | {at}]) <= width:
            kept.add(at)
        elif columns[at].is_figure:
            all_figures = False
    shown = [(at, columns[at]) for at in sorted(kept)]
    return shown if _least_width([column for _, column in shown]) <= width else None


def _break_head(column: _Column) -> _Column:
    """A long name on two lines, where a word in it ends, if its cells are narrower."""
    breaks = [at + 1 for at, sign in enumerate(column.name) if sign in "_ " and at > 0]
    if not breaks or max(map(measure, column.cells), default=0) >= measure(column.name):
        return column
    place = min(breaks, key=lambda at: max(at, len(column.name) - at))
    return replace(column, head=(column.name[:place], column.name[place:]))


def _least_width(columns: Sequence[_Column]) -> int:
    return 1 + sum(3 + _least(column) for column in columns)


def _least(column: _Column) -> int:
    if not column.is_text:
        return column.width
    return min(column.width, max(_NARROWEST, *map(measure, column.head)))


def _draw(columns: Sequence[_Column], width: int) -> Iterator[str]:
    widths = _share_room(columns, width - 1 - 3 * len(columns))
    bars = ["─" * (room + 2) for room in widths]
    yield f"┌{'┬'.join(bars)}┐"
    for at in range(max(len(column.head) for column in columns)):
        yield _line([(*column.head, "")[at] for column in columns], columns, widths)
    yield f"├{'┼'.join(bars)}┤"
    for cells in zip(*(column.cells for column in columns), strict=True):
        yield _line(cells, columns, widths)
    yield f"└{'┴'.join(bars)}┘"


def _share_room(columns: Sequence[_Column], room: int) -> list[int]:
    """The width of each column: its own, or the same for all texts that would need more."""
    widest = max(column.width for column in columns)
    least = [_least(column) for column in columns]

    def cut(most: int) -> list[int]:
        return [
            max(small, min(column.width, most))
            for column, small in zip(columns, least, strict=True)
        ]

    low, high = 0, widest
    while low < high:  # the largest cap with which all fit
        most = (low + high + 1) // 2
        low, high = (most, high) if sum(cut(most)) <= room else (low, most - 1)
    return cut(low)


def _line(cells: Sequence[str], columns: Sequence[_Column], widths: Sequence[int]) -> str:
    padded = (
        pad(_shorten(cell, width), width, right=column.is_number)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    )
    return f"│ {' │ '.join(padded)} │"


def _describe(n_rows: int, is_cut: bool, folded: Sequence[_Column], width: int) -> Iterator[str]:
    """What is not shown: further rows, and folded columns with the value that is in every row."""
    count = f"{n_rows:,} row{'' if n_rows == 1 else 's'}"
    parts = [f"the first {count} are shown; there are more" if is_cut else count]
    same = [
        f"{column.name} = {_shorten(column.cells[0], 40)}"
        for column in folded
        if column.use <= _SAID_BELOW
    ]
    if same:
        parts.append(f"in every row {', '.join(same)}")
    rest = [column.name for column in folded if column.use > _SAID_BELOW]
    if rest:
        parts.append(f"folded: {', '.join(rest)}")
    text = "; ".join(parts) + (" (the format `records` shows them)" if rest else "")
    yield from _wrap(text, width, 2)


def show_terms(terms: Iterable[tuple[str, str]], width: int, room: int) -> str:
    """Lines of a name and its sentence, which goes on below itself; `room` is for the names."""
    lines = [
        line
        for name, says in terms
        for line in _wrap(f"{pad(name, room - 1)} {says}", max(width, 2 * room), room)
    ]
    return "".join(f"{line}\n" for line in lines)


def show_names(names: Sequence[str], width: int) -> str:
    """Names side by side in columns, to be read downwards."""
    room = max(map(measure, names)) + 2
    n_lines = -(-len(names) // max(1, (width - 2) // room))
    lines = ("".join(pad(name, room) for name in names[at::n_lines]) for at in range(n_lines))
    return "".join(f"  {line.rstrip()}\n" for line in lines)


def measure(text: str) -> int:
    """The columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(sign) in ("W", "F")
        else 1
        for sign in text
    )


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text filled with blanks to `width` columns."""
    blanks = " " * (width - measure(text))
    return blanks + text if right else text + blanks


def _shorten(text: str, width: int) -> str:
    if measure(text) <= width:
        return text
    kept = text[:width]
    while measure(kept) > width - 1:
        kept = kept[:-1]
    return f"{kept}…"


def _wrap(text: str, width: int, indent: int) -> list[str]:
    """Lines of at most `width` columns; a line break in the text is kept."""
    lines: list[str] = []
    for part in text.splitlines():
        first = "" if not lines else " " * indent
        lines += textwrap.wrap(
            part, width, initial_indent=first, subsequent_indent=" " * indent
        ) or [first]
    return lines
