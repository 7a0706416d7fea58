"""`judgelake sql` as a user runs it: formats, files, piped statements, and everything that would
write refused.
"""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from judgelake.flows.cli import main, make_parser
from judgelake.flows.sql_answers import answer, answer_recipe
from judgelake.flows.sql_command import run_query
from judgelake.tasks.errors import QueryError, redact
from judgelake.tasks.lake.lake import Lake, append_rows, open_lake
from judgelake.tasks.warehouse.catalog import list_all
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.conftest import CHECKOUT
from tests.flows.harness import HANG_S
from tests.rows import make_frame

MODELS = "select model, text, sample from answers order by item_id"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Three answers, one of them with every sign that a format must escape, one without a model."""
    lake = open_lake(tmp_path_factory.mktemp("sql") / "lake", create=True)
    append_rows(lake, "ingests", make_frame("ingests", {}))
    odd = {"item_id": "2", "text": 'a|b, "c"\nü'}
    append_rows(
        lake,
        "answers",
        make_frame("answers", {}, odd, {"item_id": "3", "model": None, "sample": 2}),
    )
    return lake


@pytest.fixture(scope="module")
def answers(lake: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same as `judgelake sql` opens it."""
    with open_warehouse(lake, sealed=True) as connection:
        yield connection


@contextmanager
def streams(given: str = "") -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """This process reads `given`; what it writes to standard output and error."""
    out, err = io.BytesIO(), io.BytesIO()
    texts = [io.TextIOWrapper(stream, write_through=True) for stream in (out, err)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        patch.setattr(sys, "stdout", texts[0])
        patch.setattr(sys, "stderr", texts[1])
        yield out, err
    for text in texts:  # one that is collected closes what lies below it
        text.detach()


def run(lake: Lake | Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[bytes]:
    """`judgelake sql` in this process: a new one would import everything anew."""
    root = lake.root if isinstance(lake, Lake) else lake
    with pytest.MonkeyPatch.context() as patch, streams(given) as (out, err):
        patch.setattr(os, "_exit", sys.exit)
        with pytest.raises(SystemExit) as end:
            main(["sql", "--lake", str(root), *arguments])
    assert isinstance(end.value.code, int)
    return subprocess.CompletedProcess([], end.value.code, out.getvalue(), err.getvalue())


def show(connection: duckdb.DuckDBPyConnection, form: str, query: str) -> bytes:
    """What is printed of a query."""
    with streams() as (out, err):
        answer(connection, query, form)
    assert err.getvalue() == b""
    return out.getvalue()


def test_table_is_the_default(lake: Lake) -> None:
    ended = run(lake, "select model, count(*) as n from answers group by model order by n desc")
    lines = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in ended.stdout.decode().splitlines()
        if line.startswith("│")
    ]
    assert lines == [["model", "n"], ["m", "2"], ["NULL", "1"]]


def test_csv(answers: duckdb.DuckDBPyConnection) -> None:
    rows = list(csv.reader(io.StringIO(show(answers, "csv", MODELS).decode())))
    assert rows == [
        ["model", "text", "sample"],
        ["m", "cat", "0"],
        ["m", 'a|b, "c"\nü', "0"],
        ["", "cat", "2"],
    ]


def test_csv_quotes_a_lone_carriage_return_and_ends_lines_in_a_line_feed(
    answers: duckdb.DuckDBPyConnection,
) -> None:
    text = show(
        answers,
        "csv",
        "select 'a' || chr(13) || 'b' as x, 'c' as y union all select 'd' || chr(13) || "
        "chr(10), 'e' order by 2",
    )
    assert text == b'x,y\n"a\rb",c\n"d\r\n",e\n'


HOSTILE = "select * from (values ('=1+1', -1), ('@x', 2), ('a=b', 3)) as t(text, n)"
ESCAPE = "select chr(27) || '[2Jgone' || chr(155) || '2J' || chr(127) as text"


BIDI = "select 'a' || chr(8238) || 'b' || chr(8294) as text, chr(8297) as other"


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("form", ["table", "records", "csv", "json", "markdown"])
def test_text_changes_the_order_of_nothing_around_it(
    answers: duckdb.DuckDBPyConnection, form: str, nested: bool
) -> None:
    shown = show(answers, form, f"select [text] as texts from ({BIDI})" if nested else BIDI)
    assert not {"\u202e", "\u2066", "\u2069"} & {*shown.decode()}
    assert r"a\u202eb" in shown.decode().replace("\\\\", "\\")


def test_csv_gives_a_spreadsheet_no_formula(answers: duckdb.DuckDBPyConnection) -> None:
    assert show(answers, "csv", HOSTILE) == b"text,n\n'=1+1,-1\n'@x,2\na=b,3\n"
    assert show(answers, "csv-raw", HOSTILE) == b"text,n\n=1+1,-1\n@x,2\na=b,3\n"


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_text_gives_a_terminal_no_command(
    answers: duckdb.DuckDBPyConnection, form: str, nested: bool
) -> None:
    shown = show(answers, form, f"select [text] as texts from ({ESCAPE})" if nested else ESCAPE)
    assert b"gone" in shown
    assert not {"\x1b", "\x9b", "\x7f"} & {*shown.decode()}


PIVOTS = "pivot (select 'a' as item, {name} as model) on model using count(*) group by item"
"""A pivot makes names of values."""


@pytest.mark.parametrize("form", ["table", "records", "csv", "json", "markdown"])
def test_a_column_s_name_gives_a_terminal_no_command(
    answers: duckdb.DuckDBPyConnection, form: str
) -> None:
    shown = show(answers, form, PIVOTS.format(name="chr(27) || '[2Jgone' || chr(155)"))
    assert b"gone" in shown
    assert not {"\x1b", "\x9b"} & {*shown.decode()}
    plan = show(answers, form, 'explain select 1 as "\x1b[2Jgone"')
    assert b"\x1b" not in plan


def test_a_column_s_name_gives_a_spreadsheet_no_formula(answers: duckdb.DuckDBPyConnection) -> None:
    query = PIVOTS.format(name="'=cmd|''/c calc''!A0'")
    assert show(answers, "csv", query) == b"item,'=cmd|'/c calc'!A0\na,1\n"
    assert show(answers, "csv-raw", query) == b"item,=cmd|'/c calc'!A0\na,1\n"


def test_an_error_gives_a_terminal_no_command() -> None:
    assert "\x1b" not in redact("no column \x1b[2J; \x9b31m")


def test_csv_holds_nested_values_as_json(answers: duckdb.DuckDBPyConnection) -> None:
    text = show(
        answers,
        "csv",
        "select ['a', null] as l, {'x': 'nan'::double} as s, timestamptz '2026-03-01 "
        "12:00:00+00' as t",
    ).decode()
    header, row = csv.reader(io.StringIO(text))
    assert header == ["l", "s", "t"]
    assert (json.loads(row[0]), json.loads(row[1]), row[2]) == (
        ["a", None],
        {"x": None},
        "2026-03-01 12:00:00+00:00",
    )


def test_csv_of_many_rows_holds_each_once(answers: duckdb.DuckDBPyConnection) -> None:
    lines = show(answers, "csv", "select range as i from range(25000)").decode().splitlines()
    assert lines[0] == "i"
    assert sorted(map(int, lines[1:])) == list(range(25_000))


def test_json(answers: duckdb.DuckDBPyConnection) -> None:
    rows = json.loads(show(answers, "json", MODELS))
    texts = ["cat", 'a|b, "c"\nü', "cat"]
    assert rows == [
        {"model": m, "text": t, "sample": s}
        for m, t, s in zip(["m", "m", None], texts, [0, 0, 2], strict=True)
    ]


def test_json_is_valid_where_a_number_is_not(answers: duckdb.DuckDBPyConnection) -> None:
    def refuse(word: str) -> float:
        raise AssertionError(word)

    text = show(
        answers,
        "json",
        "select 'nan'::double as a, ['inf'::double, 1.5] as b, map {1: '-inf'::double} as c",
    )
    assert json.loads(text, parse_constant=refuse) == [
        {"a": None, "b": [None, 1.5], "c": {"1": None}}
    ]


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_two_columns_of_one_name_are_refused_where_one_would_be_lost(
    answers: duckdb.DuckDBPyConnection, form: str
) -> None:
    said = "sql: two columns are named 'a'; expected distinct names; write `as` with another name"
    with streams() as (out, _), pytest.raises(QueryError) as error:
        answer(answers, "select 1 as a, 2 as a", form)
    assert (str(error.value), out.getvalue()) == (said, b"")


def test_markdown(answers: duckdb.DuckDBPyConnection) -> None:
    lines = show(answers, "markdown", MODELS).decode().splitlines()
    assert lines[:2] == ["| model | text | sample |", "| --- | --- | --- |"]
    assert lines[2:] == ["| m | cat | 0 |", '| m | a\\|b, "c" ü | 0 |', "|  | cat | 2 |"]


def test_parquet_reads_back(answers: duckdb.DuckDBPyConnection) -> None:
    table = pq.read_table(io.BytesIO(show(answers, "parquet", MODELS)))
    assert table.column_names == ["model", "text", "sample"]
    assert table.to_pylist()[1] == {"model": "m", "text": 'a|b, "c"\nü', "sample": 0}


def test_query_from_a_file(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text(
        "-- a comment\nselect count(*) as n\nfrom answers;\nselect 'ü' as word"
    )
    ended = run(lake, "--format", "csv", "-f", str(tmp_path / "query.sql"))
    assert (ended.returncode, ended.stdout.decode()) == (0, "n\n3\nword\nü\n")
    absent = run(lake, "-f", str(tmp_path / "none.sql"))
    assert absent.returncode == 1
    assert b"none.sql: cannot be read" in absent.stderr
    assert b"; expected a file of SQL; check the path" in absent.stderr


@pytest.mark.parametrize("ending", [";", ";\n", "; -- a note; more\n", " ; /* über; */ ", ""])
@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_statements_end_in_semicolons_and_comments(
    answers: duckdb.DuckDBPyConnection, form: str, ending: str
) -> None:
    text = f"-- first\nselect 'ü;--' as a\norder by a desc;\n-- second; one\nselect 41 + 1 as b{ending}"
    shown = show(answers, form, text).decode()
    assert "ü;--" in shown
    assert "42" in shown


def test_piped_statements_go_on_after_an_error(lake: Lake) -> None:
    given = (
        "select 1 as a;\nselect count(*) as n\n  from answers\n;\nselect * from "
        "nowhere;\nselect 2 as b;\n"
    )
    ended = run(lake, "--format", "csv", given=given)
    assert (ended.returncode, ended.stdout.decode()) == (0, "a\n1\nn\n3\nb\n2\n")
    assert b"Table with name nowhere does not exist" in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_piped_statement_needs_no_semicolon_at_the_end(lake: Lake) -> None:
    assert run(lake, "--format", "csv", given="select 1\nas a").stdout == b"a\n1\n"
    assert run(lake, "--format", "csv", given="").stdout == b""
    assert (
        run(lake, "--format", "csv", given="select 1 as a;\n.quit\nselect 2 as b;").stdout
        == b"a\n1\n"
    )


def test_tables_are_listed(lake: Lake) -> None:
    listed = run(lake, "--format", "csv", given=".tables\n").stdout.decode().split()
    assert listed[0] == "table_name"
    assert {"answers", "items", "quarantine", "stg_answers", "core_scores", "rpt_metrics"} <= set(
        listed
    )
    assert [name for name in listed if name.startswith(("raw_", "empty_"))] == []


def test_a_command_of_the_prompt_is_a_query_too(lake: Lake) -> None:
    listed = run(lake, "--format", "csv", ".tables")
    assert listed.stdout == run(lake, "--format", "csv", given=".tables\n").stdout
    failed = run(lake, ".table")
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert b"there is no command .table" in failed.stderr


def test_list_names_tables_views_checks_and_recipes_without_a_lake(tmp_path: Path) -> None:
    ended = run(tmp_path / "none", "--list", "--format", "csv")
    assert ended.returncode == 0, ended.stderr
    listed = {row["name"]: row for row in csv.DictReader(io.StringIO(ended.stdout.decode()))}
    assert listed["answers"]["kind"] == "table"
    assert listed["rpt_metrics"]["kind"] == "view"
    assert listed["chk_repeated_key"]["says"] == "no two current rows of a table have the same key"
    reported = {"kind": "recipe", "name": "low_mass", "options": "benchmark=, below=0.9"}
    assert listed["low_mass"] == {
        **reported,
        "says": "How much of the probability did the levels hold where it was read?",
    }


@pytest.fixture(scope="module")
def disputed(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two items whose references differ."""
    lake = open_lake(tmp_path_factory.mktemp("disputed") / "lake", create=True)
    append_rows(lake, "ingests", make_frame("ingests", {}))
    append_rows(
        lake,
        "items",
        make_frame(
            "items", {"references": ["a", "b"]}, {"item_id": "2", "references": ["a", "a", "b"]}
        ),
    )
    return lake


@pytest.fixture(scope="module")
def sealed(disputed: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_warehouse(disputed, sealed=True) as connection:
        yield connection


def test_a_recipe_takes_its_options(disputed: Lake) -> None:
    ended = run(
        disputed,
        "--recipe",
        "disputed_references",
        "--format",
        "json",
        "--set",
        "n=1",
        "--set",
        "benchmark=bench",
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    (row,) = json.loads(ended.stdout)
    assert (row["item_id"], row["given"]) == ("1", ["a ×1", "b ×1"])


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown", "parquet"])
def test_a_recipe_is_answered_in_every_format(
    sealed: duckdb.DuckDBPyConnection, form: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    answer_recipe(sealed, "disputed_references", [], form)
    sys.stdout.flush()
    shown = capfdbinary.readouterr().out
    if form == "parquet":
        assert pq.read_table(io.BytesIO(shown))["item_id"].to_pylist() == ["1", "2"]
    else:
        assert "share_of_most_frequent" in shown.decode()
        assert "a ×2" in shown.decode()


@pytest.mark.parametrize(
    ("recipe", "given", "message"),
    [
        ("scale_us", [], "there is no recipe 'scale_us'; did you mean 'scale_use'?"),
        ("scale_use", ["digit=1"], "has no option 'digit'; did you mean 'digits'?"),
        ("disputed_references", ["n=one"], "sql: the recipe disputed_references: Conversion Error"),
    ],
)
def test_a_recipe_asked_for_wrongly_is_refused(
    sealed: duckdb.DuckDBPyConnection, recipe: str, given: list[str], message: str
) -> None:
    with pytest.raises(QueryError) as error:
        answer_recipe(sealed, recipe, given, "csv")
    assert message in str(error.value)


def test_options_without_a_recipe_are_refused() -> None:
    with pytest.raises(
        QueryError, match="sql: --set 'n=1' has no recipe; expected --recipe NAME beside it"
    ):
        run_query(make_parser().parse_args(["sql", "--set", "n=1", "select 1"]))


@pytest.mark.parametrize(
    "words",
    [
        ["--recipe", "scale_use", "select 1"],
        ["--list", "--recipe", "scale_use"],
        ["--list", "-f", "x"],
    ],
)
def test_one_thing_is_asked_at_a_time(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        make_parser().parse_args(["sql", *words])
    assert end.value.code == 1
    assert "not allowed with argument" in capsys.readouterr().err


def test_checks_are_asked_as_views(
    answers: duckdb.DuckDBPyConnection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert say(answers, "select count(*) as n from chk_answer_without_item") == ""
    assert capsys.readouterr().out == "n\n3\n"  # the three answers have no items


def test_prompt_on_a_terminal(lake: Lake) -> None:
    outer, inner = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "judgelake.flows.cli",
        "sql",
        "--lake",
        str(lake.root),
        "--format",
        "csv",
    ]
    with subprocess.Popen(
        command, cwd=CHECKOUT, stdin=inner, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.write(outer, b"select 40 + 2\nas answer;\n.exit\n")
        out, _ = process.communicate(timeout=HANG_S)
    os.close(inner)
    os.close(outer)
    assert b"judgelake> " in out
    assert b"answer\n42\n" in out


def test_refusal_ends_with_exit_code_1(lake: Lake) -> None:
    """As a process of its own, as a user runs it."""
    words = ["sql", "--lake", str(lake.root), "create table t as select 1"]
    ended = subprocess.run(
        [sys.executable, "-m", "judgelake.flows.cli", *words], capture_output=True, check=False
    )
    reported = (
        b"judgelake: sql: create statements are not allowed; expected SELECT; the lake is "
        b"read-only\n"
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", reported)


def test_unknown_view_is_refused_readably(lake: Lake) -> None:
    ended = run(lake, "select * from rpt_metric")
    assert ended.returncode == 1
    assert ended.stderr.decode().startswith(
        "judgelake: sql: Catalog Error: Table with name rpt_metric does not exist!"
    )
    assert b'Did you mean "rpt_metrics' in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_files_outside_the_lake_are_out_of_reach(answers: duckdb.DuckDBPyConnection) -> None:
    assert "disabled by configuration" in say(
        answers, f"select * from read_text('{CHECKOUT / 'pyproject.toml'}')"
    )


def test_no_lake(tmp_path: Path) -> None:
    ended = run(tmp_path / "none", "select 1")
    assert ended.returncode == 1
    assert ended.stderr.decode().startswith(
        f"judgelake: {tmp_path / 'none'}: no lake here; expected a folder with lake.json"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["sing"],
        ["run"],
        ["sql", "--format", "xml", "select 1"],
        ["run", "s.yaml", "--limit", "0"],
    ],
)
def test_wrong_usage_ends_with_exit_code_1(arguments: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "judgelake.flows.cli", *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.startswith(b"usage: judgelake")


def say(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """What is said of a query; '' where it is answered."""
    try:
        answer(connection, query, "csv")
    except QueryError as error:
        return str(error)
    return ""


WIDE = ", ".join(f"{number} / 7 as a_long_name_{number}" for number in range(12))


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_leaves_out_no_column_that_the_query_names(
    answers: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = show(answers, "table", f"select {WIDE}, '' as blank, null as none").decode()
    names = [*(f"a_long_name_{number}" for number in range(12)), "blank", "none"]
    assert [name for name in names if name not in shown] == []
    assert max(map(len, shown.splitlines())) <= width
    assert shown.splitlines()[0] == "-- row 1"
    assert "a_long_name_1   0.1429" in shown
    assert shown.splitlines()[-1] == "1 row"


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("table", "0.1429 │ 12345 │ NULL"),
        ("records", "x     0.1429\nn     12345\nnone  NULL"),
        ("csv", "0.14285714285714285,12345,"),
        ("markdown", "| 0.14285714285714285 | 12345 |  |"),
    ],
)
def test_numbers_are_rounded_for_people_and_whole_for_programs(
    answers: duckdb.DuckDBPyConnection, form: str, shown: str
) -> None:
    query = "select 1 / 7 as x, 12345 as n, null::double as none"
    assert shown in show(answers, form, query).decode()


def test_a_query_is_watched_until_ctrl_c(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            raise KeyboardInterrupt
        append_rows(lake, "answers", make_frame("answers", {"item_id": "4"}))

    monkeypatch.setattr("judgelake.flows.sql_command.time.sleep", sleep)
    words = ["--format", "csv", "--watch", "10", "select count(*) as n from answers"]
    ended = run(lake, *words)
    assert (ended.returncode, ended.stdout, waited) == (0, b"n\n3\nn\n4\n", [10, 10])
    assert b"--watch has nothing to repeat" in run(lake, "--watch", "10").stderr


def test_the_list_holds_whole_sentences_and_no_cut_word(monkeypatch: pytest.MonkeyPatch) -> None:
    says = {line.name: line.says for line in list_all()}
    assert says["rpt_scale_use"].startswith("one row per benchmark x judge (`human`: ")
    unclosed = [name for name, text in says.items() if text.count("(") != text.count(")")]
    assert unclosed == []
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(Path("none"), "--list").stdout.decode().splitlines()
    assert max(map(len, lines)) <= 80
    words = " ".join(line.strip() for line in lines)
    assert [text for text in says.values() if " ".join(text.split()) not in words] == []


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        make_parser().parse_args(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"judgelake {version('judgelake')}\n"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "weighted_kappa(x, y, weights := 'cubic')",
            "weighted_kappa: weights := 'cubic'; expected one of 'nominal', 'linear', 'quadratic'; "
            "write one of them",
        ),
        (
            "win_rate(x)",
            "win_rate: a preference of 2 to 2; expected 0 to 1; give the share of the win",
        ),
        (
            "spearman_ci(x, y, 'c', resamples := -1)",
            "spearman_ci: -1 resamples; expected 0 or more; count again",
        ),
        (
            "spearman_ci(x, y, 'c', resamples := 100000000)",
            "spearman_ci: resamples := 100000000; expected at most 1,000,000 with so many clusters; "
            "write fewer",
        ),
        (
            "spearman_ci(x, y)",
            "spearman_ci: does not take these arguments; expected spearman_ci(x, y, cluster, "
            "resamples := 1000, seed := 0); write it so",
        ),
        (
            "weighted_kappa(x, y, seed := 1)",
            "weighted_kappa: does not take these arguments; expected weighted_kappa(a, b, "
            "weights := 'quadratic'); write it so",
        ),
        (
            "spearman(x, y) filter (where x > 0)",
            "spearman: takes no filter, distinct or order by; expected columns alone; choose rows "
            "by where, or write case when ... then x end",
        ),
        (
            "elo(x::varchar, 'm', 1, k := null)",
            "elo: k := null; expected a number; leave it out for 4",
        ),
    ],
)
def test_an_error_of_a_statistic_is_its_message_alone(
    sealed: duckdb.DuckDBPyConnection, call: str, message: str
) -> None:
    with pytest.raises(QueryError) as raised:
        answer(sealed, f"select {call} from (select 2.0 as x, 1.0 as y)", "csv")
    assert str(raised.value) == f"sql: {message}"


def test_a_text_given_to_a_statistic_is_named_with_its_column(
    sealed: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(QueryError) as raised:
        answer(sealed, "select spearman(benchmark, 1.0) from stg_items", "csv")
    assert re.fullmatch(
        r"sql: benchmark: a statistic was given the text '\S+'; expected numbers; name a column of "
        r"numbers, or write try_cast\(benchmark as double\), which makes null of texts",
        str(raised.value),
    )
    with pytest.raises(QueryError, match="LINE 1"):
        answer(sealed, "select benchmark::double from stg_items", "csv")


def test_a_statistic_in_a_pivot_is_refused_with_what_to_write(
    sealed: duckdb.DuckDBPyConnection,
) -> None:
    pivot = "pivot scores_with_people on model using spearman_ci(judge, human, cluster)"
    with pytest.raises(
        QueryError, match=r"^sql: spearman_ci: cannot stand in pivot .* first\(f\)$"
    ):
        answer(sealed, pivot, "csv")
