"""The list of a lake's part files, by which a file that is missing can be named: `parts.json`, written anew when a run ends.

A part that was written since, by a run that was killed, is not in it: the next run's end adds it. Looking for damage is
`tasks.lake_check`.
"""

import json
from collections.abc import Iterable

from schemas.tables import TABLES
from tasks.storage import LakePath, read_file, write_whole

FILE = "parts.json"


def record_parts(root: LakePath, parts: Iterable[str]) -> None:
    """Keep the names (relative to the root) of the part files that readers read now; what lies in no table's folder is left out."""
    names = sorted(name for name in parts if name.partition("/")[0] in TABLES)
    write_whole(root / FILE, json.dumps({"parts": names}, indent=0).encode())


def read_recorded(root: LakePath) -> frozenset[str] | None:
    """The names that were kept last; None where none were, or they cannot be read."""
    data = read_file(root / FILE)
    try:
        return None if data is None else frozenset(map(str, json.loads(data)["parts"]))
    except (ValueError, KeyError, TypeError):
        return None
