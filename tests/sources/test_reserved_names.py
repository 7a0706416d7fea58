"""Names that reports use for rows of their own do not come in with a source."""

import re
from pathlib import Path

import polars as pl
import pytest

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.reports.comparisons import POOLED, SYSTEMS, WITHIN_MODELS
from judgelake.tasks.reports.overall import MEAN_OF_CELLS
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.sources.reserved_names import RESERVED, split_reserved
from tests.conftest import CHECKOUT
from tests.lakes import query
from tests.rows import write_benchmark


def name_rows(column: str, names: list[str | None]) -> pl.DataFrame:
    places = {"source_file": "f.csv", "locator": [str(row) for row in range(len(names))]}
    return pl.DataFrame({column: names, **places}, schema_overrides={column: pl.String})


@pytest.mark.parametrize(
    ("column", "taken", "free"),
    [
        ("model", [POOLED, WITHIN_MODELS, MEAN_OF_CELLS, SYSTEMS, "(unnamed)"], ["a*", "systems"]),
        ("criterion", ["*"], ["**", "overall"]),
        ("category", ["*", "(none)"], ["none"]),
        ("annotator", ["*", "* (majority)", "* (mean)"], ["human", "* (max)"]),
        ("judge", ["*", "human", "human:p1", "metric:bleu"], ["humanist", "a metric:b"]),
        ("answer_id", ["(reference)"], ["reference", "*"]),
    ],
)
def test_rows_of_reserved_names_do_not_pass(column: str, taken: list[str], free: list[str]) -> None:
    kept, refused = split_reserved("t", name_rows(column, [*taken, *free, None]))
    assert kept[column].to_list() == [*free, None]
    assert refused["value"].to_list() == taken
    first = refused.row(0, named=True)
    assert (first["table_name"], first["column_name"]) == ("t", column)
    assert (first["source_file"], first["locator"]) == ("f.csv", "0")
    assert first["reason"].startswith("reports use this name for rows of their own")
    assert first["remedy"] == "give it another name"


def test_an_ingest_puts_aside_a_model_that_is_named_like_all_models(tmp_path: Path) -> None:
    lake = open_lake(tmp_path / "lake", create=True)
    answers = {"m": {"1": "yes"}, SYSTEMS: {"1": "no"}}
    benchmark = write_benchmark(tmp_path, {"1": ["yes"]}, answers)
    assert ingest_benchmark(lake, benchmark, lake.root / "images", None).n_quarantined == 1
    assert query(lake, "select distinct model from answers") == [{"model": "m"}]
    (row,) = query(lake, "select column_name, value, reason from quarantine")
    assert (row["column_name"], row["value"]) == ("model", SYSTEMS)


def test_every_name_in_brackets_that_sql_uses_is_reserved() -> None:
    texts = [path.read_text() for path in (CHECKOUT / "sql").rglob("*.sql")]
    used = {name for text in texts for name in re.findall(r"'(\([a-z ]+\))'", text)}
    assert "(systems)" in used
    assert {
        name for name in used if not any(re.fullmatch(p, name) for p in RESERVED.values())
    } == set()
