"""Replies come out of the table as they went in, whatever their log-probabilities are."""

import dataclasses
from datetime import UTC, datetime

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from judgelake.schemas.tables import TABLES
from judgelake.tasks.engine.ledger import frame_replies, read_reply
from judgelake.tasks.types import Reply

FIELDS = [field.name for field in dataclasses.fields(Reply)]
TOKENS = st.tuples(
    st.text(st.characters(codec="utf-8"), max_size=4), st.floats(max_value=0.0, allow_nan=False)
)
POSITIONS = st.lists(st.lists(TOKENS, max_size=4).map(tuple), max_size=4).map(tuple)
REPLIES = st.lists(
    POSITIONS.map(lambda positions: Reply("text", top_logprobs=positions, prompt_tokens=3)),
    max_size=5,
)


def make_row(number: int, reply: Reply) -> dict[str, object]:
    key = {
        "judge_id": "j",
        "request_digest": str(number),
        "draw": 0,
        "requested_model": "m",
        "cost_usd": None,
        "run_id": "r",
    }
    return (
        {name: getattr(reply, name) for name in FIELDS}
        | key
        | {"replied_at": datetime(2026, 1, 1, tzinfo=UTC)}
    )


@given(REPLIES)
def test_what_went_in_comes_out(replies: list[Reply]) -> None:
    frame = frame_replies([make_row(number, reply) for number, reply in enumerate(replies)])
    assert frame.schema == pl.Schema(TABLES["replies"].polars_schema)
    assert [read_reply(row) for row in frame.select(FIELDS).iter_rows(named=True)] == replies


def test_by_hand() -> None:
    reply = Reply("3", top_logprobs=((("3", -0.5), ("2", -1.5)), (), ((".", 0.0),)))
    (reported,) = frame_replies([make_row(0, reply)])["top_logprobs"].to_list()
    assert reported == [
        [{"token": "3", "logprob": -0.5}, {"token": "2", "logprob": -1.5}],
        [],
        [{"token": ".", "logprob": 0.0}],
    ]
