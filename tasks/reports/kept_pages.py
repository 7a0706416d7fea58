"""Pages by run: the report as each run left it, in `runs/<run>/` beside the latest. The pages lead
to one another.
"""

import os
import re
import shutil
from datetime import datetime
from pathlib import Path

from judgelake.tasks.lake.storage import LakePath, filled_folder, list_folders, remove_folder

KEPT = 30
"""The newest pages are kept, as many as this; figures of all are in the table `results`."""
RUNS = "runs"
"""The folder of pages by run, in the report's folder."""
PLACE_OF_RUN = "<!-- a page of a run says so here -->"
"""Where the page of a run names it; `report.html` has it once."""
_LATEST = f'href="{RUNS}/'
_NAME = re.compile(r"[0-9A-Za-z_-]+")
_NOT_COPIED = shutil.ignore_patterns(RUNS, "made_from", "*.tmp")


def list_pages(page: LakePath, current: str | None = None) -> list[tuple[str, str]]:
    """The runs whose page is kept, the newest first, each with when it started; without `current`.
    `page`: the latest.
    """
    runs = sorted(list_folders(page.parent / RUNS), reverse=True)
    return [(run, _describe(run)) for run in runs if run != current and _NAME.fullmatch(run)]


def keep_page(page: LakePath, folder: Path, run: str) -> None:
    """Keep the files of `folder`, the latest report, as the page of a run, in place of an earlier
    one of the same run; the oldest pages go. A run without a plain name has none.
    """
    if not _NAME.fullmatch(run):
        return
    place = page.parent / RUNS / run
    if isinstance(place, Path):
        remove_folder(place)
    with filled_folder(place) as kept:
        shutil.copytree(folder, kept, ignore=_NOT_COPIED, copy_function=_link, dirs_exist_ok=True)
        _lead_to_latest(folder / page.name, kept / page.name, run)
    for old, _ in list_pages(page)[KEPT:]:
        remove_folder(page.parent / RUNS / old)


def _lead_to_latest(latest: Path, kept: Path, run: str) -> None:
    """Write the page of a run: its links start two folders deeper, and it says what it is."""
    words = (
        f'<p class="banner" role="note">This is the report as the run {run} left it: '
        f'<a href="../../{latest.name}">the latest</a>.</p>'
    )
    text = latest.read_text(encoding="utf-8")
    kept.unlink()
    kept.write_text(
        text.replace(_LATEST, 'href="../').replace(PLACE_OF_RUN, words, 1),
        encoding="utf-8",
        newline="\n",
    )


def _link(source: str, target: str) -> None:
    """The same bytes under another name where the disk can do that: files of a report are replaced,
    never changed.
    """
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _describe(run: str) -> str:
    try:
        return f"{datetime.strptime(run[:16], '%Y%m%dT%H%M%S%z'):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return run
