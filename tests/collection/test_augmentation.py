"""Rubrics and reference answers for items that have none: by hand, and over HTTP with faults up to
a judge that grades by them.
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.collection.augmentation import (
    AugmentationOptions,
    collect,
    read_augmentation,
)
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging.cases import read_cases
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import find_work, keep_wanted
from judgelake.tasks.planning.collection_estimate import estimate_collection
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.standin.process import StandinProcess, start_standin
from judgelake.tasks.suite.suite import Scope, Suite, parse_suite, suite_of_collection
from judgelake.tasks.types import JUDGE, Case, Rubric
from judgelake.tasks.warehouse.checks import check_lake
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file, select_frame
from tests.backends.asking import read_log
from tests.collection import collecting
from tests.lakes import make_lake, query

MODELS = {JUDGE: "m"}
OPTIONS = AugmentationOptions()
LEVELS = {f"score_{score}": f"level {score}" for score in range(1, 6)}
RUBRIC = json.dumps({"criterion": "Is the colour right?", **LEVELS})
BOTH = f"Rubric: {RUBRIC}\n[NEXT]\nResponse: A red bus.\n[END]"


def make_case(*references: str) -> Case:
    return collecting.make_case("augmentation", prompt="Which colour?", references=references)


def test_a_reference_is_asked_for_where_there_is_none() -> None:
    (request,) = collecting.ask(collect(make_case(), OPTIONS, MODELS))
    text = request.messages[0].text
    assert text.endswith("Rubric and response for the task:")
    assert "Task: Which colour?" in text
    assert request.messages[0].images
    (verdict,) = collecting.answer(collect(make_case(), OPTIONS, MODELS), [BOTH])
    made = verdict.made or {}
    assert (verdict.status, made["reference"]) == ("ok", "A red bus.")
    assert (made["description"], made["levels"]) == ("Is the colour right?", [*LEVELS.values()])


def test_an_items_own_reference_stays_and_is_shown() -> None:
    case = make_case("red", "red", "scarlet")
    (request,) = collecting.ask(collect(case, OPTIONS, MODELS))
    text = request.messages[0].text
    assert text.endswith("Rubric for the task:")
    assert text.count("- red\n") == text.count("- scarlet\n") == 1
    (verdict,) = collecting.answer(collect(case, OPTIONS, MODELS), [RUBRIC])
    assert verdict.status == "ok"
    assert (verdict.made or {})["reference"] is None


def test_always_means_short_ones_too() -> None:
    options = AugmentationOptions(references="always")
    (verdict,) = collecting.answer(collect(make_case("red"), options, MODELS), [BOTH])
    assert (verdict.made or {})["reference"] == "A red bus."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the reply has 0 markers [NEXT]; expected one"),
        (f"Rubric: {RUBRIC} [NEXT] Response:", "nothing follows `Response:`"),
        ("Rubric: none [NEXT] Response: a", "the reply holds 0 rubrics; expected one"),
        (
            f"Rubric: {RUBRIC} {RUBRIC} [NEXT] Response: a",
            "the reply holds 2 rubrics; expected one",
        ),
        (
            f"Rubric: {RUBRIC.replace('score_3', 'score_9')} [NEXT] Response: a",
            "the rubric does not say what score 3 means",
        ),
    ],
)
def test_what_is_malformed_has_a_reason(text: str, reason: str) -> None:
    (verdict,) = collecting.answer(collect(make_case(), OPTIONS, MODELS), [text])
    assert (verdict.status, verdict.reason) == ("unparsed", reason)


@given(st.text(), st.booleans())
def test_the_reader_never_raises(text: str, with_reference: bool) -> None:
    assert read_augmentation(text, with_reference=with_reference)


def test_delimiters_in_the_data_do_not_end_a_part() -> None:
    case = dataclasses.replace(make_case(), prompt="Say [NEXT] or [END]")
    (request,) = collecting.ask(collect(case, OPTIONS, MODELS))
    task = next(line for line in request.messages[0].text.splitlines() if "Task:" in line)
    assert "[NEXT]" not in task
    assert "[END]" not in task


SUITE = """
name: tried
benchmarks:
  scenes: {source: demo, scenes: 12, tasks: [vqa, caption]}
collection:
  augment: [scenes]
  references: REFERENCES
  backend: standin
  on_unreadable: go on
  max_attempts: 12
  timeout_s: 30
judges:
  prometheus: {protocol: prometheus, backend: standin, samples: 1, max_attempts: 12}
"""


def read_suite(folder: Path, references: str = "always") -> Suite:
    return parse_suite(folder / "suite.yaml", SUITE.replace("REFERENCES", references))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("standin") / "log.jsonl"


@pytest.fixture(scope="module")
def standin(log: Path) -> Iterator[StandinProcess]:
    faults = {"500": 0.1, "429": 0.1, "truncate": 0.05, "garbage": 0.05, "reset": 0.05}
    with start_standin(log=log, faults=faults, retry_after_s=0.01) as process:
        yield process


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, standin: StandinProcess) -> Lake:
    folder = tmp_path_factory.mktemp("augmented")
    lake = make_lake(folder)
    suite = suite_of_collection(read_suite(folder))
    collecting.collect(lake, suite, "first", standin.base_url)
    return lake


def count(lake: Lake, text: str) -> int:
    (row,) = query(lake, f"select count(*)::int as n from {text}")
    assert isinstance(row["n"], int)
    return row["n"]


def test_every_item_gets_a_rubric_in_spite_of_faults(lake: Lake, log: Path) -> None:
    n_items = count(lake, "stg_items")
    assert count(lake, "core_augmentations where description is not null") == n_items > 10
    assert {line["fault"] for line in read_log(log)} >= {None, "500", "429"}
    assert count(lake, "core_augmentations where reference is not null") == n_items
    sound = [one for one in check_lake(lake, open_warehouse(lake)) if not one.warns]
    assert sound == []


def test_nothing_is_asked_twice(lake: Lake, standin: StandinProcess, log: Path) -> None:
    asked = len(read_log(log))
    suite = suite_of_collection(read_suite(Path(str(lake.root.parent))))
    assert collecting.collect(lake, suite, "again", standin.base_url) == []
    assert len(read_log(log)) == asked
    good = Counter(line["digest"] for line in read_log(log) if line["fault"] is None)
    assert {*good.values()} == {1}


def test_a_judge_grades_by_what_was_written(lake: Lake, standin: StandinProcess) -> None:
    """Its cases have the written rubric and reference, and none lacks a rubric."""
    suite = dataclasses.replace(read_suite(Path(str(lake.root.parent))), collection=None)
    connection = open_warehouse(lake, lazy=True)
    identity = suite.judges["prometheus"].identify(("scenes",))
    keep_wanted(connection, identity, suite.name, ["scenes"], None)
    cases = [*read_cases(select_frame(connection, "select * from wanted_cases", "cases"))]
    written = {row["item_id"]: row for row in query(lake, "from core_augmentations")}
    assert {case.item_id for case in cases} == {*written}
    for case in cases:
        row = written[case.item_id]
        assert case.references == (row["reference"],)
        assert case.rubric == Rubric(row["description"], tuple(row["levels"]))
    collecting.collect(lake, suite, "judged", standin.base_url)
    judged = query(lake, "select distinct status from stg_verdicts")
    assert judged == [{"status": "ok"}]
    assert count(lake, "stg_verdicts") == len(cases)


def test_other_judges_see_the_items_as_they_were_read(lake: Lake) -> None:
    connection = open_warehouse(lake, lazy=True)
    suite = read_suite(Path(str(lake.root.parent)))
    other = dataclasses.replace(
        suite.judges["prometheus"], alias="lave", protocol="lave", options=LaveOptions()
    )
    identity = other.identify(("scenes",))
    keep_wanted(connection, identity, suite.name, ["scenes"], None)
    own = {row["item_id"]: row["references"] for row in query(lake, "from stg_items")}
    cases = [*read_cases(select_frame(connection, "select * from wanted_cases", "cases"))]
    assert len(cases) > 0
    assert all([*case.references] == own[case.item_id] for case in cases)


def test_a_changed_item_and_a_rubric_of_its_own_end_an_augmentation(lake: Lake) -> None:
    before = count(lake, "core_augmentations")
    connection = open_warehouse(lake)
    given = {"criteria": [["augmentation"]]}
    suite = suite_of_collection(read_suite(Path(str(lake.root.parent)), "always"))
    identity = suite.judges["augmentation"].identify(("scenes",))
    keep_wanted(connection, identity, suite.name, ["scenes"], None)
    wanted = select_file(connection, "queries/wanted_augmentations.sql", given)
    assert wanted.height == before
    connection.execute(
        "create or replace temp table wanted_contexts as select * replace ("
        "concat(prompt, '!') as prompt) from wanted_contexts"
    )
    changed = select_file(connection, "queries/wanted_augmentations.sql", given)
    assert changed.join(wanted, on=("item_id", "content_digest"), how="inner").is_empty()


def test_it_is_priced_before(tmp_path: Path) -> None:
    text = SUITE.replace("REFERENCES", "always").replace(
        "backend: standin\n  on",
        'backend: openai\n  model: openai/m\n  base_url: "http://127.0.0.1:9/v1"\n'
        "  price: {input: 2, output: 10}\n  on",
    )
    suite, lake = suite_of_collection(parse_suite(tmp_path / "s.yaml", text)), make_lake(tmp_path)
    for benchmark in suite.benchmarks.values():
        ingest_benchmark(lake, benchmark, lake.root / "images", None)
    (row,) = estimate_collection(lake, suite, Scope()).judges
    assert (row.judge, row.n_calls) == ("augmentation", count(lake, "stg_items"))
    expected = (2 * row.input_tokens + 10 * row.output_tokens) / 1e6
    assert row.cost_usd == pytest.approx(expected, rel=1e-3)
    assert row.output_tokens > 0
    (work,) = find_work(lake, suite, Scope())
    assert work.n_pending == row.n_calls


def test_a_collection_of_nothing_is_refused(tmp_path: Path) -> None:
    text = SUITE.replace("  augment: [scenes]\n", "").replace("REFERENCES", "missing")
    with pytest.raises(SuiteError, match=r"expected a benchmark of the suite here or in `augment`"):
        parse_suite(tmp_path / "s.yaml", text)
    with pytest.raises(SuiteError, match=r"augment: the suite has no 'scene'"):
        parse_suite(
            tmp_path / "s.yaml",
            SUITE.replace("[scenes]", "[scene]").replace("REFERENCES", "missing"),
        )
