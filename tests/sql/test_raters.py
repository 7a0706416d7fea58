"""What people and recorded judges say of the same answers, as given and expected rows: human rules,
two classes, coverage of duels.
"""

from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import Lake
from tests.lakes import Row, answer, ingest, item, make_lake, query, rating

ITEMS = [item(f"i{number:02}", f"Q{number}") for number in range(20)]
ANSWERS = [answer(row["item_id"], "cat") for row in ITEMS]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def verdict(number: int, found: float | None) -> Row:
    row: Row = {
        "item_id": f"i{number:02}",
        "answer_id": "m1",
        "judge": "gpt",
        "criterion": "correctness",
        "sample": 0,
    }
    row |= {
        "status": "unparsed" if found is None else "ok",
        "rating": found,
        "scale_low": 0.0,
        "scale_high": 1.0,
    }
    return {**row, "text": None, "reason": None}


def duel(number: int, choice: str | None) -> Row:
    row: Row = {
        "item_id": f"i{number:02}",
        "answer_a": "m1",
        "answer_b": "m2",
        "criterion": "overall",
        "shown_first": "a",
    }
    row |= {
        "choice": choice,
        "judge": "gpt",
        "sample": 0,
        "status": "unparsed" if choice is None else "ok",
    }
    row |= {
        "preference_b": None,
        "score_a": None,
        "score_b": None,
        "text": None,
        "top_logprobs": [],
        "reason": None,
    }
    return row


# ---- rpt_agreement, core_labels


def test_kappa_of_a_two_by_two_table_leaves_blanks_out(lake: Lake) -> None:
    # yes-yes 8, yes-no 2, no-yes 3, no-no 5; one answer that only the judge and one that only the
    # annotator has a label for.
    table = [(1.0, 1.0)] * 8 + [(1.0, 0.0)] * 2 + [(0.0, 1.0)] * 3 + [(0.0, 0.0)] * 5
    verdicts = [verdict(number, judged) for number, (judged, _) in enumerate(table)]
    ratings = [rating(f"i{number:02}", said) for number, (_, said) in enumerate(table)]
    ingest(
        lake,
        ITEMS,
        ANSWERS,
        [*ratings, rating("i18", 0.0)],
        recorded_verdicts=[*verdicts, verdict(18, None), verdict(19, 1.0)],
    )
    (row,) = query(lake, "select n, agreement, kappa from rpt_agreement")
    # 13 of 18 agree. The judge says yes 10 times, the annotator 11: chance (10 * 11 + 8 * 7) / 18^2
    # = 166 / 324.
    # kappa = (13/18 - 166/324) / (1 - 166/324) = (234 - 166) / (324 - 166) = 68 / 158.
    assert (row["n"], row["agreement"]) == (18, 13 / 18)
    assert row["kappa"] == pytest.approx(68 / 158, abs=1e-12)
    rows = query(
        lake, "select judge_a, label_a::double, label_b::double, n, share from rpt_confusion"
    )
    assert [tuple(cell.values())[1:] for cell in rows] == [
        (0, 0, 5, 5 / 8),
        (0, 1, 3, 3 / 8),
        (1, 0, 2, 2 / 10),
        (1, 1, 8, 8 / 10),
    ]


# ---- rpt_coverage, core_choices


def test_coverage_counts_a_recorded_judge_s_duels_beside_its_scores_and_no_people(
    lake: Lake,
) -> None:
    answers = [*ANSWERS, *(answer(row["item_id"], "dog", "m2") for row in ITEMS)]
    pair = {
        name: duel(3, None)[name]
        for name in ("item_id", "answer_a", "answer_b", "criterion", "shown_first", "choice")
    }
    preference = {**pair, "annotator": "p1", "study": None}
    ingest(
        lake, ITEMS, answers, human_preferences=[preference],
        recorded_duels=[duel(0, "a"), duel(1, "tie"), duel(2, None)], recorded_verdicts=[verdict(0, 1.0)],
    )  # fmt: skip
    rows = query(lake, "select judge, status, n from rpt_coverage")
    assert [tuple(row.values()) for row in rows] == [("gpt", "ok", 3), ("gpt", "unparsed", 1)]
