"""Replies that were paid for but cannot be written to the lake: kept in a folder of this machine,
and moved into the lake by a later run on it.
"""

import hashlib
import io
import os
import stat
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

import polars as pl

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.lake.storage import write_whole


def spill_folder(lake: Lake) -> Path:
    """Where replies of a lake are kept: below JUDGELAKE_SPILL, else below a folder of this user in
    the system's temporary one.
    """
    named = os.environ.get("JUDGELAKE_SPILL")
    root = Path(named) if named else _own_root()
    return root / hashlib.sha256(str(lake.root).encode()).hexdigest()[:16]


def _own_root() -> Path:
    return Path(tempfile.gettempdir()) / f"judgelake-spill-{os.getuid()}"


def spill_replies(lake: Lake, replies: pl.DataFrame) -> Path:
    """Write rows of the table `replies` into the spill folder of a lake that cannot be written;
    returns the file. Raises LakeError where that fails, too.
    """
    folder, buffer = spill_folder(lake), io.BytesIO()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        _keep_own(folder)
    except OSError as error:
        raise LakeError(
            f"{folder}: cannot be made ({error.strerror}); expected a folder for replies; set "
            f"JUDGELAKE_SPILL"
        ) from None
    replies.write_parquet(buffer)
    file = folder / f"{uuid.uuid4().hex}.parquet"
    write_whole(file, buffer.getvalue())
    return file


def take_in_spilled(lake: Lake) -> int:
    """Move spilled replies of earlier runs into the lake; returns how many. A file that cannot be
    taken in stays, and a line on standard error names it.
    """
    folder, taken = spill_folder(lake), 0
    for file in sorted(folder.glob("*.parquet")):
        try:
            _keep_own(folder)
            _refuse_foreign(file, stat.S_ISREG, "a file")
            rows = pl.read_parquet(file)
            append_rows(lake, "replies", rows)
        except FileNotFoundError:  # another shard has just taken it in
            continue
        except (LakeError, OSError, pl.exceptions.PolarsError) as error:
            sys.stderr.write(
                f"judgelake: {file}: spilled replies cannot be taken in ({error}); they stay "
                f"there\n"
            )
            continue
        file.unlink(missing_ok=True)
        taken += rows.height
    if taken:
        sys.stderr.write(
            f"judgelake: {taken:,} replies that an earlier run could not write are in the lake "
            f"now\n"
        )
    return taken


def _keep_own(folder: Path) -> None:
    """Close a spill folder to others, and its parent where that is not one that a person named;
    raises LakeError where either is a link or another user's. Anyone can make folders in the
    system's temporary one.
    """
    for own in (folder.parent, folder) if folder.parent == _own_root() else (folder,):
        _refuse_foreign(own, stat.S_ISDIR, "a folder")
        own.chmod(0o700)


def _refuse_foreign(path: Path, is_kind: Callable[[int], bool], kind: str) -> None:
    found = path.lstat()
    if found.st_uid != os.getuid() or not is_kind(found.st_mode):
        raise LakeError(
            f"{path}: is a link or belongs to another user; expected {kind} of this user's; set "
            f"JUDGELAKE_SPILL to a folder of yours"
        )
