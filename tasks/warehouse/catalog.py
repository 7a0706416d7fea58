"""What can be asked of a lake: its tables, the views of `sql/`, the checks, and the recipes of
`sql/adhoc` with their options.

Running a recipe is its caller's matter.
"""

import functools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import BIDI, QueryError, nearest, show_controls
from judgelake.tasks.warehouse.views import (
    check_texts,
    read_folder,
    read_grain,
    read_header,
    view_texts,
)

# `option benchmark` or, with a default, `option below = 0.9`
_OPTION = re.compile(r"option (\w+)(?: = (.+))?")
FORMULA_SIGNS = ("=", "+", "-", "@")
# `mean, lave or each` at the end of what an option chooses
_CHOICES = re.compile(r"(?:.*: )?(\w+(?:, \w+)* or \w+)")
FIRST_RECIPES = (
    "closest_to_people",
    "closest_by_group",
    "largest_differences",
    "agreement_with_people",
    "rankings_side_by_side",
    "grading_errors",
    "failure_modes",
    "criteria_matrix",
    "best_of_n",
    "length_and_score",
)
"""The recipes that are listed first: what LAVE, Prometheus-Vision, CHIRP and HarmonicEval ask."""


class Option(NamedTuple):
    """What `$name` in a recipe is when nothing is given (None: null), and what it chooses."""

    default: str | None
    says: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that its sentence ends with; none where any value is taken."""
        choices = _CHOICES.fullmatch(self.says) if self.default else None
        return tuple(re.split(", | or ", choices[1])) if choices else ()


@dataclass(frozen=True)
class Recipe:
    """One of the questions in `sql/adhoc`; `about` are the columns that answer it, which a table
    never folds.
    """

    name: str
    question: str
    grain: str
    about: tuple[str, ...]
    options: Mapping[str, Option]
    text: str

    def fill_options(self, given: Iterable[str]) -> dict[str, str | None]:
        """The value of every option, those `given` as `name=value` in place of the defaults."""
        values = {name: option.default for name, option in self.options.items()}
        for pair in given:
            name, equals, value = pair.partition("=")
            if not equals:
                raise QueryError(
                    f"sql: --set {pair!r} gives no value; expected name=value; write --set "
                    f"{name}=..."
                )
            if name not in values:
                raise QueryError(
                    f"sql: the recipe {self.name} has no option {name!r}; "
                    f"{nearest(name, values)}; see judgelake sql --list"
                )
            choices = self.options[name].choices
            if choices and value not in choices:
                raise QueryError(
                    f"sql: the recipe {self.name} has no {name} {value!r}; "
                    f"{nearest(value, choices)}; see judgelake sql --list"
                )
            values[name] = value
        return values


class CatalogLine(NamedTuple):
    """One line of `judgelake sql --list`."""

    kind: str
    name: str
    says: str
    options: str


class Layer(NamedTuple):
    """Tables or views that are listed together."""

    title: str
    names: tuple[str, ...]
    is_first: bool = False


@functools.cache
def list_recipes() -> Mapping[str, Recipe]:
    """The recipes of `sql/adhoc`: the FIRST_RECIPES, then the others by name."""
    texts = read_folder("adhoc")
    return {
        name: _read_recipe(name, texts[name]) for name in dict.fromkeys((*FIRST_RECIPES, *texts))
    }


def list_layers() -> list[Layer]:
    """All tables and views in the order in which people are shown them: views without a prefix,
    which are made to be asked; tables; reports; checks; internals last.
    """
    views = sorted({*view_texts(), *check_texts()} - set(TABLES))
    prefixes = ("rpt_", "chk_", "core_", "stg_")
    of = {prefix: tuple(name for name in views if name.startswith(prefix)) for prefix in prefixes}
    wide = {name for name in views if not name.startswith(prefixes)} | {*read_folder("views")}
    return [
        Layer("views to begin with", tuple(sorted(wide)), is_first=True),
        Layer("tables", tuple(name for name in TABLES if name not in wide)),
        Layer("reports", of["rpt_"]),
        Layer("checks (rows that must not be there)", of["chk_"]),
        Layer("core (what reports are computed from)", of["core_"]),
        Layer("staging (current rows of each table)", of["stg_"]),
    ]


def describe(name: str) -> str:
    """What one row of a table or view is, or what a check holds, in one sentence; what it says
    besides stands in its file.
    """
    if name in check_texts():
        return describe_check(check_texts()[name])[0]
    view = name if name in view_texts() else f"stg_{name}"
    return read_grain(view).split(". ", maxsplit=1)[0].rstrip(".")


def find_recipe(name: str) -> Recipe:
    """The recipe called `name`; raises QueryError that names the nearest."""
    recipes = list_recipes()
    if name not in recipes:
        raise QueryError(
            f"sql: there is no recipe {name!r}; {nearest(name, recipes)}; see judgelake sql --list"
        )
    return recipes[name]


def list_all() -> list[CatalogLine]:
    """Recipes, tables, views and checks in the order of use, each with the question it answers, its
    grain or what it checks.

    A table's plain name shows its current rows, as its `stg_` view does, which is not listed.
    """
    lines = [
        CatalogLine("recipe", recipe.name, recipe.question, describe_options(recipe))
        for recipe in list_recipes().values()
    ]
    for layer in list_layers():
        lines += [
            CatalogLine(_name_kind(name), name, describe(name), "")
            for name in layer.names
            if not name.startswith("stg_")
        ]
    return lines


def _name_kind(name: str) -> str:
    return "table" if name in TABLES else "check" if name in check_texts() else "view"


def describe_check(text: str) -> tuple[str, bool]:
    """What a check's SQL says must hold, and whether it only warns."""
    header = read_header(text)
    return (header["warning"], True) if "warning" in header else (header["check"], False)


def _read_recipe(name: str, text: str) -> Recipe:
    header = read_header(text)
    keyed_options = [
        (option, says) for key, says in header.items() if (option := _OPTION.fullmatch(key))
    ]
    options = {option[1]: Option(option[2], says) for option, says in keyed_options}
    about = tuple(header["about"].split(", "))
    return Recipe(name, header["question"], header["grain"], about, options, text)


def describe_options(recipe: Recipe) -> str:
    """A recipe's options with their defaults, as `--set` takes them."""
    return ", ".join(f"{name}={option.default or ''}" for name, option in recipe.options.items())


def plain_cell(value: object) -> object:
    """A cell as text a spreadsheet can hold: nothing for null, nested values as JSON, control
    characters shown.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return show_controls(value)
    return show_json(value) if isinstance(value, list | dict | tuple) else value


def show_json(value: object, indent: int | None = None) -> str:
    """A value as JSON without control characters; numbers that are not finite are null."""
    text = json.dumps(keep_finite(value), ensure_ascii=False, indent=indent, default=str)
    # json escapes those below U+0020 alone
    return re.sub(f"[\x7f-\x9f{BIDI}]", lambda control: f"\\u{ord(control[0]):04x}", text)


def quote_formula(value: object) -> object:
    """A text that a spreadsheet would take for a formula with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value


def keep_finite(value: object) -> object:
    """A value that JSON can hold: what is not a finite number is null, keys are text."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list() | tuple():
            return [keep_finite(part) for part in value]
        case dict():
            return {str(key): keep_finite(part) for key, part in value.items()}
    return value


def markdown_line(cells: Sequence[object]) -> str:
    """One row of a Markdown table, whatever its cells hold."""
    escaped = (str(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(' '.join(cell.splitlines()) for cell in escaped)} |\n"
