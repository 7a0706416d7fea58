"""OwlEval's files: questions, answers in any language, images named with another suffix."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.owleval import OwlEvalSettings, read_owleval, source_files

QUESTION = {
    "image": "1.jpg",
    "question_id": 1,
    "question": "What is it?",
    "ability": "a,b",
    "category": ["single_turn"],
}
ANSWER = {
    "image": "1.png",
    "question_id": "1",
    "question": "What is it?",
    "answer": "无法回溯. ",
    "model_id": "MMreact",
}


def write(folder: Path, questions: Sequence[object], answers: Sequence[object]) -> OwlEvalSettings:
    for name, records in (("questions.jsonl", questions), ("m_answer.jsonl", answers)):
        (folder / name).write_text(
            "\n".join(one if isinstance(one, str) else json.dumps(one) for one in records)
        )
    return OwlEvalSettings(folder / "questions.jsonl", (folder / "*_answer.jsonl",))


def test_questions_and_answers(tmp_path: Path) -> None:
    frames = read_owleval(write(tmp_path, [QUESTION], [ANSWER]))
    [item] = frames.items.to_dicts()
    assert (item["item_id"], item["task"], item["category"], item["cluster"]) == (
        "1",
        "instruction",
        "a,b",
        "1.jpg",
    )
    assert item["images"] == [{"uri": "1.jpg", "sha256": None}]
    [answer] = frames.answers.to_dicts()
    assert (answer["item_id"], answer["answer_id"], answer["text"]) == (
        "1",
        "MMreact/long/0",
        "无法回溯. ",
    )
    assert answer["locator"] == "line 1"


def test_bad_lines_are_reported_and_the_others_go_on(tmp_path: Path) -> None:
    questions = [
        QUESTION,
        "{",
        QUESTION | {"question_id": True},
        QUESTION | {"question_id": 3, "image": None},
        QUESTION | {"question": " "},
    ]
    answers = [
        ANSWER,
        ANSWER | {"image": "2.png"},
        ANSWER | {"answer": None},
        ANSWER | {"model_id": ""},
        ANSWER | {"question_id": None},
    ]
    frames = read_owleval(write(tmp_path, questions, answers))
    assert (frames.items.height, frames.answers.height) == (1, 1)
    rejected = [(one.table_name, one.locator, one.column_name) for one in frames.rejected]
    assert rejected == [
        ("items", "line 2", None),
        ("items", "line 3", "question_id"),
        ("items", "line 4", "image"),
        ("items", "line 5", "question"),
        ("answers", "line 2", "image"),
        ("answers", "line 3", "answer"),
        ("answers", "line 4", "model_id"),
        ("answers", "line 5", "question_id"),
    ]


def test_absent_files_are_named(tmp_path: Path) -> None:
    settings = write(tmp_path, [QUESTION], [ANSWER])
    assert [file.name for file in source_files(settings)] == ["questions.jsonl", "m_answer.jsonl"]
    (tmp_path / "m_answer.jsonl").unlink()
    with pytest.raises(SourceError, match="no file matches"):
        source_files(settings)
    (tmp_path / "questions.jsonl").unlink()
    with pytest.raises(SourceError, match="there is no such file"):
        source_files(settings)
