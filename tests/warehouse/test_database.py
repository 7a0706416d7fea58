"""Lazy connections of a process share one database, and see nothing of each other."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse import warehouse
from judgelake.tasks.warehouse.database import SharedDatabase
from judgelake.tasks.warehouse.warehouse import open_warehouse, replace_view, run_sql
from tests.lakes import ingest, item, make_lake

ITEMS = "select item_id from items order by item_id"
SPEARMAN = "select spearman(x, x) from (values (1), (2), (3)) as given (x)"


@pytest.fixture
def lakes(tmp_path: Path) -> list[Lake]:
    """Two lakes; the second has one item more."""
    made = [make_lake(tmp_path / name) for name in ("one", "two")]
    for number, lake in enumerate(made, 1):
        ingest(lake, [item(str(name)) for name in range(number)])
    return made


@pytest.fixture
def own_database(monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedDatabase]:
    """A shared database that no other test has used."""
    made = SharedDatabase()
    monkeypatch.setattr(warehouse, "SHARED", made)
    yield made
    made.close()


def ask(connection: duckdb.DuckDBPyConnection, text: str) -> list[tuple[object, ...]]:
    return run_sql(connection, text, "test").fetchall()


def test_each_connection_reads_its_own_lake(lakes: list[Lake]) -> None:
    first, second = (open_warehouse(lake, lazy=True) for lake in lakes)
    assert ask(second, ITEMS) == [("0",), ("1",)]
    assert ask(first, ITEMS) == [("0",)]
    assert ask(second, ITEMS) == [("0",), ("1",)]


def test_what_one_creates_no_other_sees(lakes: list[Lake]) -> None:
    first, second = (open_warehouse(lakes[0], lazy=True) for _ in range(2))
    first.execute("create temp table wanted as select 1 as n")
    replace_view(first, "items", "select 'other' as item_id")
    assert ask(first, ITEMS) == [("other",)]
    for other in (second, open_warehouse(lakes[0], lazy=True)):
        assert ask(other, ITEMS) == [("0",)]
        with pytest.raises(duckdb.CatalogException, match="wanted does not exist"):
            other.execute("from wanted")


@pytest.mark.parametrize("options", [{"sealed": True}, {"alone": True}])
def test_settings_of_a_database_are_those_of_its_own_connection(
    lakes: list[Lake], options: dict[str, bool]
) -> None:
    with open_warehouse(lakes[0], lazy=True, **options) as own:
        if "alone" in options:
            own.execute("set memory_limit = '123MiB'")
        name = "memory_limit" if "alone" in options else "lock_configuration"
        text = f"select current_setting('{name}')"
        with open_warehouse(lakes[0], lazy=True) as shared:
            assert ask(own, text) in ([("123.0 MiB",)], [(True,)])
            assert ask(shared, text) not in ([("123.0 MiB",)], [(True,)])


@pytest.mark.usefixtures("own_database")
def test_all_have_the_statistics_also_at_once(lakes: list[Lake]) -> None:
    def compute(_: int) -> list[tuple[object, ...]]:
        with open_warehouse(lakes[0], lazy=True) as connection:
            return ask(connection, SPEARMAN)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(compute, range(12))) == [[(1.0,)]] * 12


def test_a_database_that_answers_no_more_is_made_again(
    lakes: list[Lake], own_database: SharedDatabase
) -> None:
    with open_warehouse(lakes[1], lazy=True) as connection:
        assert ask(connection, SPEARMAN) == [(1.0,)]
    assert own_database._first is not None
    own_database._first.close()
    with open_warehouse(lakes[1], lazy=True) as connection:
        assert ask(connection, ITEMS) == [("0",), ("1",)]
        assert ask(connection, SPEARMAN) == [(1.0,)]
