"""Answers that arrive in a folder a day: what the next ingest reads, and what is then left to
judge.
"""

import json
from pathlib import Path

import polars as pl
import pytest

from judgelake.tasks.errors import SourceError, SuiteError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.planning.cases import find_work
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.sources.vqa import find_answer_files
from judgelake.tasks.suite.suite import Scope, Suite, read_suite
from tests.flows.harness import write_benchmark

ITEMS = [
    {"id": str(number), "q": f"What is in place {number}?", "refs": ["grey"]} for number in range(4)
]


def write_lines(file: Path, rows: list[dict[str, object]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_answers(folder: Path, date: str, model: str, *texts: str) -> None:
    rows: list[dict[str, object]] = [
        {"id": str(number), "says": text} for number, text in enumerate(texts)
    ]
    write_lines(folder / "answers" / date / f"{model}.jsonl", rows)


def write_table_suite(folder: Path, newest: str) -> Path:
    write_lines(folder / "items.jsonl", [dict(item) for item in ITEMS])
    file = folder / "suite.yaml"
    file.write_text(f"""
name: daily
benchmarks:
  daily:
    source: table
    parts:
      - {{file: items.jsonl, columns: {{item_id: id, prompt: q, references: refs}}}}
      - {{file: "answers/{{date}}/{{model}}.jsonl", {newest} columns: {{item_id: id, answer: says, model: model}}}}
judges:
  lave: {{protocol: lave, backend: openai, model: standin/rules, base_url: "http://127.0.0.1:9/v1"}}
""")
    return file


def pending(folder: Path, suite: Suite) -> int:
    """Ingest as a night does, and count what the judge would be asked."""
    lake = open_lake(folder / "lake", create=True)
    for benchmark in suite.benchmarks.values():
        ingest_benchmark(lake, benchmark, folder, None)
    (work,) = find_work(lake, suite, Scope())
    return work.n_wanted


def test_newest_reads_the_last_file_of_each_model_whatever_the_day(tmp_path: Path) -> None:
    suite = read_suite(write_table_suite(tmp_path, "newest: date,"))
    write_answers(tmp_path, "2026-11-20", "m1", "grey", "red")
    write_answers(tmp_path, "2026-11-20", "m2", "blue", "blue")
    assert pending(tmp_path, suite) == 4
    write_answers(
        tmp_path, "2026-11-21", "m1", "grey", "green", "pink"
    )  # one text as before, one changed, one new; m2 has no new day
    assert pending(tmp_path, suite) == 5
    lake = open_lake(tmp_path / "lake")
    texts = {row for file in lake.part_files("answers") for row in read_texts(file)}
    assert texts == {("m1", "grey"), ("m1", "green"), ("m1", "pink"), ("m2", "blue")}


def read_texts(file: object) -> set[tuple[str, str]]:
    return set(pl.read_parquet(str(file)).select("model", "text").iter_rows())


def test_without_newest_all_days_are_read(tmp_path: Path) -> None:
    """New items a day: the days add up."""
    suite = read_suite(write_table_suite(tmp_path, ""))
    write_answers(tmp_path, "2026-11-20", "m1", "grey", "red")
    assert pending(tmp_path, suite) == 2
    write_lines(tmp_path / "answers" / "2026-11-21" / "m1.jsonl", [{"id": "2", "says": "green"}])
    assert pending(tmp_path, suite) == 3


def test_newest_names_a_part_of_the_path(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="'day' is no part of the path"):
        read_suite(write_table_suite(tmp_path, "newest: day,"))


def test_vqa_reads_the_last_date_of_each_model(tmp_path: Path) -> None:
    for date, model in (("2026-11-20", "m1"), ("2026-11-20", "m2"), ("2026-11-21", "m1")):
        write_benchmark(tmp_path / "in" / date, 2, (model,))
    found = find_answer_files(tmp_path / "in" / "{date}" / "results_{model}.json")
    assert {model: file.parent.name for model, file in found.items()} == {
        "m1": "2026-11-21",
        "m2": "2026-11-20",
    }
    with pytest.raises(SourceError, match="a second file of the model 'm1'"):
        find_answer_files(tmp_path / "in" / "*" / "results_{model}.json")
