"""The images and the screened rubrics that cases of a collection are made of, as tables of the
connection. Which cases follow from them is SQL (`queries/wanted_rubrics.sql` and its neighbours).
"""

import duckdb
import polars as pl

from judgelake.tasks.collection.screening import screen_rubrics
from judgelake.tasks.types import Wants
from judgelake.tasks.warehouse.warehouse import keep_result, select_file


def keep_images(connection: duckdb.DuckDBPyConnection, wants: Wants) -> None:
    """Leave `wanted_images`, and for instructions `newly_screened` and `kept_rubrics`: rubrics that
    were never compared are, and nothing is compared twice.
    """
    if wants.unit == "augmentation":  # its cases are items
        return
    keep_result(connection, "queries/wanted_images.sql", "wanted_images", {})
    if wants.unit != "instructions":
        return
    given = {"judge_id": wants.built_on[0], "reading": wants.built_on[1]}
    rubrics = select_file(connection, "queries/unscreened_rubrics.sql", given)
    is_new = pl.col("is_kept").is_null()
    new = screen_rubrics(
        rubrics.filter(is_new),
        rubrics.filter(pl.col("is_kept")),
        wants.most_similar,
        wants.examples,
    )
    connection.register("given_screened", new.to_arrow())
    connection.execute("create or replace temp table newly_screened as from given_screened")
    connection.unregister("given_screened")
    keep_result(connection, "queries/kept_rubrics.sql", "kept_rubrics", given)
