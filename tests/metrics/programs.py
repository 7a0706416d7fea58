"""Java for the tests: whether there is one, a script that stands for it, and what becomes of a
program whose Python is killed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.conftest import CHECKOUT
from tests.flows.harness import wait_until

needs_java = pytest.mark.skipif(
    shutil.which("java") is None, reason="needs Java: apt-get install default-jre-headless"
)


def install_script(home: Path, script: str) -> None:
    """Make a shell script the `java` of a JAVA_HOME."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def check_end_after_kill(statement: str, environment: dict[str, str] | None = None) -> None:
    """Run a statement that starts a program in a Python of its own, kill that as `kill -9` does,
    and see the program end.
    """
    script = (
        f"{statement}\nimport psutil\nprint(psutil.Process().children()[0].pid, "
        f"flush=True)\ninput()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env=os.environ | (environment or {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as python:
        assert python.stdout is not None
        program = psutil.Process(int(python.stdout.readline()))
        assert program.is_running()
        python.kill()
    assert wait_until(lambda: not program.is_running() or program.status() == psutil.STATUS_ZOMBIE)
