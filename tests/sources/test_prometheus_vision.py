"""Prometheus-Vision's rows: the prompt taken apart, the feedback read."""

import json
from pathlib import Path

import pytest

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.frames import SourceFrames
from judgelake.tasks.sources.prometheus_vision import (
    PrometheusVisionSettings,
    RubricPrompt,
    read_prometheus_vision,
    source_files,
)
from tests.sources.test_rubric_prompt import write

PROMPT = RubricPrompt(
    "What is it?", "A dog.", "A cat.", "Is it right?", ("no", "hardly", "half", "nearly", "yes")
)


def train(
    feedback: object, response: str = "A dog.", image: object = "../mmmu/1.png"
) -> dict[str, object]:
    prompt = "<image>\n" + write(PROMPT._replace(response=response))
    turns = [{"from": "human", "value": prompt}, {"from": "gpt", "value": feedback}]
    return {"id": 0, "image": image, "conversations": turns}


def read(folder: Path, evaluation: list[object], training: list[object]) -> SourceFrames:
    (folder / "eval.jsonl").write_text("\n".join(json.dumps(one) for one in evaluation))
    (folder / "train.json").write_text(json.dumps(training))
    return read_prometheus_vision(
        PrometheusVisionSettings((folder / "*.jsonl",), (folder / "train.json",))
    )


def test_an_evaluation_row(tmp_path: Path) -> None:
    frames = read(
        tmp_path,
        [
            {
                "image": "../../train2017/7.jpg",
                "instruction": write(PROMPT),
                "orig_instruction": "ignored",
            }
        ],
        [],
    )
    [item] = frames.items.to_dicts()
    assert (item["prompt"], item["references"], item["split"]) == (
        "What is it?",
        ["A cat."],
        "evaluation",
    )
    assert item["images"] == [{"uri": "train2017/7.jpg", "sha256": None}]
    assert (frames.answers["text"].to_list(), frames.answers["model"].to_list()) == (
        ["A dog."],
        [None],
    )
    assert (frames.rubrics["criterion"].to_list(), frames.rubrics["levels"].to_list()) == (
        [PROMPT.criterion],
        [list(PROMPT.levels)],
    )
    assert frames.item_rubrics.select("item_id", "rubric_id").rows() == [
        (item["item_id"], frames.rubrics["rubric_id"][0])
    ]
    assert frames.recorded_verdicts.height == 0


def test_training_rows_of_one_question_are_one_item_with_verdicts(tmp_path: Path) -> None:
    said = [
        ("Poor. So the overall score is 1.\n[RESULT] 1", "A dog."),
        ("Poor. So the overall score is 2.\n[RESULT] 1", "Two dogs."),
        ("Fine. So the overall score is 4.", "A cat?"),
        ("Who knows", "Hm."),
    ]
    frames = read(tmp_path, [], [train(feedback, response) for feedback, response in said])
    assert (frames.items["item_id"].n_unique(), frames.answers["answer_id"].n_unique()) == (1, 4)
    verdicts = frames.recorded_verdicts
    assert list(
        verdicts.select("status", "rating", "judge", "scale_low", "scale_high").iter_rows()
    ) == [
        ("ok", 1.0, "gpt-4v", 1.0, 5.0),
        ("unparsed", None, "gpt-4v", 1.0, 5.0),
        ("ok", 4.0, "gpt-4v", 1.0, 5.0),
        ("unparsed", None, "gpt-4v", 1.0, 5.0),
    ]
    assert verdicts["text"].to_list() == [feedback for feedback, _ in said]
    assert verdicts["answer_id"].to_list() == frames.answers["answer_id"].to_list()


def test_bad_rows_are_reported_and_the_others_go_on(tmp_path: Path) -> None:
    evaluation: list[object] = [
        {"image": "a.png", "instruction": "no layout"},
        {"image": None, "instruction": write(PROMPT)},
        {},
    ]
    training: list[object] = [
        train("[RESULT] 3"),
        train(None),
        {"conversations": "x"},
        7,
        train("[RESULT] 3", image=3),
    ]
    frames = read(tmp_path, evaluation, training)
    assert frames.items.height == 1
    assert [(one.source_file, one.locator, one.column_name) for one in frames.rejected] == [
        ("eval.jsonl", "line 1", "instruction"),
        ("eval.jsonl", "line 2", "image"),
        ("eval.jsonl", "line 3", "instruction"),
        ("train.json", "record 1", "conversations"),
        ("train.json", "record 2", "conversations"),
        ("train.json", "record 3", "conversations"),
        ("train.json", "record 4", "image"),
    ]


def test_files_are_named_or_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="evaluation: there are no files"):
        PrometheusVisionSettings()
    with pytest.raises(SourceError, match="no file matches"):
        source_files(PrometheusVisionSettings(training=(tmp_path / "absent.json",)))
