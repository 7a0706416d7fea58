"""Which SQL only reads: what `judgelake sql` and `Reader.sql` let through, and nothing else.

A statement's type is no proof: DuckDB calls `with x as (copy ...) select 1` a SELECT. Its parsed
form is: every query node in it must be of a kind that reads, and every table function one that is
known to read. There is no second wall, since DuckDB's `allowed_directories` permits writing in
them: who must not change a lake at all needs a user without the right to write it.

A PIVOT has no parsed form, and DuckDB runs a part of it to explain it. It is judged by its words:
none that begins a writing statement may stand where a statement can begin.
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator

import duckdb

from judgelake.tasks.errors import QueryError

_READING_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_READING_FUNCTIONS = re.compile(
    r"(?:duckdb|pragma|parquet)_\w+|read_(?:csv|json|ndjson|parquet|single)\w*|read_(?:blob|text)|"
    r"unnest|range|generate_series|repeat(?:_row)?|glob|sniff_csv|json_each|json_tree|query_table|"
    r"summary|histogram(?:_values)?|test_\w+|icu_calendar_names|pg_timezone_names"
)
"""Table functions that read. The others run SQL that they are given as a value, call a function
whose name they are given, follow addresses in memory, or change the database.
"""
_CHANGING_FUNCTIONS = frozenset({"write_log", "setval", "nextval"})
_PRAGMAS = frozenset(
    {"version", "show_tables", "show", "table_info", "storage_info", "database_list"}
    | {"database_size", "functions", "collations", "platform", "user_agent"}
)
_WRITING_WORDS = frozenset(
    {"alter", "analyze", "attach", "call", "checkpoint", "copy", "create", "deallocate", "delete"}
    | {"detach", "drop", "execute", "export", "import", "insert", "install", "load", "merge"}
    | {"pragma", "prepare", "reset", "set", "truncate", "update", "use", "vacuum"}
)
_BEFORE_STATEMENTS = frozenset({"", "(", ")", ";", "explain", "analyze"})
"""What a statement or a part of one can follow."""
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
        wrong = _find_writing_word(query)
    elif kind == "PRAGMA":
        name = next((word for _, word, _ in _list_words(query) if word != "pragma"), "")
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
    return find_changing(str(part.get("function_name", "")) for part in _walk(parsed))


def _find_writing_word(query: str) -> str | None:
    """The first word of a PIVOT that may write, or the first function."""
    words = list(_list_words(query))
    for before, word, _ in words:
        if word in _WRITING_WORDS and before in _BEFORE_STATEMENTS:
            return word
    return find_changing(word.strip('"') for _, word, after in words if after == "(")


def find_changing(functions: Iterable[str]) -> str | None:
    """The first of these functions that may do more than read."""
    for name in map(str.lower, functions):
        is_known_to_read = _READING_FUNCTIONS.fullmatch(name) is not None
        if name in _CHANGING_FUNCTIONS or (
            name in _list_table_functions() and not is_known_to_read
        ):
            return f"{name}()"
    return None


@functools.cache
def _list_table_functions() -> frozenset[str]:
    """The names of all functions that give rows, or run as a pragma, in a new database."""
    with duckdb.connect() as connection:
        found = connection.execute(
            "select function_name from duckdb_functions() "
            "where function_type in ('table', 'table_macro', 'pragma')"
        ).fetchall()
    return frozenset(name.lower() for (name,) in found)


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


def _list_words(query: str) -> Iterator[tuple[str, str, str]]:
    """Each keyword and name of a statement in lower case, between what comes before and after it;
    before the first argument of a call, `f(`, comes "call". String constants and comments are left
    out; a quoted name keeps its quotes.
    """
    text, tokens = query.encode(), duckdb.tokenize(query)  # places count bytes
    ends = [place for place, _ in tokens[1:]] + [len(text)]
    parts = [
        (text[place:end].decode().strip().lower(), kind)
        for (place, kind), end in zip(tokens, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]
    words = ["", *(word for word, _ in parts), ""]
    kinds = [None, None, *(kind for _, kind in parts)]
    for at, (word, kind) in enumerate(parts):
        if kind in (duckdb.token_type.keyword, duckdb.token_type.identifier):
            is_in_call = words[at] == "(" and kinds[at] == duckdb.token_type.identifier
            yield "call" if is_in_call else words[at], word, words[at + 2]
