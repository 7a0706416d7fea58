"""The checks of `sql/checks` over a lake: which find rows that are wrong, and how many. Told again, not computed, while no part file changes."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import duckdb

from schemas.tables import TABLES
from tasks.digests import digest_json
from tasks.errors import LakeError
from tasks.lake import Lake, LakePath, write_whole
from tasks.reports.catalog import describe_check
from tasks.reports.warehouse import check_texts, create_checks, select_frame
from tasks.storage import read_file

_UNCHECKED = frozenset({"runs"})
"""Written by every run, also by one that has nothing to do."""


class Finding(NamedTuple):
    """A check that found `n` wrong rows: the view that shows them, what should hold; a warning fails no run."""

    view: str
    n: int
    says: str
    warns: bool


def check_lake(lake: Lake, connection: duckdb.DuckDBPyConnection) -> list[Finding]:
    """What the checks find in the lake; `connection` is a warehouse over it as it is now, without the checks' views."""
    made_from = _name_parts(lake)
    kept = _read_kept(_kept_file(lake), made_from)
    if kept is not None:
        return kept
    create_checks(connection)
    findings = run_checks(connection)
    write_whole(_kept_file(lake), json.dumps({"made_from": made_from, "findings": findings}).encode())
    return findings


def run_checks(connection: duckdb.DuckDBPyConnection) -> list[Finding]:
    """The checks that find something, in a warehouse that has their views."""
    counts = {name: select_frame(connection, f"select count(*) from {name}", name).item() for name in check_texts()}
    return [Finding(name, n, *describe_check(check_texts()[name])) for name, n in counts.items() if n]


def _kept_file(lake: Lake) -> LakePath:
    return lake.root / "checks.json"


def _read_kept(file: LakePath, made_from: str) -> list[Finding] | None:
    """What was found last time, where the file can be read and the lake is still the same."""
    try:
        kept = json.loads(read_file(file) or b"null")
        return [Finding(*finding) for finding in kept["findings"]] if kept["made_from"] == made_from else None
    except (LakeError, ValueError, KeyError, TypeError):
        return None


def _name_parts(lake: Lake) -> str:
    """Names all that is checked: part files hold their digest in their names."""
    names: Sequence[str] = [name for name in TABLES if name not in _UNCHECKED]
    return digest_json([check_texts(), [part for parts in lake.list_parts(*names).values() for part in parts]])
