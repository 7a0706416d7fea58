"""Settings of source `table` that shape a file's rows before they are mapped, and what they do to a
frame: row numbers, parts of a text, joins, conditions, groups.

Frames have one column a path and the two place columns; rows that cannot be shaped are reported
with their place. Reading files is `source`.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

import polars as pl
from pydantic import model_validator
from pydantic_core import ArgsKwargs, PydanticCustomError

from judgelake.tasks.errors import nearest
from judgelake.tasks.settings import FORM, TEXT_SCHEMA, frozen_settings
from judgelake.tasks.sources.readers.files import FileSettings, Names
from judgelake.tasks.sources.readers.record_paths import FILE, LOCATOR, Kind
from judgelake.tasks.sources.table.values import is_number, need, parse_number

ReportRows = Callable[[pl.DataFrame, str, str, str], None]
"""Called with rows that are left out, the column to quote, the reason and the remedy."""
_ORDER: Mapping[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "<": pl.Expr.lt,
    "<=": pl.Expr.le,
    ">": pl.Expr.gt,
    ">=": pl.Expr.ge,
}
_SIGNS = ("=", "!=", *_ORDER, "in", "not in")
# a named part of a text: `{id}`
_PART = re.compile(r"\{([^{}?]*\??)\}")
"""A part of a text; one that ends in `?` may be empty."""


@frozen_settings
class Condition:
    """What a column of a row to keep holds: a text or a list of texts (one of them), or comparisons
    that all hold: `{"!=": x}`, `{"<": 5}` (also `=`, `<=`, `>`, `>=`), `{in: [x, y]}`, `{not in:
    [x, y]}`; in place of a text `{column: name}` is another column of the row. `<` and its like
    compare numbers. An empty cell is the text "".
    """

    comparisons: tuple[tuple[str, tuple[str, ...], str | None], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        """The comparisons as a suite writes them."""
        if isinstance(value, ArgsKwargs | cls):
            return value
        given = value if isinstance(value, dict) else {"in": value}
        if not given:
            raise PydanticCustomError(
                FORM, "holds no condition; expected a text, a list or a comparison; write one"
            )
        return {"comparisons": tuple(_read_comparison(*pair) for pair in given.items())}

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        """As a suite writes it."""
        several = {"type": "array", "items": TEXT_SCHEMA, "minItems": 1}
        texts = {"anyOf": [TEXT_SCHEMA, several]}
        column = {
            "type": "object",
            "properties": {"column": TEXT_SCHEMA},
            "required": ["column"],
            "additionalProperties": False,
        }
        keys = {sign: {"anyOf": [*texts["anyOf"], column]} for sign in _SIGNS}
        form = {
            "type": "object",
            "properties": keys,
            "additionalProperties": False,
            "minProperties": 1,
        }
        says = inspect.cleandoc(cls.__doc__ or "")
        return {"anyOf": [*texts["anyOf"], form], "description": says}

    @property
    def columns(self) -> list[str]:
        """The other columns that it reads."""
        return [column for _, _, column in self.comparisons if column is not None]


def _read_comparison(sign: str, value: Any) -> tuple[str, tuple[str, ...], str | None]:
    if sign not in _SIGNS:
        raise PydanticCustomError(FORM, f"unknown comparison {sign!r}; {nearest(sign, _SIGNS)}")
    if isinstance(value, dict):
        if set(value) != {"column"}:
            raise PydanticCustomError(FORM, "expected a text, or {column: name}; correct it")
        return sign, (), value["column"]
    texts = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not texts:
        raise PydanticCustomError(FORM, "holds no text; expected one at least; write it")
    if not all(isinstance(text, str) for text in texts):
        raise PydanticCustomError("string_type", "expected text")
    if sign not in ("in", "not in") and len(texts) != 1:
        raise PydanticCustomError(FORM, f"{sign!r} takes one text; write `in` for several")
    if sign in _ORDER and not is_number(texts[0]):
        raise PydanticCustomError(FORM, f"{sign!r} compares numbers; correct {texts[0]!r}")
    return sign, texts, None


@frozen_settings
class RowSettings(FileSettings):
    """The rows of a file. In this order: `row_number` names a column of the record's number in its
    file, from 1 (records that are rejected count too); `parse` takes texts apart (column: pattern,
    such as `image: "{id}.jpg#{number}"`, whose parts become columns, `{id?}` one that may be
    empty); `where` keeps rows (column: condition); `group` makes rows that are equal in these
    columns one, in which columns of lists hold the elements of all.
    """

    row_number: str | None = None
    parse: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, Condition] = field(default_factory=dict)
    group: Names = ()

    def __post_init__(self) -> None:
        self.check_file()
        for column, pattern in self.parse.items():
            names = _find_parts(pattern)
            need(
                bool(names) and all(name.isidentifier() for name in names),
                "parse",
                f"{column}: {pattern!r}; expected parts such as {{id}}; write them into it",
            )
            need(
                "}{" not in pattern,
                "parse",
                f"{column}: {pattern!r} has parts side by side; expected a text between them; add "
                f"it",
            )
        made = self.made_columns
        twice = next((name for name in made if made.count(name) > 1), None)
        need(twice is None, "parse", f"two columns are named {twice!r}; rename one")

    @property
    def made_columns(self) -> list[str]:
        """The columns that are not in the file."""
        parts = [name for pattern in self.parse.values() for name in _find_parts(pattern)]
        return [*parts, *([self.row_number] if self.row_number else [])]

    @property
    def shaping_columns(self) -> Iterator[tuple[str, str]]:
        """(key, column) of the columns that shaping reads."""
        yield from (("parse", column) for column in self.parse)
        yield from (("group", column) for column in self.group)
        for column, condition in self.where.items():
            yield from (("where", name) for name in (column, *condition.columns))


@frozen_settings
class JoinSettings(RowSettings):
    """Another file, of which each row here gets the one row that fits: `keys` says which column
    here equals which there (several: all of them). Its columns are `<name of the join>.<column>`.
    """

    keys: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        need(self.file is not None, "file", "missing; expected the path of the other file; add it")
        need(bool(self.keys), "keys", "missing; expected {column here: column there}; add it")


def parse_columns(
    frame: pl.DataFrame, parse: Mapping[str, str], report: ReportRows
) -> pl.DataFrame:
    """The frame with the parts of texts as columns; texts of another form are reported, missing
    ones have missing parts.
    """
    for column, pattern in parse.items():
        regex = "".join(
            _match_part(piece) if place % 2 else re.escape(piece)
            for place, piece in enumerate(_PART.split(pattern))
        )
        parts = pl.col(column).str.extract_groups(f"(?s)^{regex}$")
        frame = frame.with_columns(parts.alias("::parts")).unnest("::parts")
        is_filled = pl.col(column).fill_null("").str.strip_chars() != ""
        is_other = is_filled & pl.col(_find_parts(pattern)[0]).is_null()
        report(
            frame.filter(is_other),
            column,
            f"the text is not of the form {pattern}",
            "correct the text, or the pattern under `parse:` in the suite",
        )
        frame = frame.filter(~is_other)
    return frame


def _find_parts(pattern: str) -> list[str]:
    """The names of a pattern's parts."""
    return [name.removesuffix("?") for name in _PART.findall(pattern)]


def _match_part(part: str) -> str:
    name = part.removesuffix("?")
    return f"(?P<{name}>.*?)" if part != name else f"(?P<{name}>.+?)"


def keep_rows(
    frame: pl.DataFrame, where: Mapping[str, Condition], report: ReportRows, decimal: str = "."
) -> pl.DataFrame:
    """The rows for which all conditions hold; a text that is compared as a number and is none is
    reported.
    """
    for column, condition in where.items():
        cell = pl.col(column).fill_null("")
        for sign, texts, other in condition.comparisons:
            operand = pl.lit(texts[0]) if other is None else pl.col(other).fill_null("")
            if sign not in _ORDER:
                among = cell.is_in(list(texts)) if other is None else cell == operand
                frame = frame.filter(~among if sign in ("!=", "not in") else among)
                continue
            for name in dict.fromkeys((column, *([other] if other else []))):
                frame = _without_words(frame, name, sign, report, decimal)
            number = parse_number(operand, decimal if other else ".")
            frame = frame.filter(_ORDER[sign](parse_number(cell, decimal), number))
    return frame


def _without_words(
    frame: pl.DataFrame, name: str, sign: str, report: ReportRows, decimal: str
) -> pl.DataFrame:
    text = pl.col(name).fill_null("")
    is_word = (text.str.strip_chars() != "") & parse_number(text, decimal).fill_nan(None).is_null()
    reason = f"the value is not a number, and `where` compares it by {sign!r}"
    report(frame.filter(is_word), name, reason, "correct the value in the file")
    return frame.filter(~is_word)


def join_rows(
    frame: pl.DataFrame, name: str, settings: JoinSettings, there: pl.DataFrame, report: ReportRows
) -> pl.DataFrame:
    """The rows with the columns of the one row `there` that fits; rows without one, or with
    several, are reported.
    """
    file = settings.file.name if settings.file else name
    here, keys = list(settings.keys), [f"{name}.{column}" for column in settings.keys.values()]
    there = there.drop(FILE, LOCATOR).rename(lambda column: f"{name}.{column}")
    once = there.filter(~pl.struct(keys).is_duplicated())
    for rows, reason, remedy in (
        (there, f"no row of {file} has this key", "add the row there, or correct the key"),
        (
            once,
            f"several rows of {file} have this key",
            "join by more columns under `keys:`, or make them one by `group:` in the join",
        ),
    ):
        bad = frame.join(rows, left_on=here, right_on=keys, how="anti", maintain_order="left")
        report(bad, here[0], reason, remedy)
        frame = frame.join(rows, left_on=here, right_on=keys, how="semi", maintain_order="left")
    copies = [pl.col(key).alias(f"::{key}") for key in keys]
    return frame.join(
        once.with_columns(copies),
        left_on=here,
        right_on=[f"::{key}" for key in keys],
        how="left",
        maintain_order="left",
    )


def group_rows(
    frame: pl.DataFrame, group: Names, kinds: Mapping[str, Kind], report: ReportRows
) -> pl.DataFrame:
    """One row for the rows that are equal in `group`, with the columns of `kinds`: those of lists
    hold the elements of all, others one value; where they have several the group is reported.
    """
    lists = [column for column, kind in kinds.items() if kind != "text" and column not in group]
    single = [column for column, kind in kinds.items() if kind == "text" and column not in group]
    for column in single:
        differs = pl.col(column).n_unique().over(group) > 1
        report(
            frame.filter(differs),
            column,
            f"rows that are grouped by {', '.join(group)} differ in this column",
            "give them one value, or group by this column too",
        )
        frame = frame.filter(~differs)
    return frame.group_by(group, maintain_order=True).agg(
        *(pl.col(column).first() for column in (*single, FILE, LOCATOR)),
        *(pl.col(column).explode() for column in lists),
    )
