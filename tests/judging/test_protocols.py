"""Identities: what makes two judges one, and what the lake stores of them."""

import dataclasses
import json
from typing import Any

import pytest

from judgelake.tasks.digests import digest_json
from judgelake.tasks.engine.ledger import settle_verdicts
from judgelake.tasks.judging import lave
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.judging.protocols import PROTOCOLS, identify_judge
from judgelake.tasks.types import JUDGE, Case, Failure, Identity, Image, Judge, Rubric, Verdict

MODEL = "openai/gpt-4o-mini-2024-07-18"
MODELS = {JUDGE: MODEL}
DEFAULT = LaveOptions()


def identify(
    options: LaveOptions = DEFAULT,
    model: str = MODEL,
    alias: str = "mini",
    benchmarks: tuple[str, ...] = ("okvqa",),
) -> Identity:
    return identify_judge(alias, PROTOCOLS["lave"], options, {JUDGE: model}, benchmarks, 2048)


def test_an_identity_is_named_by_its_call_signature() -> None:
    found = identify(LaveOptions(caption="people"))
    call = lave.call_signature(LaveOptions(caption="people"), MODELS)
    assert found.judge_id == digest_json(call)[:16]
    assert found.reading == digest_json(lave.reading_signature(LaveOptions()))[:8]
    assert found.call_signature.split("|") == [f"{key}:{value}" for key, value in call.items()]
    assert (found.kind, found.alias, found.wants.criteria, found.wants.captioner) == (
        "judge",
        "mini",
        (("correctness",),),
        "people",
    )
    assert (found.tasks, found.benchmarks) == (("vqa", "document"), ("okvqa",))


def test_alias_and_benchmarks_are_not_part_of_the_judge() -> None:
    one, other = (identify(alias=alias, benchmarks=(alias,)) for alias in "xy")
    assert dataclasses.replace(one, alias="y", benchmarks=("y",)) == other


def test_another_model_or_option_is_another_judge_read_the_same_way() -> None:
    found = [identify(), identify(LaveOptions(shots=4)), identify(model="google/flan-t5-xxl")]
    assert len({one.judge_id for one in found}) == 3
    assert len({one.reading for one in found}) == 1


def default_options(name: str) -> Any:
    return PROTOCOLS[name].options(
        **({"feedback_of": ("x", "y")} if name == "feedback_preference" else {})
    )


def make_cases(name: str) -> list[Case]:
    """A case of each group of criteria that a protocol wants with its default options, with all
    that any judge may be shown.
    """
    wants = PROTOCOLS[name].wants(default_options(name))
    is_pair = wants.unit in ("pair", "feedback")
    image = Image("a.png", "a" * 64)
    more: dict[str, Any] = {"images": (image,) if wants.image != "absent" else ()}
    more |= (
        {"other_answer": "a dog", "other_digest": "e" * 16, "shown_first": "b"} if is_pair else {}
    )
    more |= {"feedbacks": ("Good.", "Bad.")} if wants.unit == "feedback" else {}
    more |= (
        {"rubric": Rubric("Is it right?", ("no", "hardly", "half", "nearly", "yes"))}
        if wants.rubrics
        else {}
    )
    groups = wants.criteria or (("rubric",),)
    case = Case("b", "i", wants.tasks[0], "What is it?", ("cat",), "a cat", "d" * 16, **more)
    return [dataclasses.replace(case, criterion=group[0], criteria=group) for group in groups]


def fail_all(judge: Judge, n_requests: int) -> list[Verdict] | int:
    """What a judge concludes, or how many more requests it makes, when all that it asked has
    failed.
    """
    try:
        return len(judge.send([Failure("the endpoint is gone")] * n_requests))
    except StopIteration as end:
        verdicts: list[Verdict] = end.value
        return verdicts


ASKING = [name for name, protocol in PROTOCOLS.items() if protocol.joins is None]


@pytest.mark.parametrize("name", ASKING)
def test_every_protocol_asks_its_models_and_takes_a_failure(name: str) -> None:
    protocol = PROTOCOLS[name]
    options, models = (
        default_options(name),
        {one: f"m/{one}" for one in (JUDGE, *protocol.endpoints)},
    )
    for case in make_cases(name):
        judge = protocol.judge(case, options, models)
        requests = next(judge)
        assert requests
        assert all(request.model == models[request.endpoint] for request in requests)
        concluded: list[Verdict] | int = len(requests)
        while isinstance(concluded, int):
            concluded = fail_all(judge, concluded)
        settled = settle_verdicts(case, concluded, protocol.wants(options).unit)
        assert {verdict.status for verdict in settled} == {"failed"}
        assert all(str(verdict.reason).endswith("the endpoint is gone") for verdict in settled)


@pytest.mark.parametrize("name", ASKING)
def test_every_protocol_has_signatures(name: str) -> None:
    protocol = PROTOCOLS[name]
    options, models = (
        default_options(name),
        {one: f"m/{one}" for one in (JUDGE, *protocol.endpoints)},
    )
    call = protocol.call_signature(options, models)
    assert call["protocol"] == name
    assert set(models.values()) <= set(map(str, call.values()))
    assert json.dumps([call, protocol.reading_signature(options)])  # digested as JSON
