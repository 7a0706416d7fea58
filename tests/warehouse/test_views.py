"""The views that every connection starts from: made once a version of the SQL, kept in the cache."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from judgelake.tasks.warehouse import views
from judgelake.tasks.warehouse.views import check_texts, list_needed, load_views, view_texts


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a template that is not there yet; one view stands for all, which take seconds to
    create.
    """
    file = tmp_path / "cache" / "views" / "v.duckdb"
    monkeypatch.setattr(views, "template_file", lambda: file)
    monkeypatch.setattr(views, "_create_all", create_one)
    return file


def create_one(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("create view one as select 1 as n")


def list_views() -> set[str]:
    with duckdb.connect() as connection:
        load_views(connection)
        text = "select view_name from duckdb_views() where not internal"
        return {name for (name,) in connection.execute(text).fetchall()}


def test_every_view_and_check_is_created() -> None:
    assert list_views() >= {*view_texts(), *check_texts(), "raw_items", "items"}


def test_the_file_is_made_once_and_copied_from(
    template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list_views() == {"one"}
    monkeypatch.setattr(views, "_create_all", None)  # nothing is created from here on
    assert list_views() == {"one"}
    assert [file.name for file in template.parent.iterdir()] == ["v.duckdb"]


@pytest.mark.parametrize("damage", ["cut", "no folder can be made"])
def test_without_a_readable_file_the_views_are_created(template: Path, damage: str) -> None:
    if damage == "cut":
        template.parent.mkdir(parents=True)
        template.write_bytes(b"DUCK")
    else:
        template.parent.parent.write_text("a file stands where the cache should be")
    assert list_views() == {"one"}


def test_files_that_nobody_used_for_a_month_go(
    template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template.parent.mkdir(parents=True)
    (template.parent / "old.duckdb").write_bytes(b"")
    monkeypatch.setattr(views, "_UNUSED_S", -1.0)
    list_views()
    assert [file.name for file in template.parent.iterdir()] == ["v.duckdb"]


@pytest.mark.full
def test_processes_that_begin_at_once_all_have_the_views(tmp_path: Path) -> None:
    code = (
        "import duckdb; from judgelake.tasks.warehouse.views import load_views; "
        "connection = duckdb.connect(); load_views(connection); "
        "print(len(connection.execute('from duckdb_views() where not internal').fetchall()))"
    )
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    counts = {process.communicate()[0].strip() for process in started}
    assert len(counts) == 1
    assert int(counts.pop()) > len(view_texts())
    files = [file for file in tmp_path.rglob("*") if file.is_file() and "views" in file.parts]
    assert [file.suffix for file in files] == [".duckdb"]


@pytest.mark.parametrize(
    ("statement", "needed", "left_out"),
    [
        ("FROM Core_Answers -- not core_scores", "raw_answers", "core_scores"),
        ("select '--' as dash, * from items /* answers */", "stg_items", "stg_answers"),
        ('select 1 from "raw_items"', "raw_items", "stg_items"),
        ("from query_table('cor' || 'e_scores')", "core_scores", ""),
        ("select 1", "", "raw_items"),
    ],
)
def test_a_statement_needs_what_its_code_names(statement: str, needed: str, left_out: str) -> None:
    found = {"", *list_needed(statement)}
    assert needed in found
    assert not left_out or left_out not in found
