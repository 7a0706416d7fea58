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
    """A table, or a figure as the table of what it draws. `numbers` are the paper's: row key -> a
    number or None for each column (a figure prints none); a query gives shares and correlations
    from -1 to 1, and `factor` times that is what the paper prints. Without `rows` it is a list:
    its rows and columns are those of the query. `axis` is what a figure's numbers are, `drawing`
    how it is drawn (`tasks.papers.drawings`), `x` where the rows of a curve stand.
    """

    paper: str
    kind: str
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
    axis: str
    drawing: str
    x: Mapping[str, float]

    @property
    def name(self) -> str:
        """Such as `harmoniceval table 3`."""
        return f"{self.paper} {self.kind} {self.number}"

    @property
    def is_list(self) -> bool:
        """Whether its rows are whatever the query finds, examples say."""
        return not self.rows

    @property
    def text(self) -> str:
        """The SQL of its query."""
        return read_folder("papers")[self.query]


class Paper(NamedTuple):
    """A paper: the name that the command takes, its title, its tables and figures by number."""

    name: str
    title: str
    tables: Mapping[int, PaperTable]
    figures: Mapping[int, PaperTable]

    @property
    def contents(self) -> tuple[PaperTable, ...]:
        """All tables, then all figures."""
        return (*self.tables.values(), *self.figures.values())


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


def find_table(paper: Paper, kind: str, number: int) -> PaperTable:
    """A table or figure (`kind`) of the paper; raises QueryError that lists what there is."""
    numbered = paper.figures if kind == "figure" else paper.tables
    if number not in numbered:
        there = f"one of {', '.join(map(str, numbered))}" if numbered else f"no {kind} of it"
        raise QueryError(
            f"paper: {paper.name} has no {kind} {number} here; expected {there}; see "
            f"judgelake paper --list"
        )
    return numbered[number]


def _read_paper(name: str, text: Mapping[str, Any]) -> Paper:
    tables, figures = (
        {
            number: _read_table(name, kind, number, given)
            for number, given in text.get(f"{kind}s", {}).items()
        }
        for kind in ("table", "figure")
    )
    return Paper(name, text["title"], tables, figures)


def _read_table(paper: str, kind: str, number: int, given: Mapping[str, Any]) -> PaperTable:
    return PaperTable(
        paper=paper,
        kind=kind,
        number=number,
        place=given["place"],
        caption=given["caption"],
        notes=given.get("notes", ""),
        suite=given["suite"],
        query=given["query"],
        stub=given.get("stub", ""),
        columns=_read_lines(given.get("columns", {})),
        rows=_read_lines(given.get("rows", {})),
        numbers=given.get("paper", {}),
        factor=given.get("factor", 100),
        decimals=given.get("decimals", 1),
        axis=given.get("axis", ""),
        drawing=given.get("drawing", "dots"),
        x=given.get("x", {}),
    )


def _read_lines(given: Mapping[str, str | Mapping[str, str]]) -> tuple[Line, ...]:
    """Label -> key, or group -> (label -> key), as rows or columns."""
    return tuple(
        Line(group, label, key)
        for name, inner in given.items()
        for group, labels in [("", {name: inner}) if isinstance(inner, str) else (name, inner)]
        for label, key in labels.items()
    )
