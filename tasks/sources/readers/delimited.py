"""Rows of CSV and TSV with their line numbers; a line that is not text, or a quote that never
closes, is reported and reading goes on with the next line.

The standard library's reader is asked row by row, for one bad quotation mark must not swallow the
rest of a file.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.readers.lines import DamagedFileError, Rejects, read_raw_lines

_MOST_LINES = 1000
"""A quoted cell of more lines than this is taken for a quotation mark that was never closed."""


class ReportLine(Protocol):
    """Called with each line that makes no record."""

    def __call__(
        self, locator: str, column: str | None, value: str | None, reason: str, remedy: str
    ) -> None:
        """`locator` such as `line 12`; `column` and `value` where they are known."""


class Cells(NamedTuple):
    """The cells of one row, the line it begins at, and its number in the file from 1: rows that
    cannot be read count too, blank lines do not.
    """

    line: int
    cells: list[str]
    number: int


class _UnclosedError(Exception):
    """A quoted cell goes on for too many lines."""


def read_cells(
    file: Path, separator: str, quotes: bool, encoding: str, report_line: ReportLine
) -> Iterator[Cells]:
    """The rows of a file, blank lines left out."""
    csv.field_size_limit(1 << 30)
    source = _Source(decode_lines(file, encoding, report_line))
    quoting: Literal[0, 3] = 0 if quotes else 3  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE
    reader = csv.reader(source, delimiter=separator, quoting=quoting, strict=quotes)
    number = 0
    while True:
        source.begin()
        try:
            cells = next(reader, None)
        except (csv.Error, _UnclosedError) as error:
            first, text = source.give_back()
            number += 1 + source.count_unreadable()
            reason = f"the row's quotation marks do not match ({error})"
            report_line(
                f"line {first}",
                None,
                text[:200],
                reason,
                "double the marks inside a cell, or write `quotes: false` in the suite",
            )
            reader = csv.reader(source, delimiter=separator, quoting=quoting, strict=quotes)
            continue
        if cells is None:
            return
        if cells:
            number += 1 + source.count_unreadable()
            yield Cells(source.first, cells, number)


class _Source:
    """The lines of a file for a csv reader, those of the row being read kept so that they can be
    read again.
    """

    def __init__(self, lines: Iterator[tuple[int, str | None]]) -> None:
        self._lines = lines
        self._unreadable: list[int] = []
        self._again: list[tuple[int, str]] = []
        self._row: list[tuple[int, str]] = []

    def __iter__(self) -> "_Source":
        return self

    def __next__(self) -> str:
        if len(self._row) >= _MOST_LINES:
            raise _UnclosedError(f"one is not closed within {_MOST_LINES} lines")
        line = self._again.pop() if self._again else self._next_readable()
        self._row.append(line)
        return line[1]

    def _next_readable(self) -> tuple[int, str]:
        for number, text in self._lines:
            if text is not None:
                return number, text
            self._unreadable.append(number)
        raise StopIteration

    @property
    def first(self) -> int:
        """The line at which the row begins."""
        return self._row[0][0] if self._row else 0

    def begin(self) -> None:
        """A new row begins."""
        self._row.clear()

    def count_unreadable(self) -> int:
        """How many lines that are no text stand in front of the row, of those not counted yet."""
        n_lines = sum(line < self.first for line in self._unreadable)
        last = self._row[-1][0]
        self._unreadable = [line for line in self._unreadable if line > last]
        return n_lines

    def give_back(self) -> tuple[int, str]:
        """The first line of the row with its number; the others will be read again."""
        self._again.extend(reversed(self._row[1:]))
        del self._row[1:]
        return self._row[0]


def decode_lines(
    file: Path, encoding: str, report_line: ReportLine
) -> Iterator[tuple[int, str | None]]:
    """(line number, text with its line feed); without a text where the line is none."""
    number = 0
    try:
        for number, data in enumerate(_encoded_lines(file, encoding), 1):
            if b"\0" in data and not encoding.startswith("utf-16"):
                shown = data[:200].decode("utf-8", "replace")
                report_line(
                    f"line {number}",
                    None,
                    shown,
                    "the line holds NUL bytes: it is not text",
                    "take the bytes out, or fetch the file again",
                )
                yield number, None
                continue
            try:
                text = data.decode(encoding).removeprefix("\ufeff")
            except UnicodeDecodeError as error:
                reason = (
                    f"the line is not {encoding}: byte 0x{data[error.start]:02x} at place "
                    f"{error.start + 1}"
                )
                shown = data[:200].decode("utf-8", "replace")
                report_line(
                    f"line {number}",
                    None,
                    shown,
                    reason,
                    "save the file as UTF-8, or write `encoding:` in the suite, such as latin-1",
                )
                yield number, None
                continue
            yield number, text + "\n"
    except DamagedFileError as error:
        report_line(
            f"line {number + 1}",
            None,
            None,
            f"the compressed file breaks off or is damaged here ({error})",
            "fetch the file again",
        )
    except LookupError as error:
        raise SourceError(
            f"{file}: {error}; expected an encoding such as utf-8 or latin-1; correct `encoding:`"
        ) from None


def _encoded_lines(file: Path, encoding: str) -> Iterator[bytes]:
    """Lines as bytes; in UTF-16 a line feed is two bytes, so those files are split as text."""
    lines = read_raw_lines(file)
    if not encoding.startswith("utf-16"):
        first = next(lines, b"")
        if first.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise SourceError(
                f"{file}:1: is UTF-16, not {encoding}; expected {encoding}; write `encoding: "
                f"utf-16` in the suite"
            )
        yield first
        yield from lines
        return
    try:
        whole = b"\n".join(lines).decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{file}: is not {encoding} ({error.reason}); expected {encoding}; correct `encoding:`"
        ) from None
    for line in whole.split("\n"):
        yield line.encode(encoding)


class CsvRow(NamedTuple):
    """One row and the line it begins at."""

    place: tuple[str, str]
    cells: dict[str, str]


def read_csv_rows(
    file: Path, needed: tuple[str, ...], table: str, rejects: Rejects
) -> Iterator[CsvRow]:
    """The rows of a comma-separated file; one that does not fit the header goes to `rejects`.
    Raises SourceError where a column is missing.
    """

    def report_line(
        locator: str, column: str | None, value: str | None, reason: str, remedy: str
    ) -> None:
        rejects.add(table, (file.name, locator), column, value, reason, remedy)

    rows = read_cells(file, ",", True, "utf-8", report_line)
    header = next((row.cells for row in rows), [])
    missing = [name for name in needed if name not in header]
    if missing:
        raise SourceError(
            f"{file}:1: the header lacks {', '.join(map(repr, missing))}; it has "
            f"{', '.join(map(repr, header)) or 'no columns'}; "
            f"expected {', '.join(map(repr, needed))}; check that it is the right file"
        )
    for line, cells, _ in rows:
        place = (file.name, f"line {line}")
        if len(cells) == len(header):
            yield CsvRow(place, dict(zip(header, cells, strict=True)))
        else:
            rejects.add(
                table,
                place,
                None,
                ",".join(cells),
                f"the row has {len(cells)} cells, the header {len(header)} columns",
            )
