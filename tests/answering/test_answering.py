"""Answerers against the real stand-in over HTTP: what they leave in the lake, that nothing is asked
twice, and which of their answers count.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.stop_flag import stop_file
from judgelake.tasks.planning.cases import find_work, register_judges
from judgelake.tasks.planning.estimate import estimate_suite
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.standin.process import StandinProcess, start_standin
from judgelake.tasks.suite.suite import Scope, Suite, narrow, parse_suite, suite_of_answerers
from judgelake.tasks.warehouse.checks import check_lake
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.answering.answering import answer_all, read_answering
from tests.backends.asking import read_log
from tests.lakes import make_lake, query

ENDPOINT = "backend: standin, max_attempts: 12, timeout_s: 30, on_unreadable: go on"
ANSWERERS = f"""
  short: {{{ENDPOINT}, prompt: short, recorded_as: vlm}}
  long: {{{ENDPOINT}, prompt: long, recorded_as: vlm}}
  drawn: {{{ENDPOINT}, samples: 3, temperature: 1, recorded_as: other}}
"""
JUDGES = "judges:\n  lave: {protocol: lave, backend: standin}\n"
GENERATED = "from answers where source_file = 'judgelake answer'"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("standin") / "log.jsonl"


@pytest.fixture(scope="module")
def standin(log: Path) -> Iterator[StandinProcess]:
    faults = {"500": 0.1, "429": 0.1, "truncate": 0.05, "garbage": 0.05, "reset": 0.05}
    with start_standin(log=log, faults=faults, retry_after_s=0.01) as process:
        yield process


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return read_answering(tmp_path_factory.mktemp("suite"), ANSWERERS, JUDGES)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, full: Suite, standin: StandinProcess) -> Lake:
    lake = make_lake(tmp_path_factory.mktemp("answered"))
    answer_all(lake, suite_of_answerers(full), "first", standin.base_url)
    return lake


def count(lake: Lake, text: str) -> int:
    (row,) = query(lake, f"select count(*)::int as n {text}")
    return int(row["n"])


def test_every_item_has_its_answers_in_spite_of_faults(lake: Lake, log: Path) -> None:
    n_items = count(lake, "from items")
    assert {line["fault"] for line in read_log(log)} >= {None, "500", "429"}
    rows = query(lake, f"select model, style, sample, count(*)::int as n {GENERATED} group by all")
    found = {(row["model"], row["style"], row["sample"]): row["n"] for row in rows}
    tasks = query(lake, "select task, count(*)::int as n from items group by all")
    n_long = sum(row["n"] for row in tasks if row["task"] in ("caption", "instruction"))
    assert 0 < n_long < n_items
    assert found == {
        ("vlm", "short", 0): n_items,
        ("vlm", "long", 0): n_items,
        **{("other", "long", sample): n_long for sample in range(3)},
        **{("other", "short", sample): n_items - n_long for sample in range(3)},
    }
    assert query(lake, "select distinct status from generated_answers") == [{"status": "ok"}]


def test_answers_of_files_stay_beside_them(lake: Lake) -> None:
    models = {row["model"] for row in query(lake, "select distinct model from answers")}
    assert {"rule-strong", "vlm", "other"} < models
    repeated = (
        "from (select 1 from answers group by benchmark, item_id, answer_id having count(*) > 1)"
    )
    assert count(lake, repeated) == 0


def test_each_answer_says_where_it_is_from(lake: Lake) -> None:
    rows = query(
        lake, f"from answer_origins semi join (select answer_id {GENERATED}) using (answer_id)"
    )
    assert len(rows) == count(lake, GENERATED)
    assert {row["backend"] for row in rows} == {"standin"}
    assert {row["requested_model"] for row in rows} == {"standin/rules"}
    assert {row["run_id"] for row in rows} == {"first"}
    assert {(row["answerer"], row["prompt_digest"].split("-")[0]) for row in rows} == {
        ("short", "short"),
        ("long", "long"),
        ("drawn", "task"),
    }
    assert all("|temperature:1.0|" in row["call_signature"] for row in rows if row["sample"])
    assert all(row["cost_usd"] == 0 and row["completion_tokens"] > 0 for row in rows)


def test_nothing_is_left_and_nothing_is_asked_twice(
    lake: Lake, full: Suite, standin: StandinProcess, log: Path
) -> None:
    asked = len(read_log(log))
    assert answer_all(lake, suite_of_answerers(full), "again", standin.base_url) == []
    assert len(read_log(log)) == asked
    good = Counter(line["digest"] for line in read_log(log) if line["fault"] is None)
    # the three draws of an item are one request at this endpoint, which knows no seed
    assert {*good.values()} <= {1, 3}


def test_the_lake_is_sound(lake: Lake) -> None:
    found = check_lake(lake, open_warehouse(lake))
    assert [finding for finding in found if not finding.warns] == []


def test_judges_want_the_generated_answers_too(lake: Lake, full: Suite) -> None:
    """What LAVE judges are the distinct contents of all answers to its tasks."""
    contents = "from (select distinct item_id, content_digest from core_answers"
    expected = count(lake, f"{contents} where task in ('vqa', 'document'))")
    (work,) = find_work(lake, full, Scope())
    assert work.n_pending == expected
    given = f"{contents} where task in ('vqa', 'document') and model not in ('vlm', 'other'))"
    assert expected > count(lake, given)


def test_another_name_makes_no_call(
    lake: Lake, standin: StandinProcess, log: Path, tmp_path: Path
) -> None:
    asked = len(read_log(log))
    named = ANSWERERS.replace("recorded_as: vlm", "recorded_as: renamed")
    suite = suite_of_answerers(read_answering(tmp_path, named))
    results = answer_all(lake, suite, "named", standin.base_url)
    assert len(read_log(log)) == asked
    assert sum(result.n_replies_reused for result in results) == 2 * count(lake, "from items")
    models = {row["model"] for row in query(lake, f"select distinct model {GENERATED}")}
    assert models == {"renamed", "other"}
    first = suite_of_answerers(read_answering(tmp_path, ANSWERERS))
    assert register_judges(lake, first)  # the suite as it was: its answers count again
    models = {row["model"] for row in query(lake, f"select distinct model {GENERATED}")}
    assert models == {"vlm", "other"}


def test_a_stopped_run_asks_nothing(tmp_path: Path, full: Suite, standin: StandinProcess) -> None:
    lake = make_lake(tmp_path)
    stop_file(lake, "halted").parent.mkdir(parents=True, exist_ok=True)
    stop_file(lake, "halted").touch()
    results = answer_all(lake, suite_of_answerers(full), "halted", standin.base_url)
    assert sum(result.n_calls for result in results) == 0


def test_stored_replies_answer_without_a_model(
    lake: Lake, tmp_path: Path, standin: StandinProcess, log: Path
) -> None:
    """The backend `replay` over the lake of another run."""
    asked = len(read_log(log))
    replayed = f"{{short: {{backend: replay, model: standin/rules, cassette: {lake.root}, prompt: short}}}}"
    suite = suite_of_answerers(read_answering(tmp_path, replayed))
    other = make_lake(tmp_path)
    answer_all(other, suite, "replayed", standin.base_url)
    text = f"select item_id, text {GENERATED} and style = 'short' and model = '%s' order by item_id"
    assert query(other, text % "standin/rules") == query(lake, text % "vlm") != []
    assert len(read_log(log)) == asked
    assert query(other, "select distinct backend from answer_origins") == [{"backend": "replay"}]


def test_a_changed_item_is_answered_again_and_its_former_answer_goes(
    tmp_path: Path, standin: StandinProcess, log: Path
) -> None:
    table = tmp_path / "items.csv"
    text = f"""
name: changing
benchmarks:
  own: {{source: table, file: {table}, columns: {{item_id: id, prompt: q, references: r}}}}
answerers:
  one: {{{ENDPOINT}, image: absent, prompt: short, recorded_as: vlm}}
"""
    lake, suite = make_lake(tmp_path), parse_suite(tmp_path / "s.yaml", text)
    answering = suite_of_answerers(suite)
    table.write_text("id,q,r\n1,Which horse won?,Red Rum\n2,What colour is snow?,white\n")
    answer_all(lake, answering, "first", standin.base_url)
    first = {row["item_id"]: row for row in query(lake, "from answers")}
    assert set(first) == {"1", "2"}
    table.write_text("id,q,r\n1,Which horse lost?,Red Rum\n2,What colour is snow?,pale\n")
    ingest_benchmark(lake, suite.benchmarks["own"], lake.root / "images", None)
    (stale,) = query(lake, "from answers")  # of item 1 none; item 2's answer stands
    assert stale["item_id"] == "2"
    assert stale["text"] == first["2"]["text"]
    assert stale["content_digest"] != first["2"]["content_digest"]  # which covers the references
    asked = len(read_log(log))
    results = answer_all(lake, answering, "second", standin.base_url)
    assert sum(result.n_calls for result in results) == 1
    assert len(read_log(log)) > asked
    assert count(lake, "from answers") == 2
    found = check_lake(lake, open_warehouse(lake))
    assert [finding for finding in found if not finding.warns] == []


def test_what_is_left_is_priced(tmp_path: Path) -> None:
    priced = "{one: {backend: openai, model: made/up, base_url: 'http://127.0.0.1:9/v1', "
    priced += "price: {input: 2, output: 10}, max_tokens: 100, samples: 2, temperature: 1}}"
    suite = suite_of_answerers(read_answering(tmp_path, priced, "limits: {budget_usd: 3}"))
    lake = make_lake(tmp_path)
    ingest_benchmark(lake, suite.benchmarks["scenes"], lake.root / "images", None)
    (row,) = estimate_suite(lake, suite, Scope()).judges
    n_items = count(lake, "from items")
    assert (row.n_items, row.n_pending, row.n_calls) == (n_items, 2 * n_items, 2 * n_items)
    assert row.output_tokens_worst == 100 * row.n_calls
    expected = (2 * row.input_tokens + 10 * row.output_tokens) / 1e6
    assert row.cost_usd == pytest.approx(expected, rel=0.01)
    limited = estimate_suite(lake, narrow(suite, Scope(3)), Scope(3)).judges[0]
    assert limited.n_pending == 6


@pytest.mark.parametrize(
    ("answerers", "wrong"),
    [
        ("{A: {backend: standin}}", "answerer 'A' is not a valid name"),
        ("{a: {model: x}}", "the key 'backend' is missing"),
        ("{a: {backend: standin, sample: 3}}", "unknown key 'sample'; did you mean 'samples'?"),
        ("{a: {backend: standin, samples: 3}}", "where all samples are alike"),
        ("{a: {backend: standin, prompt: brief}}", "prompt: 'brief'"),
        ("{a: {backend: standin, benchmarks: [scene]}}", "the suite has no 'scene'"),
        ("{a: {backend: standin, templates: nowhere}}", "nowhere: no such folder"),
        (
            "{a: {backend: standin, prompt: short}, b: {backend: standin, max_tokens: 9}}",
            "answerer 'b': its answers to scenes would be recorded as short answers of "
            "standin/rules, as those of 'a' are",
        ),
        (
            "{a: {backend: openai, model: made/up, base_url: 'http://127.0.0.1:9/v1'}}",
            "limits.budget_usd needs it",
        ),
    ],
)
def test_wrong_settings_name_the_key(tmp_path: Path, answerers: str, wrong: str) -> None:
    with pytest.raises(SuiteError) as error:
        read_answering(tmp_path, answerers, "limits: {budget_usd: 1}")
    assert wrong in str(error.value)


def test_a_suite_without_answerers_says_so(tmp_path: Path) -> None:
    suite = parse_suite(tmp_path / "s.yaml", "name: s\nbenchmarks: {d: {source: demo}}")
    with pytest.raises(SuiteError, match="has no answerers; expected `answerers:"):
        suite_of_answerers(suite)
    assert replace(suite, answerers={}).answerers == {}


def test_a_local_vision_model_answers_in_this_process(tmp_path: Path) -> None:
    """A tiny LLaVA of random weights: its words mean nothing, but each item gets its own samples,
    drawn alike by whoever draws them again.
    """
    from tests.backends.tiny_models import save_llava

    folder = save_llava(tmp_path / "llava")
    local = f"{{vlm: {{backend: transformers, model: {folder}, dtype: float32, device: cpu, "
    local += "samples: 2, temperature: 1, max_tokens: 4, keep_truncated: true, seed: 3, "
    local += "on_unreadable: go on, recorded_as: tiny}}"
    suite = suite_of_answerers(read_answering(tmp_path, local, scenes=2))
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        lake = make_lake(tmp_path / name)
        answer_all(lake, suite, "local", "")
        n_items = count(lake, "from items")
        rows = query(lake, f"select item_id, sample, text {GENERATED} order by all")
        assert len(rows) > 0.8 * 2 * n_items  # a drawn reply may be empty
        assert {row["sample"] for row in rows} == {0, 1}
        texts.append(rows)
        origins = query(lake, "select distinct backend, answerer, model from answer_origins")
        assert origins == [{"backend": "transformers", "answerer": "vlm", "model": "tiny"}]
    assert texts[0] == texts[1]
    assert len({row["text"] for row in texts[0]}) > len(texts[0]) / 2
