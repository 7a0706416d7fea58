import math

import pytest

from judgelake.tasks.engine.ledger import settle_verdicts
from judgelake.tasks.types import Case, Unit, Verdict

CASE = Case(
    "b",
    "i",
    "vqa",
    "What?",
    ("cat",),
    "cat",
    "d",
    criterion="clarity",
    criteria=("clarity", "fluency"),
)


def test_each_criterion_gets_the_verdict_that_names_it() -> None:
    found = settle_verdicts(
        CASE,
        [Verdict("ok", 5, 1.0, criterion="fluency"), Verdict("unparsed", criterion="clarity")],
        "answer",
    )
    assert [(one.criterion, one.status, one.rating) for one in found] == [
        ("clarity", "unparsed", None),
        ("fluency", "ok", 5),
    ]


def test_a_verdict_without_a_criterion_is_about_those_that_have_none_of_their_own() -> None:
    found = settle_verdicts(
        CASE,
        [Verdict("failed", reason="gone"), Verdict("ok", 5, 1.0, criterion="fluency")],
        "answer",
    )
    assert [(one.criterion, one.status, one.reason) for one in found] == [
        ("clarity", "failed", "gone"),
        ("fluency", "ok", None),
    ]


def test_a_criterion_that_the_protocol_forgot_has_a_reason() -> None:
    (found, _) = settle_verdicts(CASE, [Verdict("ok", 5, 1.0, criterion="fluency")], "answer")
    assert (found.status, found.reason) == (
        "failed",
        "the protocol gave no verdict about this criterion",
    )


@pytest.mark.parametrize(
    ("unit", "verdict"),
    [
        ("answer", Verdict("ok", 3, 1.5)),
        ("answer", Verdict("ok", None, 0.5)),
        ("answer", Verdict("ok", 3, None)),
        ("answer", Verdict("ok", math.nan, 0.5)),
        ("answer", Verdict("ok", 3, math.nan)),
        ("pair", Verdict("ok", 3, 0.5)),
        ("pair", Verdict("ok", choice="a", preference_b=1.2)),
        ("feedback", Verdict("ok")),
        ("image", Verdict("ok", text="")),
    ],
)
def test_what_breaks_the_contract_is_a_failed_verdict_that_says_so(
    unit: Unit, verdict: Verdict
) -> None:
    for found in settle_verdicts(CASE, [verdict], unit):
        assert (found.status, found.rating, found.score_0_1, found.choice) == (
            "failed",
            None,
            None,
            None,
        )
        assert found.reason is not None
        assert found.reason.startswith("the protocol gave ")


@pytest.mark.parametrize(("choice", "share"), [("a", 0.0), ("b", 1.0), ("tie", 0.5)])
def test_a_choice_is_a_share_of_the_win_for_b(choice: str, share: float) -> None:
    (found, _) = settle_verdicts(CASE, [Verdict("ok", choice=choice)], "pair")  # type: ignore[arg-type]
    assert (found.choice, found.preference_b) == (choice, share)
    (kept, _) = settle_verdicts(CASE, [Verdict("ok", choice=choice, preference_b=0.7)], "pair")  # type: ignore[arg-type]
    assert kept.preference_b == 0.7


def test_only_ok_keeps_a_score() -> None:
    (found, _) = settle_verdicts(
        CASE, [Verdict("refused", 3, 0.5, choice="a", text="t", rationale="no")], "answer"
    )
    assert (found.rating, found.score_0_1, found.choice, found.text, found.rationale) == (
        None,
        None,
        None,
        None,
        "no",
    )
