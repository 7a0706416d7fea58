"""Benchmarks beside one that has a row in every table that is read, for tests of many views: lakes
with rows in the same tables share a warehouse, and opening one takes longer than most of those
tests.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgelake.tasks.lake.lake import Lake
from tests.lakes import Row, answer, append_records, at, digest_of, ingest, item, query, rating


@dataclass(frozen=True)
class Bench:
    """A benchmark of a lake."""

    lake: Lake
    name: str

    @classmethod
    def beside(cls, first: Lake, folder: Path) -> "Bench":
        """One in a copy of a lake: the fewer files a lake has, the sooner a view is read."""
        return cls(Lake(shutil.copytree(str(first.root), folder / "lake")), "own")

    def ingest(
        self,
        items: Sequence[Row],
        answers: Sequence[Row] = (),
        ratings: Sequence[Row] = (),
        **others: Any,
    ) -> None:
        ingest(self.lake, items, answers, ratings, benchmark=self.name, **others)

    def register(self, *judges: Row, minute: float = 1) -> None:
        """Make these the judges and metrics of the benchmark, in a suite of its own."""
        own = {"benchmarks": [self.name], "suite": self.name, "registered_at": at(minute)}
        append_records(self.lake, "judges", [row | own for row in judges])

    def put(self, table: str, *rows: Row) -> None:
        append_records(self.lake, table, [row | {"benchmark": self.name} for row in rows])

    def rows(self, columns: str, view: str) -> list[tuple[Any, ...]]:
        text = f"select {columns} from {view} where benchmark = '{self.name}'"
        return [tuple(row.values()) for row in query(self.lake, text)]

    def answer_items(
        self, names: Sequence[str], texts: Sequence[str] = ("m1 says",), **more: Any
    ) -> dict[tuple[str, str], str]:
        """Items `<cluster>.<number>`, each with an answer of m1, m2, ... a text; returns the
        answers' digests.
        """
        items = {name: item(name, f"Q {name}", cluster=name.partition(".")[0]) for name in names}
        given = {
            (name, f"m{number}"): text for name in names for number, text in enumerate(texts, 1)
        }
        self.ingest(
            list(items.values()),
            [answer(name, text, model) for (name, model), text in given.items()],
            **more,
        )
        return {
            (name, model): digest_of(items[name], text) for (name, model), text in given.items()
        }


def rate(item_id: str, *ratings: float, model: str = "m1") -> list[Row]:
    """Ratings by p0, p1, ..."""
    return [rating(item_id, value, f"p{number}", model) for number, value in enumerate(ratings)]
