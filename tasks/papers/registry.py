"""The tables of papers that a lake can be asked for: what stands in their rows and columns, what
the paper printed there, and which query of `sql/papers` finds the same in a lake.

A paper is one YAML file beside its queries. How cells are filled is `tasks.papers.cells`.
"""

import functools
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

import yaml

from judgelake.tasks.errors import QueryError, nearest
from judgelake.tasks.warehouse.views import read_folder


class Line(NamedTuple):
    """A row or a column: the label that the paper prints, the group above or before it (empty:
    none), and the key by which the query names it.
    """

    group: str
    label: str
    key: str


class PaperTable(NamedTuple):
    """One table. `numbers` are the paper's: row key -> a number or None for each column; a query
    gives shares and correlations from -1 to 1, and `factor` times that is what the paper prints.
    """

    paper: str
    number: int
    place: str
    caption: str
    notes: str
    suite: str
    query: str
    stub: str
    columns: tuple[Line, ...]
    rows: tuple[Line, ...]
    numbers: Mapping[str, Sequence[float | None]]
    factor: float
    decimals: int

    @property
    def name(self) -> str:
        """Such as `harmoniceval table 3`."""
        return f"{self.paper} table {self.number}"

    @property
    def text(self) -> str:
        """The SQL of its query."""
        return read_folder("papers")[self.query]


class Paper(NamedTuple):
    """A paper: the name that the command takes, its title, and its tables by number."""

    name: str
    title: str
    tables: Mapping[int, PaperTable]


@functools.cache
def list_papers() -> Mapping[str, Paper]:
    """The papers by name."""
    files = [
        file
        for file in resources.files("judgelake.sql").joinpath("papers").iterdir()
        if file.name.endswith(".yaml")
    ]
    papers = [
        _read_paper(file.name.removesuffix(".yaml"), yaml.safe_load(file.read_text("utf-8")))
        for file in sorted(files, key=lambda file: file.name)
    ]
    return {paper.name: paper for paper in papers}


def find_paper(name: str) -> Paper:
    """The paper called `name`; raises QueryError that names the nearest."""
    papers = list_papers()
    if name not in papers:
        raise QueryError(f"paper: there is no paper {name!r}; {nearest(name, papers)}")
    return papers[name]


def find_table(paper: Paper, number: int) -> PaperTable:
    """A table of the paper; raises QueryError that lists what there is."""
    if number not in paper.tables:
        there = ", ".join(map(str, paper.tables))
        raise QueryError(
            f"paper: {paper.name} has no table {number} here; expected one of {there}; see "
            f"judgelake paper --list"
        )
    return paper.tables[number]


def _read_paper(name: str, text: Mapping[str, Any]) -> Paper:
    tables = {
        number: PaperTable(
            paper=name,
            number=number,
            place=given["place"],
            caption=given["caption"],
            notes=given.get("notes", ""),
            suite=given["suite"],
            query=given["query"],
            stub=given["stub"],
            columns=_read_lines(given["columns"]),
            rows=_read_lines(given["rows"]),
            numbers=given["paper"],
            factor=given.get("factor", 100),
            decimals=given.get("decimals", 1),
        )
        for number, given in text["tables"].items()
    }
    return Paper(name, text["title"], tables)


def _read_lines(given: Mapping[str, str | Mapping[str, str]]) -> tuple[Line, ...]:
    """Label -> key, or group -> (label -> key), as rows or columns."""
    return tuple(
        Line(group, label, key)
        for name, inner in given.items()
        for group, labels in [("", {name: inner}) if isinstance(inner, str) else (name, inner)]
        for label, key in labels.items()
    )
