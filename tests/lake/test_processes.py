"""Temporary folders of processes that were killed are removed, those of living ones are not."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from judgelake.tasks.lake.processes import own_folder, remove_abandoned_folders
from judgelake.tasks.runs.record import record_run
from tests.lakes import make_lake, make_suite

LEAVE = """
import os, signal, sys
from judgelake.tasks.lake.processes import own_folder
folder = own_folder("prefect")
open(os.path.join(folder.name, "server.log"), "w").close()
print(folder.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", LEAVE], capture_output=True, text=True)
    left = Path(killed.stdout.strip())
    assert left.parent == tmp_path
    assert (left / "server.log").exists()
    other = tmp_path / "judgelake-notes"  # not named by us
    other.mkdir()
    link = tmp_path / left.name.replace("prefect", "copy")
    link.symlink_to(other)
    with own_folder("prefect") as own:
        lake = make_lake(tmp_path)
        with record_run(lake, make_suite(), "r", ()):
            assert not left.exists()
            assert Path(own).exists()
            assert other.exists()


def test_a_folder_of_another_container_stays(tmp_path: Path) -> None:
    """The same process id means another process there."""
    with own_folder("prefect") as own:
        kind, place, rest = Path(own).name.partition("prefect-")
    foreign = tmp_path / f"{kind}{place}{'0' * 8}{rest[8:]}"
    reborn = tmp_path / f"{kind}{place}{rest[:8]}-{rest.split('-')[1]}-1-xy"
    foreign.mkdir()
    reborn.mkdir()
    remove_abandoned_folders()
    assert foreign.exists()
    assert not reborn.exists()  # the process id was given to another process since
