"""Given rows of raters for the tests of report tables: items, answers of models, and who preferred
what.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports.kappas import measure_agreement
from judgelake.tasks.suite.suite import Suite
from judgelake.tasks.warehouse.warehouse import read_sql
from tests.lakes import (
    Row,
    answer,
    append_records,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    preference,
    warehouse_for,
)

JUDGE = "a" * 16


def give_preferences(
    lake: Lake,
    chosen: Mapping[tuple[int, str, str, str], str | None],
    categories: Mapping[int, str] | None = None,
    recorded: Sequence[Row] = (),
    models: Sequence[Row] = (),
) -> None:
    """Preferences by (item number, answer a's model, b's model, annotator): a, b, tie or None;
    every item is its own cluster.
    """
    numbers = sorted({key[0] for key in chosen} | {int(row["item_id"][1:]) for row in recorded})
    sides = {row[side] for row in recorded for side in ("answer_a", "answer_b")}
    named = sorted({model for key in chosen for model in key[1:3]} | sides)
    items = [
        item(name_item(number), f"Q{number}", category=(categories or {}).get(number))
        for number in numbers
    ]
    answers = [
        answer(name_item(number), f"{model} on {number}", model)
        for number in numbers
        for model in named
    ]
    rows = [
        preference(name_item(number), a, b, choice, who)
        for (number, a, b, who), choice in chosen.items()
    ]
    ingest(lake, items, answers, human_preferences=rows, recorded_duels=recorded, models=models)


def recorded_duel(
    number: int, a: str, b: str, choice: str | None, judge: str = "gpt", **more: object
) -> Row:
    row = preference(name_item(number), a, b, choice)
    del row["annotator"], row["study"]
    row |= {
        "judge": judge,
        "sample": 0,
        "status": "ok" if choice else "unparsed",
        "preference_b": None,
        "score_a": None,
    }
    return {**row, "score_b": None, "text": None, "top_logprobs": [], "reason": None, **more}


def judge_both_orders(
    lake: Lake,
    number: int,
    winners: tuple[str | None, str | None],
    models: tuple[str, str] = ("m1", "m2"),
) -> None:
    """Verdicts of JUDGE with either of the models shown first: the model that wins, or None for an
    unreadable reply.
    """
    of_item = item(name_item(number), f"Q{number}")
    by_digest = {digest_of(of_item, f"{model} on {number}"): model for model in models}
    a, b = sorted(by_digest)
    for shown, winner in zip(("a", "b"), winners, strict=True):
        choice = None if winner is None else "a" if winner == by_digest[a] else "b"
        key: Row = {"criterion": "overall"}
        append_records(
            lake,
            "cases",
            [case_row(JUDGE, name_item(number), a, other_digest=b, shown_first=shown, **key)],
        )
        append_records(
            lake, "duels", [duel_row(JUDGE, name_item(number), a, b, shown, choice, **key)]
        )


def name_item(number: int) -> str:
    return f"i{number:03}"


def agree(lake: Lake, suite: Suite) -> dict[str, pl.DataFrame]:
    """The tables about how raters agree, as the suite's report computes them."""
    return measure_agreement(warehouse_for(lake, read_sql("queries/rater_labels.sql")), suite)
