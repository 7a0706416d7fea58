"""Part files that are replaced: a sidecar under `_retired/` names them, readers leave them out at once, and they are deleted an hour later.

A compaction writes its sidecar first and its new files then: until all of those are there, they are what readers leave out. Merging
files is `tasks.compaction`.
"""

import contextlib
import json
import time
import uuid
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.errors import LakeError
from tasks.manifest import read_recorded, record_parts
from tasks.storage import LakePath, list_files, read_file, remove_file, write_whole

if TYPE_CHECKING:
    from tasks.lake import Lake

FOLDER = "_retired"
_AT_ONCE = 16
GRACE_S = 3600.0
KILLED_AFTER_S = 86_400.0
"""A compaction whose new files are not all there after a day is taken for a killed one, a temporary file for a dead writer's."""

_read: dict[str, "Retired"] = {}  # a sidecar is never changed, and its name is used once


@dataclass(frozen=True)
class Retired:
    """One sidecar: part files, relative to the lake's root, that count no more once all of `replacements` are there."""

    sidecar: LakePath
    files: frozenset[str]
    replacements: frozenset[str]
    retired_at: datetime

    def hides(self, listed: Collection[str]) -> frozenset[str]:
        """What readers leave out where the files `listed` are there: the old ones, or those new ones that are not complete yet."""
        return self.files if self.replacements.issubset(listed) else self.replacements


def retire(lake: "Lake", parts: Sequence[LakePath], replacements: Sequence[LakePath] = ()) -> LakePath:
    """Readers leave `parts` out from the moment that all of `replacements` are there: at once, where there are none to wait for.

    Returns the sidecar. Rows that replace others are written before (they count beside the old ones for a moment) or, where that
    matters, after it, under the names given here.
    """
    told = {
        "files": sorted(name_part(lake, part) for part in parts),
        "replacements": sorted(name_part(lake, part) for part in replacements),
        "retired_at": datetime.now(UTC).isoformat(),
    }
    sidecar = lake.root / FOLDER / f"{uuid.uuid4().hex}.json"
    write_whole(sidecar, json.dumps(told).encode())
    return sidecar


def name_part(lake: "Lake", part: LakePath) -> str:
    """The path of a part file relative to the lake's root, with slashes."""
    return part.as_posix().removeprefix(f"{lake.root.as_posix()}/")


def list_retired(lake: "Lake", listed: Collection[str]) -> frozenset[str]:
    """Which part files readers leave out, given those that they have `listed` (relative to the root; of one table or of all).

    Ask after listing, never before: a sidecar is older than the new files that it names, so who has seen those finds it here, and who
    has not seen all of them reads the old ones.
    """
    names = listed if isinstance(listed, (set, frozenset)) else set(listed)
    return frozenset(hidden for one in list_sidecars(lake) for hidden in one.hides(names))


def remove_retired(lake: "Lake", older_than_s: float = GRACE_S, killed_after_s: float = KILLED_AFTER_S) -> int:
    """Delete what was retired longer ago than `older_than_s`, and what killed compactions and writers left; returns how many part files.

    Before that the names of the parts that stay are kept, so that none of them can go missing unseen (`tasks.manifest`);
    those that are missing already stay among them.
    A sidecar goes only when its files have been gone for as long again, for a reader may have listed them before.
    """
    there = {name_part(lake, path) for path in list_files(lake.root, ".parquet")}
    sidecars = sorted(list_sidecars(lake), key=lambda one: one.retired_at)
    lost = (read_recorded(lake.root) or frozenset()) - there - {name for one in sidecars for name in one.files}
    record_parts(lake.root, lost | there - {hidden for one in sidecars for hidden in one.hides(there)})
    n_removed = 0
    for one in sidecars:
        done = one.replacements <= there
        least_s, age_s = (older_than_s if done else killed_after_s), (datetime.now(UTC) - one.retired_at).total_seconds()
        left = one.hides(there) & there
        if left and age_s >= least_s and not _is_awaited(one, sidecars, there):
            for name in left:
                remove_file(lake.root / name)
            n_removed += len(left)
            there -= left
        if not one.hides(there) & there and age_s >= 2 * least_s:
            remove_file(one.sidecar)
    _remove_temporary(lake, killed_after_s)
    return n_removed


def _is_awaited(one: Retired, sidecars: Collection[Retired], there: Collection[str]) -> bool:
    """Whether a file that `one` retires is what keeps older files out that are still there: without it they would count again."""
    return any(other is not one and other.replacements & one.files and other.files.intersection(there) for other in sidecars)


def _remove_temporary(lake: "Lake", older_than_s: float) -> None:
    """Delete what writers on this machine left half written; a bucket has no such files."""
    if not isinstance(lake.root, Path):
        return
    for file in list_files(lake.root, ".tmp"):
        with contextlib.suppress(OSError):  # renamed meanwhile: its writer lives; or another user's
            if file.name.startswith(".") and time.time() - file.stat().st_mtime >= older_than_s:
                file.unlink()


def list_sidecars(lake: "Lake") -> list[Retired]:
    """All sidecars of the lake: one listing, and one read of each that this process has not read yet."""
    paths = list_files(lake.root / FOLDER, ".json")
    if isinstance(lake.root, Path):
        found = [_read_sidecar(path) for path in paths]
    else:  # each is a request
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="retired") as threads:
            found = list(threads.map(_read_sidecar, paths))
    return [one for one in found if one is not None]


def _read_sidecar(path: LakePath) -> Retired | None:
    """None where it was removed between the listing and the reading, which is done only when its files are gone."""
    known = _read.get(str(path))
    if known is not None:
        return known
    data = read_file(path)
    if data is None:
        return None
    try:
        told = json.loads(data)
        files, replacements = frozenset(map(str, told["files"])), frozenset(map(str, told["replacements"]))
        read = Retired(path, files, replacements, datetime.fromisoformat(told["retired_at"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"{path}: cannot be read as the note of replaced part files ({error}); expected JSON with files, replacements and "
            "retired_at; restore it from a copy of the lake, for the rows that it hides would count again without it"
        ) from None
    _read[str(path)] = read
    return read
