"""FastChat's files: questions, answers, reviews, human verdicts a line, LLaVA-Bench's references
and captions.
"""

import json
from pathlib import Path

import pytest

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.fastchat import FastchatSettings, read_fastchat, source_files

Record = dict[str, object]


def write(file: Path, *records: Record) -> Path:
    file.write_text("\n".join(map(json.dumps, records)) + "\n")
    return file


def said(number: int, model: str, text: str) -> Record:
    return {
        "question_id": number,
        "answer_id": f"{model}-{number}",
        "model_id": f"{model}:v1",
        "text": text,
    }


def review(number: int, text: str, first: str, second: str) -> Record:
    return {
        "question_id": number,
        "answer1_id": first,
        "answer2_id": second,
        "text": text,
        "reviewer_id": "gpt-4-math",
    }


@pytest.fixture
def settings(tmp_path: Path) -> FastchatSettings:
    questions: list[Record] = [
        {"question_id": number, "text": f"Q{number}?", "category": "math"} for number in (1, 2, 3)
    ]
    write(tmp_path / "question.jsonl", *questions)
    for model in ("ann", "bob"):
        write(
            tmp_path / f"answer_{model}.jsonl",
            *(said(number, model, f"{model} {number}") for number in (1, 2, 3)),
        )
    texts = ("9 8.5\nBoth good.", "It depends.", "Assistant 1: 2\nAssistant 2: 2")
    pairs = [
        review(number, text, f"ann-{number}", f"bob-{number}")
        for number, text in enumerate(texts, 1)
    ]
    write(tmp_path / "review_ann_bob.jsonl", *pairs)
    (tmp_path / "human.txt").write_text("BOB\nTIE\n\n")
    return FastchatSettings(
        tmp_path / "question.jsonl",
        (tmp_path / "answer_*.jsonl",),
        reviews=(tmp_path / "review_*.jsonl",),
        human=tmp_path / "human.txt",
        human_labels={"ANN": "ann:v1", "BOB": "bob:v1"},
    )


def test_questions_and_answers(settings: FastchatSettings) -> None:
    frames = read_fastchat(settings)
    assert frames.items.select("item_id", "task", "prompt", "category", "cluster").rows()[0] == (
        "1", "instruction", "Q1?", "math", "question:1",
    )  # fmt: skip
    assert frames.answers.select("item_id", "answer_id", "model", "style", "text").rows()[3] == (
        "1", "bob:v1/long/0", "bob:v1", "long", "bob 1",
    )  # fmt: skip
    assert frames.rejected == ()


def test_reviews_are_read_and_the_unclear_one_is_unparsed_with_its_text(
    settings: FastchatSettings,
) -> None:
    duels = read_fastchat(settings).recorded_duels
    columns = (
        "answer_a",
        "answer_b",
        "shown_first",
        "choice",
        "judge",
        "status",
        "preference_b",
        "score_a",
        "score_b",
    )
    pair = ("ann:v1/long/0", "bob:v1/long/0", "a")
    assert duels.select(columns).rows() == [
        (*pair, "a", "gpt-4-math", "ok", 0.0, 9.0, 8.5),
        (*pair, None, "gpt-4-math", "unparsed", None, None, None),
        (*pair, "tie", "gpt-4-math", "ok", 0.5, 2.0, 2.0),
    ]
    assert duels["text"][1] == "It depends."
    assert duels["reason"].to_list() == [
        None,
        "the review does not clearly give two scores from 0 to 10",
        None,
    ]


def test_line_n_of_the_human_file_is_about_question_n_and_a_blank_is_no_choice(
    settings: FastchatSettings,
) -> None:
    preferences = read_fastchat(settings).human_preferences
    assert preferences.select("item_id", "answer_a", "answer_b", "choice", "annotator").rows() == [
        ("1", "ann:v1/long/0", "bob:v1/long/0", "b", "human"),
        ("2", "ann:v1/long/0", "bob:v1/long/0", "tie", "human"),
        ("3", "ann:v1/long/0", "bob:v1/long/0", None, "human"),
    ]


def test_what_does_not_fit_is_refused(settings: FastchatSettings, tmp_path: Path) -> None:
    (tmp_path / "human.txt").write_text("EVE\nANN\nTIE\nBOB\n")
    write(
        tmp_path / "review_more.jsonl",
        review(1, "9 8", "ann-1", "eve-1"),
        review(1, "9 8", "ann-1", "bob-2"),
    )
    write(
        tmp_path / "answer_more.jsonl",
        {"question_id": 1, "text": "no model"},
        {"question_id": 1, "model_id": "eve", "text": None},
    )
    frames = read_fastchat(settings)
    assert [(row.source_file, row.locator, row.value) for row in frames.rejected] == [
        ("answer_more.jsonl", "line 1", None), ("answer_more.jsonl", "line 2", None),
        ("review_more.jsonl", "line 1", "ann-1, eve-1"), ("review_more.jsonl", "line 2", "ann-1, bob-2"),
        ("human.txt", "line 1", "EVE"), ("human.txt", "line 4", "BOB"),
    ]  # fmt: skip
    assert (
        frames.answers.height,
        frames.recorded_duels.height,
        frames.human_preferences.height,
    ) == (6, 3, 2)


def test_the_judge_may_be_named(settings: FastchatSettings) -> None:
    named = FastchatSettings(
        settings.questions, settings.answers, reviews=settings.reviews, judge="gpt-4"
    )
    assert set(read_fastchat(named).recorded_duels["judge"]) == {"gpt-4"}


def test_llava_bench_has_images_references_and_captions_but_no_regions(tmp_path: Path) -> None:
    questions = write(
        tmp_path / "q.jsonl",
        {"question_id": 0, "image": "7.jpg", "text": "What?", "category": "conv"},
    )
    references = write(tmp_path / "r.jsonl", {"question_id": 0, "text": "A cat."})
    boxes = [{"category": "cat", "bbox": [0.1, 0.2, 0.3, 0.4]}]
    captions = write(
        tmp_path / "c.jsonl",
        {"id": "7", "image": "7.jpg", "captions": ["A cat", "Cats"], "instances": boxes},
    )
    frames = read_fastchat(FastchatSettings(questions, references=references, captions=captions))
    assert frames.items.select("item_id", "references", "images", "regions", "cluster").rows() == [
        ("0", ["A cat."], [{"uri": "7.jpg", "sha256": None}], [], "7.jpg")
    ]
    assert frames.captions.select("image_uri", "captioner", "text").rows() == [
        ("7.jpg", "dataset", "A cat"),
        ("7.jpg", "dataset", "Cats"),
    ]


def test_human_verdicts_need_their_two_words(settings: FastchatSettings) -> None:
    with pytest.raises(ValueError, match=r"human_labels: "):
        FastchatSettings(settings.questions, human=settings.human, human_labels={"ANN": "ann:v1"})


def test_a_glob_without_a_file_is_an_error(settings: FastchatSettings, tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"reply_\*\.jsonl: no file matches; expected answers of a model"
    ):
        source_files(FastchatSettings(settings.questions, (tmp_path / "reply_*.jsonl",)))


@pytest.mark.data
def test_every_review_reads_and_differs_from_the_stored_scores_only_where_these_differ_from_the_text(
    data_folder: Path,
) -> None:
    files = sorted((data_folder / "vicuna_pairs").glob("review_*.jsonl"))
    stored = {}
    for file in files:
        for line in file.read_text().splitlines():
            record = json.loads(line)
            stored[file.name, record["question_id"]] = tuple(record["score"])
    folder = data_folder / "vicuna_pairs"
    settings = FastchatSettings(
        folder / "question.jsonl",
        (folder / "answer_*.jsonl",),
        reviews=(folder / "review_*.jsonl",),
    )
    duels = read_fastchat(settings).recorded_duels
    assert (duels.height, set(duels["status"])) == (320, {"ok"})
    read = {
        (row["source_file"], int(row["item_id"])): (row["score_a"], row["score_b"])
        for row in duels.to_dicts()
    }
    # Both texts end in `Assistant 1: 10`, `Assistant 2: 4`; the stored score says 2.
    assert {key: (read[key], score) for key, score in stored.items() if read[key] != score} == {
        ("review_bard_vicuna-13b.jsonl", 70): ((10, 4), (10, 2)),
        ("review_llama-13b_vicuna-13b.jsonl", 70): ((10, 4), (10, 2)),
    }
