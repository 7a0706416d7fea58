"""`judgelake init` as a user meets it: what it writes is planned and run at once."""

import csv
import json
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml

from judgelake.flows.cli import make_parser
from judgelake.flows.init_command import run_init
from judgelake.flows.plan_command import run_plan
from judgelake.tasks.errors import JudgelakeError, SuiteError
from judgelake.tasks.suite.examples import list_examples
from judgelake.tasks.suite.suite import read_suite
from tests.flows.harness import shell_in

ROWS = [
    (f"k{item}", f"What is on picture {item}?", ["cat", "kitty"], answer, model, rating)
    for item in range(6)
    for model, answer, rating in (("m1", "a cat", 1), ("m2", "no dog at all", 0))
]


def write_csv(folder: Path) -> Path:
    """Names of several words; references in one cell, ratings as words."""
    with (folder / "survey.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["Sample ID", "Question text", "gold", "Model output", "system", "Score"])
        for key, question, references, answer, model, rating in ROWS:
            words = ("No", "Yes")[rating]
            writer.writerow([key, question, "|".join(references), answer, model, words])
    return folder / "survey.csv"


def write_jsonl(folder: Path) -> Path:
    """Names as evaluation harnesses have them; ratings are truth values."""
    keys = ("qid", "query", "ground_truth", "prediction", "model_name", "correct")
    lines = [json.dumps(dict(zip(keys, (*row[:5], bool(row[5])), strict=True))) for row in ROWS]
    (folder / "out.jsonl").write_text("\n".join(lines))
    return folder / "out.jsonl"


def write_parquet(folder: Path) -> Path:
    """Names that say nothing: content alone."""
    columns = [list(column) for column in zip(*ROWS, strict=True)]
    named = dict(zip(("a", "b", "c", "d", "system", "f"), columns, strict=True))
    pl.DataFrame(named).write_parquet(folder / "x.parquet")
    return folder / "x.parquet"


FILES = {"csv": write_csv, "jsonl": write_jsonl, "parquet": write_parquet}


def init(*words: object) -> int:
    return run_init(make_parser().parse_args(["init", *map(str, words)]))


@pytest.mark.parametrize("kind", FILES)
def test_what_init_writes_can_be_planned_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    (tmp_path / "data").mkdir()
    answers, suite = FILES[kind](tmp_path / "data"), tmp_path / "suite.yaml"
    assert init(suite, "--answers", answers) == 0
    capsys.readouterr()
    words = ["plan", str(suite), "--lake", str(tmp_path / "lake"), "--format", "json"]
    assert run_plan(make_parser().parse_args(words)) == 0
    (judge,) = json.loads(capsys.readouterr().out)["judges"]
    assert (judge["n_items"], judge["n_answers"], judge["n_wanted"]) == (6, 12, 12)


@pytest.mark.full
@pytest.mark.parametrize("kind", FILES)
def test_what_init_writes_runs(tmp_path: Path, kind: str) -> None:
    answers, suite, lake = FILES[kind](tmp_path), tmp_path / "suite.yaml", tmp_path / "lake"
    with shell_in(tmp_path) as shell:
        assert shell.run("init", str(suite), "--answers", str(answers))[0] == 0
        code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 0, output[-2000:]
        counted = shell.select(
            lake,
            "select model, count(*) as n, avg(rating) as rated from human_ratings "
            "join answers using (benchmark, item_id, answer_id) group by model order by model",
        )
    assert counted == [
        {"model": "m1", "n": 6, "rated": 1.0},
        {"model": "m2", "n": 6, "rated": 0.0},
    ]


def test_editors_find_the_schema_beside_the_suite(tmp_path: Path) -> None:
    init(tmp_path / "s.yaml", "--model", "openai/gpt-4o-mini", "--name", "My Suite")
    first = (tmp_path / "s.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=judgelake.schema.json"
    schema = json.loads((tmp_path / "judgelake.schema.json").read_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    suite = read_suite(tmp_path / "s.yaml")
    assert suite.name == "my-suite"
    assert suite.judges["lave"].endpoint.model == "openai/gpt-4o-mini"


def test_nothing_is_replaced_without_force(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("mine")
    with pytest.raises(SuiteError, match=r"s\.yaml: is there already; .*--force"):
        init(file)
    assert file.read_text() == "mine"
    init(file, "--force")
    assert read_suite(file).name == "demo"


def test_questions_are_asked_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = iter([str(write_csv(tmp_path)), "asked", "", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(replies))
    init(tmp_path / "piped.yaml")
    assert read_suite(tmp_path / "piped.yaml").name == "demo"
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    init(tmp_path / "asked.yaml")
    suite = read_suite(tmp_path / "asked.yaml")
    assert (suite.name, list(suite.judges)) == ("asked", ["lave"])
    assert next(replies, None) is None


def test_list_and_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [one.name for one in list_examples()]
    init(tmp_path / "e.yaml", "--example", "demo")
    assert yaml.safe_load((tmp_path / "e.yaml").read_text())["name"] == "demo"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--protocol", "lav"], "--protocol lav: there is none; did you mean 'lave'?"),
        (["--protocol", "feedback_preference"], "needs feedback_of, which name other judges"),
        (["--example", "dem"], "there is no such suite; did you mean 'demo'?"),
        (["--answers", "no/such.csv"], "no/such.csv: cannot be read"),
        (["--answers", "a.txt"], "a.txt: its suffix names no format"),
    ],
)
def test_wrong_wishes_are_refused(tmp_path: Path, words: list[str], message: str) -> None:
    with pytest.raises(JudgelakeError) as refused:
        init(tmp_path / "s.yaml", *words)
    assert message in str(refused.value)
    assert list(tmp_path.iterdir()) == []
