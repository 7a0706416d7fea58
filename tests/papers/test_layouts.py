"""How a paper's table is shown, and the command around it."""

import csv
import io
import re
from pathlib import Path

import pytest

from judgelake.flows.cli import make_parser
from judgelake.flows.paper_command import run_paper
from judgelake.tasks.errors import QueryError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.papers.cells import FilledTable, Found, fill_table
from judgelake.tasks.papers.layouts import LAYOUTS, write_list, write_text
from judgelake.tasks.papers.registry import PaperTable, list_papers
from judgelake.tasks.suite.examples import list_examples
from judgelake.tasks.warehouse.views import read_folder
from tests.conftest import CHECKOUT

EVERY = [table for paper in list_papers().values() for table in paper.contents]
TABLE_2 = list_papers()["harmoniceval"].tables[2]
HALF = [
    Found("fleur", "mmhe_reg", 0.6, 10, None),
    Found("fleur", "mmhe_vqa", None, 0, "no pairs"),
    Found("harmonic", "mmhe_reg", 0.666, 10, None),
    Found("harmonic", "mmhe_vqa", 0.75, 10, None),
]


@pytest.mark.parametrize("table", EVERY, ids=lambda table: table.name)
def test_every_entry_is_whole(table: PaperTable) -> None:
    keys = [row.key for row in table.rows]
    assert len(set(keys)) == len(keys)
    assert len({column.key for column in table.columns}) == len(table.columns)
    assert table.query in read_folder("papers")
    assert {len(numbers) for numbers in table.numbers.values()} <= {len(table.columns)}
    assert set(table.numbers) == (set(keys) if table.kind == "table" else set())
    suites = table.suite.replace(" and ", ", ").split(", ")
    assert set(suites) <= {example.name for example in list_examples()}


SUITES = sorted(
    {suite for table in EVERY for suite in table.suite.replace(" and ", ", ").split(", ")}
)


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_says_its_data_models_and_price(name: str) -> None:
    text = (CHECKOUT / "infra" / "suites" / f"{name}.yaml").read_text()
    head = text[: text.index("\nname:")]
    assert "# Data:" in head
    assert re.search(r"CC BY|licence|research|MIT", head)
    assert "# Price:" in head
    assert ("# Models:" in head) == bool(re.search(r"^judges:", text, re.MULTILINE))


def test_every_query_is_asked_by_a_table() -> None:
    assert set(read_folder("papers")) == {table.query for table in EVERY}


def test_a_cell_is_empty_with_its_reason() -> None:
    filled = fill_table(TABLE_2, HALF)
    assert (filled.n_filled, filled.n_cells) == (3, 45)
    assert filled.gaps[0].startswith("no scores in the lake: BLEU (bleu_4); ROUGE (rouge_l)")
    assert filled.gaps[1] == (
        "no rated answers in the lake: VDU (mmhe_vdu); IC (mmhe_ic); Avg. (mean)"
    )
    assert filled.gaps[2:] == ("no pairs: FLEUR × VQA",)
    assert fill_table(TABLE_2, []).gaps == ("the lake has nothing of this table",)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("table", [one for one in EVERY if not one.is_list], ids=lambda one: one.name)  # fmt: skip
def test_text_fits_the_terminal(table: PaperTable, width: int) -> None:
    filled = fill_table(table, [])
    text = write_text(filled, width)
    assert max(map(len, text.splitlines())) <= width
    assert all(text.count(row.label) >= 1 for row in table.rows)
    assert all(column.label in text for column in table.columns)


def test_text_shows_here_paper_and_difference() -> None:
    wide, narrow = (write_text(fill_table(TABLE_2, HALF), width) for width in (120, 80))
    (line,) = (line for line in wide.splitlines() if line.startswith("  HarmonicEval"))
    assert line.split()[1:7] == ["66.6", "66.6", "0.0", "75.0", "76.4", "-1.4"]
    rows = narrow.splitlines()
    place = next(n for n, one in enumerate(rows) if one.startswith("  HarmonicEval"))
    assert [one.split()[1:3] for one in rows[place : place + 3]] == [
        ["66.6", "75.0"],
        ["66.6", "76.4"],
        ["0.0", "-1.4"],
    ]


def filled_half() -> FilledTable:
    return fill_table(TABLE_2, HALF)


def test_markdown_latex_and_csv() -> None:
    markdown = LAYOUTS["markdown"](filled_half())
    assert (
        "| Reference-free: HarmonicEval | 66.6 (66.6, 0.0) | 75.0 (76.4, -1.4) | (73.4) |"
        in markdown
    )
    latex = LAYOUTS["latex"](filled_half())
    assert "HarmonicEval & 66.6 & 75.0 &  &  &  \\\\" in latex
    assert latex.count("{") == latex.count("}")
    assert "in \\% of pairs" in latex
    rows = list(csv.DictReader(io.StringIO(LAYOUTS["csv"](filled_half()))))
    assert len(rows) == 45
    assert [row["here"] for row in rows if row["row"] == "FLEUR"] == ["60.0", "", "", "", ""]


def test_lists_quote_what_data_bring() -> None:
    table = list_papers()["lave"].tables[4]
    rows = [("=1+1", ["a", "b|c"], None)]
    assert "'=1+1" in write_list(table, ["x", "y", "z"], rows, "csv")
    assert "b\\|c" in write_list(table, ["x", "y", "z"], rows, "markdown")
    assert write_list(table, ["=x", "\x1b[2J", "z"], rows, "csv").startswith("'=x,\\x1b[2J,z\n")
    assert "\\midrule" in write_list(table, ["x_1", "y", "z"], rows, "latex")


@pytest.fixture
def empty(tmp_path: Path) -> str:
    open_lake(tmp_path / "lake", create=True)
    return str(tmp_path / "lake")


def run(*words: str) -> int:
    return run_paper(make_parser().parse_args(["paper", *words]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "paper: no paper is named; expected one of chirp, harmoniceval, lave"),
        (("lav",), "paper: there is no paper 'lav'; did you mean 'lave'?"),
        (("lave", "--table", "9"), "paper: lave has no table 9 here; expected one of 1, 2, 3, 4;"),
        (("harmoniceval", "--figure", "1"), "harmoniceval has no figure 1 here; expected one of 4, 5"),
        (("lave", "--format", "svg"), r"paper: svg is a drawing of one figure; expected --figure N \(4\)"),
        (("lave", "--figure", "4", "--format", "svg"), "the lake has nothing to draw"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(words: tuple[str, ...], message: str, empty: str) -> None:
    with pytest.raises(QueryError, match=message):
        run(*words, "--lake", empty)


def test_list_says_what_the_lake_can_answer(
    empty: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("harmoniceval", "--list", "--lake", empty) == 0
    assert "0 of 45 cells" in capsys.readouterr().out
    assert run("harmoniceval", "--list", "--lake", str(tmp_path / "none")) == 0
    assert "cells" not in capsys.readouterr().out


def test_a_whole_paper_is_printed_of_an_empty_lake(
    empty: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for paper in list_papers():
        assert run(paper, "--lake", empty) == 0
    said = capsys.readouterr().out
    assert said.count("the lake has nothing of this table") == sum(not t.is_list for t in EVERY)


def read_rows(title: str) -> list[list[str]]:
    """The cells of the table under a title of the suites' README, without its head."""
    text = (CHECKOUT / "infra" / "suites" / "papers" / "README.md").read_text()
    part = text[text.index(f"## {title}\n") :].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_readme_says_revision_and_licence_of_every_model() -> None:
    named = {
        name
        for suite in SUITES
        for name in re.findall(
            r"\bmodel: ([\w.-]+/[\w.-]+|roberta-large)",
            (CHECKOUT / "infra" / "suites" / f"{suite}.yaml").read_text(),
        )
    }
    rows = read_rows("Models")
    assert {row[0].strip("`") for row in rows} == named
    for name, revision, licence, read_in in rows:
        assert revision, name
        assert licence, name
        is_open = not name.startswith("`openai/")
        assert bool(read_in) == (is_open and not licence.startswith("not checked")), name


def test_readme_says_the_licence_of_every_suite_s_data() -> None:
    rows = read_rows("Data")
    assert all(licence for _, licence, _ in rows)
    listed = {name for *_, suites in rows for name in re.findall(r"`(\w+)`", suites)}
    assert listed == {suite.removeprefix("papers/") for suite in SUITES}
