"""Views over what others judged and chose, as given and expected rows: recorded judges,
preferences, agreement, win rates.
"""

from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import Lake
from tests.intervals import fit_share, odds_ends
from tests.lakes import (
    Row,
    answer,
    append_records,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    query,
    rating,
    verdict_row,
)

A = "a" * 16
ITEMS = [item(f"i{number}", f"Q{number}") for number in range(6)]
ANSWERS = [
    answer(row["item_id"], f"{model} says", model) for row in ITEMS for model in ("m1", "m2")
]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def recorded(
    item_id: str, found: float | None, judge: str = "gpt", answer_id: str = "m1", **more: object
) -> Row:
    """A recorded verdict on a scale of 1 to 5; None is one that could not be read."""
    row: Row = {
        "item_id": item_id,
        "answer_id": answer_id,
        "judge": judge,
        "criterion": "correctness",
        "sample": 0,
        "rating": found,
    }
    row |= {
        "status": "unparsed" if found is None else "ok",
        "scale_low": 1.0,
        "scale_high": 5.0,
        "text": None,
        "reason": None,
    }
    return {**row, **more}


def preference(
    item_id: str,
    choice: str | None,
    annotator: str = "p1",
    a: str = "m1",
    b: str = "m2",
    **more: object,
) -> Row:
    row: Row = {
        "item_id": item_id,
        "answer_a": a,
        "answer_b": b,
        "criterion": "overall",
        "shown_first": "a",
        "choice": choice,
    }
    return {**row, "annotator": annotator, "study": None, **more}


def duel(item_id: str, choice: str | None, judge: str = "gpt", **more: object) -> Row:
    row = preference(item_id, choice)
    del row["annotator"], row["study"]
    row |= {
        "judge": judge,
        "sample": 0,
        "status": "unparsed" if choice is None else "ok",
        "preference_b": None,
    }
    return {
        **row,
        "score_a": None,
        "score_b": None,
        "text": None,
        "top_logprobs": [],
        "reason": None,
        **more,
    }


def metric_score(item_id: str, score: float | None) -> Row:
    return {"item_id": item_id, "answer_id": "m1", "metric": "spice", "score": score}


def rows(lake: Lake, text: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in query(lake, text)]


# ---- core_judges, core_scores


def test_recorded_judges_and_metrics_are_judges_of_the_benchmarks_that_hold_them(
    lake: Lake,
) -> None:
    ingest(
        lake,
        ITEMS,
        ANSWERS,
        recorded_verdicts=[recorded("i0", 5)],
        recorded_scores=[metric_score("i0", 0.3)],
    )
    ingest(lake, ITEMS, ANSWERS, benchmark="c", recorded_duels=[duel("i0", "a")])
    assert rows(
        lake, "select judge, kind, reading, benchmarks from core_judges order by judge"
    ) == [
        ("gpt", "recorded", "recorded", ["b", "c"]),
        ("metric:spice", "recorded_metric", "recorded", ["b"]),
    ]
    assert rows(
        lake, "select count(distinct judge_id), min(length(judge_id)) from core_judges"
    ) == [(2, 16)]


def test_a_judge_of_ours_that_is_called_as_a_recorded_one_is_named_in_full(lake: Lake) -> None:
    ingest(lake, ITEMS, ANSWERS, recorded_verdicts=[recorded("i0", 5)])
    append_records(lake, "judges", [judge_row("gpt", A), judge_row("lave", "b" * 16)])
    assert rows(lake, "select judge from core_judges order by judge") == [
        ("gpt",),
        (f"gpt@{A}/r1",),
        ("lave",),
    ]


def test_recorded_ratings_are_scores_of_the_answers(lake: Lake) -> None:
    verdicts = [
        recorded("i0", 2),
        recorded("i1", None, reason="no digit"),
        recorded("i2", 5, answer_id="m2", sample=1),
    ]
    ingest(
        lake,
        ITEMS,
        ANSWERS,
        recorded_verdicts=verdicts,
        recorded_scores=[metric_score("i0", 0.3), metric_score("i1", None)],
    )
    columns = "judge, item_id, model, criterion, sample, status, rating, score_0_1, reason"
    # (2 - 1) / 4 = 0.25
    assert rows(lake, f"select {columns} from core_scores order by judge, item_id") == [
        ("gpt", "i0", "m1", "correctness", 0, "ok", 2.0, 0.25, None),
        ("gpt", "i1", "m1", "correctness", 0, "unparsed", None, None, "no digit"),
        ("gpt", "i2", "m2", "correctness", 1, "ok", 5.0, 1.0, None),
        ("metric:spice", "i0", "m1", "overall", 0, "ok", 0.3, 0.3, None),
        ("metric:spice", "i1", "m1", "overall", 0, "undefined", None, None, None),
    ]


def test_recorded_rows_of_a_former_ingest_are_gone(lake: Lake) -> None:
    ingest(
        lake,
        ITEMS,
        ANSWERS,
        recorded_verdicts=[recorded("i0", 2)],
        recorded_duels=[duel("i0", "a")],
    )
    ingest(lake, ITEMS, ANSWERS, minute=9)
    assert (
        rows(lake, "select judge from core_judges")
        == rows(lake, "select rater from core_choices")
        == []
    )


# ---- core_choices


def test_choices_of_people_and_recorded_judges_stand_side_by_side(lake: Lake) -> None:
    people = [preference("i0", "a"), preference("i1", "tie"), preference("i2", None)]
    judges = [
        duel("i0", "b"),
        duel("i1", "b", preference_b=0.8),
        duel("i2", None, sample=1, shown_first="b"),
    ]
    ingest(lake, ITEMS, ANSWERS, human_preferences=people, recorded_duels=judges)
    columns = "rater, item_id, model_a, model_b, sample, shown_first, status, choice, preference_b"
    assert rows(lake, f"select {columns} from core_choices order by rater, item_id") == [
        ("gpt", "i0", "m1", "m2", 0, "a", "ok", "b", 1.0),
        ("gpt", "i1", "m1", "m2", 0, "a", "ok", "b", 0.8),
        ("gpt", "i2", "m1", "m2", 1, "b", "unparsed", None, None),
        ("human:p1", "i0", "m1", "m2", 0, "a", "ok", "a", 0.0),
        ("human:p1", "i1", "m1", "m2", 0, "a", "ok", "tie", 0.5),
        ("human:p1", "i2", "m1", "m2", 0, "a", "missing", None, None),
    ]


@pytest.mark.parametrize("step", [1, -1])
def test_a_pair_whose_orders_failed_differently_has_the_first_status_by_name(
    lake: Lake, step: int
) -> None:
    failed = (("a", "unparsed"), ("b", "refused"))
    judges = [
        duel(f"i{n}", None, shown_first=first, status=status)
        for n in range(3)
        for first, status in (failed if n % 2 else failed[::-1])
    ]
    ingest(lake, ITEMS, ANSWERS, recorded_duels=judges[::step])
    assert rows(lake, "select status, count(*) from core_choices group by all") == [("refused", 3)]
    assert rows(lake, "select status, n from rpt_coverage") == [("refused", 3)]


# ---- core_labels


def test_labels_are_scores_of_judges_and_people_and_choices(lake: Lake) -> None:
    ingest(
        lake, ITEMS, ANSWERS, [rating("i0", 1.0)],
        recorded_verdicts=[recorded("i0", 3), recorded("i1", None)], recorded_scores=[metric_score("i0", 0.3)],
        recorded_duels=[duel("i0", "tie"), duel("i1", None)],
    )  # fmt: skip
    append_records(lake, "judges", [judge_row("lave", A)])
    digest = digest_of(ITEMS[0], "m1 says")
    append_records(lake, "cases", [case_row(A, "i0", digest)])
    append_records(lake, "verdicts", [verdict_row(A, "i0", digest, 3)])
    assert rows(
        lake, "select rater, subject, criterion, label from core_labels order by rater, criterion"
    ) == [
        ("gpt", "m1", "correctness", "0.5"),
        ("gpt", "m1 / m2", "overall", "tie"),
        ("human:p1", "m1", "correctness", "1.0"),
        ("lave", "m1", "correctness", "1.0"),
    ]


# ---- rpt_agreement


def test_agreement_and_kappa_of_two_raters(lake: Lake) -> None:
    people, judge = ("a", "a", "b", "tie", "b", None), ("a", "b", "b", "tie", "a", "a")
    ingest(
        lake, ITEMS, ANSWERS,
        human_preferences=[preference(f"i{number}", choice) for number, choice in enumerate(people)],
        recorded_duels=[duel(f"i{number}", choice) for number, choice in enumerate(judge)],
    )  # fmt: skip
    # Five pairs have both labels: a a, a b, b b, tie tie, b a. Three agree: 0.6. Both raters say a
    # 2, b 2, tie 1 times, so chance
    # agrees on (2 * 2 + 2 * 2 + 1 * 1) / 25 = 0.36, and kappa = (0.6 - 0.36) / (1 - 0.36) = 0.375
    # (Cohen 1960).
    (row,) = query(lake, "select * from rpt_agreement")
    assert (row["judge_a"], row["judge_b"], row["criterion"], row["n"], row["agreement"]) == (
        "gpt",
        "human:p1",
        "overall",
        5,
        0.6,
    )
    assert row["kappa"] == pytest.approx(0.375, abs=1e-12)


def test_without_any_agreement_kappa_is_below_zero_and_with_one_label_undefined(lake: Lake) -> None:
    labels = {"p1": "abab", "p2": "baba", "p3": "aaaa", "p4": "aaaa"}
    people = [
        preference(f"i{n}", choice, annotator)
        for annotator, choices in labels.items()
        for n, choice in enumerate(choices)
    ]
    ingest(lake, ITEMS, ANSWERS, human_preferences=people)
    found = rows(lake, "select judge_a, judge_b, agreement, kappa from rpt_agreement")
    # p1, p2: chance (2 * 2 + 2 * 2) / 16 = 0.5, kappa (0 - 0.5) / 0.5 = -1; p1, p3: chance 2 * 4 /
    # 16 = 0.5; p3, p4: chance 1
    assert found[0] == ("human:p1", "human:p2", 0.0, -1.0)
    assert found[1] == ("human:p1", "human:p3", 0.5, 0.0)
    assert found[5] == ("human:p3", "human:p4", 1.0, None)


def test_agreement_counts_the_first_sample_of_the_same_criterion(lake: Lake) -> None:
    verdicts = [
        recorded("i0", 5),
        recorded("i0", 1, sample=1),
        recorded("i1", 5, criterion="fluency"),
    ]
    people = [rating(name, 5.0, scale_low=1.0, scale_high=5.0) for name in ("i0", "i1")]
    ingest(lake, ITEMS, ANSWERS, people, recorded_verdicts=verdicts)
    assert rows(lake, "select judge_a, judge_b, criterion, n, agreement from rpt_agreement") == [
        ("gpt", "human:p1", "correctness", 1, 1.0)
    ]


# ---- core_rater_scales


def test_the_span_of_a_scale_is_read_from_its_ends_or_from_two_ratings(lake: Lake) -> None:
    """`once` has one rating alone, and its record's ends; `lave` one alone, and those it declares."""
    append_records(lake, "judges", [judge_row("lave", A, reading_signature="reader:r|scale:1-3")])
    digest = digest_of(ITEMS[0], "m1 says")
    append_records(lake, "cases", [case_row(A, "i0", digest)])
    append_records(lake, "verdicts", [verdict_row(A, "i0", digest, 3)])
    verdicts = [recorded("i0", 5), recorded("i1", 2), recorded("i0", 5, judge="once")]
    verdicts += [recorded("i1", 5, judge="once")]
    people = [rating("i0", 1.0), rating("i1", 2.0, "p2", scale_low=1.0, scale_high=3.0)]
    ingest(lake, ITEMS, ANSWERS, people, recorded_verdicts=verdicts)
    assert rows(lake, "select rater, span from core_rater_scales order by rater") == [
        ("gpt", 4.0), ("human:p1", 1.0), ("human:p2", 2.0), ("lave", 2.0), ("once", 4.0)
    ]  # fmt: skip


# ---- rpt_win_rate, core_win_rates


def test_win_rates_of_both_orders_sum_to_one(lake: Lake) -> None:
    choices = [
        duel("i0", "a"),
        duel("i1", "a"),
        duel("i2", "tie"),
        duel("i3", None),
        duel("i4", "b", preference_b=0.9),
    ]
    swapped = duel("i5", "a", answer_a="m2", answer_b="m1")  # m2 wins
    ingest(lake, ITEMS, ANSWERS, recorded_duels=[*choices, swapped])
    # m1's shares: 1, 1, 0.5, 1 - 0.9 = 0.1, 0: their mean is 2.6 / 5 = 0.52
    found = query(lake, "select * from rpt_win_rate")
    assert [
        (row["model_a"], row["model_b"], row["n"], row["wins"], row["ties"], row["losses"])
        for row in found
    ] == [
        ("m1", "m2", 5, 2, 1, 2),
        ("m2", "m1", 5, 2, 1, 2),
    ]
    assert [row["win_rate"] for row in found] == pytest.approx([0.52, 0.48], abs=1e-12)
    assert {(row["benchmark"], row["judge"], row["criterion"]) for row in found} == {
        ("b", "gpt", "overall")
    }


def test_the_interval_of_a_win_rate_is_over_clusters(lake: Lake) -> None:
    items = [item(f"i{k}", f"Q{k}", image=f"{'aabcd'[k]}.png") for k in range(5)]
    answers = [
        answer(f"i{k}", f"{model} on {k}", model) for k in range(5) for model in ("m1", "m2")
    ]
    ingest(
        lake,
        items,
        answers,
        recorded_duels=[
            duel(f"i{k}", choice) for k, choice in enumerate(("a", "a", "tie", "b", "a"))
        ],
    )
    # m1's shares by image: a 1 + 1 = 2 of 2, b 0.5 of 1, c 0 of 1, d 1 of 1
    low, high = odds_ends(fit_share([1, 1, 0.5, 0, 1], "aabcd"))
    first, second = query(lake, "select win_rate, low, high from rpt_win_rate")
    assert tuple(first.values()) == pytest.approx((0.7, low, high), abs=1e-7)
    assert tuple(second.values()) == pytest.approx((0.3, 1 - high, 1 - low), abs=1e-7)


def test_a_model_that_gets_every_win_has_no_interval(lake: Lake) -> None:
    ingest(lake, ITEMS, ANSWERS, recorded_duels=[duel("i0", "a"), duel("i1", "a")])
    assert rows(lake, "select win_rate, low, high from rpt_win_rate") == [
        (1.0, None, None),
        (0.0, None, None),
    ]


def test_a_model_does_not_win_from_itself(lake: Lake) -> None:
    forms = [
        answer("i0", f"{style} text", "m1", answer_id=style, style=style)
        for style in ("long", "short")
    ]
    unnamed = [answer("i1", text, None, answer_id=text) for text in ("x", "y")]
    of_one_model = [
        duel("i0", "a", answer_a="long", answer_b="short"),
        duel("i1", "b", answer_a="x", answer_b="y"),
    ]
    ingest(
        lake,
        ITEMS,
        [*forms, *unnamed, *ANSWERS[4:]],
        recorded_duels=[*of_one_model, duel("i2", "a")],
    )
    assert rows(lake, "select count(*) from core_choices") == [(3,)]
    assert rows(lake, "select model_a, model_b, n, win_rate from rpt_win_rate") == [
        ("m1", "m2", 1, 1.0),
        ("m2", "m1", 1, 0.0),
    ]


@pytest.mark.parametrize("view", ["core_choices", "core_labels", "rpt_agreement", "rpt_win_rate"])
def test_an_empty_lake_has_no_row(lake: Lake, view: str) -> None:
    assert query(lake, f"select * from {view}") == []
