"""core_duels, the choices made of them in core_choices, and rpt_image_dependence, as given and
expected rows.
"""

import hashlib
from typing import Any

import pytest

from judgelake.tasks.lake.lake import Lake
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    judge_row,
    make_lake,
    preference,
    query,
    verdict_row,
)

A, B, C = "a" * 16, "b" * 16, "c" * 16
CAT = item("i0", image="0.png")
TEXTS = {"m1": "x", "m2": "y", "m3": "z"}
DIGEST = {model: digest_of(CAT, text) for model, text in TEXTS.items()}


@pytest.fixture
def lake(tmp_path: Any) -> Lake:
    lake = make_lake(tmp_path)
    append_records(lake, "judges", [judge_row("chirp", A)])
    return lake


def put_answers(lake: Lake, **more: Any) -> None:
    ingest(lake, [CAT], [answer("i0", text, model) for model, text in TEXTS.items()], **more)


def put_duel(
    lake: Lake, first: str, second: str, winner: str | None, judge_id: str = A, **more: Any
) -> None:
    """`first` is shown first; the winner is a model, 'tie', or None for an unreadable reply; a is
    the lesser digest, as planning has it.
    """
    a, b = sorted((first, second), key=DIGEST.__getitem__)
    shown = "a" if first == a else "b"
    choice = {a: "a", b: "b"}.get(winner or "", winner)
    names = ("criterion", "sample", "other_digest")
    key = {"other_digest": DIGEST[b], "shown_first": shown, "criterion": "overall"} | {
        k: v for k, v in more.items() if k in names
    }
    append_records(lake, "cases", [case_row(judge_id, "i0", DIGEST[a], **key)])
    append_records(
        lake,
        "duels",
        [
            duel_row(
                judge_id,
                "i0",
                DIGEST[a],
                DIGEST[b],
                shown,
                choice,
                **{"criterion": "overall", **more},
            )
        ],
    )


def choices(
    lake: Lake, columns: str = "answer_a, answer_b, status, choice, preference_b"
) -> list[tuple[Any, ...]]:
    return [
        tuple(row.values())
        for row in query(lake, f"select {columns} from core_choices order by all")
    ]


def test_a_duel_is_shown_by_answer_id_whatever_the_digests_say(lake: Lake) -> None:
    put_answers(lake)
    for first, second in (("m1", "m2"), ("m2", "m3"), ("m3", "m1")):
        put_duel(lake, first, second, first)
    found = query(
        lake,
        "select answer_a, answer_b, model_a, model_b, shown_first, choice, preference_b from "
        "core_duels order by all",
    )
    assert [tuple(row.values()) for row in found] == [
        ("m1", "m2", "m1", "m2", "a", "a", 0.0),
        ("m1", "m3", "m1", "m3", "b", "b", 1.0),
        ("m2", "m3", "m2", "m3", "a", "a", 0.0),
    ]


def test_a_wanted_pair_without_a_verdict_is_not_asked(lake: Lake) -> None:
    put_answers(lake)
    digest, other = sorted((DIGEST["m1"], DIGEST["m2"]))
    append_records(lake, "cases", [case_row(A, "i0", digest, other_digest=other, shown_first="a")])
    assert query(lake, "select status, choice from core_duels") == [
        {"status": "not_asked", "choice": None}
    ]
    assert query(lake, "select count(*) as n from core_scores") == [{"n": 0}]


def test_orders_that_agree_are_one_choice_and_orders_that_differ_are_inconsistent(
    lake: Lake,
) -> None:
    put_answers(lake)
    put_duel(lake, "m1", "m2", "m2")
    put_duel(lake, "m2", "m1", "m2")
    put_duel(lake, "m1", "m3", "m1")  # always the one shown first
    put_duel(lake, "m3", "m1", "m3")
    put_duel(lake, "m2", "m3", "m2")
    put_duel(lake, "m3", "m2", "tie")
    assert choices(lake) == [
        ("m1", "m2", "ok", "b", 1.0),
        ("m1", "m3", "inconsistent", None, 0.5),
        ("m2", "m3", "inconsistent", None, 0.5),
    ]
    shares = query(
        lake,
        "select model_a, model_b, n, wins, ties, n_inconsistent, win_rate from rpt_win_rate "
        "where model_a = 'm1'",
    )
    assert [tuple(row.values()) for row in shares] == [
        ("m1", "m2", 1, 0, 0, 0, 0.0),
        ("m1", "m3", 1, 0, 0, 1, 0.5),
    ]


def test_a_pair_of_which_one_order_was_not_read_has_no_choice(lake: Lake) -> None:
    put_answers(lake)
    put_duel(lake, "m1", "m2", "m2")
    put_duel(lake, "m2", "m1", None)
    put_duel(lake, "m1", "m3", "m1")  # one order alone was wanted
    assert choices(lake) == [("m1", "m2", "unparsed", None, None), ("m1", "m3", "ok", "a", 0.0)]
    assert choices(lake, "answer_b, shown_first") == [("m2", None), ("m3", "a")]


def test_people_and_recorded_pairs_are_reported_in_the_same_order(lake: Lake) -> None:
    put_answers(
        lake,
        human_preferences=[
            preference("i0", "m2", "m1", "a", shown_first="a"),
            preference("i0", "m3", "m1", None),
        ],
    )
    columns = "answer_a, answer_b, shown_first, status, choice, preference_b"
    assert choices(lake, columns) == [
        ("m1", "m2", "b", "ok", "b", 1.0),
        ("m1", "m3", None, "missing", None, None),
    ]


def test_a_judge_and_people_agree_over_pairs(lake: Lake) -> None:
    put_answers(
        lake,
        human_preferences=[preference("i0", "m2", "m1", "a"), preference("i0", "m1", "m3", "a")],
    )
    put_duel(lake, "m1", "m2", "m2")
    put_duel(lake, "m1", "m3", "m3")
    (row,) = query(lake, "select judge_a, judge_b, n, agreement from rpt_agreement")
    assert row == {"judge_a": "chirp", "judge_b": "human:p1", "n": 2, "agreement": 0.5}


def test_a_pair_with_the_reference(lake: Lake) -> None:
    put_answers(lake)
    reference = hashlib.sha256(b"reference:cat").hexdigest()[:16]
    append_records(
        lake,
        "cases",
        [
            case_row(
                A, "i0", DIGEST["m1"], other_digest=reference, shown_first="a", criterion="overall"
            )
        ],
    )
    duel = duel_row(
        A, "i0", DIGEST["m1"], reference, "a", "b", criterion="overall", score_a=6.0, score_b=9.0
    )
    append_records(lake, "duels", [duel])
    (row,) = query(
        lake, "select answer_a, answer_b, model_b, choice, score_a, score_b from core_duels"
    )
    assert tuple(row.values()) == ("m1", "(reference)", "(reference)", "b", 6.0, 9.0)
    assert choices(lake, "model_a, model_b, choice") == [("m1", "(reference)", "b")]


def test_answers_of_other_styles_or_of_one_model_are_no_pair(lake: Lake) -> None:
    answers = [
        answer("i0", "x"),
        answer("i0", "y", "m1", sample=1, answer_id="s1"),
        answer("i0", "y", "m2", style="long"),
    ]
    ingest(lake, [CAT], answers)
    put_duel(lake, "m1", "m2", "m1")
    assert choices(lake) == []


# ---- rpt_image_dependence


def signed(judge_id: str, alias: str, image: str) -> Row:
    side = "" if image == "absent" else "|image_max_side:2048"
    return judge_row(
        alias,
        judge_id,
        call_signature=f"protocol:p|model:m|image:{image}{side}",
        registered_at=at(9),
    )


def test_judges_that_differ_only_in_the_image_are_compared(lake: Lake) -> None:
    put_answers(lake)
    shown = [
        signed(A, "sees", "true"),
        signed(B, "blind", "absent"),
        signed(C, "swapped", "swapped-0"),
    ]
    append_records(
        lake,
        "judges",
        [
            *shown,
            signed("d" * 16, "other-model", "absent")
            | {"call_signature": "protocol:p|model:n|image:absent"},
        ],
    )
    ratings = {A: (3, 1, 2), B: (3, 3, None), C: (1, 1, 2)}
    for judge_id, given in ratings.items():
        for model, rating in zip(TEXTS, given, strict=True):
            append_records(lake, "cases", [case_row(judge_id, "i0", DIGEST[model])])
            append_records(lake, "verdicts", [verdict_row(judge_id, "i0", DIGEST[model], rating)])
    columns = "judge_a, judge_b, image_b, n, changed, mean_change"
    found = [
        tuple(row.values()) for row in query(lake, f"select {columns} from rpt_image_dependence")
    ]
    # blind: |1 - 1|, |0 - 1| over the two both read; swapped: |1 - 0|, 0, 0
    assert found == [
        ("sees", "blind", "absent", 2, 0.5, 0.5),
        ("sees", "swapped", "swapped-0", 3, pytest.approx(1 / 3), pytest.approx(1 / 3)),
    ]


def test_choices_between_answers_are_compared_order_by_order(lake: Lake) -> None:
    put_answers(lake)
    append_records(lake, "judges", [signed(A, "sees", "true"), signed(B, "blind", "absent")])
    put_duel(lake, "m1", "m2", "m1")
    put_duel(lake, "m2", "m1", "m1")
    put_duel(lake, "m1", "m2", "m1", judge_id=B)
    put_duel(lake, "m2", "m1", "m2", judge_id=B)
    (row,) = query(lake, "select n, changed, mean_change from rpt_image_dependence")
    assert row == {"n": 2, "changed": 0.5, "mean_change": 0.5}


# ---- core_feedback_choices, rpt_feedback_preference


def test_whose_feedback_a_judge_prefers(lake: Lake) -> None:
    put_answers(lake)
    signature = "protocol:feedback_preference|feedback_of:one and two|image:absent"
    append_records(
        lake, "judges", [judge_row("referee", B, call_signature=signature, registered_at=at(9))]
    )
    given = {"m1": ("a", "a"), "m2": ("a", "b"), "m3": ("b", None)}  # by the order shown
    for model, chosen in given.items():
        for shown, choice in zip("ab", chosen, strict=True):
            key = {"other_digest": "f" * 16, "shown_first": shown, "criterion": "rubric"}
            append_records(lake, "cases", [case_row(B, "i0", DIGEST[model], **key)])
            append_records(
                lake,
                "duels",
                [duel_row(B, "i0", DIGEST[model], "f" * 16, shown, choice, criterion="rubric")],
            )
    found = query(
        lake,
        "select model, author_a, author_b, status, choice, preference_b from "
        "core_feedback_choices order by model",
    )
    assert [tuple(row.values()) for row in found] == [
        ("m1", "one", "two", "ok", "a", 0.0),
        ("m2", "one", "two", "inconsistent", None, 0.5),
        ("m3", "one", "two", "unparsed", None, None),
    ]
    (row,) = query(
        lake,
        "select n, wins_a, ties, wins_b, n_inconsistent, n_missing, win_rate_a from "
        "rpt_feedback_preference",
    )
    assert tuple(row.values()) == (2, 1, 0, 0, 1, 1, 0.75)
    assert choices(lake) == []  # no pair of answers


def test_pair_cases_are_the_last_planned_of_each_pair_and_no_case_of_one_answer(lake: Lake) -> None:
    pair: Row = {"other_digest": "d" * 16, "shown_first": "a"}
    cases = [
        case_row(A, "i0", DIGEST["m1"]),  # of one answer
        case_row(A, "i0", DIGEST["m1"], **pair, context_digest="1" * 16),
        case_row(
            A, "i0", DIGEST["m1"], **pair, context_digest="2" * 16, planned_at=at(5)
        ),  # planned again, in another context
        case_row(A, "i0", DIGEST["m1"], **{**pair, "shown_first": "b"}, context_digest="3" * 16),
    ]
    append_records(lake, "cases", cases)
    found = query(
        lake, "select shown_first, context_digest from core_pair_cases order by shown_first"
    )
    assert [tuple(row.values()) for row in found] == [("a", "2" * 16), ("b", "3" * 16)]
