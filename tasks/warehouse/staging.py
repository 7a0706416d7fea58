"""The views `stg_<table>` that follow from a table's declaration: its current rows, all columns.

A table of an ingest has the rows of current ingests, a table of a report those of the suite's last
report. Views that decide more (attempts, states, computed columns) are files in `sql/staging`.
"""

from collections.abc import Mapping

from judgelake.schemas.tables import TABLES, Table

_LAST = ("source_file", "locator")


def derive_views() -> Mapping[str, str]:
    """View name -> SQL, for every table whose current rows follow from who writes it."""
    return {
        f"stg_{table.name}": _of_ingest(table) if table.origin == "ingest" else _of_report(table)
        for table in TABLES.values()
        if table.origin != "run"
    }


def _of_ingest(table: Table) -> str:
    return f"""-- grain: one row per {table.grain}, of current ingests
select {_list_columns(table)}
from raw_{table.name} as given
semi join stg_ingests as current
    on given.benchmark = current.benchmark and given.ingest_id = current.ingest_id
"""


def _of_report(table: Table) -> str:
    return f"""-- grain: one row per suite x {table.grain}: the last report's
select {_list_columns(table)}
from raw_{table.name}
qualify rank() over (partition by suite order by reported_at desc) = 1
"""


def _list_columns(table: Table) -> str:
    """Partitions and keys first, the rest in the contract's order, where a row came from last."""
    own = [name for name in table.polars_schema if name not in _LAST]
    names = dict.fromkeys((*table.partitions, *table.keys, *own, *_LAST))
    return ", ".join(
        f'"{name}"' for name in names if name in table.polars_schema and name != "ingest_id"
    )
