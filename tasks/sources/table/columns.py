"""Which columns a part of source `table` reads, and which settings would be ignored. What the
sections are is `settings`.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from judgelake.tasks.sources.readers.record_paths import Kind
from judgelake.tasks.sources.table.values import PATTERN, Value, need

_LISTS: Mapping[str, Kind] = {
    "references": "texts",
    "levels": "texts",
    "labels": "texts",
    "answers": "texts",
    "images": "elements",
    "regions": "elements",
}

_COLUMN_NAMES = ("annotators", "criteria", "scores", "columns")
"""Settings that list columns by their names alone."""
_WORDS = (
    "annotator",
    "labeller",
    "task",
    "model",
    "style",
    "category",
    "split",
    "cluster",
    "set",
    "answer_a",
    "answer_b",
    "shown_first",
)
"""Values for which a suite may mean the text itself where it writes what is taken for a column."""


class Use(NamedTuple):
    """A column that a key of the suite reads; `is_word` where a text may be meant instead."""

    key: str
    path: str
    kind: Kind
    is_word: bool = False


def refuse_ignored(part: Any) -> None:
    """Raises ValueError for what a value says in vain."""
    for key, value in _values(part):
        root, _, rest = key.partition(".")
        name = rest.rpartition(".")[2] or root
        named = f"{rest}: " if rest else ""
        is_list = name in _LISTS
        need(
            value.element is None or value.split is not None,
            root,
            f"{named}`element` is a piece of a split; expected `split` beside it; add it",
        )
        need(
            is_list or value.split is None or value.element is not None,
            root,
            f"{named}holds one text, and `split` makes a list; expected `element` beside it (0 is "
            f"the first piece); add it",
        )
        need(
            not is_list or (value.element is None and value.values is None),
            root,
            f"{named}holds a list, of which neither `element` nor `values` can be taken; remove "
            f"them",
        )
    for root, values in _value_maps(part):
        for text in [text for text in values.values() if text is not None]:
            need(
                PATTERN.search(text) is None,
                root,
                f"values: {text!r} is a pattern; expected a text, which stands for itself; take "
                f"the pattern as a value of its own (`from:`), or write the text",
            )


def _value_maps(part: Any) -> Iterator[tuple[str, Mapping[str, str | None]]]:
    """(top key, value map) of every value map anywhere in the settings."""
    for key, value in _values(part):
        if value.values:
            yield key.partition(".")[0], value.values
    for section in dataclasses.fields(part):
        inner = getattr(part, section.name)
        for settings in inner if isinstance(inner, tuple) else ():
            values = getattr(settings, "values", None)
            if isinstance(values, Mapping):
                yield section.name, values


def find_kinds(uses: Iterable[Use]) -> dict[str, Kind]:
    """Path -> shape; a column that is read as one text somewhere is so everywhere."""
    kinds: dict[str, Kind] = {}
    for use in uses:
        if use.path not in kinds or use.kind == "text":
            kinds[use.path] = use.kind
    return kinds


def list_uses(part: Any) -> Iterator[Use]:
    """Every column that is read."""
    yield from list_mapped(part)
    yield from (Use(key, column, "text") for key, column in part.shaping_columns)
    for name, joined in part.join.items():
        yield from (Use(f"join.{name}.keys", column, "text") for column in joined.keys)


def list_mapped(part: Any) -> Iterator[Use]:
    """Every column that a value anywhere in the settings reads, or a setting by its name alone."""
    for key, value in _values(part):
        name = key.rpartition(".")[2]
        kind = "text" if value.pattern else _LISTS.get(name, "text")
        is_word = name in _WORDS and len(value.columns) == 1
        yield from (Use(key, path, kind, is_word) for path in value.paths)
    for section in dataclasses.fields(part):
        inner = getattr(part, section.name)
        for settings in inner if isinstance(inner, tuple) else ():
            for name in _COLUMN_NAMES if dataclasses.is_dataclass(settings) else ():
                columns = getattr(settings, name, ())
                yield from (Use(f"{section.name}.{name}", path, "text") for path in columns)


def _values(settings: Any, section: str = "") -> Iterator[tuple[str, Value]]:
    """(keys from the top, value) of every value anywhere in the settings."""
    for part in dataclasses.fields(settings):
        inner, key = getattr(settings, part.name), f"{section}{part.name}"
        if part.name == "parts":
            continue
        if isinstance(inner, Value):
            yield key, inner
        elif isinstance(inner, Mapping):
            yield from (
                (f"{key}.{name}", value)
                for name, value in inner.items()
                if isinstance(value, Value)
            )
        elif isinstance(inner, tuple):
            for value in inner:
                if dataclasses.is_dataclass(value):
                    yield from _values(value, f"{key}.")
