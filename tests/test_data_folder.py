"""The folder of the real inputs is the same for a test and for the commands that it starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

SHOW = "import os; print(os.environ['JUDGELAKE_DATA'])"


def test_a_command_reads_the_folder_that_the_test_reads(data_folder: Path) -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == str(data_folder)


@pytest.mark.full
def test_another_folder_of_data_reaches_the_commands(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    inner = f"{Path(__file__).relative_to(CHECKOUT)}::test_a_command_reads_the_folder_that_the_test_reads"
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", inner, "-p", "no:cacheprovider", "-n", "0", "-rs"],
        cwd=CHECKOUT,
        env={**os.environ, "JUDGELAKE_DATA": str(elsewhere)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    assert "skipped" not in ended.stdout.lower()
