"""Reading files of lines (text, tab-separated, JSON lines) row by row: bad lines go to `Rejects`,
the others are read. What rows mean is each source's own matter.
"""

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import orjson
import pyarrow as pa

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.frames import Rejected

_REMEDY = "correct the line in the file and ingest again"


class Rejects(list[Rejected]):
    """Rows that cannot become a row of a table, with the reasons; `remedy` is that of a row added
    without one.
    """

    def __init__(self, remedy: str = _REMEDY) -> None:
        super().__init__()
        self._remedy = remedy

    def add(
        self,
        table: str,
        place: tuple[str, str],
        column: str | None,
        value: object,
        reason: str,
        remedy: str | None = None,
    ) -> None:
        """Add one row; `place` is (file name, locator)."""
        shown = None if value is None else str(value)[:200]
        self.append(Rejected(table, *place, column, shown, reason, remedy or self._remedy))


class TextLine(NamedTuple):
    """One line without its end, and its number from 1."""

    number: int
    text: str


class TabRow(NamedTuple):
    """One row of a tab-separated file; `position` counts the rows from 1, those that cannot be read
    too; `cells` None for those.
    """

    position: int
    place: tuple[str, str]
    cells: dict[str, str] | None


class JsonLine(NamedTuple):
    """One JSON object and where it stands."""

    place: tuple[str, str]
    content: dict[str, Any]


def expect_files(files: Iterable[Path | None], what: str) -> list[Path]:
    """Those of `files` that are named; raises SourceError where one does not exist."""
    named = [file for file in files if file is not None]
    for file in named:
        if not file.is_file():
            raise SourceError(
                f"{file}: there is no such file; expected {what}; check the path in the suite"
            )
    return named


def find_files(patterns: Iterable[Path], what: str) -> list[Path]:
    """The files that paths with `*` in the file name stand for, in the patterns' order; raises
    SourceError where one finds none.
    """
    all_files: dict[Path, None] = {}
    for pattern in patterns:
        files = [file for file in sorted(pattern.parent.glob(pattern.name)) if file.is_file()]
        if not files:
            raise SourceError(
                f"{pattern}: no file matches; expected {what}; check the path in the suite"
            )
        all_files |= dict.fromkeys(files)
    return list(all_files)


def read_lines(file: Path, table: str, rejects: Rejects) -> Iterator[TextLine]:
    """The lines of a UTF-8 text file; one that is not UTF-8 goes to `rejects`. Raises
    SourceError where the file cannot be read.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SourceError(
            f"{file}: cannot be read ({error.strerror}); expected a text file; check the path "
            f"in the suite"
        ) from None
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], 1):
        try:
            yield TextLine(number, line.removesuffix(b"\r").decode("utf-8"))
        except UnicodeDecodeError as error:
            reason = (
                f"the line is not UTF-8 text ({error.reason} at byte {error.start + 1} of the line)"
            )
            shown = line[:60].decode("utf-8", "backslashreplace")
            rejects.add(
                table,
                (file.name, f"line {number}"),
                None,
                shown,
                reason,
                "save the file as UTF-8 and ingest again",
            )


def read_json_lines(file: Path, table: str, rejects: Rejects) -> Iterator[JsonLine]:
    """The JSON objects of a JSONL file; a line that is not one goes to `rejects`, blank lines
    are skipped.
    """
    for line in read_lines(file, table, rejects):
        if not line.text.strip():
            continue
        place = (file.name, f"line {line.number}")
        try:
            content = orjson.loads(line.text)
        except orjson.JSONDecodeError as error:
            rejects.add(
                table,
                place,
                None,
                line.text,
                f"the line is not JSON ({error.msg} at column {error.colno})",
            )
            continue
        if isinstance(content, dict):
            yield JsonLine(place, content)
        else:
            rejects.add(table, place, None, line.text, "the line is JSON, but no object with keys")


def read_tab_rows(
    file: Path, needed: tuple[str, ...], table: str, rejects: Rejects
) -> list[TabRow]:
    """The rows of a tab-separated file with a header; a row whose cells do not fit the header
    goes to `rejects` and has no cells.

    Raises SourceError where the header lacks one of `needed`, or where no row fits it (a shifted
    header).
    """
    parser = csv.reader((line.text for line in read_lines(file, table, rejects)), delimiter="\t")
    header = next(parser, [])
    missing = [name for name in needed if name not in header]
    if missing:
        raise SourceError(
            f"{file}:1: the header lacks {', '.join(missing)}; it has "
            f"{', '.join(header) or 'no columns'}; "
            f"expected {', '.join(needed)}; check that it is the right file"
        )
    rows: list[TabRow] = []
    problem = ""
    for position, cells in enumerate(parser, 1):
        place = (file.name, f"line {parser.line_num}")
        fits = len(cells) == len(header)
        rows.append(
            TabRow(position, place, dict(zip(header, cells, strict=True)) if fits else None)
        )
        if not fits:
            reason = (
                f"the row has {len(cells)} cells, the header {len(header)} columns "
                f"({', '.join(header)})"
            )
            problem = problem or f"{file}:{parser.line_num}: {reason}"
            rejects.add(table, place, None, "\t".join(cells), reason)
    if problem and all(row.cells is None for row in rows):
        raise SourceError(
            f"{problem}, and so it is in every row; expected one cell a column; correct the "
            f"header or the rows"
        )
    return rows


# bytes read at a time
_BLOCK = 1 << 20
_BREAKS = (EOFError, zlib.error, OSError, pa.ArrowException)


class DamagedFileError(Exception):
    """A compressed file breaks off: what came before it was good."""


def plain_suffix(file: Path) -> str:
    """The suffix under a compression's, lower case: `.jsonl` of `a.jsonl.gz`."""
    suffixes = [part.lower() for part in file.suffixes]
    return next(
        (part for part in reversed(suffixes) if part not in (".gz", ".gzip", ".zst", ".zstd")), ""
    )


def read_blocks(file: Path) -> Iterator[bytes]:
    """The (decompressed) bytes in blocks; raises DamagedFileError where a compressed stream breaks
    off.
    """
    with _open(file) as stream:
        while True:
            try:
                block = stream.read(_BLOCK)
            except _BREAKS as error:
                raise DamagedFileError(str(error)) from None
            if not block:
                return
            yield bytes(block)


def read_raw_lines(file: Path) -> Iterator[bytes]:
    """Lines without their line feed; the rest after the last one too. Raises DamagedFileError after
    the last whole line.
    """
    rest: list[bytes] = []
    for block in read_blocks(file):
        first, *lines = block.split(b"\n")
        rest.append(first)
        if lines:
            yield b"".join(rest)
            rest = [lines.pop()]
            yield from lines
    if last := b"".join(rest):
        yield last


def read_whole(file: Path) -> bytes:
    """All bytes; raises SourceError where the compressed file is damaged, for half a document is
    none.
    """
    try:
        return b"".join(read_blocks(file))
    except DamagedFileError as error:
        raise SourceError(
            f"{file}: the compressed file breaks off or is damaged ({error}); expected a whole "
            f"document; fetch it again"
        ) from None


def _open(file: Path) -> BinaryIO:
    suffix = file.suffix.lower()
    try:
        if suffix in (".gz", ".gzip"):
            return cast("BinaryIO", gzip.open(file, "rb"))
        if suffix in (".zst", ".zstd"):
            return cast("BinaryIO", pa.input_stream(str(file), compression="zstd"))
        return file.open("rb")
    except OSError as error:
        raise SourceError(
            f"{file}: cannot be read ({error.strerror or error}); expected a data file; check "
            f"the path"
        ) from None
