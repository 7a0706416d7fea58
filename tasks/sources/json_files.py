"""Reading JSON inputs with errors that name the file and the place. What the records mean is each source's own matter."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from tasks.errors import SourceError
from tasks.sources import json_stream

STREAM_FROM = 64 * 2**20
"""Bytes of a file from which on it is read in batches: parsed whole it would take about ten times its size."""


def read_json(file: Path) -> Any:
    """Parse one JSON file; raises SourceError with line and column where it is absent, truncated or not JSON."""
    try:
        return orjson.loads(file.read_bytes())
    except OSError as error:
        raise SourceError(
            f"{file}: cannot be read ({error.strerror}); expected a JSON file; check the path in the suite"
        ) from None
    except orjson.JSONDecodeError as error:
        raise SourceError(
            f"{file}:{error.lineno}:{error.colno}: is not valid JSON ({error.msg}); expected a whole UTF-8 JSON file; fetch it again"
        ) from None


def read_records(file: Path, *keys: str) -> list[Any]:
    """The list of records in a JSON file: the file's own list, or the list under the first of `keys` it has."""
    return _choose(file, read_json(file), keys)


def read_record_batches(file: Path, *keys: str) -> Iterator[list[Any]]:
    """`read_records` batch by batch, with little memory at any size; what is damaged may be told after some batches."""
    layout = _find_layout(file)
    if layout is None:
        yield read_records(file, *keys)
        return
    chosen = _find(layout.content, keys)
    for number, span in enumerate(layout.lists):
        for batch in json_stream.read_batches(file, span):  # the other lists must be JSON too
            if chosen == [number]:
                yield batch
    _choose(file, layout.content, keys)  # told last: a damaged file is no wrong file


def read_header(file: Path) -> Any:
    """A JSON file's content for what it says beside its records; in a large file the lists' own content is left out."""
    layout = _find_layout(file)
    return read_json(file) if layout is None else layout.content


def _find_layout(file: Path) -> json_stream.Layout | None:
    return json_stream.find_layout(file) if file.is_file() and file.stat().st_size >= STREAM_FROM else None


def _find(content: Any, keys: tuple[str, ...]) -> Any:
    return next((content[key] for key in keys if key in content), None) if isinstance(content, dict) else content


def _choose(file: Path, content: Any, keys: tuple[str, ...]) -> list[Any]:
    found = _find(content, keys)
    if not isinstance(found, list):
        wanted = " or ".join(repr(key) for key in keys)
        raise SourceError(
            f"{file}: holds no list of records; expected a list, or one under {wanted}; check that it is the right file"
        )
    return found
