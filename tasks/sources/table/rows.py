"""From a batch of columns to rows of the lake's tables, as a part of the suite's settings says.
Reading files is `tasks.sources.readers.files`.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from judgelake.schemas.values import Image, Region
from judgelake.tasks.sources.frames import Rejected, frame_schema
from judgelake.tasks.sources.readers.record_paths import FILE, LOCATOR
from judgelake.tasks.sources.table.columns import GIVES_ITEMS
from judgelake.tasks.sources.table.judges import (
    DuelCells,
    DuelSettings,
    LabelSettings,
    VerdictSettings,
    decide_duel,
    decide_verdict,
    read_ratings,
    read_replies,
    scale_cells,
    spread_labels,
)
from judgelake.tasks.sources.table.notes import Pieces
from judgelake.tasks.sources.table.settings import (
    AnswerSettings,
    PartSettings,
    PreferenceSettings,
    PublishedSettings,
    RatingSettings,
)
from judgelake.tasks.sources.table.values import (
    TableCell,
    Value,
    place_cells,
    read_finite,
    read_number,
    read_text,
    read_texts,
)


class RowMaker:
    """Makes the tables' rows of one part; what a column cannot take goes to `rejected`.

    `lists` are the paths whose columns hold lists; `nulls` the texts that mean missing,
    `text_nulls` those in prompts and answers, where a JSON file's empty text is text.
    """

    def __init__(
        self,
        part: PartSettings,
        lists: frozenset[str],
        nulls: tuple[str, ...],
        text_nulls: tuple[str, ...],
    ) -> None:
        self.part, self.lists, self.nulls, self.text_nulls = part, lists, nulls, text_nulls
        self.frames: dict[str, list[pl.DataFrame]] = {}
        self.rejected: list[Rejected] = []
        self.notes: list[str] = []
        self.pieces = Pieces(part, lists, nulls)

    def add(self, batch: pl.DataFrame) -> None:
        """Make the rows of one batch: a frame of the wanted paths and the two place columns."""
        self.pieces.count(batch)
        if any(name in self.part.columns for name in GIVES_ITEMS):
            self._make("items", batch, self._item())
            self._reject_gaps(batch)
        for number, answer in enumerate(self.part.every_answer):
            if answer.text is not None:
                self._make("answers", batch, self._answer(answer, number))
        for ratings in self.part.human_ratings:
            self._add_ratings(batch, ratings)
        for verdicts in self.part.judge_verdicts:
            self._add_verdicts(batch, verdicts)
        for preferences in self.part.preferences:
            cells = {**self._pair(preferences), "annotator": self._text(preferences.annotator)}
            choice = self._text(preferences.choice.mapped_by(preferences.values))
            shown_first = self._text(preferences.shown_first)
            self._make(
                "human_preferences", batch, {**cells, "choice": choice, "shown_first": shown_first}
            )
        self._add_choices(batch)
        for duels in self.part.judge_duels:
            self._add_duels(batch, duels)
        for scores in self.part.metric_scores:
            cells = {
                "metric": self._text(scores.metric),
                "score": self._number(scores.score),
            }
            self._make("recorded_scores", batch, {**self._about(scores.answer), **cells})
        for failures in self.part.failure_labels:
            self._add_labels(
                "failure_labels", "category", batch, failures, self._about(failures.answer)
            )
        for labels in self.part.item_labels:
            self._add_labels("item_labels", "label", batch, labels, {"item_id": self._item_id()})
        self._add_others(batch)

    def _make(
        self,
        table: str,
        batch: pl.DataFrame,
        cells: Mapping[str, TableCell],
        filled: str | None = None,
    ) -> None:
        """Rows of `table`; those whose cell `filled` is missing are left out, those with a cell
        that cannot be read are rejected.
        """
        cells = {**cells, **place_cells()}
        schema = frame_schema(table)
        bad = {
            name: cell.raw.is_not_null() & cell.read.is_null()
            for name, cell in cells.items()
            if cell.reason
        }
        if filled is not None:
            batch = batch.filter(cells[filled].raw.is_not_null())
        if bad:
            marks = batch.select(**bad)
            for name in marks.columns:
                if marks[name].any():
                    self._reject(table, batch.filter(marks[name]), cells[name])
            batch = batch.filter(~marks.select(pl.any_horizontal(pl.all())).to_series())
        missing = [
            pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in cells
        ]
        row = [cell.read.cast(schema[name]).alias(name) for name, cell in cells.items()]
        made = (
            batch.lazy()
            .select(pl.int_range(pl.len()).alias("::row"), *row, *missing)
            .select(list(schema))
            .collect()
        )
        self.frames.setdefault(table, []).append(made)

    def _reject(self, table: str, rows: pl.DataFrame, cell: TableCell) -> None:
        for file, locator, value in rows.select(
            pl.col(FILE), pl.col(LOCATOR), cell.raw.cast(pl.String).alias("::value")
        ).iter_rows():
            reason, remedy = cell.explain(value, self.part.decimal)
            self.rejected.append(
                Rejected(table, file, locator, cell.name, value[:200], reason, remedy)
            )

    def _reject_gaps(self, batch: pl.DataFrame) -> None:
        """Lists of references with missing ones among them, which their items go on without."""
        value = self.part.columns.get("references")
        for path in [path for path in (value.paths if value else ()) if path in self.lists]:
            gaps = (
                (pl.col(path).list.len() - pl.col(path).list.drop_nulls().list.len())
                .cast(pl.Int64)
                .alias("::gaps")
            )
            for file, locator, count in (
                batch.select(FILE, LOCATOR, gaps).filter(pl.col("::gaps") > 0).iter_rows()
            ):
                reason = f"{count} of the references are missing; the item goes on without them"
                remedy = "fill them in, or take them out of the list"
                self.rejected.append(Rejected("items", file, locator, path, None, reason, remedy))

    def _text(
        self, value: Value | None, default: pl.Expr | None = None, *, is_text: bool = False
    ) -> TableCell:
        return read_text(value, self.text_nulls if is_text else self.nulls, default)

    def _texts(self, value: Value | None, nulls: tuple[str, ...] | None = None) -> TableCell:
        return read_texts(value, self.lists, self.text_nulls if nulls is None else nulls)

    def _number(
        self, value: Value | None, dtype: Any = pl.Float64, default: Any = None
    ) -> TableCell:
        return read_number(value, self.nulls, dtype, default, decimal=self.part.decimal)

    def _finite(self, value: Value | None) -> TableCell:
        return read_finite(value, self.nulls, self.part.decimal)

    @property
    def _source_row(self) -> pl.Expr:
        return pl.concat_str([pl.col(FILE), pl.lit(":"), pl.col(LOCATOR)])

    def _item_id(self) -> TableCell:
        default = None if "item_id" in self.part.columns else self._source_row
        return self._text(self.part.columns.get("item_id"), default)

    def _item(self) -> dict[str, TableCell]:
        column = self.part.columns.get
        images, item_id = self._texts(column("images"), self.nulls), self._item_id()
        regions = self._texts(column("regions"), self.nulls)
        first = images.read.list.eval(_member("uri")).list.first()
        return {
            "item_id": item_id,
            "task": self._text(column("task"), pl.lit(self.part.task)),
            "prompt": self._text(
                column("prompt"), None if column("prompt") else pl.lit(""), is_text=True
            ),
            "references": self._texts(column("references")),
            "images": _as_read(
                images,
                images.read.list.eval(pl.struct(_member("uri").alias("uri"), _hash()).cast(Image)),
            ),
            "regions": _as_read(regions, regions.read.list.eval(_region())),
            "category": self._text(column("category")),
            "split": self._text(column("split")),
            "cluster": self._text(column("cluster"), pl.coalesce(first, item_id.read)),
        }

    def _answer(self, answer: AnswerSettings, number: int) -> dict[str, TableCell]:
        return {
            "item_id": self._item_id(),
            # a sample that cannot be read is reported once, by the cell `sample`
            "answer_id": self._answer_id(number)._replace(reason=""),
            "model": self._text(answer.model),
            "style": self._text(answer.style, pl.lit("short")),
            "sample": self._number(answer.sample, pl.Int64, 0),
            "text": self._text(answer.text, is_text=True),
        }

    def _answer_id(self, number: int) -> TableCell:
        """`answer_id`, else model/style/sample, else the source row."""
        answer = self.part.every_answer[number]
        row = (
            self._source_row
            if len(self.part.every_answer) == 1
            else pl.concat_str([self._source_row, pl.lit(f":{number}")])
        )
        if answer.answer_id is not None:
            return self._text(answer.answer_id)
        if answer.model is None:
            return self._text(None, row)
        style = self._text(answer.style, pl.lit("short")).read
        sample = self._number(answer.sample, pl.Int64, 0)
        parts = [self._text(answer.model).read, style, sample.read.cast(pl.String)]
        made = pl.coalesce(pl.concat_str(parts, separator="/"), row)
        is_bad = sample.raw.is_not_null() & sample.read.is_null()
        return sample._replace(
            raw=pl.when(is_bad).then(sample.raw.cast(pl.String)).otherwise(made),
            read=pl.when(~is_bad).then(made),
        )

    def _row_answers(self) -> TableCell:
        """The ids of all answers of a row."""
        cells = [self._answer_id(number) for number in range(len(self.part.every_answer))]
        is_read = pl.all_horizontal(cell.read.is_not_null() for cell in cells)
        bad = next((cell for cell in cells if cell.reason), cells[0])
        return bad._replace(
            raw=pl.coalesce(
                [pl.when(cell.read.is_null()).then(cell.raw) for cell in cells] + [pl.lit("")]
            ),
            read=pl.when(is_read).then(pl.concat_list([cell.read for cell in cells])),
        )

    def _about(self, answer: str | None) -> dict[str, TableCell]:
        return {
            "item_id": self._item_id(),
            "answer_id": self._answer_id(self.part.find_answer(answer)),
        }

    def _add_ratings(self, batch: pl.DataFrame, ratings: RatingSettings) -> None:
        """One row a filled cell: of the rating's column, of each annotator's, or of each
        criterion's.
        """
        criterion, annotator = self._text(ratings.criterion), self._text(ratings.annotator)
        columns = [(ratings.rating, criterion, annotator)] if ratings.rating else []
        columns += [
            (Value((name,)), criterion, self._text(None, pl.lit(name)))
            for name in ratings.annotators
        ]
        columns += [
            (Value((name,)), self._text(None, pl.lit(known)), annotator)
            for name, known in ratings.criteria.items()
        ]
        for value, of, by in columns:
            rating = self._number(value.mapped_by(ratings.values))
            cells = {
                "criterion": of,
                "annotator": by,
                "rating": rating,
                **scale_cells(ratings.scale),
            }
            self._make(
                "human_ratings", batch, {**self._about(ratings.answer), **cells}, filled="rating"
            )

    def _add_verdicts(self, batch: pl.DataFrame, verdicts: VerdictSettings) -> None:
        text = self._text(verdicts.text, is_text=True)
        if verdicts.rating is None:
            batch, rating = read_ratings(batch, verdicts, text)
        else:
            rating = self._number(verdicts.rating.mapped_by(verdicts.values))
        cells = {
            **self._about(verdicts.answer),
            "judge": self._text(verdicts.judge),
            "criterion": self._text(verdicts.criterion),
            "sample": self._number(verdicts.sample, pl.Int64, 0),
        }
        self._make("recorded_verdicts", batch, {**cells, **decide_verdict(verdicts, rating, text)})

    def _pair(self, settings: PreferenceSettings | DuelSettings) -> dict[str, TableCell]:
        return {
            "item_id": self._item_id(),
            "answer_a": self._text(settings.answer_a) if settings.answer_a else self._answer_id(0),
            "answer_b": self._text(settings.answer_b) if settings.answer_b else self._answer_id(1),
            "criterion": self._text(settings.criterion),
        }

    def _add_choices(self, batch: pl.DataFrame) -> None:
        """Choices of the best of several answers, and between two feedbacks."""
        for choices in self.part.choice_sets:
            cells = {
                "item_id": self._item_id(),
                "choice_set": self._text(choices.set, pl.lit("1") if choices.set is None else None),
                "criterion": self._text(choices.criterion),
                "annotator": self._text(choices.annotator),
                "answers": self._row_answers()
                if choices.answers is None
                else self._texts(choices.answers, self.nulls),
                "chosen": self._text(choices.chosen.mapped_by(choices.values)),
            }
            self._make("choice_sets", batch, cells)
        for two in self.part.feedback_preferences:
            authors = {"author_a": self._text(two.author_a), "author_b": self._text(two.author_b)}
            choice = self._text(two.choice.mapped_by(two.values))
            cells = {
                "criterion": self._text(two.criterion),
                "annotator": self._text(two.annotator),
                "choice": choice,
            }
            self._make(
                "feedback_preferences", batch, {**self._about(two.answer), **authors, **cells}
            )

    def _add_duels(self, batch: pl.DataFrame, duels: DuelSettings) -> None:
        choice = None if duels.choice is None else duels.choice.mapped_by(duels.values)
        given = DuelCells(
            choice=self._text(choice),
            preference=self._finite(duels.preference),
            score_a=self._finite(duels.score_a),
            score_b=self._finite(duels.score_b),
            shown_first=self._text(duels.shown_first),
            text=self._text(duels.text, is_text=True),
        )
        if duels.reader is not None:
            batch, given = read_replies(batch, duels, given)
        sample = self._number(duels.sample, pl.Int64, 0)
        cells = {**self._pair(duels), "judge": self._text(duels.judge), "sample": sample}
        self._make("recorded_duels", batch, {**cells, **decide_duel(duels, given)})

    def _add_labels(
        self,
        table: str,
        column: str,
        batch: pl.DataFrame,
        labels: LabelSettings,
        about: dict[str, TableCell],
    ) -> None:
        listed = self._texts(labels.labels, self.nulls)
        for each, label, holds in spread_labels(batch, labels, listed, self.nulls):
            cells = {
                **about,
                column: label,
                "labeller": self._text(labels.labeller),
                "holds": holds,
            }
            self._make(table, each, cells, filled="holds")

    def _add_others(self, batch: pl.DataFrame) -> None:
        """Captions, rubrics, models and published scores."""
        for caption in self.part.captions:
            cells = {
                "image_uri": self._text(caption.image),
                "captioner": self._text(caption.captioner),
            }
            self._make("captions", batch, {**cells, "text": self._text(caption.text, is_text=True)})
        for rubric in self.part.rubrics:
            named = self._text(
                rubric.rubric_id, self._item_id().read if rubric.rubric_id is None else None
            )
            self._make("item_rubrics", batch, {"item_id": self._item_id(), "rubric_id": named})
            cells = {
                "rubric_id": named,
                "criterion": self._text(rubric.criterion),
                "levels": self._texts(rubric.levels),
            }
            self._make("rubrics", batch, cells)
        if self.part.models:
            models = {
                name: self._model_cell(name, value) for name, value in self.part.models.items()
            }
            self._make("models", batch, models)
        for published in self.part.benchmark_scores:
            self._add_published(batch, published)

    def _model_cell(self, name: str, value: Value) -> TableCell:
        return self._text(value) if name in ("model", "family") else self._number(value)

    def _add_published(self, batch: pl.DataFrame, published: PublishedSettings) -> None:
        columns = [
            (Value((name,)), self._text(None, pl.lit(known)))
            for name, known in published.scores.items()
        ]
        if published.score is not None:
            columns.append((published.score, self._text(published.published_benchmark)))
        for value, benchmark in columns:
            cells = {
                "model": self._text(published.model),
                "published_benchmark": benchmark,
                "score": self._number(value),
            }
            self._make("benchmark_scores", batch, cells, filled="score")


def _as_read(cell: TableCell, read: pl.Expr) -> TableCell:
    return cell._replace(raw=read, read=read)


def _member(name: str) -> pl.Expr:
    """The image URI of a list's element: the element itself, or a member of the JSON record that it
    is.
    """
    element = pl.element()
    return (
        pl.when(element.str.starts_with("{"))
        .then(element.str.json_path_match(f"$.{name}"))
        .otherwise(element)
    )


def _hash() -> pl.Expr:
    element = pl.element()
    return (
        pl.when(element.str.starts_with("{"))
        .then(element.str.json_path_match("$.sha256"))
        .alias("sha256")
    )


def _region() -> pl.Expr:
    """A box: `[x, y, width, height]` or a record with those names."""
    element = pl.element()
    boxed = element.str.starts_with("[")
    parts = [
        pl.when(boxed).then(element.str.json_path_match(f"$[{number}]")).otherwise(element.str.json_path_match(f"$.{name}"))
        .cast(pl.Float64, strict=False).alias(name)
        for number, name in enumerate(("x", "y", "width", "height"))
    ]  # fmt: skip
    return pl.struct(parts).cast(Region)
