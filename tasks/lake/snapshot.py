"""One snapshot of a lake: the part files that count at one moment, each table listed once, rows
before those they refer to, the replaced parts read after that.

A stage takes one and reads nothing newer. What the tables hold is `schemas.tables`, who writes them
`tasks.lake.lake`, when replaced parts are deleted `tasks.lake.cleanup`.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.buckets import list_keys, list_page
from judgelake.tasks.lake.mirror import fetch_parts, find_mirror, list_local
from judgelake.tasks.lake.storage import LakePath, list_files, read_file

if TYPE_CHECKING:
    from upath import UPath

FOLDER = "_retired"
# listings at a time; a listing mostly waits for the network
_AT_ONCE = 32

_REPORTED = tuple(name for name, table in TABLES.items() if table.partitions == ("suite",))
_ABOUT_ANSWERS = (
    "human_ratings",
    "human_preferences",
    "choice_sets",
    "feedback_preferences",
    "recorded_verdicts",
    "recorded_duels",
    "recorded_scores",
    "failure_labels",
)
LEVELS: tuple[tuple[str, ...], ...] = (
    (*_REPORTED, "verdicts", "duels", "generated_captions", "metric_scores", "batches"),
    ("collected_responses", "augmented_items", "generated_answers"),
    ("collected_instructions",),
    ("screened_rubrics",),
    ("collected_rubrics",),
    ("replies",),
    ("cases",),
    ("matchups", "judges", "runs", "trainings"),
    ("ingests",),  # its row is an ingest's last: whoever sees it finds all rows of the ingest
    (*_ABOUT_ANSWERS, "item_labels", "item_rubrics", "quarantine", "benchmark_scores"),
    ("replaced_answers",),
    ("answers", "captions", "models", "rubrics"),
    ("items", "item_samples", "embeddings"),
)
"""All tables in the order in which they are listed: a row is written after the rows that it refers
to, so a table is listed before those that its rows refer to, and no row lacks what it refers to.
"""


@dataclass(frozen=True)
class Retired:
    """One sidecar: part files, relative to the lake's root, that count no more once all of
    `replacements` are there.
    """

    sidecar: LakePath
    files: frozenset[str]
    replacements: frozenset[str]
    retired_at: datetime

    def hides(self, listed: Collection[str], places: Sequence[str] = ()) -> frozenset[str]:
        """What readers leave out where the files `listed` are there: the old ones, or those new
        ones that are not complete yet.

        `places`: the folders that were listed (none: all); only replacements there are awaited.
        """
        within = tuple(f"{place}/" for place in places)
        awaited = {name for name in self.replacements if not within or name.startswith(within)}
        return self.files if awaited.issubset(listed) else self.replacements


class GoneError(LakeError):
    """A part file that a snapshot names was deleted."""


@dataclass(frozen=True)
class Snapshot:
    """The part files of a lake at one moment; picklable, holds no open file and no key.

    `listed`: table (or `table/partition=value`) -> part files relative to the root, in order, with
    their bytes; `hidden`: those among them that do not count.
    """

    root: LakePath
    listed: Mapping[str, Mapping[str, int]]
    hidden: frozenset[str]
    taken_at: datetime

    @property
    def mirror(self) -> Path:
        """The local folder that `find_parts` finds them in."""
        return find_mirror(self.root)

    def list_parts(self, *places: str) -> dict[str, dict[str, int]]:
        """Each place that was listed -> its current part files, relative to the root and in order,
        with their bytes.
        """
        return {
            place: {name: size for name, size in self.listed[place].items() if self._counts(name)}
            for place in places
        }

    def find_parts(self, *places: str) -> dict[str, list[Path]]:
        """As `list_parts`, but as local files: of a bucket, what the mirror lacks is fetched.

        Raises GoneError where one was deleted since, which is noticed in a bucket only.
        """
        parts, mirror = self.list_parts(*places), self.mirror
        try:
            if not isinstance(self.root, Path):
                for place, names in parts.items():
                    listed = self.listed[place]
                    fetch_parts(self.root, mirror, place, listed, names, self.taken_at)
        except FileNotFoundError:
            raise self.explain_gone() from None
        return {place: [mirror / name for name in names] for place, names in parts.items()}

    def find_gone(self) -> list[str]:
        """The part files that were there when it was taken, and are not now."""
        now = list_snapshot(self.root, *self.listed).listed
        return [
            name
            for place in self.listed
            for name in self.list_parts(place)[place]
            if name not in now[place]
        ]

    def explain_gone(self) -> GoneError:
        """The error where some are gone."""
        return GoneError(
            f"{self.root}: part files that were there at {self.taken_at:%Y-%m-%d %H:%M:%S} UTC are "
            f"gone; expected them for an hour after they were replaced, longer where a lease is "
            f"held; run again"
        )

    def with_newer(self, *tables: str) -> "Snapshot":
        """The same but for `tables`, which are as they are now: for a stage that wrote them."""
        now = list_snapshot(self.root, *tables)
        hidden = self.hidden - {name for table in tables for name in self.listed[table]}
        return replace(self, listed={**self.listed, **now.listed}, hidden=hidden | now.hidden)

    def _counts(self, name: str) -> bool:
        return name not in self.hidden


def list_snapshot(root: LakePath, *places: str) -> Snapshot:
    """A snapshot of the lake at `root`: of all tables, or of `places` (`table` or
    `table/partition=value`) alone.
    """
    taken_at = datetime.now(UTC)
    if isinstance(root, Path):
        listed = {place: _list_on_disk(root, place) for place in _order(places)}
    elif places:
        listed = _list_in_bucket(root, places)
    else:
        listed = _list_whole_bucket(root)
    order = {place: listed[place] for place in places or TABLES}
    names = {name for of_one in listed.values() for name in of_one}
    hidden = {name for sidecar in list_sidecars(root) for name in sidecar.hides(names, places)}
    return Snapshot(root, order, frozenset(hidden & names), taken_at)


def _order(places: Sequence[str]) -> list[str]:
    return [place for level in _split_levels(places) for place in level]


def _split_levels(places: Sequence[str]) -> list[list[str]]:
    """The places by the level of their tables; all tables where there are none."""
    wanted = places or tuple(TABLES)
    return [[place for place in wanted if place.partition("/")[0] in level] for level in LEVELS]


def _list_on_disk(root: Path, place: str) -> dict[str, int]:
    return dict(sorted(list_local(root, place).items()))


def _list_in_bucket(root: "UPath", places: Sequence[str]) -> dict[str, dict[str, int]]:
    """One listing a place: those of a level side by side, the levels one after the other."""
    listed: dict[str, dict[str, int]] = {}
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="list") as threads:
        for level in _split_levels(places):
            keys = threads.map(lambda place: list_keys(root / place, ".parquet"), level)
            for place, of_one in zip(level, keys, strict=True):
                listed[place] = {f"{place}/{key}": size for key, size in of_one.items()}
    return listed


def _list_whole_bucket(root: "UPath") -> dict[str, dict[str, int]]:
    """All tables. A lake of one page needs two requests: where two listings show the same, nothing
    was written between them, so no row lacks what it refers to; else it is listed level by level.
    """
    first = list_page(root)
    if first is None or list_page(root) != first:
        return _list_in_bucket(root, tuple(TABLES))
    listed: dict[str, dict[str, int]] = {name: {} for name in TABLES}
    for key in sorted(first):
        table = key.partition("/")[0]
        if table in listed and key.endswith(".parquet"):
            listed[table][key] = first[key]
    return listed


_read: dict[str, Retired] = {}  # a sidecar is never changed, and its name is used once


def list_sidecars(root: LakePath) -> list[Retired]:
    """All sidecars of a lake: one listing, and one read of each that this process has not read
    yet.

    Ask after listing part files, never before: a compaction's sidecar is older than the new files
    that it names, so who has seen those finds it here, and who has not seen all reads the old ones.
    """
    paths = list_files(root / FOLDER, ".json")
    if isinstance(root, Path):
        sidecars = [_read_sidecar(path) for path in paths]
    else:  # each is a request
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="retired") as threads:
            sidecars = list(threads.map(_read_sidecar, paths))
    return [sidecar for sidecar in sidecars if sidecar is not None]


def _read_sidecar(path: LakePath) -> Retired | None:
    """None where it was removed between the listing and the reading, which is done only when its
    files are gone.
    """
    known = _read.get(str(path))
    if known is not None:
        return known
    data = read_file(path)
    if data is None:
        return None
    try:
        content = json.loads(data)
        files = frozenset(map(str, content["files"]))
        replacements = frozenset(map(str, content["replacements"]))
        read = Retired(path, files, replacements, datetime.fromisoformat(content["retired_at"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"{path}: cannot be read as the note of replaced part files ({error}); expected "
            "JSON with files, replacements and retired_at; restore it from a copy of the lake, for "
            "the rows that it hides would count again without it"
        ) from None
    _read[str(path)] = read
    return read
