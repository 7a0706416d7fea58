"""Source `table`: labels of answers and items, as one column that names them or as a column
each.
"""

from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from tests.lakes import query
from tests.sources.tables import ingest, list_rejected, read, write_bytes, write_lines, write_suite

ONE = {"item_id": "id", "prompt": "question", "answer": "answer", "model": {"constant": "m"}}


def test_labels_in_one_column_are_mapped_and_several_split(tmp_path: Path) -> None:
    data = b"id,question,answer,why,who\n1,q,x,syn|stem,ann\n2,q,y,,ann\n3,q,z,other,ann\n4,q,z,none,ann\n"
    write_bytes(tmp_path / "l.csv", data)
    values = {"syn": "synonym", "stem": "same_stem", "none": None}
    labels = {"labels": {"from": "why", "split": "|"}, "labeller": "who", "values": values}
    frames = read(tmp_path, file="l.csv", columns=ONE, failure_labels=labels)
    found = frames.failure_labels.select(
        "item_id", "answer_id", "category", "labeller", "holds"
    ).rows()
    assert found == [
        ("1", "m/short/0", "synonym", "ann", True),
        ("1", "m/short/0", "same_stem", "ann", True),
    ]
    assert list_rejected(frames) == [("line 4", "why")]
    assert (frames.rejected[0].value, frames.rejected[0].reason) == (
        "other",
        "the value is none of syn, stem, none",
    )


def test_a_column_for_each_label_is_yes_or_no(tmp_path: Path) -> None:
    data = b"id,question,answer,syn,bad\n1,q,x,x,No\n2,q,y,0,1\n3,q,z,,TRUE\n4,q,z,maybe,\n"
    write_bytes(tmp_path / "l.csv", data)
    labels = {
        "columns": {"syn": "synonym", "bad": "broad_question"},
        "labeller": {"constant": "ann"},
    }
    frames = read(tmp_path, file="l.csv", columns=ONE, failure_labels=labels)
    found = (
        frames.failure_labels.select("item_id", "category", "holds")
        .sort("item_id", "category")
        .rows()
    )
    assert found == [
        ("1", "broad_question", False),
        ("1", "synonym", True),
        ("2", "broad_question", True),
        ("2", "synonym", False),
        ("3", "broad_question", True),
    ]
    assert [(row.locator, row.column_name, row.reason) for row in frames.rejected] == [
        ("line 5", "syn", "the value is neither yes nor no")
    ]


def test_lists_flags_and_words_of_json(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {
            "id": "1",
            "question": "q",
            "answer": "x",
            "why": ["synonym", "unknown"],
            "gold": True,
            "who": "p",
        },
        {"id": "2", "question": "q", "answer": "y", "why": [], "gold": "ja", "who": "p"},
    ]
    write_lines(tmp_path / "l.jsonl", rows)
    flags = {"true": "yes", "ja": "yes"}
    frames = read(
        tmp_path,
        file="l.jsonl",
        columns=ONE,
        failure_labels={"labels": "why", "labeller": "who"},
        item_labels=[
            {"columns": {"gold": "ground truth is wrong"}, "labeller": "who", "values": flags}
        ],
    )
    assert frames.failure_labels.select("item_id", "category").rows() == [
        ("1", "synonym"),
        ("1", "unknown"),
    ]
    found = frames.item_labels.select("item_id", "label", "labeller", "holds").rows()
    assert found == [
        ("1", "ground truth is wrong", "p", True),
        ("2", "ground truth is wrong", "p", True),
    ]


def test_labels_lie_in_the_lake_and_what_does_not_pass_is_reported(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a.csv", b"id,question,answer\n1,q,x\n2,q,y\n")
    labels = b"id,answer,why,gold\n1,m/short/0,synonym,y\n1,m/short/0,synonym,y\n2,m/short/0,sinonym,n\n3,m/short/0,synonym,y\n"
    write_bytes(tmp_path / "l.csv", labels)
    section = {"labels": "why", "labeller": {"constant": "p"}}
    given = {"columns": {"gold": "ground truth is wrong"}, "labeller": {"constant": "p"}}
    parts = [
        {"file": "a.csv", "columns": ONE},
        {
            "file": "l.csv",
            "columns": {"item_id": "id"},
            "answers": [{"answer_id": "answer"}],
            "failure_labels": section,
            "item_labels": given,
        },
    ]
    lake = ingest(write_suite(tmp_path, {"parts": parts}), tmp_path)
    assert query(lake, "select item_id, category, labeller, holds from failure_labels") == [
        {"item_id": "1", "category": "synonym", "labeller": "p", "holds": True}
    ]
    assert query(lake, "select item_id, holds from item_labels order by item_id") == [
        {"item_id": "1", "holds": True},
        {"item_id": "2", "holds": False},
    ]
    bad = query(lake, "select table_name, locator, column_name, value from quarantine order by all")
    assert [tuple(row.values()) for row in bad] == [
        ("failure_labels", "line 4", "category", "sinonym"),
        ("failure_labels", "line 5", "answer_id", "m/short/0"),
        ("item_labels", "line 5", "item_id", "3"),
    ]


@pytest.mark.parametrize(
    ("section", "settings", "message"),
    [
        ("failure_labels", {}, "labels: expected either `labels` or `columns`"),
        (
            "item_labels",
            {"labels": "x", "columns": {"y": "z"}},
            "labels: expected either `labels` or `columns`",
        ),
        (
            "failure_labels",
            {"columns": {"syn": "sinonym"}},
            "unknown category 'sinonym'; did you mean 'synonym'?",
        ),
        ("failure_labels", {"labels": "x", "values": {"s": "stem"}}, "unknown category 'stem'"),
        ("item_labels", {"labels": "x", "answer": "m"}, "unknown key 'answer'"),
    ],
)
def test_refused_settings(
    tmp_path: Path, section: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(SuiteError) as error:
        write_suite(
            tmp_path, {"file": "a.csv", "columns": ONE, section: {"labeller": "who", **settings}}
        )
    assert message in str(error.value)


def test_a_missing_labeller_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="the key 'labeller' is missing"):
        write_suite(tmp_path, {"file": "a.csv", "columns": ONE, "item_labels": {"labels": "x"}})


def test_labels_of_one_of_several_answers_name_it(tmp_path: Path) -> None:
    write_bytes(tmp_path / "l.csv", b"id,a,b,why\n1,x,y,synonym\n")
    answers = [{"model": "A", "text": "a"}, {"model": "B", "text": "b"}]
    section = {"labels": "why", "labeller": {"constant": "p"}, "answer": "B"}
    frames = read(
        tmp_path, file="l.csv", columns={"item_id": "id"}, answers=answers, failure_labels=section
    )
    assert frames.failure_labels["answer_id"].to_list() == ["B/short/0"]
    del section["answer"]
    with pytest.raises(SuiteError, match="a section does not say which answer"):
        read(
            tmp_path,
            file="l.csv",
            columns={"item_id": "id"},
            answers=answers,
            failure_labels=section,
        )
