"""Reading JSON inputs with errors that name the file and the place. What the records mean is each
source's own matter.

One scan over quotes, brackets and commas finds the lists and places to cut them between two
records; orjson parses what lies between the cuts, and the document without its lists' records, so
what is not JSON is reported. The functions at the end choose the list that holds the records.
"""

import bisect
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from judgelake.tasks.errors import SourceError

BLOCK = 8 * 2**20
"""Bytes scanned at a time; records are parsed in batches of about as many, which take about ten
times that as Python objects.
"""
LONGEST = 64 * 2**20
"""A document may have this many bytes outside its lists; one with more is not streamed.
"""
_QUOTE, _SQUARE, _BRACE, _CLOSE, _COMMA = range(1, 6)
_KINDS = bytes(
    {34: _QUOTE, 91: _SQUARE, 123: _BRACE, 93: _CLOSE, 125: _CLOSE, 44: _COMMA}.get(code, 0)
    for code in range(256)
)
_STEPS = np.array([0, 0, 1, 1, -1, 0], dtype=np.int8)


class ListSpan(NamedTuple):
    """Offsets of a list's brackets (the file's size where it is not closed) and of commas between
    its records, about one a block.
    """

    start: int
    cuts: tuple[int, ...]
    end: int


class Layout(NamedTuple):
    """A document whose lists are `lists`; in `content` list n is `[n]`."""

    content: Any
    lists: tuple[ListSpan, ...]


class _Tokens(NamedTuple):
    """Brackets and commas outside texts: offsets in the file, kinds, and how deep the document is
    after each.
    """

    places: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    depths: NDArray[np.int32]


def find_layout(file: Path) -> Layout | None:
    """Where the lists of a document lie that is a list, or a map with lists; None where too much of
    it lies outside of them.
    """
    lists = tuple(_find_lists(file))
    size = file.stat().st_size
    if not lists or size - sum(span.end - span.start - 1 for span in lists) > LONGEST:
        return None
    data, shifts = _read_rest(file, lists, size)
    try:
        return Layout(orjson.loads(data), lists)
    except orjson.JSONDecodeError as error:
        place = _byte_of(error, data)
        begin, shift = shifts[bisect.bisect_right(shifts, (place, size)) - 1]
        damage = min(begin + shift + (place - begin), size)
        for span in lists:
            if (
                span.start < damage
            ):  # what breaks within a list breaks all that follows too, so it is the one to report
                for _ in read_batches(file, span):
                    pass
        raise _damage(file, damage, error.msg) from None


def read_batches(file: Path, span: ListSpan) -> Iterator[list[Any]]:
    """The records of one list, about a block's worth at a time; raises SourceError with line and
    column of what is not JSON.
    """
    with file.open("rb") as stream:
        for begin, stop in pairwise((span.start, *span.cuts, span.end)):
            stream.seek(begin + 1)
            if stop - begin > LONGEST:
                _check_start(file, begin, stream.read(LONGEST))
                stream.seek(begin + 1)
            data = b"[" + stream.read(stop - begin - 1) + b"]"
            try:
                batch = orjson.loads(data)
            except orjson.JSONDecodeError as error:
                raise _damage(file, min(begin + _byte_of(error, data), stop), error.msg) from None
            if not batch and span.cuts:
                raise _damage(file, stop, "unexpected end of list after a comma")
            yield batch


def _check_start(file: Path, begin: int, start: bytes) -> None:
    """Raises SourceError where a very long stretch without a cut is damaged early on, which spares
    reading all of it.
    """
    data = b"[" + start[: start.rfind(b'"')]
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as error:
        place = _byte_of(error, data)
        if place < len(data) - BLOCK:
            raise _damage(file, begin + place, error.msg) from None


def _read_rest(
    file: Path, lists: tuple[ListSpan, ...], size: int
) -> tuple[bytes, list[tuple[int, int]]]:
    """The document with list n as `[n]`, and (offset in it, what to add for the offset in the file)
    of each of its pieces.
    """
    pieces: list[bytes] = []
    shifts: list[tuple[int, int]] = []
    length = 0
    starts = [0, *(span.end for span in lists)]
    stops = [*(span.start + 1 for span in lists), size]
    with file.open("rb") as stream:
        for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            stream.seek(start)
            shifts.append((length, start - length))
            pieces.append(
                stream.read(stop - start) + (b"%d" % number if number < len(lists) else b"")
            )
            length += len(pieces[-1])
    return b"".join(pieces), shifts


def _find_lists(file: Path) -> Iterator[ListSpan]:
    """The document's own list, else the lists under the keys of its map."""
    base, start, cuts = -1, -1, list[int]()
    for places, kinds, depths in _read_tokens(file):
        if base < 0 and len(kinds):
            base = 0 if kinds[0] == _SQUARE else 1
        within = depths == base + 1
        commas = places[(kinds == _COMMA) & within]
        opens, closes = (kinds == _SQUARE) & within, (kinds == _CLOSE) & (depths == base)
        for index in np.flatnonzero(opens | closes):
            if opens[index]:
                start, cuts = int(places[index]), []
            elif start >= 0:
                yield ListSpan(start, tuple(cuts), int(places[index]))
                start = -1
        if start >= 0 and len(commas) and commas[-1] > start:
            cuts.append(int(commas[-1]))
    if start >= 0:
        yield ListSpan(start, tuple(cuts), file.stat().st_size)


def _read_tokens(file: Path) -> Iterator[_Tokens]:
    in_text, escaped, depth, offset = 0, False, 0, 0
    with file.open("rb") as stream:
        while block := stream.read(BLOCK):
            plain = _blank_escapes(b"_" + block[1:] if escaped else block)
            escaped = plain.endswith(b"\\")
            marks = np.frombuffer(plain.translate(_KINDS), np.uint8)
            places = np.flatnonzero(marks)
            kinds = marks[places]
            inside = (
                np.cumsum(kinds == _QUOTE, dtype=np.uint8) + np.uint8(in_text)
            ) & 1  # overflow leaves the parity
            keep = (inside == 0) & (kinds != _QUOTE)
            in_text = int(inside[-1]) if len(inside) else in_text
            kinds = kinds[keep]
            depths = np.cumsum(_STEPS[kinds], dtype=np.int32) + np.int32(depth)
            depth = int(depths[-1]) if len(depths) else depth
            yield _Tokens(places[keep] + offset, kinds, depths)
            offset += len(block)


def _blank_escapes(block: bytes) -> bytes:
    """As long as before, without escaped quotes; what ends with a backslash escapes the first byte
    of the next block.
    """
    return block.replace(rb"\\", b"__").replace(rb"\"", b"__") if b"\\" in block else block


def _byte_of(error: orjson.JSONDecodeError, data: bytes) -> int:
    """The place in `data` where orjson failed; it counts characters, and none where the bytes
    are not UTF-8.
    """
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as fault:
        return fault.start
    return len(error.doc[: error.pos].encode("utf-8"))


def _damage(file: Path, place: int, reason: str) -> SourceError:
    """An error that names the line and, in characters, the column of a byte."""
    line, column = 1, 1
    with file.open("rb") as stream:
        while block := stream.read(min(BLOCK, place - stream.tell())):
            lines = block.count(b"\n")
            line, column = line + lines, 1 if lines else column
            tail = np.frombuffer(block[block.rfind(b"\n") + 1 :], np.uint8)
            column += int(
                np.count_nonzero((tail & 0xC0) != 0x80)
            )  # the bytes that begin a character
    return SourceError(
        f"{file}:{line}:{column}: is not valid JSON ({reason}); expected a whole UTF-8 JSON "
        f"file; fetch it again"
    )


STREAM_FROM = 64 * 2**20
"""Bytes of a file from which on it is read in batches: parsed whole it would take about ten times
its size.
"""


def read_json(file: Path) -> Any:
    """Parse one JSON file; raises SourceError with line and column where it is absent, truncated or
    not JSON.
    """
    try:
        return orjson.loads(file.read_bytes())
    except OSError as error:
        raise SourceError(
            f"{file}: cannot be read ({error.strerror}); expected a JSON file; check the path "
            f"in the suite"
        ) from None
    except orjson.JSONDecodeError as error:
        raise SourceError(
            f"{file}:{error.lineno}:{error.colno}: is not valid JSON ({error.msg}); expected a "
            f"whole UTF-8 JSON file; fetch it again"
        ) from None


def read_records(file: Path, *keys: str) -> list[Any]:
    """The list of records in a JSON file: the file's own list, or the list under the first of
    `keys` it has.
    """
    return _choose(file, read_json(file), keys)


def read_record_batches(file: Path, *keys: str) -> Iterator[list[Any]]:
    """`read_records` batch by batch, with little memory at any size; damage may be reported
    only after some batches.
    """
    layout = _find_layout(file)
    if layout is None:
        yield read_records(file, *keys)
        return
    chosen = _find(layout.content, keys)
    for number, span in enumerate(layout.lists):
        for batch in read_batches(file, span):  # the other lists must be JSON too
            if chosen == [number]:
                yield batch
    _choose(file, layout.content, keys)  # checked last: a damaged file is not the wrong file


def read_header(file: Path) -> Any:
    """A JSON file's content for what it says beside its records; in a large file the lists' own
    content is left out.
    """
    layout = _find_layout(file)
    return read_json(file) if layout is None else layout.content


def _find_layout(file: Path) -> Layout | None:
    return find_layout(file) if file.is_file() and file.stat().st_size >= STREAM_FROM else None


def _find(content: Any, keys: tuple[str, ...]) -> Any:
    return (
        next((content[key] for key in keys if key in content), None)
        if isinstance(content, dict)
        else content
    )


def _choose(file: Path, content: Any, keys: tuple[str, ...]) -> list[Any]:
    records = _find(content, keys)
    if not isinstance(records, list):
        wanted = " or ".join(repr(key) for key in keys)
        raise SourceError(
            f"{file}: holds no list of records; expected a list, or one under {wanted}; check "
            f"that it is the right file"
        )
    return records
