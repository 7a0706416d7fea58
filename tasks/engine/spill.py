"""Replies that were paid for but cannot be written to the lake: kept in a folder of this machine,
and moved into the lake by a later run on it.
"""

import hashlib
import io
import os
import sys
import tempfile
import uuid
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
    root = Path(named) if named else Path(tempfile.gettempdir()) / f"judgelake-spill-{os.getuid()}"
    return root / hashlib.sha256(str(lake.root).encode()).hexdigest()[:16]


def spill_replies(lake: Lake, replies: pl.DataFrame) -> Path:
    """Write rows of the table `replies` into the spill folder of a lake that cannot be written;
    returns the file. Raises LakeError where that fails, too.
    """
    folder, buffer = spill_folder(lake), io.BytesIO()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LakeError(
            f"{folder}: cannot be made ({error.strerror}); expected a folder for replies; set "
            f"JUDGELAKE_SPILL"
        ) from None
    _refuse_foreign(folder)
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
            _refuse_foreign(folder)
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


def _refuse_foreign(folder: Path) -> None:
    """Raise LakeError for a folder of another user; anyone can make folders in the system's."""
    if folder.stat().st_uid != os.getuid():
        raise LakeError(
            f"{folder}: belongs to another user; expected one of this user's; set "
            f"JUDGELAKE_SPILL to one"
        )
