"""Which SQL only reads: what `judgelake sql` and `Reader.sql` let through, and nothing else.

A statement's type is no proof: DuckDB calls `with x as (copy ...) select 1` a SELECT. Its parsed
form is: every query node in it must be of a kind that reads. There is no second wall, since
DuckDB's `allowed_directories` permits writing in them: who must not change a lake at all needs a
user without the right to write it.
"""

import json
import re
from collections.abc import Iterator

import duckdb

from judgelake.tasks.errors import QueryError

_READING_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_RUNS_TEXT = frozenset({"query", "json_execute_serialized_sql"})
"""Functions that run SQL that they are given as a value, which nobody parsed here."""
_PRAGMAS = frozenset(
    {"version", "show_tables", "show", "table_info", "storage_info", "database_list"}
    | {"database_size", "functions", "collations", "platform", "user_agent"}
)
_WRITING_WORDS = frozenset(
    {"alter", "analyze", "attach", "call", "checkpoint", "copy", "create", "deallocate", "delete"}
    | {"detach", "drop", "execute", "export", "import", "insert", "install", "into", "load"}
    | {"merge", "pragma", "prepare", "reset", "set", "truncate", "update", "use", "vacuum"}
)
# `explain`, `explain analyze` or `explain (options)`, after spaces and comments.
_EXPLAIN = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\b(?:\s+analyze\b|\s*\([^()]*\))?",
    re.IGNORECASE | re.DOTALL,
)


def refuse_writing(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> None:
    """Raise QueryError for a statement that does or may do more than read."""
    kind, query = statement.type.name, statement.query
    if kind == "EXPLAIN":  # `explain analyze copy ...` writes
        explained = connection.extract_statements(_EXPLAIN.sub("", query, count=1))
        if len(explained) == 1:
            kind, query = explained[0].type.name, explained[0].query
    if kind == "SELECT":
        wrong = _find_writing(connection, query)
    elif kind == "MULTI":  # PIVOT, whose columns are found by a first statement
        wrong = next((word for word in _list_words(query) if word in _WRITING_WORDS), None)
        wrong = wrong or _find_text_run(_list_words(query))
    elif kind == "PRAGMA":
        name = next((word for word in _list_words(query) if word != "pragma"), "")
        wrong = None if name in _PRAGMAS else f"pragma {name}"
    else:
        wrong = kind.lower()
    if wrong is not None:
        raise QueryError(
            f"sql: {wrong} statements are not allowed; expected SELECT; the lake is read-only"
        )


def _find_writing(connection: duckdb.DuckDBPyConnection, query: str) -> str | None:
    """The first part of a SELECT that may write; None where all of it reads."""
    text = "select json_serialize_sql($query)"
    ((serialised,),) = connection.execute(text, {"query": query}).fetchall()
    parsed = json.loads(serialised)
    if parsed["error"]:
        return "other"
    for part in _walk(parsed):
        kind = str(part.get("type", ""))
        if kind.endswith("_NODE") and kind not in _READING_NODES:
            return kind.removesuffix("_NODE").removesuffix("_QUERY").lower()
    names = (str(part.get("function_name", "")).lower() for part in _walk(parsed))
    return _find_text_run(names)


def _find_text_run(names: Iterator[str]) -> str | None:
    return next((f"{name}()" for name in names if name in _RUNS_TEXT), None)


def _walk(parsed: object) -> Iterator[dict[str, object]]:
    """Every object of a parsed statement, however deep."""
    left = [parsed]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += part.values()
        elif isinstance(part, list):
            left += part


def _list_words(query: str) -> Iterator[str]:
    """Keywords and names of a statement in lower case, without quotes; quoted keywords are names
    and are left out, string constants and comments too.
    """
    text, tokens = query.encode(), duckdb.tokenize(query)  # places count bytes
    ends = [place for place, _ in tokens[1:]] + [len(text)]
    for (place, kind), end in zip(tokens, ends, strict=True):
        if kind in (duckdb.token_type.keyword, duckdb.token_type.identifier):
            word = text[place:end].decode().strip()
            yield word.strip('"').lower() if word.strip('"').lower() in _RUNS_TEXT else word.lower()
