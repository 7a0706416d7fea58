"""Every rule of the input contracts, broken on purpose: what is quarantined, what it says, and that
good rows stay.
"""

from typing import NamedTuple

import pandera.errors
import polars as pl
import pytest

from judgelake.schemas.inputs import Ingested
from judgelake.schemas.tables import TABLES
from judgelake.tasks.lake.validation import (
    QUARANTINE,
    collapse_repeats,
    no_quarantine,
    quarantine,
    quarantine_conflicts,
    validate_rows,
)
from tests.rows import Row, make_frame

MISSING = ("the value is missing", "fill the value in or remove the row")
USE_ONE = "write one of these, or map the text to one by `values:` in the suite"
NOT_A_TASK = (
    "the value is none of vqa, caption, document, referring, instruction",
    USE_ONE,
)
NOT_A_STYLE = ("the value is none of short, long", USE_ONE)
LENGTH = ("the text is too short or too long", "correct the value in the file")
FORM = ("the text is not of the form that is needed", "correct the value in the file")
SMALL = ("the number is too small", "correct the value in the file")
SCALE = (
    "the rating is not a finite number within its scale",
    "correct the rating or state the annotator's scale in the suite",
)
INPUTS = ("items", "answers", "human_ratings", "captions")
NAN, INF = float("nan"), float("inf")


class Broken(NamedTuple):
    """One cell that breaks one rule; `rule` is pandera's name of it."""

    table: str
    column: str
    value: object
    rule: str
    message: tuple[str, str]


ORIGIN = [
    Broken(table, column, value, rule, message)
    for table in ("items", "answers", "human_ratings")
    for column, value, rule, message in (
        ("benchmark", "Bench Mark", "str_matches", FORM),
        ("ingest_id", "", "str_length", LENGTH),
        ("item_id", "", "str_length", LENGTH),
    )
]
RULES = [
    *ORIGIN,
    Broken("items", "task", "riddle", "isin", NOT_A_TASK),
    Broken("items", "cluster", "", "str_length", LENGTH),
    Broken("answers", "answer_id", "", "str_length", LENGTH),
    Broken("answers", "style", "medium", "isin", NOT_A_STYLE),
    Broken("answers", "sample", -1, "greater_than_or_equal_to", SMALL),
    Broken("answers", "content_digest", "abc", "str_length", LENGTH),
    Broken("answers", "content_digest", "a" * 65, "str_length", LENGTH),
    Broken("answers", "n_repeats", 0, "greater_than_or_equal_to", SMALL),
    Broken("human_ratings", "answer_id", "", "str_length", LENGTH),
    Broken("human_ratings", "criterion", "", "str_length", LENGTH),
    Broken("human_ratings", "annotator", "", "str_length", LENGTH),
    Broken("human_ratings", "rating", 5.5, "rating_within_scale", SCALE),
    Broken("human_ratings", "rating", 0.999, "rating_within_scale", SCALE),
    Broken("human_ratings", "rating", INF, "rating_within_scale", SCALE),
]
NOT_NULL = [
    (table, column)
    for table in ("items", "answers", "human_ratings")
    for column, rule in TABLES[table].model.to_schema().columns.items()
    if not rule.nullable and column not in ("source_file", "locator")
]


@pytest.mark.parametrize(
    "broken", RULES, ids=lambda broken: f"{broken.table}.{broken.column}={broken.value}"[:60]
)
def test_broken_rule_is_quarantined_with_place_cell_and_remedy(broken: Broken) -> None:
    frame = make_frame(
        broken.table, {}, {broken.column: broken.value, "locator": "record 7"}, {"item_id": "3"}
    )
    good, bad = validate_rows(broken.table, frame)
    row = {"table_name": broken.table, "source_file": "file.json", "locator": "record 7"}
    reported = {
        "column_name": broken.column,
        "value": str(broken.value),
        "reason": broken.message[0],
        "remedy": broken.message[1],
    }
    assert bad.to_dicts() == [row | reported]
    assert good.equals(frame[[0, 2]])


@pytest.mark.parametrize(("table", "column"), NOT_NULL)
def test_missing_value_is_quarantined(table: str, column: str) -> None:
    frame = make_frame(table, {}, {column: None, "locator": "record 7"}, {"item_id": "3"})
    good, bad = validate_rows(table, frame)
    assert bad.select("locator", "column_name", "reason", "remedy").rows() == [
        ("record 7", column, *MISSING)
    ]
    assert bad["value"][0] in (None, "null")
    assert good.equals(frame[[0, 2]])


@pytest.mark.parametrize("column", ["source_file", "locator"])
def test_row_without_a_place_is_quarantined(column: str) -> None:
    good, bad = validate_rows("answers", make_frame("answers", {}, {column: None}))
    assert bad.select("column_name", "reason").rows() == [(column, MISSING[0])]
    assert good.height == 1


@pytest.mark.parametrize("table", ["items", "answers", "human_ratings"])
def test_no_rule_of_the_contracts_is_left_out_here(table: str) -> None:
    schema = TABLES[table].model.to_schema()
    rules = {
        (column, check.name) for column, rule in schema.columns.items() for check in rule.checks
    }
    rules |= {("rating", check.name) for check in schema.checks}
    assert rules == {(broken.column, broken.rule) for broken in RULES if broken.table == table}


def test_ends_of_the_scale_are_within_it() -> None:
    frame = make_frame("human_ratings", {"rating": 1.0}, {"rating": 5.0})
    assert validate_rows("human_ratings", frame).good.equals(frame)


@pytest.mark.parametrize(
    "change", [{"rating": 1.0, "scale_high": 1.0}, {"scale_high": INF}, {"scale_low": -INF}]
)
def test_scale_without_a_finite_width_is_quarantined(change: Row) -> None:
    assert validate_rows("human_ratings", make_frame("human_ratings", change)).good.is_empty()


def test_row_that_breaks_two_rules_is_reported_twice_and_left_out_once() -> None:
    frame = make_frame("answers", {"style": "medium", "sample": -1}, {})
    good, bad = validate_rows("answers", frame)
    assert set(bad["column_name"]) == {"style", "sample"}
    assert good.equals(frame[[1]])


def test_long_value_is_cut() -> None:
    _, bad = validate_rows("answers", make_frame("answers", {"style": "x" * 1000}))
    assert bad["value"].to_list() == ["x" * 200]


def test_good_and_empty_frames_pass() -> None:
    for table in INPUTS:
        good, bad = validate_rows(table, pl.DataFrame(schema=TABLES[table].polars_schema))
        assert good.is_empty()
        assert bad.equals(no_quarantine())
    assert tuple(no_quarantine().columns) == QUARANTINE


def test_frame_of_wrong_types_is_a_bug_and_raises() -> None:
    with pytest.raises(pandera.errors.SchemaErrors):
        validate_rows(
            "answers", make_frame("answers", {}).with_columns(pl.col("sample").cast(pl.String))
        )


def test_identical_repeats_collapse_and_are_counted() -> None:
    frame = make_frame(
        "answers",
        {},
        {"locator": "record 1"},
        {"item_id": "2", "locator": "record 2"},
        {"locator": "record 3"},
    )
    unique, conflicting = collapse_repeats("answers", frame)
    assert unique.select("item_id", "locator", "n_repeats").rows() == [
        ("1", "record 0", 3),
        ("2", "record 2", 1),
    ]
    assert conflicting.is_empty()


def test_conflicting_repeats_are_all_set_apart() -> None:
    changes: list[Row] = [
        {},
        {"locator": "record 1"},
        {"text": "dog", "locator": "record 2"},
        {"item_id": "2"},
    ]
    unique, conflicting = collapse_repeats("answers", make_frame("answers", *changes))
    assert unique["item_id"].to_list() == ["2"]
    assert conflicting["locator"].to_list() == ["record 0", "record 1", "record 2"]
    explained = quarantine_conflicts("answers", conflicting, "keep one")
    differ = ("item_id, answer_id", "rows with the same key differ in text", "keep one")
    assert explained.select("column_name", "reason", "remedy").unique().rows() == [differ]
    assert explained["value"].to_list() == [
        f"1, m/short/0 (other row: file.json:record {number})" for number in (2, 2, 0)
    ]


def test_a_conflict_names_absent_parts_of_its_key_and_the_first_columns_that_differ() -> None:
    ids: Row = {"benchmark": "b", "ingest_id": "i", "item_id": "q" * 99, "answer_a": "x"}
    ids |= {"answer_b": "y", "criterion": "overall", "judge": "j", "sample": 0, "status": "ok"}
    rows = [
        {**ids, "choice": choice, "preference_b": share, "locator": f"line {number}"}
        for number, (choice, share) in enumerate((("a", 0.0), ("b", 1.0)))
    ]
    frame = pl.DataFrame(rows, schema_overrides=TABLES["recorded_duels"].polars_schema).select(
        *(
            pl.col(name) if name in (*ids, "choice", "preference_b", "locator") else pl.lit(None)
            .cast(dtype).alias(name)
            for name, dtype in TABLES["recorded_duels"].polars_schema.items()
        )
    )  # fmt: skip
    conflicting = collapse_repeats("recorded_duels", frame).conflicting
    explained = quarantine_conflicts("recorded_duels", conflicting, "")
    assert explained["value"][1] == f"{'q' * 40}, x, y, j, overall, 0, (none) (other row: line 0)"
    assert explained["reason"][1] == "rows with the same key differ in choice, preference_b"


def test_references_in_another_order_are_another_item() -> None:
    frame = make_frame("items", {}, {"references": ["cat", "kitten", "cat"]})
    assert collapse_repeats("items", frame).conflicting.height == 2


def test_quarantine_quotes_the_named_column() -> None:
    rows = quarantine(
        make_frame("answers", {"sample": 4}), "answers", "sample", "sample", "why", "what"
    )
    assert rows.rows() == [("answers", "file.json", "record 0", "sample", "4", "why", "what")]
    assert quarantine(make_frame("answers", {}), "answers", None, None, "why", "what").rows()[0][
        3:5
    ] == (None, None)


def test_nan_rating_is_reported_once() -> None:
    frame = make_frame(
        "human_ratings",
        {"rating": NAN},
        {"rating": 3.0, "item_id": "2"},
        {"rating": None, "item_id": "3"},
    )
    good, bad = validate_rows("human_ratings", frame)
    assert good["item_id"].to_list() == ["2"]
    assert bad.select("column_name", "value", "reason", "remedy").rows() == [
        ("rating", None, *MISSING),
        ("rating", "NaN", *SCALE),
    ]


def test_nan_without_a_scale_is_not_called_missing() -> None:
    row = {
        "model": "m",
        "published_benchmark": "mmmu",
        "benchmark": "b",
        "ingest_id": "i",
        "source_file": "f",
        "locator": "line 2",
    }
    frame = pl.DataFrame(
        [row | {"score": NAN}, row | {"model": "n", "score": 1.0}],
        schema=TABLES["benchmark_scores"].polars_schema,
    )
    good, bad = validate_rows("benchmark_scores", frame)
    assert good["model"].to_list() == ["n"]
    reason = ("the value is not a finite number", "correct the value in the file")
    assert bad.select("locator", "column_name", "value", "reason", "remedy").rows() == [
        ("line 2", "score", "NaN", *reason)
    ]


@pytest.mark.parametrize("table", ["items", "recorded_duels"])
def test_frame_without_rows_keeps_the_contract_only_with_its_types(table: str) -> None:
    empty = pl.DataFrame(schema=TABLES[table].polars_schema)
    assert validate_rows(table, empty).good.schema == empty.schema
    with pytest.raises(pandera.errors.SchemaErrors):
        validate_rows(table, empty.with_columns(pl.col("item_id").cast(pl.Int64)))


KEYS = [
    (name, key)
    for name, table in TABLES.items()
    if issubclass(table.model, Ingested)
    for key in table.keys
    # `benchmark` has a form of its own, others are nullable or of a list
    if key not in ("benchmark", "shown_first", "category", "text")
    and table.polars_schema[key] == pl.String
]


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_a_text_of_a_key_has_one_character_or_more(table: str, key: str) -> None:
    column = TABLES[table].model.to_schema().columns[key]
    column.validate(pl.DataFrame({key: ["x"]}))
    with pytest.raises(pandera.errors.SchemaError, match="str_length"):
        column.validate(pl.DataFrame({key: [""]}))
