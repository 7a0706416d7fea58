"""Identities: what makes two judges one, and what the lake is told of them."""

import dataclasses
import json

import pytest

from tasks.digests import digest_json
from tasks.judging import lave
from tasks.judging.lave import LaveOptions
from tasks.judging.protocols import PROTOCOLS, identify_judge, identify_metric
from tasks.judging.types import Case
from tasks.metrics import exact_match

MODEL = "openai/gpt-4o-mini-2024-07-18"


def test_an_identity_is_named_by_its_call_signature() -> None:
    found = identify_judge("mini", "lave", LaveOptions(caption="people"), MODEL, ("okvqa",))
    call = lave.call_signature(LaveOptions(caption="people"), MODEL)
    assert found.judge_id == digest_json(call)[:16]
    assert found.reading == digest_json(lave.reading_signature())[:8]
    assert found.call_signature.split("|") == [f"{key}:{value}" for key, value in call.items()]
    assert found.reading_signature == "reader:rating-at-end|version:1|scale:1-3"
    assert (found.kind, found.alias, found.criterion, found.captioner) == ("judge", "mini", "correctness", "people")
    assert (found.tasks, found.benchmarks) == (("vqa", "document"), ("okvqa",))


def test_alias_and_benchmarks_are_not_part_of_the_judge() -> None:
    one, other = (identify_judge(alias, "lave", LaveOptions(), MODEL, (alias,)) for alias in "xy")
    assert dataclasses.replace(one, alias="y", benchmarks=("y",)) == other


def test_another_model_or_option_is_another_judge_read_the_same_way() -> None:
    found = [
        identify_judge("x", "lave", options, model, ())
        for options, model in ((LaveOptions(), MODEL), (LaveOptions(shots=4), MODEL), (LaveOptions(), "google/flan-t5-xxl"))
    ]
    assert len({one.judge_id for one in found}) == 3
    assert len({one.reading for one in found}) == 1


def test_a_metric_is_named_by_its_signature() -> None:
    found = identify_metric("exact_match", ("okvqa",))
    assert found.judge_id == digest_json({"metric": exact_match.SIGNATURE})[:16]
    assert (found.kind, found.alias, found.reading, found.criterion) == ("metric", "exact_match", "score", "overall")
    assert found.call_signature == exact_match.SIGNATURE
    assert found.judge_id != identify_metric("vqa_accuracy", ("okvqa",)).judge_id


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_asks_with_its_default_options(name: str) -> None:
    protocol = PROTOCOLS[name]
    case = Case("b", "i", protocol.tasks[0], "What is it?", ("cat",), "a cat", "d" * 64)
    requests = next(protocol.judge(case, protocol.options(), MODEL))
    assert requests
    assert {request.model for request in requests} == {MODEL}
    assert protocol.call_signature(protocol.options(), MODEL)["protocol"] == name
    assert json.dumps(protocol.reading_signature())  # digested as JSON
