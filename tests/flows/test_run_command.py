"""What a run has to do, guessed from the times of files before the lake is read."""

import os
from pathlib import Path

import pytest

from judgelake.flows.run_command import looks_left
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.reports.exports import page_path
from judgelake.tasks.suite.suite import read_suite
from tests.flows.harness import write_benchmark, write_suite

_BEFORE, _THEN, _AFTER = 1e9, 2e9, 3e9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A suite and its inputs, older than the report in the lake beside them."""
    write_benchmark(tmp_path, 2)
    suite = read_suite(write_suite(tmp_path, "http://127.0.0.1:1/v1"))
    for file in tmp_path.iterdir():
        os.utime(file, (_BEFORE, _BEFORE))
    page = page_path(open_lake(tmp_path / "lake", create=True), suite)
    assert isinstance(page, Path)
    page.parent.mkdir(parents=True)
    page.touch()
    os.utime(page, (_THEN, _THEN))
    return tmp_path


def looks(folder: Path) -> bool:
    return looks_left(folder / "suite.yaml", str(folder / "lake"))


def test_nothing_looks_left_where_the_report_is_newer(folder: Path) -> None:
    assert not looks(folder)


@pytest.mark.parametrize(
    "edited", ["suite.yaml", "questions.json", "annotations.json", "results_m2.json"]
)
def test_what_was_edited_since_looks_left(folder: Path, edited: str) -> None:
    os.utime(folder / edited, (_AFTER, _AFTER))
    assert looks(folder)


def test_a_lake_without_the_report_looks_left(folder: Path) -> None:
    (folder / "lake" / "reports" / "small" / "report.html").unlink()
    assert looks(folder)


def test_a_missing_input_is_left_to_the_ingest(folder: Path) -> None:
    (folder / "annotations.json").unlink()
    assert not looks(folder)


@pytest.mark.parametrize(
    "text", ["", "name: [", "benchmarks: {}", "\udcff", "name: small\nfile: a\0b/*"]
)
def test_nothing_is_guessed_of_a_suite_that_is_none(folder: Path, text: str) -> None:
    (folder / "suite.yaml").write_bytes(text.encode(errors="surrogateescape"))
    assert not looks(folder)


def test_nothing_is_guessed_without_a_suite_or_of_a_bucket(folder: Path) -> None:
    assert not looks_left(folder / "none.yaml", str(folder / "lake"))
    assert not looks_left(folder / "suite.yaml", "s3://bucket/lake")
