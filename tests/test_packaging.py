"""The wheel: it holds all of the packages, and works where there is no checkout."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.suite.examples import list_examples
from tests.conftest import CHECKOUT

pytestmark = pytest.mark.full
PACKAGES = ("flows", "schemas", "sql", "tasks")
PACKED = {".py", ".sql", ".html", ".css", ".json", ".txt"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the checkout, so that building leaves nothing behind in it."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in (*PACKAGES, "infra/suites"):
        shutil.copytree(
            CHECKOUT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, folder / "source")
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(folder / "source"),
    ]
    subprocess.run(build, check=True, capture_output=True, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment with the wheel, which borrows its dependencies from the
    running interpreter.
    """
    folder = tmp_path_factory.mktemp("installed") / "env"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)],
        check=True,
        capture_output=True,
    )
    python = folder / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run(pip, check=True, capture_output=True, cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(
        f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n"
    )
    return folder / "bin"


def run(command: list[str], folder: Path) -> str:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_wheel_holds_every_module_and_every_text_that_is_read(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    files = [
        file for name in PACKAGES for file in (CHECKOUT / name).rglob("*") if file.suffix in PACKED
    ]
    expected = {
        f"judgelake/{file.relative_to(CHECKOUT)}".replace("judgelake/flows/public", "judgelake")
        for file in files
    }
    suites = CHECKOUT / "infra" / "suites"
    texts = [*suites.rglob("*.yaml"), *suites.rglob("*.txt")]
    expected |= {f"judgelake/suites/{file.relative_to(suites)}" for file in texts}
    judge = CHECKOUT / "tasks" / "demo" / "judge"
    expected |= {f"judgelake/tasks/demo/judge/{file.name}" for file in judge.iterdir()}
    assert sorted(expected - held) == []
    assert {Path(name).suffix for name in held} >= PACKED - {".txt"}


def test_wheel_holds_nothing_else(wheel: Path) -> None:
    top = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert sorted(name for name in top if not name.endswith(".dist-info")) == ["judgelake"]


def test_installed_command_uses_the_wheel_and_answers(installed: Path, tmp_path: Path) -> None:
    open_lake(tmp_path / "lake", create=True)
    modules = (
        "judgelake, judgelake.flows.cli, judgelake.schemas.tables, "
        "judgelake.tasks.lake.lake, judgelake.sql"
    )
    where = f"import {modules}; print(*[module.__file__ for module in ({modules})])"
    files = run([str(installed / "python"), "-c", where], tmp_path).split()
    assert [file for file in files if not file.startswith(str(installed.parent / "lib"))] == []
    assert run([str(installed / "judgelake"), "--help"], tmp_path).startswith("usage: judgelake")
    query = ["sql", "--format", "csv", "select count(*) as n from rpt_metrics"]
    assert run([str(installed / "judgelake"), *query], tmp_path) == "n\n0\n"


SCRIPT = """
import judgelake
from pathlib import Path
from judgelake.tasks.suite.examples import list_examples, read_example

Path("demo.yaml").write_text(read_example("demo").replace(", soft_vqa_accuracy, sbert_score", ""))
print(*[one.name for one in list_examples()])
end = judgelake.run("demo.yaml", "lake", limit=3)
lake = judgelake.open("lake")
print(end.code, len(lake.sql("from rpt_metrics")) > 0, lake.report("demo.yaml").name)
"""


def test_installed_package_runs_the_demo_suite_that_it_ships(
    installed: Path, tmp_path: Path
) -> None:
    """All but the metrics of a local model, which is no dependency of the package."""
    (tmp_path / "script.py").write_text(SCRIPT)
    names, ended = run([str(installed / "python"), "script.py"], tmp_path).splitlines()
    assert names.split() == [one.name for one in list_examples()]
    assert ended == "0 True report.html"
