"""What can be asked of a lake: its tables, the views of `sql/`, the checks, and the recipes of
`sql/adhoc` with their options.

Every file under `sql/` begins with comments `-- <key>: <text>`, which are read here; running a
recipe is its caller's matter.
"""

import functools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import QueryError, nearest, show_controls
from judgelake.tasks.warehouse.staging import derive_grain
from judgelake.tasks.warehouse.views import check_texts, read_folder, view_texts

# `-- <key>: <text>` at the beginning of a SQL file; an option is `option <name> = <default>`.
_KEYED = re.compile(r"-- (grain|question|check|warning|option \w+(?: = [^:]+)?): (.+)")
# `option benchmark` or, with a default, `option below = 0.9`
_OPTION = re.compile(r"option (\w+)(?: = (.+))?")
FORMULA_SIGNS = ("=", "+", "-", "@")
_LISTED_LAYERS = ("rpt_", "core_")


class Option(NamedTuple):
    """What `$name` in a recipe is when nothing is given (None: null), and what it chooses."""

    default: str | None
    says: str


@dataclass(frozen=True)
class Recipe:
    """One of the questions in `sql/adhoc`."""

    name: str
    question: str
    grain: str
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
            values[name] = value
        return values


class CatalogLine(NamedTuple):
    """One line of `judgelake sql --list`."""

    kind: str
    name: str
    says: str
    options: str


@functools.cache
def list_recipes() -> Mapping[str, Recipe]:
    """The recipes of `sql/adhoc` by name."""
    return {name: _read_recipe(name, text) for name, text in read_folder("adhoc").items()}


def find_recipe(name: str) -> Recipe:
    """The recipe called `name`; raises QueryError that names the nearest."""
    recipes = list_recipes()
    if name not in recipes:
        raise QueryError(
            f"sql: there is no recipe {name!r}; {nearest(name, recipes)}; see judgelake sql --list"
        )
    return recipes[name]


def list_all() -> list[CatalogLine]:
    """Tables, views (reports first), checks and recipes, each with its grain, what it checks or the
    question it answers.

    A table's plain name shows its current rows, as its `stg_` view does, which is not listed.
    """
    grains = {name: describe_grain(name) for name in view_texts()}
    tables = [CatalogLine("table", name, grains[f"stg_{name}"], "") for name in TABLES]
    views = [
        CatalogLine("view", name, grains[name], "")
        for layer in _LISTED_LAYERS
        for name in sorted(grains)
        if name.startswith(layer)
    ]
    checks = [
        CatalogLine("check", name, describe_check(text)[0], "")
        for name, text in check_texts().items()
    ]
    recipes = [
        CatalogLine("recipe", recipe.name, recipe.question, _describe_options(recipe))
        for recipe in list_recipes().values()
    ]
    return [*tables, *views, *checks, *recipes]


def describe_grain(view: str) -> str:
    """What one row of a view is, in one sentence; what it says besides stands in its file."""
    header = read_header(view_texts()[view])
    grain = header["grain"] if header else derive_grain(TABLES[view.removeprefix("stg_")])
    return grain.split(". ", maxsplit=1)[0].rstrip(".")


def describe_check(text: str) -> tuple[str, bool]:
    """What a check's SQL says must hold, and whether it only warns."""
    header = read_header(text)
    return (header["warning"], True) if "warning" in header else (header["check"], False)


def read_header(text: str) -> dict[str, str]:
    """The keyed comments at a file's start; a comment without a key goes on with the one before
    it.
    """
    header: dict[str, str] = {}
    for line in text.splitlines():
        if not line.startswith("-- "):
            break
        if keyed := _KEYED.fullmatch(line):
            header[keyed[1]] = keyed[2]
        elif header:
            header[next(reversed(header))] += line.removeprefix("--")
    return header


def _read_recipe(name: str, text: str) -> Recipe:
    header = read_header(text)
    keyed_options = [
        (option, says) for key, says in header.items() if (option := _OPTION.fullmatch(key))
    ]
    options = {option[1]: Option(option[2], says) for option, says in keyed_options}
    return Recipe(name, header["question"], header["grain"], options, text)


def _describe_options(recipe: Recipe) -> str:
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
    return re.sub("[\x7f-\x9f]", lambda control: f"\\u{ord(control[0]):04x}", text)


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
