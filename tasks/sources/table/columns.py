"""Which columns a part of source `table` reads, and which settings would be ignored there. What the
sections are is `settings`.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from judgelake.schemas.values import CHOICES, STYLES, TASKS
from judgelake.tasks.sources.readers.record_paths import Kind
from judgelake.tasks.sources.table.values import PATTERN, Value, is_number, need

_LISTS: Mapping[str, Kind] = {
    "references": "texts",
    "levels": "texts",
    "labels": "texts",
    "answers": "texts",
    "images": "elements",
    "regions": "elements",
}

GIVES_ITEMS = ("prompt", "references", "images")
"""Columns of which one makes a part give items."""
_OF_ITEMS = ("task", "regions", "category", "split", "cluster")
_OF_ANSWERS = ("answer_id", "model", "style", "sample")
_ABOUT_ANSWERS = (
    "human_ratings",
    "feedback_preferences",
    "judge_verdicts",
    "metric_scores",
    "failure_labels",
)
_ABOUT_PAIRS = ("preferences", "judge_duels")
_ABOUT_ITEMS = (*_ABOUT_ANSWERS, *_ABOUT_PAIRS, "choice_sets", "item_labels", "rubrics")
_ABOUT_OTHERS = ("captions", "models", "benchmark_scores")
_MAPPED = ("rating", "choice", "chosen")
"""Values of a section that its own `values` map."""
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "choice": CHOICES,
    "shown_first": ("a", "b"),
    "style": STYLES,
    "task": TASKS,
}
"""Values that take one of a few texts."""
_NUMBERS = (
    "rating",
    "score",
    "score_a",
    "score_b",
    "preference",
    "sample",
    "llm_parameters_b",
    "vision_encoder_parameters_b",
    "training_loss",
)
"""Values that take numbers."""
_COLUMN_NAMES = ("annotators", "criteria", "scores", "columns")
"""Settings that list columns by their names alone."""
_WORDS = (
    "annotator",
    "labeller",
    "task",
    "model",
    "style",
    "category",
    "split",
    "cluster",
    "set",
    "answer_a",
    "answer_b",
    "shown_first",
)
"""Values for which a suite may mean the text itself where it writes what is taken for a column."""


class Use(NamedTuple):
    """A column that a key of the suite reads; `is_word` where a text may be meant instead."""

    key: str
    path: str
    kind: Kind
    is_word: bool = False


def refuse_ignored(part: Any) -> None:
    """Raises ValueError for what a value says in vain."""
    for key, value in list_values(part):
        root, _, rest = key.partition(".")
        name = rest.rpartition(".")[2] or root
        named = f"{rest}: " if rest else ""
        is_list = name in _LISTS
        need(
            value.element is None or value.split is not None,
            root,
            f"{named}`element` is a piece of a split; expected `split` beside it; add it",
        )
        need(
            is_list or value.split is None or value.element is not None,
            root,
            f"{named}holds one text, and `split` makes a list; expected `element` beside it (0 is "
            f"the first piece); add it",
        )
        need(
            not is_list or value.values is None,
            root,
            f"{named}holds a list, whose texts `values` does not map; remove it",
        )
    for section, settings in list_sections(part):
        for name in _MAPPED:
            inner = getattr(settings, name, None)
            need(
                inner is None or inner.values is None or settings.values is None,
                section,
                f"{name}: has `values` within it and beside it; expected one of them; move all "
                f"texts into one",
            )
    for root, values in _value_maps(part):
        for text in [text for text in values.values() if text is not None]:
            need(
                PATTERN.search(text) is None,
                root,
                f"values: {text!r} is a pattern; expected a text, which stands for itself; take "
                f"the pattern as a value of its own (`from:`), or write the text",
            )


def refuse_wrong_texts(part: Any) -> None:
    """Raises ValueError for a text of the suite, a constant or what `values` map to, that its
    column cannot take.
    """
    for key, value in list_values(part):
        root, _, rest = key.partition(".")
        name = rest.rpartition(".")[2] or root
        if value.constant is not None:
            _expect_text(root, name, rest, value.constant)
        _expect_meanings(root, name, f"{rest}: values", value.values)
    for section, settings in list_sections(part):
        values = getattr(settings, "values", None)
        for name in ("choice", "rating"):
            if hasattr(settings, name):
                _expect_meanings(section, name, "values", values)


def _expect_meanings(
    root: str, name: str, where: str, values: Mapping[str, str | None] | None
) -> None:
    for meaning in (values or {}).values():
        if meaning is not None:
            _expect_text(root, name, where, meaning)


def _expect_text(root: str, name: str, where: str, text: str) -> None:
    """Raises ValueError where the value `name` cannot be this text."""
    allowed = _ALLOWED.get(name)
    if allowed is not None:
        need(
            text in allowed,
            root,
            f"{where}: {text!r}; expected one of {', '.join(allowed)}; correct it",
        )
    if name in _NUMBERS:
        truth = {"true": "1", "false": "0"}.get(text.lower())
        need(
            is_number(text),
            root,
            f"{where}: {text!r} is no number; expected one; write {truth or 'one, such as 1'}",
        )


def refuse_unused(part: Any) -> None:
    """Raises ValueError for settings that are about what the part does not give."""
    gives_items = any(name in part.columns for name in GIVES_ITEMS)
    needs = "expected `prompt`, `references` or `images` among `columns`; add it, or remove this"
    for name in _OF_ITEMS:
        of_items = f"{name}: describes an item, and this part gives none; {needs}"
        need(gives_items or name not in part.columns, "columns", of_items)
    need(
        gives_items or part.task == "vqa",
        "task",
        f"describes items, and this part gives none; {needs}",
    )
    gives_answers = any(answer.text is not None for answer in part.every_answer)
    names_answers = _names_answers(part)
    needs = "expected `answer`, or a section such as `human_ratings`; add it, or remove this"
    for name in _OF_ANSWERS:
        of_answers = f"{name}: describes an answer, of which this part says nothing; {needs}"
        is_used = gives_answers or names_answers
        need(is_used or name not in part.columns, "columns", of_answers)
    need(
        not part.answers or gives_answers or names_answers,
        "answers",
        "have no `text`, and no section is about them; expected either; add it, or remove them",
    )
    _refuse_beside_id(part)
    is_about_items = any(getattr(part, section) for section in _ABOUT_ITEMS)
    uses_id = gives_items or gives_answers or is_about_items
    need(
        uses_id or any(getattr(part, section) for section in _ABOUT_OTHERS),
        "columns",
        "give no row of any table; expected `prompt`, `references`, `images` or `answer` among "
        "them, or a section such as `human_ratings`; add what the file holds",
    )
    need(
        uses_id or "item_id" not in part.columns,
        "columns",
        "item_id: names an item, and nothing in this part is about items; remove it",
    )
    need(
        not part.models or "model" in part.models,
        "models",
        "have no `model`; expected the column of its name; add it",
    )


def _names_answers(part: Any) -> bool:
    """Whether a section is about the answers that a part describes."""
    about_sets = any(choices.answers is None for choices in part.choice_sets)
    about_pairs = any(
        None in (pair.answer_a, pair.answer_b)
        for section in _ABOUT_PAIRS
        for pair in getattr(part, section)
    )
    return about_sets or about_pairs or any(getattr(part, name) for name in _ABOUT_ANSWERS)


def _refuse_beside_id(part: Any) -> None:
    """Raises ValueError for what neither is stored nor becomes a part of an answer's id."""
    for answer in part.every_answer:
        if answer.text is not None:
            continue
        vain = ["style", "sample"] if answer.answer_id is not None or answer.model is None else []
        if answer.answer_id is not None and not part.answers:
            vain.append("model")  # in a list it is what sections call the answer by
        why = "`answer_id` is given" if answer.answer_id is not None else "it has no `model`"
        for name in vain:
            need(
                getattr(answer, name) is None,
                "answers" if part.answers else "columns",
                f"{name}: says nothing about an answer without text of which {why}; remove it",
            )


def _value_maps(part: Any) -> Iterator[tuple[str, Mapping[str, str | None]]]:
    """(top key, value map) of every value map anywhere in the settings."""
    for key, value in list_values(part):
        if value.values:
            yield key.partition(".")[0], value.values
    for section, settings in list_sections(part):
        values = getattr(settings, "values", None)
        if isinstance(values, Mapping):
            yield section, values


def list_sections(part: Any) -> Iterator[tuple[str, Any]]:
    """(key, settings) of every section of a part."""
    for section in dataclasses.fields(part):
        inner = getattr(part, section.name)
        for settings in inner if isinstance(inner, tuple) else ():
            if dataclasses.is_dataclass(settings):
                yield section.name, settings


def holds_list(key: str) -> bool:
    """Whether the value at a key, such as `columns.references`, is a list."""
    return key.rpartition(".")[2] in _LISTS


def section_paths(settings: Any) -> set[str]:
    """The columns that one section reads."""
    values = [getattr(settings, field.name) for field in dataclasses.fields(settings)]
    paths = {path for value in values if isinstance(value, Value) for path in value.paths}
    return paths | {path for name in _COLUMN_NAMES for path in getattr(settings, name, ())}


def find_kinds(uses: Iterable[Use]) -> dict[str, Kind]:
    """Path -> shape; a column that is read as one text somewhere is so everywhere."""
    kinds: dict[str, Kind] = {}
    for use in uses:
        if use.path not in kinds or use.kind == "text":
            kinds[use.path] = use.kind
    return kinds


def list_uses(part: Any) -> Iterator[Use]:
    """Every column that is read."""
    yield from list_mapped(part)
    yield from (Use(key, column, "text") for key, column in part.shaping_columns)
    for name, joined in part.join.items():
        yield from (Use(f"join.{name}.keys", column, "text") for column in joined.keys)


def list_mapped(part: Any) -> Iterator[Use]:
    """Every column that a value anywhere in the settings reads, or a setting by its name alone."""
    for key, value in list_values(part):
        name = key.rpartition(".")[2]
        kind = "text" if value.pattern else _LISTS.get(name, "text")
        is_word = name in _WORDS and len(value.columns) == 1
        yield from (Use(key, path, kind, is_word) for path in value.paths)
    for section, settings in list_sections(part):
        for name in _COLUMN_NAMES:
            columns = getattr(settings, name, ())
            yield from (Use(f"{section}.{name}", path, "text") for path in columns)


def list_values(settings: Any, section: str = "") -> Iterator[tuple[str, Value]]:
    """(keys from the top, value) of every value anywhere in the settings."""
    for part in dataclasses.fields(settings):
        inner, key = getattr(settings, part.name), f"{section}{part.name}"
        if part.name == "parts":
            continue
        if isinstance(inner, Value):
            yield key, inner
        elif isinstance(inner, Mapping):
            yield from (
                (f"{key}.{name}", value)
                for name, value in inner.items()
                if isinstance(value, Value)
            )
        elif isinstance(inner, tuple):
            for value in inner:
                if dataclasses.is_dataclass(value):
                    yield from list_values(value, f"{key}.")
