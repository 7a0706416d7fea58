"""Recorded judges of source `table`: what a suite writes about them, and the verdict that their
columns or replies give.

Replies go through the readers that live ones go through (`tasks.judging.reading`). Rows are made by
`table_rows`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal, NamedTuple

import polars as pl

from judgelake.schemas.values import FAILURE_CATEGORIES
from judgelake.tasks.errors import nearest
from judgelake.tasks.judging.reading import (
    read_arena_label,
    read_rating_at_end,
    read_result_marker,
    read_two_numbers,
    read_yes_no,
)
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.sources.frames import frame_schema
from judgelake.tasks.sources.table.values import (
    Name,
    TableCell,
    Value,
    check_scale,
    need,
    plain_cell,
    read_number,
    read_text,
)

_TEXT, _FIRST, _SECOND = "::reply", "::first", "::second"
_NO_VERDICT = "the file holds no verdict"
_NOT_SHOWN = "the file does not say which answer the judge saw first"
_MOST_LEVEL = 99
"""Readers take a number of more digits for no rating."""


@frozen_settings
class VerdictSettings:
    """A recorded judge's ratings: `rating` is their column, or `reader` reads them from the
    replies' `text`.

    Readers: rating_at_end (`<marker>=n` or a number alone at the end), result_marker (`[RESULT]
    n`), yes_no (yes is the scale's upper end). No rating is a verdict that failed or cannot be
    read, never a score.
    """

    judge: Name
    scale: tuple[float, ...]
    rating: Value | None = None
    reader: Literal["rating_at_end", "result_marker", "yes_no"] | None = None
    marker: str | None = None
    criterion: Name = Name(constant="correctness")  # immutable
    values: Mapping[str, str | None] | None = None
    text: Value | None = None
    sample: Value | None = None
    answer: str | None = None

    def __post_init__(self) -> None:
        check_scale(self.scale)
        need(
            (self.rating is None) != (self.reader is None),
            "rating",
            "expected either `rating` or `reader`; write one of them",
        )
        need(
            self.marker is None or self.reader == "rating_at_end",
            "marker",
            "only `reader: rating_at_end` has one; remove it",
        )
        if self.reader is not None:
            need(
                self.text is not None,
                "text",
                "missing; expected the column of the replies that `reader` reads; add it",
            )
            need(
                self.values is None,
                "values",
                "map a column's texts; expected none beside `reader`; remove them",
            )
        if self.reader in ("rating_at_end", "result_marker"):
            whole = all(end.is_integer() and 0 <= end <= _MOST_LEVEL for end in self.scale)
            need(
                whole,
                "scale",
                f"{list(self.scale)}; expected whole numbers from 0 to {_MOST_LEVEL} beside "
                f"`reader`; correct it",
            )


@frozen_settings
class DuelSettings:
    """A recorded judge's choices between two answers, decided by the first of these that is there:
    `reader`, `choice` (`values` maps its texts to a, b and tie), `preference` (the share of the win
    that b got, from 0 to 1), `score_a` and `score_b`.

    Readers take the answer shown first, which is a without `shown_first`, for the first of two:
    two_numbers reads two scores on `scale`, arena_label one of `[[A>>B]]`, `[[A>B]]`, `[[A=B]]`,
    `[[B>A]]`, `[[B>>A]]` as a share of 0, .25, .5, .75 or 1.

    `answer_a` and `answer_b` are answer ids, by default those of the first two `answers`.
    """

    judge: Name
    reader: Literal["two_numbers", "arena_label"] | None = None
    scale: tuple[float, ...] = ()
    choice: Value | None = None
    values: Mapping[str, str | None] | None = None
    preference: Value | None = None
    score_a: Value | None = None
    score_b: Value | None = None
    answer_a: Value | None = None
    answer_b: Value | None = None
    criterion: Name = Name(constant="overall")  # immutable
    shown_first: Value | None = None
    sample: Value | None = None
    text: Value | None = None

    def __post_init__(self) -> None:
        need(
            (self.score_a is None) == (self.score_b is None),
            "score_a",
            "expected `score_b` beside it; write both or none",
        )
        columns = self.choice or self.preference or self.score_a
        expected = (
            "expected `reader`, or columns (`choice`, `preference`, `score_a` and "
            "`score_b`); write one of the two"
        )
        need((self.reader is None) != (columns is None), "choice", expected)
        need(
            self.values is None or self.choice is not None,
            "values",
            "map the texts of `choice`; expected it; add it",
        )
        need(
            self.reader is None or self.text is not None,
            "text",
            "missing; expected the column of the replies that `reader` reads; add it",
        )
        if self.reader == "two_numbers":
            check_scale(self.scale)
        else:
            need(not self.scale, "scale", "only the reader two_numbers has one; remove it")


class DuelCells(NamedTuple):
    """A duel's cells as its columns give them; those that the suite does not map are null."""

    choice: TableCell
    preference: TableCell
    score_a: TableCell
    score_b: TableCell
    shown_first: TableCell
    text: TableCell


def read_ratings(
    batch: pl.DataFrame, settings: VerdictSettings, text: TableCell
) -> tuple[pl.DataFrame, TableCell]:
    """The batch with a column of the ratings that the reader finds in `text`, and the cell that
    takes it.
    """
    batch = batch.with_columns(text.read.alias(_TEXT))
    ratings = [None if reply is None else _read_rating(reply, settings) for reply in batch[_TEXT]]
    return batch.with_columns(pl.Series(_FIRST, ratings, pl.Float64)), plain_cell(
        pl.col(_FIRST), "rating"
    )


def _read_rating(text: str, settings: VerdictSettings) -> float | None:
    low, high = settings.scale
    if settings.reader == "yes_no":
        says_yes = read_yes_no(text)
        return None if says_yes is None else high if says_yes else low
    levels = range(int(low), int(high) + 1)
    if settings.reader == "result_marker":
        read = read_result_marker(text, levels)
    else:
        read = read_rating_at_end(text, settings.marker or "rating", levels)
    return None if read is None else float(read.rating)


def decide_verdict(
    settings: VerdictSettings, rating: TableCell, text: TableCell
) -> dict[str, TableCell]:
    """Status, rating, scale, text and reason."""
    low, high = settings.scale
    unread = {
        None: _NO_VERDICT,
        "rating_at_end": f"the text ends in no rating from {low:g} to {high:g}",
        "result_marker": f"the text marks no score from {low:g} to {high:g}",
        "yes_no": "the text begins with neither yes nor no",
    }[settings.reader]
    status = _status(rating.read.is_not_null(), text.read.is_not_null(), pl.lit(unread))
    return {**status, "rating": rating, **scale_cells(settings.scale), "text": text}


def scale_cells(scale: Iterable[float]) -> dict[str, TableCell]:
    """The ends of a scale."""
    return {
        name: read_number(None, (), default=end)
        for name, end in zip(("scale_low", "scale_high"), scale, strict=True)
    }


def read_replies(
    batch: pl.DataFrame, settings: DuelSettings, cells: DuelCells
) -> tuple[pl.DataFrame, DuelCells]:
    """The batch with columns of what the reader finds in the text, and the cells that take it."""
    batch = batch.with_columns(cells.text.read.alias(_TEXT))
    if settings.shown_first is None:
        cells = cells._replace(shown_first=plain_cell(pl.lit("a"), ""))
    read = _read_labels if settings.reader == "arena_label" else _read_scores
    return read(batch, settings, cells)


def _read_scores(
    batch: pl.DataFrame, settings: DuelSettings, cells: DuelCells
) -> tuple[pl.DataFrame, DuelCells]:
    low, high = settings.scale
    pairs = [
        None if reply is None else read_two_numbers(reply, low, high) for reply in batch[_TEXT]
    ]
    first = pl.Series(_FIRST, [scores and scores.first for scores in pairs], pl.Float64)
    second = pl.Series(_SECOND, [scores and scores.second for scores in pairs], pl.Float64)
    of_a = _by_order(cells, pl.col(_FIRST), pl.col(_SECOND))
    of_b = _by_order(cells, pl.col(_SECOND), pl.col(_FIRST))
    cells = cells._replace(score_a=plain_cell(of_a, "score_a"), score_b=plain_cell(of_b, "score_b"))
    return batch.with_columns(first, second), cells


def _read_labels(
    batch: pl.DataFrame, _: DuelSettings, cells: DuelCells
) -> tuple[pl.DataFrame, DuelCells]:
    shares = [None if reply is None else read_arena_label(reply) for reply in batch[_TEXT]]
    of_b = _by_order(cells, pl.col(_FIRST), 1 - pl.col(_FIRST))
    batch = batch.with_columns(pl.Series(_FIRST, shares, pl.Float64))
    return batch, cells._replace(preference=plain_cell(of_b, "preference"))


def _by_order(cells: DuelCells, a_first: pl.Expr, b_first: pl.Expr) -> pl.Expr:
    """What holds where a was shown first, and where b was; else nothing."""
    shown = cells.shown_first.read
    return pl.when(shown == "a").then(a_first).when(shown == "b").then(b_first)


def decide_duel(settings: DuelSettings, cells: DuelCells) -> dict[str, TableCell]:
    """Choice, preference_b, scores, shown_first, status, text and reason."""
    choice, share = cells.choice, cells.preference.read
    has_share = settings.preference is not None or settings.reader == "arena_label"
    if settings.choice is None:
        lead = share - 0.5 if has_share else cells.score_b.read - cells.score_a.read
        side = (
            pl.when(lead < 0)
            .then(pl.lit("a"))
            .when(lead > 0)
            .then(pl.lit("b"))
            .when(lead == 0)
            .then(pl.lit("tie"))
        )
        choice = plain_cell(side, "choice")
    given = choice.read.is_not_null()
    if not has_share:
        share = choice.read.replace_strict(
            {"a": 0.0, "b": 1.0, "tie": 0.5}, default=None, return_dtype=pl.Float64
        )
    unread = pl.lit(_NO_VERDICT)
    if settings.reader is not None:
        wanted = "one of the labels from [[A>>B]] to [[B>>A]]"
        if settings.reader == "two_numbers":
            wanted = "two scores from {:g} to {:g}".format(*settings.scale)
        vague = pl.lit(f"the text does not clearly give {wanted}")
        unread = pl.when(cells.shown_first.read.is_null()).then(pl.lit(_NOT_SHOWN)).otherwise(vague)
    logprobs = frame_schema("recorded_duels")["top_logprobs"]
    return {
        **{name: cell for name, cell in cells._asdict().items() if name != "preference"},
        **_status(given, cells.text.read.is_not_null(), unread),
        "choice": choice,
        "preference_b": cells.preference._replace(read=share),
        "top_logprobs": plain_cell(pl.lit([], logprobs), ""),
    }


def note_unordered(duels: pl.DataFrame | None) -> list[str]:
    """A line on each judge that has two samples of every pair: without `shown_first` they may be
    its two orders.
    """
    if duels is None:
        return []
    answers = ("answer_a", "answer_b")
    pair = (pl.min_horizontal(answers).alias("one"), pl.max_horizontal(answers).alias("other"))
    samples = duels.group_by("judge", "item_id", "criterion", *pair).agg(
        n=pl.col("sample").n_unique()
    )
    twice = samples.group_by("judge").agg(pl.col("n").eq(2).all()).filter("n")
    return [
        f"the judge {judge!r} has two samples of every pair, and no `shown_first`: where these are "
        f"the pair's two orders, write `shown_first: {{constant: a}}` and {{constant: b}} in place "
        f"of `sample`"
        for judge in twice["judge"].drop_nulls().sort()
    ]


def _status(given: pl.Expr, replied: pl.Expr, unread: pl.Expr) -> dict[str, TableCell]:
    """Status and reason of a verdict, with `unread` as the reason where there is a reply that holds
    none.
    """
    status = (
        pl.when(given)
        .then(pl.lit("ok"))
        .when(replied)
        .then(pl.lit("unparsed"))
        .otherwise(pl.lit("failed"))
    )
    reason = pl.when(~given & replied).then(unread).when(~given).then(pl.lit(_NO_VERDICT))
    return {"status": plain_cell(status, ""), "reason": plain_cell(reason, "")}


_LABEL = "::label"
_FLAGS = dict.fromkeys(("true", "yes", "y", "x", "1", "1.0"), True) | dict.fromkeys(
    ("false", "no", "n", "0", "0.0"), False
)


@frozen_settings
class LabelSettings:
    """What `labeller` says of an item: `labels` (a column that names what holds; several as a list
    or by `split`) or `columns` (column: label, each yes or no). A blank cell says nothing. `values`
    maps the cells' texts to labels, or to yes and no.
    """

    labeller: Value
    labels: Value | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str | None] | None = None

    def __post_init__(self) -> None:
        need(
            (self.labels is None) == bool(self.columns),
            "labels",
            "expected either `labels` or `columns`; write one of them",
        )


@frozen_settings
class FailureSettings(LabelSettings):
    """What `labeller` says of an answer that people call correct and string matching does not;
    labels are LAVE's categories. `answer` names one of `answers` by its model.
    """

    answer: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        key, named = ("columns", self.columns) if self.columns else ("values", self.values or {})
        for label in [label for label in named.values() if label is not None]:
            need(
                label in FAILURE_CATEGORIES,
                key,
                f"unknown category {label!r}; {nearest(label, FAILURE_CATEGORIES)}",
            )


class LabelRows(NamedTuple):
    """Rows to be: a batch, its label, and whether it holds."""

    batch: pl.DataFrame
    label: TableCell
    holds: TableCell


def spread_labels(
    batch: pl.DataFrame, settings: LabelSettings, listed: TableCell, nulls: tuple[str, ...]
) -> Iterator[LabelRows]:
    """One row for each label that `listed` names, or the rows of each of the columns."""
    if settings.labels is not None:
        each = batch.with_columns(listed.read.alias(_LABEL)).explode(_LABEL)
        label = read_text(Value((_LABEL,), values=settings.values), nulls)._replace(
            name=settings.labels.name
        )
        yield LabelRows(
            each.filter(label.raw.is_not_null()), label, plain_cell(pl.lit(value=True), "")
        )
    for column, name in settings.columns.items():
        yield LabelRows(
            batch,
            plain_cell(pl.lit(name), ""),
            _read_flag(Value((column,), values=settings.values), nulls),
        )


def _read_flag(value: Value, nulls: tuple[str, ...]) -> TableCell:
    """Yes or no in one of its usual spellings; anything else is unreadable."""
    text = read_text(value, nulls)
    flag = (
        text.read.str.strip_chars()
        .str.to_lowercase()
        .replace_strict(_FLAGS, default=None, return_dtype=pl.Boolean)
    )
    reason = text.reason or "the value is neither yes nor no"
    return TableCell(
        text.raw,
        flag,
        value.name,
        reason,
        text.remedy or "write yes or no, or map the text by `values:` in the suite",
    )
