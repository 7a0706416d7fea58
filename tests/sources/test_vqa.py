"""VQAv2, OK-VQA and the combined form: what each record becomes, and what is said of one that
becomes nothing.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from judgelake.tasks.errors import SourceError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.sources.frames import Rejected
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.sources.registry import BenchmarkSettings, source_digest
from judgelake.tasks.sources.vqa import VqaSettings, find_answer_files, read_vqa
from tests.lakes import query
from tests.rows import write_json

REMEDY = "correct the record in the file and ingest again"
NO_ID = "the question_id is missing or neither a whole number nor text"
QUESTION = {"question_id": 7, "question": "What is it?", "image_id": 42}
COMBINED = {
    "question_id": 7,
    "question": "What is it?",
    "answer": ["cat", "kitten"],
    "image": "val/COCO_val2014_000000000042.jpg",
}


@dataclass(frozen=True)
class Files:
    """The files of one benchmark in a folder; what is None is not there."""

    folder: Path
    references: object = None
    results: object = None
    questions: object = None
    captions: object = None

    def write(self) -> VqaSettings:
        write_json(self.folder / "references.json", self.references)
        given = self.results if self.results is not None else [{"question_id": 7, "answer": "cat"}]
        write_json(self.folder / "results" / "m.json", given)
        questions = (
            write_json(self.folder / "questions.json", self.questions)
            if self.questions is not None
            else None
        )
        captions = (
            write_json(self.folder / "captions.json", self.captions)
            if self.captions is not None
            else None
        )
        return VqaSettings(
            self.folder / "references.json",
            self.folder / "results" / "{model}.json",
            questions,
            captions,
        )


def annotate(*answers: object, **more: object) -> dict[str, object]:
    """An annotation as VQAv2 writes it."""
    given = [
        {"answer": text, "answer_confidence": "yes", "answer_id": number + 1}
        for number, text in enumerate(answers)
    ]
    return {
        "question_id": 7,
        "image_id": 42,
        "question_type": "what is",
        "answer_type": "other",
        "answers": given,
        **more,
    }


def test_official_questions_annotations_and_results(tmp_path: Path) -> None:
    questions = {"data_type": "mscoco", "data_subtype": "val2014", "questions": [QUESTION]}
    settings = Files(
        tmp_path, {"annotations": [annotate("cat", "cat", "kitten")]}, questions=questions
    ).write()
    frames = read_vqa(settings)
    image = "val2014/COCO_val2014_000000000042.jpg"
    assert frames.items.to_dicts() == [
        {
            "item_id": "7",
            "task": "vqa",
            "prompt": "What is it?",
            "references": ["cat", "cat", "kitten"],
            "images": [{"uri": image, "sha256": None}],
            "regions": [],
            "category": "what is",
            "split": None,
            "cluster": image,
            "source_file": "questions.json",
            "locator": "record 0",
        }
    ]
    answer = {
        "item_id": "7",
        "answer_id": "m/short/0",
        "model": "m",
        "style": "short",
        "sample": 0,
        "text": "cat",
    }
    assert frames.answers.to_dicts() == [answer | {"source_file": "m.json", "locator": "record 0"}]
    assert frames.rejected == ()
    assert frames.captions.is_empty()


def test_combined_form_needs_no_questions(tmp_path: Path) -> None:
    other = {"question_id": "q8", "question": "How many?", "answer": "two"}
    frames = read_vqa(Files(tmp_path, [COMBINED, other]).write())
    found = frames.items.select("item_id", "references", "cluster", "source_file", "locator").rows()
    first = ("7", ["cat", "kitten"], COMBINED["image"], "references.json", "record 0")
    assert found == [first, ("q8", ["two"], "item:q8", "references.json", "record 1")]
    assert frames.items["images"].to_list() == [[{"uri": COMBINED["image"], "sha256": None}], []]


def test_question_without_annotation_is_an_item_without_references(tmp_path: Path) -> None:
    frames = read_vqa(Files(tmp_path, {"annotations": []}, questions=[QUESTION]).write())
    assert frames.items.select("item_id", "references", "cluster").rows() == [("7", [], "42")]


def test_result_file_may_name_its_list(tmp_path: Path) -> None:
    for key in ("annotations", "results"):
        frames = read_vqa(
            Files(tmp_path, [COMBINED], {key: [{"question_id": 7, "answer": "dog"}]}).write()
        )
        assert frames.answers["text"].to_list() == ["dog"]


def test_captions_of_the_items_images(tmp_path: Path) -> None:
    captions = [
        {"image_id": 42, "caption": "A cat."},
        {"image_id": 43, "caption": "Another picture."},
        {"image_id": 42, "caption": "Ein Kätzchen."},
        {"image_id": 42},
        {"image_id": [42], "caption": "no number"},
        "no record",
    ]
    frames = read_vqa(Files(tmp_path, [COMBINED], captions={"annotations": captions}).write())
    image, file = COMBINED["image"], "captions.json"
    expected = [
        (image, "dataset", "A cat.", file, "record 0"),
        (image, "dataset", "Ein Kätzchen.", file, "record 2"),
    ]
    assert frames.captions.rows() == expected
    reason = "the caption is missing or not text"
    assert frames.rejected == (
        Rejected("captions", file, "record 3", "caption", None, reason, REMEDY),
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, None), (True, "True"), (False, "False"), (7.5, "7.5"), ("", ""), ([7], "[7]")],
)
@pytest.mark.parametrize("table", ["items", "answers"])
def test_record_without_a_usable_question_id(
    tmp_path: Path, table: str, value: object, shown: str | None
) -> None:
    record = {"question_id": value, "question": "?", "answer": "x"}
    good = [{"question_id": 7, "answer": "cat"}]
    files = (
        Files(tmp_path, [COMBINED, record])
        if table == "items"
        else Files(tmp_path, [COMBINED], [*good, record])
    )
    frames = read_vqa(files.write())
    file = "references.json" if table == "items" else "m.json"
    assert frames.rejected == (
        Rejected(table, file, "record 1", "question_id", shown, NO_ID, REMEDY),
    )
    assert (frames.items.height, frames.answers.height) == (1, 1)


def test_record_that_has_no_keys(tmp_path: Path) -> None:
    frames = read_vqa(Files(tmp_path, [COMBINED, "7"], [{"answer": "x"}, None]).write())
    assert frames.rejected == (
        Rejected("items", "references.json", "record 1", "question_id", "7", NO_ID, REMEDY),
        Rejected("answers", "m.json", "record 0", "question_id", None, NO_ID, REMEDY),
        Rejected("answers", "m.json", "record 1", "question_id", None, NO_ID, REMEDY),
    )


@pytest.mark.parametrize(
    ("answer", "text"), [("", ""), (3, "3"), (2.5, "2.5"), ("naïve 猫", "naïve 猫")]
)
def test_answers_that_are_text_or_a_number(tmp_path: Path, answer: object, text: str) -> None:
    frames = read_vqa(Files(tmp_path, [COMBINED], [{"question_id": 7, "answer": answer}]).write())
    assert frames.answers["text"].to_list() == [text]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [(None, None), (["cat"], "['cat']"), (True, "True"), ({"a": 1}, "{'a': 1}")],
)
def test_answers_that_are_neither(tmp_path: Path, answer: object, shown: str | None) -> None:
    frames = read_vqa(Files(tmp_path, [COMBINED], [{"question_id": 7, "answer": answer}]).write())
    reason = "the answer is missing or not text"
    assert frames.rejected == (
        Rejected("answers", "m.json", "record 0", "answer", shown, reason, REMEDY),
    )
    assert frames.answers.is_empty()


@pytest.mark.parametrize(("question", "shown"), [(None, None), ("  ", "  "), (5, "5")])
def test_question_that_is_not_text(tmp_path: Path, question: object, shown: str | None) -> None:
    frames = read_vqa(Files(tmp_path, [COMBINED | {"question": question}]).write())
    reason = "the question is missing or not text"
    assert frames.rejected == (
        Rejected("items", "references.json", "record 0", "question", shown, reason, REMEDY),
    )
    assert frames.items.is_empty()


@pytest.mark.parametrize(
    ("answers", "kept", "shown"),
    [
        (None, [], [None]),
        (5, [], ["5"]),
        (["cat", None, 3, "dog"], ["cat", "dog"], [None, "3"]),
        ([{"answer": "cat"}], ["cat"], []),
    ],
)
def test_reference_that_is_not_text_is_reported_and_left_out(
    tmp_path: Path, answers: object, kept: list[str], shown: list[str | None]
) -> None:
    first = COMBINED | {"question_id": 6}
    frames = read_vqa(Files(tmp_path, [first, COMBINED | {"answer": answers}]).write())
    reason = "a reference answer is not text; the item goes on without it"
    assert frames.rejected == tuple(
        Rejected("items", "references.json", "record 1", "answers", value, reason, REMEDY)
        for value in shown
    )
    assert frames.items["references"].to_list() == [["cat", "kitten"], kept]


@pytest.mark.parametrize("questions", [None, [QUESTION]])
def test_annotations_of_one_question_that_differ_are_all_reported(
    tmp_path: Path, questions: object
) -> None:
    changed = COMBINED | {"answer": ["dog"]}
    frames = read_vqa(Files(tmp_path, [COMBINED, changed, COMBINED], questions=questions).write())
    rejected = [(one.locator, one.column_name, one.value, one.reason) for one in frames.rejected]
    assert rejected == [
        (f"record {number}", "question_id", "7", "records of the same question differ")
        for number in range(3)
    ]
    assert frames.items.is_empty()


def test_identical_annotations_are_one_item(tmp_path: Path) -> None:
    frames = read_vqa(Files(tmp_path, [COMBINED, COMBINED]).write())
    assert (frames.items.height, frames.rejected) == (1, ())


def test_unicode_stays_as_it_is(tmp_path: Path) -> None:
    decomposed = "cafe\u0301 \u200d👩🏽‍🚀"
    record = {"question_id": "frage-ü", "question": decomposed, "answer": [decomposed]}
    frames = read_vqa(
        Files(tmp_path, [record], [{"question_id": "frage-ü", "answer": decomposed}]).write()
    )
    assert frames.items.select("item_id", "prompt", "references").rows() == [
        ("frage-ü", decomposed, [decomposed])
    ]
    assert frames.answers["text"].to_list() == [decomposed]


def test_glob_names_the_models(tmp_path: Path) -> None:
    for name in ("run_gpt-4_v1.json", "run_gpt-4_x_v22.json", "run_.json", "other_a_v1.json"):
        write_json(tmp_path / "res" / name, [])
    found = find_answer_files(tmp_path / "res" / "run_{model}_v*.json")
    assert {model: file.name for model, file in found.items()} == {
        "gpt-4": "run_gpt-4_v1.json",
        "gpt-4_x": "run_gpt-4_x_v22.json",
    }


def test_model_may_be_a_folder_and_its_files_are_distinguished(tmp_path: Path) -> None:
    write_json(tmp_path / "references.json", [COMBINED])
    for model in ("a", "b"):
        write_json(
            tmp_path / "res" / model / "answers.json",
            [{"question_id": 7, "answer": model}, {"question_id": 7}],
        )
    frames = read_vqa(
        VqaSettings(tmp_path / "references.json", tmp_path / "res" / "{model}" / "answers.json")
    )
    reported = frames.answers.select("model", "text", "source_file").rows()
    assert reported == [("a", "a", "a/answers.json"), ("b", "b", "b/answers.json")]
    assert [one.source_file for one in frames.rejected] == ["a/answers.json", "b/answers.json"]


def test_glob_with_relative_path_and_signs_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(tmp_path / "x[1]?" / "res[2]_a.json", [])
    monkeypatch.chdir(tmp_path / "x[1]?")
    for pattern in (
        Path("res[2]_{model}.json"),
        Path("../x[1]?/res[2]_{model}.json"),
        tmp_path / "x[1]?" / "res[2]_{model}.json",
    ):
        assert list(find_answer_files(pattern)) == ["a"]


@pytest.mark.parametrize(
    "pattern", ["res/{model}.jsonl", "absent/{model}.json", "res/b*_{model}.json"]
)
def test_glob_that_matches_nothing(tmp_path: Path, pattern: str) -> None:
    write_json(tmp_path / "res" / "a.json", [])
    reported = (
        f"{tmp_path / pattern}: no file matches; expected one result file a model; check "
        f"the path in the suite"
    )
    with pytest.raises(SourceError, match=f"^{re.escape(reported)}$"):
        find_answer_files(tmp_path / pattern)


@pytest.mark.parametrize("pattern", ["res/a.json", "{model}/{model}.json"])
def test_glob_that_does_not_name_the_model(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(
        SourceError,
        match=r"names no model; expected one '\{model\}' in the answers' path; write it where",
    ):
        find_answer_files(tmp_path / pattern)


def test_two_files_of_one_model_are_refused(tmp_path: Path) -> None:
    for name in ("a_1.json", "a_2.json"):
        write_json(tmp_path / name, [])
    reported = (
        r"a_2\.json: is a second file of the model 'a' beside a_1\.json; expected one a "
        r"model; make the answers' path .* narrower"
    )
    with pytest.raises(SourceError, match=reported):
        find_answer_files(tmp_path / "{model}_*.json")


def test_absent_references_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    settings = Files(tmp_path, [COMBINED]).write()
    settings.references.unlink()
    with pytest.raises(
        SourceError,
        match=r"references\.json: there is no such file; expected VQA questions or "
        r"annotations; check",
    ):
        source_digest(settings)


def test_truncated_json_names_line_and_column(tmp_path: Path) -> None:
    settings = Files(tmp_path, [COMBINED]).write()
    settings.references.write_text('[\n {"question_id": 7,\n  "question": "Wh')
    with pytest.raises(
        SourceError,
        match=r"references\.json:3:1\d: is not valid JSON \(.*\); expected a whole UTF-8 JSON "
        r"file; fetch",
    ):
        read_vqa(settings)


@pytest.mark.parametrize("content", [{"info": 1}, {"annotations": {}}, "text", 5, None])
def test_file_without_a_list_of_records(tmp_path: Path, content: object) -> None:
    settings = Files(tmp_path, content).write()
    reported = (
        r"references\.json: holds no list of records; expected a list, or one under "
        r"'annotations' or 'questions'; check that"
    )
    with pytest.raises(SourceError, match=reported):
        read_vqa(settings)


def test_answers_to_unknown_questions_and_repeats_are_reported_by_the_ingest(
    tmp_path: Path,
) -> None:
    results = [
        {"question_id": 7, "answer": "cat"},
        {"question_id": 7, "answer": "cat"},
        {"question_id": 8, "answer": "one"},
        {"question_id": 8, "answer": "two"},
        {"question_id": 99, "answer": "lost"},
    ]
    settings = Files(tmp_path, [COMBINED, COMBINED | {"question_id": 8}], results).write()
    lake = open_lake(tmp_path / "lake", create=True)
    summary = ingest_benchmark(lake, BenchmarkSettings("bench", "vqa", settings), tmp_path, None)
    assert (summary.n_items, summary.n_answers, summary.n_quarantined) == (
        2,
        1,
        4,
    )  # the fourth: the image of both is missing
    assert query(lake, "select item_id, text, n_repeats from answers") == [
        {"item_id": "7", "text": "cat", "n_repeats": 2}
    ]
    reported = query(
        lake,
        "select locator, column_name, value, reason, remedy from quarantine where table_name "
        "!= 'images' order by locator",
    )
    key = {"column_name": "item_id, answer_id", "reason": "rows with the same key differ in text"}
    remedy = "the model may have answered again: give each its `sample` or `answer_id`, or keep "
    differ = {**key, "remedy": remedy + "one of the rows"}
    other = "8, m/short/0 (other row: m.json:record {})"
    assert reported[:2] == [
        {"locator": "record 2", "value": other.format(3), **differ},
        {"locator": "record 3", "value": other.format(2), **differ},
    ]
    reason = "the item it refers to is not there or did not pass"
    lost = {"locator": "record 4", "column_name": "item_id", "value": "99", "reason": reason}
    assert reported[2:] == [lost | {"remedy": "add the item to its file, or remove this row"}]


@pytest.mark.data
def test_okvqa_comes_in_whole(data_folder: Path, tmp_path: Path) -> None:
    folder = data_folder / "okvqa"
    settings = VqaSettings(
        folder / "okvqa_val_eval.json",
        folder / "coco14_promptC_gpt3_{model}_n16_repeat5_*.json",
        folder / "OpenEnded_mscoco_val2014_questions.json",
    )
    lake = open_lake(tmp_path / "lake", create=True)
    summary = ingest_benchmark(lake, BenchmarkSettings("okvqa", "vqa", settings), tmp_path, None)
    assert (summary.n_items, summary.n_answers, summary.n_quarantined) == (
        5046,
        15138,
        1,
    )  # the one: no image is there
    assert query(lake, "select distinct len(items.references) as n from items") == [{"n": 10}]
    models = query(lake, "select model, count(*) as n from answers group by model order by model")
    assert models == [{"model": name, "n": 5046} for name in ("5GT", "VinVL", "VinVLTag")]
    first = query(
        lake, "select prompt, items.images[1].uri as image from items where item_id = '2971475'"
    )
    assert first == [
        {
            "prompt": "What sport can you use this for?",
            "image": "val2014/COCO_val2014_000000297147.jpg",
        }
    ]


@pytest.mark.data
def test_vqav2_sample_has_the_question_type_as_category(data_folder: Path, tmp_path: Path) -> None:
    folder = data_folder / "vqav2_sample"
    write_json(tmp_path / "m.json", [{"question_id": 42000, "answer": "white"}])
    settings = VqaSettings(
        folder / "smallval_annotations.json",
        tmp_path / "{model}.json",
        folder / "smallval_questions.json",
    )
    frames = read_vqa(settings)
    assert (frames.items.height, frames.rejected) == (589, ())
    assert set(frames.items["references"].list.len()) == {10}
    assert frames.items["category"].null_count() == 0
    first = frames.items.row(by_predicate=pl.col("item_id") == "42000", named=True)
    assert (first["prompt"], first["category"]) == (
        "What color are the gym shoes?",
        "what color are the",
    )
