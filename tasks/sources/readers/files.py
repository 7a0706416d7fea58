"""CSV, TSV, JSON lines, JSON and Parquet files as batches of records with their places; damaged
lines are reported, the good ones go on.

What the fields mean is `tasks.sources.table`; compression is `tasks.sources.readers.lines`.
"""

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import orjson
import pyarrow.parquet as pq

from judgelake.tasks.errors import SourceError
from judgelake.tasks.settings import OneOrMany, SuitePath, frozen_settings
from judgelake.tasks.sources.readers.delimited import (
    Cells,
    ReportLine,
    decode_lines,
    read_cells,
)
from judgelake.tasks.sources.readers.lines import (
    DamagedFileError,
    plain_suffix,
    read_raw_lines,
    read_whole,
)
from judgelake.tasks.sources.readers.record_paths import (
    ABSENT,
    Record,
    explode_record,
    find_path,
    root_of,
)

Format = Literal["csv", "tsv", "jsonl", "json", "parquet", "blocks"]
FORMATS: tuple[str, ...] = get_args(Format)
_SUFFIXES: Mapping[str, Format] = {
    ".ndjson": "jsonl",
    ".jl": "jsonl",
    ".pq": "parquet",
    ".tab": "tsv",
}
_DELIMITED = ("csv", "tsv")
_TAKEN_BY: Mapping[str, tuple[str, ...]] = {
    "records": ("json",),
    "names": _DELIMITED,
    "separator": (*_DELIMITED, "blocks"),
    "quotes": _DELIMITED,
    "decimal": (*_DELIMITED, "blocks"),
    "encoding": (*_DELIMITED, "jsonl", "json", "blocks"),
}
"""Settings that only some formats heed."""
# records read at a time, which bounds memory
_BATCH = 50_000
_AGAIN = "correct the line in the file and ingest again"


Names = Annotated[tuple[str, ...], OneOrMany()]
"""One name or a list of names."""


@frozen_settings
class FileSettings:
    """How a file is read.

    `file`: a path or a glob whose `{name}` parts become columns. `format`: else from the suffix,
    under .gz or .zst. `records`: JSON: the path to the list of records, or to a map (its keys are
    the column `key`). `explode`: one record per element of this nested list or map, or of several,
    one within the other. `names`: the columns of a CSV or TSV without a header. `separator` and
    `quotes` (false where a quotation mark is only a sign): CSV and TSV. `decimal: ","` reads
    numbers with a decimal comma. `json`: columns whose cells
    hold JSON text. The format `blocks` has lines `key : value` (`separator` is between them), and
    blank lines between records.
    """

    file: SuitePath | None = None
    format: Format | None = None
    records: str | None = None
    explode: Names = ()
    encoding: str = "utf-8"
    names: Names = ()
    separator: str | None = None
    decimal: Literal[".", ","] = "."
    quotes: bool = True
    json: Names = ()

    def check_file(self) -> None:
        """Raises ValueError for a setting that files of this format do not heed."""
        suffix = plain_suffix(self.file) if self.file else ""
        kind = self.format or _SUFFIXES.get(suffix) or suffix.removeprefix(".")
        self._check_separator(kind)
        for name, formats in _TAKEN_BY.items():
            is_given = getattr(self, name) != type(self).__dataclass_fields__[name].default
            if kind in FORMATS and kind not in formats and is_given:
                raise ValueError(
                    f"{name}: says nothing about a file of the format {kind}; expected "
                    f"{' or '.join(formats)}; remove it, or write another `format:`"
                )

    def _check_separator(self, kind: str) -> None:
        mark = self.separator
        is_one = kind not in _DELIMITED or (mark is not None and len(mark) == 1)
        if mark is not None and (mark in ("", "\n", "\r") or not is_one):
            what = "cells" if kind in _DELIMITED else "a key"
            raise ValueError(
                f"separator: {mark!r} cannot separate {what}; "
                'expected one character, such as ";" (a tab is "\\t" in double quotes); correct it'
            )


class AbsentColumnsError(SourceError):
    """Columns that the suite names and the file does not have."""

    def __init__(self, message: str, absent: Sequence[str]) -> None:
        super().__init__(message, absent)  # both, so that it comes whole out of a worker's pickle
        self.absent = absent

    def __str__(self) -> str:
        return str(self.args[0])


class RecordBatch(NamedTuple):
    """Records, where each stood, such as `line 12`, and its number in the file from 1, with the
    records that cannot be read counted too.
    """

    records: Sequence[Record]
    locators: Sequence[str]
    numbers: Sequence[int]


class _Row(NamedTuple):
    """One record of a batch."""

    record: Record
    locator: str
    number: int


@dataclass(frozen=True)
class SeenPaths:
    """Of the paths that `explode` and `json` name: those that a record had, and the keys of the
    records that lack one.
    """

    found: set[str] = field(default_factory=set)
    lacking: dict[str, set[str]] = field(default_factory=dict)

    def note(self, path: str, record: Record, is_there: bool) -> None:
        """Keep whether this record has the path."""
        if is_there:
            self.found.add(path)
        else:
            self.lacking.setdefault(path, set()).update(record)

    def check(self, file: Path, settings: FileSettings) -> None:
        """Raises SourceError for a path that no record has."""
        for key in ("json", "explode"):
            for path in getattr(settings, key):
                if path in self.lacking and path not in self.found:
                    what = f"{file}: no record has {path!r}, which `{key}` names, but"
                    raise SourceError(f"{what} {list_present([path], sorted(self.lacking[path]))}")


def list_present(absent: Sequence[str], present: Iterable[str]) -> str:
    """The names that are there, and the one that may be meant by the first of the `absent`."""
    names = list(present)
    close = difflib.get_close_matches(absent[0], names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else "correct the suite or the file"
    return f"{', '.join(map(repr, names))}; expected one of these; {hint}"


def find_format(file: Path, settings: FileSettings) -> Format:
    """The format of a file by the settings, else by its suffix."""
    suffix = plain_suffix(file)
    name = settings.format or _SUFFIXES.get(suffix) or suffix.removeprefix(".")
    if name not in FORMATS:
        raise SourceError(
            f"{file}: its suffix names no format; expected one of {', '.join(FORMATS)}; write "
            f"`format:` in the suite"
        )
    return name  # type: ignore[return-value]


def read_batches(
    file: Path,
    settings: FileSettings,
    wanted: Iterable[str],
    report_line: ReportLine,
    seen: SeenPaths,
) -> Iterator[RecordBatch]:
    """The file's records, batch by batch; `report_line` is called for each line that is not one,
    and `seen` is filled. Raises SourceError where nothing can be read.
    """
    readers: Mapping[str, Callable[..., Iterator[_Row]]] = {
        "csv": _read_delimited,
        "tsv": _read_delimited,
        "jsonl": _read_json_lines,
        "json": _read_json,
        "parquet": _read_parquet,
        "blocks": _read_blocks,
    }
    rows = readers[find_format(file, settings)](file, settings, tuple(wanted), report_line)
    if settings.json:
        rows = _parse_cells(rows, settings.json, report_line, seen)
    for path in settings.explode:
        rows = _explode(rows, path, report_line, seen)
    batch: list[_Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield _as_batch(batch)
            batch = []
    yield _as_batch(batch)


def _as_batch(rows: Sequence[_Row]) -> RecordBatch:
    return RecordBatch(
        [row.record for row in rows], [row.locator for row in rows], [row.number for row in rows]
    )


def check_columns(file: Path, place: str, columns: Sequence[str], wanted: Iterable[str]) -> None:
    """Raises AbsentColumnsError where a wanted column is not among the `columns`: file, place, the
    columns, the nearest name.
    """
    names = sorted({path if path in columns else root_of(path) for path in wanted})
    absent = [name for name in names if name not in columns]
    if absent:
        lacking = " and no ".join(map(repr, absent))
        raise AbsentColumnsError(
            f"{file}:{place}: has no {lacking}, but the columns {list_present(absent, columns)}"
            if columns
            else f"{file}:{place}: is empty; expected the columns {lacking}; correct the file",
            absent,
        )


def _read_delimited(
    file: Path, settings: FileSettings, wanted: Sequence[str], report_line: ReportLine
) -> Iterator[_Row]:
    separator = settings.separator or ("\t" if find_format(file, settings) == "tsv" else ",")
    rows = read_cells(file, separator, settings.quotes, settings.encoding, report_line)
    header = Cells(1, list(settings.names), 0) if settings.names else next(rows, Cells(1, [], 0))
    names = header.cells
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None and twice in wanted:
        raise SourceError(
            f"{file}:1: two columns are named {twice!r}; expected distinct names; give them in "
            f"`names:`"
        )
    if not settings.explode:
        check_columns(file, "1", names, wanted)
    n_good, misfits = 0, []
    for line, cells, number in rows:
        if settings.names and number == 1 and [cell.strip() for cell in cells] == names:
            raise SourceError(
                f"{file}:{line}: holds the names themselves; expected no header beside `names:`; "
                f"remove `names:` from the suite"
            )
        if len(cells) == len(names):
            n_good += 1
            record = dict(zip(names, cells, strict=True))
            yield _Row(record, f"line {line}", number - header.number)
        elif cells:
            misfits.append((line, len(cells)))
            reason = f"the row has {len(cells)} cells, the header {len(names)}"
            report_line(
                f"line {line}",
                None,
                separator.join(cells),
                reason,
                "give the row as many cells as the header has",
            )
    if misfits and not n_good:
        line, count = misfits[0]
        raise SourceError(
            f"{file}:{line}: no row fits the header: it has {len(names)} columns "
            f"({', '.join(map(repr, names))}), this row {count} cells; "
            "expected as many cells as columns; the header or the rows are shifted: correct "
            "the file, or give `names:` in the suite"
        )


def _read_json_lines(
    file: Path, settings: FileSettings, _: Sequence[str], report_line: ReportLine
) -> Iterator[_Row]:
    number, n_records = 0, 0
    try:
        for number, line in enumerate(read_raw_lines(file), 1):
            if not line.strip(b"\x00\t\r\n\xef\xbb\xbf "):
                if b"\0" in line:
                    n_records += 1
                    report_line(f"line {number}", None, "", "the line holds only NUL bytes", _AGAIN)
                continue
            n_records += 1
            try:
                record = _load_line(line, settings.encoding)
            except ValueError as error:
                shown = line[:200].decode("utf-8", "replace")
                report_line(
                    f"line {number}", None, shown, f"the line is not JSON ({error})", _AGAIN
                )
                continue
            if isinstance(record, dict):
                yield _Row(record, f"line {number}", n_records)
            else:
                report_line(
                    f"line {number}",
                    None,
                    str(record)[:200],
                    "the line holds no record ({...})",
                    _AGAIN,
                )
    except DamagedFileError as error:
        report_line(
            f"line {number + 1}",
            None,
            None,
            f"the compressed file breaks off or is damaged here ({error})",
            "fetch the file again",
        )


def _load_line(line: bytes, encoding: str) -> Any:
    """orjson first; the standard library for what only it takes (NaN and Infinity, as Python's own
    json writes them).
    """
    if encoding != "utf-8":
        return json.loads(line.decode(encoding))
    try:
        return orjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        if b"NaN" not in line and b"Infinity" not in line:
            raise
        try:
            return json.loads(line)
        except ValueError:
            raise error from None


def _read_json(
    file: Path, settings: FileSettings, _: Sequence[str], report_line: ReportLine
) -> Iterator[_Row]:
    data = read_whole(file)
    try:
        content = _load_line(data, settings.encoding)
    except ValueError as error:
        line, column = getattr(error, "lineno", 0), getattr(error, "colno", 0)
        raise SourceError(
            f"{file}:{line}:{column}: is not valid JSON ({getattr(error, 'msg', error)}); "
            f"expected a whole JSON document "
            f"in {settings.encoding}; fetch it again, or write `format: jsonl` where every "
            f"line is a record"
        ) from None
    del data
    if settings.records:
        content = find_path(settings.records)(content) if isinstance(content, dict) else None
    if isinstance(content, dict):
        content = [
            {"key": key, **value} if isinstance(value, dict) else {"key": key, "value": value}
            for key, value in content.items()
        ]
    if not isinstance(content, list):
        where = f"at {settings.records!r}" if settings.records else "at its top"
        raise SourceError(
            f"{file}: holds no list and no map {where}; expected records; give their path in "
            f"`records:`"
        )
    for number, record in enumerate(content):
        if isinstance(record, dict):
            yield _Row(record, f"record {number}", number + 1)
        else:
            report_line(
                f"record {number}",
                None,
                str(record)[:200],
                "it is no record ({...})",
                "correct the record in the file and ingest again",
            )


def _read_parquet(
    file: Path, settings: FileSettings, wanted: Sequence[str], _: ReportLine
) -> Iterator[_Row]:
    number = 0
    with open_parquet(file) as parquet:
        names = parquet.schema_arrow.names
        roots = {
            path if path in names else root_of(path)
            for path in (*wanted, *settings.explode, *settings.json)
        } & set(names)
        if not settings.explode:
            check_columns(file, "schema", names, wanted)
        try:
            for part in parquet.iter_batches(
                _BATCH, columns=None if settings.explode else sorted(roots)
            ):
                for record in part.to_pylist():
                    yield _Row(record, f"record {number}", number + 1)
                    number += 1
        except OSError as error:
            raise _broken_parquet(file, error) from None


def open_parquet(file: Path) -> pq.ParquetFile:
    """An open Parquet file; raises SourceError where it is none, or damaged."""
    try:
        return pq.ParquetFile(file)
    except (OSError, ValueError) as error:
        raise _broken_parquet(file, error) from None


def _broken_parquet(file: Path, error: Exception) -> SourceError:
    reason = str(error).splitlines()[0]
    return SourceError(
        f"{file}: cannot be read as Parquet ({reason}); expected a whole Parquet file; fetch "
        f"it again"
    )


def _read_blocks(
    file: Path, settings: FileSettings, _: Sequence[str], report_line: ReportLine
) -> Iterator[_Row]:
    separator = settings.separator or ":"
    start, block, n_blocks, is_within = 0, dict[str, str](), 0, False
    for number, text in decode_lines(file, settings.encoding, report_line):
        if text is not None and not text.strip():
            if block:
                yield _Row(block, f"line {start}", n_blocks)
            block, is_within = {}, False
            continue
        n_blocks += not is_within
        is_within = True
        if text is None:
            continue
        start = start if block else number
        name, mark, value = (part.strip() for part in text.partition(separator))
        if not mark or not name or name in block:
            reason = (
                "the key stands twice in its block"
                if mark and name
                else f"the line is not `key {separator} value`"
            )
            report_line(f"line {number}", None, text.strip()[:200], reason, _AGAIN)
        else:
            block[name] = value
    if block:
        yield _Row(block, f"line {start}", n_blocks)


def _parse_cells(
    rows: Iterator[_Row], columns: Names, report_line: ReportLine, seen: SeenPaths
) -> Iterator[_Row]:
    for record, locator, number in rows:
        parsed = dict(record)
        try:
            for column in columns:
                seen.note(column, record, column in record)
                text = record.get(column)
                parsed[column] = orjson.loads(text) if text else None
        except orjson.JSONDecodeError as error:
            report_line(
                locator,
                column,
                str(text)[:200],
                f"the cell is not JSON ({error.msg})",
                "correct the cell, or take it out of `json:`",
            )
            continue
        yield _Row(parsed, locator, number)


def _explode(
    rows: Iterator[_Row], path: str, report_line: ReportLine, seen: SeenPaths
) -> Iterator[_Row]:
    """The elements, numbered over all records; a record that could not be read counts as one."""
    find = find_path(path)
    n_elements, n_records = 0, 0
    for record, locator, number in rows:
        n_elements += number - n_records - 1
        n_records = number
        inner = find(record)
        seen.note(path, record, inner is not ABSENT)
        if isinstance(inner, list | Mapping):
            for element, place in explode_record(record, path, inner):
                n_elements += 1
                yield _Row(element, f"{locator}, {place}", n_elements)
        elif inner is not ABSENT and inner is not None:
            reason = "`explode` names it, and it is neither a list nor a map"
            n_elements += 1
            remedy = "correct the record; where the text is JSON, name its column under `json:`"
            report_line(locator, path, str(inner)[:200], reason, remedy)
