"""What a lake of an older format needs to become one of today's, a step a format. Opening a lake is `tasks.lake`.

Format 2: part files that others replace are named under `_retired/` (`tasks.retiring`), and a program of format 1 would count their rows
twice; `parts.json` names the part files (`tasks.manifest`). Format 3: digests of contents and contexts have 16 digits instead of 64, which
takes a third of the bytes of a lake of verdicts (`tasks.shortening`). New columns need no step: they are only added, nullable.
"""

import json
from collections.abc import Callable, Mapping

from tasks.manifest import record_parts
from tasks.storage import LakePath, list_files, write_whole

MARKER = "lake.json"


def write_marker(root: LakePath, number: int) -> None:
    """Say that the lake has this format."""
    write_whole(root / MARKER, json.dumps({"format": number}).encode())


def migrate(root: LakePath, found: int, wanted: int) -> None:
    """Bring a lake from format `found` to `wanted`; killed between two writes, the next call goes on.

    Every step may run again over its own result: the marker is raised only after it.
    """
    for number in range(found, wanted):
        _STEPS[number](root)
        write_marker(root, number + 1)


def _name_parts(root: LakePath) -> None:
    start = len(root.as_posix().rstrip("/")) + 1
    record_parts(root, [path.as_posix()[start:] for path in list_files(root, ".parquet")])


def _shorten_digests(root: LakePath) -> None:
    from tasks.lake import Lake  # these stand on the opening of lakes, which stands on this module
    from tasks.shortening import shorten_digests

    shorten_digests(Lake(root))


_STEPS: Mapping[int, Callable[[LakePath], None]] = {1: _name_parts, 2: _shorten_digests}
