"""The views `stg_<table>` that follow from a table's declaration: its current rows, all columns.

A table of an ingest has the rows of current ingests, a table of a report those of the suite's last
report, a table of attempts one row a case. What a row is stands with the table's contract. Views
that decide more (states, computed columns, ten million rows) are files in `sql/staging`.
"""

from collections.abc import Callable, Mapping

from judgelake.schemas.tables import TABLES, Table

_LAST = ("source_file", "locator")
_ATTEMPT = "judged_at"
"""The part of a key that names the attempt, not the case."""


def derive_views() -> Mapping[str, str]:
    """View name -> SQL, for every table whose current rows follow from who writes it and that has
    no file.
    """
    return {
        f"stg_{table.name}": _SELECTS[table.origin](table)
        for table in TABLES.values()
        if table.origin in _SELECTS
    }


def derive_grain(table: Table) -> str:
    """What one row of such a view is."""
    if table.origin == "attempt":
        case = table.grain.removeprefix("attempt at ").removeprefix("a ").removeprefix("an ")
        return f"one row per {case}: `ok` first, else the latest attempt"
    if table.origin == "ingest":
        return f"one row per {table.grain}, of current ingests"
    return f"one row per suite x {table.grain.removeprefix('suite x ')}: the last report's"


def _of_ingest(table: Table) -> str:
    left_out = ", ".join(("ingest_id", *_LAST, *_quote_keys(table)))
    return f"""select {", ".join(_quote_keys(table))}, * exclude ({left_out}), {", ".join(_LAST)}
from raw_{table.name} as given
semi join stg_ingests as current
    on given.benchmark = current.benchmark and given.ingest_id = current.ingest_id
"""


def _of_report(table: Table) -> str:
    keys = ", ".join(_quote_keys(table))
    return f"""select {keys}, * exclude ({keys})
from raw_{table.name}
qualify rank() over (partition by suite order by reported_at desc) = 1
"""


def _of_attempts(table: Table) -> str:
    case = ", ".join(key for key in _quote_keys(table) if key != f'"{_ATTEMPT}"')
    return f"""select {case}, * exclude ({case})
from raw_{table.name}
qualify row_number() over (partition by {case} order by (status = 'ok') desc, {_ATTEMPT} desc) = 1
"""


def _quote_keys(table: Table) -> list[str]:
    """Partitions and keys, which come first; the rest follows in the contract's order, where a row
    came from last.
    """
    return [f'"{name}"' for name in dict.fromkeys((*table.partitions, *table.keys))]


_SELECTS: Mapping[str, Callable[[Table], str]] = {
    "ingest": _of_ingest,
    "attempt": _of_attempts,
    "report": _of_report,
    "collection": _of_report,
}
