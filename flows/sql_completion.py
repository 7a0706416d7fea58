"""What Tab completes at the prompt of `judgelake sql`: tables, columns, functions and keywords in a
statement; commands, recipes, options and their values after a dot.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

import duckdb

from judgelake.flows.sql_formats import FORMATS
from judgelake.tasks.warehouse.catalog import list_layers, list_recipes
from judgelake.tasks.warehouse.warehouse import run_sql

DELIMITERS = " \t\n,()=<>;+*/'\""
"""Characters that end the word which is completed."""
_AFTER_RELATION = re.compile(r"\b(?:from|join|describe|summarize)\s+$", re.IGNORECASE)
_ALIAS = re.compile(r"\b(?:from|join)\s+(\w+)(?:\s+as)?\s+(\w+)", re.IGNORECASE)
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
VALUES: Mapping[str, str] = {
    "benchmark": "select distinct benchmark from stg_items",
    "criterion": "select distinct criterion from core_scores",
    "judge": "select distinct alias from core_judges where judge not like 'metric:%'",
    "metric": "select distinct alias from core_judges where judge like 'metric:%'",
    "model": "select distinct model from stg_answers where model is not null",
    "rater": "select distinct rater from core_choices",
    "run": "select distinct run_id from stg_runs",
    "suite": "select distinct suite from stg_runs",
    "task": "select distinct task from stg_items",
}
"""Option of a recipe -> the values that a lake has for it."""


class Completer:
    """Completes words over one lake; names are read when the first is asked for."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, commands: Iterable[str]) -> None:
        self._connection = connection
        self._commands = sorted(commands)

    def complete(self, before: str, word: str, after: str = "") -> list[str]:
        """What `word` may become where it stands between `before` and `after`, which are all of
        the statement so far.
        """
        if (before + word).lstrip().startswith("."):
            return self._complete_command(before, word)
        if before.count("'") % 2:  # inside of a text
            return []
        if before.endswith('"'):
            names = self.complete(before[:-1], word, after)
            return [
                name.strip('"')
                for name in names
                if name not in self._keywords and not name.endswith("(")
            ]
        if _AFTER_RELATION.search(before):
            return _starting(word, self._relations)
        alias, dot, column = word.rpartition(".")
        if dot:
            relation = {alias: alias, **_find_aliases(f"{before} {after}")}[alias].lower()
            columns = _starting(column, self._columns.get(relation, ()))
            return [f"{alias}.{name}" for name in columns]
        named = {name.lower() for name in re.findall(r"\w+", f"{before} {after}")}
        columns = [name for table in sorted(named) for name in self._columns.get(table, ())]
        if not word:
            return columns
        functions = [f"{name}(" for name in self._functions]
        return _starting(word, [*columns, *self._keywords, *self._relations, *functions])

    def _complete_command(self, before: str, word: str) -> list[str]:
        words = before.split()
        if not words:
            return _starting(word, self._commands)
        match words[0]:
            case ".tables" | ".schema":
                return _starting(word, self._relations)
            case ".mode":
                return _starting(word, [form for form in FORMATS if form != "parquet"])
            case ".recipes":
                return _starting(word, list_recipes())
            case ".recipe" if len(words) == 1:
                return _starting(word, list_recipes())
            case ".recipe":
                return self._complete_option(words, word, is_value=before.endswith("="))
            case ".output":
                return _list_files(word)
        return []

    def _complete_option(self, words: list[str], word: str, *, is_value: bool) -> list[str]:
        recipe = list_recipes().get(words[1])
        if recipe is None:
            return []
        if not is_value:
            return _starting(word, [f"{option}=" for option in recipe.options])
        name = words[-1].removesuffix("=")
        option = recipe.options.get(name)
        return _starting(word, (option.choices if option else ()) or self._values(name))

    def _values(self, option: str) -> list[str]:
        if option not in VALUES:
            return []
        rows = run_sql(self._connection, f"{VALUES[option]} order by 1", "completion")
        values = [value for (value,) in rows.fetchall() if value.isprintable()]
        return [f'"{value}"' if " " in value else value for value in values]

    @cached_property
    def _relations(self) -> list[str]:
        """Names that are there for people; internal ones, which are many, can be typed."""
        return [name for layer in list_layers() for name in layer.names if name[:4] != "stg_"]

    @cached_property
    def _columns(self) -> Mapping[str, list[str]]:
        """Table or view -> its columns, in quotes where SQL needs them."""
        rows = self._connection.execute(
            "select table_name, list(column_name order by column_index) from duckdb_columns() "
            "where not internal group by table_name"
        ).fetchall()
        return {
            table: [
                name if _PLAIN.fullmatch(name) and name not in self._keywords else f'"{name}"'
                for name in names
            ]
            for table, names in rows
        }

    @cached_property
    def _keywords(self) -> list[str]:
        return self._ask(
            "select keyword_name from duckdb_keywords() "
            "where keyword_category in ('reserved', 'type_function')"
        )

    @cached_property
    def _functions(self) -> list[str]:
        return self._ask(
            "select distinct function_name from duckdb_functions() where function_type in "
            "('scalar', 'aggregate', 'macro', 'window', 'table', 'table_macro') and "
            "regexp_full_match(function_name, '[a-z][a-z0-9_]*')"
        )

    def _ask(self, query: str) -> list[str]:
        return [value for (value,) in self._connection.execute(query).fetchall()]


def _find_aliases(statement: str) -> dict[str, str]:
    """Alias -> table, of what follows FROM and JOIN."""
    return {alias: table for table, alias in _ALIAS.findall(statement)}


def _starting(word: str, names: Iterable[str]) -> list[str]:
    """The names that begin like `word`, in any case and in quotes too, in the given order."""
    start = word.lower()
    return [
        name for name in dict.fromkeys(names) if name.lower().removeprefix('"').startswith(start)
    ]


def _list_files(word: str) -> list[str]:
    """Files and folders that a path may become."""
    folder = Path(word).expanduser() if word.endswith("/") else Path(word).expanduser().parent
    head = word[: word.rfind("/") + 1]
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return _starting(word, [f"{head}{entry.name}{'/' * entry.is_dir()}" for entry in entries])
