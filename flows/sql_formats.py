"""The formats of `judgelake sql`: the rows of a query written to standard output or to a file.

How people see them in a terminal is `flows.sql_table`.
"""

import csv
import functools
import itertools
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import duckdb

from judgelake.flows.sql_table import show_records, show_table
from judgelake.tasks.errors import QueryError, show_controls
from judgelake.tasks.warehouse.catalog import markdown_line, plain_cell, quote_formula, show_json

if TYPE_CHECKING:
    Relation = duckdb.DuckDBPyRelation

_SHOWN_ROWS = 1000
"""The most rows that the formats for people show."""
_OF_A_PLAN = ["explain_key", "explain_value"]
"""Columns of the answer to `explain`, whose second one is drawn by lines."""
# rows fetched at a time, which bounds memory
_BATCH_ROWS = 10_000
_ENDINGS = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet"}


def write_rows(relation: "Relation", form: str, out: TextIO, query: str = "") -> None:
    """Write the rows of a relation. Columns that `query` names are never folded in a table."""
    if form in _FOR_PROGRAMS:
        _FOR_PROGRAMS[form](relation, out)
        return
    if relation.columns == _OF_A_PLAN:
        out.writelines(f"{show_controls(plan.rstrip())}\n" for _, plan in relation.fetchall())
        return
    names, width = relation.columns, terminal_width()
    rows = list(itertools.islice(relation.iter_rows(_SHOWN_ROWS + 1), _SHOWN_ROWS + 1))
    shown, is_cut = rows[:_SHOWN_ROWS], len(rows) > _SHOWN_ROWS
    if form == "records":
        out.write(show_records(names, shown, width, is_cut=is_cut))
    else:
        out.write(show_table(names, shown, width, _find_chosen(names, query), is_cut=is_cut))


def name_format(file: Path) -> str:
    """The format that a file's ending stands for."""
    form = _ENDINGS.get(file.suffix.lower())
    if form is None:
        raise QueryError(
            f"sql: .output {file}: the ending {file.suffix!r} names no format; expected one of "
            f"{', '.join(_ENDINGS)}; rename it"
        )
    return form


def terminal_width() -> int:
    """Columns of the terminal; 160 where there is none."""
    return shutil.get_terminal_size((160, 40)).columns


def _find_chosen(columns: Collection[str], query: str) -> set[str]:
    """The columns that a query names, rather than a `*` in it."""
    words = {*re.findall(r"\w+", query), "count_star"}
    return {name for name in columns if words.issuperset(re.findall(r"\w+", name))}


class _UnixLines:
    """Writes the lines of csv with a line feed at the end. The csv writer itself ends them in
    CR LF, because then it also quotes cells with a lone carriage return; Python before 3.13 does
    not do so otherwise.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, line: str) -> int:
        return self._out.write(line.removesuffix("\r\n") + "\n")


def _write_csv(relation: "Relation", out: TextIO, *, is_raw: bool = False) -> None:
    """In names and cells, text that a spreadsheet takes for a formula gets an apostrophe before
    it, and control characters are shown, unless `is_raw`.
    """

    def write(values: Iterable[object]) -> None:
        writer.writerow(
            value if is_raw and isinstance(value, str) else quote_formula(plain_cell(value))
            for value in values
        )

    writer = csv.writer(_UnixLines(out), lineterminator="\r\n")
    rows = iter(relation.iter_rows(_BATCH_ROWS))
    first = next(
        rows, None
    )  # an error here comes before the first printed line, so it can be retried
    write(relation.columns)
    try:
        for row in itertools.chain([] if first is None else [first], rows):
            write(row)
    except duckdb.IOException as error:
        raise QueryError(f"sql: only a part of the rows is printed: {error}; run again") from None


def _write_json(relation: "Relation", out: TextIO) -> None:
    names = _distinct_names(relation)
    rows = [dict(zip(names, row, strict=True)) for row in relation.fetchall()]
    out.write(f"{show_json(rows, indent=1)}\n")


def _write_markdown(relation: "Relation", out: TextIO) -> None:
    rows = relation.fetchall()
    for row in (relation.columns, ["---"] * len(relation.columns), *rows):
        out.write(markdown_line([plain_cell(value) for value in row]))


def _write_parquet(relation: "Relation", out: TextIO) -> None:
    import pyarrow.parquet as pq

    _distinct_names(relation)
    pq.write_table(relation.to_arrow_table(), out.buffer, compression="zstd")


def _distinct_names(relation: "Relation") -> list[str]:
    """The columns' names, for formats in which a name stands for one column."""
    names = list(relation.columns)
    for name in names:
        if names.count(name) > 1:
            raise QueryError(
                f"sql: two columns are named {name!r}; expected distinct names; write `as` "
                f"with another name"
            )
    return names


_FOR_PROGRAMS: Mapping[str, Callable[["Relation", TextIO], None]] = {
    "csv": _write_csv,
    "csv-raw": functools.partial(_write_csv, is_raw=True),
    "json": _write_json,
    "markdown": _write_markdown,
    "parquet": _write_parquet,
}
FOR_PEOPLE = ("table", "records")
FORMATS = (*FOR_PEOPLE, *_FOR_PROGRAMS)
