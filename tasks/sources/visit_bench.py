"""Source `visit_bench`: VisIT-Bench's CSV files, of one or several images an item
(visit-bench.github.io). Images are URLs, never fetched.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from judgelake.tasks.digests import digest_json
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.delimited import CsvRow, read_csv_rows
from judgelake.tasks.sources.readers.lines import Rejects, expect_files

VERSION = 1
_MODEL = "gpt-4"
_ANNOTATOR = "visit_bench"
_CRITERION = "correctness"
_CORRECT = "human_ratings_gpt4_correct"
_RATINGS = {"true": 1.0, "false": 0.0}
_IMAGES = ("images", "image_url")
_REFERENCES = ("reference_output", "output_human_annotated")
_CAPTIONS = {
    "images_dense_captions": "people",
    "image_dense_caption": "people",
    "images_blip2_captions": "blip2",
}
_Row = tuple[object, ...]


@frozen_settings
class VisitBenchSettings:
    """`files`: those with `images` (JSON lists of URLs, several images an item) and those with one
    `image_url`.
    """

    files: tuple[SuitePath, ...]


def source_files(settings: VisitBenchSettings) -> list[Path]:
    """All files this source reads; raises SourceError for one that is absent."""
    return expect_files(settings.files, "a CSV file of VisIT-Bench")


def read_visit_bench(settings: VisitBenchSettings) -> SourceFrames:
    """Instructions with their images and reference; GPT-4's prediction as an answer, whether people
    find it correct as a rating.

    An item's id is the digest of its instruction and image URLs, for rows of one instruction differ
    in their images only.
    """
    rejects = Rejects()
    items: list[_Row] = []
    answers: list[_Row] = []
    ratings: list[_Row] = []
    captions: list[_Row] = []
    for file in settings.files:
        for row in read_csv_rows(file, ("instruction",), "items", rejects):
            urls = _read_images(row, rejects)
            if urls is None:
                continue
            item_id = digest_json([row.cells["instruction"], urls])[:16]
            items.append(_item(item_id, urls, row))
            captions += _read_captions(urls, row, rejects)
            if prediction := row.cells.get("gpt4_prediction", "").strip():
                answers.append(
                    (item_id, f"{_MODEL}/long/0", _MODEL, "long", 0, prediction, *row.place)
                )
                ratings += _read_rating(item_id, row, rejects)
    return SourceFrames(
        items=pl.DataFrame(items, schema=frame_schema("items"), orient="row"),
        answers=pl.DataFrame(answers, schema=frame_schema("answers"), orient="row"),
        human_ratings=pl.DataFrame(ratings, schema=frame_schema("human_ratings"), orient="row"),
        captions=pl.DataFrame(captions, schema=frame_schema("captions"), orient="row"),
        rejected=tuple(rejects),
    )


def _item(item_id: str, urls: list[str], row: CsvRow) -> _Row:
    references = [text for name in _REFERENCES if (text := row.cells.get(name, "").strip())]
    images = [{"uri": url, "sha256": None} for url in urls]
    category = row.cells.get("instruction_category") or None
    return (
        item_id,
        "instruction",
        row.cells["instruction"],
        references,
        images,
        [],
        category,
        None,
        f"item:{item_id}",
        *row.place,
    )


def _read_images(row: CsvRow, rejects: Rejects) -> list[str] | None:
    column = next((name for name in _IMAGES if row.cells.get(name, "").strip()), _IMAGES[0])
    urls = _read_list(row.cells.get(column, ""))
    if not urls or not row.cells["instruction"].strip():
        bad, reason = (
            (column, "the images are neither a URL nor a JSON list of URLs")
            if not urls
            else ("instruction", "there is no instruction")
        )
        rejects.add("items", row.place, bad, row.cells.get(bad), reason)
        return None
    return urls


def _read_captions(urls: list[str], row: CsvRow, rejects: Rejects) -> Iterator[_Row]:
    """One caption an image, in the images' order."""
    for column, captioner in _CAPTIONS.items():
        cell = row.cells.get(column, "")
        texts = _read_list(cell) if cell.strip() else []
        if texts is None or len(texts) not in (0, len(urls)):
            rejects.add(
                "captions",
                row.place,
                column,
                cell,
                f"the captions are not one for each of the {len(urls)} images",
            )
            continue
        yield from (
            (url, captioner, text, *row.place) for url, text in zip(urls, texts, strict=False)
        )


def _read_list(cell: str) -> list[str] | None:
    """The texts of a JSON list, or the cell itself as the only one; None for a list that is damaged
    or not of texts.

    The release pads its lists of captions to ten with NaN, which JSON does not know and only the
    standard library reads.
    """
    if not cell.lstrip().startswith("["):
        return [cell.strip()] if cell.strip() else None
    try:
        given = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    texts = [
        reference
        for reference in given
        if not (isinstance(reference, float) and math.isnan(reference))
    ]
    return texts if all(isinstance(text, str) for text in texts) else None


def _read_rating(item_id: str, row: CsvRow, rejects: Rejects) -> Iterator[_Row]:
    """The verdict of the data set's people on GPT-4's answer; a blank cell is none."""
    text = row.cells.get(_CORRECT, "").strip()
    rating = _RATINGS.get(text.casefold())
    if rating is not None:
        yield (item_id, f"{_MODEL}/long/0", _CRITERION, _ANNOTATOR, rating, 0.0, 1.0, *row.place)
    elif text:
        rejects.add(
            "human_ratings",
            row.place,
            _CORRECT,
            text,
            "the verdict is neither True nor False nor blank",
        )


SOURCE = Source(
    "visit_bench",
    VisitBenchSettings,
    VERSION,
    source_files,
    lambda settings, _: read_visit_bench(settings),
)
