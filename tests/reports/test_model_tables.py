"""Superscores, overlaps of rankings and shares of labelled items, by hand."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from statsmodels.stats.proportion import proportion_confint

from judgelake.schemas.tables import TABLES
from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.reports.rankings import (
    PERSISTENCE,
    overlap_raters,
    rank_by_raters,
)
from judgelake.tasks.suite.suite import ReportSettings
from tests.lakes import Row, answer, ingest, item, make_lake, make_suite, query, rating, warehouse
from tests.reports.rater_rows import give_preferences

SUITE = make_suite(report=ReportSettings(resamples=100, seed=0))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def give_forms(lake: Lake) -> None:
    """Long and short answers of m1 to six items; the last lacks a short one, of the fifth people
    are of two minds.
    """
    items = [item(f"i{n}", f"Q{n}") for n in range(6)]
    answers = [
        answer(f"i{n}", f"{style} text", answer_id=style, style=style)
        for n in range(6) for style in ("long", "short") if n < 5 or style == "long"
    ]  # fmt: skip
    long, short = (1, 1, 0, 0, 1, 1), (0, 1, 1, 0, 1)
    ratings = [rating(f"i{n}", float(value), "p1", "long") for n, value in enumerate(long)]
    ratings += [rating(f"i{n}", float(value), "p1", "short") for n, value in enumerate(short)]
    ingest(lake, items, answers, [*ratings, rating("i4", 0.0, "p2", "long")])


def test_superscore_by_hand(lake: Lake) -> None:
    give_forms(lake)
    rows = query(lake, "select * from rpt_superscore")
    # Items 0 to 3: long right on 0, 1; short on 1, 2; either on 0, 1, 2.
    assert [(row["judge"], row["criterion"], row["model"], row["n"]) for row in rows] == [
        ("human", "correctness", "*", 4), ("human", "correctness", "m1", 4)
    ]  # fmt: skip
    for row in rows:
        assert (row["long"], row["short"], row["either"]) == (0.5, 0.5, 0.75)
        assert row["either_low"] <= 0.75 <= row["either_high"]


def test_graders_of_other_scores_are_left_out(lake: Lake) -> None:
    items = [item(f"i{n}", f"Q{n}") for n in range(3)]
    answers = [
        answer(f"i{n}", f"{style} text", answer_id=style, style=style)
        for n in range(3)
        for style in ("long", "short")
    ]
    graded = [
        rating(f"i{n}", 0.5, "p1", style, criterion="style")
        for n in range(2)
        for style in ("long", "short")
    ]
    ingest(
        lake,
        items,
        answers,
        [*graded, *(rating("i2", 1.0, "p1", style) for style in ("long", "short"))],
    )
    (pooled, _) = query(lake, "select * from rpt_superscore")  # of the third cluster alone
    assert (pooled["criterion"], pooled["n"], pooled["n_clusters"], pooled["either"]) == (
        "correctness",
        1,
        1,
        1.0,
    )


def test_graded_scores_are_neither_right_nor_wrong(lake: Lake) -> None:
    items = [item("i0")]
    answers = [answer("i0", style, answer_id=style, style=style) for style in ("long", "short")]
    ingest(
        lake,
        items,
        answers,
        [rating("i0", value, "p1", style) for style, value in (("long", 0.5), ("short", 1.0))],
    )
    assert query(lake, "select * from rpt_superscore") == []


def ranking_row(rater: str, model: str, rank: int | None) -> Row:
    row: Row = {
        "suite": "s",
        "benchmark": "b",
        "rater": rater,
        "criterion": "overall",
        "category": "*",
        "method": "elo",
    }
    row |= dict.fromkeys(("n", "n_missing", "n_clusters", "n_undefined", "resamples", "seed"), 0)
    row |= {
        "model": model,
        "rank": rank,
        "group_number": rank and 1,
        "rating": None,
        "initial": 1000.0,
        "scale": 400.0,
        "reported_at": datetime.now(UTC),
    }
    return row


def test_overlap_of_two_orders_by_hand() -> None:
    orders = {"gpt": ["m1", "m2", "m3"], "human": ["m2", "m1", "m3"]}
    rows = [
        ranking_row(rater, model, rank + 1)
        for rater, models in orders.items()
        for rank, model in enumerate(models)
    ]
    rows.append(ranking_row("gpt", "m4", None))  # without a rating
    frame = pl.DataFrame(rows, schema=TABLES["rankings"].polars_schema)
    (row,) = overlap_raters(frame).to_dicts()
    # Agreement 0, 1 and 1 ever after: 1 less the weight 1 - p of the first place.
    assert row["overlap"] == pytest.approx(PERSISTENCE)
    assert [
        row[name] for name in ("rater_a", "rater_b", "n_models_a", "n_models_b", "n_common")
    ] == ["gpt", "human", 3, 3, 3]


def test_annotators_who_agree_overlap_wholly(lake: Lake) -> None:
    chosen = {
        (n, a, b, who): "a"
        for n in range(4)
        for a, b in (("m1", "m2"), ("m2", "m3"), ("m1", "m3"))
        for who in ("p1", "p2")
    }
    give_preferences(lake, chosen)
    append_rows(lake, "ranking_overlaps", overlap_raters(rank_by_raters(warehouse(lake), SUITE)))
    rows = query(
        lake, "select rater_a, rater_b, overlap from rpt_ranking_overlap where method = 'elo'"
    )
    assert [(row["rater_a"], row["rater_b"]) for row in rows] == [
        ("human", "human:p1"), ("human", "human:p2"), ("human:p1", "human:p2")
    ]  # fmt: skip
    assert [row["overlap"] for row in rows] == pytest.approx([1, 1, 1])


def label(number: int, holds: bool, name: str = "ground truth is wrong") -> Row:
    return {"item_id": f"i{number:03}", "label": name, "labeller": "p1", "holds": holds}


def test_the_paper_s_share_of_wrong_ground_truths(lake: Lake) -> None:
    # CHIRP, section 5.2.3: 9 of a sample of 100 of GQA, 3.4 to 14.6 %.
    ingest(
        lake,
        [item(f"i{n:03}") for n in range(120)],
        item_labels=[label(n, n < 9) for n in range(100)],
    )
    (row,) = query(lake, "select * from rpt_item_labels")
    assert (row["label"], row["labeller"], row["n_items"], row["n"], row["n_holds"], row["share"]) == (
        "ground truth is wrong", "p1", 120, 100, 9, 0.09
    )  # fmt: skip
    assert (round(100 * row["normal_low"], 1), round(100 * row["normal_high"], 1)) == (3.4, 14.6)
    assert row["normal_low"] < row["wilson_low"] < 0.09 < row["normal_high"] < row["wilson_high"]
    expected = proportion_confint(9, 100, method="wilson")
    assert (row["wilson_low"], row["wilson_high"]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("holds", "ends"), [(0, (0, 0.277533)), (10, (1 - 0.277533, 1))])
def test_a_label_of_none_or_all(lake: Lake, holds: int, ends: tuple[float, float]) -> None:
    # Wilson, 0 of 10: z^2 / (n + z^2) = 3.8415 / 13.8415
    labels = [label(n, n < holds) for n in range(10)]
    ingest(lake, [item(f"i{n:03}") for n in range(10)], item_labels=labels)
    (row,) = query(lake, "select * from rpt_item_labels")
    assert (row["wilson_low"], row["wilson_high"]) == pytest.approx(ends, abs=1e-6)
    assert row["normal_low"] == row["normal_high"] == row["share"]
