"""Source `table`: best-of-n choices and preferences between feedbacks, from file to view."""

from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.errors import SuiteError
from tests.lakes import answer, item, make_lake, query
from tests.lakes import ingest as store
from tests.sources.tables import ingest, read, write_bytes, write_suite

THREE = {"item_id": "id", "prompt": "question"}
ANSWERS = [{"text": name, "model": {"constant": name}} for name in ("x", "y", "z")]
PERSON = {"constant": "p1"}


def test_the_answers_of_a_row_are_its_set(tmp_path: Path) -> None:
    write_bytes(
        tmp_path / "c.csv", b"id,question,x,y,z,best\n1,q,a,b,c,Y\n2,q,a,b,c,\n3,q,a,b,c,W\n"
    )
    values = {name.upper(): f"{name}/short/0" for name in "xyz"}
    frames = read(
        tmp_path,
        file="c.csv",
        columns=THREE,
        answers=ANSWERS,
        choice_sets={"chosen": "best", "annotator": PERSON, "values": values},
    )
    shown = ["x/short/0", "y/short/0", "z/short/0"]
    found = frames.choice_sets.select(
        "item_id", "choice_set", "criterion", "annotator", "answers", "chosen"
    ).rows()
    assert found == [
        ("1", "1", "overall", "p1", shown, "y/short/0"),
        ("2", "1", "overall", "p1", shown, None),
    ]
    assert [(row.table_name, row.locator, row.value) for row in frames.rejected] == [
        ("choice_sets", "line 4", "W")
    ]


def choose(tmp_path: Path, choices: bytes, **more: Any) -> dict[str, object]:
    """A suite of three answers with recorded scores, and a file of choices among them."""
    write_bytes(
        tmp_path / "a.csv",
        b"id,question,x,y,z,sx,sy,sz\n1,q,a,b,c,3,2,3\n2,q,a,b,c,1,2,\n3,q,a,b,c,5,4,1\n",
    )
    write_bytes(tmp_path / "c.csv", choices)
    scores = [{"metric": "m", "score": f"s{name}", "answer": name} for name in "xyz"]
    sets = {
        "chosen": "best",
        "annotator": "who",
        "answers": {"from": "shown", "split": " "},
        "set": "set",
        **more,
    }
    return {
        "parts": [
            {"file": "a.csv", "columns": THREE, "answers": ANSWERS, "metric_scores": scores},
            {"file": "c.csv", "columns": {"item_id": "id"}, "choice_sets": sets},
        ]
    }


ALL = "x/short/0 y/short/0 z/short/0"


def test_sets_lie_in_the_lake_and_what_does_not_pass_is_reported(tmp_path: Path) -> None:
    rows = [
        f"1,s1,p1,{ALL},x/short/0",
        "1,s2,p1,x/short/0,x/short/0",  # one answer is no choice
        "1,s3,p1,x/short/0 x/short/0,x/short/0",
        "1,s4,p1,x/short/0 y/short/0,z/short/0",
        "1,s5,p1,x/short/0 w/short/0,x/short/0",
        f"9,s1,p1,{ALL},x/short/0",
        f"2,s1,p1,{ALL},",
    ]
    suite = write_suite(
        tmp_path, choose(tmp_path, "\n".join(["id,set,who,shown,best", *rows]).encode())
    )
    lake = ingest(suite, tmp_path)
    assert query(
        lake,
        "select item_id, choice_set, len(answers) as n, chosen from choice_sets order by item_id",
    ) == [
        {"item_id": "1", "choice_set": "s1", "n": 3, "chosen": "x/short/0"},
        {"item_id": "2", "choice_set": "s1", "n": 3, "chosen": None},
    ]
    reported = query(
        lake, "select locator, column_name, value, reason from quarantine order by locator"
    )
    assert [tuple(row.values())[:3] for row in reported] == [
        ("line 3", "choice_set", "s2"),
        ("line 4", "choice_set", "s3"),
        ("line 5", "chosen", "z/short/0"),
        ("line 6", "answers", "w/short/0"),
        ("line 7", "item_id", "9"),
    ]
    assert reported[2]["reason"] == "the answer chosen is none of the set's"


def test_a_metric_s_accuracy_on_winners_and_losers(tmp_path: Path) -> None:
    # Winner x of 3 2 3: right and a tie. Winner z of 1 2 -: both pairs missing. Winner y of 5 4 1:
    # wrong and right, and by p2 once more.
    rows = [
        f"1,1,p1,{ALL},x/short/0",
        f"2,1,p1,{ALL},z/short/0",
        f"3,1,p1,{ALL},y/short/0",
        f"3,1,p2,{ALL},y/short/0",
    ]
    suite = write_suite(
        tmp_path, choose(tmp_path, "\n".join(["id,set,who,shown,best", *rows]).encode())
    )
    lake = ingest(suite, tmp_path)
    (row,) = query(lake, "select * from rpt_choice_accuracy")
    names = (
        "judge",
        "judge_criterion",
        "human_criterion",
        "n_choices",
        "n",
        "n_ties",
        "n_missing",
        "n_clusters",
    )
    assert [row[name] for name in names] == ["metric:m", "overall", "overall", 4, 6, 1, 2, 2]
    assert row["accuracy"] == pytest.approx((1 + 0.5 + 0 + 1 + 0 + 1) / 6)
    assert (row["low"], row["high"], row["reason"]) == (None, None, "fewer than 3 clusters")
    assert row["metric"] == "m"


def test_accuracy_of_each_category(tmp_path: Path) -> None:
    """x is always chosen over y: the metric is right on colour, wrong or undecided on the others."""
    scores = {"i0": (3, 1), "i1": (2, 1), "i2": (1, 2), "i3": (2, 2)}
    lake = make_lake(tmp_path)
    categories = dict(zip(scores, ("colour", "colour", None, "count"), strict=True))
    store(
        lake,
        [item(i, category=category) for i, category in categories.items()],
        [answer(i, text, text, answer_id=text) for i in scores for text in "xy"],
        choice_sets=[
            {"item_id": i, "choice_set": "s", "criterion": "overall", "annotator": "p", "answers": ["x", "y"], "chosen": "x"}
            for i in scores
        ],
        recorded_scores=[
            {"item_id": i, "answer_id": text, "metric": "m", "score": float(score)}
            for i, pair in scores.items()
            for text, score in zip("xy", pair, strict=True)
        ],
    )  # fmt: skip
    rows = query(
        lake, "select task, category, n_choices, n_ties, accuracy from rpt_choice_accuracy"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("*", "(none)", 1, 0, 0.0),
        ("*", "*", 4, 1, 0.625),
        ("*", "colour", 2, 0, 1.0),
        ("*", "count", 1, 1, 0.5),
    ]


def test_a_set_without_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="choice_sets: name no set; expected `answers`"):
        write_suite(tmp_path, choose(tmp_path, b"", answers=None) | {"strict": True})


def test_people_choose_between_feedbacks(tmp_path: Path) -> None:
    """Whichever author a file names first, the pair is one; the report stands beside those of
    judges.
    """
    data = b"id,question,answer,one,two,best,who\n1,q,a,g,p,one,h1\n2,q,a,p,g,one,h1\n3,q,a,g,p,same,h1\n4,q,a,g,p,,h1\n5,q,a,g,p,?,h1\n"
    write_bytes(tmp_path / "f.csv", data)
    section = {
        "author_a": {"from": "one"}, "author_b": {"from": "two"}, "choice": "best", "annotator": "who",
        "values": {"one": "a", "two": "b", "same": "tie"},
    }  # fmt: skip
    columns = {**THREE, "answer": "answer", "model": {"constant": "m"}}
    lake = ingest(
        write_suite(
            tmp_path, {"file": "f.csv", "columns": columns, "feedback_preferences": section}
        ),
        tmp_path,
    )
    assert query(lake, "select value, reason from quarantine") == [
        {"value": "?", "reason": "the value is none of one, two, same"}
    ]
    (row,) = query(lake, "select * from rpt_feedback_preference")
    # g wins item 1, loses item 2 (where p stands first and wins), ties item 3; of item 4 there is
    # no choice.
    assert (row["judge"], row["author_a"], row["author_b"], row["criterion"]) == (
        "human:h1",
        "g",
        "p",
        "overall",
    )
    assert [row[name] for name in ("n", "wins_a", "ties", "wins_b", "n_missing", "win_rate_a")] == [
        3,
        1,
        1,
        1,
        1,
        0.5,
    ]
