"""Juries: how members' votes become one verdict, which criteria count, and who cannot be a member."""

from typing import Any

import pytest

from judgelake.tasks.judging.jury import (
    TOO_FEW_LABELS,
    JuryOptions,
    combine_votes,
    judge,
    seat_members,
)
from judgelake.tasks.judging.protocols import PROTOCOLS, identify_judge
from judgelake.tasks.types import JUDGE, Identity, Verdict, Vote, Wants
from tests.judging.judging_by_hand import MODELS, conclude, make_case

NAMES = ("x", "y", "z", "w")


def options(n_members: int = 3, **more: Any) -> JuryOptions:
    return JuryOptions(NAMES[:n_members], **more)


def vote(*scores: float, name: str = "x", status: str = "ok", weight: float | None = None) -> Vote:
    return Vote(name, status, scores, weight)


def score(*scores: float, combine: Any = "mean") -> float | None:
    votes = [vote(one, name=name) for one, name in zip(scores, NAMES, strict=False)]
    return combine_votes(votes, options(len(votes), combine=combine), is_pair=False).score_0_1


def test_scores_by_rule() -> None:
    assert score(0.0, 0.5, 1.0) == 0.5
    assert score(0.0, 0.25, 1.0) == pytest.approx(1.25 / 3)
    assert score(0.0, 0.25, 1.0, combine="median") == 0.25
    assert score(0.0, 1.0, 1.0, combine="majority") == 1.0
    # 0 and 1 twice each: their mean
    assert score(0.0, 1.0, 0.0, 1.0, combine="majority") == 0.5
    assert score(0.0, 0.5, 1.0, combine="majority") == 0.5
    # a third from another sum is the same vote
    assert score(1 / 3, 1 - 2 / 3, 1.0, combine="majority") == pytest.approx(1 / 3)


def test_the_rating_is_the_score_and_the_votes_are_shown() -> None:
    case = make_case(votes=(vote(1.0), vote(0.25, name="y")))
    assert conclude(judge(case, options(2), MODELS)) == Verdict(
        "ok", 0.625, 0.625, rationale="x 1, y 0.25"
    )


@pytest.mark.parametrize(
    ("combine", "expected"),
    [("mean", 1 / 3), ("median", 0.0), ("majority", 0.0)],
)
def test_a_member_has_one_vote_however_often_it_was_asked(combine: Any, expected: float) -> None:
    """One says 1 three times and two say 0 once: all five samples together would be 3/5, 1, 1."""
    votes = [vote(1.0, 1.0, 1.0), vote(0.0, name="y"), vote(0.0, name="z")]
    found = combine_votes(votes, options(combine=combine), is_pair=False)
    assert found.score_0_1 == pytest.approx(expected)


def test_samples_are_joined_by_the_rule_of_the_jury() -> None:
    votes = [vote(1.0, 1.0, 0.0), vote(1.0, name="y")]
    found = [
        combine_votes(votes, options(2, combine=rule), is_pair=False).score_0_1
        for rule in ("mean", "median", "majority")  # 2/3, 1 and 1 for x
    ]
    assert found == [pytest.approx(5 / 6), 1.0, 1.0]


def test_others_stand_in_for_a_missing_member_who_is_named() -> None:
    votes = [vote(1.0), vote(name="y", status="unparsed"), vote(0.5, name="z")]
    found = combine_votes(votes, options(), is_pair=False)
    assert (found.status, found.score_0_1, found.reason) == ("ok", 0.75, "without y (unparsed)")
    strict = combine_votes(votes, options(min_members=3), is_pair=False)
    assert (strict.status, strict.score_0_1) == ("failed", None)
    assert strict.reason == (
        "2 of 3 members have a verdict; expected at least 3; without one: y (unparsed)"
    )


def test_more_than_half_must_have_a_verdict_unless_said_otherwise() -> None:
    assert [options(n).least for n in (2, 3, 4)] == [2, 2, 3]
    assert options(4, min_members=1).least == 1
    votes = [vote(1.0), vote(name="y", status="not asked")]
    assert combine_votes(votes, options(2), is_pair=False).status == "failed"
    assert combine_votes(votes, options(2, min_members=1), is_pair=False).score_0_1 == 1.0


def test_learnt_weights_are_shown_and_renormalised_over_those_with_a_verdict() -> None:
    votes = [
        vote(1.0, weight=0.62),
        vote(0.5, name="y", weight=0.38),
        vote(name="z", status="failed", weight=0.0),
    ]
    found = combine_votes(votes, options(combine="learnt"), is_pair=False)
    assert found.score_0_1 == pytest.approx(0.62 + 0.19)
    assert found.rationale == "x 1 (weight 0.62), y 0.5 (weight 0.38)"
    votes[2] = vote(0.0, name="z", weight=0.5)
    half = combine_votes(votes, options(combine="learnt"), is_pair=False)
    assert half.score_0_1 == pytest.approx((0.62 + 0.19) / 1.5)


def test_without_weights_there_is_a_reason() -> None:
    votes = [vote(1.0), vote(0.5, name="y")]
    found = combine_votes(votes, options(2, combine="learnt"), is_pair=False)
    assert (found.status, found.reason) == ("failed", TOO_FEW_LABELS)
    votes = [vote(1.0, weight=0.0), vote(name="y", status="refused", weight=1.0)]
    found = combine_votes(votes, options(2, combine="learnt", min_members=1), is_pair=False)
    assert found.reason == "only members of weight 0 have a verdict; without one: y (refused)"


@pytest.mark.parametrize(
    ("shares", "combine", "expected"),
    [
        ((0.0, 0.0, 1.0), "mean", ("a", pytest.approx(1 / 3))),
        ((0.0, 0.0, 1.0), "majority", ("a", 0.0)),
        ((0.4, 0.4, 1.0), "mean", ("b", 0.6)),
        ((0.4, 0.4, 1.0), "majority", ("a", 0.0)),
        ((0.0, 1.0), "majority", ("tie", 0.5)),
        ((0.0, 0.5, 1.0), "median", ("tie", 0.5)),
    ],
)
def test_pairs(shares: tuple[float, ...], combine: Any, expected: tuple[str, Any]) -> None:
    votes = [vote(one, name=name) for one, name in zip(shares, NAMES, strict=False)]
    case = make_case(votes=tuple(votes), other_answer="a dog", shown_first="b")
    found = conclude(judge(case, options(len(votes), combine=combine), MODELS))
    assert (found.choice, found.preference_b) == expected
    assert (found.status, found.rating) == ("ok", None)


def member(alias: str, *criteria: str, unit: Any = "answer", **more: Any) -> Identity:
    wants = Wants(("vqa",), unit=unit, criteria=(criteria or ("correctness",),), **more)
    return Identity("judge", alias, alias * 16, "r", "call", "read", ("b",), wants)


def match(*members: Identity, **more: Any) -> list[tuple[str, ...]]:
    """The jury's criterion with those of its members, each."""
    wants = seat_members(options(len(members), **more), members)
    own = zip(*(seat.criteria for seat in wants.seats), strict=True)
    return [(*group, *names) for group, names in zip(wants.criteria, own, strict=True)]


def test_criteria_that_all_judge_are_combined_one_by_one() -> None:
    both = ("clarity", "overall")
    assert match(member("x"), member("y")) == [("correctness",) * 3]
    assert match(member("x", *both), member("y", *both)) == [("clarity",) * 3, ("overall",) * 3]
    assert match(member("x", *both), member("y", "overall")) == [("overall",) * 3]
    assert match(member("x", *both), member("y", *both), criterion="clarity") == [("clarity",) * 3]


def test_others_are_combined_as_overall() -> None:
    found = match(member("x"), member("y", "clarity", "overall"), member("z", "rubric"))
    assert found == [("overall", "correctness", "overall", "rubric")]


@pytest.mark.parametrize(
    ("members", "more", "message"),
    [
        ((member("x"), member("y", "a", "b")), {}, r"share no criterion \(x: correctness; y: a, b"),
        ((member("x"), member("y", "overall")), {"criterion": "overall"}, "criterion: 'overall'; "),
        ((member("x"), member("y", unit="pair")), {}, "'x' scores answers and 'y' compares pairs"),
        ((member("x"), member("y", unit="feedback")), {}, "'y' gives no scores"),
        ((member("x"), member("y", unit="image")), {}, "'y' gives no scores"),
        ((member("x", unit="pair"),) * 2, {"combine": "learnt"}, "combine: learnt; expected mean"),
    ],
)
def test_members_that_cannot_be_combined(
    members: tuple[Identity, ...], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        seat_members(options(2, **more), members)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"members": ()}, "members: none; expected the names of two or more"),
        ({"members": ("x",)}, "members: x; expected"),
        ({"members": ("x", "x")}, "members: x, x; expected"),
        (
            {"members": ("x", "y"), "min_members": 3},
            "min_members: 3; expected a number from 1 to 2",
        ),
        ({"members": ("x", "y"), "min_members": 0}, "min_members: 0; expected"),
    ],
)
def test_options_that_cannot_work_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        JuryOptions(**given)


def test_members_and_rule_make_the_judge_and_names_do_not() -> None:
    def identify(members: tuple[Identity, ...], **more: Any) -> Identity:
        given = options(2, **more)
        return identify_judge(
            "j", PROTOCOLS["jury"], given, {JUDGE: ""}, ("b",), 2048, members=members
        )

    one, other = member("x"), member("y")
    variants = [
        identify((one, other)),
        identify((one, member("w"))),
        identify((other, one)),
        identify((one, other), combine="median"),
        identify((one, other), min_members=1),
        identify((one, other), criterion="correctness"),
    ]
    assert len({found.judge_id for found in variants}) == len(variants)
    assert {found.kind for found in variants} == {"judge"}
    assert variants[0].call_signature.endswith(f"|members:{'x' * 16}/r and {'y' * 16}/r")
