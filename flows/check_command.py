"""`judgelake check`: prints what is damaged in a lake, file by file, and how to repair it."""

import argparse
import sys

from judgelake.tasks.errors import ExitCode, LakeError
from judgelake.tasks.lake.lake import MARKER, open_lake
from judgelake.tasks.lake.storage import has_file, open_place
from judgelake.tasks.warehouse.damage import Damage, find_damage


def run_check(options: argparse.Namespace) -> int:
    """Print a block for each damage; returns 5 where there is any, 0 where there are only notes."""
    try:
        lake = open_lake(options.lake)
    except LakeError as error:
        if not has_file(open_place(options.lake) / MARKER):
            raise  # no lake at all
        sys.stdout.write(
            _describe(
                Damage(MARKER, str(error), "as it says; the rest of the lake was not checked")
            )
        )
        return ExitCode.CHECK
    n_damages = 0
    for damage in find_damage(lake, quick=options.quick):
        n_damages += not damage.note
        sys.stdout.write(_describe(damage))
        sys.stdout.flush()
    depth = "footers and rows; the bytes were not read" if options.quick else "every byte and row"
    result = {0: "nothing is wrong", 1: "1 thing is wrong"}.get(
        n_damages, f"{n_damages:,} things are wrong"
    )
    sys.stdout.write(f"{lake.root}: checked {depth}: {result}\n")
    return ExitCode.CHECK if n_damages else ExitCode.DONE


def _describe(damage: Damage) -> str:
    kind = "note" if damage.note else "damage"
    return f"{kind}: {damage.file or 'the lake'}\n  what: {damage.what}\n  do:   {damage.remedy}\n"
