"""From records (nested dicts) to flat columns of text, by paths such as `a.b`, `a[0].b` and
`a[*].b`. Where records come from is `files`, what columns mean is `tasks.sources.table`.

A record that has the whole path as a key is asked by it: MTurk's `Answer.rating` is a column, not a
path.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson
import polars as pl
import pyarrow as pa

Record = Mapping[str, Any]
Kind = Literal["text", "texts", "elements"]
"""`text`: one value; `texts`: a list of values; `elements`: a list whose elements may be nested
(they stay as JSON).
"""
FILE, LOCATOR = "::file", "::locator"
DTYPES: Mapping[Kind, pl.DataType] = {
    "text": pl.String(),
    "texts": pl.List(pl.String),
    "elements": pl.List(pl.String),
}
# One step of a path: `[3]` or `[*]` in a list, `[keys]` of a map, or a key, which begins the path
# or follows a dot.
_STEP = re.compile(r"\[(\d+|\*|keys)\]|(?:^|\.)([^.\[\]]+)")
_KEYS = object()
"""The step `[keys]`; a key of a record may be called so too."""
ABSENT: Any = object()
"""What `find_path` gives where a record lacks the path."""
_ARROW = {
    "text": pa.large_string(),
    "texts": pa.large_list(pa.large_string()),
    "elements": pa.large_list(pa.large_string()),
}


class Misfit(NamedTuple):
    """A cell that is not of the shape its column needs: the record's number in the batch, the path,
    the value, why.
    """

    row: int
    path: str
    value: str
    reason: str


class Flattened(NamedTuple):
    """Columns named by their paths, the misfits, and the paths that at least one record had."""

    columns: dict[str, pl.Series]
    misfits: list[Misfit]
    present: set[str]


def flatten(records: Sequence[Record], wanted: Mapping[str, Kind]) -> Flattened:
    """One column a path; a misfit's cell is null there."""
    columns: dict[str, pl.Series] = {}
    misfits: list[Misfit] = []
    present: set[str] = set()
    for path, kind in wanted.items():
        find = find_path(path)
        cells = [find(record) for record in records]
        if any(cell is not ABSENT for cell in cells):
            present.add(path)
        if ABSENT in cells:
            cells = [None if cell is ABSENT else cell for cell in cells]
        columns[path] = _column(path, kind, cells, misfits)
    return Flattened(columns, misfits, present)


def find_path(path: str) -> Callable[[Record], Any]:
    """A function from a record to what stands at `path`; lists under `[*]` give a list of what was
    there, `[keys]` of a map a list of its keys.
    """
    steps = [
        int(number) if number.isdigit() else _KEYS if number == "keys" else number or name
        for number, name in _STEP.findall(path)
    ]
    if len(steps) < 2:
        return lambda record: record.get(path, ABSENT)
    return lambda record: record[path] if path in record else _walk(record, steps)


def root_of(path: str) -> str:
    """The column that a path begins in."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def explode_record(record: Record, path: str, inner: Any) -> Iterator[tuple[Record, str]]:
    """One record an element of the list or map `inner`, which is at `path`, with the element's
    place; its fields stand over the record's own.

    A map's keys are the column `key`; elements that hold no fields are the column `value`.
    """
    if isinstance(inner, Mapping):
        pairs = [({"key": key}, element, f"{path}[{key}]") for key, element in inner.items()]
    else:
        pairs = [({}, element, f"{path}[{number}]") for number, element in enumerate(inner)]
    for extra, element, place in pairs:
        yield (
            {
                **record,
                **extra,
                **(element if isinstance(element, Mapping) else {"value": element}),
            },
            place,
        )


def _walk(value: Any, steps: Sequence[Any]) -> Any:
    for number, step in enumerate(steps):
        if step is _KEYS:
            if not isinstance(value, Mapping):
                return ABSENT
            value = list(value)
        elif step == "*":
            if not isinstance(value, list):
                return None if value is None else ABSENT
            inner = [_walk(element, steps[number + 1 :]) for element in value]
            present = [element for element in inner if element is not ABSENT]
            gives_list = {"*", _KEYS} & set(steps[number + 1 :])
            return [
                part
                for element in present
                for part in (element if gives_list and isinstance(element, list) else [element])
            ]
        elif isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return ABSENT
            value = value[step]
        elif isinstance(value, Mapping) and step in value:
            value = value[step]
        else:
            return ABSENT
    return value


def _column(path: str, kind: Kind, cells: list[Any], misfits: list[Misfit]) -> pl.Series:
    if kind != "text":
        cells = [cell if type(cell) is list or cell is None else [cell] for cell in cells]
    try:
        return pl.Series(path, pa.array(cells, type=_ARROW[kind]), dtype=DTYPES[kind])
    except (pa.ArrowException, UnicodeEncodeError, TypeError, ValueError):
        tidy = [_tidy(cell, kind, (row, path), misfits) for row, cell in enumerate(cells)]
        return pl.Series(path, tidy, dtype=DTYPES[kind])


def _tidy(cell: Any, kind: Kind, place: tuple[int, str], misfits: list[Misfit]) -> Any:
    try:
        if kind == "text":
            return as_text(cell)
        if kind == "texts":
            return None if cell is None else [as_text(part) for part in cell]
        return (
            None
            if cell is None
            else [part if isinstance(part, str) else _json(part) for part in _boxes(cell)]
        )
    except (TypeError, ValueError) as error:
        misfits.append(
            Misfit(*place, str(cell)[:200].encode("utf-8", "replace").decode(), str(error))
        )
        return None


def _boxes(cell: list[Any]) -> list[Any]:
    """Four numbers are one box, not four elements."""
    is_box = len(cell) == 4 and all(isinstance(part, int | float) for part in cell)
    return [cell] if is_box else [part for part in cell if part is not None]


def as_text(cell: Any) -> str | None:
    """A scalar as the text it is written with in JSON; raises TypeError for what is nested,
    ValueError for broken text.
    """
    if cell is None:
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, list | dict | tuple | bytes):
        raise TypeError(f"a {_WORDS[type(cell)]} stands where one value is expected")
    text = str(cell)
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ValueError("the text holds half a surrogate pair, which is no character")
    return text


_WORDS: Mapping[type, str] = {
    list: "list",
    tuple: "list",
    dict: "nested record",
    bytes: "block of binary",
}


def _json(part: Any) -> str:
    try:
        return orjson.dumps(part).decode()
    except orjson.JSONEncodeError as error:
        raise TypeError(f"the element cannot be written as JSON ({error})") from None
