"""Source `table`: recorded judges' replies go through the readers, and columns of choices, shares
and scores become duels.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgelake.tasks.errors import SuiteError
from tests.lakes import query
from tests.sources.tables import ingest, list_rejected, read, write_bytes, write_lines, write_suite

ONE = {"item_id": "id", "prompt": {"constant": "?"}, "answer": "answer", "model": {"constant": "m"}}
PAIR = [{"model": "A", "text": "a"}, {"model": "B", "text": "b"}]


def verdicts(folder: Path, replies: list[str | None], **settings: object) -> list[tuple[Any, ...]]:
    write_lines(
        folder / "v.jsonl",
        [{"id": n, "answer": "x", "reply": reply} for n, reply in enumerate(replies)],
    )
    frames = read(
        folder,
        file="v.jsonl",
        columns=ONE,
        judge_verdicts={"judge": "j", "text": "reply", **settings},
    )
    assert frames.recorded_verdicts["text"].to_list() == replies
    return frames.recorded_verdicts.select("status", "rating", "reason").rows()


def duels(folder: Path, rows: list[dict[str, object]], **settings: object) -> pl.DataFrame:
    write_lines(
        folder / "d.jsonl", [{"id": n, "a": "x", "b": "y", **row} for n, row in enumerate(rows)]
    )
    columns = {"item_id": "id", "prompt": {"constant": "?"}}
    frames = read(
        folder,
        file="d.jsonl",
        columns=columns,
        answers=PAIR,
        judge_duels={"judge": "j", **settings},
    )
    return frames.recorded_duels


def test_rating_at_the_end_of_a_reply(tmp_path: Path) -> None:
    unread = ("unparsed", None, "the text ends in no rating from 1 to 3")
    replies = ["It is a cat. So rating=3", "2", "rating=4", "rating=2, or perhaps 3", "", None]
    found = verdicts(tmp_path, replies, reader="rating_at_end", scale=[1, 3])
    assert found == [
        ("ok", 3.0, None),
        ("ok", 2.0, None),
        unread,
        unread,
        unread,
        ("failed", None, "the file holds no verdict"),
    ]
    marked = verdicts(
        tmp_path,
        ["final score: 0", "rating=0"],
        reader="rating_at_end",
        marker="score",
        scale=[0, 9],
    )
    assert marked == [
        ("ok", 0.0, None),
        ("unparsed", None, "the text ends in no rating from 0 to 9"),
    ]


def test_marked_score(tmp_path: Path) -> None:
    found = verdicts(
        tmp_path,
        ["Good. [RESULT] 4", "So the overall score is 6"],
        reader="result_marker",
        scale=[1, 5],
    )
    assert found == [("ok", 4.0, None), ("unparsed", None, "the text marks no score from 1 to 5")]


def test_yes_and_no_are_the_ends_of_the_scale(tmp_path: Path) -> None:
    found = verdicts(
        tmp_path, ["**Yes**, it is.", "No.", "Perhaps"], reader="yes_no", scale=[-0.5, 1]
    )
    assert found == [
        ("ok", 1.0, None),
        ("ok", -0.5, None),
        ("unparsed", None, "the text begins with neither yes nor no"),
    ]


def test_replies_become_verdicts_of_the_lake(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "v.jsonl",
        [{"id": n, "answer": "x", "r": r} for n, r in enumerate(["yes", "hm", None])],
    )
    verdict = {"judge": "j", "text": "r", "reader": "yes_no", "scale": [0, 1]}
    lake = ingest(
        write_suite(tmp_path, {"file": "v.jsonl", "columns": ONE, "judge_verdicts": verdict}),
        tmp_path,
    )
    found = query(lake, "select status, rating, text from recorded_verdicts order by item_id")
    assert [tuple(row.values()) for row in found] == [
        ("ok", 1.0, "yes"),
        ("unparsed", None, "hm"),
        ("failed", None, None),
    ]
    assert query(lake, "select * from quarantine") == []


def test_a_label_of_a_reply_in_the_order_that_was_shown(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"reply": "[[A>>B]]", "first": "a"},
        {"reply": "[[A>B]]", "first": "b"},
        {"reply": "[[A=B]]", "first": "b"},
        {"reply": "$ERROR$", "first": "a"},
        {"reply": None, "first": "a"},
    ]
    settings: dict[str, object] = {"reader": "arena_label", "text": "reply"}
    found = duels(tmp_path, rows, **settings, shown_first="first")
    assert found.select("status", "choice", "preference_b").rows() == [
        ("ok", "a", 0.0),
        ("ok", "b", 0.75),
        ("ok", "tie", 0.5),
        ("unparsed", None, None),
        ("failed", None, None),
    ]
    assert found["reason"][3] == (
        "the text does not clearly give one of the labels from [[A>>B]] to [[B>>A]]"
    )


def test_texts_without_a_value_of_their_own(tmp_path: Path) -> None:
    """`*: null` makes them missing verdicts in place of rejected rows."""
    rows: list[dict[str, object]] = [
        {"label": "B>A", "reply": "r"},
        {"label": "I cannot say", "reply": "r"},
        {"label": "?", "reply": None},
    ]
    preference = {"from": "label", "values": {"B>A": "0.75", "*": None}}
    found = duels(tmp_path, rows, preference=preference, text="reply")
    assert found.select("status", "choice", "preference_b").rows() == [
        ("ok", "b", 0.75),
        ("unparsed", None, None),
        ("failed", None, None),
    ]


def test_two_scores_of_a_review_in_the_order_that_was_shown(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"review": "9 7\nBecause.", "first": "a"},
        {"review": "9 7\nBecause.", "first": "b"},
        {"review": "8 8", "first": "b"},
        {"review": "9 11", "first": "a"},
        {"review": "9 7", "first": None},
        {"review": None, "first": "a"},
    ]
    settings: dict[str, object] = {"reader": "two_numbers", "text": "review", "scale": [1, 10]}
    found = duels(tmp_path, rows, **settings, shown_first="first")
    columns = ("status", "choice", "preference_b", "score_a", "score_b")
    assert found.select(columns).rows() == [
        ("ok", "a", 0.0, 9.0, 7.0),
        ("ok", "b", 1.0, 7.0, 9.0),
        ("ok", "tie", 0.5, 8.0, 8.0),
        ("unparsed", None, None, None, None),
        ("unparsed", None, None, None, None),
        ("failed", None, None, None, None),
    ]
    assert found["text"].to_list() == [row["review"] for row in rows]
    assert found["reason"].to_list() == [
        *[None] * 3,
        "the text does not clearly give two scores from 1 to 10",
        "the file does not say which answer the judge saw first",
        "the file holds no verdict",
    ]
    plain = duels(tmp_path, rows, **settings)
    assert plain.select("shown_first", "choice", "score_a").rows()[1] == ("a", "a", 9.0)


def test_choice_share_and_scores_as_columns(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"c": "1", "p": 0.25, "x": 3, "y": 4},
        {"c": None, "p": 0.5, "x": 4, "y": 4},
    ]
    rows.append({"c": "2", "p": None, "x": 5, "y": None})
    columns = ("status", "choice", "preference_b", "score_a", "score_b")
    values = {"1": "a", "2": "b"}
    both = duels(
        tmp_path, rows, choice="c", values=values, preference="p", score_a="x", score_b="y"
    )
    # the choice decides, what stands beside it is kept
    assert both.select(columns).rows() == [
        ("ok", "a", 0.25, 3.0, 4.0),
        ("failed", None, 0.5, 4.0, 4.0),
        ("ok", "b", None, 5.0, None),
    ]
    assert duels(tmp_path, rows, choice="c", values=values)["preference_b"].to_list() == [
        0.0,
        None,
        1.0,
    ]
    shares = duels(tmp_path, rows, preference="p").select(columns[:3]).rows()
    assert shares == [("ok", "a", 0.25), ("ok", "tie", 0.5), ("failed", None, None)]
    scores = duels(tmp_path, rows, score_a="x", score_b="y").select(columns[:3]).rows()
    assert scores == [("ok", "b", 1.0), ("ok", "tie", 0.5), ("failed", None, None)]


def test_duels_become_win_rates_and_damage_is_reported(tmp_path: Path) -> None:
    data = b"id,a,b,p\n1,x,y,1\n2,x,y,0.25\n3,x,y,1.5\n4,x,y,nan\n5,x,y,many\n6,x,y,\n"
    write_bytes(tmp_path / "d.csv", data)
    mapping = {
        "file": "d.csv",
        "columns": {"item_id": "id", "prompt": {"constant": "?"}},
        "answers": PAIR,
    }
    suite = write_suite(tmp_path, {**mapping, "judge_duels": {"judge": "j", "preference": "p"}})
    lake = ingest(suite, tmp_path)
    (row,) = query(lake, "select n, wins, losses, win_rate from rpt_win_rate where model_a = 'A'")
    # of 1 and 0.25 for B, A has 0 and 0.75
    assert row == {"n": 2, "wins": 1, "losses": 1, "win_rate": 0.375}
    bad = query(lake, "select locator, column_name, value, reason from quarantine order by locator")
    assert [tuple(one.values()) for one in bad] == [
        ("line 4", "preference_b", "1.5", "the number is too large"),
        ("line 5", "p", "nan", "the value is not a finite number"),
        ("line 6", "p", "many", "the value is not a finite number"),
    ]
    assert query(lake, "select item_id from recorded_duels where status = 'failed'") == [
        {"item_id": "6"}
    ]


def test_score_that_is_not_finite_decides_nothing(tmp_path: Path) -> None:
    write_bytes(tmp_path / "d.csv", b"id,a,b,x,y\n1,x,y,nan,3\n2,x,y,3,inf\n")
    columns = {"item_id": "id"}
    frames = read(
        tmp_path,
        file="d.csv",
        columns=columns,
        answers=PAIR,
        judge_duels={"judge": "j", "score_a": "x", "score_b": "y"},
    )
    assert frames.recorded_duels.height == 0
    assert list_rejected(frames) == [("line 2", "x"), ("line 3", "y")]


@pytest.mark.parametrize(
    ("section", "settings", "message"),
    [
        ("judge_verdicts", {"scale": [1, 3]}, "rating: expected either `rating` or `reader`"),
        (
            "judge_verdicts",
            {"scale": [1, 3], "rating": "x", "reader": "yes_no", "text": "y"},
            "rating: expected either",
        ),
        (
            "judge_verdicts",
            {"scale": [1, 3], "reader": "yes_no"},
            "text: missing; expected the column of the replies",
        ),
        (
            "judge_verdicts",
            {"scale": [0, 0.5], "reader": "rating_at_end", "text": "y"},
            "scale: [0.0, 0.5]; expected whole numbers",
        ),
        (
            "judge_verdicts",
            {"scale": [0, 1], "reader": "yes_no", "text": "y", "values": {"a": 1}},
            "values: map a column's texts",
        ),
        (
            "judge_verdicts",
            {"scale": [0, 1], "reader": "yes_no", "text": "y", "marker": "z"},
            "marker: only",
        ),
        ("judge_duels", {}, "choice: expected `reader`, or columns"),
        (
            "judge_duels",
            {"choice": "x", "reader": "two_numbers", "text": "y", "scale": [1, 10]},
            "choice: expected `reader`, or",
        ),
        (
            "judge_duels",
            {"reader": "two_numbers", "text": "y"},
            "scale: []; expected [lowest, highest]",
        ),
        ("judge_duels", {"score_a": "x"}, "score_a: expected `score_b` beside it"),
        (
            "judge_duels",
            {"preference": "x", "values": {"1": "a"}},
            "values: map the texts of `choice`",
        ),
    ],
)
def test_refused_settings(
    tmp_path: Path, section: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(SuiteError) as error:
        write_suite(
            tmp_path,
            {
                "file": "a.csv",
                "answers": PAIR[: 1 + (section == "judge_duels")],
                section: {"judge": "j", **settings},
            },
        )
    assert message in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'suite.yaml'}:")
