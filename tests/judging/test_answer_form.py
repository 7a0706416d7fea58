"""Each protocol's answer in each form: what is asked, and the verdict that its own reader gives."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.judging.answer_form import ask_in_form
from judgelake.tasks.judging.protocols import PROTOCOLS
from judgelake.tasks.types import (
    JUDGE,
    AnswerForm,
    Case,
    Failure,
    Message,
    Reply,
    Request,
    Rubric,
    TokenLogprobs,
    Verdict,
)

CASE = Case(
    "b",
    "1",
    "vqa",
    "What is it?",
    ("cat",),
    "a cat",
    "digest",
    criteria=("overall",),
    criterion="overall",
    rubric=Rubric("helpful?", ("1", "2", "3", "4", "5")),
    other_answer="a dog",
    shown_first="b",
    feedbacks=("good", "bad"),
)


@dataclass(frozen=True)
class Held:
    """A protocol with options that make its judge answer at once, an answer that it allows, and
    what the verdict of it is.
    """

    protocol: str
    options: dict[str, Any]
    label: str
    expected: Callable[[Verdict], bool]


HELD = [
    Held("lave", {"rationale": False}, "3", lambda v: v.rating == 3 and v.score_0_1 == 1),
    Held("prometheus", {"feedback": False}, "4", lambda v: v.rating == 4),
    Held("chirp", {"style": "simple"}, "1", lambda v: v.choice == "b"),
    Held("chirp", {"style": "simple", "ties": True}, "Tie", lambda v: v.choice == "tie"),
    Held("chirp_grading", {"method": "llm"}, "Incorrect", lambda v: v.score_0_1 == 0),
    Held("chirp_grading", {"method": "llm"}, "Partially Correct", lambda v: v.rating == 0.5),
    Held(
        "failure_labels",
        {"rationale": False, "image": "absent"},
        "synonym",
        lambda v: v.score_0_1 == float(v.criterion == "synonym"),
    ),
    Held(
        "harmonic",
        {"criteria": ("clarity",)},
        "2",
        lambda v: abs((v.rating or 0) - (0.7 * 2 + 0.075 * (1 + 3 + 4 + 5))) < 1e-6,
    ),
    Held(
        "fleur",
        {},
        "0.3",
        lambda v: abs((v.rating or 0) - (0.7 * 0.3 + 0.03 * (5.5 - 0.3))) < 1e-6,
    ),
]
NAMES = [f"{held.protocol}-{held.label}" for held in HELD]


def start(protocol: str, form: AnswerForm, **options: Any) -> Any:
    kind = PROTOCOLS[protocol]
    made = kind.options(answer_form=form, **options)
    models = dict.fromkeys((JUDGE, *kind.endpoints), "m")
    judge = kind.judge(replace(CASE, task="caption") if protocol == "fleur" else CASE, made, models)
    return ask_in_form(judge, dict.fromkeys(models, form))


def finish(judge: Any, *turns: Reply | Failure) -> tuple[list[list[Request]], list[Verdict]]:
    asked = [next(judge)]
    for turn in turns:
        try:
            asked.append(judge.send([turn] * len(asked[-1])))
        except StopIteration as stop:
            return asked, stop.value
    raise AssertionError(f"asks on: {asked[-1]}")


def weigh(request: Request, label: str, share: float = 0.7) -> tuple[tuple[str, float], ...]:
    """`share` on one answer, the rest on the others alike, all of it 0.9 of the probability."""
    assert request.answer is not None
    others = (1 - share) / (len(request.answer.labels) - 1)
    return tuple(
        (other, math.log(0.9 * (share if other == label else others)))
        for other in request.answer.labels
    )


@pytest.mark.parametrize("held", HELD, ids=NAMES)
def test_a_forced_answer_is_read_from_its_probabilities(held: Held) -> None:
    judge = start(held.protocol, "forced", **held.options)
    (request, *_) = next(start(held.protocol, "forced", **held.options))
    assert request.form == "forced"
    reply = Reply(held.label, top_logprobs=(weigh(request, held.label),))
    _, verdicts = finish(judge, reply)
    assert {verdict.status for verdict in verdicts} == {"ok"}
    assert all(held.expected(verdict) for verdict in verdicts)
    if held.protocol != "failure_labels":
        assert verdicts[0].probabilities is not None
        assert verdicts[0].probabilities[held.label] == pytest.approx(0.7)
        assert verdicts[0].captured_mass == pytest.approx(0.9)


@pytest.mark.parametrize("held", HELD, ids=NAMES)
def test_a_structured_answer_is_read_from_its_object(held: Held) -> None:
    (request, *_) = next(start(held.protocol, "structured", **held.options))
    assert request.answer is not None
    assert (request.form, request.decoding.top_logprobs) == ("structured", 20)
    tokens = ["{", f'"{request.answer.name}"', ":", ' "', held.label, '"}']
    positions: list[TokenLogprobs] = [((token, -0.01), ("x", -9.0)) for token in tokens]
    positions[4] = weigh(request, held.label)
    reply = Reply("".join(tokens), top_logprobs=tuple(positions))
    _, verdicts = finish(start(held.protocol, "structured", **held.options), reply)
    assert {verdict.status for verdict in verdicts} == {"ok"}
    assert all(held.expected(verdict) for verdict in verdicts)


EXPLAINED = [
    ("lave", {}, "It is the same.", "3", " So rating="),
    ("prometheus", {}, "Well said.", "4", " [RESULT] "),
    ("feedback_preference", {"feedback_of": ("x", "y")}, "A sees more.", "A", " [RESULT] "),
    ("failure_labels", {"image": "absent"}, "Another word.", "synonym", "\nCategories: "),
]


@pytest.mark.parametrize(("protocol", "options", "said", "label", "opening"), EXPLAINED)
@pytest.mark.parametrize("ending", ["", "{opening}9", " and so on and so"])
def test_what_a_model_explains_freely_ends_with_a_forced_answer(
    protocol: str, options: dict[str, Any], said: str, label: str, opening: str, ending: str
) -> None:
    free = said + ending.format(opening=opening)
    first = Reply(free, "length")
    (asked,) = next(start(protocol, "forced", **options))
    assert asked.form == "free"  # the very request of the free form: a stored reply is used again
    assert request_digest(asked) == request_digest(next(start(protocol, "free", **options))[0])
    judge = start(protocol, "forced", **options)
    next(judge)
    (held,) = judge.send([first])
    assert held.answer is not None
    assert held.answer.opening == (free if "and" in ending else said) + opening
    with pytest.raises(StopIteration) as stop:
        judge.send([Reply(label, top_logprobs=(weigh(held, label),))])
    verdict = stop.value.value[0]
    assert verdict.status == "ok"
    assert said in (verdict.rationale or "")


@pytest.mark.parametrize(("protocol", "options", "said", "label", "opening"), EXPLAINED)
def test_a_structured_explanation_stands_before_its_answer(
    protocol: str, options: dict[str, Any], said: str, label: str, opening: str
) -> None:
    (request,) = next(start(protocol, "structured", **options))
    assert request.answer is not None
    text = json.dumps({request.answer.explained: said, request.answer.name: label})
    _, (verdict, *_) = finish(start(protocol, "structured", **options), Reply(text))
    assert verdict.status == "ok"
    assert said in (verdict.rationale or "")
    assert opening.strip() not in (request.messages[-1].text + "x")[-len(opening) :]


@pytest.mark.parametrize("form", ["structured", "auto"])
def test_a_reply_that_was_not_held_is_read_as_a_free_one(form: AnswerForm) -> None:
    _, (verdict,) = finish(start("lave", form), Reply("They agree. So rating=2"))
    assert (verdict.status, verdict.rating) == ("ok", 2)
    _, (verdict,) = finish(start("lave", form), Reply('{"rating": "7"}'))
    assert verdict.status == "unparsed"


def test_the_likeliest_answer_counts_where_a_begun_reply_goes_on_past_it() -> None:
    position = (("2", -0.4), ("3", -1.4), ("1", -3.0), ("the", -5.0))
    blank = ((" ", -0.1), ("\n", -3.0))
    reply = Reply(" 2\n\nBecause", "length", (blank, position, (("\n\n", -0.1),)))
    _, (verdict,) = finish(start("lave", "forced", rationale=False), reply)
    assert (verdict.status, verdict.rating) == ("ok", 2)
    assert verdict.captured_mass == pytest.approx(sum(math.exp(x) for x in (-0.4, -1.4, -3)))


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Failure("no answer within 9 s"), "failed"),
        (Reply("", "content_filter"), "filtered"),
        (Reply("It is", "error"), "unparsed"),
        (Reply("It is", ""), "unparsed"),
        (Reply("", refusal="I cannot help"), "refused"),
    ],
)
def test_what_cannot_be_gone_on_with_is_not_held_to_an_answer(reply: Any, status: str) -> None:
    asked, (verdict,) = finish(start("lave", "forced"), reply)
    assert (len(asked), verdict.status) == (1, status)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("stop", "ok"),
        ("length", "ok"),  # the answer is whole
        ("max_tokens", "ok"),
        ("error", "unparsed"),
        ("abort", "unparsed"),
        ("tool_calls", "unparsed"),
        ("", "unparsed"),
        ("content_filter", "filtered"),
    ],
)
@pytest.mark.parametrize(
    ("protocol", "form", "options", "text"),
    [
        ("lave", "structured", {}, '{"rationale": "x", "rating": "3"}'),
        ("prometheus", "structured", {}, '{"feedback": "x", "score": "3"}'),
        ("lave", "forced", {"rationale": False}, "3"),
    ],
)
def test_an_answer_in_its_form_counts_where_its_reply_ended_well(
    protocol: str, form: AnswerForm, options: dict[str, Any], text: str, end: str, status: str
) -> None:
    _, (verdict, *_) = finish(start(protocol, form, **options), Reply(text, end))
    assert verdict.status == status
    assert (verdict.rating is not None) == (status == "ok")


def test_an_answer_that_was_cut_off_is_none() -> None:
    _, (verdict,) = finish(start("lave", "structured"), Reply('{"rationale": "x", "rati', "length"))
    assert verdict.status == "truncated"


def test_what_is_no_probability_gives_none_and_chooses_nothing() -> None:
    odd = (("3", 5.0), ("2", -0.1))
    judge = start("lave", "forced", rationale=False)
    _, (verdict,) = finish(judge, Reply("3", top_logprobs=(odd,)))
    assert (verdict.status, verdict.rating, verdict.probabilities) == ("ok", 3, None)
    judge = start("lave", "forced", rationale=False)
    _, (verdict,) = finish(judge, Reply("perhaps 3", top_logprobs=(odd,)))
    assert verdict.status == "unparsed"
    # -inf and nan are the share of none; 1e-7 is a rounded 0
    kept = (("3", 1e-7), ("2", -math.inf), ("1", math.nan))
    judge = start("lave", "forced", rationale=False)
    _, (verdict,) = finish(judge, Reply("3", top_logprobs=(kept,)))
    assert (verdict.probabilities, verdict.captured_mass) == ({"3": 1.0}, 1.0)
    judge = start("lave", "forced", rationale=False)
    _, (verdict,) = finish(judge, Reply("3", top_logprobs=((("3", -math.inf),),)))
    assert (verdict.rating, verdict.probabilities) == (3, None)


def test_the_expected_rating_is_taken_of_a_weighted_reading() -> None:
    for protocol, options in (("lave", {"rationale": False}), ("prometheus", {"feedback": False})):
        (request,) = next(start(protocol, "forced", **options))
        reply = Reply("3", top_logprobs=(weigh(request, "3", 0.4),))
        judge = start(protocol, "forced", rating="weighted", **options)
        _, (verdict,) = finish(judge, reply)
        n = len(request.answer.labels) if request.answer else 0
        rest = 0.6 / (n - 1) * (n * (n + 1) / 2 - 3)
        assert verdict.rating == pytest.approx(0.4 * 3 + rest)


@pytest.mark.parametrize("key", ["rating", "feedback"])
def test_options_that_need_a_form_name_it(key: str) -> None:
    value: Any = {"rating": "weighted", "feedback": False}[key]
    with pytest.raises(ValueError, match=f"{key}: .*expected with `answer_form`"):
        PROTOCOLS["prometheus"].options(**{key: value})


def test_a_form_is_part_of_a_request_and_a_free_one_is_what_it_was() -> None:
    (request,) = next(start("lave", "forced", rationale=False))
    free = replace(request, form="free")
    assert request_digest(free) == request_digest(replace(free, answer=None))
    others = [
        request,
        replace(request, form="structured"),
        replace(request, answer=request.answer and request.answer._replace(opening="x")),
    ]
    assert len({request_digest(one) for one in (free, *others)}) == 4


def test_reasons_after_a_forced_rating_are_written_freely() -> None:
    judge = start("harmonic", "forced", criteria=("clarity",), reason=True)
    (request,) = next(judge)
    (why,) = judge.send([Reply("2", top_logprobs=(weigh(request, "2"),))])
    assert (why.form, why.answer) == ("free", None)
    assert why.messages[-2] == Message("assistant", "2")
