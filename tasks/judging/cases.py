"""Rows of a shard file as cases. Which rows there are is the SQL of planning."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from judgelake.tasks.types import Box, Case, Image, Rubric, Vote, is_remote

_SAME = (
    "benchmark",
    "item_id",
    "task",
    "prompt",
    "answer",
    "content_digest",
    "context_digest",
    "criterion",
    "sample",
    "caption",
    "other_answer",
    "other_digest",
    "shown_first",
)
_LISTS = ("references", "criteria", "feedbacks")


def read_cases(frame: pl.DataFrame) -> Iterator[Case]:
    """Each row as a case, in order."""
    return map(make_case, frame.iter_rows(named=True))


def make_case(row: Mapping[str, Any]) -> Case:
    """One row as a case; the item's boxes are drawn on its first image."""
    boxes = tuple(Box(box["x"], box["y"], box["width"], box["height"]) for box in row["regions"])
    images = tuple(
        Image(image["uri"], image["sha256"], () if place else boxes)
        for place, image in enumerate(row["images"])
    )
    rubric = (
        Rubric(row["rubric_criterion"], tuple(row["rubric_levels"]))
        if row["rubric_criterion"] is not None
        else None
    )
    values: dict[str, Any] = {name: row[name] for name in _SAME} | {
        name: tuple(row[name]) for name in _LISTS
    }
    given = row.get("votes") or ()
    votes = tuple(
        Vote(vote["judge"], vote["status"], tuple(vote["scores"]), weight)
        for vote, weight in zip(given, row.get("weights") or [None] * len(given), strict=True)
    )
    return Case(**values, images=images, rubric=rubric, votes=votes)


def find_missing_image(case: Case, sees_images: bool) -> str | None:
    """Why a judge that looks at images cannot judge a case; None where it can."""
    if not sees_images:
        return None
    if not case.images:
        return "the item has no image; the judge looks at one"
    for image in case.images:
        if image.sha256 is None and not is_remote(image.uri):
            return (
                f"the image {image.uri} is not there, is damaged, or has no other to be "
                f"swapped for; see the quarantine"
            )
    return None
