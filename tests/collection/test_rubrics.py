"""The collector of rubrics, turn by turn: what is asked, when it refines, what becomes of each."""

import json

import pytest

from judgelake.tasks.collection.rubrics import RubricOptions, collect, name_rubric
from judgelake.tasks.types import JUDGE, Failure, Reply, Verdict
from tests.collection.collecting import RUBRIC, answer, ask, make_case

MODELS = {JUDGE: "m"}
NAMES = ("rubric-1", "rubric-2", "rubric-3")
OPTIONS = RubricOptions(refinements=2)


def write(criterion: str) -> str:
    levels = {f"score_{n}": level for n, level in enumerate(RUBRIC.levels, 1)}
    return json.dumps({"criterion": criterion, **levels, "keywords": ["cat"]})


THREE = "\n".join(map(write, "ABC"))


def run(*turns: list[str | Reply | Failure]) -> list[Verdict]:
    return answer(collect(make_case(*NAMES), OPTIONS, MODELS), *turns)


def test_the_image_and_four_examples_of_one_kind_are_shown() -> None:
    (request,) = ask(collect(make_case(*NAMES), OPTIONS, MODELS))
    (message,) = request.messages
    assert message.text.count('"score_5"') == 4 + 1  # the form names it, too
    assert [image.sha256 for image in message.images] == ["a" * 64]
    assert (request.decoding.temperature, request.decoding.top_p) == (1.0, 0.9)


def test_all_three_fit_at_once() -> None:
    verdicts = run([THREE], ["align"] * 3)
    assert [(one.criterion, one.status) for one in verdicts] == [(name, "ok") for name in NAMES]
    first = verdicts[0].made or {}
    assert first["description"] == "A"
    assert first["levels"] == [*RUBRIC.levels]
    assert (first["keywords"], first["n_refined"]) == (["cat"], 0)


def test_only_what_does_not_fit_is_refined_and_checked_again() -> None:
    turns: list[list[str | Reply | Failure]] = [[THREE], ["align", "misalign", "align"]]
    (refine,) = ask(collect(make_case(*NAMES), OPTIONS, MODELS), *turns)
    assert '"criterion": "B"' in refine.messages[0].text
    (check,) = ask(collect(make_case(*NAMES), OPTIONS, MODELS), *turns, [write("B2")])
    assert '"criterion": "B2"' in check.messages[0].text
    verdicts = run(*turns, [write("B2")], ["align"])
    made = verdicts[1].made or {}
    assert (verdicts[1].status, made["description"], made["n_refined"]) == ("ok", "B2", 1)


def test_refining_ends() -> None:
    verdicts = run(
        [THREE],
        ["align", "misalign", "align"],
        [write("B2")],
        ["misalign"],
        [write("B3")],
        ["misalign"],
    )
    assert [one.status for one in verdicts] == ["ok", "rejected", "ok"]
    assert verdicts[1].reason == "the rubric does not fit the image after 2 refinements"
    assert (verdicts[1].made or {})["description"] == "B3"


def test_what_is_malformed_is_a_verdict_with_its_reason() -> None:
    two = f"{write('A')}\n{json.dumps({'criterion': 'B'})}"
    verdicts = run([two], ["yes"])
    assert [one.status for one in verdicts] == ["unparsed"] * 3
    reasons = [one.reason for one in verdicts]
    assert reasons == [
        "the reply says neither `align` nor `misalign`",
        "the rubric does not say what score 1, 2, 3, 4, 5 means",
        "the reply holds 2 rubrics; expected 3",
    ]


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Failure("no answer"), "failed"),
        (Reply("", refusal="I will not"), "refused"),
        (Reply(THREE[:50], finish_reason="length"), "truncated"),
        (Reply("", finish_reason="content_filter"), "filtered"),
        (Reply("I cannot."), "unparsed"),
    ],
)
def test_a_reply_that_is_none_is_the_status_of_all_three(
    reply: Reply | Failure, status: str
) -> None:
    verdicts = run([reply])
    assert [(one.criterion, one.status) for one in verdicts] == [(name, status) for name in NAMES]


def test_a_failed_check_leaves_the_others() -> None:
    verdicts = run([THREE], ["align", Failure("gone"), "align"])
    assert [one.status for one in verdicts] == ["ok", "failed", "ok"]


def test_an_image_absent_is_not_sent() -> None:
    options = RubricOptions(image="absent")
    (request,) = ask(collect(make_case(*NAMES), options, MODELS))
    assert request.messages[0].images == ()


def test_a_rubric_is_named_by_its_content() -> None:
    assert name_rubric(RUBRIC) == name_rubric(RUBRIC)
    assert name_rubric(RUBRIC) != name_rubric(type(RUBRIC)("other", RUBRIC.levels))
