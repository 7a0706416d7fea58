"""What a suite writes for a value of source `table`, and the polars expression that it stands for.
Which values make a table is `table_rows`.
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import polars as pl
from pydantic import model_validator
from pydantic_core import ArgsKwargs, PydanticCustomError

from judgelake.tasks.errors import nearest
from judgelake.tasks.settings import FORM, TEXT_SCHEMA, frozen_settings
from judgelake.tasks.sources.readers.record_paths import FILE, LOCATOR

PATTERN = re.compile(r"\{([^{}]+?)(?::0(\d+))?\}")
"""A column within a pattern; `{id:012}` fills it up with zeros to 12 digits."""
OTHERS = "*"
"""The key of a value map that stands for every text without a key of its own."""
# a number that is written with a decimal point or comma
_DECIMAL = re.compile(r"\s*[-+]?\d*([.,])\d+\s*")
_SIGNS = {".": "point", ",": "comma"}
_NO_NAME = "names no column; expected the name of one; write it, or remove the key"
_KEYS = ("from", "constant", "values", "split", "element")


def need(holds: bool, key: str, what: str) -> None:
    """Raises ValueError for settings of which something does not hold."""
    if not holds:
        raise ValueError(f"{key}: {what}")


def check_scale(scale: tuple[float, ...]) -> None:
    """Raises ValueError for a scale that is not its two ends, the lowest first."""
    need(
        len(scale) == 2 and scale[0] < scale[-1],
        "scale",
        f"{list(scale)}; expected [lowest, highest]; correct it",
    )


@frozen_settings
class Value:
    """Where a value comes from: `column` (or a path such as `a.b[0].c`, `a[*].b`), `[column,
    column]` (the first that is filled; as a list all of them), a pattern `"{a}-{b:012}"`, or
    `{from: <one of those>, values: {Yes: 1, No: 0}, split: "|"}`, `{constant: text}`. The key `"*"`
    of `values` stands for every other text. `element` takes one piece of a split (0 the first, -1
    the last); a list has that piece of each of its texts. `is_plain`: a name that is written as
    text alone.
    """

    columns: tuple[str, ...] = ()
    pattern: str | None = None
    constant: str | None = None
    values: Mapping[str, str | None] | None = None
    split: str | None = None
    element: int | None = None
    is_plain: bool = field(default=False, compare=False)
    is_plain_constant: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        """The fields of a value as a suite writes it."""
        if isinstance(value, ArgsKwargs | cls):
            return value
        if isinstance(value, dict):
            return _read_keys(value)
        return _read_text(value, cls.is_plain_constant)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        """As a suite writes it."""
        source = {"anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA}]}
        keys = {
            "from": source,
            "values": {
                "type": "object",
                "additionalProperties": {"anyOf": [TEXT_SCHEMA, {"type": "null"}]},
            },
            "split": TEXT_SCHEMA,
            "element": {"type": "integer"},
        }
        forms = [
            {"type": "object", "properties": of, "required": [name], "additionalProperties": False}
            for name, of in (("from", keys), ("constant", {"constant": TEXT_SCHEMA}))
        ]
        return {"anyOf": [source, *forms], "description": inspect.cleandoc(cls.__doc__ or "")}

    def mapped_by(self, values: Mapping[str, str | None] | None) -> "Value":
        """The same value, its texts mapped by `values` where there are any."""
        return (
            self
            if values is None
            else Value(self.columns, self.pattern, self.constant, values, self.split, self.element)
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return (*self.columns, *(name for name, _ in PATTERN.findall(self.pattern or "")))

    @property
    def name(self) -> str:
        """The value in words, for messages."""
        return self.pattern or ", ".join(self.columns) or repr(self.constant)


@frozen_settings
class Name(Value):
    """A value of which plain text is the name itself: `gpt-4`, `correctness`; `{from: column}`
    takes it from a column.
    """

    is_plain_constant: ClassVar[bool] = True


def _read_text(value: Any, is_plain_constant: bool = False) -> dict[str, Any]:
    """The fields of a value that is one text or a list of columns."""
    if isinstance(value, list | tuple):
        if "" in value:
            raise PydanticCustomError(FORM, _NO_NAME)
        return {"columns": tuple(value)}
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "expected text")
    if is_plain_constant:
        return {"constant": value, "is_plain": True}
    if not value:
        raise PydanticCustomError(FORM, _NO_NAME)
    if re.search(r"[{}]", PATTERN.sub("", value)):
        raise PydanticCustomError(
            FORM, f"{value!r}: a brace has no partner; expected {{column}}; correct it"
        )
    return {"pattern": value} if PATTERN.search(value) else {"columns": (value,)}


def _read_keys(value: dict[str, Any]) -> dict[str, Any]:
    """The fields of a value that is written with keys."""
    for name in value:
        if name not in _KEYS:
            raise PydanticCustomError(FORM, f"unknown key {name!r}; {nearest(name, _KEYS)}")
    if ("from" in value) == ("constant" in value):
        raise PydanticCustomError(
            FORM,
            "expected either `from:` (a column) or `constant:` (a text); write one of them",
        )
    if "constant" in value:
        if len(value) > 1:
            others = " and ".join(f"`{key}`" for key in value if key != "constant")
            raise PydanticCustomError(
                FORM,
                f"expected nothing beside `constant`, which is the text itself, but {others}; "
                "remove it",
            )
        return {"constant": value["constant"] or ""}
    return _read_text(value["from"]) | {
        key: value[key] for key in ("values", "split", "element") if key in value
    }


class TableCell(NamedTuple):
    """A column to be: `read` is null where `raw` is not and holds what the column cannot take."""

    raw: pl.Expr
    read: pl.Expr
    name: str
    reason: str = ""
    remedy: str = ""

    def explain(self, value: str, decimal: str) -> tuple[str, str]:
        """The reason and the remedy for a value that cannot be read: a number's decimal sign may be
        the other one.
        """
        match = _DECIMAL.fullmatch(value)
        is_fraction = self.reason.endswith(("a number", "a finite number"))
        if not is_fraction or match is None or match[1] == decimal:
            return self.reason, self.remedy
        sign, other = (_SIGNS[sign] for sign in (decimal, match[1]))
        return (
            f"{self.reason} with a decimal {sign}, but may be one with a {other}",
            f'where the file has decimal {other}s, write `decimal: "{match[1]}"` in the suite; '
            "else correct the value in the file",
        )


def plain_cell(expression: pl.Expr, name: str) -> TableCell:
    """A column that takes whatever the expression gives."""
    return TableCell(expression, expression, name)


def place_cells() -> dict[str, TableCell]:
    """The place columns."""
    return {
        "source_file": plain_cell(pl.col(FILE), "file"),
        "locator": plain_cell(pl.col(LOCATOR), "place"),
    }


def read_text(
    value: Value | None, nulls: tuple[str, ...], default: pl.Expr | None = None
) -> TableCell:
    """Text; blank text and null markers are null, a text that the value map lacks is unreadable."""
    if value is None:
        return plain_cell(pl.lit(None, pl.String) if default is None else default, "")
    raw = _text(value, nulls)
    if value.values is None:
        return plain_cell(raw if default is None else pl.coalesce(raw, default), value.name)
    return _mapped(raw, value.values, value.name)


def read_number(
    value: Value | None,
    nulls: tuple[str, ...],
    dtype: Any = pl.Float64,
    default: Any = None,
    *,
    decimal: str = ".",
) -> TableCell:
    """A number; any other value cannot be read."""
    if value is None:
        return plain_cell(pl.lit(default, dtype), "")
    text = read_text(value, nulls)
    is_in_file = value.constant is None and value.values is None
    number = parse_number(text.read, decimal if is_in_file else ".")
    if dtype == pl.Int64:
        number = (
            pl.when(number.is_finite() & (number == number.floor()))
            .then(number)
            .cast(pl.Int64, strict=False)
        )
    reason = text.reason or f"the value is not a {'whole ' if dtype == pl.Int64 else ''}number"
    return TableCell(
        text.raw,
        pl.when(text.raw.is_null()).then(default).otherwise(number)
        if default is not None
        else number,
        value.name,
        reason,
        text.remedy or _CORRECT,
    )


def parse_number(text: pl.Expr, decimal: str = ".") -> pl.Expr:
    """The number that a text is, blanks around it apart; null where it is none. With a decimal
    comma a point is no part of a number.
    """
    if decimal == ",":
        is_plain = ~text.str.contains(".", literal=True)
        text = pl.when(is_plain).then(text.str.replace(",", ".", literal=True))
    return text.str.strip_chars().cast(pl.Float64, strict=False)


def read_finite(value: Value | None, nulls: tuple[str, ...], decimal: str) -> TableCell:
    """A finite number; any other value cannot be read, nor can NaN and infinity."""
    cell = read_number(value, nulls, decimal=decimal)
    finite = pl.when(cell.read.is_finite()).then(cell.read)
    return cell._replace(
        read=finite, reason=cell.reason and cell.reason.replace("a number", "a finite number")
    )


def read_texts(value: Value | None, lists: frozenset[str], nulls: tuple[str, ...]) -> TableCell:
    """A list of texts, missing ones left out; `lists` are the paths that hold lists."""
    if value is None:
        return plain_cell(pl.lit([], pl.List(pl.String)), "")
    if value.constant is not None or value.pattern is not None:
        parts = pl.concat_list(_whole_text(value, nulls))
    else:
        each = [_mark(pl.col(path), nulls) for path in value.columns if path not in lists]
        marked = _mark(pl.element(), nulls) if nulls else None
        whole = [
            pl.col(path) if marked is None else pl.col(path).list.eval(marked)
            for path in value.columns
            if path in lists
        ]
        parts = pl.concat_list([*whole, *each]) if each or len(whole) > 1 else whole[0]
    if value.split is not None and value.element is not None:
        parts = parts.list.eval(_take_piece(pl.element(), value.split, value.element, nulls))
    elif value.split is not None:
        pieces = (
            parts.list.join("\x00", ignore_nulls=True)
            .str.replace_all(value.split, "\x00", literal=True)
            .str.split("\x00")
        )
        parts = pieces.list.eval(pl.element().str.strip_chars())
    if value.split is not None:
        parts = parts.list.eval(pl.element().filter(pl.element() != ""))
    return plain_cell(parts.list.drop_nulls().fill_null(pl.lit([], pl.List(pl.String))), value.name)


_CORRECT = "correct the value in the file"


def _text(value: Value, nulls: tuple[str, ...]) -> pl.Expr:
    text = _whole_text(value, nulls)
    if value.split is None or value.element is None:
        return text
    return _take_piece(text, value.split, value.element, nulls)


def _take_piece(text: pl.Expr, split: str, element: int, nulls: tuple[str, ...]) -> pl.Expr:
    piece = text.str.split(split).list.get(element, null_on_oob=True)
    return _mark(piece.str.strip_chars(), nulls)


def _whole_text(value: Value, nulls: tuple[str, ...]) -> pl.Expr:
    if value.constant is not None:
        return pl.lit(value.constant, pl.String)
    if value.pattern is not None:
        literals = [pl.lit(text) for text in PATTERN.split(value.pattern)[::3]]
        parts = [
            _mark(pl.col(name), nulls).str.zfill(int(width or 0))
            for name, width in PATTERN.findall(value.pattern)
        ]
        return pl.concat_str(
            [piece for pair in zip(literals, [*parts, pl.lit("")], strict=True) for piece in pair]
        )
    return pl.coalesce([_mark(pl.col(path), nulls) for path in value.columns])


def _mark(expression: pl.Expr, nulls: tuple[str, ...]) -> pl.Expr:
    """Null where the text is a null marker, blanks around it apart."""
    if not nulls:
        return expression
    return pl.when(expression.str.strip_chars().is_in(list(nulls)).not_()).then(expression)


def _mapped(raw: pl.Expr, values: Mapping[str, str | None], name: str) -> TableCell:
    """A value map: exact texts, else equal numbers (`1` is `1.0`), else what `*` stands for; a text
    mapped to null is missing.
    """
    named = {text: meaning for text, meaning in values.items() if text != OTHERS}
    blank = [text for text, meaning in named.items() if meaning is None]
    kept = {text: meaning for text, meaning in named.items() if meaning is not None}
    numbers = {float(text): meaning for text, meaning in kept.items() if is_number(text)}
    bare = raw.str.strip_chars()
    filled = pl.when(bare.is_in(blank).not_()).then(bare)
    read = filled.replace_strict(kept, default=None, return_dtype=pl.String)
    if numbers:
        read = pl.coalesce(
            read,
            filled.cast(pl.Float64, strict=False).replace_strict(
                numbers, default=None, return_dtype=pl.String
            ),
        )
    if OTHERS in values:
        is_other = filled.is_not_null() & read.is_null()
        read = pl.when(is_other).then(pl.lit(values[OTHERS], pl.String)).otherwise(read)
        filled = pl.when(read.is_not_null()).then(filled)
    known = ", ".join(values)
    return TableCell(
        filled,
        read,
        name,
        f"the value is none of {known}",
        "correct it in the file, or add it to `values:` in the suite",
    )


def is_number(text: str) -> bool:
    """Whether a suite's text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
