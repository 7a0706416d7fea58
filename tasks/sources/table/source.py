"""Source `table`: any CSV, TSV, JSON lines, JSON or Parquet file, mapped to the lake's tables by
the suite alone.

Settings are `settings`, reading is `tasks.sources.readers.files`, mapping is `rows`; this module
finds the files and puts these together.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import polars as pl

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.frames import Rejected, SourceFrames
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.files import (
    AbsentColumnsError,
    RecordBatch,
    SeenPaths,
    check_columns,
    find_format,
    list_present,
    open_parquet,
    read_batches,
)
from judgelake.tasks.sources.readers.record_paths import DTYPES, FILE, LOCATOR, Kind, flatten
from judgelake.tasks.sources.table.columns import GIVES_ITEMS
from judgelake.tasks.sources.table.input_files import InputFile, find_files, refuse_twice
from judgelake.tasks.sources.table.judges import note_unordered
from judgelake.tasks.sources.table.notes import NamedColumns, note_unread_parts
from judgelake.tasks.sources.table.rows import RowMaker
from judgelake.tasks.sources.table.settings import PartSettings, TableSettings
from judgelake.tasks.sources.table.shaping import (
    Condition,
    RowSettings,
    group_rows,
    join_rows,
    keep_rows,
    parse_columns,
)

VERSION = 4
# a larger cell is an embedded file or a broken quotation, not a text
_MOST_BYTES = 1 << 20
# rows read at a time, which bounds memory
_BATCH = 200_000


def source_files(settings: TableSettings) -> list[Path]:
    """All files this source reads; raises SourceError where one is absent or a glob finds none."""
    return [
        file.path
        for part in settings.every_part
        for files in (find_files(part, part.newest), *map(find_files, part.join.values()))
        for file in files
    ]


def read_table(settings: TableSettings) -> SourceFrames:
    """The rows that the suite maps from its files; what cannot be read is rejected with its
    place.
    """
    parts = settings.every_part
    makers = [_read_part(part) for part in parts]
    rejected = tuple(row for maker in makers for row in maker.rejected)
    names = {name for maker in makers for name in maker.frames}
    frames = {
        name: pl.concat([frame for maker in makers for frame in maker.frames.pop(name, [])])
        for name in names
    }
    notes = [note for maker in makers for note in maker.notes]
    if not any(duels.shown_first for part in parts for duels in part.judge_duels):
        notes += note_unordered(frames.get("recorded_duels"))
    return SourceFrames(**frames, rejected=rejected, notes=tuple(notes))


def _read_part(part: PartSettings) -> RowMaker:
    files = find_files(part, part.newest)
    mapped = part.mapped()
    is_text = find_format(files[0].path, part) in ("csv", "tsv", "blocks")
    nulls = ("",) if part.nulls is None else tuple(part.nulls)
    text_nulls = nulls if is_text or part.nulls is not None else ()
    lists = frozenset(path for path, kind in mapped.items() if kind != "text")
    maker = RowMaker(part, lists, nulls, text_nulls)
    table = next(iter(_tables(part)), "items")
    joined = {name: _read_join(part, name, table, maker) for name in part.join}
    try:
        rows = _Rows(part, part.wanted_of_file(), table, maker.rejected, joined)
        for frame in rows.read(files, mapped):
            maker.add(frame)
        maker.notes += [*rows.list_notes(), *note_unread_parts(part), *maker.pieces.list_notes()]
    except AbsentColumnsError as error:
        raise SourceError(" ".join([str(error), *part.explain_columns(error.absent)])) from None
    return maker


def _read_join(part: PartSettings, name: str, table: str, maker: RowMaker) -> pl.DataFrame:
    settings, mapped = part.join[name], part.mapped_of_join(name)
    rows = _Rows(settings, part.wanted_of_join(name), table, maker.rejected)
    try:
        frames = list(rows.read(find_files(settings), mapped))
    except AbsentColumnsError as error:
        keys = part.explain_columns([f"{name}.{column}" for column in error.absent])
        raise SourceError(
            " ".join([str(error), *(keys or [f"(`join.{name}` reads it)"])])
        ) from None
    maker.notes.extend(rows.list_notes())
    return pl.concat(frames)


class _Rows:
    """The rows of some settings' files, shaped."""

    def __init__(
        self,
        settings: RowSettings,
        wanted: Mapping[str, Kind],
        table: str,
        rejected: list[Rejected],
        joined: Mapping[str, pl.DataFrame] = MappingProxyType({}),
    ) -> None:
        self.settings, self.joined = settings, joined
        self.table, self.rejected = table, rejected
        self.named = NamedColumns(settings)
        self.reader = _FileReader(settings, wanted, table, rejected, self.named)
        self.n_asked, self.n_kept = Counter[str](), Counter[str]()
        here = set(wanted)
        self.early = {
            column: condition
            for column, condition in settings.where.items()
            if {column, *condition.columns} <= here
        }
        self.late = {
            column: condition
            for column, condition in settings.where.items()
            if column not in self.early
        }

    def read(
        self, files: Sequence[InputFile], mapped: Mapping[str, Kind]
    ) -> Iterator[pl.DataFrame]:
        """Frames of shaped rows with the columns that are `mapped` to tables; raises
        AbsentColumnsError where no file has a wanted column.
        """
        frames: Iterator[pl.DataFrame] = (
            _as_lists(self._shape(frame), mapped)
            for file in files
            for frame in self.reader.read(file)
        )
        if self.settings.group:
            whole = pl.concat(list(frames))
            frames = iter([group_rows(whole, self.settings.group, mapped, self._report)])
        yield from frames
        self.reader.check_present(files[0].path)

    def _shape(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._keep(frame, self.early)
        frame = parse_columns(frame, self.settings.parse, self._report)
        for name, there in self.joined.items():
            join = self.settings.join[name]  # type: ignore[attr-defined]  # only a part has joins
            frame = join_rows(frame, name, join, there, self._report)
        return self._keep(frame, self.late)

    def _keep(self, frame: pl.DataFrame, where: Mapping[str, Condition]) -> pl.DataFrame:
        for column, condition in where.items():
            n_rejected = len(self.rejected)
            kept = keep_rows(frame, {column: condition}, self._report, self.settings.decimal)
            self.n_asked[column] += frame.height
            self.n_kept[column] += kept.height + len(self.rejected) - n_rejected
            frame = kept
        return frame

    def list_notes(self) -> Iterator[str]:
        """A line on each condition that kept no row, and each name that is a column."""
        yield from (f"{self.settings.file}: {note}" for note in self.named.list_notes())
        for column, n_rows in self.n_asked.items():
            if n_rows and not self.n_kept[column]:
                yield (
                    f"{self.settings.file}: the condition `where: {column}` kept none of "
                    f"{n_rows:,} rows"
                )

    def _report(self, rows: pl.DataFrame, column: str, reason: str, remedy: str) -> None:
        for file, locator, value in rows.select(FILE, LOCATOR, column).iter_rows():
            shown = None if value is None else value[:200]
            self.rejected.append(Rejected(self.table, file, locator, column, shown, reason, remedy))


def _as_lists(frame: pl.DataFrame, mapped: Mapping[str, Kind]) -> pl.DataFrame:
    """The frame with lists of one text in columns that are mapped as lists and were read as a text,
    since the rows were shaped by it.
    """
    texts = [
        path for path, kind in mapped.items() if kind != "text" and frame.schema[path] == pl.String
    ]
    return frame.with_columns(pl.concat_list(path).alias(path) for path in texts)


class _FileReader:
    """Frames of the wanted columns of files, with the place of each row."""

    def __init__(
        self,
        part: RowSettings,
        wanted: Mapping[str, Kind],
        table: str,
        rejected: list[Rejected],
        named: NamedColumns,
    ) -> None:
        self.part, self.wanted, self.rejected, self.named = part, wanted, rejected, named
        self.present: set[str] = set()
        self.keys: set[str] = set()
        self.seen = SeenPaths()
        self.table = table

    def read(self, file: InputFile) -> Iterator[pl.DataFrame]:
        inner = {path: kind for path, kind in self.wanted.items() if path not in file.columns}
        self.present.update(file.columns)
        self._check_new(file.path, file.columns)

        def report_line(
            locator: str, column: str | None, value: str | None, reason: str, remedy: str
        ) -> None:
            shown = None if value is None else value[:200]
            self.rejected.append(
                Rejected(self.table, file.name, locator, column, shown, reason, remedy)
            )

        frames = self._read_parquet(file, inner)
        if frames is None:
            frames = (
                self._flatten(file, batch, inner)
                for batch in read_batches(file.path, self.part, inner, report_line, self.seen)
            )
        for frame in frames:
            constants = [
                pl.lit(value, DTYPES[self.wanted[name]].base_type()).alias(name)
                for name, value in file.columns.items()
                if name in self.wanted
            ]
            yield self._without_huge(frame.with_columns(pl.lit(file.name).alias(FILE), *constants))

    def check_present(self, file: Path) -> None:
        """Raises AbsentColumnsError where no record of any file has a wanted path."""
        self.seen.check(file, self.part)
        absent = sorted(set(self.wanted) - self.present) if self.keys else []
        if absent:
            raise AbsentColumnsError(
                f"{file}: no record has {' or '.join(map(repr, absent))}, but "
                f"{list_present(absent, sorted(self.keys))}",
                absent,
            )

    def _check_new(self, file: Path, columns: Collection[str]) -> None:
        """Raises SourceError where a column that the suite adds is there already."""
        taken = next((name for name in self.part.made_columns if name in columns), None)
        if taken is not None:
            key = "row_number" if taken == self.part.row_number else "parse"
            raise SourceError(
                f"{file}: `{key}` names a new column {taken!r}, and the file has one of that name; "
                f"expected a name of its own; rename it in the suite"
            )

    def _flatten(
        self, file: InputFile, batch: RecordBatch, wanted: Mapping[str, Kind]
    ) -> pl.DataFrame:
        flat = flatten(batch.records, wanted)
        self.present |= flat.present
        self.keys.update(key for record in batch.records[:100] for key in record)
        self._check_new(file.path, self.keys)
        if file.columns:
            keys = {key for record in batch.records for key in record}
            refuse_twice(file, self.part, keys, self.wanted)
        self.named.look_at(batch.records)
        frame = pl.DataFrame({**flat.columns, LOCATOR: pl.Series(batch.locators, dtype=pl.String)})
        frame = self._number(frame, pl.Series(batch.numbers, dtype=pl.Int64))
        for bad in flat.misfits:
            remedy = (
                "correct the record, or write a path to the value in the suite, such as "
                "a.b, a[0] or a[*].b"
            )
            place = (self.table, file.name, batch.locators[bad.row])
            self.rejected.append(Rejected(*place, bad.path, bad.value, bad.reason, remedy))
        if not flat.misfits:
            return frame
        rows = pl.Series([bad.row for bad in flat.misfits], dtype=pl.UInt32).unique()
        return (
            frame.with_row_index("::row")
            .filter(~pl.col("::row").is_in(rows.implode()))
            .drop("::row")
        )

    def _number(self, frame: pl.DataFrame, numbers: pl.Series) -> pl.DataFrame:
        """The frame with the records' numbers as text in the column that the suite names."""
        name = self.part.row_number
        return frame if name is None else frame.with_columns(numbers.cast(pl.String).alias(name))

    def _read_parquet(
        self, file: InputFile, wanted: Mapping[str, Kind]
    ) -> Iterator[pl.DataFrame] | None:
        """The plain columns of a Parquet file without a detour over Python; None where there is
        more to it.
        """
        if find_format(file.path, self.part) != "parquet":
            return None
        with open_parquet(file.path) as parquet:
            names = parquet.schema_arrow.names
            refuse_twice(file, self.part, names, self.wanted)
            if self.part.explode or self.part.json:
                return None
            self._check_new(file.path, names)
            self.named.look_at([dict.fromkeys(names)])
            if any(path not in names for path in wanted):
                if all(
                    path not in names and not re.search(r"[.\[]", path)
                    for path in wanted
                    if path not in names
                ):
                    check_columns(file.path, "schema", names, wanted)
                return None
            sample = pl.from_arrow(parquet.schema_arrow.empty_table())
        if not isinstance(sample, pl.DataFrame) or not all(
            _is_plain(sample.schema[path], kind) for path, kind in wanted.items()
        ):
            return None
        self.present.update(wanted)
        return self._parquet_frames(file.path, wanted)

    def _parquet_frames(self, file: Path, wanted: Mapping[str, Kind]) -> Iterator[pl.DataFrame]:
        start = 0
        with open_parquet(file) as parquet:
            for part in parquet.iter_batches(_BATCH, columns=list(wanted)):
                frame = pl.DataFrame(part).select(
                    pl.col(path).cast(DTYPES[kind]) for path, kind in wanted.items()
                )
                numbers = pl.int_range(start, start + frame.height, eager=True)
                place = ("record " + numbers.cast(pl.String)).alias(LOCATOR)
                yield self._number(frame.with_columns(place), numbers + 1)
                start += frame.height

    def _without_huge(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows whose cells keep to a size that a prompt may have; the others are rejected."""
        sizes = [_size(path, kind) > _MOST_BYTES for path, kind in self.wanted.items()]
        marks = frame.select(sizes) if sizes else pl.DataFrame()
        huge = [name for name in marks.columns if marks[name].any()]
        for name in huge:
            shown = pl.col(name) if self.wanted[name] == "text" else pl.col(name).list.join(", ")
            bad = frame.filter(marks[name].fill_null(value=False))
            for file, locator, value in bad.select(
                FILE, LOCATOR, shown.str.slice(0, 200)
            ).iter_rows():
                reason = f"the cell is larger than {_MOST_BYTES:,} bytes"
                self.rejected.append(
                    Rejected(
                        self.table,
                        file,
                        locator,
                        name,
                        value,
                        reason,
                        "shorten it, or take the row out",
                    )
                )
        return (
            frame.filter(
                ~marks.select(pl.any_horizontal(pl.all().fill_null(value=False))).to_series()
            )
            if huge
            else frame
        )


def _size(path: str, kind: Kind) -> pl.Expr:
    column = pl.col(path)
    return (
        column.str.len_bytes()
        if kind == "text"
        else column.list.eval(pl.element().str.len_bytes()).list.sum()
    )


def _is_plain(dtype: pl.DataType, kind: Kind) -> bool:
    if isinstance(dtype, pl.List) and kind != "text":
        dtype = dtype.inner  # type: ignore[assignment]
    elif kind != "text":
        return False
    return (
        dtype == pl.String
        or dtype.is_integer()
        or dtype.is_float()
        or dtype == pl.Boolean
        or isinstance(dtype, pl.Categorical | pl.Enum)
    )


def _tables(part: PartSettings) -> Iterator[str]:
    """The tables that a part gives, the first of which stands for a line that is no record."""
    given = {
        "items": any(name in part.columns for name in GIVES_ITEMS),
        "answers": part.every_answer[0].text,
        "human_ratings": part.human_ratings,
        "human_preferences": part.preferences,
        "choice_sets": part.choice_sets,
        "feedback_preferences": part.feedback_preferences,
        "recorded_verdicts": part.judge_verdicts,
        "recorded_duels": part.judge_duels,
        "recorded_scores": part.metric_scores,
        "failure_labels": part.failure_labels,
        "item_labels": part.item_labels,
        "captions": part.captions,
        "models": part.models,
        "benchmark_scores": part.benchmark_scores,
    }
    return (name for name, settings in given.items() if settings)


SOURCE = Source(
    "table", TableSettings, VERSION, source_files, lambda settings, _: read_table(settings)
)
