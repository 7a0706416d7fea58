"""The worked examples of source `table` in infra/suites, each on a tiny file in the data set's
released format.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.suite.suite import read_suite
from tests.conftest import CHECKOUT
from tests.rows import write_json
from tests.sources.tables import ingest, rows, write_bytes, write_lines

COCO = 57870


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("JUDGELAKE_DATA", str(folder))
    return folder


def ingest_suite(name: str, folder: Path) -> Lake:
    return ingest(read_suite(CHECKOUT / "infra" / "suites" / f"{name}.yaml"), folder)


def pick(lake: Lake, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in rows(lake, table)]


def images_of(lake: Lake) -> list[str]:
    return [image["uri"] for row in rows(lake, "items") for image in row["images"]]


def faults(lake: Lake) -> list[tuple[Any, ...]]:
    """What did not pass, pictures apart: none lie here."""
    return [
        row
        for row in pick(lake, "quarantine", "table_name", "column_name", "value")
        if row[0] != "images"
    ]


def test_vg_qa(data: Path, tmp_path: Path) -> None:
    qas = [
        {
            "a_objects": [],
            "question": "What is on the wall?",
            "image_id": 1,
            "qa_id": 986768,
            "answer": "A clock.",
            "q_objects": [],
        },
        {
            "a_objects": [],
            "question": "Who is there?",
            "image_id": 1,
            "qa_id": 986769,
            "answer": "Nobody.",
            "q_objects": [],
        },
    ]
    write_json(
        data / "vg_qa" / "question_answers.json", [{"id": 1, "qas": qas}, {"id": 2, "qas": []}]
    )
    write_json(
        data / "vg_qa" / "answers" / "blip.json", [{"question_id": 986768, "answer": "clock"}]
    )
    lake = ingest_suite("vg_qa", tmp_path)
    assert pick(lake, "items", "item_id", "references", "cluster") == [
        ("986768", ["A clock."], "1.jpg"),
        ("986769", ["Nobody."], "1.jpg"),
    ]
    assert pick(lake, "answers", "item_id", "model", "text") == [("986768", "blip", "clock")]
    assert faults(lake) == []


def test_gqa(data: Path, tmp_path: Path) -> None:
    types = {"detailed": "existAttrC", "semantic": "attr", "structural": "verify"}
    question = {
        "imageId": "n161313",
        "question": "Is it red?",
        "answer": "no",
        "fullAnswer": "No, it is blue.",
        "types": types,
    }
    write_json(data / "gqa" / "testdev_balanced_questions.json", {"201307251": question})
    write_json(
        data / "gqa" / "predictions" / "lxmert.json",
        [{"questionId": "201307251", "prediction": "yes"}],
    )
    lake = ingest_suite("gqa", tmp_path)
    assert pick(lake, "items", "item_id", "prompt", "references", "category") == [
        ("201307251", "Is it red?", ["no"], "verify")
    ]
    assert images_of(lake) == ["n161313.jpg"]
    assert pick(lake, "answers", "model", "text") == [("lxmert", "yes")]
    assert faults(lake) == []


def test_textvqa(data: Path, tmp_path: Path) -> None:
    answers = ["nokia"] * 8 + ["toyota", "nokia"]
    record: dict[str, Any] = {
        "question": "What brand is it?",
        "image_id": "003a8ae2ef43b901",
        "image_classes": ["Phone"],
        "answers": answers,
    }
    record |= {
        "question_tokens": ["what"],
        "question_id": 34602,
        "set_name": "val",
        "image_width": 1024,
        "image_height": 730,
    }
    write_json(
        data / "textvqa" / "TextVQA_0.5.1_val.json",
        {"dataset_type": "val", "dataset_version": "0.5.1", "data": [record]},
    )
    write_json(
        data / "textvqa" / "predictions" / "m4c.json", [{"question_id": 34602, "answer": "nokia"}]
    )
    lake = ingest_suite("textvqa", tmp_path)
    assert pick(lake, "items", "item_id", "references", "split") == [("34602", answers, "val")]
    assert images_of(lake) == ["train_images/003a8ae2ef43b901.jpg"]
    assert pick(lake, "answers", "item_id", "text") == [("34602", "nokia")]
    assert faults(lake) == []


def test_a_okvqa(data: Path, tmp_path: Path) -> None:
    direct = ["finger", "finger", "hand"]
    record: dict[str, Any] = {
        "split": "val",
        "image_id": COCO,
        "question_id": "22jbM6gDxdaMaunuzgrsBB",
        "question": "What is in the mouth?",
    }
    record |= {
        "choices": ["toothpick", "food"],
        "correct_choice_idx": 1,
        "direct_answers": direct,
        "difficult_direct_answer": False,
    }
    write_json(data / "a_okvqa" / "aokvqa_v1p0_val.json", [record])
    prediction = {"multiple_choice": "food", "direct_answer": "cigarette"}
    write_json(
        data / "a_okvqa" / "predictions" / "gpv2.json", {"22jbM6gDxdaMaunuzgrsBB": prediction}
    )
    lake = ingest_suite("a_okvqa", tmp_path)
    assert pick(lake, "items", "references", "category", "split") == [(direct, "plain", "val")]
    assert images_of(lake) == ["val2017/000000057870.jpg"]
    assert pick(lake, "answers", "item_id", "model", "text") == [
        ("22jbM6gDxdaMaunuzgrsBB", "gpv2", "cigarette")
    ]
    assert faults(lake) == []


def test_mmhe(data: Path, tmp_path: Path) -> None:
    head = (
        "id,image,input,model,text,annotator,correctness,completeness,clarity,fluency,conciseness\n"
    )
    write_bytes(
        data / "mmhe" / "vqa.csv",
        (
            head + "1,a.jpg,Why?,gpt-4o,So.,e1,5,4,3,2,1\n1,a.jpg,Why?,gpt-4o,So.,e2,5,5,5,5,6\n"
        ).encode(),
    )
    captions = (
        "1,b.jpg,Describe.,gpt-4o,A dog.,e1,5,,5,5,5\n1,b.jpg,Describe.,blip,It.,e1,5,5,5,5,5\n"
    )
    write_bytes(data / "mmhe" / "ic.csv", (head + captions).encode())
    choices = "id,models,best,annotator\n1,gpt-4o|blip,blip,e1\n1,gpt-4o|blip,llava,e2\n"
    write_bytes(data / "mmhe" / "overall" / "ic.csv", choices.encode())
    lake = ingest_suite("mmhe", tmp_path)
    assert pick(lake, "items", "item_id", "task", "category") == [
        ("ic/1", "caption", "ic"),
        ("vqa/1", "vqa", "vqa"),
    ]
    assert pick(lake, "answers", "item_id", "text", "n_repeats") == [
        ("ic/1", "It.", 1),
        ("ic/1", "A dog.", 1),
        ("vqa/1", "So.", 2),
    ]
    found = pick(lake, "human_ratings", "item_id", "criterion", "annotator", "rating")
    # four rows of five ratings, one of them blank, one of them 6 on a scale to 5
    assert len(found) == 4 * 5 - 2
    assert ("vqa/1", "conciseness", "e1", 1.0) in found
    assert pick(lake, "choice_sets", "item_id", "annotator", "answers", "chosen") == [
        ("ic/1", "e1", ["gpt-4o", "blip"], "blip")
    ]
    assert sorted(faults(lake)) == [
        ("choice_sets", "chosen", "llava"),
        ("human_ratings", "rating", "6.0"),
    ]


def test_flickr8k_cf(data: Path, tmp_path: Path) -> None:
    image = "1056338697_4f7d7ce270"
    judged = [{"image_id": image, "image_path": f"Flicker8k_Dataset/{image}.jpg", "caption": text, "rating": rating}
              for text, rating in (("A dog runs .", 0.0), ("A child in pink .", 1 / 3), ("A dog runs .", float("nan")))]  # fmt: skip
    content = {
        image: {
            "human_judgement": judged,
            "image_id": image,
            "image_path": judged[0]["image_path"],
            "ground_truth": ["A girl ."],
        }
    }
    file = data / "flickr8k" / "crowdflower_flickr8k.json"
    write_bytes(
        file, json.dumps(content).encode()
    )  # Python's json writes a rating that is not there as NaN
    lake = ingest_suite("flickr8k_cf", tmp_path)
    assert pick(lake, "items", "item_id", "task", "references") == [
        (image, "caption", ["A girl ."])
    ]
    assert images_of(lake) == [f"Flicker8k_Dataset/{image}.jpg"]
    assert len(rows(lake, "answers")) == 3
    assert sorted(pick(lake, "human_ratings", "annotator", "rating")) == [
        ("crowd", 0.0),
        ("crowd", 1 / 3),
    ]
    assert {row[:2] for row in faults(lake)} == {("human_ratings", "rating")}


def test_perception_bench(data: Path, tmp_path: Path) -> None:
    record = {
        "image": "../mmmu/9900.png",
        "instruction": "###Task Description: ...",
        "orig_instruction": "Describe it.",
        "orig_criteria": "Is it?",
    }
    record |= {"orig_reference_answer": "An acid."} | {
        f"orig_score{n}_description": f"level {n}" for n in range(1, 6)
    }
    write_json(data / "perception_bench" / "perception_bench.json", [record])
    given = {
        "image": record["image"],
        "orig_instruction": record["orig_instruction"],
        "response": "A base.",
    }
    write_lines(data / "perception_bench" / "responses" / "llava.jsonl", [given])
    lake = ingest_suite("perception_bench", tmp_path)
    assert pick(lake, "items", "task", "prompt", "references") == [
        ("instruction", "Describe it.", ["An acid."])
    ]
    assert pick(lake, "answers", "model", "style", "text") == [("llava", "long", "A base.")]
    assert pick(lake, "rubrics", "criterion", "levels") == [
        ("Is it?", [f"level {n}" for n in range(1, 6)])
    ]
    assert len(rows(lake, "item_rubrics")) == 1
    assert faults(lake) == []


def test_flickr8k_crowd(data: Path, tmp_path: Path) -> None:
    folder = data / "flickr8k"
    captions = {
        "a.jpg#0": 'A "dog .',
        "a.jpg#1": "One dog .",
        "b.jpg#0": "A cat .",
        "c.jpg#0": "A cow .",
    }
    lines = "".join(f"{key}\t{text}\n" for key, text in captions.items())
    write_bytes(folder / "Flickr8k.token.txt", lines.encode())
    judged = [
        ("a.jpg", "b.jpg#0", 1 / 3, 1, 2),
        ("b.jpg", "a.jpg#0", 0, 0, 3),
        ("b.jpg", "b.jpg#0", 1, 3, 0),  # its own
        ("c.jpg", "d.jpg#0", 1, 3, 0),  # there is no such caption
        ("c.jpg", "d.jpg", 1, 3, 0),
    ]
    text = "".join("\t".join(map(str, row)) + "\n" for row in judged)
    write_bytes(folder / "CrowdFlowerAnnotations.txt", text.encode())
    lake = ingest_suite("flickr8k_crowd", tmp_path)
    assert pick(lake, "items", "item_id", "task", "references") == [
        ("a.jpg", "caption", ['A "dog .', "One dog ."]),
        ("b.jpg", "caption", ["A cat ."]),
    ]
    assert pick(lake, "answers", "item_id", "answer_id", "text") == [
        ("a.jpg", "b.jpg#0", "A cat ."),
        ("b.jpg", "a.jpg#0", 'A "dog .'),
    ]
    assert sorted(pick(lake, "human_ratings", "annotator", "rating")) == [
        ("crowd", 0.0),
        ("crowd", 1 / 3),
    ]
    assert sorted(pick(lake, "quarantine", "value", "reason"))[-2:] == [
        ("d.jpg", "the text is not of the form {of_image}#{number}"),
        ("d.jpg#0", "no row of Flickr8k.token.txt has this key"),
    ]
