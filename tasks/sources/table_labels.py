"""Labels of source `table`: what a suite writes about them, and what their columns say. Rows are made by `table_rows`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from schemas.recorded import FAILURE_CATEGORIES
from tasks.settings import nearest
from tasks.sources.table_values import Cell, Value, need, plain_cell, read_text

_LABEL = "::label"
_FLAGS = dict.fromkeys(("true", "yes", "y", "x", "1", "1.0"), True) | dict.fromkeys(("false", "no", "n", "0", "0.0"), False)


@dataclass(frozen=True)
class LabelSettings:
    """What `labeller` says of an item: `labels` (a column that names what holds; several as a list or by `split`) or `columns` (column:
    label, each yes or no). A blank cell says nothing. `values` maps the cells' texts to labels, or to yes and no.
    """

    labeller: Value
    labels: Value | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str | None] | None = None

    def __post_init__(self) -> None:
        need((self.labels is None) == bool(self.columns), "labels", "expected either `labels` or `columns`; write one of them")


@dataclass(frozen=True)
class FailureSettings(LabelSettings):
    """What `labeller` says of an answer that people call correct and string matching does not; labels are LAVE's categories. `answer`
    names one of `answers` by its model.
    """

    answer: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        key, named = ("columns", self.columns) if self.columns else ("values", self.values or {})
        for label in [label for label in named.values() if label is not None]:
            need(label in FAILURE_CATEGORIES, key, f"unknown category {label!r}; {nearest(label, FAILURE_CATEGORIES)}")


class Labelled(NamedTuple):
    """Rows to be: a batch, its label, and whether it holds."""

    batch: pl.DataFrame
    label: Cell
    holds: Cell


def spread_labels(batch: pl.DataFrame, settings: LabelSettings, listed: Cell, nulls: tuple[str, ...]) -> Iterator[Labelled]:
    """One row for each label that `listed` names, or the rows of each of the columns."""
    if settings.labels is not None:
        each = batch.with_columns(listed.read.alias(_LABEL)).explode(_LABEL)
        label = read_text(Value((_LABEL,), values=settings.values), nulls)._replace(name=settings.labels.name)
        yield Labelled(each.filter(label.raw.is_not_null()), label, plain_cell(pl.lit(value=True), ""))
    for column, name in settings.columns.items():
        yield Labelled(batch, plain_cell(pl.lit(name), ""), _read_flag(Value((column,), values=settings.values), nulls))


def _read_flag(value: Value, nulls: tuple[str, ...]) -> Cell:
    """Yes or no in one of its usual spellings; anything else is told."""
    text = read_text(value, nulls)
    flag = text.read.str.strip_chars().str.to_lowercase().replace_strict(_FLAGS, default=None, return_dtype=pl.Boolean)
    reason = text.reason or "the value is neither yes nor no"
    return Cell(text.raw, flag, value.name, reason, text.remedy or "write yes or no, or map the text by `values:` in the suite")
