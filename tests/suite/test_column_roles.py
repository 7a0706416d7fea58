"""Columns are recognised by their names, and where those say nothing by what they hold."""

from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.column_roles import find_roles, find_separator, read_rows


def test_names_go_before_content() -> None:
    rows = [
        {"qid": n, "Question": "Name it", "gold": "cat", "Prediction": "a cat", "sys": "x?"}
        for n in (1, 2)
    ]
    found = find_roles(rows)
    assert {role: one.column for role, one in found.items()} == {
        "item_id": "qid",
        "prompt": "Question",
        "references": "gold",
        "answer": "Prediction",
    }
    assert {one.reason for one in found.values()} == {"by its name"}


def test_words_within_names() -> None:
    rows = [{"row id": 1, "the question": "Who", "gt label": "me", "llm answer": "he"}]
    found = find_roles(rows)
    assert found["references"] == ("gt label", "by the word 'gt' in its name")
    assert found["answer"] == ("llm answer", "by the word 'answer' in its name")
    assert found["item_id"].column == "row id"


def test_content_where_names_say_nothing() -> None:
    rows = [
        {
            "a": f"k{n}",
            "b": "What is it?",
            "c": ["cat"],
            "d": "a cat, I think",
            "e": n % 2 + 1,
            "f": f"{n}.jpg",
        }
        for n in range(6)
    ]
    found = find_roles(rows)
    assert {role: one.column for role, one in found.items()} == {
        "item_id": "a",
        "prompt": "b",
        "references": "c",
        "answer": "d",
        "rating": "e",
        "images": "f",
    }
    assert found["prompt"].reason == "by its content: most cells end with a question mark"


def test_content_overrules_a_name() -> None:
    rows = [{"id": 1, "question": "Who?", "answer": "x", "rating": "rather good", "image": "red"}]
    found = find_roles(rows)
    assert "rating" not in found
    assert "images" not in found


def test_columns_that_a_suite_cannot_name_are_left_out() -> None:
    rows = [{"id": 1, "question": "Who?", "{answer}": "x", "reply": "y"}]
    assert find_roles(rows)["answer"].column == "reply"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.csv", None, "cannot be read"),
        ("a.csv", "id,answer\n", "has no row"),
        ("a.json", "{}", "holds no list of records at its top, but"),
        ("a.jsonl", "[", "cannot be read"),
        ("a.parquet", "PAR1", "cannot be read"),
    ],
)
def test_files_that_are_no_table(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(SuiteError, match=rf"{name}: {message}.*; expected .*; "):
        read_rows(file)


def test_other_separators_and_lines_within_cells_are_read(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b'\xef\xbb\xbfid;question;answer\r\n1;"What, now?";"two\r\nlines"\r\n')
    assert find_separator(file) == ";"
    assert read_rows(file) == [{"id": "1", "question": "What, now?", "answer": "two\r\nlines"}]
    for name, text, mark in (
        ("b.csv", "id,a;b\n", None),
        ("c.tsv", "a,b\tc\n", None),
        ("d.tsv", "a,b\n", ","),
    ):
        (tmp_path / name).write_text(text)
        assert find_separator(tmp_path / name) == mark


def test_lines_before_the_header_are_named(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("# exported\n# by me\nid\tquestion\n1\tWhat?\n")
    says = (
        r"most rows do not fit the header in line 1 \('# exported'\); line 3: the row has 2 cells"
    )
    with pytest.raises(SuiteError, match=says):
        read_rows(file)


def test_a_map_of_records_is_named_with_its_keys(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"meta": 1, "data": {"q": {"answer": "x"}}}')
    with pytest.raises(SuiteError, match=r"but 'meta', 'data'; expected a list .* `records:`"):
        read_rows(file)


def test_tags_are_no_references() -> None:
    rows = [{"id": 1, "question": "Who?", "tags": ["a"], "reply": "y", "gold": ["b"]}]
    assert find_roles(rows)["references"].column == "gold"
    rows = [{"id": 1, "question": "Who?", "tags": ["a"], "reply": "y"}]
    assert "references" not in find_roles(rows)
