"""Digests of contents and contexts in lakes of formats 1 and 2, which had 64 digits there: read as the 16 that they begin with.

Rewriting such a lake is `tasks.shortening`; what the digests name is `tasks.digests` and `sql/queries`.
"""

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from schemas.tables import Table

FIRST_SHORT = 3
"""The first format in which they have 16 digits."""
COLUMNS = ("content_digest", "other_digest", "context_digest")
_LONG = "^[0-9a-f]{64}$"
_DIGITS = 16


def list_digests(table: Table) -> list[str]:
    """The columns of a table that hold such digests."""
    return [name for name in COLUMNS if name in table.polars_schema]


def shorten_read(text: str, table: Table, lake_format: int) -> str:
    """A select of a table's rows, as one that has short digests whatever the lake's format; half rewritten it reads as before and after."""
    digests = list_digests(table)
    if lake_format >= FIRST_SHORT or not digests:
        return text
    short = ", ".join(f"if(regexp_matches({name}, '{_LONG}'), left({name}, {_DIGITS}), {name}) as {name}" for name in digests)
    return f"select * replace ({short}) from ({text})"


def shorten_frame(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Rows of a table with short digests."""
    there = [pl.col(name) for name in list_digests(table) if name in frame.columns]
    return frame.with_columns(pl.when(one.str.contains(_LONG)).then(one.str.head(_DIGITS)).otherwise(one) for one in there)


def find_long(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which values are digests of 64 digits; the URI of an image that has no digest is none."""
    return pc.fill_null(pc.match_substring_regex(values, _LONG), False)


def shorten_values(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values, digests of 64 digits as 16; sorted ones stay sorted."""
    return pc.if_else(find_long(values), pc.utf8_slice_codeunits(values, 0, _DIGITS), values)
