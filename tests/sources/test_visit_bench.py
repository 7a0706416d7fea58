"""VisIT-Bench's CSV files: several images an item, blanks and paddings, people's verdicts."""

import csv
import json
from pathlib import Path

import pytest

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.frames import SourceFrames
from judgelake.tasks.sources.visit_bench import VisitBenchSettings, read_visit_bench, source_files

URLS = ["https://example.com/1.png", "https://example.com/2.png"]
ROW = {
    "instruction_category": "rcc",
    "images": json.dumps(URLS),
    "instruction": "Tell,\nwhat changed.",
    "gpt4_prediction": "The cat moved.",
    "images_dense_captions": '["a cat", "no cat", NaN, NaN]',
    "images_blip2_captions": '["cat", "dog"]',
    "reference_output": "a cat moved",
    "human_ratings_gpt4_correct": "True",
}


def read(
    folder: Path, *rows: dict[str, str], columns: tuple[str, ...] = tuple(ROW)
) -> SourceFrames:
    with (folder / "visit.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return read_visit_bench(VisitBenchSettings((folder / "visit.csv",)))


def test_a_row_is_an_item_an_answer_a_rating_and_captions(tmp_path: Path) -> None:
    frames = read(tmp_path, ROW)
    [item] = frames.items.to_dicts()
    assert item["images"] == [{"uri": url, "sha256": None} for url in URLS]
    assert (item["prompt"], item["references"], item["category"]) == (
        "Tell,\nwhat changed.",
        ["a cat moved"],
        "rcc",
    )
    [answer] = frames.answers.to_dicts()
    assert (answer["item_id"], answer["model"], answer["text"]) == (
        item["item_id"],
        "gpt-4",
        "The cat moved.",
    )
    [rating] = frames.human_ratings.to_dicts()
    assert (rating["answer_id"], rating["annotator"], rating["rating"]) == (
        answer["answer_id"],
        "visit_bench",
        1.0,
    )
    captions = [tuple(row)[:3] for row in frames.captions.iter_rows()]
    people = [(URLS[0], "people", "a cat"), (URLS[1], "people", "no cat")]
    assert captions == [*people, (URLS[0], "blip2", "cat"), (URLS[1], "blip2", "dog")]
    assert frames.rejected == ()


@pytest.mark.parametrize(
    ("cell", "ratings"), [("True", [1.0]), ("False", [0.0]), ("", []), ("maybe", [])]
)
def test_a_blank_verdict_is_missing(tmp_path: Path, cell: str, ratings: list[float]) -> None:
    frames = read(tmp_path, ROW | {"human_ratings_gpt4_correct": cell})
    assert frames.human_ratings["rating"].to_list() == ratings
    assert frames.answers.height == 1
    assert [one.value for one in frames.rejected] == (["maybe"] if cell == "maybe" else [])


def test_blanks_are_no_reference_and_no_answer(tmp_path: Path) -> None:
    frames = read(
        tmp_path,
        ROW | {"reference_output": " ", "gpt4_prediction": "", "images_dense_captions": ""},
    )
    assert frames.items["references"].to_list() == [[]]
    assert (frames.answers.height, frames.human_ratings.height, frames.captions.height) == (0, 0, 2)


def test_one_instruction_with_other_images_is_another_item(tmp_path: Path) -> None:
    frames = read(
        tmp_path,
        ROW,
        ROW
        | {
            "images": json.dumps(URLS[:1]),
            "images_dense_captions": "",
            "images_blip2_captions": "",
        },
    )
    assert frames.items["item_id"].n_unique() == 2


@pytest.mark.parametrize(
    ("column", "cell", "table"),
    [
        ("images", "[1]", "items"),
        ("images", '["cut', "items"),
        ("images", "", "items"),
        ("images", "[" * 100_000, "items"),
        ("instruction", " ", "items"),
        ("images_blip2_captions", '["only one"]', "captions"),
    ],
)
def test_a_damaged_cell_is_reported_with_its_line(
    tmp_path: Path, column: str, cell: str, table: str
) -> None:
    frames = read(
        tmp_path,
        ROW,
        ROW | {column: cell, "gpt4_prediction": "other"},
        ROW | {"images": '["x"]', "images_blip2_captions": ""},
    )
    reported = [
        one for one in frames.rejected if one.locator == "line 4"
    ]  # the first row has two lines
    assert [(one.table_name, one.column_name, one.value) for one in reported] == [
        (table, column, cell[:200])
    ]
    assert frames.items.height == (2 if table == "items" else 3)


def test_the_annotated_examples_have_one_image(tmp_path: Path) -> None:
    row = {
        "image_url": URLS[0],
        "image_dense_caption": "a cat",
        "instruction": "What?",
        "output_human_annotated": "A cat.",
    }
    frames = read(tmp_path, row, columns=tuple(row))
    [item] = frames.items.to_dicts()
    assert (item["images"], item["references"]) == ([{"uri": URLS[0], "sha256": None}], ["A cat."])
    assert [tuple(one)[:3] for one in frames.captions.iter_rows()] == [(URLS[0], "people", "a cat")]


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"visit\.csv:1: the header lacks 'instruction'; it has 'images'"
    ):
        read(tmp_path, {}, columns=("images",))
    with pytest.raises(SourceError, match="there is no such file"):
        source_files(VisitBenchSettings((tmp_path / "absent.csv",)))
