"""What a process says it runs, and how several are distinguished."""

from pathlib import Path

import pytest

from judgelake.tasks.digests import describe_code, describe_differences, digest_files


def write_package(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_process_reports_its_code_and_packages() -> None:
    output = describe_code()
    assert list(output) == [
        "judgelake",
        "python",
        "dask",
        "distributed",
        "prefect",
        "duckdb",
        "pyarrow",
        "polars",
    ]
    version, _, digest = output["judgelake"].partition("+")
    assert version == "0.1.0"
    assert len(digest) == 12


@pytest.mark.parametrize(
    "changed",
    [
        {"a.py": "x = 2"},
        {"sub/b.sql": "select 2"},
        {"c.py": ""},
        {"a.py": "", "sub/b.sql": "x = 1select 1"},
    ],
)
def test_digest_changes_with_any_file_that_is_read(tmp_path: Path, changed: dict[str, str]) -> None:
    files = {"a.py": "x = 1", "sub/b.sql": "select 1"}
    before = digest_files([write_package(tmp_path / "one" / "tasks", files)])
    assert digest_files([write_package(tmp_path / "two" / "tasks", files)]) == before
    assert digest_files([write_package(tmp_path / "three" / "tasks", files | changed)]) != before


def test_digest_leaves_out_what_running_writes(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "tasks", {"a.py": "x = 1"})
    before = digest_files([folder])
    write_package(folder, {"__pycache__/a.cpython-311.pyc": "compiled", ".mypy_cache/x": "y"})
    assert digest_files([folder]) == before


def test_differences_name_who_and_what() -> None:
    ours = {"judgelake": "0.1.0+aa", "python": "3.11.7", "polars": "2.1.0"}
    others = {
        "the scheduler": dict(ours),
        "worker a": ours | {"polars": "2.0.0"},
        "worker b": {"judgelake": "0.1.0+bb", "python": "3.11.7"},
    }
    assert describe_differences(ours, others) == [
        "worker a has polars 2.0.0 (here 2.1.0)",
        "worker b has judgelake 0.1.0+bb (here 0.1.0+aa), polars absent (here 2.1.0)",
    ]
