"""Views that follow from a table's declaration: which rows are current, and which columns they
have.
"""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from judgelake.schemas.tables import TABLES
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.warehouse.staging import derive_views
from judgelake.tasks.warehouse.views import read_folder, read_grain, view_texts
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame
from tests.lakes import append_records


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path / "lake", create=True)


def overlap(suite: str, value: float, hour: int) -> dict[str, object]:
    return {
        "suite": suite,
        "benchmark": "b",
        "criterion": "c",
        "category": "*",
        "method": "elo",
        "rater_a": "x",
        "rater_b": "y",
        "n_models_a": 3,
        "n_models_b": 3,
        "n_common": 3,
        "persistence": 0.9,
        "overlap": value,
        "reported_at": datetime(2026, 1, 1, hour, tzinfo=UTC),
    }


def test_a_suite_s_last_report_is_current_whatever_other_suites_wrote_later(lake: Lake) -> None:
    for row in (overlap("old", 0.1, 1), overlap("old", 0.2, 2), overlap("new", 0.3, 3)):
        append_records(lake, "ranking_overlaps", [row])
    with open_warehouse(lake, lazy=True) as connection:
        found = select_frame(
            connection, "select suite, overlap from ranking_overlaps order by suite", "test"
        )
    assert found.rows() == [("new", 0.3), ("old", 0.2)]


def test_every_table_has_one_view_derived_or_written() -> None:
    written = read_folder("staging")
    assert {*derive_views(), *written} == {f"stg_{name}" for name in TABLES}
    # a written view beside a derived one adds a column, or rows of another table (`stg_answers`)
    assert sorted(set(derive_views()) & set(written)) == [
        "stg_answers",
        "stg_human_ratings",
        "stg_recorded_verdicts",
    ]


def test_a_view_has_the_columns_of_its_contract_keys_first(lake: Lake) -> None:
    with open_warehouse(lake) as connection:
        for table in TABLES.values():
            if f"stg_{table.name}" not in derive_views():
                continue
            names = connection.sql(f"select * from {table.name}").columns
            assert set(table.polars_schema) - set(names) <= {"ingest_id"}
            keys = table.keys if table.origin != "attempt" else _without_attempt(table.keys)
            head = (*table.partitions, *(key for key in keys if key not in table.partitions))
            assert tuple(names[: len(head)]) == head


def _without_attempt(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of a case: which of its attempts is current is for the view to decide."""
    assert keys[-1] == "judged_at"
    return keys[:-1]


@pytest.mark.parametrize("view", view_texts())
def test_a_grain_reads_as_english(view: str) -> None:
    grain = read_grain(view)
    assert re.search(r"\bper (an?|the|one)\b|\b(\w+) x \2\b", grain) is None, grain
