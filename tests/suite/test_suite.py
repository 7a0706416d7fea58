"""Suite files: what they become, and what is refused with file and line."""

import re
from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.metrics.settings import name_metric
from judgelake.tasks.sources.registry import BenchmarkSettings, DemoSettings
from judgelake.tasks.sources.vqa import VqaSettings
from judgelake.tasks.suite.suite import (
    LimitSettings,
    ReportSettings,
    Scope,
    identify_all,
    narrow,
    needs_scores,
    read_suite,
    stages_of,
)
from tests.conftest import SUITE_FILES

START = "name: nightly\nbenchmarks:\n  demo: {source: demo}\n"
FULL = """
name: nightly
notice: a ${WORD:-plain} notice
images: pictures
benchmarks:
  demo: {source: demo, seed: 0, scenes: 3}
  okvqa:
    source: vqa
    references: refs.json
    answers: "${DATA}/{model}.json"
metrics: [exact_match, vqa_accuracy]
judges:
  mini: {protocol: lave, backend: openai, model: openai/gpt-4o-mini-2024-07-18, shots: 0, benchmarks: [okvqa]}
  rules: {protocol: lave, backend: standin, filter_refs: at_or_below}
report: {resamples: 10, seed: 0, min_coverage: 1}
limits: {concurrency: 2, requests_per_minute: 60}
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "suite.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def refuse(folder: Path, text: str) -> str:
    with pytest.raises(SuiteError) as refused:
        read_suite(write(folder, text))
    return str(refused.value).removeprefix(f"{folder}/")


def test_whole_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA", "/data")
    suite = read_suite(write(tmp_path, FULL))
    assert (suite.name, suite.notice, suite.images) == (
        "nightly",
        "a plain notice",
        tmp_path / "pictures",
    )
    assert suite.benchmarks["demo"] == BenchmarkSettings(
        "demo", "demo", DemoSettings(seed=0, scenes=3)
    )
    vqa = VqaSettings(references=tmp_path / "refs.json", answers=Path("/data/{model}.json"))
    assert suite.benchmarks["okvqa"] == BenchmarkSettings("okvqa", "vqa", vqa)
    assert suite.metrics == (name_metric("exact_match"), name_metric("vqa_accuracy"))
    assert suite.report == ReportSettings(resamples=10, seed=0, min_coverage=1.0)
    assert suite.limits == LimitSettings(concurrency=2, requests_per_minute=60)
    mini, rules = suite.judges["mini"], suite.judges["rules"]
    assert (mini.protocol, mini.options.shots, mini.endpoint.benchmarks) == ("lave", 0, ("okvqa",))
    assert (rules.endpoint.model, rules.options.filter_refs) == ("standin/rules", "at_or_below")


def test_digest_names_the_text(tmp_path: Path) -> None:
    first = read_suite(write(tmp_path, START)).digest
    assert read_suite(write(tmp_path, START)).digest == first
    assert read_suite(write(tmp_path, START + "# a comment\n")).digest != first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (START + "judge: {}", "suite.yaml:4: unknown key 'judge'; did you mean 'judges'?"),
        (
            START + "zebra: 1\nweight: 2",
            "suite.yaml:4: unknown key 'zebra'; expected one of answerers, benchmarks, "
            "collection, images, judge",
        ),
        (
            "benchmarks:\n  demo: {source: demo}",
            "suite.yaml:1: the key 'name' is missing; every suite has a name and benchmarks",
        ),
        (
            "name: a",
            "suite.yaml:1: the key 'benchmarks' is missing; every suite has a name and benchmarks",
        ),
        (
            "name: a\nbenchmarks: {}",
            "suite.yaml:2: benchmarks: there is none; expected at least one; add it",
        ),
        (
            "name: a\nbenchmarks:",
            "suite.yaml:2: expected keys with values (`key: value`) here; indent them under "
            "this line",
        ),
        (START + "name: again", "suite.yaml:4: the key 'name' stands twice; remove one"),
        (
            "name: A b\nbenchmarks: {d: {source: demo}}",
            "suite.yaml:1: name: 'A b'; expected lower-case letters, digits, '_', '.', '-'",
        ),
        (
            "name: [a]\nbenchmarks: {d: {source: demo}}",
            "suite.yaml:1: expected text, found a list or keys",
        ),
        (
            "name: a\nbenchmarks:\n  D: {source: demo}",
            "suite.yaml:3: benchmark 'D'; expected lower-case letters, digits, '_', '.', '-'",
        ),
        (
            "name: a\nbenchmarks:\n  d: {sauce: demo}",
            "suite.yaml:3: the key 'source' is missing; expected one of ",
        ),
        (
            "name: a\nbenchmarks:\n  d: {source: vqs}",
            "suite.yaml:3: source: 'vqs'; did you mean 'vqa'?",
        ),
        (
            "name: a\nbenchmarks:\n  d:\n    source: demo\n    sead: 3",
            "suite.yaml:5: unknown key 'sead'; did you mean 'seed'?",
        ),
        (
            "name: a\nbenchmarks:\n  d: {source: vqa, answers: x}",
            "suite.yaml:3: the key 'references' is missing; expected a value",
        ),
        (
            START + "metrics: exact_match",
            "suite.yaml:4: metrics: expected a list; write it as [a, b]",
        ),
        (
            START + "metrics:\n- exact_match\n- exact_mach",
            "suite.yaml:6: metrics: 'exact_mach' is no metric; did you mean 'exact_match'?",
        ),
        (
            START + "metrics:\n- exact_match\n- exact_match",
            "suite.yaml:6: metrics: 'exact_match' stands twice; remove one",
        ),
        (
            START + "judges:\n  exact_match: {protocol: lave, backend: standin}",
            "suite.yaml:5: judge 'exact_match' is a metric's name; expected lower-case letters",
        ),
        (
            START + "judges:\n  human: {protocol: lave, backend: standin}",
            "suite.yaml:5: judge 'human' is what reports call people; expected lower-case letters",
        ),
        (
            START + "judges:\n  a/b: {protocol: lave, backend: standin}",
            "suite.yaml:5: judge 'a/b' is not a valid alias; expected lower-case",
        ),
        (
            START + "judges:\n  l: {backend: standin}",
            "suite.yaml:5: the key 'protocol' is missing; expected one of ",
        ),
        (
            START + "judges:\n  l: {protocol: lav, backend: standin}",
            "suite.yaml:5: protocol: 'lav'; did you mean 'lave'?",
        ),
        (
            START + "judges:\n  l: {protocol: lave}",
            "suite.yaml:5: the key 'backend' is missing; expected one of openai, ",
        ),
        (
            START + "judges:\n  l: {protocol: lave, backend: standing}",
            "suite.yaml:5: backend: 'standing'; did you mean 'standin'?",
        ),
        (
            START + "judges:\n  l: {protocol: lave, backend: openai}",
            "suite.yaml:5: model: missing; expected `provider/model`, such as",
        ),
        (
            START + "judges:\n  l:\n    protocol: lave\n    backend: standin\n    shots: 9",
            "suite.yaml:8: shots: 9; expected 0 to 8, the demonstrations there are",
        ),
        (
            START + "judges:\n  l: {protocol: lave, backend: standin, shot: 8}",
            "suite.yaml:5: unknown key 'shot'; did you mean 'shots'?",
        ),
        (
            START + "judges:\n  l: {protocol: lave, backend: standin, bakend: x}",
            "suite.yaml:5: unknown key 'bakend'; did you mean 'backend'?",
        ),
        (
            START + "judges:\n  l: {protocol: lave, backend: standin, filter_refs: 1}",
            "suite.yaml:5: filter_refs: 1; expected one of False, True, at_or_below",
        ),
        (
            START
            + "judges:\n  l:\n    protocol: lave\n    backend: standin\n    benchmarks: [dema]",
            "suite.yaml:8: benchmarks: the suite has no 'dema'; did you mean 'demo'?",
        ),
        (
            START + "limits: {concurrency: 0}",
            "suite.yaml:4: concurrency: 0; expected a whole number from 1",
        ),
        (
            START + "limits: {requests_per_minute: 0}",
            "suite.yaml:4: requests_per_minute: 0; expected a whole number from 1, or null",
        ),
        (
            START + "report: {resamples: 0}",
            "suite.yaml:4: resamples: 0; expected a whole number from 1",
        ),
        (
            START + "report: {against_samples: [0]}",
            "suite.yaml:4: against_samples: (0,); expected none where `against` is human",
        ),
        (
            START + "report: {against: gpt, against_samples: [1, 1]}",
            "suite.yaml:4: against_samples: (1, 1); expected different numbers from 0",
        ),
        (
            START + "report: {tests: [wiliams]}",
            "suite.yaml:4: tests: 'wiliams'; did you mean 'williams'?",
        ),
        (
            START + "report: {tests: [williams, williams]}",
            "suite.yaml:4: tests: ('williams', 'williams'); expected each test once",
        ),
        (
            START
            + "judges:\n  two: {protocol: llava_bench, backend: standin}\nreport: {against: two}",
            "suite.yaml:6: against: 'two' scores no single answers; expected `human` or a "
            "judge that does; name another",
        ),
        (
            START + "judges:\n  one: {protocol: lave, backend: standin}\nreport: {against: one, "
            "against_samples: [2]}",
            "suite.yaml:6: against_samples: 'one' has no sample 2; expected numbers from 0 to "
            "0; name those, or ask the judge for ",
        ),
        (START + "report: {seed: -1}", "suite.yaml:4: seed: -1; expected a whole number from 0"),
        (
            START + "report: {min_coverage: 98}",
            "suite.yaml:4: min_coverage: 98.0; expected a share from 0 to 1",
        ),
        (
            START + "report: {elo_k: 0}",
            "suite.yaml:4: elo_k: 0.0; expected a number above 0",
        ),
        (
            START + "report: {elo_start: .inf}",
            "suite.yaml:4: elo_start: inf; expected a finite number",
        ),
        (
            START + "report: {min_coverage: .nan}",
            "suite.yaml:4: min_coverage: nan; expected a share from 0 to 1",
        ),
        (
            START + "images: ${NOWHERE}/x",
            "suite.yaml:4: the environment variable NOWHERE is not set; set it or write",
        ),
        (START + "notice: [a]", "suite.yaml:4: expected text, found a list or keys"),
    ],
)
def test_refusals_name_line_value_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    assert refuse(tmp_path, text)[: len(message)] == message


@pytest.mark.parametrize("key", ["timeout_s", "max_attempts"])
def test_endpoint_that_would_never_answer(tmp_path: Path, key: str) -> None:
    text = START + f"judges:\n  l: {{protocol: lave, backend: standin, {key}: 0}}"
    assert re.match(rf"suite\.yaml:5: {key}: 0(\.0)?; expected", refuse(tmp_path, text))


def test_empty_file_and_text_that_is_not_yaml(tmp_path: Path) -> None:
    assert (
        refuse(tmp_path, "") == "suite.yaml: is empty; expected a suite; see infra/suites/demo.yaml"
    )
    assert refuse(tmp_path, "name: [").startswith("suite.yaml:1:8: is not YAML (")
    assert refuse(tmp_path, "[" * 5000).startswith("suite.yaml: is nested too deeply; expected")


def test_narrow_keeps_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA", "/data")
    suite = read_suite(write(tmp_path, FULL))
    assert narrow(suite, Scope()) == suite
    chosen = narrow(suite, Scope(judges=("mini", "exact_match"), benchmarks=("okvqa",)))
    assert (list(chosen.judges), list(chosen.benchmarks)) == (["mini"], ["okvqa"])
    assert chosen.metrics == (name_metric("exact_match"),)
    assert narrow(suite, Scope(judges=("rules",))).metrics == ()


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        (
            Scope(judges=("min",)),
            "--judge min: the suite has none of that name; did you mean 'mini'?",
        ),
        (
            Scope(judges=("exact",)),
            "--judge exact: the suite has none of that name; did you mean 'exact_match'?",
        ),
        (
            Scope(benchmarks=("demo", "zzz")),
            "--benchmark zzz: the suite has none of that name; expected one of demo, okvqa",
        ),
    ],
)
def test_narrow_refuses_unknown_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: Scope, message: str
) -> None:
    monkeypatch.setenv("DATA", "/data")
    with pytest.raises(SuiteError, match=f"^{re.escape(message)}$"):
        narrow(read_suite(write(tmp_path, FULL)), scope)


def test_identities_name_kind_and_benchmarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA", "/data")
    found = identify_all(read_suite(write(tmp_path, FULL)))
    both = ("demo", "okvqa")
    expected = [
        ("metric", "exact_match", both),
        ("metric", "vqa_accuracy", both),
        ("judge", "mini", ("okvqa",)),
        ("judge", "rules", both),
    ]
    assert [(one.kind, one.alias, one.benchmarks) for one in found] == expected
    assert len({one.judge_id for one in found}) == 4


@pytest.mark.parametrize("file", SUITE_FILES, ids=lambda file: file.name)
def test_suites_that_come_with_the_project_are_valid(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGELAKE_DATA", str(tmp_path))
    suite = read_suite(file)
    assert suite.name.replace("-", "_") in (file.stem, f"{file.parent.name}_{file.stem}")
    for benchmark in suite.benchmarks.values():
        if isinstance(benchmark.settings, VqaSettings):
            assert tmp_path in benchmark.settings.references.parents


def test_two_judges_that_ask_and_read_alike_are_refused_on_one_benchmark(tmp_path: Path) -> None:
    alike = "{protocol: chirp, backend: standin, matchups: all}"
    text = (
        f"name: s\nbenchmarks:\n  a: {{source: demo}}\n  b: {{source: demo}}\njudges:\n  "
        f"one: {alike}\n"
    )
    file = tmp_path / "suite.yaml"
    file.write_text(text + "  two: {protocol: chirp, backend: standin, matchups: 5}\n")
    with pytest.raises(
        SuiteError,
        match=r"suite\.yaml:7.*judge 'two': has the same model, options and reading on a as 'one'",
    ):
        read_suite(file)
    apart = [alike.replace("}", f", benchmarks: [{name}]}}") for name in "ab"]
    file.write_text(text.replace(alike, apart[0]) + f"  two: {apart[1]}\n")
    assert set(read_suite(file).judges) == {"one", "two"}


def test_judges_are_planned_after_what_they_rest_on(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        START + "metrics: [vqa_accuracy]\njudges:\n"
        "  why: {protocol: failure_labels, backend: standin}\n"
        "  all: {protocol: failure_labels, backend: standin, answers: all, rationale: false}\n"
        "  lave: {protocol: lave, backend: standin}\n  words: {protocol: captions, backend: "
        "standin}\n"
    )
    stages = stages_of(read_suite(file))
    assert [sorted(stage.judges) for stage in stages] == [["words"], ["all", "lave"], ["why"]]
    assert [needs_scores(stage) for stage in stages] == [False, False, True]
