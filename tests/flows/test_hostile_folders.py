"""judgelake in a working directory that holds modules called as its own parts and packages are: no
process of a run imports them.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from judgelake.flows import runners
from judgelake.flows.runners import starting_server
from judgelake.tasks.errors import BackendError, JudgelakeError
from judgelake.tasks.standin import process as standin_process
from judgelake.tasks.standin.process import start_standin
from tests.flows.harness import write_benchmark

NAMES = (
    "tasks",
    "flows",
    "schemas",
    "sql",
    "prefect",
    "dask",
    "distributed",
    "judgelake",
    "uvicorn",
)
SUITE = """
name: small
benchmarks:
  small: {source: vqa, questions: questions.json, references: annotations.json, answers: "results_{model}.json"}
metrics: [exact_match]
judges:
  lave: {protocol: lave, backend: standin}
"""
API = "import judgelake; print(judgelake.run('suite.yaml', 'lake'))"
NEVER_S = 1e9
"""Whoever waits so long for a child that has ended makes the test hang, not fail for slowness."""


def write_hostile(folder: Path) -> Path:
    """Modules that leave a file named after themselves in the folder returned, then refuse."""
    imported = folder / "imported"
    imported.mkdir(parents=True)
    for name in NAMES:
        (folder / f"{name}.py").write_text(
            f"import pathlib\npathlib.Path({str(imported / name)!r}).touch()\nraise SystemExit(9)\n"
        )
    return imported


@pytest.mark.full
@pytest.mark.parametrize("way", ["command", "module", "api"])
def test_no_process_of_a_run_imports_from_its_working_directory(tmp_path: Path, way: str) -> None:
    """The server, the stand-in and, but for the API, two workers are started; `python -m` needs -P
    of its own.
    """
    imported = write_hostile(tmp_path)
    write_benchmark(tmp_path, 4)
    (tmp_path / "suite.yaml").write_text(SUITE)
    command = {
        "command": [str(Path(sys.executable).parent / "judgelake"), "run", "suite.yaml"],
        "module": [sys.executable, "-P", "-m", "judgelake.flows.cli", "run", "suite.yaml"],
        "api": [sys.executable, "-P", "-c", API],
    }[way]
    workers = {} if way == "api" else {"JUDGELAKE_WORKERS": "processes"}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | workers,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 verdicts" in done.stdout  # 4 items, two models
    assert [file.name for file in imported.iterdir()] == []


def test_the_hostile_modules_do_leave_a_mark(tmp_path: Path) -> None:
    imported = write_hostile(tmp_path)
    for name in NAMES:
        done = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=tmp_path, check=False)
        assert done.returncode == 9
    assert sorted(file.name for file in imported.iterdir()) == sorted(NAMES)


def test_the_standin_imports_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = write_hostile(tmp_path)
    (tmp_path / "aiohttp.py").symlink_to("tasks.py")
    monkeypatch.chdir(tmp_path)
    with start_standin() as standin:
        host, port = standin.base_url.removeprefix("http://").removesuffix("/v1").split(":")
        socket.create_connection((host, int(port))).close()
    assert [file.name for file in imported.iterdir()] == []


def test_the_command_takes_the_working_directory_off_its_path(tmp_path: Path) -> None:
    code = (
        "import os, sys; from judgelake.flows.process_start import guard_imports; guard_imports();"
        "print('' in sys.path or os.getcwd() in sys.path, os.environ['PYTHONSAFEPATH'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "1"]


def break_imports(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children find a package that cannot be imported."""
    (folder / f"{name}.py").write_text("raise ImportError('broken on purpose')\n")
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


def test_a_server_that_ends_while_it_starts_is_reported_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_imports(tmp_path, "uvicorn", monkeypatch)
    monkeypatch.setattr(runners, "_START_S", NEVER_S)
    words = r"(?s)prefect server: ended with status 1; .*broken on purpose"
    home = tmp_path / "home"
    home.mkdir()
    with starting_server(home) as wait, pytest.raises(JudgelakeError, match=words):
        wait()


def test_a_standin_that_ends_while_it_starts_is_reported_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_imports(tmp_path, "aiohttp", monkeypatch)
    monkeypatch.setattr(standin_process, "_START_S", NEVER_S)
    words = r"(?s)stand-in: it ended with status 1 while it started .*broken on purpose"
    with pytest.raises(BackendError, match=words):
        start_standin()
