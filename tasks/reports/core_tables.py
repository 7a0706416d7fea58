"""Core views kept as Parquet beside the lake: `_core/<view>/<version>/*.parquet`, what a report computed once and later readers read.

A version names all that a view's rows follow from, its SQL and the part files below it, so files of another version are never read for
today's. What a view is, and which version it has now, is `tasks.reports.warehouse`.
"""

import contextlib
import itertools
import os
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from tasks.digests import digest_json
from tasks.errors import LakeError
from tasks.storage import sync_path

FOLDER = "_core"
UNKEPT = frozenset({"core_runs", "core_labels"})
"""Every run writes a row of runs, also one that changes nothing; labels are the kept scores and choices under other names."""
_KEPT_S = 3600.0
"""How long files stay after newer ones came: somebody may have opened the lake before."""
_PARTED = {"core_scores": "select distinct judge_id from core_judges order by judge_id"}
"""Views that are written one judge after the other, so that no more than a judge's rows are sorted and joined at once."""


def name_version(texts: Mapping[str, str], parts: Mapping[str, str], scope: Sequence[str]) -> str:
    """Names a view's rows by the SQL of it and all views below, the digests of the tables below, and the suites whose judges it knows."""
    return digest_json([duckdb.__version__, texts, parts, list(scope)])[:32]


def find_kept(mirror: Path, view: str, version: str) -> list[Path]:
    """The files that hold a view's rows; none where nobody kept this version."""
    return sorted((mirror / FOLDER / view / version).glob("*.parquet"))


def keep_rows(connection: duckdb.DuckDBPyConnection, mirror: Path, view: str, version: str) -> list[Path]:
    """Write the rows of `view` as they are now, whole or not at all; returns the files. Two processes may do it at once."""
    folder = mirror / FOLDER / view
    beside, whole = folder / f".{uuid.uuid4().hex}.tmp", folder / version
    try:
        beside.mkdir(parents=True)
        _copy(connection, view, beside)
        with contextlib.suppress(FileExistsError):  # another process was first, with the same rows
            _move(beside, whole)
        _drop_older(folder, version)
    except OSError as error:
        raise LakeError(
            f"{folder}: cannot be written ({error.strerror}); expected a writable place with room; free it and run again"
        ) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return find_kept(mirror, view, version)


def _copy(connection: duckdb.DuckDBPyConnection, view: str, folder: Path) -> None:
    keys = [key for (key,) in connection.execute(_PARTED[view]).fetchall()] if view in _PARTED else []
    options = "(format parquet, compression zstd, compression_level 1)"
    if not keys:
        connection.execute(f"copy (select * from {view}) to '{_quote(folder / 'all.parquet')}' {options}")
    for key in keys:  # 16 hex digits
        chosen = f"select * from {view} where judge_id = '{key}'"
        connection.execute(f"copy ({chosen}) to '{_quote(folder / f'{key}.parquet')}' {options}")


def _quote(path: Path) -> str:
    return str(path).replace("'", "''")


def _move(beside: Path, whole: Path) -> None:
    """Synced, then renamed: after a crash there are whole files under that name or none."""
    for path in (*beside.iterdir(), beside):
        sync_path(path)
    try:
        beside.rename(whole)
    except OSError as error:
        if whole.is_dir():
            raise FileExistsError(str(whole)) from error
        raise
    sync_path(whole.parent)


def _drop_older(folder: Path, version: str) -> None:
    """Remove versions, and what a killed process left, once something newer has stood for an hour."""
    with os.scandir(folder) as entries:
        aged = sorted((entry.stat().st_mtime, entry.name) for entry in entries if entry.is_dir())
    now = time.time()
    for (_, name), (superseded_at, _) in itertools.pairwise(aged):
        if name != version and now - superseded_at > _KEPT_S:
            shutil.rmtree(folder / name, ignore_errors=True)
