"""Notes on what a suite says to source `table` and may not have meant: nothing is wrong, and only
the data show it. What is refused is `columns`.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from judgelake.tasks.sources.readers.record_paths import ABSENT, Record, find_path
from judgelake.tasks.sources.table.columns import (
    holds_list,
    list_sections,
    list_values,
    section_paths,
)
from judgelake.tasks.sources.table.values import PATTERN, Value, read_text, read_texts

_SEEN = 100
"""The records of a batch that are looked at."""


def note_unread_parts(part: Any) -> list[str]:
    """A line on each named part of the path that nothing reads."""
    read = {*part.wanted(), part.newest}
    names = dict.fromkeys(name for name, _ in PATTERN.findall(str(part.file)))
    return [
        f"{part.file}: nothing reads the part {{{name}}} of the path; write * for it, or use it, "
        f"such as `model: {name}` or `newest: {name}`"
        for name in names
        if name not in read
    ]


class NamedColumns:
    """Which texts that a suite gives as names, such as `judge: gpt-4`, are columns of the file too.

    A section that reads that column is left out: a file with a column for each judge is usual.
    """

    def __init__(self, part: Any) -> None:
        self.keys = {
            value.constant: f"{section}.{field.name}"
            for section, settings in list_sections(part)
            for field in dataclasses.fields(settings)
            if isinstance(value := getattr(settings, field.name), Value)
            and value.is_plain
            and value.constant is not None
            and value.constant not in section_paths(settings)
        }
        self.found: set[str] = set()

    def look_at(self, records: Sequence[Record]) -> None:
        """Note which names are columns or paths of these records."""
        for name in self.keys.keys() - self.found:
            find = find_path(name)
            if any(find(record) is not ABSENT for record in records[:_SEEN]):
                self.found.add(name)

    def list_notes(self) -> Iterator[str]:
        """A line on each name that is a column."""
        for name, key in self.keys.items():
            if name in self.found:
                yield (
                    f"`{key}` is the name {name!r} itself, and the file has a column of that name: "
                    f"write {{from: {name}}} for what the column holds, or {{constant: {name}}}"
                )


class Pieces:
    """Whether the `element` of a split finds a piece in any text."""

    def __init__(self, part: Any, lists: frozenset[str], nulls: tuple[str, ...]) -> None:
        self.values = [
            (key, value) for key, value in list_values(part) if value.element is not None
        ]
        self.lists, self.nulls = lists, nulls
        self.n_texts, self.n_pieces = Counter[str](), Counter[str]()

    def count(self, batch: pl.DataFrame) -> None:
        """Count the texts and the pieces of one batch."""
        for key, value in self.values:
            whole = dataclasses.replace(value, split=None, element=None, values=None)
            pieces = dataclasses.replace(value, values=None)
            self.n_texts[key] += self._count(batch, key, whole)
            self.n_pieces[key] += self._count(batch, key, pieces)

    def _count(self, batch: pl.DataFrame, key: str, value: Value) -> int:
        if holds_list(key):
            n_found = read_texts(value, self.lists, self.nulls).read.list.len().sum()
        else:
            n_found = read_text(value, self.nulls).raw.count()
        return int(batch.select(n_found.cast(pl.Int64)).item() or 0)

    def list_notes(self) -> Iterator[str]:
        """A line on each `element` that no text has."""
        for key, value in self.values:
            if self.n_texts[key] and not self.n_pieces[key]:
                yield (
                    f"`{key}`: `element: {value.element}` finds a piece in none of "
                    f"{self.n_texts[key]:,} texts; 0 is the first, -1 the last"
                )
