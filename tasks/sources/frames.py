"""What a source hands over: frames of raw rows, each row with the place it came from. Reading formats is each source's own file."""

from dataclasses import dataclass, field

import polars as pl

from schemas.inputs import Image, Region

PLACE: dict[str, pl.DataType] = {"source_file": pl.String(), "locator": pl.String()}
ITEMS: dict[str, pl.DataType] = {
    "item_id": pl.String(),
    "task": pl.String(),
    "prompt": pl.String(),
    "references": pl.List(pl.String),
    "images": pl.List(Image),
    "regions": pl.List(Region),
    "category": pl.String(),
    "split": pl.String(),
    "cluster": pl.String(),
    **PLACE,
}
ANSWERS: dict[str, pl.DataType] = {
    "item_id": pl.String(),
    "answer_id": pl.String(),
    "model": pl.String(),
    "style": pl.String(),
    "sample": pl.Int64(),
    "text": pl.String(),
    **PLACE,
}
CAPTIONS: dict[str, pl.DataType] = {"image_uri": pl.String(), "captioner": pl.String(), "text": pl.String(), **PLACE}
HUMAN_RATINGS: dict[str, pl.DataType] = {
    "item_id": pl.String(),
    "answer_id": pl.String(),
    "criterion": pl.String(),
    "annotator": pl.String(),
    "rating": pl.Float64(),
    "scale_low": pl.Float64(),
    "scale_high": pl.Float64(),
    **PLACE,
}


@dataclass(frozen=True)
class Rejected:
    """An input row that could not even become a row of a frame."""

    table_name: str
    source_file: str
    locator: str
    column_name: str | None
    value: str | None
    reason: str
    remedy: str


@dataclass(frozen=True)
class SourceFrames:
    """The rows of one benchmark as read, not yet validated; columns as the constants of this module name them."""

    items: pl.DataFrame
    answers: pl.DataFrame
    human_ratings: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=HUMAN_RATINGS))
    captions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=CAPTIONS))
    rejected: tuple[Rejected, ...] = ()
