"""`import judgelake`: light to import, the documented functions, errors of the project. Whole runs
through it are marked full.
"""

import doctest
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import judgelake
from judgelake.tasks import errors
from judgelake.tasks.lake.lake import append_records, open_lake
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.examples import read_example
from judgelake.tasks.suite.suite import read_suite
from tests.lakes import answer, case_row, digest_of, ingest, item, judge_row, make_lake, verdict_row
from tests.rows import GOOD
from tests.test_architecture import HEAVY


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small suite, and a lake that holds its benchmark."""
    folder = tmp_path_factory.mktemp("ingested")
    text = read_example("demo").replace("scenes: 40", "scenes: 2")
    (folder / "demo.yaml").write_text(text.replace(", soft_vqa_accuracy, sbert_score", ""))
    suite, lake = read_suite(folder / "demo.yaml"), open_lake(folder / "lake", create=True)
    ingest_benchmark(lake, suite.benchmarks["demo"], suite.image_root(lake.root), None)
    return folder


@pytest.fixture
def folder(ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it as the working directory."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(ingested, tmp_path, dirs_exist_ok=True)


def test_import_loads_nothing_heavy() -> None:
    heavy = {*HEAVY, "pandas", "pyarrow", "subprocess"}
    code = f"import sys, judgelake; print(sorted({heavy!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_error_is_public() -> None:
    kinds = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.JudgelakeError)
    }
    assert kinds <= {*judgelake.__all__}
    assert [name for name in judgelake.__all__ if not hasattr(judgelake, name)] == []


def test_sql_answers_as_polars_arrow_and_pandas(folder: Path) -> None:
    query = "select item_id, split from items where benchmark = $name order by item_id"
    answer = judgelake.open(folder / "lake").sql(query, name="demo")
    assert len(answer) == answer.polars().height == answer.arrow().num_rows > 0
    assert answer.polars().columns == answer.arrow().column_names == ["item_id", "split"]
    assert list(answer.pandas()["item_id"]) == answer.polars()["item_id"].to_list()
    assert len(judgelake.open("lake").sql(query, name="another")) == 0


def test_pandas_that_is_absent_is_named_with_the_way_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = judgelake.open("lake").sql("select 1 as n")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(judgelake.QueryError, match=r"pip install pandas`, or use polars\(\)"):
        answer.pandas()


def test_an_answer_is_shown_as_a_table_and_escaped(folder: Path) -> None:
    hostile = "<script>alert(1)</script>"
    answer = judgelake.open("lake").sql(f'select $text as "{hostile}", 7 as n', text=hostile)
    assert "┆ n   │" in repr(answer)
    html = answer._repr_html_()
    assert "<table" in html
    assert html.count("&lt;script&gt;") == 2  # the name of the column, and the cell
    assert "<script>" not in html


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select nothing from items", "nothing"),
        ("drop table items", "drop statements are not allowed"),
        ("copy items to 'here.parquet'", "copy statements are not allowed"),
        ("select 1; select 2", "2 statements; expected one"),
        ("select * from read_csv('/etc/passwd')", "disabled by configuration"),
        ("select $a", "a"),
    ],
)
def test_sql_that_fails_or_would_write_is_refused(folder: Path, query: str, message: str) -> None:
    with pytest.raises(judgelake.QueryError, match=r"^sql: ") as refused:
        judgelake.open("lake").sql(query)
    assert message in str(refused.value)
    assert not (folder / "here.parquet").exists()


@pytest.fixture
def judged(tmp_path: Path) -> judgelake.OpenLake:
    """A lake of two judges; `one` scored both answers, `two` none."""
    lake, items = make_lake(tmp_path), [item("1"), item("2")]
    ingest(lake, items, [answer("1", "cat"), answer("2", "dog")])
    append_records(lake, "judges", [judge_row("one", "a" * 16), judge_row("two", "b" * 16)])
    for given, text, score in zip(items, ("cat", "dog"), (3, 1), strict=True):
        digest = digest_of(given, text)
        for judge_id in ("a" * 16, "b" * 16):
            append_records(lake, "cases", [case_row(judge_id, given["item_id"], digest)])
        verdict = verdict_row("a" * 16, given["item_id"], digest, score)
        append_records(lake, "verdicts", [verdict])
    return judgelake.open(lake.mirror)


def test_rows_of_a_table_are_read_when_they_are_asked_for(judged: judgelake.OpenLake) -> None:
    rows = judged.table("answers")
    append_records(open_lake(judged.root), "answers", [GOOD["answers"]])  # of no current ingest
    assert len(rows) == rows.arrow().num_rows == len(rows.pandas()) == 2
    lazy = judged.table("answers").lazy().filter(pl.col("text") == "dog").select("item_id", "text")
    assert lazy.collect().rows() == [("2", "dog")]
    assert repr(rows).startswith("2 rows; the first ones:\nshape: (2, ")
    assert rows._repr_html_().startswith("<p>2 rows; the first ones:</p><div>")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ({}, {("one", "ok", 1.0), ("one", "ok", 0.0), ("two", "not_asked", None)}),
        ({"judge": "one", "benchmark": ["b"]}, {("one", "ok", 1.0), ("one", "ok", 0.0)}),
        ({"judge": ["two"]}, {("two", "not_asked", None)}),
    ],
)
def test_scores_are_those_of_judges_and_benchmarks(
    judged: judgelake.OpenLake, names: dict[str, Any], found: set[tuple[object, ...]]
) -> None:
    scores = judged.scores(**names).lazy().select("alias", "status", "score_0_1")
    assert set(scores.collect().rows()) == found


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda lake: lake.table("item"), r"table 'item': .*did you mean 'items'"),
        (lambda lake: lake.table("items; drop table x"), "the lake has none of that name"),
        (lambda lake: lake.scores(judge="onne"), r"judge 'onne': .*did you mean 'one'"),
        (lambda lake: lake.scores(benchmark="c"), r"benchmark 'c': .*expected one of b"),
    ],
)
def test_a_name_that_the_lake_does_not_have_is_refused(
    judged: judgelake.OpenLake, ask: Callable[[judgelake.OpenLake], object], message: str
) -> None:
    with pytest.raises(judgelake.QueryError, match=message):
        ask(judged)


def test_tables_lists_what_sql_may_name(folder: Path) -> None:
    lake = judgelake.open("lake")
    listed = lake.tables().polars()
    assert listed.columns == ["kind", "name", "says"]
    assert set(listed["kind"]) == {"table", "view"}
    assert listed.filter(pl.col("name") == "rpt_metrics").height == 1
    lake.sql(f"select * from {listed['name'][0]}")


def test_a_lake_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(judgelake.LakeError, match="nowhere"):
        judgelake.open(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_the_lake_is_that_of_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGELAKE_LAKE", str(folder / "lake"))
    assert judgelake.open().root == folder / "lake"


def test_plan_counts_what_a_run_would_ask(folder: Path) -> None:
    plan = judgelake.plan("demo.yaml", "lake", judges="lave-standin")
    (judge,) = plan.judges
    assert judge["judge"] == "lave-standin"
    assert plan.total["n_calls"] == judge["n_calls"] > 0
    assert plan.total["cost_usd"] == 0
    assert repr(plan).startswith("judge")
    assert plan._repr_html_().startswith("<pre>judge")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit=0; expected a whole number from 1"),
        ({"retry": "lost"}, "retry='lost'; expected one of unparsed, "),
    ],
)
def test_wrong_options_of_a_run_are_refused_at_once(
    folder: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(judgelake.SuiteError, match=r"expected") as refused:
        judgelake.run("demo.yaml", "lake", **options)  # type: ignore[arg-type]
    assert message in str(refused.value)


def test_an_error_of_the_run_is_raised_as_what_it_is(folder: Path) -> None:
    with pytest.raises(judgelake.SuiteError, match=r"--judge exact_mach: .*'exact_match'"):
        judgelake.run("demo.yaml", "lake", judges=["exact_mach"])


def test_a_run_that_cannot_start_a_process_says_how_it_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(judgelake.RunError, match="its process ended with status 1") as ended:
        judgelake.run("demo.yaml", "lake")
    assert ended.value.code == judgelake.ExitCode.CRASH


@pytest.mark.usefixtures("bare_reports")
def test_a_report_is_built_where_it_is_stale(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = judgelake.open("lake")
    page = lake.report("demo.yaml")
    assert page == folder / "lake" / "reports" / "demo" / "report.html"
    built_ns = page.stat().st_mtime_ns
    assert "judgelake: report: " in capsys.readouterr().err
    assert lake.report("demo.yaml").stat().st_mtime_ns == built_ns
    with (folder / "demo.yaml").open("a") as file:
        file.write("# changed\n")
    assert lake.report("demo.yaml").stat().st_mtime_ns > built_ns


def list_examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    return (one for one in finder.find(judgelake, "judgelake") if one.examples)


@pytest.mark.full
def test_the_examples_of_the_docstrings_hold(folder: Path) -> None:
    """The module's own first: the run in it makes the lake that the others open; of one that held
    all items already, two would be too few.
    """
    shutil.rmtree(folder / "lake")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    examples = sorted(list_examples(), key=lambda one: one.name)
    assert [one.name for one in examples] == [
        "judgelake",
        "judgelake.OpenLake.report",
        "judgelake.OpenLake.scores",
        "judgelake.OpenLake.sql",
        "judgelake.OpenLake.table",
        "judgelake.OpenLake.tables",
        "judgelake.Rows.lazy",
        "judgelake.open",
        "judgelake.plan",
        "judgelake.run",
    ]
    said: list[str] = []
    for one in examples:
        runner.run(one, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.full
def test_a_run_from_a_script_returns_how_it_ended(folder: Path) -> None:
    """A script without `if __name__ == "__main__"`, which processes that spawn would run again."""
    script = folder / "script.py"
    script.write_text(
        "import judgelake\n"
        "end = judgelake.run('demo.yaml', 'lake', judges=['vqa_accuracy', 'lave-standin'])\n"
        "print(end.code, end.run_id, end.lines[0], sep='|')\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 0, done.stderr
    code, run_id, line = done.stdout.strip().split("|")
    assert code == "0"
    assert line.startswith(f"run {run_id}: done in ")
    assert "judgelake: judge: " in done.stderr
