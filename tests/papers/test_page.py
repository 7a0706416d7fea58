"""The page of all tables and figures: every one is on it, in the paper's rows and columns, and what
data bring is text.
"""

import functools
import html
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from judgelake.flows.cli import make_parser
from judgelake.flows.paper_command import run_paper
from judgelake.tasks.errors import QueryError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.papers.cells import Cell, FilledTable, Found, ListedCases, fill_table
from judgelake.tasks.papers.page import Shown, render_page
from judgelake.tasks.papers.registry import PaperTable, list_papers
from tests.papers.every_suite import plant_every_suite, write_whole_page

PAPERS = list_papers()
EVERY = [table for paper in PAPERS.values() for table in paper.contents]
WANTED = {
    "lave": ([1, 2, 3, 4], [4]),
    "prometheus-vision": ([1, 2, 3, 4, 5, 6, 7], [2, 5, 10, 11, 12]),
    "chirp": ([1, 2, *range(5, 18)], [*range(2, 15), 18, 22, 23, 24]),
    "harmoniceval": ([2, 3, 4, 5, 6, 7, 8], [4, 5]),
}
"""Tables and figures of each paper that come from data."""
HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">&amp;\u202eevil'
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
VOID = frozenset(("meta", "br", "hr", "img", "link", "input"))


class Reader(HTMLParser):
    """Elements, the texts of each table's rows, the ids, and tags that were not closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.articles: dict[str, list[list[list[str]]]] = {}
        self._open: list[str] = []
        self._tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "article":
            self._tables = self.articles.setdefault(str(given["id"]), [])
        elif tag == "table":
            self._tables.append([])
        elif tag == "tr":
            self._tables[-1].append([])
        elif tag in ("td", "th"):
            self._tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [str(value) for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self._open or "th" in self._open:
            is_small = self._open[-1] == "small"
            self._tables[-1][-1][-1] += f" {data}" if is_small else data


def fill_all(value: float) -> list[Shown]:
    """Every entry with this value in each cell; the lists with a hostile row."""
    return [
        ListedCases(table, ["case", "texts"], [(HOSTILE, [HOSTILE, "plain"])])
        if table.is_list
        else fill_table(
            table,
            [
                Found(row.key, column.key, value, 3, None)
                for row in table.rows
                for column in table.columns
            ],
        )
        for table in EVERY
    ]


@functools.cache
def draw_all() -> tuple[str, Reader]:
    """The page of `fill_all`, and what a browser reads of it."""
    text = render_page(fill_all(0.5), NOON)
    return text, Reader(text)


def identify(table: PaperTable) -> str:
    return f"{table.paper}-{table.kind}-{table.number}"


def test_the_papers_hold_what_comes_from_data() -> None:
    held = {name: ([*paper.tables], [*paper.figures]) for name, paper in PAPERS.items()}
    assert held == WANTED
    assert sum(len(tables) + len(figures) for tables, figures in WANTED.values()) == 58


def show_numbers(cells: tuple[Cell, ...], table: PaperTable) -> list[str]:
    """Value and difference as the page writes them, by rules of its own."""
    said = []
    for cell in cells:
        assert cell.here is not None
        text = f"{round(cell.here, table.decimals):.{table.decimals}f}"
        if cell.paper is not None:
            gap = round(cell.here - cell.paper, table.decimals)
            sign = "" if gap == 0 else "+" if gap > 0 else "−"
            text += f" {sign}{abs(gap):.{table.decimals}f}"
        said.append(text)
    return said


def test_every_table_stands_beside_the_papers() -> None:
    shown = fill_all(0.5)
    _, reader = draw_all()
    assert [*reader.articles] == [identify(table) for table in EVERY]
    for one in shown:
        tables = reader.articles[identify(one.table)]
        if isinstance(one, FilledTable) and one.table.kind == "table":
            here, paper = ([row for row in drawn if len(row) > 1] for drawn in tables)
            columns = [column.label for column in one.table.columns]
            n_heads = 2 if any(column.group for column in one.table.columns) else 1
            assert here[:n_heads] == paper[:n_heads]
            assert here[n_heads - 1] == [one.table.stub, *columns]
            labels = [row.label for row in one.table.rows]
            assert [row[0] for row in here[n_heads:]] == labels
            for row, cells in zip(here[n_heads:], one.cells, strict=True):
                assert row[1:] == show_numbers(cells, one.table)
            printed = [[f"{number:.{one.table.decimals}f}" if number is not None else "–" for number in one.table.numbers[row.key]] for row in one.table.rows]  # fmt: skip
            assert [row[1:] for row in paper[n_heads:]] == printed


def test_hostile_text_stays_text() -> None:
    text, reader = draw_all()
    assert "script" not in reader.tags
    assert "img" not in reader.tags
    assert not re.search(r"<[^>]*\son\w+=", text)
    shown = html.escape(HOSTILE).replace("&quot;", "&#34;").replace("\u202e", r"\u202e")
    assert f"<bdi>{shown}</bdi>" in text
    lists = [one for one in EVERY if one.is_list]
    assert text.count("alert(1)") == 2 * len(lists)


def test_ids_are_unique_and_nothing_is_loaded() -> None:
    text, reader = draw_all()
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.tags.count("svg") >= sum(
        table.kind == "figure" and not table.is_list for table in EVERY
    )
    assert "default-src 'none'" in text
    assert not re.search(r"(?:src|href)=\"(?!#)", text)
    targets = set(re.findall(r'href="#([^"]+)"', text))
    assert targets <= set(reader.ids)


def test_an_empty_lake_shows_layouts_and_suites(tmp_path: Path) -> None:
    open_lake(tmp_path / "lake", create=True)
    out = tmp_path / "pages" / "papers.html"
    words = ["paper", "--all", "--format", "html", "--output", str(out), "--lake"]
    assert run_paper(make_parser().parse_args([*words, str(tmp_path / "lake")])) == 0
    text = out.read_text()
    assert text.count("This lake has nothing of it.") == len(EVERY)
    reader = Reader(text)
    assert "svg" not in reader.tags
    for table in EVERY:
        (drawn,) = reader.articles[identify(table)]
        if not table.is_list:
            rows = [row[0] for row in drawn if len(row) > 1][-len(table.rows) :]
            assert rows == [row.label for row in table.rows]
    for suite in {name for one in EVERY for name in one.suite.replace(" and ", ", ").split(", ")}:
        assert f"judgelake run {suite}</code>" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lave", "--all"), "paper: --all and 'lave'; expected all papers"),
        (("--all", "--format", "svg"), "paper: --all and --format svg; expected all papers"),
    ],
)
def test_what_does_not_go_together(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        run_paper(make_parser().parse_args(["paper", *words]))


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    open_lake(tmp_path / "lake", create=True)
    (tmp_path / "file").write_text("")
    words = ["paper", "lave", "--table", "4", "--lake", str(tmp_path / "lake"), "--output"]
    with pytest.raises(QueryError, match="cannot be written"):
        run_paper(make_parser().parse_args([*words, str(tmp_path / "file" / "x")]))


@pytest.mark.full
def test_every_table_and_figure_from_planted_data(tmp_path: Path) -> None:
    """Figure 24 alone has empty cells: pairs of models that the survey did not compare."""
    text = write_whole_page(plant_every_suite(tmp_path))
    reader = Reader(text)
    assert [*reader.articles] == [identify(table) for table in EVERY]
    assert "This lake has nothing of it." not in text
    assert 'class="chip none" href' not in text
    part = re.findall(r'class="chip part" href="#([^"]+)"', text)
    assert set(part) <= {"chirp-figure-24", *(f"prometheus-vision-figure-{n}" for n in (10, 11))}
    assert len(reader.ids) == len(set(reader.ids))
