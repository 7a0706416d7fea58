"""What a source hands over: frames of raw rows, each row with the place it came from. Reading
formats is each source's own file.

The columns of a frame are those of its table's contract, less what ingestion adds (benchmark,
ingest_id, digests, counts).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

import polars as pl

from judgelake.schemas.tables import TABLES

_ADDED = ("benchmark", "ingest_id", "content_digest", "n_repeats")
_PLACE = ("source_file", "locator")


def frame_schema(table: str) -> dict[str, pl.DataType]:
    """Column name -> polars type of the frame that becomes `table`; the place a row came from
    stands last.
    """
    columns = TABLES[table].polars_schema
    content = {name: dtype for name, dtype in columns.items() if name not in (*_ADDED, *_PLACE)}
    return content | {name: columns[name] for name in _PLACE}


def _empty(table: str) -> pl.DataFrame:
    return pl.DataFrame(schema=frame_schema(table))


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
    """The rows of one benchmark as read, not yet validated; each field but `rejected` and `notes`
    is named as its table. `notes`: lines on what the suite may not have meant.
    """

    items: pl.DataFrame = field(default_factory=lambda: _empty("items"))
    answers: pl.DataFrame = field(default_factory=lambda: _empty("answers"))
    human_ratings: pl.DataFrame = field(default_factory=lambda: _empty("human_ratings"))
    captions: pl.DataFrame = field(default_factory=lambda: _empty("captions"))
    human_preferences: pl.DataFrame = field(default_factory=lambda: _empty("human_preferences"))
    choice_sets: pl.DataFrame = field(default_factory=lambda: _empty("choice_sets"))
    feedback_preferences: pl.DataFrame = field(
        default_factory=lambda: _empty("feedback_preferences")
    )
    recorded_verdicts: pl.DataFrame = field(default_factory=lambda: _empty("recorded_verdicts"))
    recorded_duels: pl.DataFrame = field(default_factory=lambda: _empty("recorded_duels"))
    recorded_scores: pl.DataFrame = field(default_factory=lambda: _empty("recorded_scores"))
    failure_labels: pl.DataFrame = field(default_factory=lambda: _empty("failure_labels"))
    item_labels: pl.DataFrame = field(default_factory=lambda: _empty("item_labels"))
    rubrics: pl.DataFrame = field(default_factory=lambda: _empty("rubrics"))
    item_rubrics: pl.DataFrame = field(default_factory=lambda: _empty("item_rubrics"))
    models: pl.DataFrame = field(default_factory=lambda: _empty("models"))
    benchmark_scores: pl.DataFrame = field(default_factory=lambda: _empty("benchmark_scores"))
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()

    def tables(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """(table name, frame) of each."""
        return ((name, getattr(self, name)) for name in SOURCE_TABLES)


SOURCE_TABLES = tuple(
    part.name for part in fields(SourceFrames) if part.name not in ("rejected", "notes")
)
"""The tables of which a source may give rows."""
