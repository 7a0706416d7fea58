"""The warehouse: every view over every lake, old files and empty ones; SQL that fails shows its text; a
sealed connection stays inside.
"""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import LakeError, QueryError
from judgelake.tasks.lake.lake import Lake, append_rows, open_lake
from judgelake.tasks.warehouse.database import open_database
from judgelake.tasks.warehouse.views import check_texts, function_texts, view_order, view_texts
from judgelake.tasks.warehouse.warehouse import (
    open_warehouse,
    run_sql,
    seal,
    select_file,
    select_frame,
)
from tests.conftest import CHECKOUT
from tests.lakes import append_records, query, warehouse_for
from tests.rows import GOOD, make_frame

SQL_FILES = sorted((CHECKOUT / "sql").rglob("*.sql"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path / "lake", create=True)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """A warehouse over a lake without any row."""
    return open_warehouse(open_lake(tmp_path_factory.mktemp("empty") / "lake", create=True))


@pytest.fixture
def filled(lake: Lake) -> Lake:
    """One item with one answer, of a current ingest."""
    for name in ("ingests", "items", "answers"):
        append_rows(lake, name, make_frame(name, {}))
    return lake


def test_every_view_is_empty_over_an_empty_lake(lake: Lake) -> None:
    names = (*view_order(), *TABLES)
    empty = warehouse_for(lake, " ".join(names))
    counts = {
        name: run_sql(empty, f"select count(*) from {name}", name).fetchone() for name in names
    }
    assert set(counts.values()) == {(0,)}
    assert set(counts) == {*view_texts(), *TABLES}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_queryable_by_its_plain_name(
    empty: duckdb.DuckDBPyConnection, name: str
) -> None:
    columns = {row[0] for row in empty.execute(f"describe {name}").fetchall()}
    hidden = (
        set() if name == "ingests" else {"ingest_id"}
    )  # the views show rows of current ingests only
    assert columns >= set(TABLES[name].polars_schema) - hidden


def test_rows_come_back_as_they_went_in(filled: Lake) -> None:
    (row,) = query(filled, "select * from items")
    assert row == {key: value for key, value in GOOD["items"].items() if key != "ingest_id"}


@pytest.mark.parametrize("benchmark", ["2024", "007", "2024-01-01"])
def test_partition_value_stays_text(lake: Lake, benchmark: str) -> None:
    for name in ("ingests", "items"):
        append_records(lake, name, [{**GOOD[name], "benchmark": benchmark}])
    assert query(lake, "select benchmark, typeof(benchmark) as kind from items") == [
        {"benchmark": benchmark, "kind": "VARCHAR"}
    ]


def test_instants_are_utc(filled: Lake) -> None:
    (row,) = query(filled, "select ingested_at::varchar as at from ingests")
    assert row == {"at": "2026-03-01 12:00:00+00"}


def test_lake_of_an_older_schema_still_reads(filled: Lake) -> None:
    rewrite(filled, "items", lambda table: table.drop_columns(["category", "cluster"]))
    append_records(filled, "items", [{**GOOD["items"], "item_id": "2", "category": "colour"}])
    rows = query(
        filled, "select item_id, prompt, category, items.cluster from items order by item_id"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("1", "What is it?", None, None),
        ("2", "What is it?", "colour", "a.jpg"),
    ]


def test_lake_with_only_older_files_still_reads(filled: Lake) -> None:
    rewrite(filled, "answers", lambda table: table.drop_columns(["n_repeats"]))
    assert query(filled, "select text, n_repeats from answers") == [
        {"text": "cat", "n_repeats": None}
    ]


def test_column_of_a_newer_program_does_not_disturb(filled: Lake) -> None:
    rewrite(filled, "items", lambda table: table.append_column("mood", pa.array(["good"])))
    assert query(filled, "select item_id from items") == [{"item_id": "1"}]


@pytest.mark.parametrize("folder", ["it's", "run=3", "a, b", "größe", "a[1]", "wh*t?"])
def test_lake_in_a_folder_of_an_odd_name(tmp_path: Path, folder: str) -> None:
    lake = open_lake(tmp_path / folder / "lake", create=True)
    append_records(lake, "ingests", [GOOD["ingests"]])
    connection = open_warehouse(lake, lazy=True, alone=True)
    seal(connection, lake.mirror)  # as `sealed` does, which makes all views before
    assert run_sql(connection, "select benchmark from ingests", "x").fetchall() == [("bench",)]


def test_lake_below_a_folder_that_reads_as_a_partition_is_refused(tmp_path: Path) -> None:
    """DuckDB takes `benchmark=other` anywhere in a path for the value of the column."""
    with pytest.raises(LakeError, match="'benchmark=other' reads as a partition"):
        open_lake(tmp_path / "benchmark=other" / "lake", create=True)


REACHING_OUT = [
    "select * from read_csv('{outside}/secret.csv')",
    "select * from '{outside}/secret.csv'",
    "select * from read_text('{outside}/secret.csv')",
    "select * from read_text('{lake}/../secret.csv')",
    "select * from glob('{outside}/*')",
    "copy (select 1) to '{outside}/out.csv'",
    "copy (select 1) to '{lake}/../out.csv'",
    "attach '{outside}/out.db'",
    "export database '{outside}/out'",
    "install httpfs",
    "set enable_external_access = true",
    "set allowed_directories = ['/']",
    "reset lock_configuration",
]


def test_sealed_connection_stays_inside_the_lake(filled: Lake, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("word\nsesame\n")
    before = sorted(tmp_path.rglob("*"))
    connection = open_warehouse(filled, sealed=True)
    statements = [
        statement.format(outside=tmp_path, lake=filled.root) for statement in REACHING_OUT
    ]
    assert [statement for statement in statements if not is_refused(connection, statement)] == []
    assert sorted(tmp_path.rglob("*")) == before
    assert connection.execute("select count(*) from answers").fetchone() == (1,)


def test_sealed_connection_does_not_reach_the_working_directory(
    filled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB lets SQL reach the folder where it keeps what does not fit into memory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".tmp").mkdir()
    (tmp_path / ".tmp" / "secret.csv").write_text("word\nsesame\n")
    connection = open_warehouse(filled, sealed=True)
    for name in (".tmp/secret.csv", f"{tmp_path}/.tmp/secret.csv"):
        assert is_refused(connection, f"select * from read_csv('{name}')")
    folders = [
        opened.execute("select current_setting('temp_directory')").fetchone()
        for opened in (connection, open_warehouse(filled, sealed=True))
    ]
    assert folders[0] != folders[1]
    assert not any(Path(folder or "").exists() for (folder,) in filter(None, folders))


def test_what_a_sealed_connection_cannot_hold_goes_to_disk_and_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    connection = open_database()
    connection.execute("set memory_limit = '100MB'")
    seal(connection, tmp_path / "lake")
    rows = "select md5(range::varchar) as text, range from range(3000000) order by text, range"
    counted = connection.execute(f"select count(*), max(text) from ({rows} limit 2999999)")
    assert (counted.fetchone() or ())[0] == 2_999_999
    (folder,) = tmp_path.glob("judgelake-sql-*")
    connection.close()
    assert not folder.exists()


def test_failing_sql_shows_file_and_text(lake: Lake) -> None:
    connection = open_warehouse(lake, lazy=True)
    for fail in (run_sql, select_frame):
        with pytest.raises(
            QueryError,
            match=r"(?s)^reports/x\.sql: .*nowhere does not exist.*\nselect \* from nowhere$",
        ):
            fail(connection, "select * from nowhere", "reports/x.sql")
    with pytest.raises(
        QueryError, match=r"(?s)^queries/new_cases\.sql: .*wanted_cases.*\nselect\n    wanted\."
    ):
        select_file(connection, "queries/new_cases.sql", {"judge_id": "x"})


@pytest.mark.parametrize("file", SQL_FILES, ids=lambda file: file.stem)
def test_sql_file_states_its_grain_and_reaches_for_no_path(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    first, second, *_ = text.splitlines()
    grain = (
        second if file.parent.name in ("adhoc", "checks") else first
    )  # after the question, or what must hold
    is_macro = file.parent.name == "functions"
    grains = ("-- grain: one ",) if is_macro else ("-- grain: one row per ", "-- grain: one row: ")
    assert grain.startswith(grains)
    code = re.sub(r"--[^\n]*", "", text)
    reaching = re.findall(
        r"\b(?:read_\w+|glob|scan_\w+|attach|copy|install|load)\s*[(']|'[^'\n]*/[^'\n]*\.[^'\n]*'",
        code,
        re.IGNORECASE,
    )
    assert reaching == []
    assert len(duckdb.extract_statements(code)) == 1


@pytest.mark.parametrize("options", [{"sealed": True}, {"lazy": True}])
def test_every_warehouse_has_the_checks(filled: Lake, options: dict[str, bool]) -> None:
    with open_warehouse(filled, **options) as connection:
        found = [
            name for name in check_texts() if run_sql(connection, f"from {name}", "test").fetchall()
        ]
    assert found == ["chk_digest_of_other_content"]  # the row's digest is made up


def test_views_come_after_those_they_read() -> None:
    order = view_order()
    assert sorted(order) == sorted(view_texts())
    connection = duckdb.connect()
    for text in function_texts().values():
        connection.execute(text)
    for name, text in view_texts().items():
        # DuckDB's own parser is the second opinion on what a view reads
        read = connection.get_table_names(text.replace("grouping(", "abs(")) & set(
            order
        )  # it cannot bind `grouping` alone
        assert {other for other in read if order.index(other) >= order.index(name)} == set()


def test_file_names_are_view_names_and_show_the_layer() -> None:
    layers = {"staging": "stg_", "core": "core_", "reports": "rpt_", "checks": "chk_"}
    wrong = [
        file.name
        for file in SQL_FILES
        if not file.name.startswith(layers.get(file.parent.name, ""))
    ]
    assert wrong == []
    assert {name for name in view_texts() if name.startswith("stg_")} == {
        f"stg_{name}" for name in TABLES
    }


def rewrite(lake: Lake, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the only part file of a table in place, as another version of the program would have
    written it.
    """
    (part,) = lake.part_files(name)
    pq.write_table(change(pq.read_table(part, partitioning=None)), part)


def is_refused(connection: duckdb.DuckDBPyConnection, statement: str) -> bool:
    """Whether DuckDB refuses a statement for its reach, not because it is wrong."""
    try:
        connection.execute(statement)
    except duckdb.Error as error:
        return (
            re.search(
                r"(?i)disabled by configuration|has been locked|cannot access|not allowed",
                str(error),
            )
            is not None
        )
    return False


def test_a_lazy_warehouse_opens_the_files_of_what_a_statement_reads(filled: Lake) -> None:
    text = """
        select view_name from duckdb_views()
        where sql like '%parts_%' and view_name like 'raw_%' order by 1
    """
    with open_warehouse(filled, lazy=True) as lazy:
        assert run_sql(lazy, text, "views").fetchall() == []
        select_frame(lazy, "select count(*) from core_answers -- not core_scores", "test")
        with_files = [row[0] for row in run_sql(lazy, text, "views").fetchall()]
    assert with_files == ["raw_answers", "raw_ingests", "raw_items"]
