"""The house rules that a reader can check by eye, checked by reading the code; each test lists the
offenders.
"""

import ast
import functools
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.warehouse.views import template_file
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.conftest import CHECKOUT

OURS = ("flows", "schemas", "sql", "tasks")
PACKAGED = (*OURS, "infra/suites")
MODULES = sorted(file for folder in PACKAGED for file in (CHECKOUT / folder).rglob("*.py"))
NAMED = {"flows.public": "judgelake", "infra.suites": "judgelake.suites"}
HEAVY = ("torch", "prefect", "dask", "distributed", "polars", "duckdb", "pandera", "numpy", "yaml")
LATE = ("scipy", "openai", "sqlalchemy", "numba", "matplotlib")
MACHINERY = ("prefect", "prefect_dask", "dask", "distributed")

LAYERS = (
    ("errors",),
    ("extensions",),
    ("types", "digests", "file_cache", "settings", "stats", "demo"),
    ("lake",),
    ("warehouse",),
    ("backends",),
    ("metrics",),
    ("judging",),
    ("answering",),
    ("collection",),
    ("sources",),
    ("suite",),
    ("failures",),
    ("standin",),
    ("engine",),
    ("planning",),
    ("reports", "training"),
    ("runs", "papers"),
)
"""What lies directly under `tasks/`, from the ground up: each imports only what stands in a line
above its own.
"""


def name_of(file: Path) -> str:
    """The name that a file is imported by."""
    name = ".".join(file.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")
    return NAMED.get(name, f"judgelake.{name}")


@functools.cache
def imports_of(file: Path) -> tuple[str, ...]:
    """Every module or name that a file imports: at its top, inside a function, for type checking
    alone; relative imports resolved.
    """
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = name_of(file.parent / "__init__.py").split(".")
            base = ".".join(parts[: len(parts) + 1 - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            found += [f"{module}.{alias.name}" for alias in node.names]
    return tuple(found)


def is_under(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def offenders(folder: str, *forbidden: str, but: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{name_of(file)} imports {name}"
        for file in MODULES
        if is_under(name_of(file), folder)
        for name in imports_of(file)
        if is_under(name, *forbidden) and not is_under(name, *but)
    ]


def room_of(name: str) -> str | None:
    """What a module under `tasks/` belongs to there: the folder, or the file that lies loose."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["judgelake", "tasks"] and len(parts) > 2 else None


def test_only_flows_imports_prefect_or_dask() -> None:
    folders = ("judgelake.schemas", "judgelake.sql", "judgelake.tasks")
    assert [line for folder in folders for line in offenders(folder, *MACHINERY)] == []


def test_imports_point_one_way() -> None:
    assert offenders("judgelake.schemas", "judgelake", "tests", but=("judgelake.schemas",)) == []
    assert offenders("judgelake.tasks", "judgelake.flows", "tests") == []
    assert offenders("judgelake.flows", "tests") == []


def test_each_room_imports_only_rooms_below_it() -> None:
    floors = {room: floor for floor, rooms in enumerate(LAYERS) for room in rooms}
    upward = []
    for file in MODULES:
        own = room_of(name_of(file))
        for name in imports_of(file) if own else ():
            other = room_of(name)
            if own and other and other != own and floors[other] >= floors[own]:
                upward.append(f"{name_of(file)} imports {name}")
    assert upward == []


def test_every_room_has_a_layer() -> None:
    rooms = {room for file in MODULES if (room := room_of(name_of(file))) is not None}
    assert sorted(rooms) == sorted(room for rooms in LAYERS for room in rooms)


def test_no_files_import_each_other_in_a_circle() -> None:
    names = {name_of(file) for file in MODULES}
    arrows = {
        name_of(file): {
            target
            for name in imports_of(file)
            for target in (name, name.rpartition(".")[0])
            if target in names and target != name_of(file)
        }
        for file in MODULES
    }
    while free := {name for name, targets in arrows.items() if not targets & arrows.keys()}:
        arrows = {name: targets for name, targets in arrows.items() if name not in free}
    assert {name: sorted(targets & arrows.keys()) for name, targets in arrows.items()} == {}


def test_the_rules_above_see_imports_inside_functions() -> None:
    file = CHECKOUT / "flows" / "steps.py"
    assert "judgelake.tasks.reports.build.build_report" in imports_of(file)


def test_every_module_is_in_a_listed_package() -> None:
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = {name_of(file.parent / "__init__.py") for file in MODULES}
    assert sorted(packages) == sorted(settings["packages"])


def test_every_package_has_an_init_file() -> None:
    assert (
        sorted(
            str(folder)
            for folder in {file.parent for file in MODULES}
            if not (folder / "__init__.py").exists()
        )
        == []
    )


def test_modules_hold_one_subject() -> None:
    lengths = {
        name_of(file): len(file.read_text(encoding="utf-8").splitlines()) for file in MODULES
    }
    assert {name: length for name, length in lengths.items() if length > 500} == {}


def test_modules_say_what_they_are_for() -> None:
    bare = [
        name_of(file)
        for file in MODULES
        if file.name != "__init__.py" and not ast.get_docstring(ast.parse(file.read_text()))
    ]
    assert bare == []


@pytest.mark.parametrize("arguments", [["--help"], ["sql", "--help"], ["run", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
from judgelake.flows.cli import main
try:
    main({arguments!r})
except SystemExit as end:
    print("loaded:", *sorted({{name.partition(".")[0] for name in sys.modules}} & set({HEAVY!r})), "; exit", end.code)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[0].startswith("usage: judgelake")
    assert ended.stdout.splitlines()[-1] == "loaded: ; exit 0"


def test_a_run_with_nothing_to_do_imports_no_statistics_and_no_workflow() -> None:
    code = f"""
import sys
import judgelake.flows.run_command, judgelake.tasks.runs.summary
print(*sorted({{name.partition(".")[0] for name in sys.modules}} & {{*{MACHINERY!r}, *{LATE!r}}}))
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "\n"


def test_a_query_needs_nothing_heavy_but_duckdb(tmp_path: Path) -> None:
    """Once the views are in the cache, which making them needs polars and pandera for."""
    code = f"""
import os, sys
from judgelake.flows import cli
os._exit = sys.exit
try:
    cli.main(["sql", "--lake", {str(tmp_path)!r}, "--format", "csv", "select count(*) as n from items"])
except SystemExit as end:
    print("loaded:", *sorted({{name.partition(".")[0] for name in sys.modules}} & {{*{HEAVY!r}, "pyarrow", "openai"}}))
"""
    with open_warehouse(open_lake(tmp_path, create=True)):
        made_in = {**os.environ, "JUDGELAKE_CACHE": str(template_file().parent.parent)}
        ended = subprocess.run(
            [sys.executable, "-c", code],
            cwd=CHECKOUT,
            env=made_in,
            capture_output=True,
            text=True,
            check=True,
        )
    assert ended.stdout == "n\n0\nloaded: duckdb\n"
