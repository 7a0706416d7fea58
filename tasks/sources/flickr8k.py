"""Source `flickr8k`: Flickr8k Expert, captions of photos rated by three experts, and a recorded
judge's scores of the same pairs.

Formats: the readme of Flickr8k (Hodosh et al. 2013) and the score file of FLEUR (blocks of `image
file`, `caption`, `model score`, `our score`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from judgelake.tasks.errors import SourceError
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.lines import Rejects, TextLine, expect_files, read_lines

VERSION = 1
_PROMPT = "Describe the image in one sentence."
_EXPERTS = ("expert1", "expert2", "expert3")
_SCORES = {"model score": "fleur-raw", "our score": "fleur"}
_DROPPED = "the caption belongs to the image itself (drop_own: true)"
_KEEP = "set drop_own: false to keep such pairs"
_ROUNDING = 0.01
"""Shares of the crowd are rounded."""
_Row = tuple[object, ...]


@frozen_settings
class Flickr8kSettings:
    """`drop_own` leaves out pairs whose caption was written for the image; they are counted among
    the rows that did not pass.
    """

    annotations: SuitePath
    captions: SuitePath
    fleur: SuitePath | None = None
    drop_own: bool = True


class _RatedCaption(NamedTuple):
    image: str
    caption_id: str
    text: str
    ratings: tuple[float, ...]
    place: tuple[str, str]


class _CaptionFile(NamedTuple):
    """Texts by caption id and the ids of each image's captions, with the places."""

    texts: dict[str, str]
    of_image: dict[str, list[str]]
    places: dict[str, tuple[str, str]]


def source_files(settings: Flickr8kSettings) -> list[Path]:
    """All files this source reads; raises SourceError where one is absent."""
    return expect_files(
        (settings.annotations, settings.captions, settings.fleur), "a file of Flickr8k Expert"
    )


def read_flickr8k(settings: Flickr8kSettings) -> SourceFrames:
    """An item an image (references: its own captions), an answer a rated caption, three ratings
    each, and the recorded judge.
    """
    rejects = Rejects()
    captions = _read_captions(settings.captions, rejects)
    pairs = list(_read_pairs(settings.annotations, captions, rejects))
    kept = [pair for pair in pairs if not (settings.drop_own and _is_own(pair))]
    for pair in pairs:
        if settings.drop_own and _is_own(pair):
            rejects.add("answers", pair.place, "caption", pair.caption_id, _DROPPED, _KEEP)
    first: dict[str, _RatedCaption] = {}
    for pair in kept:
        first.setdefault(pair.image, pair)
    items = [_item(pair, captions) for pair in first.values()]
    answers = [
        (pair.image, pair.caption_id, None, "short", 0, pair.text, *pair.place) for pair in kept
    ]
    ratings = [
        (pair.image, pair.caption_id, "overall", expert, rating, 1.0, 4.0, *pair.place)
        for pair in kept
        for expert, rating in zip(_EXPERTS, pair.ratings, strict=True)
    ]
    own = [
        (image, "dataset", captions.texts[key], *captions.places[key])
        for image in first
        for key in captions.of_image[image]
    ]
    verdicts = list(_read_fleur(settings.fleur, pairs, kept, rejects)) if settings.fleur else []
    return SourceFrames(
        items=pl.DataFrame(items, schema=frame_schema("items"), orient="row"),
        answers=pl.DataFrame(answers, schema=frame_schema("answers"), orient="row"),
        human_ratings=pl.DataFrame(ratings, schema=frame_schema("human_ratings"), orient="row"),
        captions=pl.DataFrame(own, schema=frame_schema("captions"), orient="row"),
        recorded_verdicts=pl.DataFrame(
            verdicts, schema=frame_schema("recorded_verdicts"), orient="row"
        ),
        rejected=tuple(rejects),
    )


def _is_own(pair: _RatedCaption) -> bool:
    return pair.caption_id.rpartition("#")[0] == pair.image


def _item(pair: _RatedCaption, captions: _CaptionFile) -> _Row:
    references = [captions.texts[key] for key in captions.of_image[pair.image]]
    images = [{"uri": pair.image, "sha256": None}]
    return (
        pair.image,
        "caption",
        _PROMPT,
        references,
        images,
        [],
        None,
        None,
        pair.image,
        *pair.place,
    )


def _read_captions(file: Path, rejects: Rejects) -> _CaptionFile:
    captions = _CaptionFile({}, {}, {})
    for line in read_lines(file, "captions", rejects):
        place = (file.name, f"line {line.number}")
        key, tab, text = line.text.partition("\t")
        image = key.rpartition("#")[0]
        if not tab or not image or not text.strip():
            rejects.add(
                "captions",
                place,
                None,
                line.text,
                "the line is not `<image>#<number>`, a tab, a caption",
            )
        elif key in captions.texts:
            rejects.add(
                "captions",
                place,
                "caption id",
                key,
                "the caption id stands twice; the first one counts",
            )
        else:
            captions.texts[key], captions.places[key] = text, place
            captions.of_image.setdefault(image, []).append(key)
    return captions


def _refuse_crowd(file: Path, lines: list[TextLine]) -> None:
    """Raises SourceError for the judgements of a crowd, whose columns mean something else: a share,
    how many said yes, how many no. No row of three ratings from 1 to 4 can be read so.
    """
    crowd = [line for line in lines if _is_crowd(line.text.split("\t")[2:])]
    if 2 * len(crowd) > len(lines):
        raise SourceError(
            f"{file}:{crowd[0].number}: holds shares and counts of yes and no, as "
            f"CrowdFlowerAnnotations.txt does; expected three ratings from 1 to 4; write the path "
            f"of ExpertAnnotations.txt, or read this file by source table "
            f"(`judgelake init --example flickr8k_crowd`)"
        )


def _is_crowd(cells: list[str]) -> bool:
    share, yes, no = [_number(cell) for cell in cells] if len(cells) == 3 else [None] * 3
    if share is None or yes is None or no is None or not yes + no:
        return False
    return abs(share - yes / (yes + no)) < _ROUNDING


def _read_pairs(file: Path, captions: _CaptionFile, rejects: Rejects) -> Iterator[_RatedCaption]:
    lines = list(read_lines(file, "answers", rejects))
    _refuse_crowd(file, lines)
    for line in lines:
        place = (file.name, f"line {line.number}")
        cells = line.text.split("\t")
        if len(cells) != 2 + len(_EXPERTS):
            reason = (
                f"the row has {len(cells)} cells; expected image, caption id and "
                f"{len(_EXPERTS)} ratings"
            )
            rejects.add("answers", place, None, line.text, reason)
            continue
        image, key, *given = cells
        ratings = [_number(text) for text in given]
        if None in ratings:
            column = _EXPERTS[ratings.index(None)]
            rejects.add(
                "human_ratings",
                place,
                column,
                given[ratings.index(None)],
                "the rating is not a number",
            )
        elif key not in captions.texts:
            rejects.add(
                "answers", place, "caption id", key, "the caption is not in the file of captions"
            )
        elif image not in captions.of_image:
            rejects.add(
                "items",
                place,
                "image",
                image,
                "the image has no caption of its own in the file of captions",
            )
        else:
            yield _RatedCaption(
                image,
                key,
                captions.texts[key],
                tuple(rating for rating in ratings if rating is not None),
                place,
            )


def _read_fleur(
    file: Path, pairs: list[_RatedCaption], kept: list[_RatedCaption], rejects: Rejects
) -> Iterator[_Row]:
    """Both scores of every block, found by image and caption text; blocks about dropped pairs are
    passed over.
    """
    known = {(pair.image, pair.text) for pair in pairs}
    answers: dict[tuple[str, str], list[str]] = {}
    for pair in kept:
        answers.setdefault((pair.image, pair.text), []).append(pair.caption_id)
    for start, block in _blocks(read_lines(file, "recorded_verdicts", rejects)):
        place = (file.name, f"line {start}")
        image, text = block.get("image file", "").rpartition("/")[2], block.get("caption", "")
        if (image, text) not in known:
            rejects.add(
                "recorded_verdicts",
                place,
                "caption",
                f"{image}: {text}",
                "no rated pair has this image and this caption",
            )
            continue
        for key in answers.get((image, text), []):
            for name, judge in _SCORES.items():
                given = block.get(name)
                score = _number(given or "")
                status, reason = (
                    ("ok", None)
                    if score is not None
                    else ("unparsed", f"{name!r} is missing or not a number")
                )
                yield (
                    image,
                    key,
                    judge,
                    "overall",
                    0,
                    status,
                    score,
                    0.0,
                    1.0,
                    given,
                    reason,
                    *place,
                )


def _blocks(lines: Iterator[TextLine]) -> Iterator[tuple[int, dict[str, str]]]:
    """(line it begins on, its `name : value` lines) of each block; blank lines part blocks."""
    start, block = 0, dict[str, str]()
    for number, text in lines:
        if text.strip():
            start = start if block else number
            name, _, value = text.partition(" : ")
            block[name] = value
        elif block:
            yield start, block
            block = {}
    if block:
        yield start, block


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


SOURCE = Source(
    "flickr8k", Flickr8kSettings, VERSION, source_files, lambda settings, _: read_flickr8k(settings)
)
