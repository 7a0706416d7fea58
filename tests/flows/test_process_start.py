"""The set-up of a process that runs commands: how often it searches for garbage."""

import gc
import subprocess
import sys

from judgelake.flows.process_start import without_collections


def test_what_is_made_in_the_block_is_never_searched_for_garbage() -> None:
    gc.unfreeze()  # what the tests' own start skips
    try:
        with without_collections():
            was_enabled = gc.isenabled()
        assert (was_enabled, gc.isenabled()) == (False, True)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_a_command_searches_for_garbage_a_tenth_as_often() -> None:
    code = (
        "import gc; usual = gc.get_threshold()[0]\n"
        "from judgelake.flows.process_start import prepare_process\n"
        "prepare_process(); print(gc.get_threshold()[0] >= 10 * usual, gc.isenabled())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
