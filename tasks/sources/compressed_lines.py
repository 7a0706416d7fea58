"""Bytes and lines of plain, gzip and zstd files, with what is damaged told. What a line means is `reading_files`."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from tasks.errors import SourceError

_BLOCK = 1 << 20
_BREAKS = (EOFError, zlib.error, OSError, pa.ArrowException)


class DamagedFileError(Exception):
    """A compressed file breaks off: what came before it was good."""


def plain_suffix(file: Path) -> str:
    """The suffix under a compression's, lower case: `.jsonl` of `a.jsonl.gz`."""
    suffixes = [part.lower() for part in file.suffixes]
    return next((part for part in reversed(suffixes) if part not in (".gz", ".gzip", ".zst", ".zstd")), "")


def read_blocks(file: Path) -> Iterator[bytes]:
    """The (decompressed) bytes in blocks; raises DamagedFileError where a compressed stream breaks off."""
    with _open(file) as stream:
        while True:
            try:
                block = stream.read(_BLOCK)
            except _BREAKS as error:
                raise DamagedFileError(str(error)) from None
            if not block:
                return
            yield bytes(block)


def read_lines(file: Path) -> Iterator[bytes]:
    """Lines without their line feed; the rest after the last one too. Raises DamagedFileError after the last whole line."""
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
    """All bytes; raises SourceError where the compressed file is damaged, for half a document is none."""
    try:
        return b"".join(read_blocks(file))
    except DamagedFileError as error:
        raise SourceError(
            f"{file}: the compressed file breaks off or is damaged ({error}); expected a whole document; fetch it again"
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
        raise SourceError(f"{file}: cannot be read ({error.strerror or error}); expected a data file; check the path") from None
