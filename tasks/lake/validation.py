"""A frame and a contract in, good rows and quarantined rows with reasons out. Contracts are
`schemas/`, reading is `tasks.sources`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from judgelake.schemas.tables import TABLES, Table

_PLACE = ("source_file", "locator")
_REMEDIES: Mapping[str, str] = {
    "not_nullable": "fill the value in or remove the row",
    "isin": "write one of these, or map the text to one by `values:` in the suite",
    "rating_within_scale": "correct the rating or state the annotator's scale in the suite",
    "several_answers": "list the answers that were shown together, each once",
    "chosen_is_shown": "name one of the answers of the set, or map the text by `values:` in "
    "the suite",
}
_REASONS: Mapping[str, str] = {
    "not_nullable": "the value is missing",
    "not_finite": "the value is not a finite number",
    "str_length": "the text is too short or too long",
    "rating_within_scale": "the rating is not a finite number within its scale",
    "several_answers": "the set has fewer than two answers, or one of them twice",
    "chosen_is_shown": "the answer chosen is none of the set's",
    "greater_than_or_equal_to": "the number is too small",
    "less_than_or_equal_to": "the number is too large",
    "str_matches": "the text is not of the form that is needed",
}
_CULPRITS: Mapping[str, str] = {
    "rating_within_scale": "rating",
    "several_answers": "choice_set",
    "chosen_is_shown": "chosen",
}
"""The column that a check over whole rows is about."""
_MADE = ("ingest_id", "content_digest", "n_repeats")
"""Columns that ingestion adds; a difference in them follows from another."""
_KEY_LENGTH = 40
"""Characters of each part of a key that a message shows."""
QUARANTINE = ("table_name", "source_file", "locator", "column_name", "value", "reason", "remedy")


class Validated(NamedTuple):
    """`good` keeps the frame's columns; `quarantined` has the columns of QUARANTINE, one row a bad
    row and reason.
    """

    good: pl.DataFrame
    quarantined: pl.DataFrame


def validate_rows(name: str, frame: pl.DataFrame) -> Validated:
    """Split `frame` by the contract of table `name`; a frame that lacks a column is a bug and
    raises pandera's SchemaErrors.
    """
    import pandera.errors

    table = TABLES[name]
    ordered = frame.select(table.polars_schema.keys())
    if ordered.is_empty() and ordered.schema == table.polars_schema:
        return Validated(
            ordered, no_quarantine()
        )  # most tables of most sources; checks of no rows cost as much as of a thousand
    try:
        return Validated(table.model.validate(ordered, lazy=True), no_quarantine())
    except pandera.errors.SchemaErrors as error:
        cases: pl.DataFrame = error.failure_cases
        if cases["index"].null_count():
            raise
        bad = cases["index"].unique().cast(pl.UInt32)
        keep = ordered.with_row_index("row").filter(~pl.col("row").is_in(bad.implode())).drop("row")
        return Validated(keep, _explain(table, ordered, cases))


def no_quarantine() -> pl.DataFrame:
    """An empty frame of quarantined rows."""
    return pl.DataFrame(schema=dict.fromkeys(QUARANTINE, pl.String))


def quarantine(
    rows: pl.DataFrame,
    table_name: str,
    column: str | None,
    value: str | None,
    reason: str,
    remedy: str,
) -> pl.DataFrame:
    """Rows (with `source_file` and `locator`) as quarantined rows; `column` names the culprit,
    `value` the column to quote.
    """
    quoted = pl.col(value).cast(pl.String) if value else pl.lit(None, pl.String)
    return rows.select(
        pl.lit(table_name).alias("table_name"),
        *_PLACE,
        pl.lit(column, pl.String).alias("column_name"),
        quoted.str.slice(0, 200).alias("value"),
        pl.lit(reason).alias("reason"),
        pl.lit(remedy).alias("remedy"),
    )


class Collapsed(NamedTuple):
    """Rows with one row a key and the count of repeats, and the rows of keys whose repeats
    differ.
    """

    unique: pl.DataFrame
    conflicting: pl.DataFrame


def collapse_repeats(name: str, frame: pl.DataFrame) -> Collapsed:
    """One row per key of table `name`: identical repeats become one with `n_repeats`; keys whose
    rows differ are set apart.
    """
    keys = list(TABLES[name].keys)
    content = [column for column in frame.columns if column not in (*keys, *_PLACE)]
    digest = pl.struct(content).hash(seed=0)
    counted = frame.with_columns(
        n_repeats=pl.len().over(keys).cast(pl.Int64),
        variants=digest.n_unique().over(keys) if content else pl.lit(1),
    )
    unique = counted.filter(pl.col("variants") == 1).unique(keys, keep="first", maintain_order=True)
    return Collapsed(
        unique.drop("variants"),
        counted.filter(pl.col("variants") > 1).drop("variants", "n_repeats"),
    )


def quarantine_conflicts(name: str, rows: pl.DataFrame, remedy: str) -> pl.DataFrame:
    """Rows of keys whose rows differ, as quarantined rows: the key's columns and values, the place
    of a row that differs, and the first columns in which they do.
    """
    keys = [key for key in TABLES[name].keys if key != "benchmark"]
    content = [part for part in rows.columns if part not in (*TABLES[name].keys, *_PLACE, *_MADE)]
    digest = pl.struct(content).hash(seed=0)
    place = pl.concat_str(_PLACE, separator=":", ignore_nulls=True)
    other = (
        pl.when(digest == digest.first())
        .then(place.filter(digest != digest.first()).first())
        .otherwise(place.first())
    )
    differing = [
        pl.when(pl.struct(part).hash(seed=0).n_unique().over(keys) > 1).then(pl.lit(part))
        for part in content
    ]
    shown = pl.col(keys).cast(pl.String).str.slice(0, _KEY_LENGTH).fill_null("(none)")
    named = pl.format("{} (other row: {})", pl.concat_str(shown, separator=", "), other.over(keys))
    which = pl.concat_list(differing).list.drop_nulls().list.head(3).list.join(", ")
    return rows.select(
        pl.lit(name).alias("table_name"),
        *_PLACE,
        pl.lit(", ".join(keys)).alias("column_name"),
        named.alias("value"),
        pl.format("rows with the same key differ in {}", which).alias("reason"),
        pl.lit(remedy).alias("remedy"),
    )


def _explain(table: Table, frame: pl.DataFrame, cases: pl.DataFrame) -> pl.DataFrame:
    """One quarantined row per failing cell, with the place of its row."""
    check = pl.col("check").str.extract(r"^([a-z_]+)", 1)
    places = (
        frame.select(_PLACE).with_row_index("index").with_columns(pl.col("index").cast(pl.Int32))
    )
    is_nan = (
        pl.col("failure_case").cast(pl.String) == "NaN"
    )  # which pandera takes for a missing value
    checks = pl.when((check == "not_nullable") & is_nan).then(pl.lit("not_finite")).otherwise(check)
    named = _name_culprits(frame, cases.with_columns(check=checks)).unique(
        ["index", "column", "check"], maintain_order=True
    )
    named = named.filter(
        (pl.col("check") != "not_finite") | (pl.len().over("index", "column") == 1)
    )
    return named.join(places, on="index", how="left", maintain_order="left").select(
        pl.lit(table.name).alias("table_name"),
        *_PLACE,
        pl.col("column").alias("column_name"),
        pl.col("failure_case").cast(pl.String).str.slice(0, 200).alias("value"),
        pl.when(pl.col("check") == "isin")
        .then(
            pl.lit("the value is none of ")
            + pl.col("column").replace_strict(_allowed(table), default="")
        )
        .otherwise(
            pl.col("check").replace_strict(
                _REASONS, default=pl.lit("the value breaks the rule ") + pl.col("check")
            )
        )
        .alias("reason"),
        pl.col("check")
        .replace_strict(_REMEDIES, default="correct the value in the file")
        .alias("remedy"),
    )


def _allowed(table: Table) -> dict[str, str]:
    """Column -> the values that it may have, where these are a few."""
    return {
        name: ", ".join(map(str, check.statistics["allowed_values"]))
        for name, column in table.model.to_schema().columns.items()
        for check in column.checks
        if check.name == "isin"
    }


def _name_culprits(frame: pl.DataFrame, cases: pl.DataFrame) -> pl.DataFrame:
    """Failures of checks over whole rows as failures of the cell that the check is about."""
    whole_row = pl.col("schema_context") == "DataFrameSchema"
    culprit = pl.col("check").replace_strict(_CULPRITS, default=None, return_dtype=pl.String)
    named = cases.with_columns(column=pl.when(whole_row).then(culprit).otherwise("column"))
    for check, column in _CULPRITS.items():
        if column in frame.columns:
            cells = frame[column].cast(pl.String).gather(named["index"])
            quoted = (
                pl.when(pl.col("check") == check)
                .then(cells)
                .otherwise(pl.col("failure_case").cast(pl.String))
            )
            named = named.with_columns(failure_case=quoted)
    return named
