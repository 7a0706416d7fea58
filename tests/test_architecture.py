"""The house rules that a reader can check by eye, checked by reading the code; each test lists the offenders."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

OURS = ("flows", "schemas", "sql", "tasks")
MODULES = sorted(file for folder in OURS for file in (CHECKOUT / folder).rglob("*.py"))
HEAVY = ("torch", "prefect", "dask", "distributed", "polars", "duckdb", "pandera", "numpy", "yaml")


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(file: Path) -> Iterator[str]:
    """Every module that a file imports, at its top or inside a function, with relative imports resolved."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = file.relative_to(CHECKOUT).parent.parts
            base = ".".join(parts[: len(parts) + 1 - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield from (f"{module}.{alias.name}" for alias in node.names)


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


def test_only_flows_imports_prefect_or_dask() -> None:
    machinery = ("prefect", "prefect_dask", "dask", "distributed")
    assert [line for folder in ("schemas", "sql", "tasks") for line in offenders(folder, *machinery)] == []


def test_imports_point_one_way() -> None:
    assert offenders("schemas", *OURS, "tests", but=("schemas",)) == []
    assert offenders("tasks", "flows", "tests") == []
    assert offenders("flows", "tests") == []


def test_statistics_know_nothing_of_the_rest() -> None:
    assert offenders("tasks.stats", *OURS, but=("tasks.stats",)) == []


def test_the_rules_above_see_imports_inside_functions(tmp_path: Path) -> None:
    file = CHECKOUT / "tasks" / "sources" / "registry.py"
    assert "tasks.sources.demo.draw_demo" in set(imports_of(file))


def test_every_module_is_in_a_listed_package() -> None:
    listed = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    packages = {".".join(file.relative_to(CHECKOUT).parent.parts) for file in MODULES}
    assert sorted(packages) == sorted(listed)


def test_every_package_has_an_init_file() -> None:
    assert sorted(name_of(folder) for folder in {file.parent for file in MODULES} if not (folder / "__init__.py").exists()) == []


def test_modules_are_short() -> None:
    lengths = {name_of(file): len(file.read_text(encoding="utf-8").splitlines()) for file in MODULES}
    assert {name: length for name, length in lengths.items() if length > 300} == {}


def test_modules_say_what_they_are_for() -> None:
    bare = [
        name_of(file) for file in MODULES if file.name != "__init__.py" and not ast.get_docstring(ast.parse(file.read_text()))
    ]
    assert bare == []


@pytest.mark.parametrize("arguments", [["--help"], ["sql", "--help"], ["run", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
from flows.cli import main
try:
    main({arguments!r})
except SystemExit as end:
    print("loaded:", *sorted({{name.partition(".")[0] for name in sys.modules}} & set({HEAVY!r})), "; exit", end.code)
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[0].startswith("usage: judgelake")
    assert ended.stdout.splitlines()[-1] == "loaded: ; exit 0"


def test_sql_needs_neither_prefect_nor_torch(tmp_path: Path) -> None:
    code = """
import sys
import flows.sql_command
print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules} & {"torch", "prefect", "dask", "matplotlib", "openai"}))
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "loaded:"
