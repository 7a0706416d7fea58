"""Guesses which columns of a file of answers hold the id, question, references, answer, model,
rating and image: by their names first, then by their content. The suite is written by
`tasks.suite.draft`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from judgelake.tasks.errors import SourceError, SuiteError
from judgelake.tasks.sources.readers.delimited import decode_lines
from judgelake.tasks.sources.readers.files import (
    FileSettings,
    SeenPaths,
    find_format,
    read_batches,
)

Row = Mapping[str, Any]
N_ROWS = 2_000
"""Only the first rows of a file are looked at."""
ROLES = ("images", "model", "rating", "annotator", "item_id", "prompt", "references", "answer")
"""In the order in which columns are given to them: the roles easiest to see by content come first.
"""
_NAMES: Mapping[str, tuple[str, ...]] = {
    "item_id": ("item_id", "question_id", "qid", "id", "uid", "example_id", "sample_id", "idx"),
    "prompt": ("prompt", "question", "instruction", "query", "input"),
    "references": (
        "references",
        "reference",
        "reference_answer",
        "ground_truth",
        "gold",
        "gt",
        "gt_answer",
        "target",
        "expected",
        "correct_answer",
        "answers",
    ),
    "answer": (
        "answer",
        "model_answer",
        "prediction",
        "pred",
        "response",
        "output",
        "model_output",
        "generated",
        "generation",
        "completion",
        "candidate",
        "hypothesis",
    ),
    "model": ("model", "model_name", "model_id", "system", "generator"),
    "rating": ("rating", "human_rating", "human_score", "score", "correct", "correctness", "grade"),
    "annotator": ("annotator", "annotator_id", "rater", "rater_id", "worker", "worker_id"),
    "images": ("image", "images", "image_path", "image_file", "img", "picture", "file_name"),
}
_WORDS: Mapping[str, tuple[str, ...]] = {
    "item_id": ("id",),
    "prompt": ("question", "prompt", "instruction"),
    "references": ("reference", "references", "truth", "gold", "gt"),
    "answer": ("answer", "prediction", "response", "output"),
    "model": ("model", "system"),
    "rating": ("rating", "score", "grade"),
    "annotator": ("annotator", "rater"),
    "images": ("image", "img"),
}
"""A word within a longer name, such as `gt_label` or `Human score`."""
# names of image files
_IMAGE = re.compile(r"\.(jpe?g|png|webp|gif|bmp|tiff?)$", re.IGNORECASE)
YES_NO: Mapping[str, int] = {
    "yes": 1,
    "true": 1,
    "correct": 1,
    "y": 1,
    "no": 0,
    "false": 0,
    "incorrect": 0,
    "wrong": 0,
    "n": 0,
}
# lists that describe an item and are no right answers
_OF_ITEM = re.compile(r"tag|categor|label|topic|keyword|option|choice|domain|skill", re.IGNORECASE)
_PLAIN = re.compile(r"[^{}$\[\]]+")
"""Column names that a suite can hold as they are: braces make patterns, brackets make paths."""


class TakenColumn(NamedTuple):
    """A column that was given a role, and why."""

    column: str
    reason: str


def read_rows(file: Path) -> list[dict[str, Any]]:
    """The first rows of a table; raises SuiteError where it cannot be read or holds none."""
    kind = find_format(file, FileSettings(file=file))
    if kind in ("csv", "tsv"):
        try:
            return _read_delimited(file)
        except SourceError as error:
            raise SuiteError(str(error)) from None
    try:
        if kind == "jsonl":
            frame = pl.read_ndjson(file, n_rows=N_ROWS)
        elif kind == "parquet":
            frame = pl.read_parquet(file, n_rows=N_ROWS)
        else:
            frame = pl.from_dicts(_expect_list(file, json.loads(file.read_text("utf-8")))[:N_ROWS])
    except (OSError, ValueError, TypeError, KeyError, pl.exceptions.PolarsError) as error:
        what = " ".join(str(error).split())[:200]
        raise SuiteError(
            f"{file}: cannot be read ({what}); expected a table of answers as CSV, TSV, JSONL, a "
            "JSON list or Parquet; correct the path or the file"
        ) from None
    if frame.is_empty():
        raise SuiteError(f"{file}: has no row; expected answers, one a row; name another file")
    return frame.to_dicts()


def find_separator(file: Path) -> str | None:
    """The sign that separates the cells of a CSV or TSV; None where it is the format's own, or the
    file is none.
    """
    kind = find_format(file, FileSettings(file=file))
    if kind not in ("csv", "tsv"):
        return None
    own = "," if kind == "csv" else "\t"
    lines = (text for _, text in decode_lines(file, "utf-8", _ignore_line) if text is not None)
    header = next(lines, "")
    counts = {mark: header.count(mark) for mark in (own, ";", "\t", ",", "|")}
    best = max(counts, key=lambda mark: counts[mark])  # the format's own wins a draw
    return None if best == own else best


def _read_delimited(file: Path) -> list[dict[str, Any]]:
    """The first rows of a CSV or TSV; raises SuiteError where most do not fit its header."""
    settings, misfits = (
        FileSettings(file=file, separator=find_separator(file)),
        list[tuple[str | None, ...]](),
    )

    def report_line(
        locator: str, column: str | None, value: str | None, reason: str, remedy: str
    ) -> None:
        misfits.append((locator, column, value, reason, remedy))

    batches = read_batches(file, settings, (), report_line, SeenPaths())
    rows = [dict(record) for record in next(batches).records[:N_ROWS]]
    if len(misfits) > len(rows):
        header = ", ".join(map(repr, rows[0] if rows else ()))
        place, _, _, reason, _ = misfits[0]
        raise SuiteError(
            f"{file}: most rows do not fit the header in line 1 ({header}); {place}: {reason}; "
            f"expected the columns' names in line 1; take out the lines before them, or write "
            f"the suite by hand with `names:`"
        )
    if not rows:
        raise SuiteError(f"{file}: has no row; expected answers, one a row; name another file")
    return rows


def _ignore_line(
    locator: str, column: str | None, value: str | None, reason: str, remedy: str
) -> None:
    """A line that is no text is reported when the rows are read."""


def _expect_list(file: Path, content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    keys = ", ".join(map(repr, content)) if isinstance(content, dict) else "no keys"
    raise SuiteError(
        f"{file}: holds no list of records at its top, but {keys}; expected a list of answers; "
        f"write the suite by hand, where `records:` is the path of the list or map"
    )


def find_roles(rows: Sequence[Row]) -> dict[str, TakenColumn]:
    """Role -> the column that fits it; roles without a fitting column are absent."""
    left = [name for name in rows[0] if _PLAIN.fullmatch(name)]
    roles: dict[str, TakenColumn] = {}
    for find in (_find_by_name, _find_by_word, _find_by_content):
        for role in ROLES:
            column = None if role in roles else find(role, left, rows)
            if column is not None:
                roles[role] = column
                left.remove(column.column)
    return roles


def list_texts(rows: Sequence[Row], column: str) -> list[str]:
    """The non-empty cells of a column as text."""
    cells = [row[column] for row in rows if row[column] is not None]
    texts = [str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in cells]
    return [text.strip() for text in texts if text.strip()]


def _find_by_name(role: str, columns: list[str], rows: Sequence[Row]) -> TakenColumn | None:
    for name in _NAMES[role]:
        for column in columns:
            if _normalise(column) == name and _FITS[role](rows, column):
                return TakenColumn(column, "by its name")
    return None


def _find_by_word(role: str, columns: list[str], rows: Sequence[Row]) -> TakenColumn | None:
    for column in columns:
        words = _normalise(column).split("_")
        for word in _WORDS[role]:
            if word in words and _FITS[role](rows, column):
                return TakenColumn(column, f"by the word {word!r} in its name")
    return None


def _find_by_content(role: str, columns: list[str], rows: Sequence[Row]) -> TakenColumn | None:
    """The first column whose content fits; not all roles can be seen by content."""
    for column in columns:
        reason = _GUESSES[role](rows, column) if role in _GUESSES else None
        if reason:
            return TakenColumn(column, f"by its content: {reason}")
    return None


def _normalise(name: str) -> str:
    # `Model answer` and `model-answer` are `model_answer`
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _is_text(rows: Sequence[Row], column: str) -> bool:
    return all(isinstance(row[column], str | None) for row in rows)


def _is_scalar(rows: Sequence[Row], column: str) -> bool:
    return all(isinstance(row[column], str | int | float | None) for row in rows)


def _is_filled(rows: Sequence[Row], column: str) -> bool:
    return _is_scalar(rows, column) and len(list_texts(rows, column)) == len(rows)


def _is_texts(rows: Sequence[Row], column: str) -> bool:
    return all(isinstance(row[column], str | int | float | list | None) for row in rows)


def _is_rating(rows: Sequence[Row], column: str) -> bool:
    texts = list_texts(rows, column)
    return _is_scalar(rows, column) and bool(texts) and _are_ratings(texts)


def _are_ratings(texts: Sequence[str]) -> bool:
    return all(text.lower() in YES_NO for text in texts) or all(map(_is_number, texts))


def _is_number(text: str) -> bool:
    # no `nan`, `1e5` or `1_000`, which `float` reads
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


def _is_image(rows: Sequence[Row], column: str) -> bool:
    texts = list_texts(rows, column)
    return _is_text(rows, column) and bool(texts) and all(map(_IMAGE.search, texts))


_FITS: Mapping[str, Callable[[Sequence[Row], str], bool]] = {
    "item_id": _is_filled,
    "prompt": _is_text,
    "references": _is_texts,
    "answer": _is_scalar,
    "model": _is_filled,
    "rating": _is_rating,
    "annotator": _is_filled,
    "images": _is_image,
}
"""What a column's content must be like, whatever its name."""


def _guess_image(rows: Sequence[Row], column: str) -> str | None:
    return "paths of images" if _is_image(rows, column) else None


def _guess_prompt(rows: Sequence[Row], column: str) -> str | None:
    texts = list_texts(rows, column) if _is_text(rows, column) else []
    asking = sum(text.endswith("?") for text in texts)
    return "most cells end with a question mark" if asking * 2 > len(texts) else None


def _guess_references(rows: Sequence[Row], column: str) -> str | None:
    if _OF_ITEM.search(column):
        return None
    return "lists" if any(isinstance(row[column], list) for row in rows) else None


def _guess_rating(rows: Sequence[Row], column: str) -> str | None:
    n_values = len(set(list_texts(rows, column)))
    repeats = 1 < n_values <= 11 and n_values * 2 <= len(rows)
    return "few numbers, or yes and no" if repeats and _is_rating(rows, column) else None


def _guess_id(rows: Sequence[Row], column: str) -> str | None:
    texts = list_texts(rows, column) if _is_filled(rows, column) else [""]
    short = all(len(text) <= 64 and " " not in text for text in texts)
    return "every cell is one short word" if short and all(texts) else None


def _guess_answer(rows: Sequence[Row], column: str) -> str | None:
    filled = _is_text(rows, column) and bool(list_texts(rows, column))
    return "the first text that is nothing else" if filled else None


_GUESSES: Mapping[str, Callable[[Sequence[Row], str], str | None]] = {
    "images": _guess_image,
    "rating": _guess_rating,
    "prompt": _guess_prompt,
    "references": _guess_references,
    "item_id": _guess_id,
    "answer": _guess_answer,
}
