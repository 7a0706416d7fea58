"""The prompt of `judgelake sql`: its commands, its history, and a whole session in a terminal."""

import contextlib
import io
import json
import os
import pty
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from judgelake.flows.sql_history import append_history, read_history, shorten_history
from judgelake.flows.sql_shell import COMMANDS, Shell
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.conftest import CHECKOUT
from tests.flows.harness import wait_until
from tests.lakes import answer, ingest, item, make_lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = make_lake(tmp_path_factory.mktemp("shell"))
    ingest(lake, [item("i0", references=("cat", "kitten"))], [answer("i0", "cat")])
    return lake


@pytest.fixture(scope="module")
def connection(lake: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_warehouse(lake, sealed=True, lazy=True) as connection:
        yield connection


def converse(
    connection: duckdb.DuckDBPyConnection, lake: Lake, *lines: str, form: str = "table"
) -> tuple[str, str]:
    """What a prompt prints to standard output and error when these lines are piped to it."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            assert Shell(connection, lake.root, form).run() == 0
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (".help", r"\.recipe NAME \[OPTION=VALUE\] +answer a prepared question"),
        (
            ".tables",
            r"(?s)^views to begin with\n.*scores_with_people .*\ntables\n.*  items .*\nreports\n.*rpt_metrics.*\nstaging",
        ),
        (".tables disput", r"^$"),
        (".tables metrics", r"rpt_metrics +one row per"),
        (".schema items", r"^one row per benchmark x item, .*\n(?s:.*)│ references +│ VARCHAR\[\]"),
        (".schema scores_with_people", r"│ judge +│ DOUBLE +│ the judge's score from 0 to 1"),
        ("explain select 1 as one", r"^╭─+ Projection ─+╮\n│ Projections: one │\n"),
        (".functions kappa", r"^cohen_kappa\(a, b\) +agreement of two raters beyond chance\n"),
        (".recipes", r"^closest_to_people +Which judge is closest"),
        (".recipes scale_use", r"digits=2 +decimals"),
        (".recipe disputed_references", r'\["cat ×1", "kitten ×1"\]'),
        (".mode", r"^table; there are table, records, csv"),
        (".quit", r"^$"),
    ],
)
def test_a_command_is_answered(
    connection: duckdb.DuckDBPyConnection, lake: Lake, line: str, shown: str
) -> None:
    out, err = converse(connection, lake, line)
    assert err == ""
    assert re.search(shown, out), out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (".modes", "there is no command .modes; did you mean '.mode'?"),
        (".schema itms", "there is no table or view 'itms'; did you mean 'items'?"),
        (".schema", ".schema has 0 words; expected .schema NAME"),
        (".mode parquet", "there is no format 'parquet'; expected one of"),
        (".recipe", ".recipe names none; expected .recipe NAME"),
        (".recipe scale_use digit=1", "has no option 'digit'; did you mean 'digits'?"),
        (".recipe 'scale_use", "No closing quotation"),
        (".output x.txt", "the ending '.txt' names no format; expected one of .csv, .json"),
        (".output /nowhere/x.csv", "there is no folder /nowhere"),
    ],
)
def test_a_wrong_command_is_explained_and_the_prompt_goes_on(
    connection: duckdb.DuckDBPyConnection, lake: Lake, line: str, said: str
) -> None:
    out, err = converse(connection, lake, line, "select 7 as seven;", form="csv")
    assert said in err
    assert out == "seven\n7\n"


def test_the_mode_is_that_of_the_answers_that_follow(
    connection: duckdb.DuckDBPyConnection, lake: Lake
) -> None:
    out, _ = converse(
        connection, lake, ".mode json", "select 1 as a;", ".mode records", "select 2 as b;"
    )
    assert out == '[\n {\n  "a": 1\n }\n]\n-- row 1\nb  2\n1 row\n'


def test_one_answer_goes_to_a_file_whole(
    connection: duckdb.DuckDBPyConnection, lake: Lake, tmp_path: Path
) -> None:
    query = "select range / 7 as x from range(1500) order by 1;"
    for ending in ("parquet", "csv", "json", "md"):
        file = tmp_path / f"rows.{ending}"
        out, err = converse(
            connection, lake, f".output '{file}'", query, "select 1 as a;", form="csv"
        )
        assert (out, err) == (f"wrote {file}\na\n1\n", "")
    expected = [place / 7 for place in range(1500)]
    assert pl.read_parquet(tmp_path / "rows.parquet")["x"].to_list() == expected
    assert pl.read_csv(tmp_path / "rows.csv")["x"].to_list() == expected
    assert [row["x"] for row in json.loads((tmp_path / "rows.json").read_text())] == expected
    assert len((tmp_path / "rows.md").read_text().splitlines()) == 1502
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [
        ".csv",
        ".json",
        ".md",
        ".parquet",
    ]


def test_a_failed_answer_leaves_the_file_as_it_was(
    connection: duckdb.DuckDBPyConnection, lake: Lake, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("before")
    lines = [
        f".output {tmp_path}/rows.csv",
        "from nowhere;",
        "create table t as select 1;",
        "select 1; select 2;",
    ]
    _, err = converse(connection, lake, *lines)
    assert "nowhere does not exist" in err
    assert "create statements are not allowed" in err
    assert ".output takes one answer" in err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_no_answer_is_written_into_the_lake(
    connection: duckdb.DuckDBPyConnection, lake: Lake, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(lake.root)  # type: ignore[arg-type]
    for folder in (lake.root, tmp_path / "link"):
        _, err = converse(connection, lake, f".output {folder}/x.csv", "select 1;")
        assert "lies in the lake, which is read-only" in err
    assert not (lake.root / "x.csv").exists()


def test_history_is_kept_for_its_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "state" / "sql_history"
    append_history(file, "select 1,\n2;")
    append_history(file, "select 'ü';")
    assert read_history(file) == ["select 1,\n2;", "select 'ü';"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with file.open("a") as stream:
        stream.write("{no json\n" + '"x"\n' * 2000)
    shorten_history(file)
    assert read_history(file) == ["x"] * 1000
    assert len(file.read_text().splitlines()) == 1000
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("place", ["missing/sql_history", "."])
def test_where_no_history_can_be_kept_nothing_fails(tmp_path: Path, place: str) -> None:
    (tmp_path / "missing").write_text("a file stands where the folder should be")
    append_history(tmp_path / place, "select 1;")
    shorten_history(tmp_path / place)
    assert read_history(tmp_path / place) == []


class Terminal:
    """`judgelake sql` in a terminal of its own."""

    def __init__(self, lake: Lake, state: Path) -> None:
        outer, inner = pty.openpty()
        words = [sys.executable, "-m", "judgelake.flows.cli", "sql", "--lake", str(lake.root)]
        environment = {**os.environ, "XDG_STATE_HOME": str(state), "TERM": "dumb"}
        self._process = subprocess.Popen(
            words, cwd=CHECKOUT, env=environment, stdin=inner, stdout=inner, stderr=inner,
            start_new_session=True,
        )  # fmt: skip
        os.close(inner)
        os.set_blocking(outer, False)
        self._outer, self.seen = outer, ""

    def type(self, keys: str) -> None:
        os.write(self._outer, keys.encode())

    def shows(self, text: str) -> bool:
        return wait_until(lambda: text in self._read())

    def _read(self) -> str:
        with contextlib.suppress(BlockingIOError, OSError):
            self.seen += os.read(self._outer, 65536).decode(errors="replace").replace("\r", "")
        return self.seen

    def close(self) -> int:
        self.type("\x04")
        return self._process.wait()


def test_a_session_in_a_terminal(lake: Lake, tmp_path: Path) -> None:
    first = Terminal(lake, tmp_path)
    assert first.shows("judgelake> "), first.seen
    first.type("sel\tcount(*) as n_items\n")
    assert first.shows("   ...> "), first.seen
    first.type("from choice_s\t;\n")
    assert first.shows("│ n_items │"), first.seen
    assert first.close() == 0
    second = Terminal(lake, tmp_path)
    assert second.shows("judgelake> "), second.seen
    second.type("\x10\n")  # Ctrl-P: the statement before
    assert second.shows("│ n_items │"), second.seen
    assert second.close() == 0
    assert read_history(tmp_path / "judgelake" / "sql_history")[0].split() == (
        ["select", "count(*)", "as", "n_items", "from", "choice_sets", ";"]
    )


def test_every_command_is_in_the_readme() -> None:
    page = (CHECKOUT / "sql" / "README.md").read_text()
    assert [name for name in COMMANDS if f"`{name}" not in page] == []
