"""The JSON Schema of a suite: it takes what the program takes, and refuses what editors can see to
be wrong.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging.protocols import PROTOCOLS
from judgelake.tasks.metrics.registry import KINDS
from judgelake.tasks.settings import read_yaml
from judgelake.tasks.sources.registry import SOURCES
from judgelake.tasks.suite.schema import make_schema
from judgelake.tasks.suite.suite import read_suite
from tests.conftest import SUITE_FILES

START = "name: s\nbenchmarks:\n  demo: {source: demo}\n"
TABLE = "name: s\nbenchmarks:\n  t:\n    source: table\n    file: a.csv\n"
JUDGE = START + "judges:\n  j: "


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(make_schema())


def as_editors_see(node: yaml.Node) -> Any:
    """The value as YAML 1.2 has it: keys are text, also `Yes` and `No`."""
    if isinstance(node, yaml.MappingNode):
        return {key.value: as_editors_see(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [as_editors_see(part) for part in node.value]
    return yaml.SafeLoader("").construct_object(node)


def test_schema_is_one() -> None:
    Draft202012Validator.check_schema(make_schema())


@pytest.mark.parametrize("file", SUITE_FILES, ids=lambda file: file.name)
def test_suites_that_come_with_the_project_are_valid(file: Path) -> None:
    errors = validator().iter_errors(as_editors_see(read_yaml(file).node))
    assert [error.message for error in errors] == []


@pytest.mark.parametrize(
    "text",
    [
        "name: s\n",
        "benchmarks:\n  demo: {source: demo}\n",
        "name: A b\nbenchmarks:\n  demo: {source: demo}\n",
        "name: s\nbenchmarks: {}\n",
        START + "judge: {}\n",
        "name: s\nbenchmarks:\n  D: {source: demo}\n",
        "name: s\nbenchmarks:\n  d: {source: dem}\n",
        "name: s\nbenchmarks:\n  d: {source: demo, sead: 1}\n",
        "name: s\nbenchmarks:\n  d: {source: vqa, answers: a}\n",
        START + "metrics: exact_match\n",
        START + "metrics: [exact_mach]\n",
        START + "metrics: [{metric: bleu, order: 5}]\n",
        JUDGE + "{backend: standin}\n",
        JUDGE + "{protocol: lave}\n",
        JUDGE + "{protocol: lave, backend: openai}\n",
        JUDGE + "{protocol: lave, backend: standin, shot: 8}\n",
        JUDGE + "{protocol: lave, backend: standin, revision: x}\n",
        JUDGE + "{protocol: lave, backend: transformers, model: m, base_url: x}\n",
        JUDGE + "{protocol: lave, backend: standin, mode: batch}\n",
        JUDGE + "{protocol: lave, backend: replay, model: m}\n",
        JUDGE + "{protocol: chirp, backend: standin, matchups: some}\n",
        JUDGE + "{protocol: jury, members: [k, l], backend: standin}\n",
        JUDGE + "{protocol: jury, members: [k, l], combine: sum}\n",
        JUDGE + "{protocol: jury}\n",
        START + "limits: {concurrency: many}\n",
        START + "report: {tests: [wiliams]}\n",
        TABLE + "    columns: {answer: {frm: a}}\n",
        TABLE + "    columns: {prompt: {constant: a, split: b}}\n",
        TABLE + "    columns: {prompt: a}\n    where: {b: {}}\n",
        TABLE + "    columns: {prompt: a}\n    where: {b: []}\n",
        TABLE + "    human_ratings: {rating: r}\n",
    ],
)
def test_broken_suites_are_refused_by_schema_and_program(tmp_path: Path, text: str) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(text)
    with pytest.raises(SuiteError, match=r"suite\.yaml:\d+: "):
        read_suite(file)
    assert not validator().is_valid(as_editors_see(read_yaml(file).node))


def test_kinds_are_unions_that_one_key_distinguishes() -> None:
    keys = make_schema()["properties"]
    judges = keys["judges"]["additionalProperties"]
    sources = keys["benchmarks"]["additionalProperties"]
    metrics = keys["metrics"]["items"]["anyOf"][1]
    backends = make_schema()["$defs"]["Backend"]
    unions = {
        union["discriminator"]["propertyName"]: len(union["oneOf"])
        for union in (judges, sources, metrics, backends)
    }
    assert unions == {
        "protocol": len(PROTOCOLS),
        "source": len(SOURCES),
        "metric": len(KINDS),
        "backend": 4,
    }


def test_keys_are_described_by_the_sentences_that_name_them() -> None:
    lave = next(
        branch
        for branch in make_schema()["properties"]["judges"]["additionalProperties"]["oneOf"]
        if branch["title"] == "lave"
    )
    about = lave["properties"]["filter_refs"]["description"]
    assert about == (
        "`filter_refs: at_or_below` also drops references at exactly 25 % (the released code's "
        "rule)."
    )
