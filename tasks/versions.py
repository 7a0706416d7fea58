"""What code and packages a process runs, and how processes differ in it. Who is asked, and what follows, is `flows.cluster`."""

import hashlib
import importlib.util
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

_OURS = ("flows", "schemas", "sql", "tasks")
_READ = frozenset({".py", ".sql", ".txt", ".json", ".html", ".css"})
_PACKAGES = ("dask", "distributed", "prefect", "duckdb", "pyarrow", "polars")

Versions = Mapping[str, str]
"""Name of a package -> its version; judgelake's own ends in a digest of its files."""


@cache
def describe_code() -> Versions:
    """What this process runs, as it was when it first asked: files that change later are not what it runs."""
    own = f"{version('judgelake')}+{digest_packages(*_OURS)[:12]}"
    return {"judgelake": own, "python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


@cache
def digest_packages(*names: str) -> str:
    """`digest_files` of packages and modules by their names, as they were when this process first asked."""
    return digest_files([Path(place) for name in names for place in _find_package(name)])


def digest_files(folders: list[Path]) -> str:
    """A sha256 over the names and contents of all files of packages that are read when they run; a folder may be a module's file."""
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(file for file in (folder, *folder.rglob("*")) if file.suffix in _READ):
            data = file.read_bytes()
            digest.update(f"{folder.name}/{file.relative_to(folder).as_posix()}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def tell_differences(ours: Versions, others: Mapping[str, Versions]) -> list[str]:
    """A line for each of `others` that runs something else than `ours`: who, and what it has instead."""
    lines = []
    for who, theirs in others.items():
        different = [f"{name} {theirs.get(name, 'absent')} (here {own})" for name, own in ours.items() if theirs.get(name) != own]
        if different:
            lines.append(f"{who} has {', '.join(different)}")
    return lines


def _find_package(name: str) -> list[str]:
    found = importlib.util.find_spec(name)
    return list(found.submodule_search_locations or filter(None, [found.origin])) if found else []
