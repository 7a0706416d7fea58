"""The checks of `sql/checks` over a lake: which find rows that are wrong, and how many. The result
is kept and used again while no part file changes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.storage import LakePath, read_file, write_whole
from judgelake.tasks.warehouse.catalog import describe_check
from judgelake.tasks.warehouse.views import check_texts
from judgelake.tasks.warehouse.warehouse import open_warehouse, run_sql, select_frame, snapshot_of

_UNCHECKED = frozenset({"runs"})
"""Written by every run, also by one that has nothing to do."""


class Finding(NamedTuple):
    """A check that found `n` wrong rows: the view that shows them, what should hold; a warning
    fails no run.
    """

    view: str
    n: int
    says: str
    warns: bool


def check_lake(lake: Lake, connection: duckdb.DuckDBPyConnection) -> list[Finding]:
    """What the checks find in the lake; `connection` is a warehouse over a snapshot of it."""
    made_from = _name_parts(snapshot_of(connection))
    kept = _read_kept(_kept_file(lake), made_from)
    if kept is not None:
        return kept
    findings = run_checks(connection)
    write_whole(
        _kept_file(lake), json.dumps({"made_from": made_from, "findings": findings}).encode()
    )
    return findings


def run_checks(connection: duckdb.DuckDBPyConnection) -> list[Finding]:
    """The checks that find something."""
    counts = {
        name: run_sql(connection, f"select count(*) from {name}", name).fetchall()
        for name in check_texts()
    }
    return [
        Finding(name, n, *describe_check(check_texts()[name]))
        for name, [(n,)] in counts.items()
        if n
    ]


def _kept_file(lake: Lake) -> LakePath:
    return lake.root / "checks.json"


def _read_kept(file: LakePath, made_from: str) -> list[Finding] | None:
    """The result of the last time, where its file is readable and the lake is still the same."""
    try:
        kept = json.loads(read_file(file) or b"null")
        return (
            [Finding(*finding) for finding in kept["findings"]]
            if kept["made_from"] == made_from
            else None
        )
    except (LakeError, ValueError, KeyError, TypeError):
        return None


def _name_parts(snapshot: Snapshot) -> str:
    """A digest of all that is checked: the names of part files hold their digests."""
    names: Sequence[str] = [name for name in TABLES if name not in _UNCHECKED]
    parts = [part for of_one in snapshot.list_parts(*names).values() for part in of_one]
    return digest_json([check_texts(), parts])


# The first `raw_` or `stg_` view that a check names is the table that its rows are of.
_READS = re.compile(r"\b(?:raw|stg)_(\w+)")
_ABOUT = {"chk_digest_of_other_content": "answers"}
"""The table of the rows that a check finds, where it is not the first that the check reads and the
rows do not say it.
"""
# files that are named for a check; more are left out
_MOST_FILES = 20


class WrongRows(NamedTuple):
    """A part file (or a table, where it is not known) with rows that a check finds; a warning fails
    no run.
    """

    file: str
    what: str
    warns: bool


def check_rows(lake: Lake) -> Iterator[WrongRows]:
    """Contradictions between the lake's rows; every part file must be readable."""
    with open_warehouse(lake, lazy=True) as connection:
        for finding in run_checks(connection):
            rows = "1 row" if finding.n == 1 else f"{finding.n:,} rows"
            for table in _list_tables(connection, finding.view):
                files = _find_files(connection, lake, finding.view, table)
                what = (
                    f"{rows} against: {finding.says}; see: judgelake sql 'select * from "
                    f"{finding.view}'"
                )
                for file in files or [f"{table}/"]:
                    yield WrongRows(file, what, finding.warns)


def _list_tables(connection: duckdb.DuckDBPyConnection, view: str) -> list[str]:
    """The tables whose rows a check found."""
    if "table_name" in _list_columns(connection, view):
        rows = select_frame(
            connection, f"select distinct table_name from {view} order by table_name", view
        )
        return [str(name) for name in rows["table_name"]]
    if view in _ABOUT:
        return [_ABOUT[view]]
    return [name for name in _READS.findall(check_texts()[view]) if name in TABLES][:1]


def _list_columns(connection: duckdb.DuckDBPyConnection, view: str) -> list[str]:
    return select_frame(connection, f"select * from {view} limit 0", view).columns


def _find_files(
    connection: duckdb.DuckDBPyConnection, lake: Lake, view: str, table: str
) -> list[str]:
    """The part files with rows that have, in every column that both have, the values of a row that
    the check found.
    """
    own = TABLES[table].polars_schema
    shared = [
        name for name in _list_columns(connection, view) if name in own and own[name] != pl.Float64
    ]
    alike = [f"found.{name} is not distinct from part.{name}" for name in shared]
    if "table_name" in _list_columns(connection, view):
        alike.append(f"found.table_name = '{table}'")  # a name of TABLES
    if "ingest_id" in own:
        alike.append("part.ingest_id in (select ingest_id from stg_ingests)")
    options = (
        "filename = true, hive_partitioning = true, hive_types_autocast = false, "
        "union_by_name = true"
    )
    text = (
        f"select distinct part.filename from read_parquet(getvariable('parts_{table}'), "
        f"{options}) as part "
    )
    text += f"where exists (select 1 from {view} as found where "
    text += f"{' and '.join(alike)}) order by part.filename limit {_MOST_FILES}"
    start = len(lake.mirror.as_posix()) + 1
    return [str(name)[start:] for name in select_frame(connection, text, view)["filename"]]
