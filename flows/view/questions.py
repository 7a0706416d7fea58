"""Questions in SQL that the lake's page asks: read-only, each of the lake as it is then."""

import io
import json
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import duckdb

from judgelake.flows.sql_answers import select_first, write_answer
from judgelake.tasks.errors import QueryError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse.catalog import list_all, list_recipes
from judgelake.tasks.warehouse.warehouse import open_warehouse

MOST_ROWS = 1000
"""The most rows that a page shows."""
FORMATS = ("csv", "json", "parquet")


@dataclass
class SqlQuestion:
    """One statement, the values of its `$options`, and the file that is wanted (None: rows for the
    page).
    """

    query: str
    options: Mapping[str, str | None] = field(default_factory=dict)
    format: str | None = None
    _connection: duckdb.DuckDBPyConnection | None = None
    _is_stopped: bool = False

    @classmethod
    def read(cls, body: bytes) -> "SqlQuestion":
        """A question from JSON; raises QueryError for one of another form."""
        try:
            asked = json.loads(body)
            json.dumps(asked, ensure_ascii=False).encode()  # half a surrogate pair is no text
            query, options = asked["query"], asked.get("options") or {}
            form = asked.get("format")
            is_good = (
                isinstance(query, str)
                and isinstance(options, dict)
                and all(value is None or isinstance(value, str) for value in options.values())
                and form in (None, *FORMATS)
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            is_good = False
        if not is_good:
            raise QueryError(
                'view: the question is not understood; expected {"query": TEXT, "options": '
                f'{{NAME: TEXT}}, "format": null or one of {", ".join(FORMATS)}}}'
            )
        return cls(query, options, form)

    def open(self, lake: Lake) -> duckdb.DuckDBPyConnection:
        """A connection to the lake as it is now, which `stop` interrupts."""
        self._connection = open_warehouse(lake, sealed=True, lazy=True)
        if self._is_stopped:
            raise QueryError("view: stopped")
        return self._connection

    def stop(self) -> None:
        """End the statement, from another thread."""
        self._is_stopped = True
        if self._connection is not None:
            self._connection.interrupt()


def answer_rows(lake: Lake, question: SqlQuestion) -> dict[str, Any]:
    """The first rows, with the columns' names and types and the seconds that it took; raises
    QueryError.
    """
    start = time.monotonic()
    with question.open(lake) as connection:
        first = select_first(connection, question.query, question.options, MOST_ROWS + 1)
    return {
        "columns": first.columns,
        "types": first.types,
        "rows": first.rows[:MOST_ROWS],
        "is_cut": len(first.rows) > MOST_ROWS,
        "notes": first.notes,
        "seconds": round(time.monotonic() - start, 2),
    }


def answer_file(lake: Lake, question: SqlQuestion) -> IO[bytes]:
    """All rows in a temporary file in the format wanted, at its start; raises QueryError."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # the caller's
    out = io.TextIOWrapper(file, encoding="utf-8", newline="")
    with question.open(lake) as connection:
        write_answer(connection, question.query, question.options, question.format or "csv", out)
    out.flush()
    out.detach()
    file.seek(0)
    return file


def list_catalog() -> list[dict[str, Any]]:
    """What can be asked: recipes with their options and SQL, then views and tables."""
    recipes = list_recipes()
    return [
        {
            "kind": line.kind,
            "name": line.name,
            "says": line.says,
            "query": _strip_header(recipes[line.name].text)
            if line.kind == "recipe"
            else f"from {line.name} limit 100",
            "options": {
                name: {"default": option.default, "says": option.says, "choices": option.choices}
                for name, option in recipes[line.name].options.items()
            }
            if line.kind == "recipe"
            else {},
        }
        for line in list_all()
    ]


def _strip_header(text: str) -> str:
    """A recipe's SQL without the comments above it."""
    lines = text.splitlines()
    first = next(place for place, line in enumerate(lines) if not line.startswith("--"))
    return "\n".join(lines[first:]).strip() + "\n"
