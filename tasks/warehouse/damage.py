"""Looking for damage in a lake, file by file: what is wrong, where, and what to do. Nothing is
changed.

Where all files are sound, their rows are checked against each other
(`tasks.warehouse.checks`). Which bytes and columns a file must have is `tasks.lake.parquet`.
"""

import re
from collections.abc import Iterator, Sequence, Set
from typing import Any, NamedTuple

import pandera.errors
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from judgelake.schemas.tables import TABLES, Table
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import FILE as MANIFEST
from judgelake.tasks.lake.lake import MARKER, Lake, name_part, read_recorded
from judgelake.tasks.lake.leases import FOLDER as LEASES
from judgelake.tasks.lake.leases import RUN, Lease, is_stale, list_leases
from judgelake.tasks.lake.parquet import has_own_digest, list_schema_faults
from judgelake.tasks.lake.snapshot import FOLDER as RETIRED
from judgelake.tasks.lake.snapshot import Retired, list_sidecars
from judgelake.tasks.lake.storage import list_files
from judgelake.tasks.warehouse.checks import check_rows
from judgelake.tasks.warehouse.lake_file import FILE as LAKE_FILE

_OWN = frozenset(
    {
        MARKER,
        MANIFEST,
        LAKE_FILE,
        "checks.json",
        "_work",
        "_core",
        "suites",
        "_logs",
        LEASES,
        RETIRED,
        "reports",
        "images",
    }
)
# A part file is named by the sha256 of its content; `_SLUG` is what a partition value may be.
_BY_CONTENT = re.compile(r"[0-9a-f]{64}\.parquet")
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# rows read at a time, which bounds memory
_BATCH_ROWS = 100_000
_RESTORE = (
    "restore it from a copy of the lake; without one move it out, and the next run "
    "makes again what it held"
)
_AGAIN = (
    "restore it from a copy of the lake; without one run the suite, which makes again what it held"
)
_MOVE = "move it out of the lake, or to where it belongs"


class Damage(NamedTuple):
    """One thing that is wrong: where (relative to the lake), what, and the remedy. A `note` is no
    damage and fails nothing.
    """

    file: str
    what: str
    remedy: str
    note: bool = False


def find_damage(lake: Lake, *, quick: bool = False) -> Iterator[Damage]:
    """Everything that is wrong with the lake's files and, where nothing is, with its rows.

    `quick` reads no more of a part file than its footer: changed bytes and values outside the
    contract are not found.
    """
    listed = [name_part(lake, path) for path in list_files(lake.root)]
    try:
        sidecars = list_sidecars(lake.root)
    except LakeError as error:
        yield Damage(
            f"{RETIRED}/", str(error), "restore the file that is named from a copy of the lake"
        )
        return
    n_found = 0
    for damage in _check_files(lake, listed, sidecars, quick):
        n_found += not damage.note
        yield damage
    if n_found:
        yield Damage(
            "",
            "the rows were not checked, since files are damaged",
            "mend those and check again",
            note=True,
        )
    else:
        for file, what, warns in check_rows(lake):
            yield Damage(
                file,
                what,
                "see which rows they are; ingest or judge again what they came from",
                note=warns,
            )


def _check_files(
    lake: Lake, listed: Sequence[str], sidecars: Sequence[Retired], quick: bool
) -> Iterator[Damage]:
    there = frozenset(listed)
    retired = frozenset(name for retirement in sidecars for name in retirement.hides(there))
    parts: list[str] = []
    for name in listed:
        misplaced = _find_misplaced(name)
        if misplaced is None and name.partition("/")[0] in TABLES and name not in retired:
            parts.append(name)
        elif misplaced is not None:
            yield misplaced
    yield from _find_missing(lake, there, sidecars)
    for name in parts:
        yield from _check_part(lake, name, quick)
    yield from _note_leftovers(lake, listed, there, sidecars)


def _find_misplaced(name: str) -> Damage | None:
    """Faults in the place and the name of a file."""
    top, *folders = name.split("/")
    last = folders.pop() if folders else top
    if top in _OWN:
        return None
    if last.startswith(".") and last.endswith(".tmp"):
        says = "is being written, or was left by a writer that was killed"
        return Damage(name, says, "leave it: it is deleted in a day", note=True)
    table = TABLES.get(top)
    if table is None:
        return Damage(name, "belongs to no table", _MOVE, note=not last.endswith(".parquet"))
    if not _BY_CONTENT.fullmatch(last):
        return Damage(name, "a foreign file: no part file is called so", _MOVE)
    return _find_wrong_folder(name, table, folders)


def _find_wrong_folder(name: str, table: Table, folders: Sequence[str]) -> Damage | None:
    expected = "/".join((table.name, *(f"{key}=..." for key in table.partitions)))
    if [folder.partition("=")[0] for folder in folders] != list(table.partitions):
        return Damage(
            name, f"lies in the wrong folder; the files of this table lie in {expected}", _MOVE
        )
    for folder in folders:
        key, _, value = folder.partition("=")
        if not _SLUG.fullmatch(value):
            return Damage(name, f"lies in the wrong folder: {value!r} is no {key}", _MOVE)
    return None


def _find_missing(lake: Lake, there: Set[str], sidecars: Sequence[Retired]) -> Iterator[Damage]:
    recorded = read_recorded(lake.root)
    if recorded is None:
        says = "there is no list of part files yet, so a missing one cannot be named"
        yield Damage(MANIFEST, says, "run a suite or judgelake compact: both write it", note=True)
        return
    removed = frozenset(name for retirement in sidecars for name in retirement.files)
    for name in sorted(recorded - there - removed):
        yield Damage(name, "the file is missing: it was there when a run last ended", _AGAIN)


def _check_part(lake: Lake, name: str, quick: bool) -> Iterator[Damage]:
    """Bytes, columns and values of one part file; after the first kind of damage the others would
    only repeat it.
    """
    table, path = TABLES[name.partition("/")[0]], lake.root / name
    try:
        with path.open("rb") as opened, pq.ParquetFile(opened) as file:
            faults = list(list_schema_faults(table, file.schema_arrow))
            if not quick and not has_own_digest(opened, path.stem):
                yield Damage(name, "its bytes are not those that it was written with", _RESTORE)
            elif faults:
                yield Damage(
                    name,
                    "; ".join(faults),
                    "move it out, if judgelake did not write it; else restore it",
                )
            elif not quick:
                yield from _check_values(table, name, file)
    except FileNotFoundError:  # removed since it was listed
        return
    except (pa.ArrowException, OSError) as error:
        yield Damage(
            name,
            f"cannot be read as Parquet: it was cut or overwritten ({str(error).splitlines()[0]})",
            _RESTORE,
        )


def _check_values(table: Table, name: str, file: pq.ParquetFile) -> Iterator[Damage]:
    """The first value that breaks the contract, and how many do."""
    folders = dict(folder.split("=", 1) for folder in name.split("/")[1:-1])
    broken: list[dict[str, Any]] = []
    n_broken = 0
    for batch in file.iter_batches(_BATCH_ROWS):
        frame = pl.DataFrame(pa.Table.from_batches([batch]))
        absent = {
            part: pl.lit(None, dtype)
            for part, dtype in table.polars_schema.items()
            if part not in frame.columns
        }
        whole = frame.with_columns(
            **absent | {key: pl.lit(value) for key, value in folders.items()}
        )
        try:
            table.model.validate(whole.select(table.polars_schema.keys()), lazy=True)
        except pandera.errors.SchemaErrors as error:
            n_broken += error.failure_cases.height
            broken = broken or error.failure_cases.head(1).to_dicts()
    for first in broken:
        more = "" if n_broken == 1 else f", and {n_broken - 1:,} more"
        what = f"{first['column']} = {first['failure_case']} breaks {first['check']}{more}"
        yield Damage(name, f"a value is not allowed: {what}", _RESTORE)


def _note_leftovers(
    lake: Lake, listed: Sequence[str], there: Set[str], sidecars: Sequence[Retired]
) -> Iterator[Damage]:
    """Files that killed runs left behind; they do no harm."""
    leases = list_leases(lake)
    for lease in leases:
        if is_stale(lease):
            yield Damage(
                f"{LEASES}/{lease.name}",
                lease.describe(),
                "leave it: it gives no sign of life, and is taken over",
                note=True,
            )
    owners = {owner for lease in leases if not is_stale(lease) for owner in _own_folders(lease)}
    works = sorted({name.split("/")[1] for name in listed if name.startswith("_work/")})
    for folder in works:
        if not any(folder.startswith(owner) for owner in owners):
            yield Damage(
                f"_work/{folder}",
                "scratch of a run that holds no lease",
                "delete it when no run is at work",
                note=True,
            )
    for retirement in sidecars:
        if not retirement.replacements <= there and retirement.files & there:
            says = "a compaction is at work, or was killed: its new files do not count"
            yield Damage(
                name_part(lake, retirement.sidecar),
                says,
                "leave it: what was killed is cleared away in a day",
                note=True,
            )


def _own_folders(lease: Lease) -> tuple[str, ...]:
    return (
        ("compact-", lease.owner)
        if lease.name == "compact"
        else (lease.owner, lease.name.removeprefix(RUN))
    )
