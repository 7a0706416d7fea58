"""Replies between objects and the table `replies`: their log-probabilities, four hundred a reply, as flat columns rather than one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from schemas.tables import TABLES
from tasks.judging.types import Reply, TokenLogprobs

_LOGPROBS = "top_logprobs"


def frame_replies(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of the table `replies`; under `top_logprobs` each has what a `Reply` has there."""
    schema = TABLES["replies"].polars_schema
    frame = pl.DataFrame(rows, schema={name: kind for name, kind in schema.items() if name != _LOGPROBS})
    column = _frame_logprobs([row[_LOGPROBS] for row in rows]).cast(schema[_LOGPROBS])
    return frame.with_columns(column.alias(_LOGPROBS)).select(schema.keys())


def _frame_logprobs(replies: Sequence[tuple[TokenLogprobs, ...]]) -> pl.Series:
    positions = [position for reply in replies for position in reply]
    tokens = pa.array([token for position in positions for token, _ in position], pa.large_string())
    values = pa.array([value for position in positions for _, value in position], pa.float64())
    entries = pa.StructArray.from_arrays([tokens, values], ["token", "logprob"])
    tops = pa.LargeListArray.from_arrays(_count_up(positions), entries)
    return pl.Series(pl.from_arrow(pa.LargeListArray.from_arrays(_count_up(replies), tops)))


def _count_up(lists: Sequence[Sequence[object]]) -> pa.Array:
    """Where each list begins among the entries of all, and where the last one ends."""
    return pa.array(np.cumsum([0, *map(len, lists)], dtype=np.int64))


def read_reply(row: Mapping[str, Any]) -> Reply:
    """A reply from a row with its fields, and no others."""
    positions = row[_LOGPROBS] or ()
    logprobs = tuple(tuple((top["token"], top["logprob"]) for top in position) for position in positions)
    return Reply(**{**row, _LOGPROBS: logprobs})
